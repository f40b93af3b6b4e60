#!/bin/sh
# Casts by the npm package on Dawn, every pair, or with --every=N each Nth pair. Further arguments are options of Dawn, such as
# backend=vulkan.
# Exit status: 0, all bits are equal; 3, NOT RUN, and stderr's last line says why; others, a bit differs or a step failed.
set -eu
cd "$(dirname "$0")"

not_run() {
    echo "NOT RUN: the casts on Dawn: $1" >&2
    exit 3
}

# Some drivers print a warning if this is not set.
export XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-${TMPDIR:-/tmp}}"
command -v node >/dev/null 2>&1 && command -v npm >/dev/null 2>&1 || not_run 'node or npm is missing'
[ -d node_modules/webgpu ] || npm ci --ignore-scripts --no-audit --no-fund ||
    not_run 'npm cannot install the package webgpu (see above)'
every=1
case ${1:-} in
    --every=*)
        every=${1#--every=}
        shift
        ;;
esac
../browser/build.sh --plans
rm -rf target/casts
cargo run --release --locked --quiet -- target/casts "$every"
exec node run.mjs ../browser/target/npm-plans target/casts "$@"
