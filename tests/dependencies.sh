#!/bin/sh
# Counts the packages that the library brings into a build for Linux, for each set of features, and compares the counts with
# tests/dependencies.txt. `tests/dependencies.sh --write` records them anew.
set -eu
cd "$(dirname "$0")/.."
case ${1:-} in '' | --write) ;; *) echo "usage: $0 [--write]" >&2; exit 2 ;; esac

count() { # features
    cargo tree --locked --edges normal --target x86_64-unknown-linux-gnu --no-default-features --features "$1" \
        --prefix none --format '{p}' | sed 's/ (.*//' | sort -u | wc -l | tr -d ' '
}

counts=$(
    for features in '' threads onnx files wgpu wgpu,backends wgpu,backends,threads wgpu,backends,threads,onnx; do
        number=$(count "$features")
        printf '%3d  %s\n' "$number" "${features:-none}"
    done
)
if [ "${1:-}" = --write ]; then
    printf '%s\n' "$counts" >tests/dependencies.txt
elif [ "$counts" != "$(cat tests/dependencies.txt)" ]; then
    printf 'tests/dependencies.txt differs from the packages of the library now:\n%s\n' "$counts" >&2
    exit 1
fi
