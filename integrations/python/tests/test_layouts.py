"""Arrays of any shape, layout and byte order, compared with astype in shape and strides and with the rules in codes."""

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wgpu_cast
from element_types import ROUND_MODES, TYPES, Array, ElementType, Options
from expected import expected

NATIVE = [of for of in TYPES.values() if of.dtype.kind in "fiu" and of.dtype.itemsize > 1 and of.dtype.isbuiltin == 1]
SHAPES = st.lists(st.integers(0, 5), max_size=4).map(tuple)


@st.composite
def arrays(draw: st.DrawFn, source: ElementType) -> Array:
    """An array of any codes and layout, made by numpy's own views."""
    shape = draw(SHAPES)
    seed = draw(st.integers(0, 2**32 - 1))
    steps = [draw(st.sampled_from([1, 1, 2, 3, -1, -2])) for _ in shape]
    whole = [size * abs(step) for size, step in zip(shape, steps, strict=True)]
    count = int(np.prod(whole))
    # A byte more, so that elements may be unaligned.
    memory = np.random.default_rng(seed).integers(0, 256, count * source.dtype.itemsize + 1, dtype=np.uint8)
    if source.is_bool:
        memory &= 1
    start = draw(st.sampled_from([0, 0, 0, 1]))
    x: Array = memory[start : start + count * source.dtype.itemsize].view(source.dtype).reshape(whole)
    if source in NATIVE and draw(st.booleans()):
        x = x.view(x.dtype.newbyteorder("S"))
    # The last index keeps an array of no axes an array.
    index: Any = (*(slice(None, None, step) for step in steps), ...)
    x = x[index]
    x = x.transpose(draw(st.permutations(range(x.ndim))))
    if draw(st.booleans()) and x.ndim:
        x = np.broadcast_to(x, (draw(st.integers(0, 3)), *x.shape))
    x.flags.writeable = x.flags.writeable and draw(st.booleans())
    return x


def codes_of(x: Array, source: ElementType, to: ElementType, options: Options) -> Array:
    """The codes that a cast must give, in the shape of x."""
    flat = np.ascontiguousarray(x).reshape(-1).astype(source.dtype, copy=False)
    # ml_dtypes reads other bits of the byte of a narrow float.
    return expected(source.array(source.codes(flat)), source, to, options).reshape(x.shape)


def steps_of(x: Array) -> list[int]:
    """The strides that matter: those of axes with more than one element, of an array that is not empty."""
    return [step for step, size in zip(x.strides, x.shape, strict=True) if size > 1 and x.size]


@settings(max_examples=600, deadline=None)
@given(st.data())
def test_shapes_strides_and_types(data: st.DataObject) -> None:
    source, to = (data.draw(st.sampled_from(list(TYPES.values()))) for _ in range(2))
    options = Options(data.draw(st.booleans()), data.draw(st.sampled_from(ROUND_MODES)))
    x = data.draw(arrays(source))
    before = x.tobytes()
    got = wgpu_cast.cast(x, to.dtype, saturate=options.saturate, round_mode=options.round_mode)
    # What numpy has no cast for would have these strides too.
    like = np.empty_like(x, dtype=to.dtype)
    assert (got.dtype, got.shape, steps_of(got)) == (to.dtype, x.shape, steps_of(like))
    assert (got.flags.writeable, got.flags.owndata, x.tobytes()) == (True, True, before)
    np.testing.assert_array_equal(to.codes(got), codes_of(x, source, to, options))


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_astype_where_the_rules_are_the_same(data: st.DataObject) -> None:
    """Ordinary numbers, which every type can hold: ml_dtypes and numpy are right themselves, strides included."""
    source, to = (data.draw(st.sampled_from([of for of in TYPES.values() if of.name != "float8e8m0"])) for _ in range(2))
    largest = 1 if "int2" in (source.name, to.name) else 3 if "uint2" in (source.name, to.name) else 6
    numbers = data.draw(st.lists(st.integers(0, 1 if source.is_bool else largest), min_size=1, max_size=64))
    x = np.array(numbers).astype(source.dtype)
    x = x[:: data.draw(st.sampled_from([1, 2, -1, -3]))].reshape((-1, 1), order=data.draw(st.sampled_from("CF")))
    try:
        theirs = x.astype(to.dtype)
    except TypeError:
        return
    ours = wgpu_cast.cast(x, to.dtype)
    assert (ours.shape, steps_of(ours)) == (theirs.shape, steps_of(theirs))
    np.testing.assert_array_equal(to.codes(ours), to.codes(theirs))


@pytest.mark.parametrize("order", ["C", "F", "K"])
def test_large_results(order: str) -> None:
    """They begin at a huge page where the system has such, and look like all others."""
    codes = np.resize(np.arange(251, dtype=np.uint8), (3, 1024, 2731))
    x = codes.transpose(1, 2, 0) if order == "K" else np.asarray(codes, order=order)  # type: ignore[call-overload]
    for more in [x[None], x[:, None], x[..., None]]:
        assert wgpu_cast.cast(more, "float").strides == more.astype(np.float32).strides
    got, theirs = wgpu_cast.cast(x, "float"), x.astype(np.float32)
    assert got.nbytes > 32 << 20
    assert (got.dtype, got.shape, got.strides, got.flags.writeable) == (theirs.dtype, theirs.shape, theirs.strides, True)
    np.testing.assert_array_equal(got, theirs)
    scaled = wgpu_cast.cast(x, "float", scale=np.float32(2))
    assert scaled.shape == theirs.shape
    np.testing.assert_array_equal(scaled, 2 * theirs)
    if sys.platform == "linux":
        assert [of.ctypes.data % (2 << 20) for of in (got, scaled)] == [0, 0]


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_results_in_given_memory(data: st.DataObject) -> None:
    source, to = (data.draw(st.sampled_from(list(TYPES.values()))) for _ in range(2))
    x = data.draw(arrays(source))
    out: Any = np.empty(x.shape, to.dtype, order=data.draw(st.sampled_from("CF")))
    assert wgpu_cast.cast(x, to.dtype, out=out) is out
    np.testing.assert_array_equal(to.codes(out), codes_of(x, source, to, Options()))


@pytest.mark.parametrize("of", [of for of in TYPES.values() if of.bits < 8], ids=lambda of: of.name)
def test_high_bits_mean_nothing(of: ElementType) -> None:
    """One code a byte: other bits of the bytes are not read, and are zero in results."""
    every = np.arange(256, dtype=np.uint8)
    clean = of.array(every & ((1 << of.bits) - 1))
    for to in TYPES.values():
        got = wgpu_cast.cast(every.view(of.dtype), to.dtype)
        np.testing.assert_array_equal(to.codes(got), codes_of(clean, of, to, Options()), str(to))
    made = wgpu_cast.cast(every.view(of.dtype), of.dtype)
    np.testing.assert_array_equal(made.view(np.uint8), clean.view(np.uint8))


def test_truth_of_any_byte() -> None:
    """numpy's views can give a bool any byte; all but 0 are true, and results are 0 and 1."""
    x = np.arange(256, dtype=np.uint8).view(np.bool_)
    assert wgpu_cast.cast(x, "bool").view(np.uint8).tolist() == [0] + [1] * 255
    assert wgpu_cast.cast(x, "int64").tolist() == [0] + [1] * 255
