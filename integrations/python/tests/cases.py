"""Values to cast, of every source type."""

import numpy as np

import golden
from element_types import FLOAT, Array, ElementType

RANDOM = 20_000


def cases(source: ElementType) -> Array:
    """All codes of at most 16 bits; of wider types those that are hard to round, the ends of all ranges, and random ones."""
    if source.bits <= 16:
        return source.every_code()
    rng = np.random.default_rng(source.number)
    random = rng.integers(0, 256, RANDOM * source.dtype.itemsize, dtype=np.uint8).view(source.dtype)
    if source.is_float:
        return np.concatenate([hard_floats(source), random])
    powers = np.uint64(1) << np.arange(source.bits, dtype=np.uint64)
    # Midpoints of 8, 11 and 24 bits, and what is beside them.
    halves = [powers | powers >> np.uint64(digits) for digits in (8, 11, 24)]
    points = np.concatenate([powers, *halves])
    around = np.concatenate([points, points - np.uint64(1), points + np.uint64(1)])
    scattered = random.view(source.storage) >> rng.integers(0, source.bits, random.size).astype(source.storage)
    codes = [around, ~around, scattered.astype(np.uint64), ~scattered.astype(np.uint64), random.view(source.storage).astype(np.uint64)]
    return np.concatenate(codes).astype(source.storage).view(source.dtype)


def hard_floats(source: ElementType) -> Array:
    """The float32 of the golden tables, the ends of integers, and for float64 what is beside them."""
    patterns = [pattern for rows in golden.sections("encode.txt").values() for pattern, _ in rows]
    ends = np.array([sign * 2.0**power for power in range(65) for sign in (1, -1)], np.float32).view(np.uint32)
    codes = np.unique(np.concatenate([np.array(patterns, np.uint32), ends, ends + np.uint32(1), ends - np.uint32(1)]))
    values = codes.view(np.float32)
    if source == FLOAT:
        return values
    wide = values.astype(np.float64)
    # A signalling NaN has become a quiet one.
    return np.concatenate([wide, np.nextafter(wide, np.inf), np.nextafter(wide, -np.inf)])
