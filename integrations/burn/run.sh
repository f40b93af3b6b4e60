#!/bin/sh
# Builds and runs the comparison; fails where a bit differs.
set -eu
cd "$(dirname "$0")"
# Without it, some drivers complain on stderr at every start.
export XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-${TMPDIR:-/tmp}}"
exec cargo run --release --locked --quiet -- "$@"
