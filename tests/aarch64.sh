#!/bin/sh
# Runs all suites that need no GPU except `files` as an aarch64 Linux program, in an emulator: fewer codes and lengths than tests/run.sh
# (tests/support/src/tier.rs). Further arguments go to the test runner.
# Needs rustup, a linker for aarch64 and QEMU's user mode; on Debian and Ubuntu it installs what is missing.
# Exit status: 0, all passed; 3, NOT RUN, and stderr's last line says why; others, a test failed or did not build.
set -eu
cd "$(dirname "$0")/.."

target=aarch64-unknown-linux-gnu
linker=aarch64-linux-gnu-gcc
emulator=qemu-aarch64-static
libraries=/usr/aarch64-linux-gnu

not_run() {
    echo "NOT RUN: the tests on aarch64: $1" >&2
    exit 3
}

if [ "$(uname -sm)" = 'Linux aarch64' ]; then
    not_run 'this machine is one, which needs no emulator: run tests/run.sh'
fi

missing() {
    ! command -v $linker >/dev/null || ! command -v $emulator >/dev/null || [ ! -e $libraries/lib/libc.so.6 ]
}

if missing; then
    command -v apt-get >/dev/null || not_run "there is no $linker or no $emulator, and no apt-get to install them"
    tests/apt.sh gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static ||
        not_run 'apt-get could not install gcc-aarch64-linux-gnu and qemu-user-static'
    ! missing || not_run "gcc-aarch64-linux-gnu and qemu-user-static have no $linker, $emulator or $libraries/lib/libc.so.6"
fi
command -v rustup >/dev/null || not_run "there is no rustup to add Rust's target $target with"
rustup target add $target || not_run "rustup could not add the target $target"

export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=$linker
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="$emulator -L $libraries"
export WGPU_CAST_TESTS=emulator

# Without the checks of tests/run.sh, since they keep the compiler from making vector code. What only talks to GPUs is
# compiled without optimisation, as it is not run here and takes most of the time to compile.
options="--release --package wgpu-cast --target $target"
for package in naga wgpu wgpu-core wgpu-hal; do
    options="$options --config profile.release.package.$package.opt-level=0"
done
options="$options --package wgpu-cast --package wgpu-cast-files --lib --test host --test strings --test fuzz --no-fail-fast"

# naga's translation of the kernels does not depend on the processor, and takes an emulator very long. A process that a test
# starts would run without the emulator.
# shellcheck disable=SC2086 # options, one a word
if cargo nextest --version >/dev/null 2>&1; then
    cargo nextest run $options -E 'not test(/^shaders::|^functions::every_cast_composes|^kernel::tests::kernels_of_every_kind|^threads::/)' "$@"
else
    cargo test $options "$@" -- --skip shaders:: --skip functions::every_cast_composes --skip kernel::tests::kernels_of_every_kind \
        --skip threads::
fi
