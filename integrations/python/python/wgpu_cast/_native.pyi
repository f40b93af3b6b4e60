# The native part. Its functions take arrays that the Python code has checked; users call those of the package.
import os
from collections.abc import Callable, Sequence
from typing import Any, Literal, SupportsIndex, overload

import numpy as np

from ._losses import Losses
from ._typing import Array, How

__all__ = [
    "MAPPED_BYTES",
    "__version__",
    "after_fork",
    "cast",
    "cast_codes",
    "cast_scaled",
    "check_options",
    "devices",
    "dtype",
    "element_bits",
    "element_code",
    "element_name",
    "element_types",
    "pack_codes",
    "parse",
    "print",
    "program",
    "read_node",
    "run",
    "set_threads",
    "string_dtype",
    "unpack_codes",
]

__version__: str
MAPPED_BYTES: int

# The result is an array, or a tensor of torch for a tensor.
@overload
def cast(
    x: Any,
    to: Any,
    *,
    saturate: bool = True,
    round_mode: Literal["up", "down", "nearest"] = "up",
    out: Any = None,
    strict: bool = False,
    losses: Literal[False] = False,
    device: Literal["cpu", "gpu"] = "cpu",
    opset: int | None = None,
    scale: Any = None,
    block: SupportsIndex | Sequence[SupportsIndex] | None = None,
    zero_point: Any = None,
) -> Any: ...
@overload
def cast(
    x: Any,
    to: Any,
    *,
    saturate: bool = True,
    round_mode: Literal["up", "down", "nearest"] = "up",
    out: Any = None,
    strict: bool = False,
    losses: Literal[True],
    device: Literal["cpu", "gpu"] = "cpu",
    opset: int | None = None,
    scale: Any = None,
    block: SupportsIndex | Sequence[SupportsIndex] | None = None,
    zero_point: Any = None,
) -> tuple[Any, Losses]: ...
@overload
def cast(
    x: Any,
    to: Any,
    *,
    saturate: bool = True,
    round_mode: Literal["up", "down", "nearest"] = "up",
    out: Any = None,
    strict: bool = False,
    losses: bool,
    device: Literal["cpu", "gpu"] = "cpu",
    opset: int | None = None,
    scale: Any = None,
    block: SupportsIndex | Sequence[SupportsIndex] | None = None,
    zero_point: Any = None,
) -> Any: ...
def cast_codes(
    source: Array,
    from_: int,
    destination: Array,
    to: int,
    is_new: bool,
    how: How,
) -> tuple[int, ...] | None: ...
def cast_scaled(
    source: Array,
    from_: int,
    destination: Array,
    to: int,
    block: list[int],
    scales: Array,
    zero_points: Array | None,
    how: How,
) -> tuple[int, ...] | None: ...
def check_options(from_: int, to: int, how: How) -> None: ...
def parse(
    strings: list[str],
    destination: Array,
    to: int,
    how: How,
) -> None: ...
def print(
    source: Array, from_: int, how: How
) -> list[str]: ...
def pack_codes(codes: Array, code: int, packed: Array) -> None: ...
def unpack_codes(packed: Array, code: int, codes: Array, name: str) -> None: ...
def element_code(to: Any) -> int: ...
def element_bits(code: int) -> int: ...
def element_name(code: int) -> str: ...
def dtype(code: int) -> np.dtype[Any]: ...
def string_dtype(to: Any) -> np.dtype[Any] | None: ...
def element_types() -> list[tuple[str, int, int | None, list[str]]]: ...
def read_node(
    opset: int, attributes: list[tuple[str, str, object]], source: int, like: int | None
) -> tuple[int, bool, Literal["up", "down", "nearest"]]: ...
def devices() -> list[tuple[str, str, str, str, bool, str]]: ...
def set_threads(n: int | None) -> None: ...
def after_fork() -> None: ...
def program(arguments: Sequence[str | os.PathLike[str]]) -> int: ...
def run(
    arguments: Sequence[str | os.PathLike[str]], progress: Callable[[int, int, str], object] | None
) -> tuple[str, list[str]]: ...
