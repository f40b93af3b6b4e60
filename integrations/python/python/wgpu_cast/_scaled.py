"""Casts of scaled elements."""

import operator
from typing import Any

import numpy as np

from . import _native
from ._arrays import as_array, check_out, torch_of
from ._cast import STRING, cast_numbers, native
from ._errors import CastError
from ._losses import Losses
from ._memory import placed
from ._typing import Array, How

FLOAT = _native.element_code("float")

PLAIN: How = (True, "up", False, False, "cpu", None)
"""The keyword arguments of ``cast`` as they are without any."""


def cast(x: Any, to: Any, out: Any, how: How, scale: Any, block: Any, zero_point: Any) -> Any:
    """``wgpu_cast.cast`` with ``scale``."""
    if scale is None:
        raise CastError("block and zero_point need scale")
    if how[4] != "cpu":
        raise CastError(f'scaled elements are cast on the CPU: device must be "cpu", got {how[4]!r}')
    target = _native.element_code(to)
    if torch_of(x) is not None:
        raise CastError("scaled elements must be a numpy array, not a tensor of torch")
    array = as_array(x)
    source = _native.element_code(native(array.dtype))
    if STRING in (source, target):
        raise CastError("strings have no scales")
    scales = floats(scale)
    of_axes = blocks(array.shape, scales.shape, block)
    points = None if zero_point is None else integers(zero_point, scales.shape)
    if out is not None:
        check_out(out, array, target, None)
        if not out.flags.c_contiguous:
            raise CastError("out is not in C order")
    # With ``strict``, ``out`` is written only if nothing is lost.
    fresh = out is None or how[2]
    result = placed(np.empty(array.shape, _native.dtype(target))) if fresh else out
    codes = np.require(native_codes(array), requirements=["C", "A"])
    counts = _native.cast_scaled(codes, source, result, target, of_axes, scales.ravel(), points, how)
    if out is not None and fresh:
        out[...] = result
        result = out
    return (result, Losses(*counts)) if counts is not None else result


def native_codes(array: Array) -> Array:
    """The array in the byte order of this machine."""
    return np.asarray(array, native(array.dtype))


def floats(scale: Any) -> Array:
    """Scales as float32, in C order."""
    given = as_array(scale, "scale")
    code = _native.element_code(native(given.dtype))
    if code == FLOAT:
        return np.require(given, np.float32, ["C", "A"])
    if given.dtype.kind in "biu" or code == STRING or is_integer(code):
        raise CastError(f"scale has the dtype {given.dtype}: it must be a float dtype")
    found, _ = cast_numbers(given, code, None, FLOAT, PLAIN)
    found = np.ascontiguousarray(found).reshape(given.shape)
    if given.dtype.itemsize > 4:
        with np.errstate(over="ignore"):
            exact = (found.astype(given.dtype) == given) | np.isnan(given)
        if not exact.all():
            raise CastError(f"scale has the dtype {given.dtype}, and float32 does not hold {given[~exact].flat[0]!r}: round it to float32 first")
    return found


def is_integer(code: int) -> bool:
    return "int" in _native.element_name(code)


def integers(zero_point: Any, shape: tuple[int, ...]) -> Array:
    """Zero points as int32, one for each scale, in C order."""
    given = as_array(zero_point, "zero_point")
    if not is_integer(_native.element_code(native(given.dtype))):
        raise CastError(f"zero_point has the dtype {given.dtype}: it must be an integer dtype")
    if given.shape != shape:
        raise CastError(f"zero_point has the shape {given.shape}, scale has {shape}")
    wide = given.astype(np.int64) if given.dtype != np.uint64 else given
    limits = np.iinfo(np.int32)
    outside = (wide < limits.min) | (wide > limits.max)
    if outside.any():
        raise CastError(f"zero_point {wide[outside].flat[0]} is not in the range of any type that has zero points")
    return wide.astype(np.int32).ravel()


def blocks(shape: tuple[int, ...], scales: tuple[int, ...], block: Any) -> list[int]:
    """The elements along each axis that share a scale."""
    if block is None:
        return derived(shape, scales)
    try:
        given = [operator.index(size) for size in block] if isinstance(block, (tuple, list)) else last_axis(shape, operator.index(block))
    except TypeError:
        raise TypeError(f"block must be an int or a tuple of int, got {block!r}") from None
    if len(given) != len(shape):
        raise CastError(f"block {block!r} has {len(given)} axes, the array has the shape {shape}")
    if any(size < 1 for size in given):
        raise CastError(f"block {block!r} must have at least one element along each axis")
    wanted = tuple(-(-length // size) for length, size in zip(shape, given))
    if scales != wanted:
        raise CastError(f"scale has the shape {scales}, blocks {tuple(given)} of the shape {shape} need {wanted}")
    # Of longer blocks, only this much is used; a larger number may be none of Rust.
    return [min(size, max(length, 1)) for length, size in zip(shape, given)]


def last_axis(shape: tuple[int, ...], block: int) -> list[int]:
    return [1] * (len(shape) - 1) + [block]


def derived(shape: tuple[int, ...], scales: tuple[int, ...]) -> list[int]:
    """The blocks that the shape of the scales tells: one for the array, or blocks that divide each axis."""
    if np.prod(scales, dtype=object) == 1 and len(scales) <= len(shape):
        return list(shape)
    divide = len(scales) == len(shape) and all(
        count > 0 and length > 0 and length % count == 0 for length, count in zip(shape, scales)
    )
    if not divide:
        raise CastError(f"scale of the shape {scales} does not tell the blocks of the shape {shape}: give block")
    return [length // count for length, count in zip(shape, scales)]
