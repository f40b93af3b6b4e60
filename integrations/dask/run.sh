#!/bin/sh
# Converts a checkpoint in two parts with dask, kills a worker in the middle, and compares the result with one run.
# CAST names a built `wgpu-cast`; without it, the tool is built. Needs Linux with setpriv (util-linux), python3 (3.11 or
# later) and a package index that pip can reach.
# Exit status: 0, the folders are equal; 3, NOT RUN, and stderr's last line says why; others, a failure.
set -eu
case ${CAST:-} in
    '' | /*) ;;
    *) CAST=$PWD/$CAST ;;
esac
cd "$(dirname "$0")/../.."
folder=target/dask
python=$folder/venv/bin/python
here=integrations/dask

not_run() {
    [ ! -s "$folder/log" ] || tail -n 20 "$folder/log" >&2
    echo "NOT RUN: no checkpoint was converted with dask: $1" >&2
    exit 3
}

mkdir -p "$folder"
: >"$folder/log"
command -v python3 >/dev/null || not_run 'python3 is not installed'
command -v setpriv >/dev/null || not_run 'setpriv is not installed; it is part of util-linux'
if ! "$python" -I -m pip --version >/dev/null 2>&1; then
    rm -rf "$folder/venv"
    python3 -m venv "$folder/venv" >"$folder/log" 2>&1 ||
        virtualenv --python python3 "$folder/venv" >>"$folder/log" 2>&1 ||
        not_run 'python3 cannot create a virtual environment; on Debian and Ubuntu: apt-get install python3-venv'
fi
# This needs no network if the packages are there.
"$python" -I -m pip install --quiet --no-input --disable-pip-version-check --only-binary :all: \
    -r "$here/requirements.txt" >"$folder/log" 2>&1 </dev/null ||
    not_run "pip cannot install the packages for $(python3 -V 2>&1)"
if [ -z "${CAST:-}" ]; then
    CAST=$(cargo build --release -p wgpu-cast-cli --message-format json 2>"$folder/log" |
        sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' | tail -n 1)
    [ -n "$CAST" ] || { cat "$folder/log" >&2; exit 1; }
fi
exec "$python" -I "$here/test.py" "$CAST" "$folder"
