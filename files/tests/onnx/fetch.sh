#!/bin/sh
# Downloads ONNX's own test cases of Cast and CastLike from ten releases of the Python package onnx to
#   target/onnx-node-data/<release>/<case>/model.onnx and test_data_set_0/{input,output}_<n>.pb beside it.
# Needs python3 (3.10 or later) and a package index that pip can reach. Does nothing if the cases exist already.
# Exit status: 0 all cases exist; 1 a release has an unexpected number of cases; 3 the download failed. The last line on
# stderr gives the reason.
set -eu
cd "$(dirname "$0")/../../.."
data=target/onnx-node-data
log=''
work=''

# release:number of cases
releases='1.14.1:70 1.15.0:70 1.16.2:80 1.17.0:80 1.18.0:84 1.19.1:142 1.20.1:172 1.21.0:172 1.22.0:172 1.23.2:172'
# The wheel of this release contains the code that generates the cases, but not the cases.
without_data=1.23.2

fail() {
    [ ! -s "$log" ] || tail -n 20 "$log" >&2
    echo "$0: $1" >&2
    exit "${2:-3}"
}

# Whether the folder $1 contains $2 cases; sets $found.
holds() {
    wanted=$2
    set -- "$1"/*/model.onnx
    [ -e "$1" ] || shift
    found=$#
    [ "$found" = "$wanted" ]
}

missing=''
for entry in $releases; do
    holds "$data/${entry%:*}" "${entry#*:}" || missing="$missing $entry"
done
[ -n "$missing" ] || exit 0

command -v python3 >/dev/null || fail 'python3 is not installed'
trap 'rm -rf "$work"' EXIT
trap 'fail interrupted' HUP INT TERM
# In the same file system as the data, so that complete cases can be renamed into place.
mkdir -p target && work=$(mktemp -d target/onnx-fetch.XXXXXX) || fail 'cannot create a folder in target/'
log=$work/log
if ! python3 -m venv "$work/venv" >"$log" 2>&1; then
    rm -rf "$work/venv"
    virtualenv --python python3 "$work/venv" >>"$log" 2>&1 ||
        fail 'python3 cannot create a virtual environment; on Debian and Ubuntu: apt-get install python3-venv'
fi

# -I ignores the caller's PYTHON* variables.
python() {
    "$work/venv/bin/python" -I "$@" >"$log" 2>&1 </dev/null
}
pip() {
    command=$1
    shift
    python -m pip "$command" --quiet --no-input --no-cache-dir --disable-pip-version-check --retries 2 \
        --only-binary :all: "$@"
}

for entry in $missing; do
    release=${entry%:*}
    cases=${entry#*:}
    new=$work/$release
    echo "onnx $release: downloading $cases cases"
    if [ "$release" = "$without_data" ]; then
        pip install "onnx==$release" || fail "pip could not install onnx $release for $(python3 -V 2>&1)"
        python files/tests/onnx/node_data.py "$new" || fail "cannot generate the cases of onnx $release"
    else
        # All wheels of a release contain the same cases, and every release has a wheel for this platform.
        pip download --no-deps --python-version 3.11 --platform win_amd64 --dest "$work" "onnx==$release" ||
            fail "pip could not download onnx $release"
        python files/tests/onnx/node_data.py "$new" "$work/onnx-$release"-*.whl ||
            fail "cannot extract the cases from the wheel of onnx $release"
        rm -f "$work/onnx-$release"-*.whl
    fi
    holds "$new" "$cases" || fail "onnx $release has $found cases, expected $cases" 1
    holds "$data/$release" "$cases" || rm -rf "${data:?}/$release" || :
    # Not mv, which would move into a folder that another run has created meanwhile.
    python -c 'import os, sys; os.renames(*sys.argv[1:])' "$new" "$data/$release" ||
        holds "$data/$release" "$cases" || fail "cannot write $data/$release"
done
