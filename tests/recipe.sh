#!/bin/sh
# Prints what the loop of a pair is made of on the CPU, for each instruction set, with default options:
#     tests/recipe.sh int64 float16
#     tests/recipe.sh float int4/byte    (one code in each byte)
# It needs an x86 target, but no processor with the instruction sets: portable code, AVX2 and AVX-512. NEON's keys are in
# src/cpu/tests/recipes_neon.txt.
set -eu
cd "$(dirname "$0")/.."
[ $# = 2 ] || { echo "usage: tests/recipe.sh FROM TO" >&2; exit 2; }
test=cpu::tests::recipes::a_pair_is_printed_with_what_its_recipe_was_made_with
export WGPU_CAST_RECIPE="$1 $2"
cargo test --quiet --package wgpu-cast --lib "$test" -- --exact --nocapture
