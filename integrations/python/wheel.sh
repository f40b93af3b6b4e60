#!/bin/sh
# Builds the wheel, which any CPython from 3.11 on can install, into target/wheels. Python 3.11 or later, and Rust, build it;
# `PYTHON` names another interpreter. A free-threaded CPython does not take this wheel: if `PYTHON` is one, the wheel is for
# its version alone. `WHEEL_PROFILE=tests` builds sooner, for tests.
set -eu
cd "$(dirname "$0")"
python=${PYTHON:-python3}
venv=target/build
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
requirement=$(sed -n 's/^requires = \["\(maturin[^"]*\)"\]$/\1/p' pyproject.toml)
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: "$requirement"
"$venv/bin/maturin" build --profile "${WHEEL_PROFILE:-release}" --locked --interpreter "$python" --out target/wheels "$@"
