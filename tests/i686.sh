#!/bin/sh
# Runs the suites that need no GPU as a 32-bit Linux program on an x86-64 machine: addresses and lengths have 32 bits there.
# Further arguments go to the test runner.
# Needs rustup and a linker for 32 bits; on Debian and Ubuntu it installs what is missing.
# Exit status: 0, all passed; 3, NOT RUN, and stderr's last line says why; others, a test failed or did not build.
set -eu
cd "$(dirname "$0")/.."

target=i686-unknown-linux-gnu

not_run() {
    echo "NOT RUN: the tests on i686: $1" >&2
    exit 3
}

[ "$(uname -sm)" = 'Linux x86_64' ] || not_run "this machine is no x86-64 one with Linux"

# Compiles and runs a program of 32 bits.
works() {
    command -v cc >/dev/null && mkdir -p target/i686 && echo 'int main(void) { return 0; }' >target/i686/empty.c &&
        cc -m32 -o target/i686/empty target/i686/empty.c 2>/dev/null && target/i686/empty
}

if ! works; then
    command -v apt-get >/dev/null || not_run 'cc -m32 makes no program that runs, and there is no apt-get to install its libraries'
    tests/apt.sh gcc-multilib libc6-dev-i386 || not_run 'apt-get could not install gcc-multilib and libc6-dev-i386'
    works || not_run 'cc -m32 still makes no program that runs'
fi
command -v rustup >/dev/null || not_run "there is no rustup to add Rust's target $target with"
rustup target add $target || not_run "rustup could not add the target $target"

# What only talks to GPUs is compiled without optimisation, as it is not run here and takes most of the time to compile.
options="--release --package wgpu-cast --target $target"
for package in naga wgpu wgpu-core wgpu-hal; do
    options="$options --config profile.release.package.$package.opt-level=0"
done
options="$options --package wgpu-cast --package wgpu-cast-files --lib --test host --test strings --test files --test fuzz --no-fail-fast"

# naga's translation of the kernels does not depend on the processor.
# shellcheck disable=SC2086 # options, one a word
if cargo nextest --version >/dev/null 2>&1; then
    cargo nextest run $options -E 'not test(/^shaders::|^functions::every_cast_composes/)' "$@"
else
    cargo test $options "$@" -- --skip shaders:: --skip functions::every_cast_composes
fi
