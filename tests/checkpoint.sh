#!/bin/sh
# Converts a sharded checkpoint of 4 GiB (or of the given number of bytes): compares every element with numpy and ml_dtypes,
# measures time and memory beside a copy, kills a conversion in the middle and resumes it, and fills a disk.
# Needs python3, a package index that pip can reach, and room for three times the checkpoint below target/. Where it cannot
# run, it prints NOT RUN with the reason and exits with 3.
set -eu
cd "$(dirname "$0")/.."
bytes=${1:-4294967296}
folder=target/checkpoint
python=$folder/venv/bin/python
packages='numpy==2.4.6 ml_dtypes==0.6.0'

not_run() {
    echo "NOT RUN: no checkpoint was converted: $1" >&2
    exit 3
}

command -v python3 >/dev/null || not_run 'python3 is not installed'
mkdir -p "$folder"
if ! "$python" -I -c 'import numpy, ml_dtypes' >/dev/null 2>&1; then
    python3 -m venv "$folder/venv" || not_run 'python3 cannot create a virtual environment'
    # shellcheck disable=SC2086
    "$python" -I -m pip install --quiet --disable-pip-version-check $packages || not_run "pip could not install $packages"
fi
cargo build --release --quiet -p wgpu-cast-cli
cast=target/release/wgpu-cast
run() { "$python" -I tests/checkpoint.py "$@"; }

rm -rf "$folder/model" "$folder/out"
run make "$folder/model" "$bytes"
for turn in 1 2 3; do
    rm -rf "$folder/out"
    sync
    printf 'copy, turn %s: ' "$turn"
    run measure sh -c "mkdir $folder/out && cp --reflink=never $folder/model/*.safetensors $folder/out && sync $folder/out/*"
    for to in bfloat16 float8e4m3fn; do
        rm -rf "$folder/out"
        sync
        printf '%s, turn %s: ' "$to" "$turn"
        run measure "$cast" convert "$folder/model" "$folder/out" --to "$to" --quiet
    done
done
run compare "$folder/model" "$folder/out" F8_E4M3
"$cast" convert "$folder/model" "$folder/out" --to float8e5m2 --quiet
run compare "$folder/model" "$folder/out" F8_E5M2
rm -rf "$folder/out"
"$cast" convert "$folder/model" "$folder/out" --to bfloat16 --quiet
run compare "$folder/model" "$folder/out" BF16
sums=$(cd "$folder/out" && cksum ./*)
made=$(cat "$folder"/out/*.safetensors | wc -c)

echo 'kill -9 in the middle, then --resume:'
rm -rf "$folder/out"
"$cast" convert "$folder/model" "$folder/out" --to bfloat16 --quiet --resume &
process=$!
until [ -e "$folder/out/model-00002-of-00003.safetensors.cast-partial" ]; do
    kill -0 "$process" || { echo 'the conversion ended before it could be killed' >&2; exit 1; }
    sleep 0.05
done
sleep 0.2
kill -9 "$process"
wait "$process" || true
ls "$folder/out"
summary=$("$cast" convert "$folder/model" "$folder/out" --to bfloat16 --resume --json | tail -n 1)
run resumed "$summary" "$made"
[ "$(cd "$folder/out" && cksum ./*)" = "$sums" ] || { echo 'the resumed checkpoint differs' >&2; exit 1; }
rm -rf "$folder/out"

if [ "$(id -u)" = 0 ] && mkdir "$folder/small" && mount -t tmpfs -o size=64m none "$folder/small" 2>/dev/null; then
    status=0
    "$cast" convert "$folder/model" "$folder/small/out" --to bfloat16 --quiet || status=$?
    left=$(find "$folder/small" -type f)
    umount "$folder/small"
    [ "$status" = 1 ] && [ -z "$left" ] || { echo "a full disk: status $status, left: $left" >&2; exit 1; }
    echo 'a full disk: status 1, no file is left'
else
    echo 'NOT RUN: a full disk (needs root and tmpfs)' >&2
fi
rm -rf "$folder/small" "$folder/model"
