"""Writes files/src/onnx_model/bodies.txt, the float types that bodies of ONNX's operators do not support, from onnx.

    pip install onnx==1.23.2 && python files/tests/onnx/bodies.py >files/src/onnx_model/bodies.txt

Some operators are functions: their bodies consist of other operators, and onnx.checker infers the types in them. A body
with constants of type float accepts no other float type, whatever the schema says. Here each operator with a body is
checked at each opset with each float type that its schema allows, in models that the checker accepts with float.

A line is an operator, the first opset of those for which it holds, and the types that fail: d double, h float16,
b bfloat16, or - for none. An operator without a line has none. EXAMPLES has nodes for all operators whose inputs and
attributes cannot be guessed; an operator that fails with float at all opsets is an error.
"""

import sys

import onnx
import onnx.shape_inference
from onnx import TensorProto, defs, helper

TYPES = {
    "f": (TensorProto.FLOAT, "tensor(float)"),
    "d": (TensorProto.DOUBLE, "tensor(double)"),
    "h": (TensorProto.FLOAT16, "tensor(float16)"),
    "b": (TensorProto.BFLOAT16, "tensor(bfloat16)"),
}

SHAPE = [2, 4, 4, 4]

# Forms of nodes: the shapes of their inputs, and their attributes. A body may depend on them.
REDUCED = [([SHAPE], {}), ([SHAPE, [2]], {"keepdims": 0})]
WINDOW = [([[]], {}), ([[]], {"periodic": 0})]
HEADS = [[1, 2, 4, 8]] * 3
LOSS = [([[2, 4], [2]], {}), ([[2, 4], [2], [4]], {"reduction": "sum", "ignore_index": 1})]
EXAMPLES = {
    "AffineGrid": [([[1, 2, 3], [4]], {}), ([[1, 2, 3], [4]], {"align_corners": 1}), ([[1, 3, 4], [5]], {})],
    "Attention": [
        (HEADS, {}),
        (HEADS + [[4, 4]], {"softcap": 2.0, "scale": 0.5}),
        (HEADS, {"is_causal": 1, "qk_matmul_output_mode": 3}),
        (HEADS, {"softmax_precision": 1}),
        ([[1, 4, 16]] * 3, {"q_num_heads": 2, "kv_num_heads": 2}),
    ],
    "Bernoulli": [([SHAPE], {}), ([SHAPE], {"seed": 1.0})],
    "BlackmanWindow": WINDOW,
    "CausalConvWithState": [([[2, 4, 8], [4, 1, 3]], {}), ([[2, 4, 8], [4, 1, 3], [4], [2, 4, 2]], {"activation": "silu"})],
    "CenterCropPad": [([SHAPE, [4]], {}), ([SHAPE, [2]], {"axes": [2, 3]})],
    "Clip": [([SHAPE], {}), ([SHAPE, []], {}), ([SHAPE, [], []], {})],
    "DepthToSpace": [([SHAPE], {"blocksize": 2}), ([SHAPE], {"blocksize": 2, "mode": "CRD"})],
    "Gelu": [([SHAPE], {}), ([SHAPE], {"approximate": "tanh"})],
    "GroupNormalization": [([SHAPE, [4], [4]], {"num_groups": 2}), ([SHAPE, [2], [2]], {"num_groups": 2})],
    "HammingWindow": WINDOW,
    "HannWindow": WINDOW,
    "LayerNormalization": [([SHAPE, [4]], {}), ([SHAPE, [4], [4]], {}), ([SHAPE, [4, 4]], {"axis": 2})],
    "LinearAttention": [
        ([[1, 4, 8]] * 3, {"q_num_heads": 2, "kv_num_heads": 2, "update_rule": "linear"}),
        ([[1, 4, 8]] * 3 + [[1, 2, 4, 4], [1, 4, 8], [1, 4, 2]], {"q_num_heads": 2, "kv_num_heads": 2}),
    ],
    "MeanVarianceNormalization": [([SHAPE], {"axes": [0, 2, 3]}), ([SHAPE], {})],
    "NegativeLogLikelihoodLoss": LOSS,
    "Range": [([[]] * 3, {})],
    "ReduceL1": REDUCED,
    "ReduceL2": REDUCED,
    "ReduceLogSum": REDUCED,
    "ReduceLogSumExp": REDUCED,
    "ReduceSumSquare": REDUCED,
    "RMSNormalization": [([SHAPE, [4]], {}), ([SHAPE, [4, 4]], {"axis": 2})],
    "RotaryEmbedding": [([[1, 2, 4, 8], [1, 4, 4], [1, 4, 4]], {}), ([[1, 2, 4, 8], [6, 4], [6, 4], [1, 4]], {})],
    "SoftmaxCrossEntropyLoss": LOSS,
    "SpaceToDepth": [([SHAPE], {"blocksize": 2})],
}

# Its body is an attribute.
LEFT_OUT = {"SequenceMap"}


def model(schema, opset, letter, form):
    """A model of one node, all of whose tensors that may be floats have a type."""
    shapes, attributes = form
    code, name = TYPES[letter]
    if "output_datatype" in schema.attributes:
        attributes = attributes | {"output_datatype": code}
    inputs = []
    for index, shape in enumerate(shapes):
        types = schema.inputs[min(index, len(schema.inputs) - 1)].types
        integer = TensorProto.INT64 if "tensor(int64)" in types else TensorProto.INT32
        inputs.append(helper.make_tensor_value_info(f"x{index}", code if name in types else integer, shape))
    outputs = [f"y{index}" for index in range(len(schema.outputs))]
    node = helper.make_node(schema.name, [value.name for value in inputs], outputs, **attributes)
    graph = helper.make_graph([node], "g", inputs, [helper.ValueInfoProto(name="y0")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def passes(schema, opset, letter, form):
    try:
        # What the checker does with full_check, without asking for the types of outputs.
        onnx.shape_inference.infer_shapes(model(schema, opset, letter, form), check_type=True, strict_mode=True)
        return True
    except Exception as error:
        if "--verbose" in sys.argv:
            print(f"{schema.name} {opset} {letter} {form}: {str(error)[:400]}", file=sys.stderr)
        return False


def allowed(schema):
    """The letters of the types beside float that the node may have."""
    parameters = schema.outputs if "output_datatype" in schema.attributes else schema.inputs
    types = set().union(*(parameter.types for parameter in parameters))
    return [letter for letter, (_, name) in TYPES.items() if letter != "f" and name in types]


def main():
    newest = defs.onnx_opset_version()
    print(f"# The bodies of the operators of onnx {onnx.__version__} up to opset {newest}, by files/tests/onnx/bodies.py.")
    schemas = defs.get_all_schemas_with_history()
    has_body = lambda schema: schema.has_function or schema.has_context_dependent_function
    names = {schema.name for schema in schemas if schema.domain == "" and has_body(schema)} - LEFT_OUT
    for name in sorted(names):
        before, checked = "-", set()
        for opset in range(1, newest + 1):
            try:
                schema = defs.get_schema(name, opset, "")
            except defs.SchemaError:
                continue
            if not has_body(schema):
                continue
            forms = EXAMPLES.get(name, [([SHAPE] * schema.min_input, {})])
            good = [index for index, form in enumerate(forms) if passes(schema, opset, "f", form)]
            checked.update(good)
            fails = lambda letter: not all(passes(schema, opset, letter, forms[index]) for index in good)
            failed = "".join(letter for letter in allowed(schema) if fails(letter)) or "-"
            if failed != before:
                print(f"{name} {opset} {failed}")
            before = failed
        if len(checked) < len(EXAMPLES.get(name, [()])):
            sys.exit(f"{name}: of its forms, {sorted(checked)} pass with float")


if __name__ == "__main__":
    main()
