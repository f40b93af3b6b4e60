#!/usr/bin/env python3
"""Writes npy.txt, next to this file: `.npy` files as numpy and ml_dtypes save them.

    python3 -m venv /tmp/golden && /tmp/golden/bin/pip install ml_dtypes==0.6.0 numpy==2.4.6
    /tmp/golden/bin/python files/tests/golden/make_npy.py

The committed file was made by Python 3.11.7, ml_dtypes 0.6.0 and numpy 2.4.6 on x86-64.

A line has a name and the file in hexadecimal digits. The name of an element type has an array of shape (2, 3) of the
codes 0, 1, 2, 3, 1 and the highest one, or of 0 and 1 for bool. Integers of fewer than 8 bits are made from numbers, so
that ml_dtypes chooses how to store negative ones. The other names say what the array is.
"""

import io
import re
from pathlib import Path

import ml_dtypes
import numpy as np

CODES = [[0, 1, 2], [3, 1, -1]]


def types():
    """Each element type but STRING, its bits and its dtype, in the order of src/types/element.rs, from which no dtype comes."""
    table = (Path(__file__).parents[3] / "src/types/element.rs").read_text()
    dtypes = {name.replace("_", ""): getattr(ml_dtypes, name) for name in dir(ml_dtypes)}
    for name, aliases, bits in re.findall(r'^ +[A-Z]\w* +"(\w+)" +\[(.*?)\] +\d+, +([1-9]\d*)', table, re.MULTILINE):
        names = [name, *re.findall(r"\w+", aliases)]
        own = next((dtypes[name] for name in names if name in dtypes), None)
        yield name, int(bits), np.dtype(own or next(name for name in names if hasattr(np, name)))


def line(name, array):
    file = io.BytesIO()
    np.save(file, array)
    return f"{name} {file.getvalue().hex()}\n"


def lines():
    for name, bits, dtype in types():
        if "int" in name and bits < 8:
            yield line(name, np.array(CODES).astype(dtype))
            continue
        codes = np.array(CODES).astype("u8") & np.uint64(1 if name == "bool" else 2**bits - 1)
        yield line(name, codes.astype(f"u{dtype.itemsize}").view(dtype))
    numbers = np.array([[1, 2, 3], [4, 5, 6]], dtype=np.int16)
    yield line("scalar", np.int16(7))
    yield line("one_axis", np.arange(5, dtype=np.int16))
    yield line("empty", np.zeros((3, 0, 2), dtype=np.int16))
    yield line("column_major", np.asfortranarray(numbers))
    yield line("column_major_in_name_only", np.asfortranarray(numbers[:1]))
    yield line("big_endian", numbers.astype(">i2"))
    yield line("many_axes", np.zeros((1,) * 64, dtype=np.int16))
    texts = [["", "a", "äöü"], ["𝄞", "NaN", "x y"]]
    yield line("strings", np.array(texts))
    yield line("strings_big_endian", np.array(texts).astype(">U3"))
    yield line("strings_column_major", np.asfortranarray(np.array(texts)))
    yield line("strings_of_bytes", np.char.encode(np.array(texts), "utf-8"))
    yield line("strings_of_no_character", np.array(["", ""]))


(Path(__file__).parent / "npy.txt").write_text("".join(lines()))
