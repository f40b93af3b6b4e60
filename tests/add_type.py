"""Compares casts from and to FLOAT8E3M4 with ml_dtypes': python3 tests/add_type.py CAST_BINARY (see add_type.sh)."""

import subprocess
import sys
import tempfile
from pathlib import Path

import ml_dtypes
import numpy as np

CAST = sys.argv[1]
E3M4 = ml_dtypes.float8_e3m4
NAMES = {np.dtype(np.float32): "float", np.dtype(np.float16): "float16", np.dtype(E3M4): "float8e3m4"}
np.seterr(over="ignore", invalid="ignore")  # on purpose: overflows to infinity, and NaN


def ours(values, to, device):
    """The values cast by the binary, without saturation, as ml_dtypes has none."""
    with tempfile.TemporaryDirectory() as folder:
        source, destination = Path(folder) / "source.bin", Path(folder) / "destination.bin"
        source.write_bytes(values.tobytes())
        types = ["--from", NAMES[values.dtype], "--to", NAMES[np.dtype(to)]]
        # The option is refused where it makes no difference.
        saturate = ["--saturate", "false"] if np.dtype(to) == np.dtype(E3M4) else []
        command = [CAST, "convert", source, destination, *types, *saturate, "--device", device]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(done.stderr)
        return np.frombuffer(destination.read_bytes(), to)


def compare(values, to):
    theirs = values.astype(to)
    for device in ("cpu", "gpu"):
        result = ours(values, to, device)
        # Any NaN is NaN; other values are compared as codes, so that -0 is not 0.
        word = f"u{theirs.itemsize}"
        same = (result.view(word) == theirs.view(word)) | (np.isnan(result) & np.isnan(theirs))
        name = f"{NAMES[values.dtype]} to {NAMES[theirs.dtype]} on {device}"
        if not same.all():
            index = int(np.argmin(same))
            sys.exit(f"{name}: {values[index]} gives {result[index]}, not {theirs[index]}")
        print(f"{name}: {len(values)} values as ml_dtypes has them")


def floats():
    """Every value of the type, every midpoint of two, their neighbours in binary32, and random bits."""
    codes = np.arange(256, dtype=np.uint8).view(E3M4).astype(np.float32)
    positive = np.sort(codes[np.isfinite(codes) & (codes >= 0)])[1:]
    # After the greatest value the next one, were the exponent unbounded.
    positive = np.append(positive, 2 * positive[-1] - positive[-2])
    points = np.concatenate([positive, (positive[1:] + positive[:-1]) / 2]).view(np.uint32)
    near = np.concatenate([points - 1, points, points + 1])
    random = np.random.default_rng(1).integers(0, 1 << 32, 1 << 20, dtype=np.uint32)
    # Random numbers of the type's magnitudes.
    tame = random & 0x807FFFFF | (np.uint32(127 - 10) + (random >> 8) % 16) << 23
    return np.concatenate([near, near | 0x80000000, random, tame]).view(np.float32)


compare(np.arange(256, dtype=np.uint8).view(E3M4), np.float32)
compare(floats(), E3M4)
compare(np.arange(1 << 16, dtype=np.uint16).view(np.float16), E3M4)
