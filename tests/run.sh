#!/bin/sh
# Runs every test; sets up what they need. Further arguments go to the test runner.
set -eu
cd "$(dirname "$0")/.."
# Without it, some drivers complain on stderr at every start.
export XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-${TMPDIR:-/tmp}}"

# The tests of the command line run the example's binary.
cargo build --release --example cast
tests/adapter.sh
cargo test --release --doc
if cargo nextest --version >/dev/null 2>&1; then
    cargo nextest run --release --no-fail-fast "$@"
else
    cargo test --release --no-fail-fast --lib --tests "$@"
fi
