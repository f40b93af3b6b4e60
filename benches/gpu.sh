#!/bin/sh
# All that a short visit to a machine with a GPU should prove and measure, in less than nine minutes.
#   benches/gpu.sh build [FOLDER]    on a machine with Rust: builds the programs into FOLDER/programs.tar.gz [target/gpu]
#   benches/gpu.sh run [FOLDER]      on the machine with the GPU: unpacks and runs them, without Rust
# FOLDER is relative to the repository. The machine with the GPU needs the repository and FOLDER/programs.tar.gz. `run` empties
# FOLDER/results and writes there, the most important first:
#   adapters.jsonl, machine.txt      what the machine is
#   verify.jsonl                     every cast beside the CPU path: docs/verification.md
#   pairs.jsonl                      every pair beside a copy
#   gpu.jsonl                        PyTorch for CUDA and CuPy beside pairs.jsonl, where Python has one of them and ml_dtypes
#   views.txt, many.txt              views beside copies by hand, and batches: docs/performance.md
#   chains.jsonl                     models of several casts on host tensors, and from which size the GPU is faster:
#                                    GPU_FROM_BYTES in src/host/context.rs
#   transfer.txt, record.txt         host tensors and the first cast; recording
#   growth.jsonl                     growing tensors on both, where Python has numpy and ml_dtypes
# `benches/peers/run.sh visit FOLDER/results` makes docs/charts/data/gpu of them, which the tables and charts read beside the
# figures of software adapters. *.stderr is what a step said besides, and log.txt says how each step ended. A step that fails or
# takes too long does not stop the others; the script fails in the end, and what the step wrote is named *.partial.
# Where OUT is set, OUT/results.tar has all of it, as of the last step.
#
# `run` needs `timeout` of GNU's coreutils, which macOS lacks. It exits with 3 if no adapter of Vulkan, Metal or Direct3D 12 is a GPU, unless GPU_SOFTWARE=1. On Linux it needs the Vulkan
# loader, libvulkan.so.1. Where the system has none, it takes the one in Debian's packages in FOLDER, which the machine that
# builds can fetch: (cd FOLDER && apt-get download libvulkan1).
#   VK_DRIVER_FILES=FILE     the driver's .json, where the loader does not find it itself
#   GPU_ELEMENTS=N           elements of a tensor in pairs.jsonl and gpu.jsonl, and the most in the others [67108864]
#   GPU_RANDOM=N             random codes of each wide type in verify.jsonl [1048576]
set -eu
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
what=${1:-}
folder=${2:-target/gpu}

build() {
    programs=$folder/programs
    rm -rf "$programs" "$programs.tar.gz"
    mkdir -p "$programs"
    cargo build --release --locked -p wgpu-cast-cli
    cp "$target/release/wgpu-cast" "$programs/wgpu-cast"
    for bench in peers views many chains transfer record; do
        # Cargo says where the program is.
        message=$(cargo build --release --locked --bench "$bench" --message-format json-render-diagnostics |
            grep '"executable":"' | tail -n 1)
        cp "$(printf '%s' "$message" | sed 's/.*"executable":"\([^"]*\)".*/\1/')" "$programs/$bench"
    done
    strip "$programs"/* 2>/dev/null || true
    # They are a third of the size then, and what can be taken to the machine may be limited.
    tar -czf "$programs.tar.gz" -C "$folder" programs
    rm -r "$programs"
    ls -l "$programs.tar.gz"
}

say() {
    echo "$*" | tee -a "$results/log.txt"
}

# Replaces the archive at once, so that a run that is killed has left a whole one.
keep() {
    [ -n "${OUT:-}" ] || return 0
    tar -cf "$OUT/results.tar.part" -C "$folder" results
    mv "$OUT/results.tar.part" "$OUT/results.tar"
}

failed=''
# Runs a step for at most so many seconds, with its output in a file, and says how long it took.
step() { # name seconds file command…
    name=$1 seconds=$2 file=$results/$3
    shift 3
    start=$(date +%s) status=0
    timeout -k 2 "$seconds" "$@" >"$file" 2>"$results/$name.stderr" || status=$?
    [ -s "$results/$name.stderr" ] || rm "$results/$name.stderr"
    if [ "$status" = 0 ]; then
        say "$name: $(($(date +%s) - start)) s"
    else
        say "$name: FAILED, status $status, after $(($(date +%s) - start)) s"
        [ ! -e "$results/$name.stderr" ] || tail -n 3 "$results/$name.stderr"
        failed="$failed $name"
        mv "$file" "$file.partial"
        [ ! -e "$results/$name.jsonl" ] || mv "$results/$name.jsonl" "$results/$name.jsonl.partial"
    fi
    keep
}

# The loader in the packages beside the programs, if the system has none.
bring_loader() {
    ldconfig -p 2>/dev/null | grep -q 'libvulkan\.so\.1' && return
    for package in "$folder"/*.deb; do
        [ ! -e "$package" ] || dpkg-deb -x "$package" "$folder/loader"
    done
    for library in "$folder"/loader/usr/lib/*/libvulkan.so.1; do
        [ ! -e "$library" ] || export LD_LIBRARY_PATH="$PWD/$(dirname "$library")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    done
}

machine() {
    cores=$(getconf _NPROCESSORS_ONLN)
    model=$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)
    echo "$cores cores, ${model:-$(uname -m)}"
}

# Stops unless the adapter that is used is a GPU of one of these backends.
need_gpu() {
    [ "${GPU_SOFTWARE:-}" != 1 ] || return 0
    ! grep '"chosen":true' "$results"/adapters.jsonl* | grep -qE '"backend":"(vulkan|metal|dx12)"' || return 0
    say 'there is no GPU with Vulkan, Metal or Direct3D 12 here; GPU_SOFTWARE=1 measures a software adapter' >&2
    case $(ldconfig -p 2>/dev/null)${LD_LIBRARY_PATH:-} in
        *libvulkan.so.1* | *"$folder"/loader*) say 'the Vulkan loader is there; VK_DRIVER_FILES names the driver to it' >&2 ;;
        *) say 'the Vulkan loader is missing: put the package libvulkan1 (.deb) into the folder of the programs' >&2 ;;
    esac
    [ ! -e "$results/adapters.stderr" ] || grep -i error "$results/adapters.stderr" | sort -u | head -n 9 >&2
    drivers=$(find /usr /etc /opt -path '*/vulkan/icd.d/*.json' 2>/dev/null | head -n 9)
    say "drivers for VK_DRIVER_FILES: ${drivers:-none found}" >&2
    keep
    exit 3
}

run() {
    results=$folder/results
    rm -rf "$results"
    mkdir -p "$results"
    elements=${GPU_ELEMENTS:-67108864}
    programs=$folder/programs
    rm -rf "$programs"
    tar -xzf "$programs.tar.gz" -C "$folder"
    export PEERS_PROGRAMS="$programs" PEERS_RESULTS="$results" PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
    # Some drivers print a warning if this is not set.
    export XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-${TMPDIR:-/tmp}}"
    bring_loader
    # OpenGL on a GPU is not what is to be measured.
    [ "${GPU_SOFTWARE:-}" = 1 ] || export WGPU_BACKEND="${WGPU_BACKEND:-vulkan,metal,dx12}"
    machine >"$results/machine.txt"
    # Where none is found, the log says why.
    step adapters 15 adapters.jsonl env RUST_LOG=info VK_LOADER_DEBUG=error,warn "$programs/wgpu-cast" adapters --json
    cat "$results"/adapters.jsonl*
    need_gpu

    # All limits together are less than nine minutes.
    step verify 110 verify.jsonl "$programs/wgpu-cast" verify --json --random "${GPU_RANDOM:-1048576}"
    tail -n 1 "$results"/verify.jsonl*
    step pairs 90 pairs.jsonl "$programs/wgpu-cast" bench --json --elements "$elements"
    python=$(command -v python3 || true)
    [ -z "$python" ] || timeout 15 "$python" -c 'import ml_dtypes, numpy' 2>/dev/null || python=''
    if [ -n "$python" ]; then
        pairs=$(ls "$results"/pairs.jsonl*)
        step gpu 90 gpu.txt "$python" benches/peers/gpu.py "$pairs" --json "$results/gpu.jsonl"
        cat "$results"/gpu.txt*
    else
        say 'gpu, growth: NOT RUN, Python with numpy and ml_dtypes is not installed'
    fi
    step views 25 views.txt "$programs/views"
    step many 15 many.txt "$programs/many"
    step chains 40 chains.jsonl "$programs/chains" --most "$elements"
    tail -n 1 "$results"/chains.jsonl*
    # Without what drivers keep of earlier runs, as its first casts are.
    step transfer 30 transfer.txt env __GL_SHADER_DISK_CACHE=0 MESA_SHADER_CACHE_DISABLE=true "$programs/transfer"
    step record 20 record.txt "$programs/record"
    [ -z "$python" ] || step growth 50 growth.txt "$python" benches/peers/measure.py growth --most "$elements"
    [ -z "$failed" ] || { say "FAILED:$failed"; keep; exit 1; }
}

case $what in
    build) build ;;
    run) run ;;
    *) sed -n '2,/^set/p' benches/gpu.sh | sed '$d; s/^# \{0,1\}//' >&2; exit 2 ;;
esac
