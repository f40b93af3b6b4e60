"""What the module shows: names, documentation, types, devices."""

import dataclasses
import inspect
import pydoc
import subprocess
import sys
from importlib import metadata

import numpy as np
import pytest
import wgpu_cast


def test_names():
    assert wgpu_cast.__version__ == metadata.version("wgpu-cast")
    for name in wgpu_cast.__all__:
        thing = getattr(wgpu_cast, name)
        if name not in ("ELEMENT_TYPES", "__version__"):
            assert thing.__doc__, name
    page = pydoc.render_doc(wgpu_cast, renderer=pydoc.plaintext)
    for name in wgpu_cast.__all__:
        assert name in page or name == "__version__"
    assert str(inspect.signature(wgpu_cast.cast)) == (
        "(x, to, *, saturate=True, round_mode='up', out=None, strict=False, losses=False, device='cpu', opset=None, "
        "scale=None, block=None, zero_point=None)"
    )


def test_errors():
    assert issubclass(wgpu_cast.CastError, ValueError)
    for name in ("ConvertError", "DeviceError", "LossError", "MissingLibraryError"):
        assert issubclass(getattr(wgpu_cast, name), wgpu_cast.CastError)
    assert issubclass(wgpu_cast.MissingLibraryError, ImportError)
    losses = wgpu_cast.Losses(infinite=1, nan=2, saturated=3, out_of_range=4, zero=5, subnormal=6, nan_to_number=7)
    assert (losses.total, losses.overflowed) == (28, 10)
    error = wgpu_cast.LossError("text", losses)
    assert (str(error), error.losses) == ("text", losses)
    with pytest.raises(dataclasses.FrozenInstanceError):
        losses.nan = 0


def test_devices():
    for device in wgpu_cast.devices():
        assert device.name and device.backend and device.reason


CASTS = """
import numpy as np, wgpu_cast
x = np.array([1.0, 500.0, -0.1, np.nan], np.float32)
for to in ("float16", "bfloat16", "float8e4m3fn", "int4", "float4e2m1"):
    on_cpu, expected = wgpu_cast.cast(x, to, losses=True)
    on_gpu, lost = wgpu_cast.cast(x, to, losses=True, device="gpu")
    assert on_gpu.dtype == on_cpu.dtype and on_gpu.tobytes() == on_cpu.tobytes() and lost == expected
    out = np.empty((2, 2), on_cpu.dtype)
    wgpu_cast.cast(x.reshape(2, 2).T, to, device="gpu", out=out)
    assert out.tobytes() == on_cpu.reshape(2, 2).T.tobytes()
    assert wgpu_cast.cast(on_cpu, "float32", device="gpu").tobytes() == wgpu_cast.cast(on_cpu, "float32").tobytes()
"""


def test_a_gpu():
    """Any adapter serves, such as Mesa's software adapter. Without one, the error says so."""
    if wgpu_cast.devices():
        subprocess.run([sys.executable, "-c", CASTS], check=True)
    else:
        with pytest.raises(wgpu_cast.DeviceError):
            wgpu_cast.cast(np.ones(1, np.float32), "float16", device="gpu")


def test_no_adapter(monkeypatch):
    hidden = {"VK_DRIVER_FILES": "/nonexistent", "VK_ICD_FILENAMES": "/nonexistent", "__EGL_VENDOR_LIBRARY_FILENAMES": "/nonexistent"}
    code = """
import numpy as np, wgpu_cast
assert wgpu_cast.devices() == []
try:
    wgpu_cast.cast(np.ones(1, np.float32), "float16", device="gpu")
except wgpu_cast.DeviceError as error:
    print(type(error).__name__)
"""
    for name, value in hidden.items():
        monkeypatch.setenv(name, value)
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "DeviceError\n"


SUBINTERPRETER = '''
import sys
try:
    import _interpreters
except ImportError:
    import _xxsubinterpreters as _interpreters
code = """
try:
    import wgpu_cast, numpy
    assert wgpu_cast.cast(numpy.ones(1), "int8").tolist() == [1]
    print("imported", flush=True)
except ImportError as error:
    print(repr(error), flush=True)
"""
for interpreter in sys.argv[1:]:
    if interpreter == "main":
        exec(code)
    else:
        _interpreters.run_string(_interpreters.create(), code)
'''


@pytest.mark.parametrize("order", [("main", "sub"), ("sub", "main"), ("sub", "sub", "main")])
def test_one_interpreter_of_a_process_imports_the_module(order):
    """The first one, except that an isolated subinterpreter cannot."""
    ran = subprocess.run([sys.executable, "-W", "ignore", "-c", SUBINTERPRETER, *order], capture_output=True, text=True, check=True)
    refusals = [
        "wgpu_cast._native does not support loading in subinterpreters",
        "cannot load module more than once per process",
        "this module can only be loaded into one interpreter per process",
    ]
    told = ran.stdout.splitlines()
    assert len(told) == len(order), ran
    imported = "main" if sys.version_info >= (3, 12) else order[0]
    assert told.index("imported") == order.index(imported), ran
    assert all(any(text in line for text in refusals) for line in told if line != "imported"), ran
