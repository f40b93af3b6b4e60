#!/bin/sh
# Runs tests under a sanitizer. The argument is `address`: the suites that read files, messages and strings, and the CPU path; or
# `thread`: sixteen threads on one device, and casts whose tensors several threads share. Further arguments go to the test runner.
# Needs a nightly toolchain and its sources, with which the standard library is compiled for the sanitizer, too.
# Exit status: 0, nothing was found; 3, NOT RUN, and stderr's last line says why; others, a finding, or a test failed.
set -eu
cd "$(dirname "$0")/.."

target=x86_64-unknown-linux-gnu

not_run() {
    echo "NOT RUN: the tests under a sanitizer: $1" >&2
    exit 3
}

[ "$(uname -sm)" = 'Linux x86_64' ] || not_run 'this machine is no x86-64 one with Linux'
rustc +nightly --version >/dev/null 2>&1 || not_run 'rustup toolchain install nightly --component rust-src'
[ -d "$(rustc +nightly --print sysroot)/lib/rustlib/src" ] || not_run 'rustup component add --toolchain nightly rust-src'
cargo nextest --version >/dev/null 2>&1 || not_run 'cargo install --locked cargo-nextest'
sanitizer=${1:-}
case $sanitizer in
    address)
        # Leaks are not reported, because drivers keep memory until the process ends. Left out: tests in processes with too little
        # memory for the sanitizer, and the translation of kernels, which is naga's.
        export ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=0
        suites='--package wgpu-cast --package wgpu-cast-files --lib --test files --test fuzz --test messages --test strings --test host'
        tests='not test(/^shaders::|^functions::every_cast_composes|no_memory_for/)'
        ;;
    thread)
        # A driver that is not compiled for the sanitizer orders its threads in ways that it does not see.
        mkdir -p target/sanitizers
        printf 'called_from_lib:%s\n' libvulkan_lvp.so libgallium libEGL_mesa.so libLLVM >target/sanitizers/suppressions
        export TSAN_OPTIONS="suppressions=$PWD/target/sanitizers/suppressions:ignore_noninstrumented_modules=1"
        suites='--lib --test device --test host'
        tests='test(/^soak::|^engine::|^cpu::tests::(every_offset|large_results|loops_are_kept)|pool|threads/)'
        ;;
    *) not_run 'the argument is address or thread' ;;
esac
shift

export RUSTFLAGS="-Zsanitizer=$sanitizer"
# shellcheck disable=SC2086 # suites, one a word
exec cargo +nightly nextest run --release --locked -Zbuild-std --target $target --target-dir "target/sanitizers/$sanitizer" \
    --no-fail-fast --package wgpu-cast $suites -E "$tests" "$@"
