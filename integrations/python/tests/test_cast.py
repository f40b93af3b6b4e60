"""Results, names of types, and options."""

import ctypes
import decimal
import os
import subprocess
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import wgpu_cast
from wgpu_cast import CastError, Losses, LossError, cast

NUMPY = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]
ML_DTYPES = [
    "bfloat16",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float4_e2m1fn",
    "int4",
    "uint4",
    "int2",
    "uint2",
]


def dtype(name):
    return np.dtype(getattr(ml_dtypes, name) if name in ML_DTYPES else name)


def bits(array):
    """The codes of an array, in row-major order."""
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}").tolist()


@pytest.mark.parametrize("name", NUMPY + ML_DTYPES)
@pytest.mark.parametrize("source", NUMPY + ML_DTYPES)
def test_every_pair_has_the_right_dtype_and_keeps_one(source, name):
    x = np.ones(3, dtype(source))
    result = cast(x, name)
    assert result.dtype == dtype(name)
    assert bits(result) == bits(np.ones(3, dtype(name)))


def test_values_of_common_pairs():
    x = np.array([1.0, -2.5, 0.1, 65504.0, 70000.0, np.inf, np.nan], np.float32)
    assert bits(cast(x, "float16")) == [0x3C00, 0xC100, 0x2E66, 0x7BFF, 0x7C00, 0x7C00, 0x7E00]
    assert bits(cast(x, ml_dtypes.bfloat16)) == [0x3F80, 0xC020, 0x3DCD, 0x4780, 0x4789, 0x7F80, 0x7FC0]
    assert bits(cast(x, "float8e4m3fn")) == [0x38, 0xC2, 0x1D, 0x7E, 0x7E, 0x7E, 0x7F]
    assert bits(cast(x, "int4")) == [1, 0xE, 0, 0, 0, 0, 0]
    codes = np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn)
    expected = codes.astype(np.float32)
    result = cast(codes, "float32")
    numbers = ~np.isnan(expected)
    assert bits(result[numbers]) == bits(expected[numbers])
    assert [hex(code) for code in bits(result[~numbers])] == ["0x7fc00000", "0xffc00000"]


@pytest.mark.parametrize("name", ["int4", "uint4", "int2", "uint2", "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"])
def test_high_bits_of_narrow_codes_are_ignored(name):
    codes = np.arange(256, dtype=np.uint8).view(dtype(name))
    masked = (np.arange(256) & ((1 << wgpu_cast.element_type(name).bits) - 1)).astype(np.uint8)
    result = cast(codes, "float32")
    # ml_dtypes itself takes some of the high bits of its floats for a sign.
    assert bits(result) == bits(masked.view(dtype(name)).astype(np.float32))
    back = cast(result, name)
    assert back.view(np.uint8).tolist() == masked.tolist()


def test_every_spelling_of_a_type():
    for element in wgpu_cast.ELEMENT_TYPES:
        for name in (element.name, element.name.upper(), element.onnx, np.int64(element.onnx), element):
            assert wgpu_cast.element_type(name) is element
        if element.bits is not None:
            assert wgpu_cast.element_type(element.dtype) is element
            assert wgpu_cast.element_type(element.dtype.type) is element
        for name in element.aliases:
            assert wgpu_cast.element_type(name) is element, name
    for name, number in [
        (float, 11),
        (int, 7),
        (bool, 9),
        (str, 8),
        (np.longlong, 7),
        ("f8", 11),
        ("<f4", 1),
        ("int", 7),
        ("F8_E4M3", 17),
        ("float8_e4m3fn", 17),
        (np.dtype("S3"), 8),
        (np.dtype(object), 8),
    ]:
        assert wgpu_cast.element_type(name).onnx == number, name


@pytest.mark.parametrize(
    ("to", "error", "message"),
    [
        ("float9", CastError, 'unknown element type "float9"'),
        ("f4", CastError, "\"f4\" is float in numpy and float4e2m1 elsewhere: write one of these names"),
        ("i8", CastError, "\"i8\" is int64 in numpy and int8 elsewhere: write one of these names"),
        (np.complex64, CastError, "the dtype complex64 is no element type of ONNX"),
        ("complex64", CastError, 'unknown element type "complex64"'),
        (np.dtype(">f4"), CastError, "results have the byte order of this machine, got the dtype >f4"),
        (0, CastError, "0 is no number of an ONNX element type"),
        (14, CastError, "14 is no number of an ONNX element type"),
        (1 << 70, CastError, "1180591620717411303424 is no number of an ONNX element type"),
        (ml_dtypes.float8_e4m3, CastError, "the dtype float8_e4m3 is no element type of ONNX"),
        (True, TypeError, "an element type is a name, a dtype or an ONNX number, got True"),
        (1.0, TypeError, "an element type is a name, a dtype or an ONNX number, got float"),
        (None, TypeError, "an element type is a name, a dtype or an ONNX number, got NoneType"),
        # numpy takes characters for numbers of types.
        ("\0", CastError, 'unknown element type "\\0"'),
        ("\x17", CastError, 'unknown element type "\\u{17}"'),
        ("\ud800", CastError, "unknown element type '\\ud800'"),
        # numpy takes it for `U5`.
        ("U+5", CastError, 'unknown element type "U+5"'),
        ("S+5", CastError, 'unknown element type "S+5"'),
        # numpy makes objects of all other classes.
        (complex, CastError, "the dtype complex128 is no element type of ONNX"),
        (np.dtypes.DateTime64DType, CastError, "the dtype datetime64 is no element type of ONNX"),
        *((other, TypeError, f"an element type is a name, a dtype or an ONNX number, got the class {name}") for other, name in [
            (np.ndarray, "numpy.ndarray"),
            (np.dtype, "numpy.dtype"),
            (np.generic, "numpy.generic"),
            (np.floating, "numpy.floating"),
            (dict, "dict"),
            (list, "list"),
            (type, "type"),
            (type(None), "NoneType"),
            (memoryview, "memoryview"),
            (ctypes.c_char, "ctypes.c_char"),
            (ctypes.c_char_p, "ctypes.c_char_p"),
            (ctypes.py_object, "ctypes.py_object"),
            (ctypes.Structure, "_ctypes.Structure"),
            (decimal.Decimal, "decimal.Decimal"),
            (wgpu_cast.ElementType, "wgpu_cast._types.ElementType"),
        ]),
        (np.ndarray[Any, Any], TypeError, "an element type is a name, a dtype or an ONNX number, got GenericAlias"),
    ],
)
def test_what_is_no_type(to, error, message):
    for _ in range(2):
        with pytest.raises(error) as caught:
            cast(np.zeros(1), to)
        assert str(caught.value) == message


def test_classes():
    """Of scalars and of dtypes; jax has classes with a dtype."""
    for name in NUMPY + ML_DTYPES:
        for meant in (dtype(name).type, type(dtype(name)), type("Jax", (), {"dtype": dtype(name)})):
            assert cast(np.ones(2), meant).dtype == dtype(name), meant
    for own, name in [(bool, "bool"), (int, "int64"), (float, "float64")]:
        assert cast(np.ones(2), own).dtype == name
    for own, name in [
        (ctypes.c_bool, "bool"),
        (ctypes.c_uint8, "uint8"),
        (ctypes.c_int32, "int32"),
        (ctypes.c_int64, "int64"),
        (ctypes.c_float, "float32"),
        (ctypes.c_double, "float64"),
    ]:
        assert cast(np.ones(2), own).dtype == name
        assert wgpu_cast.unpack(bytes(8), own, 8 // np.dtype(name).itemsize).dtype == name


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"saturate": 1}, TypeError, "saturate must be True or False, got int"),
        ({"strict": None}, TypeError, "strict must be True or False, got NoneType"),
        ({"losses": "yes"}, TypeError, "losses must be True or False, got str"),
        ({"round_mode": None}, TypeError, "round_mode must be a str, got NoneType"),
        ({"round_mode": "\ud800"}, CastError, "unknown round_mode '\\ud800'"),
        ({"device": 0}, TypeError, "device must be a str, got int"),
        ({"device": "\ud800"}, CastError, "unknown device '\\ud800'"),
        ({"opset": "13"}, TypeError, "opset must be an int or None, got str"),
        ({"opset": 1 << 64}, CastError, "opset 18446744073709551616 is no opset of ONNX"),
    ],
)
def test_arguments_of_another_kind(arguments, error, message):
    with pytest.raises(error) as caught:
        cast(np.zeros(1), "float16", **arguments)
    assert str(caught.value) == message


def test_booleans_of_numpy():
    x = np.array([500.0], np.float32)
    assert bits(cast(x, "float8e4m3fn", saturate=np.False_)) == [0x7F]


def test_options():
    x = np.array([500.0, -np.inf, 3.0], np.float32)
    assert bits(cast(x, "float8e4m3fn", saturate=False)) == [0x7F, 0xFF, 0x44]
    assert bits(cast(x[2:], "float8e8m0")) == [0x81]
    assert bits(cast(x[2:], "float8e8m0", round_mode="down")) == [0x80]
    assert bits(cast(x[2:], "float8e8m0", round_mode="nearest")) == [0x81]
    # Until opset 23, INT4 has the nearest value.
    assert bits(cast(x, "int4")) == [4, 0, 3]
    assert bits(cast(x, "int4", opset=21)) == [7, 8, 3]
    for arguments, message in [
        ({"round_mode": "odd"}, 'unknown round_mode "odd" (expected up, down or nearest)'),
        ({"device": "tpu"}, 'device must be "cpu" or "gpu", got "tpu"'),
        ({"opset": 20}, "Cast at opset 20 does not support int4 (added in opset 21)"),
        ({"opset": 22, "round_mode": "down"}, 'Cast at opset 22 has no attribute "round_mode" (added in opset 24)'),
    ]:
        with pytest.raises(CastError) as caught:
            cast(x, "int4", **arguments)
        assert str(caught.value) == message


def test_losses():
    x = np.array([1.0, 70000.0, 1e-9, np.nan, np.inf], np.float32)
    result, losses = cast(x, "float16", losses=True)
    assert bits(result) == bits(cast(x, "float16"))
    assert losses == Losses(infinite=1, zero=1)
    assert (losses.total, losses.overflowed) == (2, 1)
    out = np.full(5, 7.0, np.float16)
    with pytest.raises(LossError) as caught:
        cast(x, "float16", strict=True, out=out)
    assert str(caught.value) == "cast float -> float16: 2 values are lost: infinite 1, zero 1"
    assert caught.value.losses == losses
    assert out.tolist() == [7.0] * 5
    assert bits(cast(x[:1], "float16", strict=True)) == [0x3C00]
    _, losses = cast(x[:1], "float16", strict=True, losses=True)
    assert losses == Losses()
    for x, to, expected in [
        (np.array([300, -1], np.int32), "uint4", Losses(out_of_range=2)),
        (np.array([1e9, -np.inf], np.float32), "float8e4m3fn", Losses(saturated=2)),
        (np.array([1e9, 2.0], np.float32), "float8e8m0", Losses()),
        (np.array([np.nan, 1e-7, 1e-30], np.float32), "float6e2m3", Losses(nan_to_number=1, zero=2)),
        (np.array([1e-5, 1.0], np.float64), "float16", Losses(subnormal=1)),
    ]:
        assert cast(x, to, losses=True)[1] == expected
    _, losses = cast(np.float32(1e9), "float8e4m3fn", saturate=False, losses=True)
    assert losses == Losses(nan=1)


def test_packed_codes():
    for name in NUMPY + ML_DTYPES:
        element = wgpu_cast.element_type(name)
        x = np.arange(21, dtype=np.uint8).astype(np.float32).reshape(3, 7).astype(dtype(name))
        packed = wgpu_cast.pack(x)
        assert packed.dtype == np.uint8 and packed.shape == ((21 * element.bits + 7) // 8,)
        back = wgpu_cast.unpack(packed.tobytes(), name, x.shape)
        assert back.dtype == x.dtype and bits(back) == bits(x)
        assert wgpu_cast.pack(np.asfortranarray(x)).tolist() == packed.tolist()
    assert wgpu_cast.pack(np.array([1, -1, 3], ml_dtypes.int4)).tolist() == [0xF1, 0x03]
    assert wgpu_cast.unpack(b"\xf1\x03", "int4", 3).view(np.uint8).tolist() == [1, 15, 3]
    assert wgpu_cast.unpack(b"", "int4", (0, 4)).shape == (0, 4)
    for arguments, message in [
        ((b"\0", "int4", 3), "shape [3] of int4 needs 2 bytes, got 1"),
        ((b"\0", "string", 3), "strings have no packed form"),
        ((b"\0", "int4", -1), "shape -1 is none of an array: negative dimensions are not allowed"),
        (
            (memoryview(b"\0\1\2\3")[::2], "int4", 4),
            "data must be contiguous: memoryview: underlying buffer is not C-contiguous",
        ),
        (
            (np.array([1, 2], ">u2"), "uint16", 2),
            "data has the dtype >u2, which is not in the byte order of this machine: give data.view(numpy.uint8)",
        ),
        ((np.zeros(2, "V2"), "uint16", 2), "the dtype |V2 is no element type of ONNX"),
    ]:
        with pytest.raises(CastError) as caught:
            wgpu_cast.unpack(*arguments)
        assert str(caught.value) == message
    with pytest.raises(TypeError) as unfit:
        wgpu_cast.unpack("text", "int4", 3)
    assert str(unfit.value) == "data must be bytes or another buffer, got str"
    with pytest.raises(CastError) as caught:
        wgpu_cast.pack(np.array(["1"]))
    assert str(caught.value) == "strings have no packed form"


def test_large_casts_with_any_number_of_threads():
    x = np.arange(1 << 20, dtype=np.uint32).view(np.float32)
    expected = None
    try:
        for threads in (1, 2, 5, None):
            wgpu_cast.set_threads(threads)
            result, losses = cast(x, "float8e5m2", losses=True)
            narrow = cast(x, "float4e2m1")
            found = (bits(result), losses, bits(narrow))
            expected = expected or found
            assert found == expected
    finally:
        wgpu_cast.set_threads(None)
    for threads in (0, -1, 1025, 1 << 64):
        with pytest.raises(CastError) as caught:
            wgpu_cast.set_threads(threads)
        assert str(caught.value) == f"the number of threads must be 1 to 1024, got {threads}"
    with pytest.raises(TypeError) as unfit:
        wgpu_cast.set_threads("2")
    assert str(unfit.value) == "n must be an int or None, got str"


NO_THREADS = """
import sys
import numpy as np, wgpu_cast
x = np.arange(1 << 18, dtype=np.float32)
for to in ("float16", "int64", "string"):
    result = wgpu_cast.cast(x, to)
    assert result.shape == x.shape and result[300] in (300, "300.0"), to
assert wgpu_cast.cast(result, "float").tolist() == x.tolist()
assert wgpu_cast.cast(x, "float", strict=True, losses=True)[1].total == 0
assert wgpu_cast.cast(x, "float", scale=np.float32(2))[3] == 6
try:
    wgpu_cast.cast(x, "int8", losses=True, strict=True)
except wgpu_cast.LossError as error:
    assert error.losses.total == (1 << 18) - 128
np.save(sys.argv[1], x)
def told(call):
    try:
        call()
    except RuntimeError as error:
        print(str(error).rpartition(": ")[0])
told(lambda: wgpu_cast.info(sys.argv[1]))
told(lambda: wgpu_cast.convert(sys.argv[1], sys.argv[1] + ".npy", to="float16"))
# Threads that the program asks for are not left out.
wgpu_cast.set_threads(2)
told(lambda: wgpu_cast.cast(x, "float16"))
wgpu_cast.set_threads(1)
wgpu_cast.cast(x, "float16")
told(lambda: wgpu_cast.info(sys.argv[1]))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="stacks that Linux refuses")
def test_a_system_that_starts_no_threads(tmp_path):
    """No address space has room for a stack of this size."""
    environment = os.environ | {"RUST_MIN_STACK": "18446744073692774399"}
    run = [sys.executable, "-c", NO_THREADS, tmp_path / "a.npy"]
    ran = subprocess.run(run, env=environment, capture_output=True, text=True, timeout=300)
    command = "the system starts no thread, and convert and info need one"
    assert ran.stdout.splitlines() == [command, command, "cannot start 2 threads", command], ran
    assert os.listdir(tmp_path) == ["a.npy"]
