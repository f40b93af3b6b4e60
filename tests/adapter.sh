#!/bin/sh
# Makes sure that wgpu finds an adapter for the GPU tests. If there is none, installs Mesa's software Vulkan driver with
# apt-get if that exists and this user may use it; otherwise prints what to install and fails.
set -eu
cd "$(dirname "$0")/.."

# Built separately with visible output, so that a build error is not mistaken for a missing adapter.
cargo build --quiet --release --example cast

found() {
    cargo run --quiet --release --example cast -- adapters 2>/dev/null | grep -q '('
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
    echo "no GPU adapter found, installing $packages"
    $as_root apt-get update -qq || true
    if $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages && found; then
        exit 0
    fi
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
