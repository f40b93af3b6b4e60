#!/bin/sh
# Converts a file on a disk that fails once: an ext4 image whose store is full when the first bytes are written back, and
# is enlarged after that, so that later requests succeed. The run must fail, and leave nothing. The argument is the
# program, target/release/wgpu-cast by default. Needs root, loop devices and about 2 GiB of memory; where it cannot
# run, it prints NOT RUN with the reason and exits with 3.
set -eu
cd "$(dirname "$0")/.."
cast=$(realpath "${1:-target/release/wgpu-cast}")

not_run() {
    echo "NOT RUN: a disk that fails: $1" >&2
    exit 3
}

[ "$(id -u)" = 0 ] || not_run 'it needs root'
for tool in losetup mkfs.ext4 mount; do
    command -v "$tool" >/dev/null || not_run "$tool is not installed"
done
folder=$(mktemp -d)
device=
clean_up() {
    umount "$folder/disk" 2>/dev/null || :
    [ -z "$device" ] || losetup -d "$device"
    umount "$folder/store" 2>/dev/null || :
    rm -rf "$folder"
}
trap clean_up EXIT
mkdir "$folder/store" "$folder/disk"
mount -t tmpfs -o size=48m tmpfs "$folder/store" 2>/dev/null || not_run 'no file system can be mounted'
truncate -s 2g "$folder/store/image"
# Without a journal, whose errors would make the file system read-only.
mkfs.ext4 -q -O ^has_journal -N 64 -E nodiscard,lazy_itable_init=0 "$folder/store/image"
device=$(losetup -f --show "$folder/store/image" 2>/dev/null) || not_run 'there are no loop devices'
mount -t ext4 "$device" "$folder/disk" 2>/dev/null || not_run 'ext4 cannot be mounted'

# 256 MiB of FLOAT, which become 512 MiB of DOUBLE.
head='{"w":{"dtype":"F32","shape":[67108864],"data_offsets":[0,268435456]}}   '
{
    printf '\110\0\0\0\0\0\0\0%s' "$head"
    head -c 268435456 /dev/zero | tr '\0' '\077'
} >"$folder/a.safetensors"
"$cast" convert "$folder/a.safetensors" "$folder/expected.safetensors" --to double --quiet

status=0
"$cast" convert "$folder/a.safetensors" "$folder/disk/out.safetensors" --to double --memory 16MiB --quiet 2>"$folder/told" &
process=$!
# The store is full when bytes cannot be written back; the disk has said so a little later.
while kill -0 $process 2>/dev/null && [ "$(df --output=avail "$folder/store" | tail -1)" -gt 0 ]; do sleep 0.05; done
sleep 0.3
mount -o remount,size=4g "$folder/store"
wait $process || status=$?
cat "$folder/told"
echo "status $status, left: $(ls "$folder/disk" | grep -v lost+found || :)"
if [ "$status" = 0 ]; then
    umount "$folder/disk"
    mount -t ext4 "$device" "$folder/disk"
    echo "bytes that differ: $(cmp -l "$folder/expected.safetensors" "$folder/disk/out.safetensors" | wc -l)"
fi
[ "$status" = 1 ] && [ ! -e "$folder/disk/out.safetensors" ] && [ ! -e "$folder/disk/out.safetensors.cast-partial" ]
