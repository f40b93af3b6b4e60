"""ONNX's element types with their names in other libraries, and values to cast."""

from dataclasses import dataclass

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]

# The data repeats after this many elements. It is a multiple of 16, so that packed codes repeat at a whole byte.
TILE = 1 << 20


@dataclass(frozen=True)
class ElementType:
    """An element type: ONNX's name, its packed width, and the names in other libraries."""

    name: str
    bits: int
    numpy: str
    torch: str | None = None
    kind: str = "float"

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(getattr(ml_dtypes, self.numpy, None) or self.numpy)

    @property
    def negative(self) -> bool:
        """Whether the type has negative values."""
        return self.kind in ("float", "int")

    @property
    def largest(self) -> float:
        if self.kind == "bool":
            return 1.0
        info = ml_dtypes.finfo if self.kind in ("float", "scale") else ml_dtypes.iinfo
        return float(info(self.dtype).max)

    def packed_bytes(self, elements: int) -> int:
        return (elements * self.bits + 7) // 8


ROWS = [
    ElementType("float", 32, "float32", "float32"),
    ElementType("double", 64, "float64", "float64"),
    ElementType("float16", 16, "float16", "float16"),
    ElementType("bfloat16", 16, "bfloat16", "bfloat16"),
    ElementType("float8e4m3fn", 8, "float8_e4m3fn", "float8_e4m3fn"),
    ElementType("float8e4m3fnuz", 8, "float8_e4m3fnuz", "float8_e4m3fnuz"),
    ElementType("float8e5m2", 8, "float8_e5m2", "float8_e5m2"),
    ElementType("float8e5m2fnuz", 8, "float8_e5m2fnuz", "float8_e5m2fnuz"),
    ElementType("float8e8m0", 8, "float8_e8m0fnu", "float8_e8m0fnu", "scale"),
    ElementType("float6e2m3", 6, "float6_e2m3fn"),
    ElementType("float6e3m2", 6, "float6_e3m2fn"),
    ElementType("float4e2m1", 4, "float4_e2m1fn"),
    ElementType("bool", 8, "bool", "bool", "bool"),
    ElementType("int8", 8, "int8", "int8", "int"),
    ElementType("int16", 16, "int16", "int16", "int"),
    ElementType("int32", 32, "int32", "int32", "int"),
    ElementType("int64", 64, "int64", "int64", "int"),
    ElementType("uint8", 8, "uint8", "uint8", "uint"),
    ElementType("uint16", 16, "uint16", "uint16", "uint"),
    ElementType("uint32", 32, "uint32", "uint32", "uint"),
    ElementType("uint64", 64, "uint64", "uint64", "uint"),
    ElementType("int4", 4, "int4", kind="int"),
    ElementType("uint4", 4, "uint4", kind="uint"),
    ElementType("int2", 2, "int2", kind="int"),
    ElementType("uint2", 2, "uint2", kind="uint"),
]
TYPES = {row.name: row for row in ROWS}

Pair = tuple[ElementType, ElementType]

# Common pairs: `a>b`, or `a<>b` for both directions.
USUAL = """
float<>float16 float<>bfloat16 float<>float8e4m3fn float<>float8e5m2 float<>float8e8m0 float<>double
float<>int8 float<>uint8 float<>int32 float<>int64 float<>bool float<>int4 float<>uint4 float<>float4e2m1
double>float16 float16<>bfloat16 float16<>float8e4m3fn bfloat16<>float8e4m3fn
int64<>int32 int32>float16 uint8>float16 int64>float16 double>int64
"""


def parse_pairs(text: str) -> list[Pair]:
    """Parses pairs `a>b` and `a<>b`, separated by spaces."""
    pairs = []
    for word in text.split():
        first, _, second = word.replace("<>", ">").partition(">")
        if unknown := {first, second} - TYPES.keys():
            raise ValueError(f"no element type: {' '.join(unknown)}")
        pairs.append((TYPES[first], TYPES[second]))
        if "<>" in word:
            pairs.append((TYPES[second], TYPES[first]))
    return pairs


def all_pairs() -> list[Pair]:
    return [(source, target) for source in ROWS for target in ROWS if source != target]


def pack(codes: NDArray, bits: int) -> Bytes:
    """Converts one code per element to ONNX's raw_data."""
    if bits >= 8:
        return codes.view(np.uint8)
    lanes = np.unpackbits(codes.astype(np.uint8)[:, None], axis=1, count=bits, bitorder="little")
    return np.packbits(lanes.ravel(), bitorder="little")


def unpack(packed: Bytes, bits: int, elements: int) -> NDArray:
    """Converts ONNX's raw_data to one code per element."""
    if bits >= 8:
        return packed.view(f"u{bits // 8}")[:elements]
    lanes = np.unpackbits(packed, bitorder="little", count=elements * bits)
    return np.packbits(lanes.reshape(elements, bits), axis=1, bitorder="little").ravel()


def to_numpy(packed: Bytes, of: ElementType, elements: int) -> NDArray:
    """Packed codes as numpy and ml_dtypes store them, with a whole byte for narrower elements."""
    codes = unpack(packed, of.bits, elements)
    if of.bits < 8 and of.kind == "int":
        # The byte contains the sign-extended value.
        sign = np.uint8(1 << (of.bits - 1))
        return ((codes ^ sign) - sign).view(np.int8).astype(of.dtype)
    return codes.view(of.dtype)


def from_numpy(values: NDArray, of: ElementType) -> Bytes:
    mask = (1 << of.bits) - 1
    return pack(values.view(np.uint8) & mask if of.bits < 8 else values, of.bits)


def ordinary(pair: Pair, elements: int) -> Bytes:
    """Packed codes of normally distributed values that the target can hold, so that most libraries agree."""
    source, target = pair
    largest = min(source.largest, target.largest)
    values = np.random.default_rng(1).normal(size=elements)
    if source.kind == "bool" or target.kind == "bool":
        values *= np.arange(elements) % 2
        return from_numpy((values != 0 if source.kind == "bool" else values * 4).astype(source.dtype), source)
    values *= min(100.0, largest / 4)
    if not (source.negative and target.negative):
        values = np.abs(values)
    values = np.clip(values, -largest, largest)
    if source.kind in ("int", "uint"):
        values = np.rint(values).astype(np.int64)
    return from_numpy(values.astype(source.dtype), source)


def any_bits(pair: Pair, elements: int) -> Bytes:
    """Packed random codes, including infinities, NaNs and out-of-range values."""
    source, _ = pair
    packed = np.random.default_rng(2).integers(0, 256, source.packed_bytes(elements), dtype=np.uint8)
    return packed & 1 if source.kind == "bool" else packed


def differing(ours: Bytes, theirs: Bytes, of: ElementType, elements: int) -> float:
    """The share of elements whose bits differ."""
    ours, theirs = (unpack(packed, of.bits, elements) for packed in (ours, theirs))
    return float(np.count_nonzero(ours != theirs)) / elements
