"""Arrays of any layout, as contiguous ones."""

import sys
from typing import Any

import numpy as np

from . import _native
from ._errors import CastError
from ._typing import Array


def as_array(x: Any, name: str = "x") -> Array:
    """The array of an argument: by ``__array__``, by the buffer protocol, or by ``__dlpack__``. Its memory is shared. It is of no
    subclass, whose methods may do other things: all results of ``numpy.matrix`` have two axes."""
    if is_masked(x):
        raise CastError(f"{name} is a masked array, and the values behind the mask may be invalid: give {name}.filled() or {name}.data")
    if hasattr(x, "__array__") or not hasattr(x, "__dlpack__"):
        try:
            return np.asarray(x)
        except ValueError as error:
            raise CastError(f"{name} is no array: {error}") from error
    try:
        return np.from_dlpack(x)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise CastError(f"numpy cannot take the memory of this {type(x).__name__} by DLPack: {error}") from error


def is_masked(x: Any) -> bool:
    masked = sys.modules.get("numpy.ma")
    return masked is not None and isinstance(x, masked.MaskedArray)


def torch_of(x: Any) -> Any:
    """The module torch, if ``x`` is a tensor of it."""
    torch = sys.modules.get("torch")
    # While another thread imports torch, it has no such class.
    tensor = getattr(torch, "Tensor", None)
    return torch if tensor is not None and isinstance(x, tensor) else None


def axes(array: Array) -> tuple[int, ...]:
    """The axes in the order of memory: the one with the longest steps first."""
    steps = [abs(step) for step in array.strides]
    return tuple(sorted(range(array.ndim), key=lambda axis: (-steps[axis], axis)))


def is_dense(array: Array) -> bool:
    """Whether the elements lie one after another, in any order of the axes."""
    return bool(array.transpose(axes(array)).flags.c_contiguous)


def dense(array: Array) -> Array:
    """The array itself, if it is aligned, dense and in the byte order of the machine, or else a copy in this form that
    keeps the order of the axes."""
    if not array.dtype.isnative:
        return array.astype(array.dtype.newbyteorder("="), order="K", subok=False)
    if array.flags.aligned and is_dense(array):
        return array
    return np.array(array, order="K", copy=True, subok=False)


def check_out(out: Any, array: Array, target: int, dtype: np.dtype[Any] | None) -> None:
    """Checks the array of a result. ``dtype`` is that of strings."""
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out must be a numpy array, got {type(out).__name__}")
    if is_masked(out):
        raise CastError("out is a masked array: give out.data")
    wanted = _native.dtype(target) if dtype is None else dtype
    if out.dtype != wanted:
        raise CastError(f"out has the dtype {out.dtype}, the result has {wanted}")
    check_layout(out, array)
    check_overlap(out, array)


def check_layout(out: Array, array: Array) -> None:
    """Checks that a result can be written into ``out`` as it lies in memory."""
    if out.shape != array.shape:
        raise CastError(f"out has the shape {out.shape}, the result has {array.shape}")
    if not out.flags.writeable:
        raise CastError("out is read-only")
    if not (out.flags.c_contiguous or out.flags.f_contiguous):
        raise CastError("out is not contiguous")
    if not out.flags.aligned:
        raise CastError("out is not aligned")


def check_overlap(out: Array, array: Array) -> None:
    """Checks that writing ``out`` does not change the source."""
    if np.shares_memory(out, array):
        raise CastError("out and the source share memory")
