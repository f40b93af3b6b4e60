#!/bin/sh
# Makes sure that wgpu finds an adapter for the GPU tests. If there is none but a software one of OpenGL, installs Mesa's software
# Vulkan driver with apt-get if that exists and this user may use it. Without any adapter, prints what to install and fails.
set -eu
cd "$(dirname "$0")/.."

# shellcheck source=tests/checked.sh
. tests/checked.sh
# The program as the tests build it, which need it, too. Built separately with visible output, so that a build error is not mistaken for a
# missing adapter.
# shellcheck disable=SC2086 # options, one a word
cargo test --quiet $checked --test cli --no-run
# shellcheck disable=SC2086
program=$(cargo test --quiet $checked --test cli --no-run --message-format=json 2>/dev/null |
    sed -n 's/.*"executable":"\([^"]*\/wgpu-cast\)".*/\1/p')

adapters() {
    "$program" adapters 2>/dev/null | grep '('
}

# The tests of lost devices, other Vulkan drivers and the count of instructions need Vulkan.
found() {
    adapters | grep -qv '(gl, software'
}

if found; then
    exit 0
fi
packages='mesa-vulkan-drivers libvulkan1'
if command -v apt-get >/dev/null 2>&1; then
    as_root=''
    if [ "$(id -u)" != 0 ]; then
        as_root='sudo -n'
    fi
    echo "no GPU adapter found, or only OpenGL in software: installing $packages"
    $as_root apt-get update -qq || true
    if $as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install -y -qq --no-install-recommends $packages && found; then
        exit 0
    fi
fi
if adapters >/dev/null; then
    echo "NOT TESTED: Vulkan, because the only adapter is OpenGL in software. Debian, Ubuntu: apt-get install $packages" >&2
    exit 0
fi
cat >&2 <<END
No GPU adapter found. The GPU tests run on any adapter, including software ones. Install Mesa's software Vulkan driver:
  Debian, Ubuntu  apt-get install $packages
  Fedora          dnf install mesa-vulkan-drivers vulkan-loader
  Arch            pacman -S vulkan-swrast vulkan-icd-loader
  Alpine          apk add mesa-vulkan-swrast vulkan-loader
Windows and macOS include adapters: WARP and Metal.
END
exit 1
