"""Converts the floats of a safetensors checkpoint with PyTorch, shard by shard, in the usual way.

    by_torch.py FOLDER OUT TYPE    TYPE is a type of torch such as bfloat16
"""

import sys
from pathlib import Path
from time import perf_counter

start = perf_counter()
import torch
from safetensors.torch import load_file, save_file

# How long the libraries take to start.
print(perf_counter() - start)

folder, out, dtype = Path(sys.argv[1]), Path(sys.argv[2]), getattr(torch, sys.argv[3])
for shard in sorted(folder.glob("*.safetensors")):
    tensors = load_file(shard)
    cast = {name: tensor.to(dtype) if tensor.is_floating_point() else tensor for name, tensor in tensors.items()}
    save_file(cast, out / shard.name, metadata={"format": "pt"})
