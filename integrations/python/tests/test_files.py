"""Conversions of files, and the command."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import wgpu_cast
from wgpu_cast import ConvertError, Losses, convert, info

COMMAND = [sys.executable, "-m", "wgpu_cast"]


def safetensors(path, tensors):
    """Writes float32 tensors."""
    header, data = {}, b""
    for name, tensor in tensors.items():
        end = len(data) + tensor.nbytes
        header[name] = {"dtype": "F32", "shape": tensor.shape, "data_offsets": [len(data), end]}
        data += tensor.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def test_a_checkpoint(tmp_path):
    source, target = tmp_path / "a.safetensors", tmp_path / "b.safetensors"
    weight = np.array([[1.0, 70000.0], [1e-9, 2.0]], np.float32)
    safetensors(source, {"a.weight": weight, "a.bias": np.ones(2, np.float32)})
    calls = []
    done = convert(source, target, to=np.float16, exclude=["*.bias"], progress=lambda *call: calls.append(call))
    tensors = sorted(done.tensors, key=lambda tensor: tensor.name)
    assert [(t.name, t.shape, t.source_type, t.type, t.source_bytes, t.bytes, t.losses) for t in tensors] == [
        ("a.bias", (2,), "float", "float", 8, 8, None),
        ("a.weight", (2, 2), "float", "float16", 16, 8, Losses(infinite=1, zero=1)),
    ]
    assert done.losses == Losses(infinite=1, zero=1)
    assert done.warnings == ("1 value beyond the range of the type (--strict makes this an error, --stats lists all tensors)",)
    assert done.route == "on the CPU (--device cpu)"
    assert calls and all(total == target.stat().st_size for _, total, _ in calls)
    assert calls[-1][0] == calls[-1][1]
    listed = sorted(info(target), key=lambda tensor: tensor.name)
    assert [(t.file, t.name, t.shape, t.type, t.bytes) for t in listed] == [
        (str(target), "a.bias", (2,), "float", 8),
        (str(target), "a.weight", (2, 2), "float16", 8),
    ]
    expected = wgpu_cast.cast(weight, "float16").tobytes()
    assert expected in target.read_bytes()


def test_an_array_in_every_spelling(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(6, dtype=np.float64).reshape(2, 3))
    for to in ("float16", 10, np.float16, np.dtype("f2"), wgpu_cast.element_type("half")):
        convert(str(tmp_path / "a.npy"), str(tmp_path / "b.npy"), to=to)
        result = np.load(tmp_path / "b.npy")
        assert result.dtype == np.float16 and result.tolist() == [[0, 1, 2], [3, 4, 5]]
    convert([tmp_path / "a.npy", tmp_path / "b.npy"], tmp_path / "folder", to="int8")
    assert [np.load(tmp_path / "folder" / name).dtype for name in ("a.npy", "b.npy")] == [np.int8, np.int8]
    np.savez(tmp_path / "a.npz", x=np.ones(3, np.float32), y=np.ones(2, np.int64))
    convert(tmp_path / "a.npz", tmp_path / "b.npz", to="float16", options=["--map", "y=int32"])
    assert [(t.name, t.type) for t in info(tmp_path / "b.npz")] == [("x", "float16"), ("y", "int32")]


def test_refused(tmp_path):
    missing = tmp_path / "a.npy"
    with pytest.raises(ConvertError) as caught:
        convert(missing, tmp_path / "b.npy", to="float16")
    assert str(caught.value) == f"{missing}: No such file or directory (os error 2)"
    assert caught.value.status == 1
    np.save(missing, np.array([70000.0]))
    with pytest.raises(ConvertError) as caught:
        convert(missing, tmp_path / "b.npy", to="float16", strict=True)
    assert caught.value.status == 1
    with pytest.raises(ConvertError) as caught:
        convert(missing, tmp_path / "b.npy", to="float16", options=["--frobnicate"])
    assert str(caught.value) == "unexpected argument '--frobnicate' found; tip: a similar argument exists: '--in-format'"
    assert caught.value.status == 2
    with pytest.raises(ConvertError) as caught:
        info(missing, options=["--from", "float9"])
    assert caught.value.status == 2
    assert os.listdir(tmp_path) == ["a.npy"]


def test_dry_runs(tmp_path):
    """Losses are not known before the work."""
    source, target = tmp_path / "a.safetensors", tmp_path / "b.safetensors"
    safetensors(source, {"a.weight": np.array([[1.0, 70000.0]], np.float32), "a.bias": np.ones(2, np.float32)})
    done = convert(source, target, to="float16", exclude=["*.bias"], options=["--dry-run"])
    assert [(t.name, t.source_type, t.type, t.bytes, t.losses) for t in sorted(done.tensors, key=lambda tensor: tensor.name)] == [
        ("a.bias", "float", "float", 8, None),
        ("a.weight", "float", "float16", 4, None),
    ]
    assert (done.losses, done.seconds, done.route, done.warnings) == (None, None, None, ())
    done = convert(source, target, to="float8e4m3fn", options=["--quantize", "row", "--dry-run"])
    assert [t.losses for t in done.tensors if t.type == "float8e4m3fn"] == [None]
    np.save(tmp_path / "c.npy", np.ones(2))
    done = convert([tmp_path / "c.npy", source], tmp_path / "folder", to="float16", options=["--dry-run"])
    assert len(done.tensors) == 3
    assert sorted(os.listdir(tmp_path)) == ["a.safetensors", "c.npy"]


def test_scales_that_come_and_go(tmp_path):
    """A tensor that one side lacks has no type there."""
    source, small, back = (tmp_path / f"{name}.safetensors" for name in "abc")
    safetensors(source, {"a.weight": np.ones((2, 4), np.float32)})
    done = convert(source, small, to="float8e4m3fn", options=["--quantize", "row"])
    [scale] = [tensor for tensor in done.tensors if tensor.source_type is None]
    assert scale.type == "float" and scale.losses is None
    done = convert(small, back, to="bfloat16", options=["--dequantize"])
    assert [(t.name, t.source_type) for t in done.tensors if t.type is None] == [(scale.name, "float")]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"options": ["--help"]}, ConvertError, "options has --help, which prints a text: run wgpu-cast --help"),
        ({"options": ["-V"]}, ConvertError, "options has -V, which prints a text: run wgpu-cast -V"),
        # A text is a sequence of texts; the first pattern would match everything.
        ({"only": "*.bias"}, TypeError, "only must be a list of str, got the str '*.bias'"),
        ({"exclude": "*.bias"}, TypeError, "exclude must be a list of str, got the str '*.bias'"),
        ({"options": "--strict"}, TypeError, "options must be a list of str, got the str '--strict'"),
        ({"only": 3}, TypeError, "only must be a list of str, got int"),
        ({"options": None}, TypeError, "options must be a list of str, got NoneType"),
        ({"options": iter(["--help"])}, ConvertError, "options has --help, which prints a text: run wgpu-cast --help"),
        ({"source": None}, TypeError, "source must be a path or a list of paths, got NoneType"),
        ({"source": 3}, TypeError, "source must be a path or a list of paths, got int"),
        ({"source": ["a.npy", None]}, TypeError, "source must be a path, got NoneType"),
        ({"source": ""}, ConvertError, "source is an empty path"),
        ({"source": ["a.npy", ""]}, ConvertError, "source is an empty path"),
        ({"target": ""}, ConvertError, "target is an empty path"),
        ({"target": None}, TypeError, "target must be a path, got NoneType"),
        ({"path": ""}, ConvertError, "path is an empty path"),
        ({"path": "a.npy", "options": ["--help"]}, ConvertError, "options has --help, which prints a text: run wgpu-cast --help"),
    ],
)
def test_arguments_of_another_kind(arguments, error, message):
    with pytest.raises(error) as caught:
        if "path" in arguments:
            info(**arguments)
        else:
            convert(**({"source": "a.npy", "target": "b.npy", "to": "float16"} | arguments))
    assert str(caught.value) == message


class Stop(Exception):
    pass


def big(tmp_path):
    """A file whose conversion takes many pieces."""
    source = tmp_path / "a.npy"
    np.save(source, np.zeros((1 << 24), np.float32))
    return source


def test_an_exception_of_progress_stops_and_leaves_nothing(tmp_path):
    source = big(tmp_path)

    def progress(done, total, name):
        raise Stop

    with pytest.raises(Stop):
        convert(source, tmp_path / "b.npy", to="float16", options=["--memory", "1MiB"], progress=progress)
    assert os.listdir(tmp_path) == ["a.npy"]


INTERRUPTED = """
import os, signal, sys
import wgpu_cast
signal.signal(signal.SIGINT, signal.default_int_handler)
def progress(done, total, name):
    os.kill(os.getpid(), signal.SIGINT)
try:
    wgpu_cast.convert(sys.argv[1], sys.argv[2], to="float16", options=["--memory", "1MiB"], progress=progress)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
def test_ctrl_c_stops_and_leaves_nothing(tmp_path):
    source = big(tmp_path)
    run = [sys.executable, "-c", INTERRUPTED, source, tmp_path / "b.npy"]
    ran = subprocess.run(run, capture_output=True, text=True, timeout=120)
    assert (ran.stdout, ran.stderr, ran.returncode) == ("interrupted\n", "", 0)
    assert os.listdir(tmp_path) == ["a.npy"]


def test_the_command(tmp_path):
    np.save(tmp_path / "a.npy", np.ones(3, np.float32))
    ran = subprocess.run(
        [*COMMAND, "convert", "a.npy", "b.npy", "--to", "float16"], cwd=tmp_path, capture_output=True, text=True
    )
    assert (ran.returncode, ran.stdout) == (0, "")
    assert ran.stderr == (
        "float -> float16, 3 elements, on the CPU (faster than copying to a GPU and back); no value was lost\n"
    )
    assert np.load(tmp_path / "b.npy").tolist() == [1, 1, 1]
    for arguments, status in [
        (["--version"], 0),
        (["info", "b.npy"], 0),
        ([], 2),
        (["convert", "a.npy"], 2),
        (["info", "missing.npy"], 1),
    ]:
        ran = subprocess.run([*COMMAND, *arguments], cwd=tmp_path, capture_output=True, text=True)
        assert ran.returncode == status, arguments
    assert ran.stderr == "wgpu-cast: missing.npy: No such file or directory (os error 2)\n"
    version = subprocess.run([*COMMAND, "--version"], capture_output=True, text=True).stdout
    assert version == f"wgpu-cast {wgpu_cast.__version__}\n"


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_command(tmp_path, number):
    """Its input is a pipe that stays open, so that it waits."""
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip("this process ignores the signal")
    run = [*COMMAND, "convert", "-", "b.npy", "--in-format", "bin", "--from", "float", "--to", "float16"]
    started = subprocess.Popen(run, cwd=tmp_path, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        time.sleep(3)
        started.send_signal(number)
        _, told = started.communicate(timeout=60)
    finally:
        started.kill()
    assert started.returncode in (-number, 128 + number), told
    assert os.listdir(tmp_path) == []
