"""GPU adapters."""

from dataclasses import dataclass

from . import _native

__all__ = ["Device", "devices"]


@dataclass(frozen=True)
class Device:
    """A GPU adapter that wgpu finds."""

    name: str
    backend: str
    """The interface of the driver, such as ``vulkan``."""
    kind: str
    """``DiscreteGpu``, ``IntegratedGpu``, ``VirtualGpu``, ``Cpu`` (a software adapter) or ``Other``."""
    driver: str
    chosen: bool
    """Whether a program that lets wgpu-cast choose uses this adapter."""
    reason: str
    """Why it is chosen or not."""


def devices() -> list[Device]:
    """The GPU adapters of this machine, the best one first.

    ``device="gpu"`` uses the first one that works, software adapters included. The list is empty if there are none.
    """
    return [Device(*row) for row in _native.devices()]
