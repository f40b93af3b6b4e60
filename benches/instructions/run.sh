#!/bin/sh
# `benches/instructions/run.sh` counts anew and writes counts.csv; with --check it compares, and fails where one is worse.
set -eu
cd "$(dirname "$0")"
# Without it, some drivers complain on stderr at every start.
export XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-${TMPDIR:-/tmp}}"
exec cargo run --release --locked --quiet -- "$@"
