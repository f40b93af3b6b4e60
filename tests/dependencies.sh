#!/bin/sh
# Counts the packages in a build for Linux of the library, for each set of features, of its tests, of the files, and of the program, and
# compares the counts with tests/dependencies.txt. `tests/dependencies.sh --write` records them anew.
set -eu
cd "$(dirname "$0")/.."
case ${1:-} in '' | --write) ;; *) echo "usage: $0 [--write]" >&2; exit 2 ;; esac

count() { # name, arguments of cargo tree
    name=$1
    shift
    number=$(cargo tree --locked --target x86_64-unknown-linux-gnu --prefix none --format '{p}' "$@" | sed 's/ (.*//' | sort -u | wc -l)
    printf '%3d  %s\n' "$number" "$name"
}

counts=$(
    for features in '' cpu cpu-simd threads,cpu-simd wgpu wgpu,cpu wgpu,cpu-simd wgpu,backends,threads,cpu-simd; do
        count "${features:-none}" --package wgpu-cast --edges normal --no-default-features --features "$features"
    done
    count "the library's tests and benches" --package wgpu-cast --edges normal,build,dev
    for features in '' wgpu,backends,threads,cpu-simd; do
        count "files: ${features:-none}" --package wgpu-cast-files --edges normal --no-default-features --features "$features"
    done
    count 'the program' --package wgpu-cast-cli --edges normal
)
if [ "${1:-}" = --write ]; then
    printf '%s\n' "$counts" >tests/dependencies.txt
elif [ "$counts" != "$(cat tests/dependencies.txt)" ]; then
    printf 'tests/dependencies.txt differs from the packages now:\n%s\n' "$counts" >&2
    exit 1
fi
