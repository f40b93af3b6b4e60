#!/usr/bin/env python3
"""Writes decode.txt and encode.txt, next to this file, from ml_dtypes and numpy.

    python3 -m venv /tmp/golden && /tmp/golden/bin/pip install ml_dtypes==0.6.0 numpy==2.4.6
    /tmp/golden/bin/python tests/golden/make.py

The committed files were made by Python 3.11.7, ml_dtypes 0.6.0 and numpy 2.4.6 on x86-64.
"""

import random
import re
from pathlib import Path

import ml_dtypes
import numpy as np


def types():
    """The floats of at most 16 bits, as ml_dtypes and numpy have them: by ONNX name, the dtype and its bits.

    Of the crate's table, src/types/element.rs, only the names and the order come: those of 8 bits first, then by ONNX code.
    """
    table = (Path(__file__).parents[2] / "src/types/element.rs").read_text()
    row = r'^ +B?FLOAT\w* +"(?P<name>\w+)" +\[(?P<aliases>.*?)\] +(?P<code>\d+), +(?P<bits>\d+), float\('
    rows = [match.groupdict() for match in re.finditer(row, table, re.MULTILINE)]
    narrow = [row for row in rows if int(row["bits"]) <= 16]
    narrow.sort(key=lambda row: (int(row["bits"]) > 8, -int(row["bits"]), int(row["code"])))
    dtypes = {name.replace("_", ""): getattr(ml_dtypes, name) for name in dir(ml_dtypes)} | {"float16": np.float16}
    for row in narrow:
        names = [row["name"], *re.findall(r"\w+", row["aliases"])]
        dtype = next(dtypes[name] for name in names if name in dtypes)
        yield row["name"], dtype, ml_dtypes.finfo(dtype).bits, ml_dtypes.finfo(dtype).nmant


TYPES = {name: rest for name, *rest in types()}
np.seterr(over="ignore", invalid="ignore")  # on purpose: overflows to infinity, and NaN
# Sample points of the 16-bit types; all codes of the others are covered.
SAMPLED = 260
RANDOM = 250


def floats(name):
    """The float32 value of every code of the type."""
    dtype, bits, _ = TYPES[name]
    codes = np.arange(1 << bits, dtype=np.uint16 if bits == 16 else np.uint8)
    return codes.view(dtype).astype(np.float32)


def inputs(name, rng):
    """float32 bits at which a rounding to the type is hard, in ascending order."""
    bits, mantissa = TYPES[name][1:]
    positive = floats(name)[: 1 << (bits - 1)].astype(float)
    finite = positive[np.isfinite(positive)]
    top = finite[-1]
    beyond = top + (top - finite[-2])  # the next value, were the exponent unbounded
    low = range(len(finite))
    if bits == 16:
        ones = 1 << mantissa  # all neighbours of zero, the least normals and the greatest values
        edges = {*range(4), *range(ones - 3, ones + 3), len(finite) - 2, len(finite) - 1}
        low = sorted(edges | set(rng.sample(low, SAMPLED)))
    values = [*finite, beyond]
    points = {beyond} | {x for i in low for x in (values[i], (values[i] + values[i + 1]) / 2)}
    points = {int(np.float32(x).view(np.uint32)) for x in points}
    hard = {p + d for p in points for d in (-1, 0, 1) if 0 <= p + d < 0x7F800000}
    # Least and greatest subnormal, least normal, greatest finite, infinity and NaN.
    hard |= {0, 1, 0x007FFFFF, 0x00800000, 0x7F7FFFFF, 0x7F800000, 0x7FC00000}
    # A third of the points is negative as well.
    hard |= {p | 0x80000000 for p in sorted(hard)[::3]} | {0x80000000, 0xFF800000, 0xFFC00000}
    # Random numbers spread over the binades of the type and some around them.
    scale = (np.log2(finite[1]) - 3, np.log2(top) + 2)
    for _ in range(RANDOM):
        x = np.float32(2 ** min(rng.uniform(*scale), 127.9))
        hard.add(int(x.view(np.uint32)) ^ rng.getrandbits(16) ^ (rng.getrandbits(1) << 31))
    return np.array(sorted(hard), dtype=np.uint32)


def write(path, what, sections):
    lines = [
        f"# {what}",
        "# Made by tests/golden/make.py (see there for how to run it) with Python 3.11.7,",
        f"# ml_dtypes {ml_dtypes.__version__} and numpy {np.__version__}. Numbers are hexadecimal.",
    ]
    for name, rows in sections:
        lines += ["", f"[{name}]", *rows]
    (Path(__file__).parent / path).write_text("\n".join(lines) + "\n")


def decode(name):
    values = floats(name)
    for code, (x, pattern) in enumerate(zip(values, values.view(np.uint32))):
        yield f"{code:02x} " + ("nan" if np.isnan(x) else f"{pattern:08x}")


def encode(name):
    dtype, bits, _ = TYPES[name]
    patterns = inputs(name, random.Random(name))
    results = patterns.view(np.float32).astype(dtype)
    codes = results.view(np.uint16 if bits == 16 else np.uint8)
    for pattern, code, x in zip(patterns, codes, results.astype(np.float32)):
        yield f"{pattern:08x} " + ("nan" if np.isnan(x) else f"{code:0{-(-bits // 4)}x}")


assert (ml_dtypes.__version__, np.__version__) == ("0.6.0", "2.4.6"), "see the first lines"
write(
    "decode.txt",
    "Every code of a type and the bits of the float32 it stands for.",
    [(name, decode(name)) for name in TYPES if TYPES[name][1] <= 8],
)
write(
    "encode.txt",
    "Bits of a float32 and the code it is rounded to, without saturation where there is a choice.",
    [(name, encode(name)) for name in TYPES if name != "float8e8m0"],
)
