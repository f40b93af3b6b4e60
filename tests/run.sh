#!/bin/sh
# Runs every test; sets up what they need. Further arguments go to the test runner.
set -eu
cd "$(dirname "$0")/.."
arguments=$#
# Some drivers print a warning if this is not set.
export XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-${TMPDIR:-/tmp}}"

tests/adapter.sh

# ONNX's own test cases come over the network. Without them their tests are listed as ignored, and this says why.
official=0
files/tests/onnx/fetch.sh || official=$?
case $official in
    0 | 3) ;;
    *) exit "$official" ;;
esac
[ "$official" = 0 ] || echo "NOT RUN: ONNX's own node tests, because their data could not be downloaded (see above)" >&2

# shellcheck source=tests/checked.sh
. tests/checked.sh

# What tests could not try; the runners hide what tests that pass print.
export WGPU_CAST_NOT_TESTED="$PWD/target/not-tested.txt"
mkdir -p target
rm -f "$WGPU_CAST_NOT_TESTED"
status=0
# shellcheck disable=SC2086 # options, one a word
{
cargo test $checked --doc
if cargo nextest --version >/dev/null 2>&1; then
    [ "$official" != 0 ] || set -- --run-ignored all "$@"
    cargo nextest run $checked --no-fail-fast "$@" || status=$?
else
    [ "$official" != 0 ] || set -- "$@" -- --include-ignored
    cargo test $checked --no-fail-fast --lib --tests "$@" || status=$?
fi
}
[ ! -s "$WGPU_CAST_NOT_TESTED" ] || sort -u "$WGPU_CAST_NOT_TESTED" >&2
unset WGPU_CAST_NOT_TESTED
[ "$status" = 0 ] || exit "$status"

# Once more the tests of the command line, since root may do what other users may not.
if [ "$(id -u)" = 0 ] && [ "$arguments" = 0 ]; then
    # Without a package: the features, and so what is compiled, are then those of the run before.
    # shellcheck disable=SC2086
    built=$(cargo test $checked --test cli --no-run --message-format=json 2>/dev/null |
        sed -n 's/.*"executable":"\([^"]*\)".*/\1/p')
    tests/other_user.sh "$(echo "$built" | grep '/cli-[^/]*$')" "$(echo "$built" | grep '/wgpu-cast$')" || [ $? = 3 ]
fi
