"""Exact casts inside ONNX's reference evaluator."""

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from element_types import TYPES, Array
from models import STRING, cast_model, codes, like_model, model
from wgpu_cast import CastError
from wgpu_cast.onnx_reference import ExactEvaluator, new_ops

FLOAT, DOUBLE, BFLOAT16, INT4, FLOAT8E8M0 = (TYPES[name].number for name in ("float", "double", "bfloat16", "int4", "float8e8m0"))
# Nearest to bfloat16 3f81; rounded to float32 first, it is a tie and becomes 3f80.
ROUNDED_TWICE = np.array([1 + 2.0**-8 + 2.0**-40])


def run(made: onnx.ModelProto, **feeds: Array) -> Array:
    [y] = ReferenceEvaluator(made, new_ops=new_ops).run(None, feeds)
    assert isinstance(y, np.ndarray)
    return y


def test_between_other_operators() -> None:
    """A model of quantized weights: only the casts are ours, and they are exact."""
    nodes = [
        helper.make_node("Mul", ["x", "two"], ["doubled"]),
        helper.make_node("Cast", ["doubled"], ["small"], to=BFLOAT16),
        helper.make_node("Reshape", ["small", "shape"], ["column"]),
        helper.make_node("CastLike", ["column", "x"], ["wide"]),
        helper.make_node("Sub", ["wide", "two"], ["y"]),
    ]
    constants = [helper.make_tensor("two", DOUBLE, [], [2.0]), helper.make_tensor("shape", onnx.TensorProto.INT64, [2], [-1, 1])]
    made = model(nodes, {"x": DOUBLE}, {"y": DOUBLE}, 25, initializer=constants)
    assert run(made, x=ROUNDED_TWICE).tolist() == [[2 * (1 + 2.0**-7) - 2]]
    theirs: Any = ReferenceEvaluator(made).run(None, {"x": ROUNDED_TWICE})
    assert theirs[0].tolist() == [[0.0]]


def test_subgraphs_and_functions() -> None:
    """Branches, and functions whose attributes their callers give, at the opset of the function."""
    branches = {}
    for name in ("then_branch", "else_branch"):
        nodes = [helper.make_node("Cast", ["x"], [name], to=BFLOAT16 if name == "then_branch" else TYPES["float16"].number)]
        branches[name] = helper.make_graph([*nodes, helper.make_node("Cast", [name], ["r"], to=FLOAT)], name, [], [helper.make_tensor_value_info("r", FLOAT, ["n"])])
    made = model([helper.make_node("If", ["c"], ["y"], **branches)], {"c": onnx.TensorProto.BOOL, "x": DOUBLE}, {"y": FLOAT}, 25)
    for chosen, rounded in (True, 1 + 2.0**-7), (False, 1 + 2.0**-8):
        assert run(made, c=np.array(chosen), x=ROUNDED_TWICE).tolist() == [rounded]

    node = helper.make_node("Cast", ["x"], ["y"], to=INT4)
    opsets = [helper.make_opsetid("", 21)]
    clamp = helper.make_function("f", "Clamp", ["x"], ["y"], [node], opsets)
    with_attribute = helper.make_node("Cast", ["x"], ["y"], to=TYPES["float8e4m3fn"].number)
    with_attribute.attribute.append(helper.make_attribute_ref("saturate", onnx.AttributeProto.INT, ref_attr_name="keep"))
    small = helper.make_function("f", "Small", ["x"], ["y"], [with_attribute], opsets, attributes=["keep"])
    calls: list[tuple[onnx.FunctionProto, dict[str, Any], int, list[int]]] = [
        (clamp, {}, INT4, [7, 8]),
        (small, {"keep": 0}, TYPES["float8e4m3fn"].number, [0x7F, 0xFF]),
        (small, {"keep": 1}, TYPES["float8e4m3fn"].number, [0x7E, 0xFE]),
    ]
    for function, attributes, to, wanted in calls:
        call = helper.make_node(function.name, ["x"], ["y"], domain="f", **attributes)
        made = model([call], {"x": FLOAT}, {"y": to}, 25)
        made.functions.append(function)
        made.opset_import.append(helper.make_opsetid("f", 1))
        [y] = ExactEvaluator(made).run(None, {"x": np.array([1e6, -1e6], np.float32)})
        assert isinstance(y, np.ndarray) and codes(y)[1] == wanted


def test_options_by_opset() -> None:
    x = np.array([9, -9, np.nan], np.float32)
    assert run(cast_model(FLOAT, INT4, 23), x=x).tolist() == [7, -8, 0]
    assert run(cast_model(FLOAT, INT4, 24), x=x).tolist() == [-7, 7, 0]
    like = np.zeros(0, ml_dtypes.float8_e8m0fnu)
    # onnx's own CastLike refuses the attribute.
    assert codes(run(like_model(FLOAT, FLOAT8E8M0, 25, round_mode="down"), x=np.array([3, 5.0], np.float32), like=like))[1] == [0x80, 0x81]
    assert run(cast_model(FLOAT, STRING, 25), x=x).tolist() == ["9.0", "-9.0", "NaN"]
    first = helper.make_node("Cast", ["x"], ["y"], to="INT32")
    assert codes(run(model([first], {"x": FLOAT}, {"y": onnx.TensorProto.INT32}, 1), x=x)) == ("int32", [9, 2**32 - 9, 2**31])


REFUSED: list[tuple[onnx.ModelProto, dict[str, Array], str]] = [
    (cast_model(FLOAT, INT4, 20), {}, "Cast at opset 20 does not support int4 (added in opset 21)"),
    (cast_model(FLOAT, DOUBLE, 18, saturate=1), {}, 'Cast at opset 18 has no attribute "saturate" (added in opset 19)'),
    (cast_model(FLOAT, DOUBLE, 23, round_mode="up"), {}, 'Cast at opset 23 has no attribute "round_mode" (added in opset 24)'),
    (cast_model(FLOAT, DOUBLE, 25, saturate=1.5), {}, 'Cast at opset 25: the attribute "saturate" must be INT, got FLOAT'),
    (
        like_model(FLOAT, TYPES["float6e2m3"].number, 28),
        {"like": np.zeros(0, ml_dtypes.float6_e2m3fn)},
        "CastLike at opset 28 does not support float6e2m3 (no opset does)",
    ),
]


@pytest.mark.parametrize(("made", "more", "text"), [pytest.param(*case, id=case[2]) for case in REFUSED])
def test_what_an_opset_does_not_have(made: onnx.ModelProto, more: dict[str, Any], text: str) -> None:
    with pytest.raises(CastError) as error:
        run(made, x=np.ones(1, np.float32), **more)
    assert str(error.value) == text
