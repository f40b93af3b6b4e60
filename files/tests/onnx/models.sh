#!/bin/sh
# Converts models of the Python package onnx, and own ones with nested graphs, functions and external data. Checks the
# results with onnx.checker, and compares what they compute with the originals, in onnxruntime or ONNX's reference.
#   models.sh [--nodes] [--reference] [--verbose]
#                                     those models; with --nodes those of ONNX's own node tests are converted, too, and
#                                     with --reference the light models also run in ONNX's reference
#   models.sh --large [BYTES]         instead one model with 3 GiB (or BYTES) of external data, below target/
# CAST_BINARY names the program to test; without it, it is built.
# Needs python3 (3.11 or later) and a package index that pip can reach. Where it cannot run, it prints NOT RUN with the
# reason and exits with 3.
set -eu
cd "$(dirname "$0")/../../.."
folder=target/onnx-models
python=$folder/venv/bin/python
packages='onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6 ml_dtypes==0.6.0'

not_run() {
    [ ! -s "$folder/log" ] || tail -n 20 "$folder/log" >&2
    echo "NOT RUN: converted ONNX models were not compared with the originals: $1" >&2
    exit 3
}

command -v python3 >/dev/null || not_run 'python3 is not installed'
mkdir -p "$folder"
if ! "$python" -I -c 'import ml_dtypes, numpy, onnx, onnxruntime' >/dev/null 2>&1; then
    rm -rf "$folder/venv"
    python3 -m venv "$folder/venv" >"$folder/log" 2>&1 ||
        virtualenv --python python3 "$folder/venv" >>"$folder/log" 2>&1 ||
        not_run 'python3 cannot create a virtual environment; on Debian and Ubuntu: apt-get install python3-venv'
    # shellcheck disable=SC2086
    "$python" -I -m pip install --quiet --no-input --disable-pip-version-check --only-binary :all: $packages \
        >"$folder/log" 2>&1 </dev/null || not_run "pip could not install $packages for $(python3 -V 2>&1)"
fi
cast=${CAST_BINARY:-$(cargo build --release -p wgpu-cast-cli --message-format json 2>"$folder/log" |
    sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' | tail -n 1)}
[ -n "$cast" ] || { cat "$folder/log" >&2; exit 1; }
if [ "${1:-}" = --large ]; then
    shift
    exec "$python" -I files/tests/onnx/large.py "$cast" "$folder/large" "$@"
fi
rm -rf "$folder/models"
exec "$python" -I files/tests/onnx/models.py "$cast" "$folder/models" "$@"
