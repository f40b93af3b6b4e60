"""Casts from and to strings."""

import ml_dtypes
import numpy as np
import pytest
from wgpu_cast import CastError, cast

NUMBERS = np.array([[1.0, -0.5], [0.1, np.inf]], np.float32)
TEXTS = [["1.0", "-0.5"], ["0.1", "INF"]]


@pytest.mark.parametrize("to", ["string", 8, str, np.dtype("U"), "<U8", np.dtype("U8"), np.dtype("S"), "S4", np.dtype(object)])
def test_to_strings(to):
    result = cast(NUMBERS, to)
    if result.dtype.kind == "S":
        result = np.char.decode(result)
    assert result.tolist() == TEXTS
    assert cast(np.asfortranarray(NUMBERS), to).flags.f_contiguous


def test_dtypes_of_strings():
    assert cast(NUMBERS, "string").dtype == np.dtype("U4")
    assert cast(NUMBERS, np.dtype("S")).dtype == np.dtype("S4")
    assert cast(NUMBERS, np.dtype("U9")).dtype == np.dtype("U9")
    assert cast(NUMBERS, np.dtype(object)).dtype == np.dtype(object)
    assert cast(np.empty((0, 2)), "string").shape == (0, 2)
    assert cast(np.float32(1), "string").tolist() == "1.0"
    assert cast(np.array([True, False]), "string").tolist() == ["True", "False"]
    assert cast(np.array([3, -1], ml_dtypes.int4), "string").tolist() == ["3", "-1"]
    assert cast(np.array([3, -1], ">i2")[::-1], "string").tolist() == ["-1", "3"]


@pytest.mark.parametrize("name", ["U", "<U9", "=U4", ">U5", "S", "S4", "S9", "|S5", "bytes", "O", "object"])
def test_names_of_numpy(name):
    """They mean what numpy means by them, and so do classes."""
    wanted = cast(NUMBERS, np.dtype(name)).dtype
    assert wanted == np.dtype(name) or np.dtype(name).itemsize == 0
    assert cast(NUMBERS, name).dtype == cast(NUMBERS, np.str_(name)).dtype == wanted
    if np.dtype(name).itemsize in (0, 8):
        for meant in (np.dtype(name).type, type(np.dtype(name))):
            assert cast(NUMBERS, meant).dtype == wanted


def test_other_spellings():
    """safetensors' own name comes first."""
    assert cast(NUMBERS, "U8").dtype == np.uint8
    for to, kind in [(str, "U"), ("str", "U"), ("String", "U"), (8, "U"), (np.int64(8), "U"), (bytes, "S"), (object, "O")]:
        result = cast(NUMBERS, to)
        assert result.dtype.kind == kind
        assert [[str(text, "ascii") if kind == "S" else text for text in row] for row in result.tolist()] == TEXTS


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="numpy 1")
def test_names_of_string_dtype():
    for to in ("T", np.dtypes.StringDType, np.dtypes.StringDType()):
        result = cast(NUMBERS, to)
        assert result.dtype == np.dtypes.StringDType() and result.tolist() == TEXTS
    assert cast(np.array(["a\0"], object), "T").tolist() == ["a\0"]
    assert cast(np.array(["a\0"], object), "O").tolist() == ["a\0"]
    assert cast(np.array(["a\0"], object), "U").tolist() == ["a"]
    with pytest.raises(CastError) as caught:
        cast(np.array(["1", None], np.dtypes.StringDType(na_object=None)), "int8")
    assert str(caught.value) == (
        "element 1 of the StringDType(na_object=None) array is a missing value, which ONNX's strings do not have"
    )


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="numpy 1")
def test_string_dtype():
    dtype = np.dtypes.StringDType()
    result = cast(NUMBERS, dtype)
    assert result.dtype == dtype and result.tolist() == TEXTS
    assert cast(result, "float32").tolist() == NUMBERS.tolist()


@pytest.mark.parametrize(
    "x",
    [
        np.array(["1.5", " -2e1 ", "nan"]),
        np.array([b"1.5", b" -2e1 ", b"nan"]),
        np.array(["1.5", " -2e1 ", "nan"], object),
        np.array([b"1.5", "-20", "NaN"], object),
        ["1.5", "-20", "nan"],
    ],
)
@pytest.mark.parametrize("to", [np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2])
def test_from_strings(x, to):
    result = cast(x, to)
    assert result.dtype == to
    assert result.tobytes() == np.array([1.5, -20, np.nan]).astype(to).tobytes()


def test_layouts_of_strings():
    x = np.array([["1", "2", "3"], ["4", "5", "6"]])
    for view in (x, x.T, x[:, ::-1], np.asfortranarray(x), x[1, 1], x[:0], x.astype(">U2")):
        result = cast(view, "int16")
        expected = view.astype(np.int16)
        assert result.tobytes() == expected.tobytes() and result.shape == expected.shape
        assert cast(result, "string").tolist() == view.tolist()
    assert cast(x, "int4").astype(int).tolist() == [[1, 2, 3], [4, 5, 6]]
    out = np.empty((2, 3), np.int16, order="F")
    assert cast(x, "int16", out=out) is out and out.tolist() == [[1, 2, 3], [4, 5, 6]]
    texts = np.empty((2, 3), "U2")
    assert cast(out, "string", out=texts) is texts and texts.tolist() == x.tolist()
    assert cast(x, np.dtype(object)).tolist() == x.tolist()


@pytest.mark.parametrize(
    ("x", "to", "message"),
    [
        (["1", "x"], "float16", 'casting string to float16: element 1 is not a number: "x"'),
        ([["1", "2"], ["3", ""]], "int8", 'casting string to int8: element 3 is not a number: ""'),
        (np.array([b"1", b"\xff"]), "float16", "element 1 is not valid UTF-8"),
        (np.array(["1", 2], object), "float16", "element 1 of the object array is no str, but int"),
        (np.array([1.5, 10.0]), np.dtype("U3"), "the dtype <U3 holds 3 characters, a text has 4"),
        (np.array([1.5, 10.0]), "S3", "the dtype |S3 holds 3 bytes, a text has 4"),
        (np.array([1.5, 10.0]), "U5", '"U5" is no element type, as "U8" is uint8 and no string: for strings write "<U5"'),
        (["1", "\ud800"], "float16", "element 1 is not valid UTF-8: it has the lone surrogate U+D800"),
        (["1", "a\udc80"], np.dtype("S"), "element 1 is not valid UTF-8: it has the lone surrogate U+DC80"),
        (["\ud800"], str, "element 0 is not valid UTF-8: it has the lone surrogate U+D800"),
    ],
)
def test_refused(x, to, message):
    with pytest.raises(CastError) as caught:
        cast(x, to)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"device": "cuda"}, 'device must be "cpu" or "gpu", got "cuda"'),
        ({"round_mode": "odd"}, 'unknown round_mode "odd" (expected up, down or nearest)'),
        ({"opset": 6}, "Cast at opset 6 does not support string (added in opset 9)"),
    ],
)
def test_options_are_checked(arguments, message):
    for x, to in [(["1"], str), (["1"], "float"), ([1.0], str), (np.empty(0, str), "S")]:
        with pytest.raises(CastError) as caught:
            cast(x, to, **arguments)
        assert str(caught.value) == message
        assert cast(x, to, device="gpu", opset=9).shape == np.shape(x)


def test_a_matrix_of_strings():
    result = cast(np.asmatrix([["1", "2"]]), "int8")
    assert type(result) is np.ndarray and result.tolist() == [[1, 2]]


def test_losses_are_not_counted():
    for arguments in ({"losses": True}, {"strict": True}):
        with pytest.raises(CastError) as caught:
            cast(["1"], "float16", **arguments)
        assert str(caught.value) == "losses are not counted in casts from or to strings"
