#!/bin/sh
# Runs every test; sets up what they need. Further arguments go to the test runner.
set -eu
cd "$(dirname "$0")/.."
# Without it, some drivers complain on stderr at every start.
export XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-${TMPDIR:-/tmp}}"

tests/adapter.sh

# Optimised, since some tests try every code there is, but with the checks that a debug build has.
checked() {
    cargo --config 'profile.release.package.wgpu-cast.overflow-checks=true' \
        --config 'profile.release.package.wgpu-cast.debug-assertions=true' "$@"
}

# The tests of the command line run the example's binary.
checked build --release --example cast
checked test --release --doc
if cargo nextest --version >/dev/null 2>&1; then
    checked nextest run --release --no-fail-fast "$@"
else
    checked test --release --no-fail-fast --lib --tests "$@"
fi
