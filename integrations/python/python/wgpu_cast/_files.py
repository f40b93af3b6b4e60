"""Files of tensors and models."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from . import _native
from ._errors import ConvertError
from ._losses import Losses
from ._types import element_type
from ._typing import Path

__all__ = ["Converted", "ConvertedTensor", "StoredTensor", "convert", "info"]

Item = TypeVar("Item")


@dataclass(frozen=True)
class StoredTensor:
    """A tensor in a file."""

    file: str
    name: str
    """Empty if the file has no name for it."""
    shape: tuple[int, ...]
    type: str
    """The name of ONNX, ``complex``, or the name that the file has for a type that is none of ONNX."""
    bytes: int


@dataclass(frozen=True)
class ConvertedTensor:
    """A tensor of a conversion."""

    file: str
    name: str
    shape: tuple[int, ...]
    source_type: str | None
    """The type in the source; None for a scale that ``--quantize`` adds."""
    type: str | None
    """The type in the output: ``source_type`` if the tensor stays as it is. None for a scale that ``--dequantize`` leaves out."""
    source_bytes: int
    bytes: int
    losses: Losses | None
    """What was lost; None if the tensor stays as it is, and with ``--dry-run``."""


@dataclass(frozen=True)
class Converted:
    """What a conversion did, or with ``options=["--dry-run"]`` would do. Then nothing was cast: ``losses``, ``seconds`` and ``route``
    are None."""

    tensors: tuple[ConvertedTensor, ...]
    losses: Losses | None
    """What all tensors lost."""
    seconds: float | None
    route: str | None
    """Where the tensors were cast."""
    warnings: tuple[str, ...]
    """What the command warned of, such as values beyond the range of their type."""


def convert(
    source: Path | Sequence[Path],
    target: Path,
    *,
    to: Any = None,
    only: Sequence[str] = (),
    exclude: Sequence[str] = (),
    saturate: bool = True,
    round_mode: Literal["up", "down", "nearest"] = "up",
    strict: bool = False,
    device: Literal["cpu", "gpu", "auto"] = "cpu",
    options: Sequence[str] = (),
    progress: Callable[[int, int, str], object] | None = None,
) -> Converted:
    """Converts the tensors of a file, a folder or a model to another element type, as the command ``wgpu-cast convert``.

    ``source`` is a file (.safetensors, .npy, .npz, .onnx, .pb, .bin), the index of a sharded model, or a folder, or
    several of them; ``target`` is the output, a folder for several. A new folder may have the name of a file, such as
    ``a.npy``, only if a ``/`` follows. ``to`` is an element type in any spelling. In files of several tensors, only floats
    are cast: those that match one of the patterns ``only`` and none of ``exclude``, where ``*`` matches any text.
    ``options`` are further ones of the command, such as ``["--map", "*.bias=keep"]``; then ``to`` may be left out. With
    ``["--dry-run"]`` nothing is written, and the result tells what would be done.

    Tensor data streams through 1 GiB of memory. The output appears when it is complete. ``progress`` is called with the
    bytes that are done, the bytes of all outputs (with ``--quantize`` also those of the weights, which are read first), and
    the name of a tensor or file. Its exceptions, and Ctrl-C, stop the conversion; the output that is being made is removed.

    Raises ConvertError with the message of the command if a file is invalid or cannot be written, if options do not fit,
    or, with ``strict``, if a value is beyond the range of its type, or a scale becomes 0. Nothing is written then.
    """
    sources = sources_of(source)
    arguments = ["convert", "--json"]
    arguments += [] if saturate else ["--saturate=false"]
    if to is not None:
        arguments.append(f"--to={element_type(to).name}")
    if round_mode != "up":
        arguments.append(f"--round-mode={round_mode}")
    arguments += [f"--only={pattern}" for pattern in texts(only, "only")]
    arguments += [f"--except={pattern}" for pattern in texts(exclude, "exclude")]
    arguments += ["--strict"] if strict else []
    arguments += [f"--device={device}", *further(options)]
    output = path_of(target, "target")
    # Several outputs go to a folder.
    arguments += ["--"] if len(sources) == 1 else [f"--out-dir={output}", "--"]
    arguments += [path_of(path, "source") for path in sources]
    arguments += [output] if len(sources) == 1 else []
    printed, warnings = _native.run(arguments, progress)
    *tensors, summary = rows(printed)
    return Converted(
        tensors=tuple(map(converted_tensor, tensors)),
        # The summary of a dry run has files instead.
        losses=Losses(**summary["lost"]) if "lost" in summary else None,
        seconds=summary.get("seconds"),
        route=summary.get("route"),
        warnings=tuple(warnings),
    )


def sources_of(source: Path | Sequence[Path]) -> Sequence[Path]:
    if isinstance(source, (str, os.PathLike)):
        return [source]
    return listed(source, f"source must be a path or a list of paths, got {type(source).__name__}")


def listed(given: Sequence[Item], refusal: str) -> list[Item]:
    """The items. The text of the TypeError is for an object that has none."""
    try:
        items = iter(given)
    except TypeError:
        raise TypeError(refusal) from None
    return list(items)


def path_of(path: Path, name: str) -> str:
    """The text of a path. The command does not tell which argument is empty."""
    try:
        text = os.fspath(path)
    except TypeError:
        raise TypeError(f"{name} must be a path, got {type(path).__name__}") from None
    if not text:
        raise ConvertError(f"{name} is an empty path", 2)
    return text


def texts(given: Sequence[str], name: str) -> Sequence[str]:
    """Refuses a text, which is a sequence of its characters: as patterns, ``*.bias`` would match everything."""
    if isinstance(given, str):
        raise TypeError(f"{name} must be a list of str, got the str {given!r}")
    return listed(given, f"{name} must be a list of str, got {type(given).__name__}")


def further(options: Sequence[str]) -> Sequence[str]:
    """The options of the command, without those for which it prints a text instead of working."""
    given = texts(options, "options")
    for option in given:
        if option in ("-h", "--help", "-V", "--version"):
            raise ConvertError(f"options has {option}, which prints a text: run wgpu-cast {option}", 2)
    return given


def rows(printed: str) -> list[dict[str, Any]]:
    """The objects that the command prints, one a line."""
    # It takes time to import, and most programs convert no files.
    import json

    return [json.loads(line) for line in printed.splitlines()]


def converted_tensor(row: dict[str, Any]) -> ConvertedTensor:
    return ConvertedTensor(
        file=row["file"],
        name=row["tensor"],
        shape=tuple(row["shape"]),
        source_type=row["from"],
        type=row["to"],
        source_bytes=row["bytes"][0],
        bytes=row["bytes"][1],
        losses=Losses(**row["lost"]) if "lost" in row else None,
    )


def info(path: Path, *, options: Sequence[str] = ()) -> list[StoredTensor]:
    """The tensors of a file, of the shards of an index, or of all files below a folder, as the command ``wgpu-cast info``.

    Only headers are read. ``options`` are further ones of the command, such as ``["--in-format", "npy"]``.

    Raises ConvertError with the message of the command if a file is invalid.
    """
    printed, _ = _native.run(["info", "--json", *further(options), "--", path_of(path, "path")], None)
    return [
        StoredTensor(row["file"], row["tensor"], tuple(row["shape"]), row["from"], row["bytes"][0])
        for row in rows(printed)
    ]
