#!/usr/bin/env python3
"""Writes the folder `quantized`, next to this file: a small checkpoint, and what `--quantize` makes of it in each layout.

    python3 -m venv /tmp/golden && /tmp/golden/bin/pip install ml_dtypes==0.6.0 numpy==2.4.6
    /tmp/golden/bin/python examples/cast/tests/golden/make_quantized.py

The committed files were made by Python 3.11, ml_dtypes 0.6.0 and numpy 2.4.6 on x86-64. No code of this repository is used.

`tensor.bin`, `row.bin` and `block.bin` have the tensors of both shards, in safetensors' format. The formula is that of
weight_quant_kernel in deepseek-ai/DeepSeek-V3, inference/kernel.py: s = max(abs(x)) / 448 and y = x / s as float32, then y as
float8_e4m3fn. A block of zeros has the scale 1, and no scale is below the smallest normal number of float32.
"""

import json
import shutil

import ml_dtypes
import numpy as np
from make_scales import BF16, E4M3, F16, F32, FOLDER as SCALES, save, spread

FOLDER = SCALES.parent / "quantized"
random = np.random.default_rng(20261128)


def weights(shape, dtype):
    """Numbers of many magnitudes, with both zeros."""
    values = random.normal(size=shape) * np.exp2(random.integers(-12, 3, size=shape))
    values.reshape(-1)[:2] = [0.0, -0.0]
    return values.astype(dtype)


def tiny(shape):
    """Rows whose largest magnitudes are 0, subnormal, small, and the largest number."""
    values = random.uniform(-1, 1, size=shape).astype(F32)
    info = np.finfo(F32)
    for row, largest in enumerate([0, info.smallest_subnormal, 300 * info.smallest_subnormal, info.tiny, 448 * info.tiny, info.max]):
        values[row] *= F32(largest)
        values[row, 0] = -largest
    return values


def scales(largest):
    least = np.maximum(largest / F32(448), np.finfo(F32).tiny)
    return np.where(largest == 0, F32(1), least).astype(F32)


def blocks(x, size):
    """The largest magnitudes of blocks of the last two axes."""
    outer, (rows, columns) = x.shape[:-2], x.shape[-2:]
    pad = [(0, 0)] * len(outer) + [(0, -rows % size), (0, -columns % size)]
    x = np.pad(np.abs(x), pad)
    shape = outer + (x.shape[-2] // size, size, x.shape[-1] // size, size)
    return x.reshape(shape).max((-3, -1))


def quantize(name, x, layout):
    x = x.astype(F32)
    match layout:
        case "tensor":
            stored = scales(np.abs(x).max().reshape(1))
            each = stored
        case "row":
            stored = scales(np.abs(x).max(-1, keepdims=True))
            each = stored
        case "block":
            stored = scales(blocks(x, 128))
            each = spread(stored, (128, 128), x.shape)
    codes = (x / each).astype(F32).astype(E4M3)
    assert np.isfinite(codes.astype(F32)).all()
    return {name: codes, f"{name}_scale_inv" if layout == "block" else f"{name}_scale": stored}


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    first = {
        "l.a.weight": weights((130, 140), BF16),
        "l.a.bias": weights((130,), BF16),
        "l.norm.weight": weights((5,), F32),
        "embed_tokens.weight": weights((4, 3), BF16),
    }
    second = {
        "l.b.weight": weights((3, 131), F32),
        "l.c.weight": weights((129, 2), F16),
        "l.tiny.weight": tiny((6, 4)),
        "l.experts.up": weights((2, 130, 3), F16),
        "lm_head.weight": weights((4, 3), F16),
        "l.ids": np.arange(3, dtype=np.int64),
    }
    shards = {"model-00001-of-00002.safetensors": first, "model-00002-of-00002.safetensors": second}
    for shard, tensors in shards.items():
        save(FOLDER / shard, tensors, {"format": "pt"})
    weight_map = {tensor: shard for shard, tensors in shards.items() for tensor in tensors}
    size = sum(array.nbytes for tensors in shards.values() for array in tensors.values())
    index = {"metadata": {"total_size": size}, "weight_map": dict(sorted(weight_map.items()))}
    (FOLDER / "model.safetensors.index.json").write_text(json.dumps(index, indent=2) + "\n")
    (FOLDER / "config.json").write_text(json.dumps({"architectures": ["X"], "torch_dtype": "bfloat16"}, indent=2) + "\n")
    quantized = ["l.a.weight", "l.b.weight", "l.c.weight", "l.tiny.weight", "l.experts.up"]
    for layout in ["tensor", "row", "block"]:
        made = {}
        for name, array in (first | second).items():
            made |= quantize(name, array, layout) if name in quantized else {name: array}
        save(FOLDER / f"{layout}.bin", made)


if __name__ == "__main__":
    main()
