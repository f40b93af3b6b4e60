"""The ONNX backend on bits: ONNX's node test data, and what ONNX's runner has no cases of."""

import importlib
import warnings
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import wgpu_cast.onnx_backend as backend
from element_types import TYPES, Array
from models import STRING, cast_model, codes, like_model, model
from wgpu_cast import CastError

FLOAT, INT4, FLOAT4E2M1, FLOAT8E8M0 = (TYPES[name].number for name in ("float", "int4", "float4e2m1", "float8e8m0"))
FLOAT6 = [TYPES["float6e2m3"], TYPES["float6e3m2"]]


def test_node_data_on_bits() -> None:
    node = importlib.import_module("onnx.backend.test.case.node")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        # Importing a module makes its cases.
        for name in ("cast", "castlike"):
            importlib.import_module(f"onnx.backend.test.case.node.{name}")
    cases = [case for case in node._NodeTestCases if case.name.startswith("test_cast")]
    different = []
    for case in cases:
        for inputs, wanted in case.data_sets:
            got = backend.run_model(case.model, inputs)
            if [codes(one) for one in got] != [codes(numpy_helper.to_array(one)) for one in wanted]:
                different.append(case.name)
    assert (different, len(cases)) == ([], 172)


def run(made: onnx.ModelProto, *inputs: Array) -> Array:
    [output] = backend.run_model(made, inputs)
    assert isinstance(output, np.ndarray)
    return output


@pytest.mark.parametrize("opset", [9, 13, 19, 25, 28])
def test_strings(opset: int) -> None:
    texts = np.array(["1.5", " -7 ", "1e-3", "inf"], object)
    numbers = run(cast_model(STRING, FLOAT, opset), texts)
    assert numbers.dtype == np.float32 and numbers.tolist() == [1.5, -7.0, float(np.float32(1e-3)), float("inf")]
    back = run(cast_model(FLOAT, STRING, opset), numbers)
    assert back.dtype == object and back.tolist() == ["1.5", "-7.0", "0.001", "INF"]
    # numpy's own strings are strings for ONNX too.
    assert codes(run(cast_model(STRING, FLOAT, opset), texts.astype(np.str_))) == codes(numbers)


def test_strings_like() -> None:
    numbers = np.array([16777217, -3], np.int32)
    written = run(like_model(TYPES["int32"].number, STRING, 25), numbers, np.array([], object))
    assert written.dtype == object and written.tolist() == ["16777217", "-3"]
    read = run(like_model(STRING, TYPES["int8"].number, 25), written, np.zeros((2, 3), np.int8))
    assert codes(read) == ("int8", [1, 253])
    with pytest.raises(CastError) as error:
        run(like_model(STRING, FLOAT, 25), np.array(["1", "one"], object), np.zeros(1, np.float32))
    assert str(error.value) == 'casting string to float: element 1 is not a number: "one"'


@pytest.mark.parametrize("to", FLOAT6, ids=lambda to: to.name)
def test_float6(to: Any) -> None:
    """Every code there and back, and through ONNX's packed bytes."""
    every = to.every_code()
    numbers = run(cast_model(to.number, FLOAT, 28), every)
    assert codes(numbers) == codes(every.astype(np.float32))
    assert codes(run(cast_model(FLOAT, to.number, 28), numbers)) == codes(every)
    tensor = numpy_helper.from_array(every[:7])
    assert len(tensor.raw_data) == 6
    assert codes(run(cast_model(to.number, FLOAT, 28), tensor)) == codes(numbers[:7])
    assert codes(run(cast_model(FLOAT, to.number, 28), np.array([np.nan, -np.nan, np.inf, -1e9], np.float32))) == (str(to.dtype), [0x20, 0, 0x1F, 0x3F])


def test_every_pair_by_run_node() -> None:
    """Cast and CastLike at the newest opset give what `cast` gives."""
    for source in TYPES.values():
        x = source.array(np.array([0, 1, 1, 0, 1]))
        for to in TYPES.values():
            [y] = backend.run_node(helper.make_node("Cast", ["x"], ["y"], to=to.number), [x])
            assert (y.dtype, y.shape) == (to.dtype, x.shape)
            if source in FLOAT6 or to in FLOAT6:
                continue
            [like] = backend.run_node(helper.make_node("CastLike", ["x", "like"], ["y"]), [x, np.zeros(0, to.dtype)])
            assert codes(like) == codes(y)


def test_results_that_depend_on_the_opset() -> None:
    x = np.array([9, -9, 7.9, np.inf, np.nan], np.float32)
    clamped, wrapped = [7, -8, 7, 7, 0], [-7, 7, 7, 0, 0]
    four = [[7, 15, 7, 7, 7], [7, 15, 7, 7, 8]]
    for make in (cast_model, like_model):
        for opset in range(21, 26):
            more = [np.zeros(0, ml_dtypes.int4)] if make == like_model else []
            assert run(make(FLOAT, INT4, opset), x, *more).tolist() == (clamped if opset < 24 else wrapped), opset
        for opset in range(23, 26):
            more = [np.zeros(0, ml_dtypes.float4_e2m1fn)] if make == like_model else []
            got = run(make(FLOAT, FLOAT4E2M1, opset), x, *more)
            assert TYPES["float4e2m1"].codes(got).tolist() == four[opset >= 24], opset


def test_attributes() -> None:
    x = np.array([1e6, -1e6, 3.0], np.float32)
    e4m3fn = TYPES["float8e4m3fn"].number
    assert codes(run(cast_model(FLOAT, e4m3fn, 19, saturate=0), x)) == ("float8_e4m3fn", [0x7F, 0xFF, 0x44])
    for mode, third in ("up", 0x81), ("down", 0x80), ("nearest", 0x81):
        got = run(like_model(FLOAT, FLOAT8E8M0, 24, saturate=0, round_mode=mode), x, np.zeros(0, ml_dtypes.float8_e8m0fnu))
        assert codes(got) == ("float8_e8m0fnu", [{"up": 0x93, "down": 0x92, "nearest": 0x93}[mode], 0xFF, third])


def test_constants_initializers_and_names() -> None:
    """Initializers may be given or not; a value may be output twice; outputs have names."""
    nodes = [
        helper.make_node("Constant", [], ["c"], value_floats=[0.5, 449.0]),
        helper.make_node("Constant", [], ["text"], value_strings=["2.5"]),
        helper.make_node("Cast", ["text"], ["number"], to=FLOAT),
        helper.make_node("CastLike", ["c", "w"], ["small"]),
        helper.make_node("Identity", ["small"], ["copy"]),
        helper.make_node("Cast", ["w"], ["wide"], to=FLOAT),
    ]
    e4m3fn = TYPES["float8e4m3fn"].number
    weights = np.array([1.0, 2.0], ml_dtypes.float8_e4m3fn)
    outputs = {"copy": e4m3fn, "wide": FLOAT, "number": FLOAT}
    made = model(nodes, {"w": e4m3fn}, outputs, 25, initializer=[numpy_helper.from_array(weights, "w")])
    prepared = backend.prepare(made)
    found: Any = prepared.run([])
    assert (found["copy"] is found[0], found["wide"].tolist(), found["number"].tolist()) == (True, [1.0, 2.0], [2.5])
    assert codes(found["copy"]) == ("float8_e4m3fn", [0x30, 0x7E])
    found = prepared.run([weights * weights])
    assert found.wide.tolist() == [1.0, 4.0]


def test_every_constant() -> None:
    values: dict[str, Any] = {
        "value": numpy_helper.from_array(np.array([[7]], ml_dtypes.int4)),
        "value_float": 1.5,
        "value_floats": [1.5, 2.5],
        "value_int": -3,
        "value_ints": [-3, 4],
        "value_string": "1.5",
        "value_strings": ["a", "é"],
    }
    found = {name: backend.run_node(helper.make_node("Constant", [], ["y"], **{name: value}), [])[0] for name, value in values.items()}
    assert {name: (str(x.dtype), x.shape, x.tolist()) for name, x in found.items()} == {
        "value": ("int4", (1, 1), [[7]]),
        "value_float": ("float32", (), 1.5),
        "value_floats": ("float32", (2,), [1.5, 2.5]),
        "value_int": ("int64", (), -3),
        "value_ints": ("int64", (2,), [-3, 4]),
        "value_string": ("object", (), "1.5"),
        "value_strings": ("object", (2,), ["a", "é"]),
    }


def test_devices() -> None:
    assert [backend.supports_device(name) for name in ("CPU", "CPU:0", "CUDA", "CUDA:1", "cpu")] == [True, True, False, False, False]


SPARSE = helper.make_sparse_tensor(
    helper.make_tensor("s", FLOAT, [1], [2.0]), helper.make_tensor("i", onnx.TensorProto.INT64, [1], [0]), [3]
)
REFUSED: list[tuple[str, onnx.ModelProto, list[Array], str]] = [
    (
        "a type that the opset does not have",
        cast_model(FLOAT, FLOAT4E2M1, 22),
        [],
        "Cast at opset 22 does not support float4e2m1 (added in opset 23)",
    ),
    (
        "a source that the opset does not have",
        cast_model(INT4, FLOAT, 20),
        [],
        "Cast at opset 20 does not support int4 (added in opset 21)",
    ),
    (
        "FLOAT6 in CastLike",
        like_model(FLOAT, FLOAT6[0].number, 28),
        [],
        "CastLike at opset 28 does not support float6e2m3 (no opset does)",
    ),
    (
        "a round mode that is none",
        cast_model(FLOAT, FLOAT8E8M0, 24, round_mode="UP"),
        [],
        'Cast at opset 24: the attribute "round_mode" must be up, down or nearest, got "UP"',
    ),
    (
        "another operator",
        model([helper.make_node("Abs", ["x"], ["y"], name="n")], {"x": FLOAT}, {"y": FLOAT}, 25),
        [],
        'the node "n" is Abs; this backend runs Cast, CastLike, Identity and Constant',
    ),
    (
        "a sparse constant",
        model([helper.make_node("Constant", [], ["y"], name="n", sparse_value=SPARSE)], {}, {"y": FLOAT}, 25),
        [],
        'the node "n" is Constant with "sparse_value", which this backend does not read',
    ),
    (
        "an output of another type",
        model([helper.make_node("Cast", ["x"], ["y"], to=INT4)], {"x": FLOAT}, {"y": FLOAT}, 25),
        [],
        'the output "y" is float in the model, its node makes int4',
    ),
    ("too few inputs", cast_model(FLOAT, INT4, 25), [], "the model has 1 inputs, got 0"),
    (
        "an input of another type",
        cast_model(FLOAT, INT4, 25),
        [np.zeros(1, np.float64)],
        'the input "x" is float in the model, got double',
    ),
]


@pytest.mark.parametrize(("made", "inputs", "text"), [pytest.param(*case[1:], id=case[0]) for case in REFUSED])
def test_what_is_refused(made: onnx.ModelProto, inputs: list[Array], text: str) -> None:
    with pytest.raises(CastError) as error:
        backend.run_model(made, inputs)
    assert str(error.value) == text
    assert backend.is_compatible(made) == text.startswith(("the model has", "the input"))


def test_masked_inputs_are_refused() -> None:
    with pytest.raises(CastError) as error:
        backend.run_model(cast_model(1, 10, 25), [np.ma.masked_array(np.ones(2, np.float32), [True, False])])
    assert str(error.value).startswith("inputs[0] is a masked array")


def test_a_device_that_is_refused() -> None:
    with pytest.raises(CastError) as error:
        backend.prepare(cast_model(FLOAT, INT4, 25), "CUDA:1")
    assert str(error.value) == 'the device "CUDA:1" is not supported (supported: CPU)'


@pytest.mark.parametrize(
    ("opset", "attributes", "text"),
    [
        (18, {"saturate": 1}, "Unrecognized attribute: saturate for operator Cast"),
        (23, {"round_mode": "up"}, "Unrecognized attribute: round_mode for operator Cast"),
        (25, {"axis": 1}, "Unrecognized attribute: axis for operator Cast"),
    ],
)
def test_attributes_that_an_opset_does_not_have(opset: int, attributes: dict[str, Any], text: str) -> None:
    """onnx.checker refuses them, before this backend reads the model."""
    made = cast_model(FLOAT, TYPES["float16"].number, opset, **attributes)
    with pytest.raises(onnx.checker.ValidationError) as error:
        backend.prepare(made)
    assert str(error.value).splitlines()[0] == text
    assert not backend.is_compatible(made)
