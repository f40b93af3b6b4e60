"""Casts of ONNX Runtime's WebGPU execution provider, a package of its own, between tensors on its device."""

import os
from importlib.metadata import version
from time import perf_counter

import numpy as np
import onnx
import onnxruntime
from onnx import helper

from elements import Bytes, Pair


class Ort:
    """The provider, and the device that it opened."""

    def __init__(self) -> None:
        # The provider refuses a software adapter otherwise.
        os.environ["ORT_WEBGPU_EP_ALLOW_SOFTWARE_ADAPTER"] = "1"
        import onnxruntime_ep_webgpu as webgpu

        onnxruntime.set_default_logger_severity(4)
        onnxruntime.register_execution_provider_library("webgpu", webgpu.get_library_path())
        found = [device for device in onnxruntime.get_ep_devices() if device.ep_name == webgpu.get_ep_name()]
        if not found:
            raise SystemExit("ONNX Runtime's WebGPU provider finds no device.")
        self.device = found[0]
        self.memory = self.device.memory_info(onnxruntime.OrtDeviceMemoryType.DEFAULT)

    def version(self) -> str:
        return f"onnxruntime {onnxruntime.__version__} with onnxruntime-ep-webgpu {version('onnxruntime-ep-webgpu')}"

    def task(self, pair: Pair, tile: Bytes, elements: int, most: int) -> "OrtTask | None":
        """For calls with one cast and with `most` casts; None if it cannot cast the pair on the device."""
        try:
            return OrtTask(self, pair, np.resize(tile, pair[0].packed_bytes(elements)), elements, most)
        except Exception:  # Each of its error codes has its own class.
            return None

    def session(self, pair: Pair, casts: int) -> onnxruntime.InferenceSession:
        """So many casts of the same tensor, and a tiny operator whose result the host reads, so that the call waits."""
        source, target, tiny = onnx_code(pair[0].name), onnx_code(pair[1].name), onnx_code("float")
        info = helper.make_tensor_value_info
        nodes = [helper.make_node("Cast", ["x"], [f"y{i}"], to=target) for i in range(casts)]
        graph = helper.make_graph(
            [*nodes, helper.make_node("Neg", ["tiny"], ["done"])],
            "casts",
            [info("x", source, ["n"]), info("tiny", tiny, [1])],
            [*(info(f"y{i}", target, ["n"]) for i in range(casts)), info("done", tiny, [1])],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        # Otherwise equal nodes become one.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
        options.add_provider_for_devices([self.device], {"enableInt64": "1"})
        return onnxruntime.InferenceSession(model.SerializeToString(), options)


class OrtTask:
    def __init__(self, ort: Ort, pair: Pair, codes: Bytes, elements: int, most: int) -> None:
        value = onnxruntime.OrtValue
        on_device = [
            value.ortvalue_from_shape_and_type([elements], of.dtype.type, memory_info=ort.memory) for of in pair
        ]
        source, self.target = on_device
        source.update_inplace(codes.view(pair[0].dtype))
        self.bound = {}
        for casts in (1, most):
            session = ort.session(pair, casts)
            binding = session.io_binding()
            binding.bind_ortvalue_input("x", source)
            binding.bind_cpu_input("tiny", np.ones(1, np.float32))
            for i in range(casts):
                binding.bind_ortvalue_output(f"y{i}", self.target)
            binding.bind_output("done", "cpu")
            self.bound[casts] = session, binding
        self.seconds(1)

    def seconds(self, casts: int) -> float:
        session, binding = self.bound[casts]
        start = perf_counter()
        session.run_with_iobinding(binding)
        binding.synchronize_outputs()
        return perf_counter() - start

    def result(self) -> Bytes:
        return np.ascontiguousarray(self.target.numpy()).view(np.uint8)


def onnx_code(name: str) -> int:
    return onnx.TensorProto.DataType.Value(name.upper())
