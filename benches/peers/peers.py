"""What numpy with ml_dtypes, PyTorch and ONNX Runtime cast on a CPU.

A peer makes a task of a pair, or says None where it does not have it. A task casts when called and keeps its result.
"""

import os
from abc import ABC, abstractmethod

# Before the libraries read them. Threads that spin while others are timed would be timed with them, and on a machine
# with few cores waste a scheduler's whole slice at each operation.
os.environ.update(OMP_WAIT_POLICY="PASSIVE", GOMP_SPINCOUNT="0", KMP_BLOCKTIME="0")

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import helper

from elements import Bytes, ElementType, Pair, from_numpy, to_numpy

try:
    import torch
except ImportError:
    torch = None


class Task(ABC):
    """One cast of one pair, ready to be repeated."""

    @abstractmethod
    def __call__(self) -> None: ...

    @abstractmethod
    def result(self, elements: int) -> Bytes:
        """The packed codes of the first elements of what the last call made."""


class Peer(ABC):
    name: str
    # Whether it can use more than one thread; where not, its one is what stands beside ours with more.
    threaded = True

    @abstractmethod
    def version(self) -> str: ...

    @abstractmethod
    def task(self, pair: Pair, tile: Bytes, tile_elements: int, elements: int, threads: int) -> Task | None:
        """Casts `elements` elements, of which `tile` are the first and which repeat then."""


class Numpy(Peer):
    """np.copyto into an array that is there. Types narrower than a byte take a whole one."""

    name = "numpy"
    threaded = False

    def version(self) -> str:
        return f"numpy {np.__version__} with ml_dtypes {__import__('ml_dtypes').__version__}"

    def task(self, pair: Pair, tile: Bytes, tile_elements: int, elements: int, threads: int) -> Task | None:
        source, target = pair
        values = np.resize(to_numpy(tile, source, tile_elements), elements)
        task = NumpyTask(values, np.zeros(elements, target.dtype), target)
        try:
            task()
        except TypeError:
            return None
        return task


class NumpyTask(Task):
    def __init__(self, source: NDArray, out: NDArray, target: ElementType) -> None:
        self.source, self.out, self.target = source, out, target

    def __call__(self) -> None:
        with np.errstate(all="ignore"):
            np.copyto(self.out, self.source, casting="unsafe")

    def result(self, elements: int) -> Bytes:
        return from_numpy(self.out[:elements], self.target)


class TorchCopy(Peer):
    """Tensor.copy_ into a tensor that is there."""

    name = "torch copy_"

    def version(self) -> str:
        return f"torch {torch.__version__}"

    def task(self, pair: Pair, tile: Bytes, tile_elements: int, elements: int, threads: int) -> Task | None:
        source, target = (getattr(torch, of.torch or "", None) for of in pair)
        if source is None or target is None:
            return None
        torch.set_num_threads(threads)
        codes = np.resize(tile, pair[0].packed_bytes(elements))
        try:
            task = self.make(torch.from_numpy(codes).view(source), torch.ones(elements).to(target), pair[1])
            task()
        except (RuntimeError, NotImplementedError):
            return None
        return task

    def make(self, source: "torch.Tensor", out: "torch.Tensor", target: ElementType) -> Task:
        return TorchTask(source, out, target)


class TorchTask(Task):
    def __init__(self, source: "torch.Tensor", out: "torch.Tensor", target: ElementType) -> None:
        self.source, self.out, self.target = source, out, target

    def __call__(self) -> None:
        self.out.copy_(self.source)

    def result(self, elements: int) -> Bytes:
        return self.out.view(torch.uint8).numpy()[: self.target.packed_bytes(elements)].copy()


class TorchTo(TorchCopy):
    """Tensor.to, which makes a new tensor each time."""

    name = "torch .to"

    def make(self, source: "torch.Tensor", out: "torch.Tensor", target: ElementType) -> Task:
        return TorchToTask(source, out, target)


class TorchToTask(TorchTask):
    def __call__(self) -> None:
        self.out = self.source.to(self.out.dtype)


class Ort(Peer):
    """A model of one Cast on ONNX Runtime's CPU provider, input and output bound to memory that is there."""

    name = "ORT"

    def version(self) -> str:
        return f"onnxruntime {onnxruntime.__version__} (CPU)"

    def task(self, pair: Pair, tile: Bytes, tile_elements: int, elements: int, threads: int) -> Task | None:
        codes = np.resize(tile, pair[0].packed_bytes(elements))
        try:
            task = OrtTask(session(pair, threads), pair, codes, elements)
            task()
        except Exception:  # It raises a class of its own for each of its error codes.
            return None
        return task


class OrtTask(Task):
    def __init__(self, session: onnxruntime.InferenceSession, pair: Pair, codes: Bytes, elements: int) -> None:
        self.session, self.codes, self.target = session, codes, pair[1]
        self.out = np.ones(pair[1].packed_bytes(elements), np.uint8)
        self.binding = session.io_binding()
        source, target = map(onnx_code, pair)
        self.binding.bind_input("x", "cpu", 0, source, [elements], self.codes.ctypes.data)
        self.binding.bind_output("y", "cpu", 0, target, [elements], self.out.ctypes.data)

    def __call__(self) -> None:
        self.session.run_with_iobinding(self.binding)

    def result(self, elements: int) -> Bytes:
        return self.out[: self.target.packed_bytes(elements)].copy()


def session(pair: Pair, threads: int) -> onnxruntime.InferenceSession:
    source, target = map(onnx_code, pair)
    graph = helper.make_graph(
        [helper.make_node("Cast", ["x"], ["y"], to=target)],
        "cast",
        [helper.make_tensor_value_info("x", source, ["n"])],
        [helper.make_tensor_value_info("y", target, ["n"])],
    )
    # The newest that this ONNX Runtime calls released; types of before are in it.
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=12)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def onnx_code(of: ElementType) -> int:
    return onnx.TensorProto.DataType.Value(of.name.upper())


def present() -> list[Peer]:
    """Those that are installed; what is not is said."""
    if torch is None:
        print("!! WITHOUT PYTORCH: it is not installed, and its columns are missing. run.sh says how to have it.")
        return [Numpy(), Ort()]
    return [Numpy(), TorchCopy(), TorchTo(), Ort()]
