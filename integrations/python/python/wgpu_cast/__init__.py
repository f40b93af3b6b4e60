"""Exact casts between all element types of ONNX, for numpy, ml_dtypes and torch.

    import numpy, wgpu_cast

    x = numpy.array([0.1, 2.6, 500.0], numpy.float32)
    wgpu_cast.cast(x, "bfloat16")                            # an array of ml_dtypes' bfloat16
    wgpu_cast.cast(x, "float8e4m3fn", losses=True)           # the array, and what was lost
    wgpu_cast.pack(wgpu_cast.cast(x, "int4"))                # the bytes of ONNX's raw_data
    wgpu_cast.convert("a.safetensors", "b.safetensors", to="float16")

cast, pack, unpack: arrays. convert, info: files. element_type, ELEMENT_TYPES: names and dtypes of types. devices,
set_threads: where casts run. wgpu_cast.onnx_backend runs models of casts, wgpu_cast.onnx_reference gives ONNX's reference
evaluator exact casts. The command wgpu-cast does the same for files.

All errors are CastError, a ValueError, or TypeError. The types of fewer than 16 bits and bfloat16 need ml_dtypes.
"""

import os as _os

from ._devices import Device, devices
from ._errors import CastError, ConvertError, DeviceError, LossError, MissingLibraryError
from ._files import Converted, ConvertedTensor, StoredTensor, convert, info
from ._losses import Losses
from ._native import __version__, after_fork as _after_fork, cast, set_threads
from ._pack import pack, unpack
from ._types import ELEMENT_TYPES, ElementType, element_type

__all__ = [
    "ELEMENT_TYPES",
    "CastError",
    "ConvertError",
    "Converted",
    "ConvertedTensor",
    "Device",
    "DeviceError",
    "ElementType",
    "LossError",
    "Losses",
    "MissingLibraryError",
    "StoredTensor",
    "__version__",
    "cast",
    "convert",
    "devices",
    "element_type",
    "info",
    "pack",
    "set_threads",
    "unpack",
]

# A child process has none of the threads of its parent.
if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(after_in_child=_after_fork)
