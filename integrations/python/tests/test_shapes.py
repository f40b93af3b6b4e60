"""Arrays of any layout, and of other libraries."""

import array
import os
import signal
import subprocess
import sys
import threading

import ml_dtypes
import numpy as np
import pytest
from wgpu_cast import CastError, cast

BASE = np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5) / 8

LAYOUTS = {
    "0-d": BASE[1, 1, 1, 1],
    "0-d array": np.array(1.5, np.float32),
    "empty": BASE[:, :0],
    "empty 1-d": np.empty(0, np.float32),
    "C": BASE,
    "Fortran": np.asfortranarray(BASE),
    "transposed": BASE.transpose(2, 0, 3, 1),
    "strided": BASE[:, ::2, 1:, ::3],
    "negative": BASE[::-1, :, ::-2],
    "all negative": BASE[::-1, ::-1, ::-1, ::-1],
    "broadcast": np.broadcast_to(BASE[0, 0], (3, 4, 5)),
    "one element": BASE[:1, :1, :1, :1],
    "size-1 axes": BASE[:, 1:2].transpose(3, 1, 0, 2),
    "column": BASE[..., 2],
    "big-endian": BASE.astype(">f4"),
    "big-endian strided": BASE.astype(">f4")[:, ::2],
    "unaligned": np.frombuffer(b"\0" + BASE.tobytes(), np.uint8)[1:].view(np.float32).reshape(BASE.shape),
}


def read_only(x):
    x = x.view()
    x.flags.writeable = False
    return x


LAYOUTS["read-only"] = read_only(BASE)


def steps(x):
    """The strides of the axes along which there are steps."""
    return [stride for stride, length in zip(x.strides, x.shape) if length > 1]


@pytest.mark.parametrize("to", [np.float16, ml_dtypes.bfloat16, np.float64, ml_dtypes.int4, np.bool_])
@pytest.mark.parametrize("x", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_shape_strides_and_values_are_those_of_astype(x, to):
    expected = np.asarray(x).astype(to, subok=False)
    result = cast(x, to)
    assert type(result) is np.ndarray
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    assert steps(result) == steps(expected)
    assert result.tobytes() == expected.tobytes()
    assert result.flags.writeable and result.flags.owndata


@pytest.mark.parametrize("name", ["int4", "float6_e2m3fn", "bfloat16"])
def test_layouts_of_narrow_sources(name):
    x = (BASE.astype(np.int32) % 7).astype(getattr(ml_dtypes, name))
    for view in (x, x[:, ::2], x[::-1], x.transpose(1, 0, 3, 2), np.asfortranarray(x), x[0, 0, 0, 0]):
        result = cast(view, "float32")
        expected = view.astype(np.float32)
        assert result.shape == expected.shape and result.tobytes() == expected.tobytes()
        assert steps(result) == steps(expected)


def test_a_long_strided_array():
    x = np.arange(1 << 19, dtype=np.float64)[::-3]
    assert cast(x, "float32").tobytes() == x.astype(np.float32).tobytes()


def test_what_is_no_numpy_array():
    expected = np.array([1, 2, 3], np.float16)
    for x in (
        [1, 2, 3],
        (1.0, 2.0, 3.0),
        array.array("i", [1, 2, 3]),
        bytearray([1, 2, 3]),
        memoryview(b"\1\2\3"),
        ByArray(),
        ByDlpack(),
    ):
        result = cast(x, "float16")
        assert result.dtype == np.float16 and result.tolist() == expected.tolist()
    assert cast(True, "int8").tolist() == 1
    assert cast(np.float32(2.5), "float16").tolist() == 2.5


class ByArray:
    def __array__(self, dtype=None, copy=None):
        return np.array([1, 2, 3], ml_dtypes.bfloat16)


class ByDlpack:
    def __dlpack__(self, **arguments):
        return np.array([1, 2, 3], np.int16).__dlpack__(**arguments)

    def __dlpack_device__(self):
        return (1, 0)


def test_subclasses_give_plain_arrays(tmp_path):
    path = tmp_path / "x.bin"
    np.arange(4, dtype=np.float32).tofile(path)
    result = cast(np.memmap(path, np.float32, "r"), "float16")
    assert type(result) is np.ndarray and result.tolist() == [0, 1, 2, 3]


def test_masked_arrays_are_refused():
    x = np.ma.masked_array([1.0, 2.0], [True, False])
    with pytest.raises(CastError) as caught:
        cast(x, "float16")
    assert str(caught.value) == "x is a masked array, and the values behind the mask may be invalid: give x.filled() or x.data"
    one = np.array([1.0], np.float32)
    for arguments in ({"scale": np.ma.masked_array(one)}, {"scale": one, "zero_point": np.ma.masked_array([0])}):
        name = list(arguments)[-1]
        with pytest.raises(CastError) as caught:
            cast(np.ones(2, np.int8), "float", **arguments)
        assert str(caught.value) == (
            f"{name} is a masked array, and the values behind the mask may be invalid: give {name}.filled() or {name}.data"
        )


def test_lists_of_several_lengths():
    with pytest.raises(CastError) as caught:
        cast([[1], [2, 3]], "float")
    assert str(caught.value).startswith("x is no array: setting an array element with a sequence.")


BUSY = """
import signal
import numpy as np, wgpu_cast
x = np.zeros((1 << 26) + 1, bool)
out = np.zeros(x.shape, np.int8)
told = set()
def cast(*arguments):
    told_by(lambda: wgpu_cast.cast(*arguments[:2], out=arguments[2]))
def told_by(call):
    try:
        call()
    except wgpu_cast.CastError as error:
        told.add(str(error))
def others(*_):
    cast(out[:1], "uint8", None)
    cast(x[:1], "int8", out[:1])
    cast(x[:1], "uint8", None)
    told_by(lambda: wgpu_cast.pack(out[:1]))
    told_by(lambda: wgpu_cast.unpack(out[:1], "int8", 1))
signal.signal(signal.SIGALRM, others)
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
while not told:
    wgpu_cast.cast(x, "int8", out=out)
signal.setitimer(signal.ITIMER_REAL, 0)
print(sorted(told))
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="signals of Unix")
def test_arrays_of_a_cast_that_runs():
    """A handler of signals casts between two pieces of another cast, as another thread may."""
    ran = subprocess.run([sys.executable, "-c", BUSY], capture_output=True, text=True, timeout=300)
    wanted = ["data is being written by another cast", "out is in use by another cast", "x is being written by another cast"]
    assert ran.stdout == f"{wanted}\n", ran


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.zeros(2, np.complex64), "the dtype complex64 is no element type of ONNX"),
        (np.zeros(2, "f4,i4"), "the dtype [('f0', '<f4'), ('f1', '<i4')] is no element type of ONNX"),
        (np.zeros(2, "M8[s]"), "the dtype datetime64[s] is no element type of ONNX"),
        (np.zeros(2, ml_dtypes.int1) if hasattr(ml_dtypes, "int1") else np.zeros(2, "V1"), None),
        ({}, "element 0 of the object array is no str, but dict"),
    ],
)
def test_other_elements_are_refused(x, message):
    with pytest.raises(CastError) as caught:
        cast(x, "float32")
    assert message is None or str(caught.value) == message


def test_several_threads_cast_one_array():
    x = np.arange(1 << 16, dtype=np.float32)
    expected = x.astype(ml_dtypes.bfloat16).tobytes()
    wrong = []

    def work():
        for _ in range(20):
            if cast(x, "bfloat16").tobytes() != expected:
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


FORKED = """
import os, sys
import numpy as np
import wgpu_cast
x = np.arange(1 << 20, dtype=np.float32)
before = wgpu_cast.cast(x, "float16").tobytes()
child = os.fork()
if child == 0:
    os._exit(wgpu_cast.cast(x, "float16").tobytes() != before)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_has_threads_of_its_own():
    subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED], check=True, timeout=120)


WITHOUT = """
import sys
sys.modules["ml_dtypes"] = None
import numpy as np
import wgpu_cast
assert not {"torch", "onnx", "jax"} & set(sys.modules)
assert wgpu_cast.cast(np.ones(2, np.float32), "float16").tolist() == [1, 1]
try:
    wgpu_cast.cast(np.ones(2, np.float32), "bfloat16")
except wgpu_cast.MissingLibraryError as error:
    assert isinstance(error, ImportError)
    print(error)
"""


def test_without_ml_dtypes():
    ran = subprocess.run([sys.executable, "-c", WITHOUT], check=True, capture_output=True, text=True)
    assert ran.stdout == "numpy has no bfloat16: pip install ml_dtypes\n"


def test_import_loads_nothing_optional():
    code = "import sys, wgpu_cast; print(sorted({'ml_dtypes', 'torch', 'onnx', 'jax'} & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ran.stdout == "[]\n"
