"""ONNX's numeric element types with their numpy dtypes, as the package onnx has them, and what follows from both."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import ml_dtypes
import numpy as np
import onnx
from numpy.typing import NDArray

Array = NDArray[Any]
RoundMode: TypeAlias = Literal["up", "down", "nearest"]


@dataclass(frozen=True)
class ElementType:
    """An element type: ONNX's name in lower case and its number, and the dtype of arrays of it."""

    name: str
    number: int
    dtype: np.dtype[Any]

    @property
    def is_float(self) -> bool:
        return self.name == "double" or self.name.startswith(("float", "bfloat"))

    @property
    def is_bool(self) -> bool:
        return self.name == "bool"

    @property
    def bits(self) -> int:
        """The bits of a code."""
        if self.is_bool:
            return 8
        info: Callable[[Any], Any] = ml_dtypes.finfo if self.is_float else ml_dtypes.iinfo
        return int(info(self.dtype).bits)

    @property
    def storage(self) -> np.dtype[Any]:
        """The unsigned dtype of an array's elements."""
        return np.dtype(f"u{self.dtype.itemsize}")

    def codes(self, array: Array) -> Array:
        """The codes of an array's elements. Those of less than 8 bits have a byte each, whose other bits mean nothing."""
        codes: Array = np.ascontiguousarray(array).view(self.storage).reshape(array.shape)
        return codes & ((1 << self.bits) - 1) if self.bits < 8 else codes

    def array(self, codes: Array) -> Array:
        """An array of codes, stored as ml_dtypes stores them: with zeros in the other bits of a byte."""
        return codes.astype(self.storage).view(self.dtype)

    def every_code(self) -> Array:
        """All codes of a type of at most 16 bits."""
        return self.array(np.arange(2 if self.is_bool else 1 << self.bits))


TYPES = {
    name.lower(): ElementType(name.lower(), number, np.dtype(onnx.helper.tensor_dtype_to_np_dtype(number)))
    for name, number in onnx.TensorProto.DataType.items()
    if name not in ("UNDEFINED", "STRING", "COMPLEX64", "COMPLEX128")
}
FLOAT, FLOAT16, DOUBLE, E8M0 = (TYPES[name] for name in ("float", "float16", "double", "float8e8m0"))
# The types that look at `saturate`.
SATURATING = [TYPES[name] for name in ("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "float8e8m0")]
ROUND_MODES: tuple[RoundMode, ...] = ("up", "down", "nearest")


@dataclass(frozen=True)
class Options:
    """The options of a cast."""

    saturate: bool = True
    round_mode: RoundMode = "up"


def options_of(to: ElementType) -> list[Options]:
    """The options that a destination looks at, each once."""
    modes = ROUND_MODES if to == E8M0 else ROUND_MODES[:1]
    return [Options(saturate, mode) for saturate in ((True, False) if to in SATURATING else (True,)) for mode in modes]
