"""Small ONNX models."""

from collections.abc import Sequence
from typing import Any

import onnx
from onnx import helper

from element_types import TYPES, Array

STRING = onnx.TensorProto.STRING


def model(
    nodes: Sequence[onnx.NodeProto], inputs: dict[str, int], outputs: dict[str, int], opset: int, **more: Any
) -> onnx.ModelProto:
    """A model of nodes; inputs and outputs with their element types, of one axis."""

    def infos(side: dict[str, int]) -> list[onnx.ValueInfoProto]:
        return [helper.make_tensor_value_info(name, number, ["n"]) for name, number in side.items()]

    graph = helper.make_graph(nodes, "casts", infos(inputs), infos(outputs), **more)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def cast_model(source: int, to: int, opset: int, **attributes: Any) -> onnx.ModelProto:
    """One Cast, from x to y."""
    return model([helper.make_node("Cast", ["x"], ["y"], to=to, **attributes)], {"x": source}, {"y": to}, opset)


def like_model(source: int, to: int, opset: int, **attributes: Any) -> onnx.ModelProto:
    """One CastLike, from x to y."""
    node = helper.make_node("CastLike", ["x", "like"], ["y"], **attributes)
    return model([node], {"x": source, "like": to}, {"y": to}, opset)


def codes(array: Array) -> tuple[str, list[int]]:
    """An array's dtype and its elements' codes, to compare."""
    of = next(row for row in TYPES.values() if row.dtype == array.dtype)
    return str(array.dtype), of.codes(array).ravel().tolist()
