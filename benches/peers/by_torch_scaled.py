"""Multiplies the float8 weights of a sharded checkpoint by their scales with PyTorch, as the script that DeepSeek publishes
does: shard by shard, with the two shards in memory that were read last. Its Triton kernel is written out: the codes as float32,
times the scale of a block of 128 x 128, to bfloat16.

    by_torch_scaled.py FOLDER OUT
"""

import json
import sys
from pathlib import Path
from time import perf_counter

start = perf_counter()
import torch
from safetensors.torch import load_file, save_file

# How long the libraries take to start.
print(perf_counter() - start)

BLOCK = 128
folder, out = Path(sys.argv[1]), Path(sys.argv[2])
index = json.loads((folder / "model.safetensors.index.json").read_text())
weights = index["weight_map"]
loaded = {}


def get(name):
    shard = weights[name]
    if shard not in loaded:
        loaded[shard] = load_file(folder / shard)
    return loaded[shard][name]


def product(codes, scale):
    rows, columns = codes.shape
    wide = scale.repeat_interleave(BLOCK, 0)[:rows].repeat_interleave(BLOCK, 1)[:, :columns]
    return (codes.to(torch.float32) * wide).to(torch.bfloat16)


for shard in sorted(folder.glob("*.safetensors")):
    tensors = loaded.setdefault(shard.name, load_file(shard))
    plain = {}
    for name, tensor in tensors.items():
        if name.endswith("_scale_inv"):
            continue
        elif tensor.element_size() == 1:
            plain[name] = product(tensor, get(f"{name}_scale_inv"))
        else:
            plain[name] = tensor
    save_file(plain, out / shard.name, metadata={"format": "pt"})
    while len(loaded) > 2:
        del loaded[next(iter(loaded))]
for name in [name for name in weights if name.endswith("_scale_inv")]:
    del weights[name]
(out / "model.safetensors.index.json").write_text(json.dumps(index, indent=2))
