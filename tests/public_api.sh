#!/bin/sh
# Compares the public interfaces of both libraries, with all features, with docs/public-api.txt and docs/public-api-files.txt.
# `tests/public_api.sh --write` records them anew. The text depends on the version of the compiler, so this needs one certain nightly toolchain, and
# cargo-public-api (`cargo install cargo-public-api --locked`). public_api.awk makes one line of the traits that a type derives. Where it cannot run, it prints NOT RUN with the reason and exits with 3.
set -eu
cd "$(dirname "$0")/.."
case ${1:-} in '' | --write) ;; *) echo "usage: $0 [--write]" >&2; exit 2 ;; esac

toolchain=nightly-2026-05-20

not_run() {
    echo "NOT RUN: the public interface was not compared with its record: $1" >&2
    exit 3
}

cargo public-api --version >/dev/null 2>&1 || not_run 'cargo-public-api is missing (cargo install cargo-public-api --locked)'
rustc +$toolchain --version >/dev/null 2>&1 || not_run "a toolchain is missing (rustup toolchain install --profile minimal $toolchain)"
# The text depends a little on the versions of both tools.
tools="# $(cargo public-api --version), $(rustc +$toolchain --version)"

compare() { # package, file, whether to write it
    folder=target/public-api/$1
    mkdir -p "$folder"
    echo "$tools" >"$folder/now.txt"
    cargo +$toolchain public-api --package "$1" --all-features -ss --color=never --target-dir target/public-api \
        >"$folder/listing.txt" 2>"$folder/log.txt" ||
        not_run "cargo-public-api fails with this nightly toolchain: $(tail -n 1 "$folder/log.txt") (see $folder/log.txt)"
    awk -f tests/public_api.awk "$folder/listing.txt" >>"$folder/now.txt"
    if [ -n "$3" ]; then
        cp "$folder/now.txt" "$2"
        return
    fi
    tail -n +2 "$2" >"$folder/recorded-items.txt"
    tail -n +2 "$folder/now.txt" >"$folder/items.txt"
    if ! diff -u "$folder/recorded-items.txt" "$folder/items.txt" >&2; then
        [ "$tools" = "$(head -n 1 "$2")" ] || not_run "it was recorded with other versions, and differs as above: $tools"
        echo "$2 differs from the public interface. If that is meant: tests/public_api.sh --write" >&2
        exit 1
    fi
}

compare wgpu-cast docs/public-api.txt "${1:-}"
compare wgpu-cast-files docs/public-api-files.txt "${1:-}"
