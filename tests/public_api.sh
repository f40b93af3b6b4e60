#!/bin/sh
# Compares the public interface of the library, with all features, with docs/public-api.txt. `tests/public_api.sh --write`
# records it anew. The text depends on the version of the compiler, so this needs one certain nightly toolchain, and
# cargo-public-api (`cargo install cargo-public-api --locked`). Where it cannot run, it prints NOT RUN with the reason and exits with 3.
set -eu
cd "$(dirname "$0")/.."
case ${1:-} in '' | --write) ;; *) echo "usage: $0 [--write]" >&2; exit 2 ;; esac

toolchain=nightly-2026-05-20

not_run() {
    echo "NOT RUN: the public interface was not compared with docs/public-api.txt: $1" >&2
    exit 3
}

cargo public-api --version >/dev/null 2>&1 || not_run 'cargo-public-api is missing (cargo install cargo-public-api --locked)'
rustc +$toolchain --version >/dev/null 2>&1 || not_run "a toolchain is missing (rustup toolchain install --profile minimal $toolchain)"
folder=target/public-api
mkdir -p "$folder"
# The text depends a little on the versions of both tools.
tools="# $(cargo public-api --version), $(rustc +$toolchain --version)"
echo "$tools" >"$folder/now.txt"
cargo +$toolchain public-api --package wgpu-cast --all-features -ss --color=never --target-dir "$folder" >>"$folder/now.txt" 2>"$folder/log.txt" ||
    not_run "cargo-public-api fails with this nightly toolchain: $(tail -n 1 "$folder/log.txt") (see $folder/log.txt)"

if [ "${1:-}" = --write ]; then
    cp "$folder/now.txt" docs/public-api.txt
    exit
fi
tail -n +2 docs/public-api.txt >"$folder/recorded-items.txt"
tail -n +2 "$folder/now.txt" >"$folder/items.txt"
if ! diff -u "$folder/recorded-items.txt" "$folder/items.txt" >&2; then
    [ "$tools" = "$(head -n 1 docs/public-api.txt)" ] || not_run "it was recorded with other versions, and differs as above: $tools"
    echo 'docs/public-api.txt differs from the public interface. If that is meant: tests/public_api.sh --write' >&2
    exit 1
fi
