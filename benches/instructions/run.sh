#!/bin/sh
# Regenerates counts.csv and decoders.csv. With --check, compares with them instead, and fails if a kernel or a function has
# more instructions.
# Needs Debian's mesa-vulkan-drivers and libvulkan1, but no GPU. Without them, or with another version of Mesa than that
# of counts.csv, --check prints the reason and exits with 3.
set -eu
cd "$(dirname "$0")"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/../../target/instructions}"
# Some drivers print a warning if this is not set.
export XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-${TMPDIR:-/tmp}}"
exec cargo run --release --locked --quiet -- "$@"
