"""Compares two conversions of the same tensors bit by bit: safetensors folders, or ONNX models with external data.

    differences.py ONE OTHER    prints JSON: how many elements were compared, and how many differ in which way
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from ours import ROOT

sys.path += [str(ROOT / "tests"), str(ROOT / "files" / "tests" / "onnx")]

DTYPES = {
    "BF16": ml_dtypes.bfloat16,
    "F16": np.float16,
    "F8_E4M3": ml_dtypes.float8_e4m3fn,
    "F8_E5M2": ml_dtypes.float8_e5m2,
}
BLOCK = 1 << 24
# By how many of two different codes are NaN.
WAYS = ["numbers", "one NaN", "both NaN"]


def main(one: Path, other: Path) -> None:
    ways: Counter[str] = Counter()
    elements = 0
    for a, b in onnx_pairs(one, other) if one.is_file() else safetensors_pairs(one, other):
        for start in range(0, a.size, BLOCK):
            part = slice(start, start + BLOCK)
            ways += differing(a[part], b[part])
            elements += a[part].size
    if not elements:
        raise SystemExit("nothing was compared")
    print(json.dumps({"elements": elements, "ways": ways}))


Flat = NDArray


def safetensors_pairs(one: Path, other: Path) -> Iterator[tuple[Flat, Flat]]:
    """All tensors, as arrays of numbers where they are converted floats and of bytes otherwise."""
    from checkpoint import read

    shards = sorted(path.name for path in one.glob("*.safetensors"))
    for name in shards:
        ours, theirs = (read(folder / name)[0] for folder in (one, other))
        assert ours.keys() == theirs.keys(), name
        for tensor, (dtype, shape, data) in ours.items():
            assert theirs[tensor][:2] == (dtype, shape), tensor
            viewed = DTYPES.get(dtype, np.uint8)
            yield data.view(viewed), theirs[tensor][2].view(viewed)


def onnx_pairs(one: Path, other: Path) -> Iterator[tuple[Flat, Flat]]:
    """All initializers."""
    from large import initializers

    ours, theirs = (initializers(path) for path in (one, other))
    assert ours.keys() == theirs.keys()
    for name, array in ours.items():
        assert (array.dtype, array.shape) == (theirs[name].dtype, theirs[name].shape), name
        yield array.reshape(-1), theirs[name].reshape(-1)


def differing(a: Flat, b: Flat) -> Counter[str]:
    """How many elements differ in which way."""
    codes = np.dtype(f"u{a.itemsize}")
    at = np.flatnonzero(a.view(codes) != b.view(codes))
    a, b = (side[at].astype(np.float32) for side in (a, b))
    nan = np.isnan(a).astype(int) + np.isnan(b)
    found = Counter({way: int((nan == count).sum()) for count, way in enumerate(WAYS)})
    return +found


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
