#!/usr/bin/env python3
"""Computes checksums of examples/cast/src/checks/checksums.txt from ml_dtypes and numpy, for sources of 32 bits, and compares.

    python3 -m venv /tmp/golden && /tmp/golden/bin/pip install ml_dtypes==0.6.0 numpy==2.4.6 xxhash==4.1.0
    /tmp/golden/bin/python tests/golden/checksums.py [SOURCE [DESTINATION…]]

Finite values that the destination can hold are converted by ml_dtypes and numpy alone. The rules for the others are those of
docs/semantics.md. A cast takes one to three minutes of processor time.
"""

import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path

import ml_dtypes
import numpy as np
import xxhash

RECORDED = Path(__file__).parents[2] / "examples/cast/src/checks/checksums.txt"
BLOCK = 1 << 26
PIECE = 1 << 20
SOURCES = {"float": np.float32, "int32": np.int32, "uint32": np.uint32}
INTEGERS = {f"{sign}int{bits}": bits for sign in ("", "u") for bits in (2, 4, 8, 16, 32, 64)}
# Type, bits, code of the largest number, code of a positive NaN or None, code of infinity or None.
FLOATS = {
    "float16": (np.float16, 16, 0x7BFF, 0x7E00, 0x7C00),
    "bfloat16": (ml_dtypes.bfloat16, 16, 0x7F7F, 0x7FC0, 0x7F80),
    "float": (np.float32, 32, 0x7F7FFFFF, 0x7FC00000, 0x7F800000),
    "double": (np.float64, 64, 0x7FEFFFFFFFFFFFFF, 0x7FF8000000000000, 0x7FF0000000000000),
    "float8e4m3fn": (ml_dtypes.float8_e4m3fn, 8, 0x7E, 0x7F, None),
    "float8e5m2": (ml_dtypes.float8_e5m2, 8, 0x7B, 0x7E, 0x7C),
    "float8e4m3fnuz": (ml_dtypes.float8_e4m3fnuz, 8, 0x7F, None, None),
    "float8e5m2fnuz": (ml_dtypes.float8_e5m2fnuz, 8, 0x7F, None, None),
    "float6e2m3": (ml_dtypes.float6_e2m3fn, 6, 0x1F, None, None),
    "float6e3m2": (ml_dtypes.float6_e3m2fn, 6, 0x1F, None, None),
    "float4e2m1": (ml_dtypes.float4_e2m1fn, 4, 0x7, None, None),
}
np.seterr(all="ignore")  # Overflows to infinity, and NaN.


def to_float(source, name, options):
    dtype, bits, largest, quiet, infinity = FLOATS[name]
    word = np.dtype(f"u{max(bits, 8) // 8}")
    sign = word.type(1 << (bits - 1))
    if source.dtype != np.float32:
        # Exact; ml_dtypes itself would round integers to float first.
        source = source.astype(np.float64)
        if name == "bfloat16":
            return bfloat16_of_integers(source)
    # Beyond 2^24, where a double may not be a float, all narrower floats but bfloat16 and float16 overflow.
    through = source if name in ("float16", "float", "double") else source.astype(np.float32)
    rounded = through.astype(dtype)
    code = rounded.view(word) if rounded.dtype != source.dtype else source.view(word).copy()
    if name == "float" and source.dtype == np.float32:
        return code  # Between the same types the codes are copied.
    negative = np.where(np.signbit(source), sign, word.type(0))
    nan = np.isnan(source)
    if name.endswith("fnuz"):
        overflow = (code == 0x80) & ~nan
        if "saturate=false" not in options:
            code = np.where(overflow, negative | word.type(largest), code)
        return np.where(nan, word.type(0x80), code)
    if bits < 8:
        code = np.where(np.isinf(source), negative | word.type(largest), code)
        of_nan = word.type(largest) if "float4_nan=max" in options else negative ^ sign
        return np.where(nan, of_nan, code)
    if bits == 8:
        beyond = word.type(quiet if infinity is None else infinity)
        overflow = ((code & ~sign) >= beyond) & ~nan
        code = np.where(overflow, negative | (word.type(largest) if "saturate=false" not in options else beyond), code)
    return np.where(nan, negative | word.type(quiet), code)


def bfloat16_of_integers(source):
    """Rounds the 52 bits of the significand to 7, ties to even; a carry goes into the exponent, which has another bias."""
    bits = np.abs(source).view(np.uint64)
    rounded = (bits + (np.uint64(1) << np.uint64(44)) - np.uint64(1) + (bits >> np.uint64(45) & np.uint64(1))) >> np.uint64(45)
    code = np.where(source == 0, 0, rounded.astype(np.int64) - ((1023 - 127) << 7)).astype(np.uint16)
    return code | np.where(source < 0, np.uint16(0x8000), np.uint16(0))


def to_scale(source, options):
    """FLOAT8E8M0: a power of two, from the significand in [0.5, 1) and the exponent that frexp gives."""
    value = source.astype(np.float64)
    saturate = "saturate=false" not in options
    significand, exponent = np.frexp(value)
    mode = next((option.split("=")[1] for option in options.split(",") if option.startswith("round_mode=")), "up")
    up = {"up": significand > 0.5, "down": False, "nearest": significand >= 0.75}[mode]
    code = np.where(np.isfinite(value), exponent - 1 + 127, 0) + up
    code = np.where(value < 2.0**-127, 0 if saturate else 255, code)
    code = np.where(value > 2.0**127, 254 if saturate else 255, code)
    return np.where(np.isnan(value), 255, code).astype(np.uint8)


def to_integer(source, name, options):
    bits = INTEGERS[name]
    if source.dtype != np.float32:
        return source.astype(np.int64).view(np.uint64)
    value = np.trunc(source.astype(np.float64))
    low = np.where((value >= -(2.0**63)) & (value < 2.0**63), value, 0).astype(np.int64).view(np.uint64)
    if "int4_overflow=clamp" in options:
        least, most = (0, 15) if name.startswith("u") else (-8, 7)
        return np.where(np.isnan(value), 0, np.clip(value, least, most)).astype(np.int64).view(np.uint64)
    if bits <= 16:
        return np.where((value >= -(2.0**31)) & (value < 2.0**31), low, np.uint64(0))
    if name == "int32":
        return np.where((value >= -(2.0**31)) & (value < 2.0**31), low, np.uint64(1 << 31))
    if name == "uint32":
        return np.where((value >= -(2.0**63)) & (value < 2.0**63), low, np.uint64(0))
    if name == "int64":
        return np.where((value >= -(2.0**63)) & (value < 2.0**63), low, np.uint64(1 << 63))
    upper = (np.where((value >= 2.0**63) & (value < 2.0**64), value, 2.0**63) - 2.0**63).astype(np.uint64) | np.uint64(1 << 63)
    inside = np.where(value >= 2.0**63, upper, low)
    inside = np.where(value >= 2.0**64, np.uint64(0), inside)
    return np.where((value < -(2.0**63)) | np.isnan(value), np.uint64(1 << 63), inside)


def packed(codes, bits):
    """The lowest bits first, as ONNX packs codes of less than a byte."""
    if bits >= 8:
        return codes.astype(f"<u{bits // 8}").tobytes()
    together = np.uint64(0)
    count = 24 // bits if bits == 6 else 8 // bits
    for place in range(count):
        together = together | (codes[place::count].astype(np.uint64) & np.uint64((1 << bits) - 1)) << np.uint64(bits * place)
    size = count * bits // 8
    return together.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :size].tobytes()


def block(job):
    """The checksum of the results of one block."""
    (source, destination, options), number = job
    hash = xxhash.xxh3_64()
    for start in range(number * BLOCK, (number + 1) * BLOCK, PIECE):
        values = np.arange(start, start + PIECE, dtype=np.uint64).astype(np.uint32).view(SOURCES[source])
        if destination == "bool":
            codes, bits = (values != 0).astype(np.uint8), 8
        elif destination == "float8e8m0":
            codes, bits = to_scale(values, options), 8
        elif destination in FLOATS:
            codes, bits = to_float(values, destination, options), FLOATS[destination][1]
        else:
            codes, bits = to_integer(values, destination, options), INTEGERS[destination]
        hash.update(packed(codes, bits))
    return hash.intdigest()


def main():
    lines = [line.split() for line in RECORDED.read_text().splitlines() if not line.startswith("#")]
    sources, destinations = sys.argv[1:2] or SOURCES, sys.argv[2:]
    wanted = [line for line in lines if line[0] in sources and line[0] in SOURCES and (not destinations or line[1] in destinations)]
    wrong = 0
    with ProcessPoolExecutor() as pool:
        for source, destination, options, recorded in wanted:
            case = (source, destination, options)
            blocks = pool.map(block, product([case], range((1 << 32) // BLOCK)))
            checksum = xxhash.xxh3_64(b"".join(one.to_bytes(8, "little") for one in blocks)).hexdigest()
            wrong += checksum != recorded
            print(*case, checksum, "as recorded" if checksum == recorded else f"recorded: {recorded}", flush=True)
    sys.exit(f"{wrong} of {len(wanted)} checksums differ" if wrong else None)


if __name__ == "__main__":
    main()
