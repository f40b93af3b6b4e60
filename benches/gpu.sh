#!/bin/sh
# All that a short visit to a machine with a GPU should prove and measure, in less than nine minutes.
#   benches/gpu.sh build [FOLDER]    on a machine with Rust: builds the programs into FOLDER [target/gpu]
#   benches/gpu.sh run [FOLDER]      on the machine with the GPU: runs them; it needs a Vulkan loader, but no Rust
# FOLDER is relative to the repository.
#
# `run` fails at once if all adapters are software ones, unless GPU_SOFTWARE=1. It empties FOLDER/results and writes there:
# verify.txt (every cast beside the CPU path), all.json (every pair beside a copy), record.txt, many.txt, views.txt and
# transfer.txt (recording, batches, views, host tensors). Where Python has numpy and ml_dtypes, also growth.jsonl (growing
# tensors, on the CPU and on the GPU); with PyTorch for CUDA or CuPy, gpu.jsonl (both beside this crate). The last two belong
# in docs/charts/data. A step that fails or takes too long does not stop the others; the script says so and fails in the end,
# and what the step wrote is named *.partial.
#   GPU_ELEMENTS=N           elements of a tensor in all.json and gpu.jsonl [67108864]
#   GPU_RANDOM=N             random codes of each wide type in verify.txt [1048576]
set -eu
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
what=${1:-}
folder=${2:-target/gpu}

build() {
    mkdir -p "$folder"
    cargo build --release --locked --example cast
    cp "$target/release/examples/cast" "$folder/cast"
    for bench in peers record many views transfer; do
        # Cargo says where the program is.
        message=$(cargo build --release --locked --bench "$bench" --message-format json-render-diagnostics |
            grep '"executable":"' | tail -n 1)
        cp "$(printf '%s' "$message" | sed 's/.*"executable":"\([^"]*\)".*/\1/')" "$folder/$bench"
    done
    strip "$folder"/* 2>/dev/null || true
    ls -l "$folder"
}

failed=''
# Runs a step for at most so many seconds, with its output at the end of a file, and says how long it took.
step() { # name seconds file command…
    name=$1 seconds=$2 file=$results/$3
    shift 3
    start=$(date +%s) status=0
    timeout "$seconds" "$@" >>"$file" || status=$?
    if [ "$status" = 0 ]; then
        echo "$name: $(($(date +%s) - start)) s"
    else
        echo "$name: FAILED, status $status, after $(($(date +%s) - start)) s"
        failed="$failed $name"
        [ ! -e "$file" ] || mv "$file" "$file.partial"
        [ ! -e "$results/$name.jsonl" ] || mv "$results/$name.jsonl" "$results/$name.jsonl.partial"
    fi
}

run() {
    results=$folder/results
    rm -rf "$results"
    mkdir -p "$results"
    elements=${GPU_ELEMENTS:-67108864}
    export PEERS_PROGRAMS="$folder" PEERS_RESULTS="$results"
    step adapters 20 adapters.txt "$folder/cast" adapters
    cat "$results"/adapters.txt*
    if [ "${GPU_SOFTWARE:-}" != 1 ] && ! grep -q '^\*' "$results/adapters.txt"; then
        echo 'there is no GPU here; GPU_SOFTWARE=1 measures the software adapter' >&2
        exit 1
    fi
    step verify 120 verify.txt "$folder/cast" verify --report --random "${GPU_RANDOM:-1048576}"
    tail -n 5 "$results"/verify.txt*
    step all 120 all.json "$folder/cast" bench --json --elements "$elements"
    for program in record many views transfer; do
        step "$program" 20 "$program.txt" "$folder/$program"
    done
    python=$(command -v python3 || true)
    if [ -n "$python" ] && "$python" -c 'import ml_dtypes, numpy' 2>/dev/null; then
        step growth 80 growth.txt "$python" benches/peers/measure.py growth
        if "$python" -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null || "$python" -c 'import cupy' 2>/dev/null; then
            step gpu 110 gpu.txt "$python" benches/peers/gpu.py "$folder/cast" --elements "$elements" --json "$results/gpu.jsonl"
        else
            echo 'gpu: NOT RUN, neither PyTorch for CUDA nor CuPy is installed'
        fi
    else
        echo 'growth, gpu: NOT RUN, Python with numpy and ml_dtypes is not installed'
    fi
    [ -z "$failed" ] || { echo "FAILED:$failed" >&2; exit 1; }
}

case $what in
    build) build ;;
    run) run ;;
    *) sed -n '2,/^set/p' benches/gpu.sh | sed '$d; s/^# \{0,1\}//' >&2; exit 2 ;;
esac
