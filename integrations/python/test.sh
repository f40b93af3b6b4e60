#!/bin/sh
# Tests the package with each CPython from 3.11 on that this machine has. Builds the wheel once; for each interpreter makes an
# environment in target/python, installs the wheel and what the tests need there, and runs pytest with the arguments of this script.
# The first interpreter also gets jax, and torch if PEERS_TORCH says from where (see the head of benches/peers/run.sh); mypy and
# stubtest run there. What a missing library leaves untested is printed as NOT TESTED.
# Exit status: 0, all passed; 3, NOT RUN, and stderr's last line says why; others, a test or a step failed.
set -eu
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
target=$root/target/python
mkdir -p "$target"
export PYTHONPYCACHEPREFIX="$target/pycache" HYPOTHESIS_STORAGE_DIRECTORY="$target/hypothesis" PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1

not_run() {
    [ ! -s "$target/log" ] || tail -n 20 "$target/log" >&2
    echo "NOT RUN: the Python package: $1" >&2
    exit 3
}

# The interpreters, oldest first, with the GIL and without it (`t`): of PATH, else of pyenv, whose shims need not lead to one.
find_python() { # name
    for candidate in "$1" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin/"$1"; do
        "$candidate" -c '' 2>/dev/null && command -v "$candidate" && return
    done
    return 1
}
found=''
for minor in 11 12 13 14 15 16; do
    for name in "python3.$minor" "python3.${minor}t"; do
        ! find_python "$name" >/dev/null || found="$found $name"
    done
done
: >"$target/log"
[ -n "$found" ] || not_run 'no CPython from 3.11 on (Debian: apt-get install python3-venv)'

# With pip; wheels only, so that nothing is compiled but this package.
environment() { # interpreter
    venv=$target/$1
    python=$(find_python "$1")
    [ -x "$venv/bin/pip" ] || "$python" -m venv --clear "$venv" >"$target/log" 2>&1 || not_run "$1 cannot make an environment (Debian: apt-get install python3-venv)"
}
try_install() { # what pip installs
    "$venv/bin/pip" install --quiet --retries 2 --only-binary :all: "$@" >"$target/log" 2>&1
}
install() {
    try_install "$@" || not_run "pip cannot install: $*"
}
# One wheel is for all interpreters with the GIL; one without it has its own.
wheel() { # interpreter
    echo "== the wheel, by $1"
    wheels=$target/wheels/$1
    rm -rf target/wheels "$wheels"
    PYTHON=$python ./wheel.sh
    mkdir -p "$wheels"
    mv target/wheels/*.whl "$wheels"
    ls -l "$wheels"
}

# Without them, their tests are told as NOT TESTED.
"$root/files/tests/onnx/fetch.sh" || [ $? = 3 ]

first=''
failed=''
for name in $found; do
    environment "$name"
    echo "== $name: $("$venv/bin/python" -VV)"
    case $name in
        *t) try_install -r tests/requirements.txt || { echo "NOT TESTED: $name: a library has no wheel for it"; continue; } ;;
        *) install -r tests/requirements.txt ;;
    esac
    case $first,$name in
        ,* | *t) wheel "$name" ;;
        *) wheels=$target/wheels/$first ;;
    esac
    install --force-reinstall --no-deps "$wheels"/*.whl
    if [ -z "$first" ]; then
        first=$name
        install -r tests/requirements-jax.txt
        torch=$root/benches/peers/requirements-torch.txt
        case ${PEERS_TORCH:-} in
            '') ;;
            pip) install -r "$torch" ;;
            *) install --index-url "$PEERS_TORCH" -r "$torch" ;;
        esac
        "$venv/bin/python" -m mypy --cache-dir "$target/mypy" --strict -p wgpu_cast || failed="$failed mypy"
        # Of the tests, what has types.
        (cd tests && "$venv/bin/python" -m mypy --cache-dir "$target/mypy" --strict --allow-untyped-defs --allow-untyped-calls --no-check-untyped-defs ./*.py) ||
            failed="$failed mypy:tests"
        "$venv/bin/python" -m mypy.stubtest wgpu_cast || failed="$failed stubtest"
    fi
    "$venv/bin/python" -m pytest -p no:cacheprovider tests "$@" || failed="$failed pytest:$name"
done
case $found in
    *[0-9]t*) ;;
    *) echo 'NOT TESTED: Python without the GIL: no such interpreter' ;;
esac
[ -z "$failed" ] || { echo "failed:$failed" >&2; exit 1; }
