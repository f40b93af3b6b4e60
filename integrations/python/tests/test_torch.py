"""Tensors of torch."""

import numpy as np
import pytest
import wgpu_cast
from wgpu_cast import CastError, Losses, cast

torch = pytest.importorskip("torch")

X = [[1.0, -2.5, 0.1, 448.0], [0.0, 3.0, 70000.0, -7.0]]


@pytest.mark.parametrize("to", ["float16", "bfloat16", "float64", "float8_e4m3fn", "float8_e5m2", "int8", "bool"])
def test_tensors(to):
    x = torch.tensor(X)
    dtype = getattr(torch, to)
    expected = wgpu_cast.cast(np.array(X, np.float32), to)
    for view in (x, x.t(), x[:, ::2], x[1, 1], x[:0], torch.nn.Parameter(x)):
        expected = wgpu_cast.cast(view.detach().numpy(), to)
        result = cast(view, dtype)
        assert isinstance(result, torch.Tensor) and result.dtype == dtype and result.shape == view.shape
        assert codes(result) == expected.view(f"u{expected.itemsize}").tolist()
        back = cast(result, torch.float32)
        assert codes(back) == cast(expected, "float32").view("u4").tolist()


def codes(x):
    return x.view({1: torch.uint8, 2: torch.uint16, 4: torch.uint32, 8: torch.uint64}[x.element_size()]).tolist()


def test_pairs():
    x = torch.tensor(X)
    pairs = cast(x, torch.float4_e2m1fn_x2)
    assert pairs.dtype == torch.float4_e2m1fn_x2 and pairs.shape == (2, 2)
    assert pairs.view(torch.uint8).flatten().tolist() == wgpu_cast.pack(cast(x.numpy(), "float4e2m1")).tolist()
    assert cast(pairs, "float32").tolist() == [[1.0, -2.0, 0.0, 6.0], [0.0, 3.0, 6.0, -6.0]]
    assert wgpu_cast.pack(pairs).tolist() == pairs.view(torch.uint8).flatten().tolist()
    with pytest.raises(CastError) as caught:
        cast(x[:, :3], "float4e2m1")
    assert str(caught.value) == (
        "torch has float4e2m1 in pairs along the last axis: its length must be even, got the shape (2, 3)"
    )


def test_out_and_losses():
    x = torch.tensor(X)
    out = torch.empty(2, 4, dtype=torch.bfloat16)
    result, losses = cast(x, "bfloat16", out=out, losses=True)
    assert result is out and losses == Losses() and codes(out) == codes(cast(x, "bfloat16"))
    _, losses = cast(x, "float16", losses=True)
    assert losses == Losses(infinite=1)
    for out, message in [
        (torch.empty(2, 4), "out has the dtype torch.float32, the result has torch.bfloat16"),
        (torch.empty(8, dtype=torch.bfloat16), "out has the shape (8,), the result has (2, 4)"),
        (torch.empty(2, 8, dtype=torch.bfloat16)[:, ::2], "out is not contiguous"),
    ]:
        with pytest.raises(CastError) as caught:
            cast(x, "bfloat16", out=out)
        assert str(caught.value) == message
    with pytest.raises(TypeError) as type_error:
        cast(x, "bfloat16", out=np.empty((2, 4)))
    assert str(type_error.value) == "out must be a tensor of torch, got ndarray"


def test_refused():
    x = torch.tensor(X)
    for tensor, to, message in [
        (x, "float6e2m3", f"torch {torch.__version__} has no float6e2m3"),
        (x, "string", "torch has no strings"),
        (x.to_sparse(), "float16", "the tensor has the layout torch.sparse_coo: make it dense first"),
        (torch.empty(2, device="meta"), "float16", "the tensor is on the device meta: move it to the CPU first"),
        (torch.zeros(2, dtype=torch.complex64), "float16", "torch.complex64 is no element type of ONNX"),
    ]:
        with pytest.raises(CastError) as caught:
            cast(tensor, to)
        assert str(caught.value) == message


def test_a_dtype_of_torch_names_a_type_for_arrays():
    result = cast(np.ones(2, np.float32), torch.bfloat16)
    assert isinstance(result, np.ndarray) and result.dtype.name == "bfloat16"
