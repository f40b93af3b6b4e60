#!/bin/sh
# Installs packages of Debian or Ubuntu: tests/apt.sh PACKAGE...
# Exit status: 0, they are installed; others, there is no apt-get, or it could not.
set -eu
command -v apt-get >/dev/null || { echo 'there is no apt-get' >&2; exit 1; }
as_root=''
if [ "$(id -u)" != 0 ]; then
    as_root='sudo -n'
fi
$as_root apt-get update -qq || echo 'apt-get update failed: trying with the package lists that are there' >&2
$as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install -y -qq --no-install-recommends "$@" >/dev/null
