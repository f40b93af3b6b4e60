"""Tensors of torch. Their memory is viewed as integers, because numpy has no dtypes for most of torch's types."""

from typing import Any

import numpy as np

from . import _native
from ._arrays import check_layout, check_overlap
from ._cast import STRING, cast_numbers
from ._errors import CastError
from ._losses import Losses
from ._pack import pack_array, unpack_array
from ._typing import Array, How

FLOAT4 = _native.element_code("float4e2m1")


def cast(torch: Any, x: Any, to: Any, target: int, out: Any, how: How) -> Any:
    """Casts a tensor to a tensor."""
    array, source = codes_of(torch, x)
    if STRING in (source, target):
        raise CastError("torch has no strings")
    wanted = dtype_of(torch, target)
    if out is not None:
        return into(torch, array, source, out, target, wanted, how)
    result, counts = cast_numbers(array, source, None, target, how, integers(target))
    if is_pairs(wanted):
        result = packed_pairs(result)
    tensor = torch.from_numpy(result).view(wanted)
    return (tensor, Losses(*counts)) if counts is not None else tensor


def into(torch: Any, array: Array, source: int, out: Any, target: int, wanted: Any, how: How) -> Any:
    """Casts into the tensor ``out``."""
    if not isinstance(out, torch.Tensor):
        raise TypeError(f"out must be a tensor of torch, got {type(out).__name__}")
    if out.dtype != wanted:
        raise CastError(f"out has the dtype {out.dtype}, the result has {wanted}")
    if is_pairs(wanted):
        raise CastError(f"out of {wanted} is not supported")
    result = viewed(torch, out, "out")
    check_layout(result, array)
    check_overlap(result, array)
    _, counts = cast_numbers(array, source, result, target, how)
    return (out, Losses(*counts)) if counts is not None else out


def codes_of(torch: Any, x: Any) -> tuple[Array, int]:
    """The codes of a tensor, and the ONNX number of their type. The array shares the memory, except that of pairs."""
    source = _native.element_code(x.dtype)
    codes = viewed(torch, x, "the tensor")
    if is_pairs(x.dtype):
        if codes.ndim == 0:
            raise CastError(f"a tensor of {x.dtype} has at least one axis")
        shape = (*codes.shape[:-1], 2 * codes.shape[-1])
        codes = unpack_array(np.ascontiguousarray(codes), source, np.empty(shape, np.uint8), "x")
    return codes, source


def viewed(torch: Any, x: Any, what: str) -> Array:
    """A tensor as an array. It has integers as elements where numpy has no such type."""
    if x.device.type != "cpu":
        raise CastError(f"{what} is on the device {x.device}: move it to the CPU first")
    if x.layout != torch.strided:
        raise CastError(f"{what} has the layout {x.layout}: make it dense first")
    x = x.detach()
    unsigned = {1: torch.uint8, 2: torch.uint16}.get(x.element_size())
    if unsigned is not None and x.dtype != torch.bool:
        x = x.view(unsigned)
    array: Array = x.numpy()
    return array


def integers(code: int) -> "np.dtype[Any]":
    """The dtype of the codes of an element type in an array that becomes a tensor."""
    bits = _native.element_bits(code)
    return np.dtype(np.uint8) if bits <= 8 else np.dtype(np.uint16) if bits == 16 else _native.dtype(code)


def packed_pairs(codes: Array) -> Array:
    """Codes as packed pairs along the last axis."""
    if codes.ndim == 0 or codes.shape[-1] % 2:
        raise CastError(f"torch has float4e2m1 in pairs along the last axis: its length must be even, got the shape {codes.shape}")
    packed = pack_array(np.ascontiguousarray(codes), FLOAT4)
    return packed.reshape(*codes.shape[:-1], codes.shape[-1] // 2)


def is_pairs(dtype: Any) -> bool:
    return str(dtype).endswith("_x2")


_DTYPES: dict[int, Any] = {}
"""The dtypes of torch by ONNX number."""


def read_dtypes(torch: Any) -> dict[int, Any]:
    found = {}
    for dtype in vars(torch).values():
        if isinstance(dtype, torch.dtype):
            try:
                found[_native.element_code(dtype)] = dtype
            except CastError:
                continue
    return found


def dtype_of(torch: Any, code: int) -> Any:
    """The dtype of a tensor of this element type."""
    if not _DTYPES:
        _DTYPES.update(read_dtypes(torch))
    found = _DTYPES.get(code)
    if found is None:
        raise CastError(f"torch {torch.__version__} has no {_native.element_name(code)}")
    return found
