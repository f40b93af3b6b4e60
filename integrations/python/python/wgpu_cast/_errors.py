"""The exceptions of wgpu_cast."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._losses import Losses

__all__ = ["CastError", "ConvertError", "DeviceError", "LossError", "MissingLibraryError"]


class CastError(ValueError):
    """An argument that cannot be cast. The message names the argument, and what was expected."""

    __module__ = "wgpu_cast"


class DeviceError(CastError):
    """There is no GPU adapter, or it failed."""

    __module__ = "wgpu_cast"


class MissingLibraryError(CastError, ImportError):
    """The result needs a library that is not installed, or a newer one. The message has the command that installs it."""

    __module__ = "wgpu_cast"


class LossError(CastError):
    """``strict=True``, and a value would be lost. Nothing was written.

    ``losses`` counts what would be lost.
    """

    __module__ = "wgpu_cast"

    def __init__(self, message: str, losses: "Losses") -> None:
        super().__init__(message, losses)
        self.losses = losses

    def __str__(self) -> str:
        return str(self.args[0])


class ConvertError(CastError):
    """A file cannot be read, converted or written.

    ``status`` is the exit status of the program: 2 for options that do not fit, 1 for all else.
    """

    __module__ = "wgpu_cast"

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message, status)
        self.status = status

    def __str__(self) -> str:
        return str(self.args[0])

