"""Exact casts for `onnx.reference.ReferenceEvaluator`, which evaluates any ONNX model in Python.

    from wgpu_cast.onnx_reference import new_ops
    evaluator = ReferenceEvaluator(model, new_ops=new_ops)

Every node of Cast and CastLike, in subgraphs too, then gives the bits of `wgpu_cast.cast` at the model's opset. onnx 1.23.2 does not
hand `new_ops` on to a model's functions; `ExactEvaluator` is a ReferenceEvaluator that does.

The evaluator's own casts are those of numpy and ml_dtypes, which round some types twice, keep payloads of NaN, and know no
`round_mode` in CastLike. What an opset does not have is a `wgpu_cast.CastError` when the node runs.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from wgpu_cast import element_type
from wgpu_cast._onnx_nodes import CastNode

__all__ = ["Cast", "CastLike", "ExactEvaluator", "new_ops"]


class CastOperator(OpRun):
    """A node. Attributes that a function's caller gives arrive with the inputs, as the others do."""

    def _run(self, x: npt.NDArray[Any], *like: npt.NDArray[Any], **values: Any) -> tuple[npt.NDArray[Any]]:
        source, *target = (element_type(np.asarray(value).dtype) for value in (x, *like))
        # Of the values, some are defaults of the newest opset.
        cast = CastNode.read(self.onnx_node, self.run_params["opsets"][self.op_domain], values, source, target[0] if target else None)
        return (cast(x),)


class Cast(CastOperator):
    """https://onnx.ai/onnx/operators/onnx__Cast.html"""


class CastLike(CastOperator):
    """https://onnx.ai/onnx/operators/onnx__CastLike.html"""


# What ReferenceEvaluator takes. It finds an operator by the name of its class.
new_ops: list[type[OpRun]] = [Cast, CastLike]


class ExactEvaluator(ReferenceEvaluator):
    """A ReferenceEvaluator whose casts are exact wherever they are: in the graph, in subgraphs, and in functions."""

    def __init__(self, proto: Any, *, new_ops: Sequence[type[OpRun]] | None = None, **more: Any) -> None:
        """As that of ReferenceEvaluator. What `new_ops` has comes first."""
        super().__init__(proto, new_ops=[*(new_ops or ()), Cast, CastLike], **more)
