"""The element types of ONNX."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _native


__all__ = ["ELEMENT_TYPES", "ElementType", "element_type"]


@dataclass(frozen=True)
class ElementType:
    """An element type of ONNX (``TensorProto.DataType``)."""

    name: str
    """The name of ONNX in lower case, such as ``float8e4m3fn``."""
    onnx: int
    """The number of ONNX."""
    bits: int | None
    """The width of a code in bits: 2, 4, 6, 8, 16, 32 or 64. None for strings."""
    aliases: tuple[str, ...]
    """Other names that are accepted. Case, ``_`` and ``-`` do not matter. Names that in lower case are
    those of other types in numpy, such as ``i8``, are not here: then they are refused."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The numpy dtype of a result: one of numpy, or one of ml_dtypes. ``<U`` for strings.

        Raises MissingLibraryError if ml_dtypes is missing or has no such type.
        """
        if self.bits is None:
            return np.dtype(np.str_)
        return _native.dtype(self.onnx)

ELEMENT_TYPES = tuple(
    ElementType(name, onnx, bits, tuple(aliases)) for name, onnx, bits, aliases in _native.element_types()
)
"""All element types, in the order of their ONNX numbers."""

_BY_NUMBER = {element.onnx: element for element in ELEMENT_TYPES}


def element_type(x: Any) -> ElementType:
    """The element type that ``x`` means: a name in any spelling, an ONNX number, or a dtype of numpy, ml_dtypes, jax or
    torch, or the class of such a dtype or of its scalars.

    Strings have the dtypes ``U``, ``S``, ``StringDType`` and ``object``.

    Raises CastError if ``x`` means no element type of ONNX, such as complex64, and TypeError if it is nothing that can
    name one.
    """
    return _BY_NUMBER[_native.element_code(x)]
