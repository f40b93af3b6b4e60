"""Packed codes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _native
from ._arrays import as_array, torch_of
from ._cast import STRING, native
from ._errors import CastError
from ._typing import Array

__all__ = ["pack", "unpack"]


def pack(x: Any) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Packs the codes of an array as in ONNX's ``raw_data``.

    ``x`` is an array of any numeric element type and any shape. The result is one-dimensional and has ``ceil(n * bits /
    8)`` bytes for ``n`` elements: codes in row-major order, little-endian, low bits first. Two 4-bit or four 2-bit codes
    share a byte, four 6-bit codes share three bytes. Bits after the last code are zero.

    Raises CastError for strings and for arrays whose dtype is no element type.
    """
    torch = torch_of(x)
    if torch is not None:
        from ._torch import codes_of

        array, code = codes_of(torch, x)
    else:
        array = as_array(x)
        code = _native.element_code(native(array.dtype))
    if code == STRING:
        raise CastError("strings have no packed form")
    return pack_array(np.require(array.astype(native(array.dtype), copy=False), requirements=["C", "A"]), code)


def pack_array(codes: Array, code: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Packs a contiguous array."""
    packed = np.empty((codes.size * _native.element_bits(code) + 7) // 8, np.uint8)
    _native.pack_codes(codes, code, packed)
    return packed


def unpack(data: Any, dtype: Any, shape: int | Sequence[int]) -> Array:
    """The array of packed codes, such as those of ONNX's ``raw_data``: the opposite of pack.

    ``data`` is bytes or any buffer. ``dtype`` is an element type in any spelling. The result has this ``shape`` and the
    dtype of numpy or ml_dtypes, with one code in each byte for the types of fewer than 8 bits.

    Raises CastError if ``data`` does not have the bytes of ``shape`` or is not contiguous, and MissingLibraryError without ml_dtypes.
    """
    code = _native.element_code(dtype)
    if code == STRING:
        raise CastError("strings have no packed form")
    try:
        codes = np.empty(shape, _native.dtype(code))
    except ValueError as error:
        raise CastError(f"shape {shape!r} is none of an array: {error}") from None
    return unpack_array(np.require(packed_bytes(data), requirements=["C", "A"]), code, codes, "data")


def packed_bytes(data: Any) -> Array:
    """The array of bytes, or an array whose memory has them."""
    if isinstance(data, np.ndarray):
        array = as_array(data, "data")
        if not array.dtype.isnative:
            raise CastError(f"data has the dtype {array.dtype}, which is not in the byte order of this machine: give data.view(numpy.uint8)")
        return array
    try:
        return np.frombuffer(data, np.uint8)
    except TypeError:
        raise TypeError(f"data must be bytes or another buffer, got {type(data).__name__}") from None
    except BufferError as error:
        raise CastError(f"data must be contiguous: {error}") from None


def unpack_array(packed: Array, code: int, codes: Array, name: str) -> Array:
    """Unpacks a contiguous array of bytes into another contiguous array. ``name`` is the caller's argument that it is of."""
    _native.unpack_codes(packed, code, codes, name)
    return codes
