"""What users' programs do: loaders of checkpoints, models whose weights are made smaller, arrays of other libraries."""

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import wgpu_cast
from element_types import TYPES, Array, Options
from expected import expected
from models import codes, model
from wgpu_cast.onnx_reference import new_ops


def weights(shape: tuple[int, ...], dtype: Any) -> Array:
    return np.random.default_rng(1).normal(size=shape).astype(np.float32).astype(dtype)


def test_loader_of_safetensors(tmp_path: Path) -> None:
    """The tensors of a bfloat16 checkpoint, one by one, as float16 for torch."""
    torch = pytest.importorskip("torch", reason="torch: safetensors to torch tensors")
    from safetensors import safe_open
    from safetensors.numpy import save_file

    path = tmp_path / "model.safetensors"
    stored = {"up": weights((8, 16), ml_dtypes.bfloat16), "down": weights((16, 8), ml_dtypes.bfloat16)}
    save_file(stored, path)
    loaded = {}
    with safe_open(path, "numpy") as file:
        for name in file.keys():
            loaded[name] = torch.from_numpy(wgpu_cast.cast(file.get_tensor(name), "float16"))
    for name, tensor in loaded.items():
        assert (tensor.dtype, tuple(tensor.shape)) == (torch.float16, stored[name].shape)
        assert codes(tensor.numpy()) == codes(stored[name].astype(np.float16))
    # The same with torch's own reader, which has float8 too.
    with safe_open(path, "pt") as file:
        small = {name: wgpu_cast.cast(file.get_tensor(name), torch.float8_e4m3fn) for name in file.keys()}
    for name, tensor in small.items():
        assert tensor.dtype == torch.float8_e4m3fn
        assert codes(tensor.view(torch.uint8).numpy().view(ml_dtypes.float8_e4m3fn)) == codes(stored[name].astype(ml_dtypes.float8_e4m3fn))


TORCH = "float double float16 bfloat16 float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz float8e8m0 bool int8 int16 int32 int64 uint8 uint16 uint32 uint64"


def test_every_pair_of_torch_tensors() -> None:
    """Tensors in, tensors out, on bits."""
    torch = pytest.importorskip("torch", reason="torch: every pair of its tensors")
    names = {name: getattr(torch, TYPES[name].dtype.name) for name in TORCH.split()}
    for source, dtype in names.items():
        x = TYPES[source].array(np.arange(256 if source != "bool" else 2))
        tensor = torch.from_numpy(x.view(np.uint8).copy()).view(dtype)
        for to, target in names.items():
            got = wgpu_cast.cast(tensor, target)
            assert (got.dtype, got.shape) == (target, tensor.shape)
            wanted = expected(x, TYPES[source], TYPES[to], Options())
            assert got.view(torch.uint8).numpy().tobytes() == wanted.tobytes(), f"{source} to {to}"


def test_loop_over_variables() -> None:
    """Keras loads bfloat16 weights into float16 variables that exist already."""
    variables = {name: np.zeros(shape, np.float16) for name, shape in {"kernel": (3, 3, 4, 8), "bias": (8,), "scale": ()}.items()}
    stored = {name: weights(value.shape, ml_dtypes.bfloat16) for name, value in variables.items()}
    for name, variable in variables.items():
        assert wgpu_cast.cast(stored[name], variable.dtype, out=variable) is variable
    for name, variable in variables.items():
        assert codes(variable) == codes(stored[name].astype(np.float16))


def test_initializers_made_float8() -> None:
    """A model's weights become FLOAT8E4M3FN with a Cast before their use; the evaluator then computes with what was rounded."""
    w, b = weights((4, 3), np.float32), weights((3,), np.float32)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["xw"]), helper.make_node("Add", ["xw", "b"], ["y"])]
    made = model(nodes, {"x": 1}, {"y": 1}, 25, initializer=[numpy_helper.from_array(w, "w"), numpy_helper.from_array(b, "b")])
    graph = made.graph
    for index, tensor in enumerate(graph.initializer):
        small = wgpu_cast.cast(numpy_helper.to_array(tensor), "float8e4m3fn")
        stored = numpy_helper.from_array(small, f"{tensor.name}_float8")
        # The same by make_tensor with packed bytes.
        raw = helper.make_tensor(stored.name, stored.data_type, small.shape, wgpu_cast.pack(small).tobytes(), raw=True)
        assert stored.SerializeToString(deterministic=True) == raw.SerializeToString(deterministic=True)
        graph.node.insert(index, helper.make_node("Cast", [stored.name], [tensor.name], to=onnx.TensorProto.FLOAT))
        tensor.CopyFrom(stored)
    onnx.checker.check_model(made, full_check=True)
    x = weights((2, 4), np.float32)
    run: Any = ReferenceEvaluator(made, new_ops=new_ops).run
    [y] = run(None, {"x": x})
    rounded = [one.astype(ml_dtypes.float8_e4m3fn).astype(np.float32) for one in (w, b)]
    assert codes(y) == codes(x @ rounded[0] + rounded[1])


def test_arrays_of_jax() -> None:
    jax = pytest.importorskip("jax", reason="jax: its arrays as sources")
    x = jax.numpy.asarray(weights((3, 5), np.float32))
    # By __array__, as every array of jax; without a copy.
    got = wgpu_cast.cast(x, jax.numpy.float8_e4m3fn)
    assert (type(got), codes(got)) == (np.ndarray, codes(np.asarray(x).astype(ml_dtypes.float8_e4m3fn)))
    assert codes(wgpu_cast.cast(x.astype(jax.numpy.bfloat16), "float16")) == codes(np.asarray(x).astype(ml_dtypes.bfloat16).astype(np.float16))


class OnlyDlpack:
    """An array of a library that numpy reads by DLPack alone."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __dlpack__(self, **more: Any) -> Any:
        return self.x.__dlpack__(**more)

    def __dlpack_device__(self) -> Any:
        return self.x.__dlpack_device__()


def test_arrays_of_jax_by_dlpack() -> None:
    jax = pytest.importorskip("jax", reason="jax: its arrays by DLPack")
    x = jax.numpy.asarray(weights((3, 5), np.float32))
    assert codes(wgpu_cast.cast(OnlyDlpack(x), "float16")) == codes(np.asarray(x).astype(np.float16))
    with pytest.raises(wgpu_cast.CastError) as error:
        wgpu_cast.cast(OnlyDlpack(x.astype(jax.numpy.float8_e4m3fn)), "float16")
    assert str(error.value) == "numpy cannot take the memory of this OnlyDlpack by DLPack: Unsupported dtype in DLTensor."
