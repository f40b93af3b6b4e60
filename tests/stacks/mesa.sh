#!/bin/sh
# Runs a command with the llvmpipe of a newer Mesa than Debian 12 has, and no other Vulkan driver:
#     tests/stacks/mesa.sh target/release/wgpu-cast adapters
# The driver comes from Debian's bookworm-backports, unpacked below target/stacks and not installed. MESA names the manifest
# (lvp_icd.json) of another copy.
# Exit status: that of the command; 3, NOT RUN, and stderr's last line says why.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)

not_run() {
    echo "NOT RUN: the newer Mesa: $1" >&2
    exit 3
}

[ $# -gt 0 ] || { echo "usage: $0 COMMAND [ARGUMENT...]" >&2; exit 2; }
folder=$root/target/stacks/mesa
driver=${MESA:-$folder/lvp.json}
if [ ! -f "$driver" ]; then
    [ -z "${MESA:-}" ] || not_run "there is no file $MESA"
    command -v apt-get >/dev/null 2>&1 && command -v dpkg >/dev/null 2>&1 ||
        not_run 'apt-get and dpkg are missing; MESA can name the manifest of a copy'
    # The mirror of Debian that this machine uses.
    mirror=$(apt-cache policy 2>/dev/null | sed -n 's/^ *[0-9]* \(http[^ ]*\) bookworm\/main .*/\1/p' | head -n 1)
    [ -n "$mirror" ] || not_run 'this is not Debian 12'
    rm -rf "$folder"
    mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial" "$folder/packages"
    printf 'deb %s bookworm-backports main\ndeb %s bookworm main\n' "$mirror" "$mirror" >"$folder/sources.list"
    # With lists and a cache of its own, apt-get changes nothing of the system. As root it would download as a user that may
    # not write here.
    apt() {
        apt-get -qq -o Dir::Etc::sourcelist="$folder/sources.list" -o Dir::Etc::sourceparts=- \
            -o Dir::State::Lists="$folder/lists" -o Dir::Cache="$folder/cache" -o APT::Sandbox::User=root "$@"
    }
    apt update >"$folder/log" 2>&1 || not_run "apt-get cannot read bookworm-backports (see $folder/log)"
    (cd "$folder/packages" && apt -t bookworm-backports download mesa-vulkan-drivers libdrm2 libdrm-amdgpu1) >>"$folder/log" 2>&1 ||
        not_run "apt-get cannot download mesa-vulkan-drivers (see $folder/log)"
    for package in "$folder"/packages/*.deb; do
        dpkg -x "$package" "$folder/root"
    done
    rm -rf "$folder/packages" "$folder/lists" "$folder/cache"
    manifest=$(ls "$folder"/root/usr/share/vulkan/icd.d/lvp_icd*.json)
    library=$(find "$folder/root/usr/lib" -name libvulkan_lvp.so)
    sed "s#\"library_path\": *\"[^\"]*\"#\"library_path\": \"$library\"#" "$manifest" >"$folder/lvp.json.part"
    mv "$folder/lvp.json.part" "$driver"
fi
libraries=$(dirname "$(sed -n 's/.*"library_path": *"\([^"]*\)".*/\1/p' "$driver")")
export LD_LIBRARY_PATH="$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
# Some drivers print a warning if this is not set.
export XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-${TMPDIR:-/tmp}}"
# The loader's two names for it.
export VK_DRIVER_FILES="$driver" VK_ICD_FILENAMES="$driver"
exec "$@"
