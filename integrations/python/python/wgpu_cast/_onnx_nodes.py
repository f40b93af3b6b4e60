"""What the modules for ONNX share: the meaning of a node of Cast or CastLike at an opset."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import onnx

import wgpu_cast
from wgpu_cast import _native

OPERATORS = ("Cast", "CastLike")


@dataclass(frozen=True)
class CastNode:
    """A cast with the options of its node. The crate's rules have been asked."""

    opset: int
    to: wgpu_cast.ElementType
    saturate: bool
    round_mode: Literal["up", "down", "nearest"]

    @classmethod
    def read(
        cls,
        node: onnx.NodeProto,
        opset: int,
        values: Mapping[str, object],
        source: wgpu_cast.ElementType,
        like: wgpu_cast.ElementType | None,
    ) -> "CastNode":
        """Reads a node of Cast, or with `like` of CastLike. `values` are those of its attributes, text as `str`.

        Raises CastError for what its opset does not have: attributes, their values, and element types.
        """
        kind = onnx.AttributeProto.AttributeType.Name
        attributes = [(attribute.name, kind(attribute.type), values[attribute.name]) for attribute in node.attribute]
        to, saturate, round_mode = _native.read_node(opset, attributes, source.onnx, like.onnx if like else None)
        return cls(opset, wgpu_cast.element_type(to), saturate, round_mode)

    def __call__(self, x: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The cast. Strings are objects, as in all arrays of onnx."""
        to = np.dtype(object) if self.to.name == "string" else self.to
        result: npt.NDArray[Any] = wgpu_cast.cast(x, to, saturate=self.saturate, round_mode=self.round_mode, opset=self.opset)
        return result


def values_of(node: onnx.NodeProto) -> dict[str, object]:
    """The values of a node's attributes; bytes are text."""
    found = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}
    return {name: value.decode() if isinstance(value, bytes) else value for name, value in found.items()}
