"""Casts of scaled elements, against numpy's product in float32, on bits."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import wgpu_cast
from element_types import FLOAT, TYPES, Array, ElementType, Options
from expected import expected

UNSCALED = ("bool", "double", "int64", "uint32", "uint64")
SOURCES = [of for of in TYPES.values() if of.name not in UNSCALED]
TARGETS = [TYPES[name] for name in ("float", "bfloat16", "float16", "float8e4m3fn", "float4e2m1", "int8", "uint4")]


def products(x: Array, scale: Array, zero_point: Array | None, block: tuple[int, ...]) -> Array:
    """The float32 of each product, with the NaN of docs/semantics.md."""

    def of_elements(values: Array) -> Array:
        for axis, (length, size) in enumerate(zip(x.shape, block)):
            values = np.take(values, np.arange(length) // size, axis)
        return values

    factors = of_elements(scale)
    with np.errstate(all="ignore"):
        numbers = x.astype(np.float32)
        if zero_point is not None:
            numbers = numbers - of_elements(zero_point).astype(np.float32)
        found = numbers * factors
    sign = np.where(np.isnan(numbers), np.signbit(numbers), np.isnan(factors) & np.signbit(factors))
    nan = np.where(sign, np.uint32(0xFFC00000), np.uint32(0x7FC00000)).view(np.float32)
    return np.where(np.isnan(found), nan, found)


def source(of: ElementType, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    codes = rng.integers(0, 1 << of.bits, shape, dtype=np.uint64)
    return of.array(codes)


def scales(shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Common scales, and some of every bit pattern: subnormal, infinite, NaN."""
    common = np.ldexp(rng.uniform(-2, 2, shape), rng.integers(-12, 8, shape)).astype(np.float32)
    some = np.array([0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, -np.nan, 2.0**-149, 3e38], np.float32)
    return np.where(rng.random(shape) < 0.2, rng.choice(some, shape), common).astype(np.float32)


@pytest.mark.parametrize("of", SOURCES, ids=lambda of: of.name)
def test_products(of: ElementType) -> None:
    rng = np.random.default_rng(of.number)
    for shape, block in [((37, 300), (16, 128)), ((64, 96), (1, 32)), ((5, 7, 9), (2, 7, 4)), ((4000,), (4000,)), ((9, 50), (1, 50))]:
        x = source(of, shape, rng)
        blocks = tuple(-(-length // size) for length, size in zip(shape, block))
        scale = scales(blocks, rng)
        zero_point = None
        if not of.is_float and of.name != "int32":
            info: Any = ml_dtypes.iinfo(of.dtype)
            zero_point = rng.integers(int(info.min), int(info.max) + 1, blocks).astype(of.dtype)
        wanted = products(x, scale, zero_point, block)
        for to in TARGETS:
            found, losses = wgpu_cast.cast(x, to.dtype, scale=scale, block=block, zero_point=zero_point, losses=True)
            assert found.shape == shape
            codes = expected(wanted, FLOAT, to, Options()) if to != FLOAT else wanted.view(np.uint32)
            assert to.codes(found).tolist() == codes.tolist(), to.name
            assert losses == wgpu_cast.cast(wanted, to.dtype, losses=True)[1]


def test_other_dtypes_of_scales() -> None:
    x = np.arange(-8, 8, dtype=np.int8).reshape(2, 8)
    for name in ("float16", "bfloat16", "float8e4m3fn", "float8e5m2", "float8e8m0", "double"):
        scale = np.array([[0.5], [2.0]]).astype(TYPES[name].dtype)
        wanted = (x * scale.astype(np.float32)).tolist()
        assert wgpu_cast.cast(x, "float", scale=scale).tolist() == wanted
        assert wgpu_cast.cast(x, "float", scale=scale.astype(scale.dtype.newbyteorder(">")) if name == "double" else scale).tolist() == wanted


def test_blocks() -> None:
    """A number is for the last axis; without blocks the shape of the scales tells them."""
    x = np.ones((4, 6), np.int8)
    scale = np.arange(8, dtype=np.float32).reshape(4, 2)
    wanted = np.repeat(scale, 3, axis=1).tolist()
    for block in (3, (1, 3), [1, 3], None, np.int64(3)):
        assert wgpu_cast.cast(x, "float", scale=scale, block=block).tolist() == wanted
    square = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert wgpu_cast.cast(x, "float", scale=square).tolist() == np.repeat(np.repeat(square, 2, axis=0), 2, axis=1).tolist()
    for one in (np.float32(3), 3.0, np.full(1, 3, np.float32), np.full((1, 1), 3, np.float32)):
        assert wgpu_cast.cast(x, "float", scale=one).tolist() == (x * 3.0).tolist()
    assert wgpu_cast.cast(np.int8(2), "float", scale=np.float32(3)).tolist() == 6.0
    assert wgpu_cast.cast(np.ones((0, 3), np.int8), "float", scale=np.float32(3)).shape == (0, 3)


def test_types() -> None:
    """README.md says which types have scales, and which of them zero points."""
    one = np.float32(1)
    for of in TYPES.values():
        x = source(of, (4,), np.random.default_rng(0))
        if of.name in UNSCALED:
            assert text(x, scale=one).endswith(
                "scales apply to floats of at most 32 bits, to integers of at most 16 bits and to int32"
            )
            continue
        assert wgpu_cast.cast(x, "float", scale=one, zero_point=np.int8(0)).shape == (4,)
        if of.is_float or of.name == "int32":
            assert text(x, scale=one, zero_point=np.int8(1)).endswith(f"must be 0 for {of.name}")
        else:
            wgpu_cast.cast(x, "float", scale=one, zero_point=np.int8(1))


def test_matrices() -> None:
    scale = np.asmatrix([[0.5, 2.0]], np.float32)
    found = wgpu_cast.cast(np.array([[1, 2]], np.int8), "float", scale=scale, zero_point=np.asmatrix([[1, 0]]))
    assert type(found) is np.ndarray and found.tolist() == [[0.0, 4.0]]


def test_long_blocks() -> None:
    x = np.ones((2, 3), np.int8)
    scale = np.array([[2.0], [3.0]], np.float32)
    for block in (3, 4, 1 << 70, (1, 1 << 70)):
        assert wgpu_cast.cast(x, "float", scale=scale, block=block).tolist() == [[2.0] * 3, [3.0] * 3]


def test_layouts() -> None:
    """Results are in C order, whatever the order of the source."""
    x = np.arange(24, dtype=np.int16).reshape(4, 6)
    scale = np.array([1, 2, 3, 4], np.float32).reshape(4, 1)
    wanted = (x * scale).tolist()
    for other in (np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2], x.astype(">i2"), x[::-1][::-1]):
        found = wgpu_cast.cast(other, "float", scale=scale)
        assert found.flags.c_contiguous
        assert found.tolist() == wanted
    assert wgpu_cast.cast(x, "float", scale=np.broadcast_to(np.float32(2), (4, 1))).tolist() == (x * 2.0).tolist()
    out = np.empty((4, 6), np.float32)
    assert wgpu_cast.cast(x, "float", scale=scale, out=out) is out
    assert out.tolist() == wanted


def test_strict() -> None:
    x = np.array([1, 100], np.int8)
    scale = np.float32(1000)
    out = np.zeros(2, np.float16)
    with pytest.raises(wgpu_cast.LossError) as error:
        wgpu_cast.cast(x, "float16", scale=scale, out=out, strict=True)
    assert str(error.value) == "cast int8 -> float16: 1 value is lost: infinite 1"
    assert out.tolist() == [0, 0]
    wgpu_cast.cast(x, "float16", scale=np.float32(2), out=out, strict=True)
    assert out.tolist() == [2, 200]
    found, losses = wgpu_cast.cast(x, "float16", scale=np.float32(2), strict=True, losses=True)
    assert (found.tolist(), losses.total) == ([2, 200], 0)


def text(x: Any, to: str = "float", **arguments: Any) -> str:
    with pytest.raises(wgpu_cast.CastError) as error:
        wgpu_cast.cast(x, to, **arguments)
    return str(error.value)


def test_errors() -> None:
    x = np.ones((4, 6), np.int8)
    one = np.float32(1)
    rows = np.ones((4, 1), np.float32)
    assert text(x, block=3) == "block and zero_point need scale"
    assert text(x, scale=one, device="gpu") == 'scaled elements are cast on the CPU: device must be "cpu", got \'gpu\''
    assert text(np.array(["1"]), scale=one) == "strings have no scales"
    assert text(x, "string", scale=one) == "strings have no scales"
    assert text(x, scale=rows.astype(np.int8)) == "scale has the dtype int8: it must be a float dtype"
    assert text(x, scale=0.1) == "scale has the dtype float64, and float32 does not hold np.float64(0.1): round it to float32 first"
    assert text(x, scale=np.ones(4, np.float32)) == "scale of the shape (4,) does not tell the blocks of the shape (4, 6): give block"
    assert text(x, scale=np.ones((4, 4), np.float32)) == "scale of the shape (4, 4) does not tell the blocks of the shape (4, 6): give block"
    assert text(x, scale=rows, block=4) == "scale has the shape (4, 1), blocks (1, 4) of the shape (4, 6) need (4, 2)"
    assert text(x, scale=rows, block=(1, 2, 3)) == "block (1, 2, 3) has 3 axes, the array has the shape (4, 6)"
    assert text(x, scale=rows, block=0) == "block 0 must have at least one element along each axis"
    assert text(x, scale=rows, zero_point=one) == "zero_point has the dtype float32: it must be an integer dtype"
    assert text(x, scale=rows, zero_point=np.ones(4, np.int8)) == "zero_point has the shape (4,), scale has (4, 1)"
    assert text(x, scale=rows, zero_point=np.full((4, 1), 1 << 40)) == "zero_point 1099511627776 is not in the range of any type that has zero points"
    assert text(x, scale=rows, zero_point=np.full((4, 1), 128)) == "casting int8 to float: the zero point 128 of block 0 is out of range for int8"
    assert text(x.astype(np.float64), scale=one) == (
        "casting double to float: scales apply to floats of at most 32 bits, to integers of at most 16 bits and to int32"
    )
    assert text(x, scale=one, out=np.ones((4, 6), np.float16)) == "out has the dtype float16, the result has float32"
    assert text(x, scale=one, out=np.ones((6, 4), np.float32).T) == "out is not in C order"
    wrong: Any
    for wrong in ("1", (1, "1"), 1.5):
        with pytest.raises(TypeError) as unfit:
            wgpu_cast.cast(x, "float", scale=rows, block=wrong)
        assert str(unfit.value) == f"block must be an int or a tuple of int, got {wrong!r}"
