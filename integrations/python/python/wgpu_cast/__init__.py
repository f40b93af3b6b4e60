"""Exact casts between all element types of ONNX, for numpy, ml_dtypes and torch.

    import numpy, wgpu_cast

    x = numpy.array([0.1, 2.6, 500.0], numpy.float32)
    wgpu_cast.cast(x, "bfloat16")                            # an array of ml_dtypes' bfloat16
    wgpu_cast.cast(x, "float8e4m3fn", losses=True)           # the array, and what was lost
    wgpu_cast.cast(x, "bfloat16", scale=numpy.float32(0.5))  # of x times a scale, or a scale for each block
    wgpu_cast.pack(wgpu_cast.cast(x, "int4"))                # the bytes of ONNX's raw_data
    wgpu_cast.convert("a.safetensors", "b.safetensors", to="float16")

cast            an array or tensor, to another element type
pack, unpack    codes of fewer than 8 bits: one in each byte in arrays, packed in files
convert, info   files and models: .safetensors, .npy, .npz, .onnx, .pb, .bin
element_type    the element type that a name, a number or a dtype means; ELEMENT_TYPES has all of them
set_threads     how many threads large casts use
devices         the GPU adapters for device="gpu"

wgpu_cast.onnx_backend runs ONNX models of casts, and wgpu_cast.onnx_reference gives ONNX's reference evaluator exact
casts. The command wgpu-cast does for files what convert and info do, and more.

Results have the dtypes of numpy, or of ml_dtypes for bfloat16, float8, float6, float4, int4, uint4, int2 and uint2. The
values are those of ONNX's newest opset: rounded once from the exact value, to nearest, ties to even; float8 saturates;
floats are truncated to integers. opset= asks for the rules of an older one.

Errors are CastError, a ValueError whose subclasses say more, or TypeError for arguments of another kind. Besides, memory may be
short (MemoryError), and objects that numpy asks for their array may raise what they like.
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
