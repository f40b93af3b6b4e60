#!/bin/sh
# Measures this crate and other libraries, and writes tables and charts. Uses a Python environment in target/peers.
#   run.sh [compare] [OPTION]…   casts on the CPU: this crate, numpy with ml_dtypes, PyTorch and ONNX Runtime
#   run.sh small [OPTION]…       small tensors of every pair on the CPU
#   run.sh gpu FIGURES [OPTION]… casts on an NVIDIA GPU by PyTorch and CuPy, beside what `wgpu-cast bench --json` printed there
#   run.sh llvmpipe [OPTION]…    casts on a newer Mesa's llvmpipe: this crate, ONNX Runtime's WebGPU provider and Burn
#   run.sh adapter [OPTION]…     every pair on the best adapter
#   run.sh growth [OPTION]…      growing tensors on the CPU and on the adapter
#   run.sh record [OPTION]…      the host's time for recording
#   run.sh strings [OPTION]…     casts to and from strings
#   run.sh transfer [OPTION]…    the time of host tensors on a device
#   run.sh python [OPTION]…      the Python module beside this crate in Rust, numpy with ml_dtypes, and PyTorch
#   run.sh files [OPTION]…       conversions of files: `wgpu-cast convert`, PyTorch and onnxconverter-common, beside a copy
#   run.sh scaled [OPTION]…      a checkpoint of 2 GiB whose codes become plain tensors: `wgpu-cast convert --dequantize` and PyTorch
#   run.sh visit [FOLDER]        docs/charts/data/gpu, from what benches/gpu.sh left in a folder; measures nothing
#   run.sh tables                the tables of docs/performance.md, of docs/charts/data/*/README.md and of the README, from the recorded figures
#   run.sh charts                docs/charts/*.svg, from the recorded figures
# The figures are recorded in docs/charts/data, or in the folder PEERS_RESULTS: those of `compare` and `small` in that of the processor
# (docs/charts/data/xeon, zen3, zen4, zen5). Add
# --help for the options of a command.
#
# `compare`, `python`, `files` and `scaled` use PyTorch, which is installed only on request:
#   PEERS_TORCH=INDEX   from the package index at that address, such as PyTorch's index for CPUs (about 1 GB)
#   PEERS_TORCH=pip     from the index that pip uses; includes CUDA (more than 5 GB)
# `llvmpipe` builds integrations/burn, which takes about 15 minutes on two cores. Where the newer Mesa cannot be fetched, it prints
# the reason and exits with 3.
# `gpu` uses PyTorch with CUDA, and CuPy: PEERS_CUPY names the package for the installed CUDA, such as cupy-cuda13x.
set -eu
cd "$(dirname "$0")/../.."
# Some drivers print a warning if this is not set.
export XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-${TMPDIR:-/tmp}}"
# Otherwise numpy alone uses huge pages, which are about 10 % faster.
export NUMPY_MADVISE_HUGEPAGE=0
export PYTHONPYCACHEPREFIX="$PWD/target/peers/pycache"
peers=benches/peers
venv=target/peers/venv

what=compare
case ${1:-} in
    compare | small | gpu | llvmpipe | adapter | growth | record | strings | transfer | python | files | scaled | visit | tables | charts)
        what=$1
        shift
        ;;
esac

[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
install() {
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: "$@"
}
install -r "$peers/requirements.txt"
case ${PEERS_TORCH:-} in
    '') ;;
    pip) install -r "$peers/requirements-torch.txt" ;;
    *) install --index-url "$PEERS_TORCH" -r "$peers/requirements-torch.txt" ;;
esac
[ "$what" != llvmpipe ] || install -r "$peers/requirements-webgpu.txt"
[ -z "${PEERS_CUPY:-}" ] || install "$PEERS_CUPY"
if [ "$what" = python ]; then
    wheels=integrations/python/target/wheels
    rm -rf "$wheels"
    integrations/python/wheel.sh
    install --force-reinstall --no-deps "$wheels"/*.whl
    set -- --wheel "$wheels"/*.whl "$@"
fi

case $what in
    compare | gpu | python | files | scaled)
        "$venv/bin/python" -c 'import torch' 2>/dev/null ||
            echo 'NOT MEASURED: PyTorch, which is not installed. Set PEERS_TORCH to install it (see the head of this script).' >&2
        ;;
esac
# A first cast compiles its kernel, even if an earlier process has.
[ "$what" != transfer ] || export __GL_SHADER_DISK_CACHE=0 MESA_SHADER_CACHE_DISABLE=true
case $what in
    adapter | growth | record | small | strings | transfer) set -- measure.py "$what" "$@" ;;
    *) set -- "$what.py" "$@" ;;
esac
script=$1
shift
[ "$what" != llvmpipe ] || exec tests/stacks/mesa.sh "$venv/bin/python" "$peers/$script" "$@"
exec "$venv/bin/python" "$peers/$script" "$@"
