#!/bin/sh
# This crate beside its peers, and what its charts show. In a Python environment of its own, under target/.
#   run.sh [compare] [OPTION]…   casts on the CPU beside numpy with ml_dtypes, PyTorch and ONNX Runtime; the table
#   run.sh gpu CAST [OPTION]…    casts on an NVIDIA GPU beside PyTorch and CuPy; the table
#   run.sh adapter [OPTION]…     every pair on the adapter that wgpu finds
#   run.sh growth [OPTION]…      GB/s over element counts, CPU and adapter
#   run.sh strings [OPTION]…     casts to and from strings
#   run.sh charts                docs/charts/*.svg from the figures that the others left in docs/charts/data
# `--help` behind each says the rest.
#
# PyTorch is wanted by `compare` and comes in two ways, neither without being asked for:
#   PEERS_TORCH=INDEX   from the package index at that address, such as PyTorch's own of wheels for CPUs (about 1 GB)
#   PEERS_TORCH=pip     from the index that pip uses, where it brings all of CUDA (more than 5 GB)
# `gpu` wants it with CUDA, and CuPy: PEERS_CUPY names the package for the CUDA that is there, such as cupy-cuda13x.
set -eu
cd "$(dirname "$0")/../.."
# Without it, some drivers complain on stderr at every start.
export XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-${TMPDIR:-/tmp}}"
# numpy alone would ask for huge pages, which are worth a tenth.
export NUMPY_MADVISE_HUGEPAGE=0
export PYTHONPYCACHEPREFIX="$PWD/target/peers/pycache"
peers=benches/peers
venv=target/peers/venv

what=compare
case ${1:-} in
    compare | gpu | adapter | growth | strings | charts)
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
[ -z "${PEERS_CUPY:-}" ] || install "$PEERS_CUPY"

case $what in
    compare | gpu)
        "$venv/bin/python" -c 'import torch' 2>/dev/null ||
            echo '!! WITHOUT PYTORCH, the fastest of the peers: set PEERS_TORCH to have it, as this script says' >&2
        ;;
esac
case $what in
    adapter | growth | strings) set -- measure.py "$what" "$@" ;;
    *) set -- "$what.py" "$@" ;;
esac
script=$1
shift
exec "$venv/bin/python" "$peers/$script" "$@"
