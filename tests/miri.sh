#!/bin/sh
# Runs tests in Miri, an interpreter that finds undefined behaviour: the fuzz targets (readers of files, messages and literals, and
# casts by the portable loops), each for CAST_FUZZ_SECONDS (120 without it), and the unit tests that it gets through in minutes.
# Further arguments go to the test runner. The other instruction sets, devices and drivers are beyond Miri.
# Needs a nightly toolchain with Miri, and cargo-nextest.
# Exit status: 0, all passed; 3, NOT RUN, and stderr's last line says why; others, a test failed.
set -eu
cd "$(dirname "$0")/.."

not_run() {
    echo "NOT RUN: the tests in Miri: $1" >&2
    exit 3
}

cargo +nightly miri --version >/dev/null 2>&1 || not_run 'rustup toolchain install nightly --component miri,rust-src'
cargo nextest --version >/dev/null 2>&1 || not_run 'cargo install --locked cargo-nextest'

# Tests read files, the clock and the environment. The other settings are for the queues of rayon (crossbeam).
export MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-tree-borrows -Zmiri-permissive-provenance -Zmiri-ignore-leaks ${MIRIFLAGS:-}"
export WGPU_CAST_TESTS=emulator
export WGPU_CAST_ISA=portable
# Only such builds read it.
export RUSTFLAGS="${RUSTFLAGS:-} --cfg wgpu_cast_isa"
export CAST_FUZZ_SECONDS="${CAST_FUZZ_SECONDS:-120}"
# Left out: tests that ask for more memory than there is, which Miri does not refuse, and tests that take too long in it.
tests='binary(fuzz) or (package(wgpu-cast-files) and kind(lib)) or test(/^((bits|rules)::|types::(element|tensor)::)|^cpu::non_temporal::|^cpu::tests::(common_pairs|loops_are_kept|nans_between)/)'
tests="($tests) and not test(/memory_that_does_not_exist|row_major_order|larger_than_memory|shorter_or_closer|line_of_the_table|codes_come_back|both_comparisons|grammar_is_that_of_std|rounding_to_odd_tells|large_tensors_print/)"
exec cargo +nightly miri nextest run --target-dir target/miri --locked --no-fail-fast --package wgpu-cast --package wgpu-cast-files --lib --test fuzz -E "$tests" "$@"
