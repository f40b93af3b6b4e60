"""What README.md says: its examples, its tables, and what other libraries cannot take."""

import doctest
import importlib.metadata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import wgpu_cast
from differences import RULES

README = Path(__file__).resolve().parents[1] / "README.md"


def table(heading: str) -> list[list[str]]:
    """The rows of the first table below a heading, without its head."""
    section = README.read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line.startswith("|")]
    return rows[2:]


def test_examples() -> None:
    assert doctest.testfile(str(README), module_relative=False, encoding="utf-8") == doctest.TestResults(failed=0, attempted=15)


def test_element_types() -> None:
    of_strings = ["`string`", "8", "–", "`str`, `StringDType`, `S`, `object` of `str`", "numpy"]
    rows = [
        [f"`{of.name}`", str(of.onnx), str(of.bits), f"`{of.dtype}`", "numpy" if of.dtype.isbuiltin == 1 else "ml_dtypes"]
        if of.bits
        else of_strings
        for of in wgpu_cast.ELEMENT_TYPES
    ]
    assert table("Element types") == rows


def test_differences() -> None:
    assert table("What differs from `astype`") == [[rule.name, rule.reason] for rule in RULES]


def array(name: str) -> Any:
    return np.ones(4, getattr(ml_dtypes, name))


def torch_to_numpy() -> object:
    torch = pytest.importorskip("torch", reason="torch: what its tensors cannot be")
    return torch.ones(4).to(torch.float8_e4m3fn).numpy()


def numpy_to_torch() -> object:
    torch = pytest.importorskip("torch", reason="torch: what its tensors cannot be")
    return torch.from_numpy(array("bfloat16"))


def jax_by_dlpack(dtype: str) -> object:
    jax = pytest.importorskip("jax", reason="jax: what DLPack cannot take of it")
    return np.from_dlpack(jax.numpy.asarray(array(dtype)))


def safetensors_by_numpy(folder: Path) -> object:
    from safetensors import safe_open
    from safetensors.numpy import save_file

    save_file({"x": array("float8_e4m3fn")}, folder / "x.safetensors")
    with safe_open(folder / "x.safetensors", "numpy") as file:
        return file.get_tensor("x")


LIMITS: list[tuple[str, Callable[[Path], object], str]] = [
    ("numpy", lambda _: jax_by_dlpack("float8_e4m3fn"), "RuntimeError: Unsupported dtype in DLTensor."),
    ("numpy", lambda _: jax_by_dlpack("bfloat16"), "RuntimeError: Unsupported dtype in DLTensor."),
    ("ml_dtypes", lambda _: memoryview(array("float8_e4m3fn")), "ValueError: cannot include dtype '4' in a buffer"),
    (
        "ml_dtypes",
        lambda _: array("bfloat16").__dlpack__(),
        "BufferError: DLPack only supports signed/unsigned integers, float and complex dtypes.",
    ),
    ("torch", lambda _: torch_to_numpy(), "TypeError: Got unsupported ScalarType Float8_e4m3fn"),
    ("torch", lambda _: numpy_to_torch(), "TypeError: can't convert np.ndarray of type ml_dtypes.bfloat16."),
    ("jax", lambda _: jax_by_dlpack("int4"), "JaxRuntimeError: UNIMPLEMENTED: XLA type S4 has no DLPack equivalent"),
    ("safetensors", safetensors_by_numpy, "AttributeError: module 'numpy' has no attribute 'float8_e4m3fn'"),
]


@pytest.mark.parametrize(("library", "attempt", "text"), [pytest.param(*row, id=f"{row[0]} {row[2]}") for row in LIMITS])
def test_what_other_libraries_cannot_take(library: str, attempt: Callable[[Path], object], text: str, tmp_path: Path) -> None:
    """If a library learns to take it, the README has to say so."""
    with pytest.raises(Exception) as error:
        attempt(tmp_path)
    found = f"{type(error.value).__name__}: {error.value}"
    assert found.partition(" The only supported")[0] == text
    versions = dict(row[0].split() for row in table("What other libraries cannot take"))
    assert importlib.metadata.version(library).partition("+")[0] == versions[library]
