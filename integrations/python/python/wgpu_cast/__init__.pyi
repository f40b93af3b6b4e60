import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, overload

import numpy as np
import numpy.typing as npt

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

__version__: str

# What names an element type: a name in any spelling, an ONNX number, an element type, and what numpy, ml_dtypes, jax and
# torch use.
_TypeLike: TypeAlias = str | int | ElementType | npt.DTypeLike | Any
_Path: TypeAlias = str | os.PathLike[str]
_RoundMode: TypeAlias = Literal["up", "down", "nearest"]

@dataclass(frozen=True)
class ElementType:
    name: str
    onnx: int
    bits: int | None
    aliases: tuple[str, ...]
    @property
    def dtype(self) -> np.dtype[Any]: ...

ELEMENT_TYPES: tuple[ElementType, ...]

@dataclass(frozen=True)
class Losses:
    infinite: int = 0
    nan: int = 0
    saturated: int = 0
    out_of_range: int = 0
    zero: int = 0
    subnormal: int = 0
    nan_to_number: int = 0
    @property
    def total(self) -> int: ...
    @property
    def overflowed(self) -> int: ...

@dataclass(frozen=True)
class Device:
    name: str
    backend: str
    kind: str
    driver: str
    chosen: bool
    reason: str

@dataclass(frozen=True)
class StoredTensor:
    file: str
    name: str
    shape: tuple[int, ...]
    type: str
    bytes: int

@dataclass(frozen=True)
class ConvertedTensor:
    file: str
    name: str
    shape: tuple[int, ...]
    source_type: str
    type: str
    source_bytes: int
    bytes: int
    losses: Losses | None

@dataclass(frozen=True)
class Converted:
    tensors: tuple[ConvertedTensor, ...]
    losses: Losses
    seconds: float
    route: str
    warnings: tuple[str, ...]

class CastError(ValueError): ...
class DeviceError(CastError): ...
class MissingLibraryError(CastError, ImportError): ...

class LossError(CastError):
    losses: Losses
    def __init__(self, message: str, losses: Losses) -> None: ...

class ConvertError(CastError):
    status: int
    def __init__(self, message: str, status: int) -> None: ...

@overload
def cast(
    x: Any,
    to: _TypeLike,
    *,
    saturate: bool = True,
    round_mode: _RoundMode = "up",
    out: Any = None,
    strict: bool = False,
    losses: Literal[False] = False,
    device: Literal["cpu", "gpu"] = "cpu",
    opset: int | None = None,
) -> Any: ...
@overload
def cast(
    x: Any,
    to: _TypeLike,
    *,
    saturate: bool = True,
    round_mode: _RoundMode = "up",
    out: Any = None,
    strict: bool = False,
    losses: Literal[True],
    device: Literal["cpu", "gpu"] = "cpu",
    opset: int | None = None,
) -> tuple[Any, Losses]: ...
def pack(x: Any) -> npt.NDArray[np.uint8]: ...
def unpack(data: Any, dtype: _TypeLike, shape: int | Sequence[int]) -> npt.NDArray[Any]: ...
def element_type(x: _TypeLike) -> ElementType: ...
def set_threads(n: int | None) -> None: ...
def devices() -> list[Device]: ...
def convert(
    source: _Path | Sequence[_Path],
    target: _Path,
    *,
    to: _TypeLike | None = None,
    only: Sequence[str] = (),
    exclude: Sequence[str] = (),
    saturate: bool = True,
    round_mode: _RoundMode = "up",
    strict: bool = False,
    device: Literal["cpu", "gpu", "auto"] = "cpu",
    options: Sequence[str] = (),
    progress: Callable[[int, int, str], object] | None = None,
) -> Converted: ...
def info(path: _Path, *, options: Sequence[str] = ()) -> list[StoredTensor]: ...
