#!/bin/sh
# Runs a command with SwiftShader, Chromium's Vulkan driver for the CPU, and no other Vulkan driver:
#     tests/stacks/swiftshader.sh target/release/wgpu-cast adapters
# The driver comes from Debian's package chromium-common, unpacked below target/stacks and not installed. SWIFTSHADER names the
# manifest (vk_swiftshader_icd.json) of another copy, such as the one beside an installed Chromium.
# Exit status: that of the command; 3, NOT RUN, and stderr's last line says why.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)

not_run() {
    echo "NOT RUN: SwiftShader: $1" >&2
    exit 3
}

[ $# -gt 0 ] || { echo "usage: $0 COMMAND [ARGUMENT...]" >&2; exit 2; }
folder=$root/target/stacks/swiftshader
driver=${SWIFTSHADER:-$folder/usr/lib/chromium/vk_swiftshader_icd.json}
if [ ! -f "$driver" ]; then
    [ -z "${SWIFTSHADER:-}" ] || not_run "there is no file $SWIFTSHADER"
    command -v apt-get >/dev/null 2>&1 && command -v dpkg >/dev/null 2>&1 ||
        not_run 'apt-get and dpkg are missing; SWIFTSHADER can name the manifest of a copy'
    rm -rf "$folder"
    mkdir -p "$folder/package"
    # As root, apt-get would download as a user that may not write here.
    (cd "$folder/package" && apt-get download -qq -o APT::Sandbox::User=root chromium-common) >"$folder/log" 2>&1 ||
        not_run "apt-get cannot download chromium-common (see $folder/log; apt-get update may help)"
    dpkg -x "$folder"/package/*.deb "$folder"
    # The package also has all of Chromium's own data.
    rm -rf "$folder/package"
    [ -f "$driver" ] || not_run 'chromium-common no longer has vk_swiftshader_icd.json'
fi
# Some drivers print a warning if this is not set.
export XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-${TMPDIR:-/tmp}}"
# The loader's two names for it.
export VK_DRIVER_FILES="$driver" VK_ICD_FILENAMES="$driver"
exec "$@"
