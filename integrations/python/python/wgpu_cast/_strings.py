"""Casts from and to strings, which numpy holds in arrays of ``U``, ``S``, ``StringDType`` or ``object``."""

from typing import Any

import numpy as np

from . import _native
from ._arrays import axes, check_out, dense
from ._cast import STRING, no_losses
from ._errors import CastError
from ._typing import Array, How


def cast(array: Array, source: int, to: Any, target: int, out: Any, how: How) -> Any:
    """Casts from strings, to strings, or both. The elements are cast in row-major order, so that errors name the index
    of that order."""
    no_losses(how)
    _native.check_options(source, target, how)
    if target == STRING:
        texts = texts_of(array) if source == STRING else numbers_as_texts(array, source, how)
        dtype = dtype_of_texts(to, texts, out)
        flat = np.array(encoded(texts, dtype), dtype=dtype).reshape(array.shape)
        return put(flat, array, out, target)
    result = np.empty(array.shape, dtype=_native.dtype(target))
    _native.parse(texts_of(array), result, target, how)
    return put(result, array, out, target)


def put(flat: Array, array: Array, out: Any, target: int) -> Array:
    """The result, in ``out`` or in the order of the source's axes."""
    if out is not None:
        check_out(out, array, target, flat.dtype if target == STRING else None)
        result: Array = out
    elif array.flags.c_contiguous:
        return flat
    else:
        result = np.empty_like(array, dtype=flat.dtype, subok=False)
    result[...] = flat
    return result


def texts_of(array: Array) -> list[str]:
    """The elements of an array of strings."""
    elements = array.ravel().tolist()
    for index, element in enumerate(elements):
        if isinstance(element, bytes):
            elements[index] = decoded(element, index)
        elif not isinstance(element, str):
            raise CastError(no_text(array, index, element))
        elif not element.isascii():
            check_text(element, index)
    return elements


def no_text(array: Array, index: int, element: object) -> str:
    if array.dtype.kind == "T":
        return f"element {index} of the {array.dtype} array is a missing value, which ONNX's strings do not have"
    return f"element {index} of the object array is no str, but {type(element).__name__}"


def check_text(element: str, index: int) -> None:
    """Refuses what ONNX's strings, which are UTF-8, cannot hold."""
    try:
        element.encode()
    except UnicodeEncodeError as error:
        surrogate = ord(element[error.start])
        raise CastError(f"element {index} is not valid UTF-8: it has the lone surrogate U+{surrogate:04X}") from None


def decoded(element: bytes, index: int) -> str:
    try:
        return element.decode()
    except UnicodeDecodeError:
        raise CastError(f"element {index} is not valid UTF-8") from None


def numbers_as_texts(array: Array, source: int, how: How) -> list[str]:
    flat = dense(np.ascontiguousarray(array))
    return _native.print(flat.transpose(axes(flat)), source, how)


def dtype_of_texts(to: Any, texts: list[str], out: Any) -> np.dtype[Any]:
    """The dtype of the result: that of ``out``, the one that ``to`` names, or ``<U`` of the longest text."""
    wanted = out.dtype if isinstance(out, np.ndarray) and out.dtype.kind in "USTO" else _native.string_dtype(to)
    if wanted is None:
        wanted = np.dtype(np.str_)
    if wanted.kind not in "US":
        return wanted
    is_bytes = wanted.kind == "S"
    longest = max((len(text.encode()) if is_bytes else len(text) for text in texts), default=0)
    width = wanted.itemsize // (1 if is_bytes else 4)
    if width == 0:
        return np.dtype((wanted.type, max(longest, 1)))
    if longest > width:
        raise CastError(f"the dtype {wanted} holds {width} {'bytes' if is_bytes else 'characters'}, a text has {longest}")
    return wanted


def encoded(texts: list[str], dtype: np.dtype[Any]) -> list[Any]:
    return [text.encode() for text in texts] if dtype.kind == "S" else list(texts)
