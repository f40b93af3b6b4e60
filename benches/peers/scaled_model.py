"""A checkpoint like DeepSeek's, for scaled.py: float8 weights with a scale for each block of 128 x 128, norms of bfloat16, and
the scales of each shard in the next one.

    scaled_model.py make FOLDER BYTES
    scaled_model.py compare FOLDER OUT…    every element with numpy and ml_dtypes; prints how many differ, and how many there are
"""

import json
import sys
from pathlib import Path

import ml_dtypes
import numpy as np

SHARDS, ROWS, COLUMNS, BLOCK = 4, 7168, 2048, 128
NAMES = {"F8_E4M3": ml_dtypes.float8_e4m3fn, "F32": np.float32, "BF16": ml_dtypes.bfloat16}


def make(folder: Path, size: int) -> None:
    """A checkpoint of about this size."""
    folder.mkdir()
    random = np.random.default_rng(20261127)
    codes = np.delete(np.arange(256, dtype=np.uint8), [0x7F, 0xFF])
    count = max(1, size // SHARDS // (ROWS * COLUMNS))
    names = [f"model-{shard + 1:05}-of-{SHARDS:05}.safetensors" for shard in range(SHARDS)]
    weights, total = {}, 0
    for shard, name in enumerate(names):
        tensors = {}
        for layer in range(count):
            weight = f"model.layers.{shard * count + layer}.mlp.weight"
            tensors[weight] = random.choice(codes, size=(ROWS, COLUMNS)).view(ml_dtypes.float8_e4m3fn)
            # The scales of the shard before, and of the last one in the first.
            other = (shard - 1) % SHARDS * count + layer
            blocks = (-(-ROWS // BLOCK), -(-COLUMNS // BLOCK))
            scales = random.uniform(2**-14, 2**-10, size=blocks).astype(np.float32)
            tensors[f"model.layers.{other}.mlp.weight_scale_inv"] = scales
            norm = random.normal(size=COLUMNS).astype(ml_dtypes.bfloat16)
            tensors[f"model.layers.{shard * count + layer}.norm.weight"] = norm
        total += save(folder / name, tensors)
        weights |= dict.fromkeys(tensors, name)
    index = {"metadata": {"total_size": total}, "weight_map": weights}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    config = {"quantization_config": {"quant_method": "fp8", "weight_block_size": [BLOCK, BLOCK]}}
    (folder / "config.json").write_text(json.dumps(config))


def save(path: Path, tensors: dict[str, np.ndarray]) -> int:
    dtypes = {np.dtype(dtype): name for name, dtype in NAMES.items()}
    header, end = {}, 0
    arrays = sorted(tensors.items(), key=lambda item: -item[1].dtype.itemsize)
    for name, array in arrays:
        place = [end, end + array.nbytes]
        header[name] = {"dtype": dtypes[array.dtype], "shape": array.shape, "data_offsets": place}
        end += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _, array in arrays:
            file.write(array.data if array.dtype == np.float32 else array.view(f"u{array.dtype.itemsize}").data)
    return end


def load(folder: Path) -> dict[str, np.ndarray]:
    """The tensors of all shards, mapped into memory."""
    tensors = {}
    for path in sorted(folder.glob("*.safetensors")):
        data = np.memmap(path, np.uint8, "r")
        length = int.from_bytes(data[:8].tobytes(), "little")
        header = json.loads(data[8 : 8 + length].tobytes())
        header.pop("__metadata__", None)
        for name, about in header.items():
            start, end = (8 + length + offset for offset in about["data_offsets"])
            tensors[name] = data[start:end].view(NAMES[about["dtype"]]).reshape(about["shape"])
    return tensors


def compare(source: Path, outputs: list[Path]) -> None:
    given, outputs = load(source), [load(output) for output in outputs]
    plain = [name for name in given if not name.endswith("_scale_inv")]
    for output in outputs:
        if sorted(output) != sorted(plain):
            raise SystemExit(f"other tensors: {sorted(set(output) ^ set(plain))[:5]}")
    different = elements = 0
    for name in plain:
        expected = given[name]
        if expected.dtype == ml_dtypes.float8_e4m3fn:
            scales = given[f"{name}_scale_inv"].repeat(BLOCK, 0).repeat(BLOCK, 1)[:ROWS, :COLUMNS]
            expected = (expected.astype(np.float32) * scales).astype(ml_dtypes.bfloat16)
        elements += expected.size
        for found in outputs:
            different += int(np.count_nonzero(found[name].view(np.uint16) != expected.view(np.uint16)))
    print(json.dumps([different, elements]))


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        compare(Path(sys.argv[2]), [Path(output) for output in sys.argv[3:]])
