#!/usr/bin/env python3
"""Writes stored.npz and compressed.npz, next to this file, from arrays of npy.txt.

    python3 -m venv /tmp/golden && /tmp/golden/bin/pip install numpy==2.4.6
    /tmp/golden/bin/python files/tests/golden/make_npz.py

The committed files were made by Python 3.11.7 and numpy 2.4.6 on x86-64.
"""

import io
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent
FILES = dict(line.split() for line in (FOLDER / "npy.txt").read_text().splitlines())
arrays = {name: np.load(io.BytesIO(bytes.fromhex(FILES[name]))) for name in ["int16", "column_major", "strings"]}
np.savez(FOLDER / "stored.npz", **arrays)
np.savez_compressed(FOLDER / "compressed.npz", **arrays)
