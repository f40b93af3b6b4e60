"""Where ml_dtypes 0.6.0 and numpy 2.4 give other codes than ONNX's Cast: one table, by rule."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from element_types import DOUBLE, E8M0, FLOAT, FLOAT16, SATURATING, TYPES, Array, ElementType, Options
from expected import in_float32


@dataclass(frozen=True)
class Rule:
    """A difference: which casts of which values it is about, and how often it is met in all pairs and options."""

    name: str
    reason: str
    casts: Callable[[ElementType, ElementType, Options], bool]
    # Of the values as float64, for narrow floats as float32 rounded to odd.
    values: Callable[[Array], Array]
    # None: numpy's result depends on the processor and on the place in the array.
    met: int | None


BFLOAT16, E5M2, UINT32 = (TYPES[name] for name in ("bfloat16", "float8e5m2", "uint32"))
WIDE = [TYPES[name] for name in ("int32", "uint32", "int64", "uint64", "double")]


def between(x: Array, low: float, high: float) -> Array:
    return (low < x) & (x < high)


# Of each value the first rule that holds.
RULES = [
    Rule(
        "the same type",
        "ONNX's `saturate` is for FLOAT8E5M2 from itself too; astype copies.",
        lambda source, to, options: source == to == E5M2 and options.saturate,
        np.isinf,
        2,
    ),
    Rule(
        "saturation",
        "ml_dtypes has no saturation: what is out of range becomes an infinity, or NaN where there is none.",
        lambda source, to, options: to in SATURATING and to != E8M0 and options.saturate,
        lambda x: ~np.isnan(x),
        1_352_231,
    ),
    Rule(
        "double rounding",
        "ml_dtypes converts these sources to float32 first, and rounds twice.",
        lambda source, to, options: source in WIDE and to.is_float and to.bits <= 16 and to != FLOAT16,
        # Rounded to odd, so the last bit says whether anything was cut off.
        lambda x: x.astype(np.float32).view(np.uint32) & 1 == 1,
        482_656,
    ),
    Rule(
        "payloads",
        "numpy and ml_dtypes keep parts of the payloads of NaN; ONNX's rule is one quiet NaN of each sign.",
        lambda source, to, options: source.is_float and to in (FLOAT16, FLOAT, DOUBLE),
        np.isnan,
        4750,
    ),
    Rule(
        "rounding up to FLOAT8E8M0",
        "ml_dtypes has no `round_mode`, it always rounds to the nearest.",
        lambda source, to, options: to == E8M0 and options.round_mode == "up",
        lambda x: between(x, 2.0**-127, 2.0**127) & (np.frexp(x)[0] > 0.5),
        220_998,
    ),
    Rule(
        "rounding down to FLOAT8E8M0",
        "ml_dtypes has no `round_mode`, it always rounds to the nearest.",
        lambda source, to, options: to == E8M0 and options.round_mode == "down",
        lambda x: between(x, 2.0**-127, 2.0**127) & (np.frexp(x)[0] > 0.5),
        232_338,
    ),
    Rule(
        "just above the least of FLOAT8E8M0",
        "ml_dtypes rounds what is nearer to 2^-127 up to 2^-126.",
        lambda source, to, options: to == E8M0 and options.round_mode == "nearest",
        lambda x: between(x, 2.0**-127, 1.5 * 2.0**-127),
        98,
    ),
    Rule(
        "below FLOAT8E8M0",
        "By ONNX's table, zero and what is less is the least code with `saturate`, NaN without.",
        lambda source, to, options: to == E8M0,
        lambda x: x < 2.0**-127,
        413_427,
    ),
    Rule(
        "above FLOAT8E8M0",
        "By ONNX's table, what is more than 2^127 is the greatest code with `saturate`, NaN without.",
        lambda source, to, options: to == E8M0,
        lambda x: x > 2.0**127,
        561,
    ),
    Rule(
        "NaN of narrow floats to wide integers",
        "ml_dtypes gives 0; ONNX's rule is that of FLOAT, which is what x86-64 gives.",
        lambda source, to, options: source.is_float and source.bits <= 8 and not to.is_float,
        np.isnan,
        33,
    ),
    Rule(
        "infinities of FLOAT8E5M2 to integers",
        "ml_dtypes gives the ends of the range; ONNX's rule is that of FLOAT.",
        lambda source, to, options: source == E5M2 and not to.is_float,
        np.isinf,
        15,
    ),
    Rule(
        "just below 2^31 to integers of 2 and 4 bits",
        "ml_dtypes asks whether 2^31 - 1 is less, before it truncates.",
        lambda source, to, options: source == DOUBLE and not to.is_float and to.bits <= 4,
        lambda x: between(x, 2.0**31 - 1, 2.0**31),
        4,
    ),
    Rule(
        "floats to UINT32",
        "Out of range, C leaves the result open, and numpy's vectors give other ones than its loop of single elements.",
        lambda source, to, options: source.is_float and to == UINT32,
        lambda x: ~((np.trunc(x) >= 0) & (np.trunc(x) < 2.0**32)),
        None,
    ),
]

# What ml_dtypes does not cast: FLOAT8E8M0 and its other types of at most 8 bits, its integers, and some with FLOAT6E2M3.
REFUSED = {
    "float8e8m0": "float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz float6e2m3 float6e3m2 float4e2m1 int4 uint4 int2 uint2",
    "float8e4m3fn": "float8e8m0",
    "float8e4m3fnuz": "float8e8m0",
    "float8e5m2": "float8e8m0",
    "float8e5m2fnuz": "float8e8m0",
    "float6e2m3": "float8e8m0 int4 uint4",
    "float6e3m2": "float8e8m0",
    "float4e2m1": "float8e8m0",
    "int4": "float8e8m0 float6e2m3 uint4 int2 uint2",
    "uint4": "float8e8m0 float6e2m3 int4 int2 uint2",
    "int2": "float8e8m0 uint4 uint2",
    "uint2": "float8e8m0 int4 int2",
}


def explain(x: Array, source: ElementType, to: ElementType, options: Options) -> Array:
    """For each element the number of the rule that allows a difference, -1 if none does."""
    rules = np.full(x.shape, -1)
    narrow = to.is_float and to.bits <= 16
    values = (in_float32(x, source) if narrow else x).astype(np.float64)
    for number, rule in reversed(list(enumerate(RULES))):
        if rule.casts(source, to, options):
            rules[rule.values(values)] = number
    return rules
