#!/bin/sh
# Casts all inputs of exhaustive checks on the CPU path as WebAssembly, in Node, with vector instructions (simd128) and without, and
# compares the checksums with the recorded ones. Of the sources of 32 bits only FLOAT to FLOAT16 is cast, unless --all is given.
# Exit status: 0, all are equal; 3, NOT RUN, and stderr's last line says why; others, one differs or a step failed.
set -eu
cd "$(dirname "$0")/../.."
target=wasm32-unknown-unknown
folder=${CARGO_TARGET_DIR:-target/stacks}

not_run() {
    echo "NOT RUN: the CPU path as WebAssembly: $1" >&2
    exit 3
}

command -v node >/dev/null 2>&1 || not_run 'node is missing'
command -v rustup >/dev/null 2>&1 || not_run "there is no rustup to add Rust's target $target with"
rustup target add $target || not_run "rustup could not add the target $target"

for features in -simd128 +simd128; do
    CARGO_TARGET_DIR=$folder RUSTFLAGS="-C target-feature=$features" cargo build --release --locked --quiet --target $target \
        --manifest-path tests/stacks/wasm/Cargo.toml
    echo "== $features"
    node tests/stacks/wasm/run.mjs "$folder/$target/release/wgpu_cast_wasm.wasm" "$@"
done
