"""A backend in the sense of `onnx.backend.base` for models whose nodes are Cast, CastLike, Identity and Constant.

    import wgpu_cast.onnx_backend as backend
    [y] = backend.run_model(onnx.load("model.onnx"), [x])

Casts give ONNX's bits at the model's opset: the rules are at https://onnx.ai/onnx/operators/onnx__Cast.html, and what these leave
open is in docs/semantics.md of wgpu-cast. A model is read once, by `prepare`: operators, attributes and element types that its
opset does not have are errors there, a `wgpu_cast.CastError` or `onnx.checker.ValidationError`.

Arrays are those of `onnx.numpy_helper`: numpy's dtypes and ml_dtypes', one code a byte for types of less than 8 bits, and objects
of `str` for strings. `TensorProto` is accepted as well.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper
from onnx.backend.base import Backend, BackendRep, namedtupledict

from wgpu_cast import CastError, ElementType, element_type
from wgpu_cast._arrays import as_array
from wgpu_cast._onnx_nodes import OPERATORS, CastNode, values_of

__all__ = ["CastBackend", "CastBackendRep", "is_compatible", "prepare", "run_model", "run_node", "supports_device"]

Array = npt.NDArray[Any]
# The opset of single nodes if none is named.
NEWEST = onnx.defs.onnx_opset_version()


@dataclass(frozen=True)
class Step:
    """A node that casts or copies one value."""

    source: str
    output: str
    cast: CastNode | None

    def __call__(self, x: Array) -> Array:
        return self.cast(x) if self.cast else x


class CastBackendRep(BackendRep):
    """A model that has been read; `run` may be called from several threads at once."""

    def __init__(self, given: dict[str, ElementType], constants: dict[str, Array], steps: list[Step], outputs: list[str]) -> None:
        self._given = given
        self._constants = constants
        self._steps = steps
        self._outputs = outputs

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The model's outputs as a tuple, which also has their names as keys.

        `inputs`: a sequence of arrays in the order of the graph's inputs, without those that have an initializer or with them.
        Raises CastError for another number of arrays or another element type than the model declares. Shapes are not compared
        with the declared ones.
        """
        values = self._constants | self._read(inputs)
        for step in self._steps:
            values[step.output] = step(values[step.source])
        outputs = namedtupledict("Outputs", self._outputs)
        return outputs(*(values[name] for name in self._outputs))

    def _read(self, inputs: Sequence[Any]) -> dict[str, Array]:
        names = list(self._given)
        if len(inputs) != len(names):
            names = [name for name in names if name not in self._constants]
        if len(inputs) != len(names):
            raise CastError(f"the model has {len(names)} inputs, got {len(inputs)}")
        found = dict(zip(names, as_arrays(inputs), strict=True))
        for name, x in found.items():
            if (got := element_type(x.dtype)) != self._given[name]:
                raise CastError(f'the input "{name}" is {self._given[name].name} in the model, got {got.name}')
        return found


class CastBackend(Backend):
    """The backend; its functions are also those of this module."""

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether a device, such as `CPU` or `CUDA:1`, is there: only `CPU` is."""
        return device.partition(":")[0] == "CPU"

    @classmethod
    def is_compatible(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        """Whether `prepare` takes the model."""
        try:
            cls.prepare(model, device, **kwargs)
        except (CastError, onnx.checker.ValidationError):
            return False
        return True

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> CastBackendRep:
        """Reads a model. Raises CastError for what this backend does not run, ValidationError for what is no model."""
        check_device(device)
        super().prepare(model, device, **kwargs)
        graph = model.graph
        if graph.sparse_initializer:
            raise CastError(f'the initializer "{graph.sparse_initializer[0].values.name}" is sparse')
        opset = next(entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx"))
        given = {value.name: declared(value) for value in graph.input}
        reader = Reader(opset, given, {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer})
        for node in graph.node:
            reader.read(node)
        for value in graph.output:
            if (made := reader.types[value.name]) != declared(value):
                raise CastError(f'the output "{value.name}" is {declared(value).name} in the model, its node makes {made.name}')
        return CastBackendRep(given, reader.constants, reader.steps, [value.name for value in graph.output])

    @classmethod
    def run_model(cls, model: onnx.ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]:
        """The outputs of a model for arrays: `prepare`, then `run`."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: onnx.NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[np.dtype[Any], tuple[int, ...]]] | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """The outputs of a node for arrays, at the opset `opset_version`: onnx's newest by default."""
        check_device(device)
        opset = kwargs.get("opset_version", NEWEST)
        super().run_node(node, inputs, device, outputs_info, opset_version=opset)
        arrays = as_arrays(inputs)
        given = {name: element_type(x.dtype) for name, x in zip(node.input, arrays, strict=True)}
        reader = Reader(opset, given, {})
        reader.read(node)
        return CastBackendRep(given, reader.constants, reader.steps, list(node.output)).run(arrays)


class Reader:
    """Reads nodes in the order of a graph: constants are taken, the element type of every value is known."""

    def __init__(self, opset: int, given: dict[str, ElementType], constants: dict[str, Array]) -> None:
        self.opset = opset
        self.constants = constants
        self.types = given | {name: element_type(x.dtype) for name, x in constants.items()}
        self.steps: list[Step] = []

    def read(self, node: onnx.NodeProto) -> None:
        if node.domain not in ("", "ai.onnx") or node.op_type not in (*OPERATORS, "Identity", "Constant"):
            operator = node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}"
            raise CastError(f'the node "{node.name}" is {operator}; this backend runs Cast, CastLike, Identity and Constant')
        [output] = node.output
        if node.op_type == "Constant":
            self.constants[output] = constant(node)
            self.types[output] = element_type(self.constants[output].dtype)
            return
        source, *like = (self.types[name] for name in node.input)
        cast = None
        if node.op_type in OPERATORS:
            cast = CastNode.read(node, self.opset, values_of(node), source, like[0] if like else None)
        self.types[output] = cast.to if cast else source
        self.steps.append(Step(node.input[0], output, cast))


CONSTANTS: dict[str, Callable[[onnx.AttributeProto], Array]] = {
    "value": lambda attribute: numpy_helper.to_array(attribute.t),
    "value_float": lambda attribute: np.array(attribute.f, np.float32),
    "value_floats": lambda attribute: np.array(attribute.floats, np.float32),
    "value_int": lambda attribute: np.array(attribute.i, np.int64),
    "value_ints": lambda attribute: np.array(attribute.ints, np.int64),
    "value_string": lambda attribute: texts(attribute.s).reshape(()),
    "value_strings": lambda attribute: texts(*attribute.strings),
}


def constant(node: onnx.NodeProto) -> Array:
    """The value of a Constant, which has one attribute."""
    [attribute] = node.attribute
    if attribute.name not in CONSTANTS:
        raise CastError(f'the node "{node.name}" is Constant with "{attribute.name}", which this backend does not read')
    return CONSTANTS[attribute.name](attribute)


def texts(*values: bytes) -> Array:
    return np.array([value.decode() for value in values], object)


def declared(value: onnx.ValueInfoProto) -> ElementType:
    """The element type of a graph's input or output."""
    if not value.type.HasField("tensor_type"):
        raise CastError(f'"{value.name}" is not a tensor')
    return element_type(value.type.tensor_type.elem_type)


def as_arrays(inputs: Sequence[Any]) -> list[Array]:
    return [
        numpy_helper.to_array(x) if isinstance(x, onnx.TensorProto) else as_array(x, f"inputs[{index}]") for index, x in enumerate(inputs)
    ]


def check_device(device: str) -> None:
    if not CastBackend.supports_device(device):
        raise CastError(f'the device "{device}" is not supported (supported: CPU)')


is_compatible = CastBackend.is_compatible
prepare = CastBackend.prepare
run_model = CastBackend.run_model
run_node = CastBackend.run_node
supports_device = CastBackend.supports_device
