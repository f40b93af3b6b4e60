#!/bin/sh
# Leaves ONNX's own test cases of Cast and CastLike, those of ten releases of the Python package onnx, as
#   target/onnx-node-data/<release>/<case>/model.onnx and test_data_set_0/{input,output}_<n>.pb beside it.
# Needs python3 (3.10 or later) and a package index that pip reaches. Does nothing where the cases are there already;
# leaves nothing else behind.
# Exit status: 0, all there; 3, could not; 1, a release has other cases than it should. stderr's last line says why.
set -eu
cd "$(dirname "$0")/../.."
data=target/onnx-node-data
log=''
work=''

# release:cases, numeric and string ones.
releases='1.14.1:70 1.15.0:70 1.16.2:80 1.17.0:80 1.18.0:84 1.19.1:142 1.20.1:172 1.21.0:172 1.22.0:172 1.23.2:172'
# Its wheel has the code that makes the cases, not the cases.
without_data=1.23.2

fail() {
    [ ! -s "$log" ] || tail -n 20 "$log" >&2
    echo "$0: $1" >&2
    exit "${2:-3}"
}

# Whether the folder $1 holds $2 cases; sets $found.
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

command -v python3 >/dev/null || fail 'there is no python3'
trap 'rm -rf "$work"' EXIT
trap 'fail interrupted' HUP INT TERM
# Beside the data, to be renamed into place once complete.
mkdir -p target && work=$(mktemp -d target/onnx-fetch.XXXXXX) || fail 'cannot make a folder under target/'
log=$work/log
if ! python3 -m venv "$work/venv" >"$log" 2>&1; then
    rm -rf "$work/venv"
    virtualenv --python python3 "$work/venv" >>"$log" 2>&1 ||
        fail 'python3 cannot make a virtual environment; on Debian and Ubuntu: apt-get install python3-venv'
fi

# -I: no PYTHON* variable of the caller's reaches into the environment.
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
    echo "onnx $release: fetching $cases cases"
    if [ "$release" = "$without_data" ]; then
        pip install "onnx==$release" || fail "pip could not install onnx $release for $(python3 -V 2>&1)"
        python tests/onnx/node_data.py "$new" || fail "cannot make the cases of onnx $release"
    else
        # The cases are the same in each wheel of a release, whatever it is built for; each has a wheel for this.
        pip download --no-deps --python-version 3.11 --platform win_amd64 --dest "$work" "onnx==$release" ||
            fail "pip could not download onnx $release"
        python tests/onnx/node_data.py "$new" "$work/onnx-$release"-*.whl ||
            fail "cannot take the cases from the wheel of onnx $release"
        rm -f "$work/onnx-$release"-*.whl
    fi
    holds "$new" "$cases" || fail "onnx $release has $found cases, not $cases" 1
    holds "$data/$release" "$cases" || rm -rf "${data:?}/$release" || :
    # Not mv, which would move into a folder that another run has put there meanwhile.
    python -c 'import os, sys; os.renames(*sys.argv[1:])' "$new" "$data/$release" ||
        holds "$data/$release" "$cases" || fail "cannot write $data/$release"
done
