#!/bin/sh
# All that a short visit to a machine with a GPU should prove and measure, in less than nine minutes.
#   gpu.sh build [FOLDER]    on a machine with Rust: builds the programs into FOLDER [target/gpu]
#   gpu.sh run [FOLDER]      on the machine with the GPU: runs them; it needs a Vulkan loader, but no Rust
#
# `run` writes FOLDER/results: verify.txt (every cast beside the CPU path), all.json (every pair beside a copy), programs.txt
# (recording, batches, views, host tensors). Where Python has numpy and ml_dtypes, also growth.jsonl (growing tensors, on the
# CPU and on the GPU); with PyTorch for CUDA or CuPy, gpu.jsonl (both beside this crate). The last two belong in
# docs/charts/data. A step that fails or takes too long does not stop the others; the script says so and fails in the end.
#   GPU_ELEMENTS=N           elements of a tensor in all.json and gpu.jsonl [67108864]
#   GPU_RANDOM=N             random codes of each wide type in verify.txt [1048576]
set -eu
cd "$(dirname "$0")/.."
what=${1:-}
folder=${2:-target/gpu}

build() {
    mkdir -p "$folder"
    cargo build --release --locked --example cast
    cp target/release/examples/cast "$folder/cast"
    for bench in peers record many views transfer; do
        cargo build --release --locked --bench "$bench"
        # The newest build of the bench.
        cp "$(find target/release/deps -name "$bench-*" -type f -perm -u+x -exec ls -t {} + | head -n 1)" "$folder/$bench"
    done
    strip "$folder"/* 2>/dev/null || true
    ls -l "$folder"
}

failed=''
# Runs a step for at most so many seconds, and says how long it took, wherever its output goes.
exec 3>&1
step() { # name seconds command…
    name=$1 seconds=$2
    shift 2
    start=$(date +%s)
    if timeout "$seconds" "$@"; then
        echo "$name: $(($(date +%s) - start)) s" >&3
    else
        echo "$name: FAILED, status $?, after $(($(date +%s) - start)) s" >&3
        failed="$failed $name"
    fi
}

run() {
    results=$folder/results
    mkdir -p "$results"
    elements=${GPU_ELEMENTS:-67108864}
    export PEERS_PROGRAMS="$folder" PEERS_RESULTS="$results"
    "$folder/cast" adapters
    step verify 150 "$folder/cast" verify --random "${GPU_RANDOM:-1048576}" >"$results/verify.txt"
    tail -n 2 "$results/verify.txt"
    step all 150 "$folder/cast" bench --json --elements "$elements" >"$results/all.json"
    : >"$results/programs.txt"
    for program in record many views transfer; do
        step "$program" 30 "$folder/$program" >>"$results/programs.txt"
    done
    python=$(command -v python3 || true)
    if [ -n "$python" ] && "$python" -c 'import ml_dtypes, numpy' 2>/dev/null; then
        step growth 90 "$python" benches/peers/measure.py growth
        if "$python" -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null || "$python" -c 'import cupy' 2>/dev/null; then
            step peers 120 "$python" benches/peers/gpu.py "$folder/cast" --elements "$elements" --json "$results/gpu.jsonl"
        else
            echo 'peers: NOT RUN, neither PyTorch for CUDA nor CuPy is installed'
        fi
    else
        echo 'growth, peers: NOT RUN, Python with numpy and ml_dtypes is not installed'
    fi
    [ -z "$failed" ] || { echo "FAILED:$failed" >&2; exit 1; }
}

case $what in
    build) build ;;
    run) run ;;
    *) sed -n '2,/^set/p' "$0" | sed '$d; s/^# \{0,1\}//' >&2; exit 2 ;;
esac
