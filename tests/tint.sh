#!/bin/sh
# Gives every text of WGSL that the crate makes (kernels, kernels of plans, functions) to tint, Chromium's compiler of WGSL, which the
# npm package `webgpu` contains.
# Needs node and npm, and the network once. Where it cannot run, it prints NOT RUN with the reason and exits with 3.
set -eu
cd "$(dirname "$0")/.."

not_run() {
    echo "NOT RUN: tint has not seen the kernels and the functions: $1" >&2
    exit 3
}

command -v node >/dev/null 2>&1 && command -v npm >/dev/null 2>&1 || not_run 'node or npm is missing'
folder=target/tint
mkdir -p "$folder"
[ -d "$folder/node_modules/webgpu" ] ||
    npm install --silent --no-audit --no-fund --prefix "$folder" webgpu@0.6.2 >"$folder/npm.log" 2>&1 ||
    not_run "npm cannot install the package webgpu (see $folder/npm.log)"
cp tests/tint.mjs "$folder/"
modules=$(pwd)/$folder/modules.jsonl
tests/naga.sh "$modules"
# Some drivers print a warning if this is not set.
XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-${TMPDIR:-/tmp}}" node "$folder/tint.mjs" "$modules"
