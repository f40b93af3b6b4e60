"""Makes the seeds in onnx_model and npz, with onnx and numpy."""

from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

HERE = Path(__file__).parent
MODELS = HERE / "onnx_model"
ARCHIVES = HERE / "npz"
FLOAT = TensorProto.FLOAT


def value(name, *shape, of=FLOAT):
    return helper.make_tensor_value_info(name, of, shape)


def weight(name, numbers=(1.5, -2.0), of=np.float32):
    return numpy_helper.from_array(np.array(numbers, of), name)


def node(operator, inputs, outputs, **attributes):
    return helper.make_node(operator, inputs.split(","), outputs.split(","), **attributes)


def save(name, nodes, weights=(), inputs=(value("x", 2),), outputs=(value("y", 2),), opset=17, functions=(), inner=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, weights, value_info=inner)
    opsets = [helper.make_opsetid("", opset)] + [helper.make_opsetid("custom", 1)] * bool(functions)
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9, functions=functions)
    (MODELS / name).write_bytes(model.SerializeToString())


def external():
    tensor = helper.make_tensor("w", FLOAT, [2], [0, 0])
    tensor.ClearField("float_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, text in {"location": "w.bin", "offset": "8", "length": "8"}.items():
        tensor.external_data.add(key=key, value=text)
    return tensor


def models():
    add, multiply = node("Add", "x,w", "y"), node("Mul", "x,c", "y")
    save("add", [add], [weight("w")])
    save("float_data", [add], [helper.make_tensor("w", FLOAT, [2], [1.5, 2.5])])
    save("external", [add], [external()])
    save("constant", [helper.make_node("Constant", [], ["c"], value_floats=[1.0, 2.0]), multiply])
    save("constant_tensor", [helper.make_node("Constant", [], ["c"], value=weight("")), multiply])
    branches = {
        "then_branch": helper.make_graph([node("Identity", "w", "t")], "t", [], [value("t", 2)]),
        "else_branch": helper.make_graph([node("Add", "x,w", "e")], "e", [], [value("e", 2)]),
    }
    condition = value("c", of=TensorProto.BOOL)
    save("if", [node("If", "c", "y", **branches)], [weight("w")], [condition, value("x", 2)])
    relu = helper.make_function("custom", "F", ["a"], ["b"], [node("Relu", "a", "b")], [helper.make_opsetid("", 17)])
    save("function", [node("F", "x", "y", domain="custom")], functions=[relu])
    save("cast", [node("Cast", "x", "i", to=TensorProto.INT32), node("Cast", "i", "y", to=FLOAT)])
    square = {"inputs": [value("x", 2, 2)], "outputs": [value("y", 2, 2)]}
    save("opset_9", [node("MatMul", "x,w", "y")], [weight("w", [[1.0, 2.0], [3.0, 4.0]])], opset=9, **square)
    sizes = {"inputs": [value("x", 1, 2)], "outputs": [value("y", 1, 4)], "inner": [value("n", 1, 2)]}
    save("random", [node("RandomNormalLike", "x", "n"), node("Resize", "n,,s", "y")], [weight("s", (1, 2))], **sizes)
    save("initializer_input", [add], [weight("w")], [value("x", 2), value("w", 2)], opset=7)
    doubles = [[value(name, 2, of=TensorProto.DOUBLE)] for name in "xy"]
    save("double", [add], [weight("w", (1.0, 2.0), np.float64)], *doubles)


def archives():
    numbers = np.arange(6, dtype=np.int16).reshape(2, 3)
    for name, write, arrays in [
        ("stored", np.savez, {"a": numbers, "b": np.array(["x", "yz"])}),
        ("compressed", np.savez_compressed, {"a": numbers}),
        ("empty", np.savez, {}),
        ("zeros", np.savez_compressed, {"z": np.zeros(20000, np.float32)}),
    ]:
        with (ARCHIVES / name).open("wb") as file:
            write(file, **arrays)


if __name__ == "__main__":
    models()
    archives()
