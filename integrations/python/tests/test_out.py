"""Results in arrays of the caller."""

import ml_dtypes
import numpy as np
import pytest
from wgpu_cast import CastError, cast

X = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize(
    "x", [X, np.asfortranarray(X), X[:, ::-1], X.astype(">f4"), X.T.copy().T, np.broadcast_to(X[0], (3, 4))]
)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("to", [np.float16, ml_dtypes.bfloat16, ml_dtypes.int4, np.float32])
def test_results(x, order, to):
    out = np.full((3, 4), 3, to, order=order)
    assert cast(x, to, out=out) is out
    assert out.tobytes() == x.astype(to).tobytes()


def test_losses_and_scalars():
    out = np.empty((), np.float16)
    result, losses = cast(np.float32(7e9), "float16", out=out, losses=True)
    assert result is out and out.tolist() == np.inf and losses.infinite == 1
    out = np.empty((0, 3), np.float16)
    assert cast(np.empty((0, 3)), "float16", out=out) is out


def read_only():
    out = np.empty((3, 4), np.float16)
    out.flags.writeable = False
    return out


MEMORY = np.zeros(64, np.uint8)


@pytest.mark.parametrize(
    ("x", "out", "error", "message"),
    [
        (X, [0] * 12, TypeError, "out must be a numpy array, got list"),
        (X, np.ma.zeros((3, 4), np.float16), CastError, "out is a masked array: give out.data"),
        (X, np.empty((3, 4), np.float32), CastError, "out has the dtype float32, the result has float16"),
        (X, np.empty((3, 4), ">f2"), CastError, "out has the dtype >f2, the result has float16"),
        (X, np.empty((4, 3), np.float16), CastError, "out has the shape (4, 3), the result has (3, 4)"),
        (X, np.empty(12, np.float16), CastError, "out has the shape (12,), the result has (3, 4)"),
        (X, read_only(), CastError, "out is read-only"),
        (X, np.empty((3, 8), np.float16)[:, ::2], CastError, "out is not contiguous"),
        (X, MEMORY[1:25].view(np.float16).reshape(3, 4), CastError, "out is not aligned"),
        (
            MEMORY[:24].view(np.int16),
            MEMORY[2:26].view(np.float16),
            CastError,
            "out and the source share memory",
        ),
        (np.array("1"), np.empty((), np.float32), CastError, "out has the dtype float32, the result has float16"),
        (np.array(["1"]), np.empty(2, np.float16), CastError, "out has the shape (2,), the result has (1,)"),
    ],
)
def test_refused(x, out, error, message):
    before = np.array(out).tobytes()
    with pytest.raises(error) as caught:
        cast(x, "float16", out=out)
    assert str(caught.value) == message
    assert np.array(out).tobytes() == before


def test_parts_of_one_array():
    both = np.zeros((2, 4), np.float32)
    both[0] = [1, 2, 3, 4]
    cast(both[0].view(np.int32), "float", out=both[1])
    assert both.tolist() == [[1, 2, 3, 4], [1065353216, 1073741824, 1077936128, 1082130432]]
