#!/bin/sh
# Builds and runs the comparison. Fails if any bit differs.
set -eu
cd "$(dirname "$0")"
# Some drivers print a warning if this is not set.
export XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-${TMPDIR:-/tmp}}"
exec cargo run --release --locked --quiet -- "$@"
