"""Memory of new arrays."""

import math
from typing import Any, Literal

import numpy as np

from . import _native
from ._arrays import axes
from ._typing import Array

HUGE_PAGE = 2 << 20


def empty(shape: tuple[int, ...], dtype: np.dtype[Any], order: Literal["C", "F"] = "C") -> Array:
    """``numpy.empty``. A large array begins where a huge page does: numpy's own would begin and end with hundreds of small pages,
    which the system provides one by one. So it is a part of a larger array."""
    size = math.prod(shape) * dtype.itemsize
    if size < _native.MAPPED_BYTES:
        return np.empty(shape, dtype, order)
    memory = np.empty(size + HUGE_PAGE, np.uint8)
    return np.ndarray(shape, dtype, memory, -memory.ctypes.data % HUGE_PAGE, order=order)


def empty_like(array: Array, dtype: np.dtype[Any]) -> Array:
    """An array with the shape of a dense array and its order of axes, as ``numpy.empty_like`` has it."""
    if array.size * dtype.itemsize < _native.MAPPED_BYTES:
        return np.empty_like(array, dtype, subok=False)
    order = axes(array)
    result = empty(tuple(array.shape[axis] for axis in order), dtype)
    return result.transpose([order.index(axis) for axis in range(array.ndim)])
