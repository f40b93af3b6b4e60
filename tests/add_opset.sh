#!/bin/sh
# Proves that an opset is one row in the table: adds an opset after the newest one, without new versions of Cast and CastLike, to a copy of the
# tree, and runs the tests of opsets, of ONNX's messages and models, and of the program's errors. Prints those that fail: the tests which repeat
# ONNX's schemas (docs/CONTRIBUTING.md, "Adding an opset") and none else. Needs cargo-nextest, and an adapter as the GPU tests do. Takes some
# minutes, most of them to compile.
# Exit status: 0, only such tests failed; 3, NOT RUN, and stderr's last line says why; others, another test failed or did not build.
set -eu
cd "$(dirname "$0")/.."
cargo nextest --version >/dev/null 2>&1 || { echo 'NOT RUN: cargo install --locked cargo-nextest' >&2; exit 3; }
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# A target folder of its own, kept between runs, so that dependencies are compiled once.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$root/target/add_opset}"
export XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-$work}"

# What git has or would add.
git ls-files --cached --others --exclude-standard -z |
    xargs -0 sh -c 'for file; do [ ! -e "$file" ] || cp --parents "$file" "$0" || exit 1; done' "$work"
cd "$work"

table=src/rules/onnx/opset/table.rs
newest=$(sed -n 's/^ *row(\([ 0-9]*\),.*/\1/p' $table | tail -n 1 | tr -d ' ')
awk -v newest="$newest" '
    { print }
    $0 ~ "^ *row\\( *" newest "," { sub("row\\( *" newest, "row(" newest + 1); sub(/&\[Cast[^]]*\]/, "\\&[]"); print }
' $table >inserted
mv inserted $table
echo "opset $((newest + 1)) added"

status=0
cargo nextest run --no-fail-fast --package wgpu-cast --package wgpu-cast-files --package wgpu-cast-cli --lib --test messages --test files --test cli \
    -E 'test(opset) or test(version) or test(/errors::/) or binary(messages) or (binary(files) and test(/onnx_model/))' >run.txt 2>&1 || status=$?
tail -n 1 run.txt
# nextest's status for failed tests.
[ "$status" = 0 ] || [ "$status" = 100 ] || { tail -n 40 run.txt >&2; exit 1; }
# Each of these tests has a list of ONNX's versions.
allowed='rules::onnx::opset::table::tests::|element::tests::each_operator_version|onnx_model::schema::tests::|onnx_model::extension::tests::'
failed=$(sed -n 's/^ *FAIL \[.*\] *([^)]*) //p' run.txt | sort -u)
echo "${failed:-no test failed}"
others=$(echo "$failed" | grep -Ev "$allowed|^$" || true)
[ -z "$others" ] || { echo "these tests repeat the number of the newest opset:" >&2; echo "$others" >&2; exit 1; }
