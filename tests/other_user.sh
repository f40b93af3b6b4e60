#!/bin/sh
# Runs the tests of the command line as another user than root: root may write to every file, so that tests of permissions
# cannot fail. Only tests of devices are left out. The arguments are the test's binary and the folder of the examples;
# tests/run.sh gives them. Where it cannot run, it prints NOT RUN with the reason and exits with 3.
set -eu
test=$1
examples=$2

not_run() {
    echo "NOT RUN: the tests of the command line as another user: $1" >&2
    exit 3
}

[ "$(id -u)" = 0 ] || not_run 'this user is not root, so that tests/run.sh has run them so'
command -v setpriv >/dev/null || not_run 'setpriv (util-linux) is not installed'
# A folder that the other user can reach; the checkout may not be one.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/deps" "$folder/examples" "$folder/tmp"
cp "$test" "$folder/deps/cli"
cp "$examples/cast" "$examples/fused" "$folder/examples"
chmod 755 "$folder"
chmod 1777 "$folder/tmp"
export HOME="$folder/tmp" TMPDIR="$folder/tmp" XDG_RUNTIME_DIR="$folder/tmp"
cd "$folder"
setpriv --reuid=65534 --regid=65534 --clear-groups \
    "$folder/deps/cli" --skip devices:: --skip verify:: --skip fused:: --skip cache::
