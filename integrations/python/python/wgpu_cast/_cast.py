"""Casts of arguments that the native part does not cast at once: other layouts, options, libraries, and strings."""

from typing import Any

import numpy as np

from . import _native
from ._arrays import as_array, axes, check_out, dense, torch_of
from ._errors import CastError
from ._losses import Losses
from ._memory import placed
from ._typing import Array, How

STRING = _native.element_code("string")


def cast(x: Any, to: Any, out: Any, how: How) -> Any:
    """``wgpu_cast.cast``, with its keyword arguments except ``out`` as a tuple."""
    target = _native.element_code(to)
    torch = torch_of(x)
    if torch is not None:
        from ._torch import cast as cast_tensor

        return cast_tensor(torch, x, to, target, out, how)
    array = as_array(x)
    source = _native.element_code(native(array.dtype))
    if STRING in (source, target):
        from ._strings import cast as cast_strings

        return cast_strings(array, source, to, target, out, how)
    if out is not None:
        check_out(out, array, target, None)
    result, counts = cast_numbers(array, source, out, target, how)
    return (result, Losses(*counts)) if counts is not None else result


def native(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in the byte order of this machine."""
    return dtype if dtype.isnative else dtype.newbyteorder("=")


def cast_numbers(
    array: Array, source: int, out: Array | None, target: int, how: How, dtype: np.dtype[Any] | None = None
) -> tuple[Array, tuple[int, ...] | None]:
    """Casts an array of numbers. Returns the result and the counts of losses, if they are wanted. ``dtype`` is that of
    the result, if it is not the one of numpy or ml_dtypes."""
    array = dense(array)
    if out is None:
        result = placed(np.empty_like(array, dtype=_native.dtype(target) if dtype is None else dtype, subok=False))
    else:
        result = out
        if axes(result) != axes(array):
            array = np.asarray(array, order="C" if result.flags.c_contiguous else "F")
    order_of_axes = axes(result)
    codes, results = array.transpose(order_of_axes), result.transpose(order_of_axes)
    counts = _native.cast_codes(codes, source, results, target, out is None, how)
    return result, counts


def no_losses(how: How) -> None:
    """Refuses to count losses of strings."""
    _, _, strict, losses, _, _ = how
    if strict or losses:
        raise CastError("losses are not counted in casts from or to strings")
