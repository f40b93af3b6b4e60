#!/bin/sh
# Builds the program `wgpu-cast` for Windows and runs it in Wine: a conversion gives the bytes of this machine's own build on the CPU, on
# Vulkan and on GL; the checksums of all inputs (but those of most sources of 32 bits) are the recorded ones; `verify` proves every
# pair on Vulkan. DX12 is not run: Wine has an adapter for it that fails. It needs an adapter for Vulkan, such as Mesa's llvmpipe.
# Needs rustup, a linker for Windows, Wine and an X server; on Debian and Ubuntu it installs what is missing.
# Exit status: 0, all passed; 3, NOT RUN, and stderr's last line says why; others, something failed or did not build.
set -eu
cd "$(dirname "$0")/.."

target=x86_64-pc-windows-gnu
linker=x86_64-w64-mingw32-gcc
folder=$PWD/target/windows

not_run() {
    echo "NOT RUN: the tests on Windows: $1" >&2
    exit 3
}

missing() {
    ! command -v $linker >/dev/null || ! command -v wine >/dev/null || ! command -v xvfb-run >/dev/null
}

if missing; then
    command -v apt-get >/dev/null || not_run "there is no $linker, no Wine or no xvfb-run, and no apt-get to install them"
    tests/apt.sh gcc-mingw-w64-x86-64 wine wine64 xvfb xauth || not_run 'apt-get could not install them'
    ! missing || not_run "there is still no $linker, no wine or no xvfb-run"
fi
command -v rustup >/dev/null || not_run "there is no rustup to add Rust's target $target with"
rustup target add $target || not_run "rustup could not add the target $target"

cargo build --release --locked -p wgpu-cast-cli
cargo build --release --locked -p wgpu-cast-cli --target $target
rm -rf "$folder"
mkdir -p "$folder"
cp "target/$target/release/wgpu-cast.exe" examples/cast/data/tiny.safetensors "$folder"
# Rust's standard library takes random numbers from this library, which Wine 8 lacks.
printf '%s\n' '#include <stddef.h>' 'unsigned char SystemFunction036(void *, unsigned long);' \
    '__declspec(dllexport) int ProcessPrng(unsigned char *to, size_t size) { return SystemFunction036(to, size); }' |
    $linker -shared -x c - -o "$folder/bcryptprimitives.dll" -ladvapi32

export WINEDEBUG=-all WINEDLLOVERRIDES='bcryptprimitives=n;mscoree=;mshtml='
# Some drivers print a warning if this is not set.
export XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-${TMPDIR:-/tmp}}"
on_cpu() {
    (cd "$folder" && env -u DISPLAY WINEPREFIX="$folder/cpu" wine wgpu-cast.exe "$@" --device cpu)
}
# Vulkan and GL need an X server in Wine, from the start of its own server on: hence a folder of its own.
on_gpu() { # backend
    export WGPU_BACKEND="$1"
    shift
    (cd "$folder" && WINEPREFIX="$folder/gpu" xvfb-run -a wine wgpu-cast.exe "$@" --device gpu)
}

echo '== conversions'
target/release/wgpu-cast convert -q "$folder/tiny.safetensors" "$folder/here.safetensors" --to float8e4m3fn --device cpu
on_cpu convert tiny.safetensors cpu.safetensors --to float8e4m3fn
on_gpu vulkan convert tiny.safetensors vulkan.safetensors --to float8e4m3fn
on_gpu gl convert tiny.safetensors gl.safetensors --to float8e4m3fn
for device in cpu vulkan gl; do
    cmp "$folder/$device.safetensors" "$folder/here.safetensors"
done

echo '== checksums on the CPU'
checksums() {
    on_cpu verify --checksums "$@" >"$folder/log" || { cat "$folder/log"; exit 1; }
    tail -n 1 "$folder/log"
}
for from in $(awk '!/^#/ && !/^(float|int32|uint32) / { print $1 }' examples/cast/src/checks/checksums.txt | uniq); do
    checksums --from "$from"
done
checksums --from float --to float16

echo '== every pair on Vulkan'
on_gpu vulkan verify
echo 'NOT RUN: DX12, which needs Windows' >&2
