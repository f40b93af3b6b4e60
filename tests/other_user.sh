#!/bin/sh
# Runs the tests of the command line as another user than root: root may write to every file, so that tests of permissions
# cannot fail. Only tests of devices are left out. The arguments are the test's binary and the program; tests/run.sh gives
# them. Where it cannot run, it prints NOT RUN with the reason and exits with 3.
set -eu
test=$1
program=$2

not_run() {
    echo "NOT RUN: the tests of the command line as another user: $1" >&2
    exit 3
}

[ "$(id -u)" = 0 ] || not_run 'this user is not root, so that tests/run.sh has run them so'
command -v setpriv >/dev/null || not_run 'setpriv (util-linux) is not installed'
# A folder that the other user can reach; the checkout may not be one.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/tmp"
cp "$test" "$folder/cli"
cp "$program" "$folder/wgpu-cast"
chmod 755 "$folder"
chmod 1777 "$folder/tmp"
export CAST_BINARY="$folder/wgpu-cast" HOME="$folder/tmp" TMPDIR="$folder/tmp" XDG_RUNTIME_DIR="$folder/tmp"
cd "$folder"
setpriv --reuid=65534 --regid=65534 --clear-groups \
    "$folder/cli" --skip devices:: --skip verify:: --skip cache::
