#!/bin/sh
# Regenerate counts.csv: benches/instructions/run.sh. Compare with it, and fail where a kernel is worse: add --check.
# Needs Debian's mesa-vulkan-drivers and libvulkan1, and no GPU; without them, or with another Mesa than the table's, a
# check says so and exits with 3.
set -eu
cd "$(dirname "$0")"
# Without it, some drivers complain on stderr at every start.
export XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-${TMPDIR:-/tmp}}"
exec cargo run --release --locked --quiet -- "$@"
