"""Converts the models of ONNX's own node tests, for files/tests/onnx/models.py.

Without --graph their inputs are made initializers, and a result must compute what the original computes with rounded
weights, bit by bit. With --graph they are converted both so and as they are; onnx.checker must accept the results, and
they must compute nearly what the originals compute. ONNX's reference evaluator judges, because it computes in the types
that a model says: onnxruntime's CPU computes many nodes in float.
"""

import os
import warnings

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases
from onnx.reference import ReferenceEvaluator

ROUNDED = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "double": np.float64}
# With inputs made initializers, and as they are.
CONSTANT = ["to=float16", "to=bfloat16", "to=double", "to=float16 graph"]
GIVEN = ["to=float16 graph keep_io_types", "to=bfloat16 graph", "to=double graph"]

# ONNX's names of inputs that decide about shapes or choices, beside the scales of quantization.
PARAMETERS = set("delta depth iou_threshold limit lower_edge_hertz roi scales score_threshold start upper_edge_hertz".split())

# What cannot be near: seeds that draw other numbers, differences of numbers that the types cannot tell apart, products
# and sums beyond their range or of many elements, maxima that become equal, and numbers that quantization rounds.
DISTANT = (
    "test_bernoulli",
    "test_dynamicquantizelinear_expanded",
    "test_dynamicquantizelinear_max_adjusted_expanded",
    "test_dynamicquantizelinear_min_adjusted_expanded",
    "test_logsoftmax_large_number",
    "test_maxpool_with_argmax_2d_precomputed_pads",
    "test_nllloss_NCd1d2d3d4d5_mean_weight",
    "test_reduce_prod_default_axes_keepdims_example",
    "test_sce_NCd1d2d3d4d5_mean_weight",
    "test_softmax_large_number",
)

# How far results may be from the original's, relative to the largest value of an output.
TOLERANCE = {"float16": 0.02, "bfloat16": 0.15, "double": 1e-4}


def with_initializers(case):
    """The model of a case, with its tensors as initializers; also the inputs that are left."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    left = {}
    inputs = list(model.graph.input)
    del model.graph.input[:]
    for value, array in zip(inputs, case.data_sets[0][0]):
        if value.type.HasField("tensor_type") and isinstance(array, (np.ndarray, np.generic)):
            tensor = numpy_helper.from_array(np.asarray(array), value.name)
            if tensor.data_type == value.type.tensor_type.elem_type:
                model.graph.initializer.append(tensor)
                continue
        model.graph.input.append(value)
        left[value.name] = array
    # Initializers need not be inputs from this version on.
    model.ir_version = max(model.ir_version, 4)
    return model, left


def graphs_of(graph):
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in [attribute.g] * attribute.HasField("g") + list(attribute.graphs):
                yield from graphs_of(inner)


def parameters_of(model):
    """The names of values that are parameters of operators, by the names of ONNX's inputs: they keep their type."""
    names = set()
    for graph in graphs_of(model.graph):
        for node in graph.node:
            if onnx.defs.has(node.op_type, node.domain):
                inputs = (of.name for of in onnx.defs.get_schema(node.op_type, node.domain).inputs)
                names |= {name for name, of in zip(node.input, inputs) if of in PARAMETERS or of.endswith("_scale")}
    return names


def weights_of(model, kept=frozenset()):
    """Tensors of float and the floats of Constant nodes, with their kinds, apart from those of names that are kept."""
    for graph in graphs_of(model.graph):
        # Before this version, inputs with an initializer are constants.
        inputs = {value.name for value in graph.input} if model.ir_version >= 4 else set()
        weights = [("value", tensor) for tensor in graph.initializer if tensor.name not in inputs | kept]
        for node in graph.node:
            if node.op_type == "Constant" and node.domain == "" and node.output[0] not in kept:
                values = ((attribute.name, attribute) for attribute in node.attribute)
                weights += ((name, value.t if name == "value" else value) for name, value in values)
        for kind, weight in weights:
            if kind in ("value_float", "value_floats") or kind == "value" and weight.data_type == TensorProto.FLOAT:
                yield kind, weight


def rounded(model, to):
    """The model with its initializers and the numbers of its Constant nodes rounded to a type and back."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    there_and_back = lambda array: np.asarray(array, np.float32).astype(ROUNDED[to]).astype(np.float32)
    for kind, weight in weights_of(result, parameters_of(result)):
        match kind:
            case "value":
                weight.CopyFrom(numpy_helper.from_array(there_and_back(numpy_helper.to_array(weight)), weight.name))
            case "value_float":
                weight.f = there_and_back(weight.f).item()
            case "value_floats":
                weight.floats[:] = there_and_back(weight.floats).tolist()
    return result


def values(output):
    """The arrays of an output, which may be a sequence, an optional or a map."""
    if isinstance(output, (list, tuple)):
        return [array for element in output for array in values(element)]
    return [] if output is None else [np.asarray(output)]


def evaluate(model, inputs):
    """The arrays that the reference evaluator makes; `None` if it cannot run the model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return values(ReferenceEvaluator(model).run(None, inputs))
        except Exception:
            return None


def same(found, expected):
    """Whether arrays have the same bits, where NaN has any."""
    def equal(a, b):
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        if a.dtype.kind == "f":
            a, b = (np.where(np.isnan(x), np.array(np.nan, x.dtype), x) for x in (a, b))
        return a.tobytes() == b.tobytes() if a.dtype.kind != "O" else list(a.flat) == list(b.flat)

    return len(found) == len(expected) and all(map(equal, found, expected))


def distance(found, expected, to):
    """What differs too much; `None` if nothing does."""
    if expected is None:
        return "output 0: the original fails with rounded inputs"
    if len(found) != len(expected):
        return f"{len(found)} outputs, expected {len(expected)}"
    for index, (a, b) in enumerate(zip(found, expected)):
        if a.shape != b.shape:
            return f"output {index}: shape {a.shape}, expected {b.shape}"
        if b.dtype.kind != "f":
            if a.dtype != b.dtype or not (a == b).all():
                return f"output {index}: other integers"
            continue
        a, b = a.astype(np.float64), b.astype(np.float64)
        finite = np.isfinite(b)
        if not np.isfinite(a[finite]).all():
            return f"output {index}: not finite"
        a, b = a[finite], b[finite]
        off = np.abs(a - b).max(initial=0) / max(np.abs(b).max(initial=0), 1e-6)
        if off > TOLERANCE[to]:
            return f"output {index}: relative distance {off:.3g}"
    return None


def check(cast, convert, folder, verbose=False):
    """Converts all models, prints how many passed, and returns how many failed."""
    source, result = (os.path.join(folder, name) for name in ("node.onnx", "node.converted.onnx"))
    counts = dict.fromkeys(["equal", "near", "checked", "not_run", "without", "refused", "failed"], 0)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = collect_testcases(None)
    for case in cases:
        imports = {entry.domain: entry.version for entry in case.model.opset_import} if case.model else {}
        if imports.get("", 0) < 6:
            continue
        names = (value.name for value in case.model.graph.input)
        arrays = (np.asarray(x) if isinstance(x, np.generic) else x for x in case.data_sets[0][0])
        given = dict(zip(names, arrays))
        for (model, left), all_rules in [(with_initializers(case), CONSTANT), ((case.model, given), GIVEN)]:
            onnx.save(model, source)
            try:
                onnx.checker.check_model(source, full_check=True)
            except Exception:
                continue
            original, again = (evaluate(model, left) for _ in range(2))
            # Some operators draw numbers at random.
            runs = original is not None and again is not None and same(original, again)
            for rules in all_rules:
                try:
                    outcome = outcome_of(cast, convert, (source, result), rules, (model, left, runs))
                except RuntimeError as error:
                    outcome = "failed"
                    if case.name.startswith(DISTANT) and str(error).startswith("output "):
                        outcome = "near"
                    elif "onnx.version_converter" in str(error):
                        outcome = "refused"
                    elif "no tensor has this type" in str(error) and not any(weights_of(model)):
                        outcome = "without"
                    else:
                        print(f"FAILED {case.name}: {rules}: {str(error)[:600]}")
                counts[outcome] += 1
                if verbose and outcome == "checked":
                    print(f"not run in the new type: {case.name}: {rules}")
    print(
        "node models: {equal} equal to rounded weights, {near} near the original, {checked} only checked because the"
        " reference cannot run them in the new type, {not_run} because it cannot run the original or draws at random,"
        " {without} without weights of float, {refused} refused, because they need another opset, {failed} failed".format(**counts)
    )
    return counts["failed"]


def is_float(array):
    return isinstance(array, np.ndarray) and array.dtype == np.float32


def outcome_of(cast, convert, files, rules, judged):
    """Converts a model; returns the name of what came out, or raises RuntimeError."""
    (source, result), (model, left, runs) = files, judged
    to = rules.split("=")[1].split()[0]
    convert(cast, source, result, f"from=float {rules}")
    try:
        onnx.checker.check_model(result, full_check=True)
    except Exception as error:
        raise RuntimeError(f"{type(error).__name__}: {error}") from error
    if not runs:
        return "not_run"
    converted = onnx.load(result)
    types = {value.name: value.type.tensor_type.elem_type for value in converted.graph.input}
    fits = lambda name, x: x.astype(helper.tensor_dtype_to_np_dtype(types[name])) if types[name] else x
    found = evaluate(converted, {name: fits(name, x) if isinstance(x, np.ndarray) else x for name, x in left.items()})
    if "graph" not in rules:
        expected = evaluate(rounded(model, to), left)
        if found is None or expected is None or not same(found, expected):
            raise RuntimeError("other bits than with rounded weights")
        return "equal"
    if found is None:
        return "checked"
    # A node that keeps float gets rounded inputs, or those of the model, if these keep their type.
    there_and_back = lambda x: x.astype(ROUNDED[to]).astype(x.dtype) if is_float(x) else x
    for inputs in left, {name: there_and_back(x) for name, x in left.items()}:
        why = distance(found, evaluate(model, inputs), to)
        if not why:
            return "near"
    raise RuntimeError(why)
