#!/bin/sh
# Tests the page in headless Chromium: the quick tests, or with --all also those that take long. A word as the last argument
# chooses tests by their names. Screenshots of each view are in target/screenshots.
# Exit status: 0, all passed; 3, NOT RUN, and stderr's last line says why; others, a test or a step failed.
set -eu
cd "$(dirname "$0")"

not_run() {
    echo "NOT RUN: the page in a browser: $1" >&2
    exit 3
}

find_browser() {
    for name in chromium chromium-browser google-chrome; do
        command -v "$name" && return
    done
    return 1
}

browser=${CHROMIUM:-$(find_browser || true)}
if [ -z "$browser" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    mkdir -p target
    { apt-get update && apt-get -o DPkg::Lock::Timeout=600 install -y --no-install-recommends chromium; } >target/apt.log 2>&1 ||
        not_run 'Chromium is missing, and apt-get cannot install it (see integrations/browser/target/apt.log)'
    browser=$(find_browser || true)
fi
[ -n "$browser" ] || not_run 'Chromium is missing (Debian: apt-get install chromium)'
./build.sh
# Some drivers print a warning if this is not set.
XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-${TMPDIR:-/tmp}}" exec node test/main.mjs "$browser" "$@"
