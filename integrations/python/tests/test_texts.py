"""Strings of every numeric type, against the repository's tables and Python."""

from decimal import Decimal

import numpy as np
import pytest

import golden
import wgpu_cast
from element_types import FLOAT, FLOAT16, TYPES, ElementType


def plain(text: str) -> str:
    """A decimal with an exponent as ONNX writes it: without, and with a fraction."""
    written = f"{Decimal(text):f}"
    return written if "." in written else f"{written}.0"


@pytest.mark.parametrize("name", ["double", "float"])
def test_shortest_digits(name: str) -> None:
    """The table's texts are written, and read back as the same numbers."""
    rows = golden.sections("strings.txt")[name]
    x = np.array([code for code, _ in rows], TYPES[name].storage).view(TYPES[name].dtype)
    texts = wgpu_cast.cast(x, str)
    assert texts.tolist() == [plain(text) for _, text in rows]
    back = wgpu_cast.cast(texts, x.dtype)
    assert TYPES[name].codes(back).tolist() == [code for code, _ in rows]


def fnv(texts: list[str]) -> int:
    """FNV-1a of 64 bits, of texts with a newline each."""
    state = 0xCBF29CE484222325
    for byte in "".join(f"{text}\n" for text in texts).encode():
        state = (state ^ byte) * 0x100000001B3 % (1 << 64)
    return state


def test_every_float16() -> None:
    rows = golden.sections("strings.txt")["float16"]
    for first, text in rows:
        x = np.arange(first, first + 1024, dtype=np.uint16).view(np.float16)
        assert fnv(wgpu_cast.cast(x, str).tolist()) == int(text, 16), hex(first)


@pytest.mark.parametrize("of", [of for of in TYPES.values() if of.bits <= 16], ids=lambda of: of.name)
def test_every_code_of_narrow_types(of: ElementType) -> None:
    """Integers as Python writes them, other floats as the float32 of the same value; nearest reads all of them back."""
    x = of.every_code()
    texts = wgpu_cast.cast(x, str)
    if of.is_bool:
        assert texts.tolist() == ["False", "True"]
    elif of.is_float and of != FLOAT16:
        assert texts.tolist() == wgpu_cast.cast(wgpu_cast.cast(x, FLOAT.dtype), str).tolist()
    elif not of.is_float:
        assert texts.tolist() == [str(int(value)) for value in x]
    back = wgpu_cast.cast(texts, of.dtype, saturate=False, round_mode="nearest")
    kept = np.ones(x.shape, bool) if not of.is_float else ~np.isnan(x.astype(np.float32))
    assert of.codes(back)[kept].tolist() == of.codes(x)[kept].tolist()
    assert np.unique(texts[~kept]).tolist() == (["NaN"] if not kept.all() else [])
