#!/usr/bin/env python3
"""Writes the folders of `scales`, next to this file: small checkpoints in each layout of codes with scales, and what becomes
of them.

    python3 -m venv /tmp/golden && /tmp/golden/bin/pip install ml_dtypes==0.6.0 numpy==2.4.6
    /tmp/golden/bin/python examples/cast/tests/golden/make_scales.py

The committed files were made by Python 3.11, ml_dtypes 0.6.0 and numpy 2.4.6 on x86-64. No code of this repository is used.

A folder has the files of a model, and `expected.bin`: the same model with plain tensors of bfloat16, in safetensors' format. The
formula is that of the published code, which `examples/cast/src/convert/dequantize/formats.rs` names for each layout: codes and
scales as float32, one product, rounded to bfloat16. numpy and ml_dtypes do the arithmetic and the rounding.
"""

import json
import shutil
from pathlib import Path

import ml_dtypes
import numpy as np

FOLDER = Path(__file__).parent / "scales"
BF16, F16, F32 = ml_dtypes.bfloat16, np.float16, np.float32
E4M3, E5M2, E8M0, E2M1 = (
    ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e5m2,
    ml_dtypes.float8_e8m0fnu,
    ml_dtypes.float4_e2m1fn,
)
NAMES = {
    np.dtype(BF16): "BF16",
    np.dtype(F16): "F16",
    np.dtype(F32): "F32",
    np.dtype(E4M3): "F8_E4M3",
    np.dtype(E5M2): "F8_E5M2",
    np.dtype(E8M0): "F8_E8M0",
    np.dtype(np.uint8): "U8",
    np.dtype(np.int8): "I8",
    np.dtype(np.int32): "I32",
    np.dtype(np.int64): "I64",
}


def save(path, tensors, metadata=None):
    header, data = {}, b""
    if metadata:
        header["__metadata__"] = metadata
    # Wider elements first: each tensor is then aligned.
    for name, array in sorted(tensors.items(), key=lambda item: -item[1].dtype.itemsize):
        end = len(data) + array.nbytes
        header[name] = {"dtype": NAMES[array.dtype], "shape": list(array.shape), "data_offsets": [len(data), end]}
        data += array.tobytes()
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def model(name, shards, plain, config=None, metadata=None, config_name="config.json"):
    folder = FOLDER / name
    folder.mkdir(parents=True)
    shards = shards if isinstance(shards, list) else [shards]
    names = [f"model-{i + 1:05}-of-{len(shards):05}.safetensors" for i in range(len(shards))]
    names = names if len(shards) > 1 else ["model.safetensors"]
    for shard, tensors in zip(names, shards):
        save(folder / shard, tensors, metadata)
    if len(shards) > 1:
        weights = {tensor: shard for shard, tensors in zip(names, shards) for tensor in tensors}
        size = sum(array.nbytes for tensors in shards for array in tensors.values())
        index = {"metadata": {"total_size": size}, "weight_map": dict(sorted(weights.items()))}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=2) + "\n")
    if config:
        (folder / config_name).write_text(json.dumps(config, indent=2) + "\n")
    save(folder / "expected.bin", plain)


random = np.random.default_rng(20261127)


def floats(shape, dtype):
    """Random codes without NaN and infinity; the first ones are 0, -0, the smallest and the largest numbers."""
    codes = np.arange(256, dtype=np.uint8).view(dtype)
    codes = codes[np.isfinite(codes.astype(F32))]
    chosen = random.choice(codes.view(np.uint8), size=shape).astype(np.uint8)
    first = np.array([0, -0.0, ml_dtypes.finfo(dtype).smallest_subnormal, ml_dtypes.finfo(dtype).max], F32).astype(dtype)
    count = min(4, chosen.size)
    chosen.reshape(-1)[:count] = first.view(np.uint8)[:count]
    return chosen.view(dtype)


def scale(shape, dtype=F32):
    """Random scales of many magnitudes, with all significand bits."""
    values = random.uniform(1, 2, size=shape) * np.exp2(random.integers(-20, 4, size=shape))
    return np.asarray(values, F32).astype(dtype)


def exponents(shape):
    return random.integers(100, 140, size=shape).astype(np.uint8)


def power(codes):
    return codes.view(E8M0).astype(F32)


def spread(scales, block, shape):
    """The scale of each element: blocks of the last two axes, the last ones short."""
    rows, columns = block
    return scales.repeat(rows, -2).repeat(columns, -1)[..., : shape[-2], : shape[-1]]


def product(codes, scales):
    return (codes.astype(F32) * scales.astype(F32)).astype(BF16)


def pairs(nibbles):
    """Two codes of 4 bits in a byte, the first one in the low bits."""
    return (nibbles[..., 0::2] | nibbles[..., 1::2] << 4).astype(np.uint8)


def nibbles(shape):
    return random.integers(0, 16, size=shape).astype(np.uint8)


def values(nibbles):
    table = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
    return np.array(table + [-value for value in table], F32)[nibbles]


def norm():
    return random.normal(size=5).astype(BF16)


def deepseek():
    block = [16, 32]
    a, experts, b = floats((40, 70), E4M3), floats((2, 20, 40), E4M3), floats((16, 64), E4M3)
    sa, se, sb = scale((3, 3)), scale((2, 2, 2)), scale((1, 2), BF16)
    plain = {
        "l.a.weight": product(a, spread(sa, block, a.shape)),
        "l.experts.gate_up_proj": product(experts, spread(se, block, experts.shape)),
        "l.b.weight": product(b, spread(sb, block, b.shape)),
        "l.norm.weight": norm(),
    }
    # The scales of the weights of the first shard are in the second, and the other way round.
    first = {"l.a.weight": a, "l.experts.gate_up_proj": experts, "l.b.weight_scale_inv": sb, "l.norm.weight": plain["l.norm.weight"]}
    second = {"l.b.weight": b, "l.a.weight_scale_inv": sa, "l.experts.gate_up_proj_scale_inv": se}
    config = {
        "architectures": ["X"],
        "quantization_config": {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": block},
        "torch_dtype": "bfloat16",
    }
    model("deepseek", [first, second], plain, config)


def deepseek_without_configuration():
    a, b = floats((130, 3), E4M3), floats((3, 130), E4M3)
    sa, sb = scale((2, 1)), exponents((1, 2))
    plain = {"a.weight": product(a, spread(sa, (128, 128), a.shape)), "b.weight": product(b, spread(power(sb), (128, 128), b.shape))}
    model("deepseek-renamed", {"a.weight": a, "a.scale": sa, "b.weight": b, "b.scale": sb.view(E8M0)}, plain)


def fp8_per_tensor():
    a, s = floats((6, 10), E4M3), scale((), BF16)
    config = {"quantization_config": {"quant_method": "fp8", "weight_block_size": None}}
    model("fp8-per-tensor", {"a.weight": a, "a.weight_scale_inv": s}, {"a.weight": product(a, s)}, config)


def group(bits, kind, strategy, **more):
    return {"targets": ["Linear"], "weights": {"num_bits": bits, "type": kind, "strategy": strategy, **more}}


def compressed(name, tensors, plain, groups, form):
    groups = {f"group_{i}": group for i, group in enumerate(groups)}
    config = {"quantization_config": {"quant_method": "compressed-tensors", "format": form, "config_groups": groups}}
    model(name, tensors, plain, config)


def compressed_floats():
    a, b, c, d = floats((6, 10), E4M3), floats((6, 10), E4M3), floats((6, 32), E4M3), floats((20, 40), E4M3)
    sa, sb, sc, sd = scale((1,)), scale((6, 1), BF16), scale((6, 2)), scale((3, 3))
    tensors = {"a.weight": a, "a.weight_scale": sa, "b.weight": b, "b.weight_scale": sb, "c.weight": c, "c.weight_scale": sc}
    tensors |= {"d.weight": d, "d.weight_scale": sd, "d.input_scale": scale((1,)), "n.weight": norm()}
    plain = {
        "a.weight": product(a, sa),
        "b.weight": product(b, sb),
        "c.weight": product(c, sc.repeat(16, -1)),
        "d.weight": product(d, spread(sd, (8, 16), d.shape)),
        "n.weight": tensors["n.weight"],
    }
    groups = [group(8, "float", "tensor"), group(8, "float", "channel"), group(8, "float", "group", group_size=16)]
    groups.append(group(8, "float", "block", block_structure=[8, 16]))
    compressed("compressed-tensors-float", tensors, plain, groups, "float-quantized")


def compressed_integers():
    a, b = (random.integers(-128, 128, size=(6, 10)).astype(np.int8) for _ in range(2))
    sa, sb, zero = scale((6, 1), BF16), scale((6, 1)), random.integers(-128, 128, size=(6, 1)).astype(np.int8)
    tensors = {"a.weight": a, "a.weight_scale": sa, "b.weight": b, "b.weight_scale": sb, "b.weight_zero_point": zero}
    plain = {"a.weight": product(a, sa), "b.weight": product(b.astype(F32) - zero.astype(F32), sb)}
    compressed("compressed-tensors-int8", tensors, plain, [group(8, "int", "channel")], "int-quantized")


def packed_integers():
    def words(codes, bits):
        """Codes along the last axis in words of 32 bits, low bits first, filled up with zeros."""
        each = 32 // bits
        codes = np.pad(codes, [(0, 0), (0, -codes.shape[-1] % each)]).astype(np.uint32)
        places = np.arange(each, dtype=np.uint32) * bits
        return (codes.reshape(len(codes), -1, each) << places).sum(-1, dtype=np.uint32).view(np.int32)

    tensors, plain = {}, {}

    def add(name, bits, shape, size, with_zero, dtype):
        codes = random.integers(0, 1 << bits, size=shape)
        scales = scale((shape[0], shape[1] // size), dtype)
        zero = random.integers(0, 1 << bits, size=scales.shape) if with_zero else np.full(scales.shape, 1 << (bits - 1))
        tensors[f"{name}.weight_packed"] = words(codes, bits)
        tensors[f"{name}.weight_scale"] = scales
        tensors[f"{name}.weight_shape"] = np.array(shape, np.int64)
        if with_zero:
            # Along the rows.
            tensors[f"{name}.weight_zero_point"] = np.ascontiguousarray(words(zero.T, bits).T)
        plain[f"{name}.weight"] = product((codes - zero.repeat(size, -1)).astype(F32), scales.repeat(size, -1))

    add("a", 4, (11, 64), 16, False, BF16)
    add("b", 4, (11, 64), 16, True, F16)
    add("c", 4, (11, 64), 64, True, F32)
    add("d", 8, (7, 24), 8, True, F32)
    groups = [group(4, "int", "group", group_size=16), group(4, "int", "channel"), group(8, "int", "group", group_size=8)]
    compressed("compressed-tensors-packed", tensors, plain, groups, "pack-quantized")


def mxfp8():
    a, b, sa, sb = floats((5, 64), E4M3), floats((5, 96), E5M2), exponents((5, 2)), exponents((5, 3))
    tensors = {"a.weight": a, "a.weight_scale": sa, "b.weight": b, "b.weight_scale": sb.view(E8M0)}
    plain = {"a.weight": product(a, power(sa).repeat(32, -1)), "b.weight": product(b, power(sb).repeat(32, -1))}
    compressed("mxfp8", tensors, plain, [group(8, "float", "group", group_size=32)], "mxfp8-quantized")


def mxfp4_packed():
    a, s = nibbles((5, 64)), exponents((5, 2))
    tensors = {"a.weight_packed": pairs(a), "a.weight_scale": s}
    plain = {"a.weight": product(values(a), power(s).repeat(32, -1))}
    compressed("mxfp4-packed", tensors, plain, [group(4, "float", "group", group_size=32)], "mxfp4-pack-quantized")


def gpt_oss():
    a, s = nibbles((3, 6, 2, 32)), exponents((3, 6, 2))
    bias = random.normal(size=(3, 6)).astype(BF16)
    made = product(values(a), power(s)[..., None]).reshape(3, 6, 64)
    tensors = {"l.gate_up_proj_blocks": pairs(a), "l.gate_up_proj_scales": s, "l.gate_up_proj_bias": bias}
    plain = {"l.gate_up_proj": np.ascontiguousarray(made.transpose(0, 2, 1)), "l.gate_up_proj_bias": bias}
    config = {"quantization_config": {"modules_to_not_convert": ["lm_head"], "quant_method": "mxfp4"}, "dtype": "bfloat16"}
    model("mxfp4-transformers", tensors, plain, config)
    tensors = {"b.mlp1_weight.blocks": pairs(a), "b.mlp1_weight.scales": s, "b.mlp1_bias": bias}
    model("mxfp4-openai", tensors, {"b.mlp1_weight": made, "b.mlp1_bias": bias})


def nvfp4():
    a, s, second = nibbles((5, 48)), floats((5, 3), E4M3), scale(())
    plain = {"a.weight": product(values(a), (s.astype(F32) * second).repeat(16, -1))}
    tensors = {"a.weight": pairs(a), "a.weight_scale": s, "a.weight_scale_2": second, "a.input_scale": scale(())}
    config = {"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "NVFP4", "group_size": 16}}
    model("nvfp4-modelopt", tensors, plain, config, config_name="hf_quant_config.json")
    divisor = scale((1,))
    plain = {"a.weight": product(values(a), (s.astype(F32) / divisor).repeat(16, -1))}
    tensors = {"a.weight_packed": pairs(a), "a.weight_scale": s, "a.weight_global_scale": divisor}
    tensors["a.input_global_scale"] = scale((1,))
    groups = [group(4, "float", "tensor_group", group_size=16)]
    compressed("nvfp4-compressed-tensors", tensors, plain, groups, "nvfp4-pack-quantized")


def comfy():
    a, b, sa, sb = floats((6, 10), E4M3), floats((6, 10), E4M3), scale(()), scale((6, 1))
    tensors = {"m.a.weight": a, "m.a.scale_weight": sa, "m.a.scale_input": scale(()), "m.b.weight": b, "m.b.scale_weight": sb}
    tensors |= {"m.a.bias": norm(), "m.scaled_fp8": np.zeros(2, F32).astype(E4M3)}
    plain = {"m.a.weight": product(a, sa), "m.b.weight": product(b, sb), "m.a.bias": tensors["m.a.bias"]}
    model("comfy", tensors, plain)
    a, b, sa, sb = floats((6, 10), E4M3), floats((6, 10), E5M2), scale(()), scale(())
    description = np.frombuffer(json.dumps({"format": "float8_e5m2"}).encode(), np.uint8)
    tensors = {"a.weight": a, "a.weight_scale": sa, "b.weight": b, "b.weight_scale": sb, "b.comfy_quant": description}
    layers = {"format_version": "1.0", "layers": {"a": {"format": "float8_e4m3fn"}}}
    plain = {"a.weight": product(a, sa), "b.weight": product(b, sb)}
    model("comfy-metadata", tensors, plain, metadata={"_quantization_metadata": json.dumps(layers), "title": "t"})


def modelopt():
    a, s = floats((6, 10), E4M3), scale(())
    config = {"quantization_config": {"quant_method": "modelopt", "quant_algo": "FP8"}, "dtype": "bfloat16"}
    tensors = {"a.weight": a, "a.weight_scale": s, "a.input_scale": scale(())}
    model("fp8-modelopt", tensors, {"a.weight": product(a, s)}, config)


def compressed_experts():
    a, s = floats((2, 3, 10), E4M3), scale((2, 3, 1), BF16)
    plain = {"experts.weight": product(a, s)}
    groups = [group(8, "float", "channel")]
    compressed("compressed-tensors-experts", {"experts.weight": a, "experts.weight_scale": s}, plain, groups, "float-quantized")


def autofp8():
    a, s = floats((6, 10), E4M3), scale((1,))
    config = {"quantization_config": {"quant_method": "fp8", "activation_scheme": "static", "ignored_layers": ["lm_head"]}}
    tensors = {"a.weight": a, "a.weight_scale": s, "a.input_scale": scale((1,)), "a.output_scale": scale((1,))}
    model("fp8-autofp8", tensors, {"a.weight": product(a, s)}, config)


if __name__ == "__main__":
    shutil.rmtree(FOLDER, ignore_errors=True)
    deepseek()
    deepseek_without_configuration()
    fp8_per_tensor()
    compressed_floats()
    compressed_integers()
    packed_integers()
    mxfp8()
    mxfp4_packed()
    gpt_oss()
    nvfp4()
    comfy()
    modelopt()
    autofp8()
    compressed_experts()
