#!/usr/bin/env python3
"""Writes strings.txt, next to this file, from Python's and numpy's shortest decimals.

    python3 -m venv /tmp/golden && /tmp/golden/bin/pip install numpy==2.4.6
    /tmp/golden/bin/python tests/golden/make_strings.py

The committed file was made by Python 3.11.7 and numpy 2.4.6 on x86-64. On the way every text is proven, with fractions,
to be the shortest and the closest of the shortest.
"""

import random
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np

ROWS = 2000
# Type: bits of the mantissa, bits of the code, the dtype of floats and of codes.
TYPES = {
    "double": (52, 64, np.float64, np.uint64),
    "float": (23, 32, np.float32, np.uint32),
    "float16": (10, 16, np.float16, np.uint16),
}


def infinity(name):
    mantissa, bits = TYPES[name][:2]
    return (1 << (bits - 1)) - (1 << mantissa)


def value(name, code):
    """The exact value of a positive code; infinity's is the one that would follow were the exponent unbounded."""
    mantissa, bits = TYPES[name][:2]
    exponent, fraction = code >> mantissa, code % (1 << mantissa)
    unit = 2 - (1 << (bits - mantissa - 2)) - mantissa + max(exponent, 1) - 1
    return Fraction(fraction + (1 << mantissa) * (exponent > 0)) * Fraction(2) ** unit


def shortest(name, code):
    """Digits and power of ten as the tools have them, `123e-5`."""
    _, _, floating, codes = TYPES[name]
    x = np.array([code], dtype=codes).view(floating)[0]
    text = repr(float(x)) if name == "double" else np.format_float_scientific(x, unique=True)
    _, digits, exponent = Decimal(text).as_tuple()
    digits = "".join(map(str, digits))
    short = digits.rstrip("0")
    exponent += len(digits) - len(short)
    prove(name, code, short, exponent)
    return short, exponent


def prove(name, code, digits, exponent):
    """That the digits are the fewest that come back as the code, then the closest, then even."""
    x = value(name, code)
    low, high = (x + value(name, code - 1)) / 2, (x + value(name, code + 1)) / 2
    inside = lambda y: low < y < high or (code % 2 == 0 and y in (low, high))
    unit = Fraction(10) ** exponent
    printed = int(digits) * unit
    assert inside(printed), (name, code)
    for candidate in (printed - unit, printed + unit):
        nearer, farther = abs(candidate - x), abs(printed - x)
        assert not inside(candidate) or nearer > farther or (nearer == farther and int(digits) % 2 == 0), (name, code)
    if len(digits) > 1:
        floor = x // (10 * unit) * 10 * unit
        assert not inside(floor) and not inside(floor + 10 * unit), (name, code)


def samples(name, rng):
    """Positive codes, in ascending order: ends, powers of two and of ten with their neighbours, random ones."""
    mantissa, _, floating, codes = TYPES[name]
    top, ones = infinity(name), 1 << mantissa
    found = {*range(1, 20), *range(ones - 4, ones + 4), *range(top - 8, top)}
    found |= {max(1, p + d) for p in rng.sample(range(0, top, ones), 60) for d in (-1, 0, 1)}
    found |= {1 << rng.randrange(mantissa) for _ in range(20)}  # subnormal powers of two
    for power in range(-45, 39) if name == "float" else [*range(-30, 40), *rng.sample(range(-323, 309), 60)]:
        code = int(np.array([f"1e{power}"], dtype=floating).view(codes)[0])
        found |= {max(1, code + d) for d in (-1, 0, 1)}
    # Quarters of four digits more than the type has: where two decimals are equally close.
    unit = (1 << (mantissa - 2)) + 0.25
    ties = np.array([unit + i / 2 for i in range(20)], dtype=floating)
    found |= set(map(int, ties.view(codes)))
    while len(found) < ROWS:
        # Of any size, subnormal, or as people write them.
        digits, power = rng.randrange(1, 10 ** rng.randrange(1, 9)), rng.randrange(-12, 12)
        short = int(np.array([f"{digits}e{power}"], dtype=floating).view(codes)[0])
        found.add(rng.choice([rng.randrange(1, top), rng.randrange(1, top), rng.randrange(1, ones), short]))
    return sorted(found)


def fnv(texts):
    """FNV-1a of 64 bits."""
    state = 0xCBF29CE484222325
    for byte in "".join(text + "\n" for text in texts).encode():
        state = (state ^ byte) * 0x100000001B3 % (1 << 64)
    return state


def rows(name):
    width = TYPES[name][1] // 4
    for code in samples(name, random.Random(name)):
        yield f"{code:0{width}x} {'e'.join(map(str, shortest(name, code)))}"


def hashes():
    for first in range(0, infinity("float16"), 1024):
        texts = []
        for code in range(first, first + 1024):
            x = np.array([code], dtype=np.uint16).view(np.float16)[0]
            texts.append(np.format_float_positional(x, unique=True, trim="0"))
            digits, exponent = shortest("float16", code) if code else ("0", 0)
            assert Decimal(texts[-1]) == Decimal(f"{digits}e{exponent}")
        yield f"{first:04x} {fnv(texts):016x}"


assert np.__version__ == "2.4.6", "see the first lines"
lines = [
    "# [double] and [float]: code, and the shortest decimal as digits and power of ten, by Python's repr (double) and",
    "# numpy's format_float_scientific (float).",
    "# [float16]: the first of 1024 codes, and the FNV-1a hash of their texts by numpy's format_float_positional, each",
    "# with a newline.",
    "# Made by tests/golden/make_strings.py (see there for how to run it) with Python 3.11.7 and numpy 2.4.6. Codes",
    "# and hashes are hexadecimal.",
]
for section, found in [("double", rows("double")), ("float", rows("float")), ("float16", hashes())]:
    lines += ["", f"[{section}]", *found]
(Path(__file__).parent / "strings.txt").write_text("\n".join(lines) + "\n")
