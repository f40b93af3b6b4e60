#!/bin/sh
# Proves that a float type is one row in the table: adds FLOAT8E3M4 (3 exponent bits, 4 significand bits, bias 3, IEEE's
# infinity and NaN) to a copy of the tree, and compares its casts on the CPU and on a GPU with those of ml_dtypes. ONNX has no
# such type. It gets a code far from ONNX's own, because tests probe the code after ONNX's last as unknown.
#
# `tests/add_type.sh --suites` also adds the type's row to the oracle, makes the golden tables anew, and runs the unit tests
# and the suite `host`. Only tests that compare texts and recorded tables with the element table may then fail; they print the
# right text, or the command that makes the table.
#
# Needs Python with venv, and a network or a cache for pip; an adapter as the GPU tests do (tests/adapter.sh). Takes some
# minutes, most of them to compile.
set -eu
case ${1:-} in '' | --suites) ;; *) echo "usage: $0 [--suites]" >&2; exit 2 ;; esac
cd "$(dirname "$0")/.."
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# A target folder of its own, kept between runs, so that dependencies are compiled once.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$root/target/add_type}"
export XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-$work}"

python3 -m venv "$work/python"
"$work/python/bin/pip" install --quiet ml_dtypes==0.6.0 numpy==2.4.6

# What git has or would add.
git ls-files --cached --others --exclude-standard -z |
    xargs -0 sh -c 'for file; do [ ! -e "$file" ] || cp --parents "$file" "$0" || exit 1; done' "$work"
cd "$work"

insert() { # file, text of the line before, the line
    grep -qF "$2" "$1" || { echo "$1 has no line with: $2" >&2; exit 1; }
    awk -v before="$2" -v line="$3" '{ print } index($0, before) { print line }' "$1" > inserted
    mv inserted "$1"
}

insert src/types/element.rs '    FLOAT6E3M2     "float6e3m2"' \
    '    FLOAT8E3M4     "float8e3m4"     ["f8e3m4", "e3m4"]                   98,  8, float(3, 4, 3, Specials::Ieee), 28, None;'
cargo build --quiet --release -p wgpu-cast-cli

cast=$CARGO_TARGET_DIR/release/wgpu-cast
"$work/python/bin/python" tests/add_type.py "$cast"

[ "${1:-}" = --suites ] || exit 0
insert tests/support/src/oracle.rs '    ("float6e3m2", ' '    ("float8e3m4", float(3, 4, 3, Special::Ieee)),'
"$work/python/bin/python" tests/golden/make.py
cargo test --release --no-fail-fast --package wgpu-cast --lib --test host
