"""Casts of numpy with ml_dtypes, PyTorch and ONNX Runtime on a CPU.

A peer creates a task for a pair, or returns None if it does not support the pair. A task casts when it is called, and
keeps its result.
"""

import os
from abc import ABC, abstractmethod

# Set before the libraries read them. Spinning threads would slow down the other libraries while these are measured.
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
    """A cast of one pair that can be repeated."""

    @abstractmethod
    def __call__(self) -> None: ...

    @abstractmethod
    def result(self, elements: int) -> Bytes:
        """The packed codes of the first elements of the last result."""


class Peer(ABC):
    name: str
    # Whether it can use more than one thread. If not, its figure for one thread is used for all numbers of threads.
    threaded = True

    @abstractmethod
    def version(self) -> str: ...

    @abstractmethod
    def task(self, pair: Pair, tile: Bytes, tile_elements: int, elements: int, threads: int) -> Task | None:
        """A task that casts `elements` elements, which repeat `tile`."""


class Numpy(Peer):
    """np.copyto into a preallocated array. Elements narrower than a byte take a whole byte."""

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


class NumpyAstype(Numpy):
    """ndarray.astype, which allocates a new array each time: in huge pages, as numpy does unless it is told not to."""

    name = "numpy astype"

    def task(self, pair: Pair, tile: Bytes, tile_elements: int, elements: int, threads: int) -> Task | None:
        task = super().task(pair, tile, tile_elements, elements, threads)
        task = task and NumpyAstypeTask(task.source, task.out, task.target)
        if task:
            task()
        return task


class NumpyAstypeTask(NumpyTask):
    def __call__(self) -> None:
        before = np._core.multiarray._set_madvise_hugepage(True)
        try:
            with np.errstate(all="ignore"):
                self.out = self.source.astype(self.out.dtype)
        finally:
            np._core.multiarray._set_madvise_hugepage(before)


class TorchCopy(Peer):
    """Tensor.copy_ into a preallocated tensor."""

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
    """Tensor.to, which allocates a new tensor each time."""

    name = "torch .to"

    def make(self, source: "torch.Tensor", out: "torch.Tensor", target: ElementType) -> Task:
        return TorchToTask(source, out, target)


class TorchToTask(TorchTask):
    def __call__(self) -> None:
        self.out = self.source.to(self.out.dtype)


class Ort(Peer):
    """A model of one Cast on ONNX Runtime's CPU provider, input and output bound to preallocated memory."""

    name = "ORT"

    def version(self) -> str:
        return f"onnxruntime {onnxruntime.__version__} (CPU)"

    def task(self, pair: Pair, tile: Bytes, tile_elements: int, elements: int, threads: int) -> Task | None:
        codes = np.resize(tile, pair[0].packed_bytes(elements))
        try:
            task = OrtTask(session(pair, threads), pair, codes, elements)
            task()
        except Exception:  # Each of its error codes has its own class.
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
    # The newest opset that this ONNX Runtime supports officially; it includes all older types.
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
    """The installed libraries. Prints which ones are missing."""
    if torch is None:
        print("NOT MEASURED: PyTorch, which is not installed. The head of run.sh says how to install it.")
        return [Numpy(), NumpyAstype(), Ort()]
    return [Numpy(), NumpyAstype(), TorchCopy(), TorchTo(), Ort()]
