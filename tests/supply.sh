#!/bin/sh
# Checks the dependencies with cargo-deny: licences, sources, duplicates and known vulnerabilities (deny.toml).
# Exit status: 0, all is allowed; 3, NOT RUN, and stderr's last line says why; others, something is not allowed.
set -eu
cd "$(dirname "$0")/.."

if ! cargo deny --version >/dev/null 2>&1; then
    echo 'NOT RUN: the check of dependencies, because cargo-deny is missing: cargo install --locked cargo-deny' >&2
    exit 3
fi
cargo deny --locked check licenses bans sources
# The database of vulnerabilities comes over the network.
if ! cargo deny fetch db 2>/dev/null; then
    echo 'NOT RUN: the check for known vulnerabilities, because their database could not be downloaded' >&2
    exit 3
fi
cargo deny --locked --offline check advisories
