"""What casts must give, by docs/semantics.md: rounding by ml_dtypes and numpy from float32, and the rules beside it.

A value that float32 cannot hold is rounded to odd first: if anything is cut off, the last bit is set. The rounding to at most 16
bits that follows is then the only one.
"""

from typing import Any

import ml_dtypes
import numpy as np

from element_types import E8M0, SATURATING, Array, ElementType, Options

QUIET_NAN = {"float16": 0x7E00, "bfloat16": 0x7FC0, "float": 0x7FC00000, "double": 0x7FF8000000000000}


def expected(x: Array, source: ElementType, to: ElementType, options: Options) -> Array:
    """The codes of the results, for every element."""
    with np.errstate(all="ignore"):
        if source == to:
            return same_type(x, to, options)
        if to.is_bool:
            return np.asarray(x.astype(np.float64) != 0, np.uint8)
        if to == E8M0:
            return scale(in_float32(x, source).astype(np.float64), options)
        if to.is_float:
            return to_float(x, source, to, options)
        return float_to_int(x, to) if source.is_float else int_to_int(x, to)


def same_type(x: Array, to: ElementType, options: Options) -> Array:
    codes = to.codes(x)
    if to.name == "float8e5m2" and options.saturate:
        infinite = np.isinf(x.astype(np.float32))
        return np.where(infinite, largest(to) | codes & 0x80, codes).astype(codes.dtype)
    return codes


def to_float(x: Array, source: ElementType, to: ElementType, options: Options) -> Array:
    wide = to.bits > 16
    values = x if wide else in_float32(x, source)
    codes = to.codes(values.astype(to.dtype))
    sign = np.signbit(values.astype(np.float64)).astype(to.storage) << (to.bits - 1)
    not_a_number = np.isnan(values.astype(np.float64))
    if to.name in QUIET_NAN:
        codes = np.where(not_a_number, to.storage.type(QUIET_NAN[to.name]) | sign, codes)
    if to in SATURATING and options.saturate:
        finite = np.isfinite(codes.view(to.dtype).astype(np.float32))
        codes = np.where(finite | not_a_number, codes, to.storage.type(largest(to)) | sign)
    return codes


def scale(values: Array, options: Options) -> Array:
    """FLOAT8E8M0: a power of two, or a code at an end."""
    fraction, exponent = np.frexp(values)
    up = {"up": fraction > 0.5, "down": fraction < 0, "nearest": fraction >= 0.75}[options.round_mode]
    # frexp's fraction is at least a half.
    codes = exponent - 1 + up + 127
    low, high = (0x00, 0xFE) if options.saturate else (0xFF, 0xFF)
    codes = np.where(values < 2.0**-127, low, np.where(values > 2.0**127, high, codes))
    return np.where(np.isnan(values), 0xFF, codes).astype(np.uint8)


def float_to_int(x: Array, to: ElementType) -> Array:
    whole = np.trunc(x.astype(np.float64))

    def within(low: float, high: float) -> Array:
        return (whole >= low) & (whole < high)

    fits = {"int32": (-(2.0**31), 2.0**31), "int64": (-(2.0**63), 2.0**63), "uint64": (-(2.0**63), 2.0**63)}
    fits["uint32"] = fits["int64"]
    inside = within(*fits.get(to.name, fits["int32"]))
    low_bits = np.where(inside, whole, 0).astype(np.int64).view(np.uint64)
    if to.name == "uint64":
        upper = within(2.0**63, 2.0**64)
        low_bits = np.where(upper, np.where(upper, whole, 0).astype(np.uint64), low_bits)
        outside = np.where(whole >= 2.0**64, 0, np.uint64(1 << 63))
        return np.where(inside | upper, low_bits, outside)
    least = 1 << (to.bits - 1) if to.name in ("int32", "int64") else 0
    return low_codes(np.where(inside, low_bits, np.uint64(least)), to)


def int_to_int(x: Array, to: ElementType) -> Array:
    return low_codes(x.astype(np.uint64 if x.dtype == np.uint64 else np.int64).view(np.uint64), to)


def low_codes(values: Array, to: ElementType) -> Array:
    return (values & np.uint64((1 << to.bits) - 1)).astype(to.storage)


def largest(to: ElementType) -> int:
    """The code of the largest number."""
    info: Any = ml_dtypes.finfo
    return int(to.codes(np.array(info(to.dtype).max)))


def in_float32(x: Array, source: ElementType) -> Array:
    """The values as float32, rounded to odd where it cannot hold them."""
    if source.name in ("int64", "uint64"):
        return wide_in_float32(x)
    values = x.astype(np.float64)
    nearest = values.astype(np.float32)
    codes = nearest.view(np.uint32)
    inexact = (nearest.astype(np.float64) != values) & ~np.isnan(values)
    beyond = np.abs(nearest.astype(np.float64)) > np.abs(values)
    return np.where(inexact, codes - beyond | 1, codes).astype(np.uint32).view(np.float32)


def wide_in_float32(x: Array) -> Array:
    """64-bit integers as float32, rounded to odd."""
    negative = x < 0
    magnitude = np.where(negative, (~x).view(np.uint64) + np.uint64(1), x.view(np.uint64))
    _, exponent = np.frexp(magnitude.astype(np.float64))
    shift = np.maximum(exponent - 24, 0).astype(np.uint64)
    kept = magnitude >> shift
    odd = kept | (kept << shift != magnitude)
    values: Array = np.ldexp(odd.astype(np.float32), shift.astype(np.int64))
    return np.where(negative, -values, values)
