#!/bin/sh
# Counts the cycles of each pair's loop on aarch64 and writes cycles.csv and peers.csv. With --check, compares with them
# instead, and fails if a loop takes more cycles than it did, NEON more than portable code, or a conversion more than that
# of the crate `half`.
# Needs rustup, a linker for aarch64, QEMU's user mode and LLVM 19; on Debian and Ubuntu it installs what is missing. Without
# them, or with another version of Rust or LLVM than that of cycles.csv, --check prints the reason and exits with 3.
set -eu
cd "$(dirname "$0")"

target=aarch64-unknown-linux-gnu
linker=aarch64-linux-gnu-gcc

not_run() {
    echo "NOT RUN: cycles on aarch64: $1" >&2
    exit 3
}

missing() {
    for command in $linker qemu-aarch64-static llvm-mca-19 llvm-objdump-19 llvm-nm-19; do
        command -v $command >/dev/null || return 0
    done
    return 1
}

if missing; then
    command -v apt-get >/dev/null || not_run "there is no $linker, QEMU or LLVM 19, and no apt-get to install them"
    ../../tests/apt.sh gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static llvm-19 ||
        not_run 'apt-get could not install gcc-aarch64-linux-gnu, qemu-user-static and llvm-19'
    ! missing || not_run 'apt-get installed other versions than of LLVM 19'
fi
command -v rustup >/dev/null || not_run "there is no rustup to add Rust's target $target with"
rustup target add $target || not_run "rustup could not add the target $target"

export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=$linker
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/../../target/cycles}"
# The instruction set is chosen by the environment. Addresses in the trace are those in the file.
RUSTFLAGS='--cfg wgpu_cast_isa -C target-feature=+crt-static -C relocation-model=static' \
    cargo build --release --locked --quiet --target $target
exec python3 cycles.py "$CARGO_TARGET_DIR/$target/release/wgpu-cast-cycles" "$@"
