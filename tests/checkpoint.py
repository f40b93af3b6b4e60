"""Makes a sharded safetensors checkpoint, and compares a converted one with numpy and ml_dtypes.

    python3 tests/checkpoint.py make FOLDER BYTES
    python3 tests/checkpoint.py compare FOLDER CONVERTED DTYPE
    python3 tests/checkpoint.py measure COMMAND...   runs it; prints its seconds and its peak memory in MiB
    python3 tests/checkpoint.py resumed SUMMARY BYTES   whether `wgpu-cast convert --json` has kept some of the bytes, not all
"""

import glob
import json
import os
import resource
import struct
import subprocess
import sys
import time

BLOCK = 1 << 22


def make(folder, size):
    """Three shards: an embedding of three eighths of the bytes, mixed dtypes, scalars, empty tensors and integers."""
    import numpy as np

    os.makedirs(folder, exist_ok=True)
    random = np.random.default_rng(1)
    values = (random.standard_normal(BLOCK) * 0.05).astype(np.float32)
    values[::1000] *= 1e-6
    values[5::100003] = 1e6
    values[[7, 9, 11]] = np.inf, np.nan, -0.0
    with np.errstate(all="ignore"):
        blocks = {
            "F32": values,
            "F64": values.astype(np.float64),
            "F16": values.astype(np.float16),
            "BF16": (values.view(np.uint32) >> 16).astype(np.uint16),
            "I64": np.arange(BLOCK),
            "BOOL": (np.arange(BLOCK) % 2).astype(np.uint8),
        }
    rows = lambda share, item: int(size * share) // item // 1024
    shards = [
        [("embed.weight", "F32", (rows(0.375, 4), 1024)), ("scale", "F32", ()), ("empty", "F32", (0, 7))],
        [
            (f"layers.{i}.weight", dtype, (rows(0.05, blocks[dtype].itemsize), 1024))
            for i, dtype in enumerate(["BF16", "F32", "F16"] * 2)
        ],
        [(f"blocks.{i}.weight", "F32", (rows(0.08125, 4), 1024)) for i in range(4)],
    ]
    shards[1] += [("position_ids", "I64", (1000,)), ("mask", "BOOL", (33,)), ("double", "F64", (1001,))]
    shards[2] += [(f"norm.{i}.weight", "F32", (1024,)) for i in range(200)]
    weight_map, total = {}, 0
    for index, shard in enumerate(shards):
        name = f"model-{index + 1:05}-of-{len(shards):05}.safetensors"
        header, offset = {"__metadata__": {"format": "pt"}}, 0
        for tensor, dtype, shape in shard:
            bytes = int(np.prod(shape)) * blocks[dtype].itemsize
            header[tensor] = {"dtype": dtype, "shape": list(shape), "data_offsets": [offset, offset + bytes]}
            offset += bytes
            weight_map[tensor] = name
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        with open(os.path.join(folder, name), "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            for _, dtype, shape in shard:
                left = int(np.prod(shape))
                while left > 0:
                    file.write(blocks[dtype][:left].tobytes())
                    left -= BLOCK
        total += offset
    index = {"metadata": {"total_size": total}, "weight_map": weight_map}
    with open(os.path.join(folder, "model.safetensors.index.json"), "w") as file:
        json.dump(index, file, indent=2)


def read(path):
    import numpy as np

    with open(path, "rb") as file:
        length = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(length))
    data = np.memmap(path, np.uint8, "r")[8 + length :]
    tensors = {name: (entry["dtype"], entry["shape"], data[slice(*entry["data_offsets"])]) for name, entry in header.items() if name != "__metadata__"}
    return tensors, header.get("__metadata__")


def compare(folder, converted, to):
    import ml_dtypes
    import numpy as np

    types = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": ml_dtypes.bfloat16}
    types |= {"F8_E4M3": ml_dtypes.float8_e4m3fn, "F8_E5M2": ml_dtypes.float8_e5m2}
    elements, differ, total = 0, 0, 0
    for path in sorted(glob.glob(os.path.join(folder, "*.safetensors"))):
        source, metadata = read(path)
        result, result_metadata = read(os.path.join(converted, os.path.basename(path)))
        assert metadata == result_metadata and source.keys() == result.keys(), path
        for name, (dtype, shape, data) in source.items():
            result_dtype, result_shape, result_data = result[name]
            total += result_data.size
            assert shape == result_shape, name
            if dtype not in types:
                assert dtype == result_dtype and (data == result_data).all(), name
                continue
            assert result_dtype == to, name
            limit = float(ml_dtypes.finfo(types[to]).max)
            for start in range(0, data.size, BLOCK * 8):
                values = data[start : start + BLOCK * 8].view(types[dtype])
                size = np.dtype(types[to]).itemsize
                first = start // values.itemsize
                found = result_data[first * size : (first + values.size) * size].view(types[to])
                with np.errstate(all="ignore"):
                    # Cast saturates 8-bit floats by default, ml_dtypes does not.
                    wide = values.astype(np.float64)
                    expected = (np.where(np.isnan(wide), wide, np.clip(wide, -limit, limit)) if size == 1 else values).astype(types[to])
                code = np.uint8 if size == 1 else np.uint16
                same = (expected.view(code) == found.view(code)) | (np.isnan(expected) & np.isnan(found))
                elements, differ = elements + values.size, differ + int((~same).sum())
    with open(glob.glob(os.path.join(converted, "*.index.json"))[0]) as file:
        assert json.load(file)["metadata"]["total_size"] == total
    print(f"{to}: {elements} elements compared, {differ} differ")
    return 1 if differ or not elements else 0


def measure(command):
    start = time.monotonic()
    status = subprocess.run(command).returncode
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"{time.monotonic() - start:.1f} s, peak memory {peak:.0f} MiB, status {status}")
    return status or (1 if peak > 1024 else 0)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["make", folder, size]:
            sys.exit(make(folder, int(size)))
        case ["compare", folder, converted, to]:
            sys.exit(compare(folder, converted, to))
        case ["resumed", summary, size]:
            kept = json.loads(summary)["resumed"]
            print(f"{kept} of {size} bytes were kept")
            sys.exit(0 if 0 < kept < int(size) else 1)
        case ["measure", *command]:
            sys.exit(measure(command))
        case _:
            sys.exit(__doc__)
