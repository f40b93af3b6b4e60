"""ONNX's own runner judges the backend: every node test of Cast and CastLike, and those of Identity and Constant on tensors."""

import unittest
import warnings

import onnx.backend.test
import pytest

from wgpu_cast.onnx_backend import CastBackend

# Their inputs are a sequence and an optional.
NO_TENSORS = "test_identity_(sequence|opt)_"
NAMES = "^test_(cast|constant_cpu|identity)"


@pytest.fixture(scope="module")
def runner() -> onnx.backend.test.BackendTest:
    with warnings.catch_warnings():
        # Cases of other operators divide by zero.
        warnings.simplefilter("ignore", RuntimeWarning)
        return onnx.backend.test.BackendTest(CastBackend, __name__).include(NAMES).exclude(NO_TENSORS)


def test_onnx_runner(runner: onnx.backend.test.BackendTest, capsys: pytest.CaptureFixture[str]) -> None:
    [cases] = [case for name, case in runner.test_cases.items() if name == "OnnxBackendNodeModelTest"]
    names = [name for name in unittest.defaultTestLoader.getTestCaseNames(cases) if name.endswith("_cpu")]
    suite = unittest.TestSuite(cases(name) for name in names)
    result = unittest.TestResult()
    suite.run(result)
    ran = {name for name in names if name not in {test.id().rpartition(".")[2] for test, _ in result.skipped}}
    assert [error for _, error in result.errors + result.failures] == []
    casts = [name for name in ran if name.startswith("test_cast")]
    with capsys.disabled():
        print(f"\nonnx {onnx.__version__}, BackendTest: {len(ran)} passed, {len(casts)} of them Cast and CastLike", end=" ")
    assert (len(casts), sorted(ran - set(casts))) == (172, ["test_constant_cpu", "test_identity_cpu"])
