"""ONNX's node tests of older releases, whose models have older opsets, on bits: what files/tests/onnx/fetch.sh gets."""

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import wgpu_cast.onnx_backend as backend
from element_types import TYPES, Array
from models import codes

ROOT = Path(__file__).resolve().parents[3]
DATA = ROOT / "target" / "onnx-node-data"
# Differences that the Rust tests accept too, and check.
ACCEPTED = {tuple(line.split()[:2]) for line in (ROOT / "files/tests/onnx/accepted.txt").read_text().splitlines() if line and line[0] != "#"}
RELEASES = "1.14.1 1.15.0 1.16.2 1.17.0 1.18.0 1.19.1 1.20.1 1.21.0 1.22.0".split()


def tensors(case: Path, kind: str, types: list[int]) -> list[Array]:
    """The tensors of a case. Up to 1.18 BFLOAT16 is stored as UINT16: the model is right."""
    found = []
    for index, number in enumerate(types):
        array = numpy_helper.to_array(onnx.load_tensor(str(case / "test_data_set_0" / f"{kind}_{index}.pb")))
        is_bfloat16 = number == TYPES["bfloat16"].number and array.dtype == np.uint16
        found.append(array.view(ml_dtypes.bfloat16) if is_bfloat16 else array)
    return found


def told(array: Array) -> tuple[str, list[Any]]:
    return ("string", array.ravel().tolist()) if array.dtype == object else codes(array)


@pytest.mark.parametrize("release", RELEASES)
def test_node_data_on_bits(release: str) -> None:
    cases = sorted((DATA / release).glob("test_cast*"))
    if not cases:
        pytest.skip("ONNX's node tests of older releases: run files/tests/onnx/fetch.sh first")
    different = set()
    for case in cases:
        model = onnx.load(case / "model.onnx")
        inputs, outputs = ([value.type.tensor_type.elem_type for value in side] for side in (model.graph.input, model.graph.output))
        got = backend.run_model(model, tensors(case, "input", inputs))
        if [told(one) for one in got] != [told(one) for one in tensors(case, "output", outputs)]:
            different.add((release, case.name))
    assert different == {accepted for accepted in ACCEPTED if accepted[0] == release}
