#!/bin/sh
# Gives every text of WGSL that the crate makes (kernels, kernels of plans, functions) to each version of naga that engines have, from 24
# on. With a FILE, also writes the texts there, one a line as a JSON string.
#   naga.sh [FILE]
# Fails if a text is refused.
set -eu
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target/stacks}
CARGO_TARGET_DIR=$target cargo build --release --locked --quiet --manifest-path tests/stacks/naga/Cargo.toml
exec "$target/release/wgpu-cast-naga" "$@"
