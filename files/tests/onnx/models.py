"""Converts models, checks the results with onnx.checker and compares what they compute with what the originals compute.

    models.py DRIVER FOLDER

DRIVER is the program `wgpu-cast`. FOLDER is for the models; those of before are overwritten. Needs onnx, onnxruntime
and numpy. files/tests/onnx/models.sh sets this up. With --nodes the models of ONNX's own node tests are converted and compared
too, and with --reference the light models are also judged by ONNX's reference evaluator. Both take some minutes. Exit
status: 0 all is well, 1 a model failed.
"""

import glob
import os
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper, parser
from onnx.reference import ReferenceEvaluator

# Python was started without this folder, and is to leave nothing in it.
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from integer_models import integer_models  # noqa: E402
from node_models import check as check_nodes, graphs_of, weights_of  # noqa: E402

onnxruntime.set_default_logger_severity(4)
random = np.random.default_rng(1)

# How far a result may be from the original's, relative to the largest value of the output.
TOLERANCE = {"float16": 0.02, "bfloat16": 0.1, "float": 1e-4, "double": 1e-4, "float8e4m3fn": 0.5, "float8e5m2": 0.8}


def initializer(name, array, raw=True):
    if raw:
        return numpy_helper.from_array(array, name)
    return helper.make_tensor(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape, array.flatten())


def floats(*shape):
    return random.standard_normal(shape).astype(np.float32)


def parsed(text, initializers=()):
    """A model of a text, with the initializers of the main graph."""
    model = parser.parse_model(text)
    model.graph.initializer.extend(initializers)
    return model


HEAD = '<ir_version: 9, opset_import: ["" : %d]>\n'


def own_models():
    """Small models by name, each with its inputs."""
    x = {"x": floats(2, 3)}
    yield "if", parsed(
        HEAD % 18
        + """main (float[2,3] x, bool c) => (float[2,3] y) {
            t = Mul(x, shared)
            y = If (c) <
                then_branch = then () => (float[2,3] a) <float[3] w = {0.5, 1.5, -2.0}> {
                    b = Add(t, w)  a = Mul(b, shared)
                },
                else_branch = other () => (float[2,3] d) { d = Sub(t, x) }
            >
        }""",
        [initializer("shared", floats(3))],
    ), x | {"c": np.array(True)}
    yield "loop", parsed(
        HEAD % 18
        + """main (float[2,3] x, int64 n, bool c) => (float[2,3] y, float[k,2,3] all) {
            y, all = Loop (n, c, x) <
                body = body (int64 i, bool go, float[2,3] v) => (bool again, float[2,3] next, float[2,3] out)
                <float[1] half = {0.5}> {
                    again = Identity(go)  f = Cast <to = 1> (i)  m = Mul(v, half)  s = Add(m, w)  next = Add(s, f)
                    out = Neg(next)
                }
            >
        }""",
        [initializer("w", floats(3))],
    ), x | {"n": np.array(4, np.int64), "c": np.array(True)}
    yield "scan", parsed(
        HEAD % 18
        + """main (float[3] s, float[4,3] x) => (float[3] y, float[4,3] z) {
            y, z = Scan <num_scan_inputs = 1,
                body = body (float[3] a, float[3] b) => (float[3] c, float[3] d) { c = Add(a, b)  d = Mul(c, w) }
            > (s, x)
        }""",
        [initializer("w", floats(3))],
    ), {"s": floats(3), "x": floats(4, 3)}
    yield "resize", parsed(
        HEAD % 18
        + """main (float[1,2,4,4] x) => (float[1,2,8,8] y) {
            t = Conv <pads = [1,1,1,1]> (x, w, b)  y = Resize <mode = "linear"> (t, roi, scales)
        }""",
        [
            initializer("w", floats(2, 2, 3, 3)),
            initializer("b", floats(2)),
            initializer("roi", np.zeros(0, np.float32)),
            initializer("scales", np.array([1, 1, 2, 2], np.float32)),
        ],
    ), {"x": floats(1, 2, 4, 4)}
    yield "constants", parsed(
        HEAD % 17
        + """main (float[2,3] x) => (float[2,3] y, float[2,3] e, double[2,3] d, int64 n) {
            a = Constant <value_float = 1.5> ()   b = Constant <value_floats = [1.0, 2.0, 4.0]> ()
            c = Constant <value = float[1] {0.25}> ()  s = Constant <value_ints = [2, 3]> ()
            z = ConstantOfShape (s)  q = ConstantOfShape <value = float[1] {3.0}> (s)
            eye = EyeLike (x)  i = Cast <to = 6> (x)  f = Cast <to = 1> (i)  l = CastLike (i, x)
            r0 = Add(x, a)  r1 = Mul(r0, b)  r2 = Add(r1, c)  r3 = Add(r2, z)  r4 = Add(r3, q)  r5 = Add(r4, f)
            r6 = Add(r5, l)  y = Clip(r6, low, high)  e = Add(eye, f)  d = Cast <to = 11> (y)  n = Size(x)
        }""",
        [initializer("low", np.float32(-20)), initializer("high", np.float32(20))],
    ), x
    yield "norms", parsed(
        HEAD % 17
        + """main (float[2,4,3] x) => (float[2,4,3] y, float[2,4,1] m, float[2,2,3] v, int64[2,2,3] k) {
            n, m, i = LayerNormalization (x, g, h)  b = BatchNormalization (n, s, o, mean, var)
            t = Dropout (b, ratio)  y = Softmax <axis = 1> (t)  v, k = TopK <axis = 1> (x, two)
        }""",
        [initializer(name, floats(3)) for name in ("g", "h")]
        + [initializer(name, np.abs(floats(4)) + 0.5) for name in ("s", "o", "mean", "var")]
        + [initializer("ratio", np.float32(0.5)), initializer("two", np.array([2], np.int64))],
    ), {"x": floats(2, 4, 3)}
    yield "quantized", parsed(
        HEAD % 19
        + """main (float[2,3] x) => (float[2,3] y) {
            q = QuantizeLinear (x, scale, zero)  d = DequantizeLinear (q, scale, zero)
            w = DequantizeLinear (k, scale, zero)  y = Add(d, w)
        }""",
        [
            initializer("scale", np.float32(0.0625)),
            initializer("zero", np.uint8(128)),
            initializer("k", np.array([1, 130, 255], np.uint8)),
        ],
    ), x
    yield "boxes", parsed(
        HEAD % 18
        + """main (float[1,4,4] x, float[1,1,4] s) => (int64[n,3] y) {
            b = Add(x, w)  y = NonMaxSuppression (b, s, most, iou, least)
        }""",
        [
            initializer("w", np.zeros(4, np.float32)),
            initializer("most", np.array([3], np.int64)),
            initializer("iou", np.array([0.5], np.float32)),
            initializer("least", np.array([0.1], np.float32)),
        ],
    ), {
        "x": np.array([[[0, 0, 1, 1], [0, 0, 1, 1.125], [2, 2, 3, 3], [5, 5, 6, 6]]], np.float32),
        "s": np.array([[[0.9, 0.75, 0.5, 0.25]]], np.float32),
    }
    yield "sequences", parsed(
        HEAD % 18
        + """main (float[2,3] x) => (float[2,3] y, float[4,3] z) {
            a = Mul(x, w)  s = SequenceConstruct(a, x)  b = SequenceAt(s, one)  y = Add(b, a)
            z = ConcatFromSequence <axis = 0> (s)
        }""",
        [initializer("w", floats(3)), initializer("one", np.int64(1))],
    ), x
    yield "lstm", parsed(
        HEAD % 18
        + """main (float[5,1,3] x) => (float[5,1,1,4] y, float[1,1,4] h) {
            y, h, c = LSTM <hidden_size = 4> (x, w, r)
        }""",
        [initializer("w", floats(1, 16, 3)), initializer("r", floats(1, 16, 4))],
    ), {"x": floats(5, 1, 3)}
    yield "function", parsed(
        '<ir_version: 9, opset_import: ["" : 18, "own" : 1]>\n'
        + """main (float[2,3] x) => (float[2,3] y) { a = Mul(x, w)  b = own.scaled(a)  y = Add(b, x) }
        <domain: "own", opset_import: ["" : 18]>
        scaled (v) => (u) { two = Constant <value_float = 2.0> ()  u = Mul(v, two) }""",
        [initializer("w", floats(3))],
    ), x
    passed = parsed(
        HEAD % 18
        + """main (float[2,3] x) => (float[2,3] same, float[3] w, float[2,3] r) {
            same = Identity(x)  r = Relu(x)  t = Exp(r)
        }""",
        [initializer("w", floats(3))],
    )
    passed.graph.value_info.append(helper.make_tensor_value_info("t", TensorProto.FLOAT, [2, 3]))
    yield "outputs", passed, x
    yield "typed", parsed(
        HEAD % 19 + "main (float[2,3] x) => (float[2,3] y) { a = Mul(x, w)  b = Add(a, h)  y = Add(b, x) }",
        [initializer("w", floats(3), raw=False), initializer("h", floats(2, 3), raw=False)],
    ), x
    shared = parsed(
        HEAD % 19 + "main (float[8,64] x) => (float[8,64] y) { a = MatMul(x, w)  b = Relu(a)  y = MatMul(b, v) }",
        [initializer("w", floats(64, 64) / 8), initializer("v", floats(64, 64) / 8)],
    )
    yield "external", shared, {"x": floats(8, 64)}


def tame(model):
    """Constant weights with which values stay in float16's range: those of the light models lead to values of 1e20."""
    shapes = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    for node in model.graph.node:
        shape = shapes.get(node.input[0]) if node.op_type == "ConstantOfShape" else None
        if shape is not None and len(shape) > 1:
            value = np.array([1 / np.prod(shape[1:])], np.float32)
            node.attribute[0].t.CopyFrom(numpy_helper.from_array(value))
    return model


def light_models():
    for path in sorted(glob.glob(os.path.join(os.path.dirname(onnx.__file__), "backend/test/data/light/*.onnx"))):
        model = tame(onnx.load(path))
        names = {tensor.name for tensor in model.graph.initializer}
        inputs = [value for value in model.graph.input if value.name not in names]
        shapes = {value.name: [dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in inputs}
        yield os.path.basename(path)[:-5], model, {name: floats(*shape) for name, shape in shapes.items()}


def convert(cast, source, result, rules):
    """Converts by rules such as `from=float to=float16 graph keep=Mul`; returns the notes."""
    arguments = []
    for rule in rules.split():
        name, _, value = rule.partition("=")
        arguments += ["--" + name.replace("_", "-")] + ([value] if value else [])
    ran = subprocess.run([cast, "convert", source, result, *arguments], capture_output=True, text=True)
    if ran.returncode:
        raise RuntimeError(ran.stderr.strip())
    return ran.stderr.splitlines()


def run(path, inputs, source):
    """The outputs, and those of the source by the same program: the reference where onnxruntime lacks a kernel."""
    def fed(path):
        types = {value.name: value.type.tensor_type.elem_type for value in onnx.load(path).graph.input}
        cast = lambda name, array: array.astype(helper.tensor_dtype_to_np_dtype(types[name]))
        return {name: cast(name, array) if array.dtype == np.float32 else array for name, array in inputs.items()}

    def by_onnxruntime(path):
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        return session.run(None, fed(path))

    try:
        if all(array.dtype.kind in "biuf" for array in fed(path).values()):
            return by_onnxruntime(path), by_onnxruntime(source), "onnxruntime"
    except Exception as error:
        if not any(text in str(error) for text in ("NOT_IMPLEMENTED", "does not support")):
            raise
    return ReferenceEvaluator(path).run(None, fed(path)), ReferenceEvaluator(source).run(None, fed(source)), "reference"


def compare(expected, found, tolerance):
    for index, (a, b) in enumerate(zip(expected, found, strict=True)):
        assert a.shape == b.shape, f"output {index}: shape {b.shape}, expected {a.shape}"
        a, b = a.astype(np.float64), b.astype(np.float64)
        assert np.isfinite(b).all() or not np.isfinite(a).all(), f"output {index}: not finite"
        distance = np.abs(a - b).max(initial=0) / max(np.abs(a).max(initial=0), 1e-6)
        assert distance <= tolerance, f"output {index}: relative distance {distance:.3g}"


def by_reference(path, inputs):
    """The outputs by the evaluator that computes each node in the types of the model."""
    types = {value.name: value.type.tensor_type.elem_type for value in onnx.load(path).graph.input}
    inputs = {name: array.astype(helper.tensor_dtype_to_np_dtype(types[name])) for name, array in inputs.items()}
    return ReferenceEvaluator(path).run(None, inputs)


def check_with_reference(cast, folder, models, all_rules):
    """Converts models, each with its type and inputs, and compares what they compute; returns what failed."""
    failed, passed = 0, 0
    for name, element_type, model, inputs in models:
        source = os.path.join(folder, f"{name}.onnx")
        onnx.save(model, source)
        expected = by_reference(source, inputs)
        for rules in all_rules:
            result = os.path.join(folder, f"{name}.{rules.replace(' ', '.')}.onnx")
            target = rules.split("=")[1].split()[0]
            if target == element_type:
                continue
            try:
                notes = convert(cast, source, result, f"from={element_type} {rules}")
                onnx.checker.check_model(result, full_check=not name.startswith("light"))
                found = by_reference(result, inputs)
                compare(expected, found, TOLERANCE[target])
                for index, (a, b) in enumerate(zip(expected, found)):
                    assert a.dtype.kind == "f" or (a == b).all(), f"output {index}: other integers"
                passed += 1
                if "--verbose" in sys.argv:
                    print(f"ok {name}: {rules} (reference) {'; '.join(notes)}")
            except Exception as error:
                failed += 1
                print(f"FAILED {name}: {rules}: {type(error).__name__}: {str(error)[:600]}")
    print(f"{passed} models passed in the reference, {failed} failed")
    return failed if passed else 1


def output_types(path):
    return [value.type.tensor_type.elem_type for value in onnx.load(path).graph.output]


def main(cast, folder):
    os.makedirs(folder, exist_ok=True)
    # With 16, the scales of `resize` would be outside the model, where shape inference by onnx 1.23 does not read them.
    weights = ["to=float16", "to=bfloat16", "to=float8e4m3fn", "to=float16 external-from=64", "to=double external-from=32"]
    graphs = ["to=float16 graph", "to=float16 graph keep_io_types", "to=bfloat16 graph keep_io_types"]
    graphs += ["to=double graph", "to=float16 graph keep=Mul keep_io_types", "to=float16 graph external-from=64"]
    failed, passed, refused = 0, 0, 0
    for name, model, inputs in [*own_models(), *light_models()]:
        source = os.path.join(folder, f"{name}.onnx")
        if name == "external":
            onnx.save(model, source, save_as_external_data=True, location=f"{name}.bin", size_threshold=64)
        else:
            onnx.save(model, source)
        light = name.startswith("light")
        operators = {node.op_type for graph in graphs_of(model.graph) for node in graph.node}
        for rules in ["to=float16", "to=float16 external-from=64", *graphs[:3]] if light else weights + graphs:
            # The tool refuses rules that select nothing.
            if "keep=Mul" in rules and "Mul" not in operators or "graph" not in rules and not any(weights_of(model)):
                continue
            result = os.path.join(folder, f"{name}.{rules.replace(' ', '.')}.onnx")
            case = f"{name}: {rules}"
            try:
                notes = convert(cast, source, result, f"from=float {rules}")
            except RuntimeError as error:
                if "onnx.version_converter" in str(error):
                    refused += 1
                    continue
                failed += 1
                print(f"FAILED {case}: {error}")
                continue
            try:
                onnx.checker.check_model(result, full_check=not light)
                found, expected, runner = run(result, inputs, source)
                target = rules.split("=")[1].split()[0]
                compare(expected, found, TOLERANCE[target])
                if "graph" not in rules or "keep_io_types" in rules:
                    assert output_types(result) == output_types(source), "the outputs' types changed"
                else:
                    assert TensorProto.FLOAT not in output_types(result), "an output has the old type"
                passed += 1
                if "--verbose" in sys.argv:
                    print(f"ok {case} ({runner}) {'; '.join(notes)}")
            except Exception as error:
                failed += 1
                print(f"FAILED {case}: {type(error).__name__}: {str(error)[:600]}")
    print(f"{passed} models passed, {failed} failed, {refused} refused, because they need another opset")
    failed += check_with_reference(cast, folder, integer_models(), [*graphs[:3], "to=double graph", "to=float graph"])
    if "--reference" in sys.argv:
        light = ((name, "float", model, inputs) for name, model, inputs in light_models())
        failed += check_with_reference(cast, folder, light, graphs[:1])
    if "--nodes" in sys.argv:
        failed += check_nodes(cast, convert, folder, "--verbose" in sys.argv)
    return 1 if failed or passed < 100 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
