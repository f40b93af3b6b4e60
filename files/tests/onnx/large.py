"""Converts a model with gigabytes of external data, and compares data and outputs with rounding by numpy and ml_dtypes.

    large.py CAST FOLDER [BYTES]   BYTES of initializers, 3 GiB unless given
    large.py make FOLDER BYTES     only makes the model, FOLDER/model.onnx with its data

CAST is the tool. FOLDER is made; the first form removes it at the end. Needs Linux, onnx, onnxruntime, numpy and
ml_dtypes. `files/tests/onnx/models.sh --large` sets this up. Exit status: 0 all is well, 1 something differs, 3 room is
missing.
"""

import os
import shutil
import subprocess
import sys
import time
from math import prod

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# A layer's matrix has 64 MiB.
WIDTH = 4096
ROWS = 16
MODEL = "model.onnx"
DATA = "model.onnx.data"
# Of elements: the tensors are made, rounded and compared in blocks.
BLOCK = WIDTH * WIDTH


def make(folder, size):
    """A table of half of the bytes, then layers of MatMul, Add and Relu."""
    os.makedirs(folder)
    half = size // 2 // (4 * WIDTH) * WIDTH
    layers = max(half // BLOCK, 1)
    # The standard deviations keep the size of the values from layer to layer.
    tensors = [("table", [half // WIDTH, WIDTH], 0.02)]
    nodes = [("Gather", ["table", "ids"], "row"), ("Add", ["row", "x"], "h0")]
    for i in range(layers):
        tensors += [(f"w{i}", [WIDTH, WIDTH], (2 / WIDTH) ** 0.5), (f"b{i}", [WIDTH], 0.001)]
        nodes += [("MatMul", [f"h{i}", f"w{i}"], f"m{i}"), ("Add", [f"m{i}", f"b{i}"], f"a{i}")]
        nodes += [("Relu", [f"a{i}"], f"h{i + 1}")]
    random = np.random.default_rng(1)
    initializers, offset = [], 0
    with open(os.path.join(folder, DATA), "wb") as file:
        for name, shape, deviation in tensors:
            for count in blocks(prod(shape)):
                file.write((random.standard_normal(count, np.float32) * np.float32(deviation)).data)
            length = 4 * prod(shape)
            tensor = TensorProto(name=name, dims=shape, data_type=TensorProto.FLOAT, data_location=TensorProto.EXTERNAL)
            for key, value in ("location", DATA), ("offset", offset), ("length", length):
                tensor.external_data.add(key=key, value=str(value))
            initializers.append(tensor)
            offset += length
    graph = helper.make_graph(
        [helper.make_node(kind, inputs, [output], name=f"{kind}.{output}") for kind, inputs, output in nodes],
        "large",
        [
            helper.make_tensor_value_info("ids", TensorProto.INT64, [ROWS]),
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [ROWS, WIDTH]),
        ],
        [helper.make_tensor_value_info(f"h{layers}", TensorProto.FLOAT, [ROWS, WIDTH])],
        initializers,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    onnx.save(model, os.path.join(folder, MODEL))


def blocks(elements):
    """Counts of at most BLOCK."""
    return [min(BLOCK, elements - start) for start in range(0, elements, BLOCK)]


def initializers(path):
    """The arrays of a model in the order of its file, mapped where they are external."""
    arrays = {}
    for tensor in onnx.load(path, load_external_data=False).graph.initializer:
        dtype = helper.tensor_dtype_to_np_dtype(tensor.data_type)
        if tensor.data_location == TensorProto.EXTERNAL:
            where = {entry.key: entry.value for entry in tensor.external_data}
            data = os.path.join(os.path.dirname(path), where["location"])
            shape, offset = tuple(tensor.dims), int(where.get("offset", 0))
            assert int(where["length"]) == prod(shape) * dtype.itemsize, tensor.name
            arrays[tensor.name] = np.memmap(data, dtype, "r", offset, shape)
        else:
            arrays[tensor.name] = numpy_helper.to_array(tensor)
    return arrays


def flat_blocks(array):
    flat = array.reshape(-1)
    return (flat[start : start + BLOCK] for start in range(0, flat.size, BLOCK))


def convert(cast, source, result, *options):
    """Converts and checks the model, and compares every element with rounding by numpy; prints time and memory."""
    to = np.dtype(getattr(ml_dtypes, options[0], options[0]))
    os.makedirs(os.path.dirname(result))
    print(f"--to {' '.join(options)}: ", end="", flush=True)
    # The disk has no more to write, so that the conversion does not wait for it.
    os.sync()
    # A small process between, because Linux counts the memory of a process for those that it starts, too.
    measure = os.path.join(os.path.dirname(__file__), "../../../tests/checkpoint.py")
    command = [sys.executable, "-I", measure, "measure", cast, "convert", source, result, "--quiet", "--to", *options]
    subprocess.run(command, check=True)
    onnx.checker.check_model(result, full_check=True)
    elements, differ = 0, 0
    sources, results = initializers(source).items(), initializers(result).items()
    for (name, before), (new_name, after) in zip(sources, results, strict=True):
        assert (after.shape, after.dtype) == (before.shape, to), f"{name} is {after.dtype} {after.shape}"
        assert new_name in (name, f"{name}_{to}"), f"{name} is now {new_name}"
        for a, b in zip(flat_blocks(before), flat_blocks(after), strict=True):
            differ += np.count_nonzero(a.astype(to).view(np.uint16) != b.view(np.uint16))
            elements += a.size
    print(f"{elements} elements compared, {differ} differ")
    assert elements and not differ


def round_in_place(folder, to):
    """Rounds the initializers of the made model."""
    data = np.memmap(os.path.join(folder, DATA), np.float32, "r+")
    for block in flat_blocks(data):
        block[:] = block.astype(to)
    data.flush()


def output(path):
    """What the model computes, node by node, with kernels that do not depend on which inputs are constant."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_session_config_entry("session.disable_prepacking", "1")
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    rows = next(iter(initializers(path).values())).shape[0]
    random = np.random.default_rng(2)
    ids = random.integers(0, rows, ROWS)
    # Both ends of the table, the last beyond 2 GiB of a larger one.
    ids[:2] = 0, rows - 1
    x = random.standard_normal((ROWS, WIDTH), np.float32) * np.float32(0.02)
    return session.run(None, {"ids": ids, "x": x})[0]


def test(cast, folder, size):
    source = os.path.join(folder, MODEL)
    make(folder, size)
    expected = output(source)
    assert np.isfinite(expected).all() and np.count_nonzero(expected) > expected.size // 4, "the model computes nothing"

    graph = os.path.join(folder, "graph", MODEL)
    convert(cast, source, graph, "float16", "--graph", "--keep-io-types")
    found = output(graph)
    assert found.dtype == np.float32
    # Rounding to float16 changes a value by at most 2^-11 of it. A layer rounds its matrix, the product and the sum;
    # before the first layer, the row, x and their sum are rounded. On average, a layer keeps the size of an error.
    layers = sum(name.startswith("w") for name in initializers(source))
    bound = 3 * (layers + 1) * 2**-11
    distance = np.linalg.norm(found - expected) / np.linalg.norm(expected)
    print(f"graph in float16: the output is {distance:.2g} of its norm from the original's; the bound is {bound:.2g}")
    assert 0 < distance <= bound
    shutil.rmtree(os.path.dirname(graph))

    stored = os.path.join(folder, "stored", MODEL)
    convert(cast, source, stored, "bfloat16")
    found = output(stored)
    assert not np.array_equal(found, expected), "the weights were not rounded"
    round_in_place(folder, ml_dtypes.bfloat16)
    differ = np.count_nonzero(found.view(np.uint32) != output(source).view(np.uint32))
    print(f"stored in bfloat16: {differ} of {found.size} outputs differ from those with weights that ml_dtypes rounded")
    assert not differ


def available():
    """Bytes of memory that programs can have."""
    with open("/proc/meminfo") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable"))


def main(cast, folder, size=3 << 30):
    size = int(size)
    shutil.rmtree(folder, ignore_errors=True)
    free = shutil.disk_usage(os.path.dirname(folder)).free
    for what, there, needed in ("disk", free, 1.6 * size), ("memory", available(), 2 * size + (1 << 30)):
        if there < needed:
            reason = f"{what}: {needed:.0f} bytes needed, {there} free"
            print(f"NOT RUN: no large ONNX model was converted: {reason}", file=sys.stderr)
            return 3
    start = time.monotonic()
    try:
        test(cast, folder, size)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"a model of {size} bytes passed in {time.monotonic() - start:.0f} s")
    return 0


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["make", folder, size]:
            sys.exit(make(folder, int(size)))
        case [cast, folder, *size]:
            sys.exit(main(cast, folder, *size))
        case _:
            sys.exit(__doc__)
