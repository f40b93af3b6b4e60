//! The layouts of codes with scales that can be multiplied. A layout is known by the names of its tensors, their types and
//! shapes, and the configuration of the model. Where one of these does not fit, the tensor is refused.

use wgpu_cast::ElementType;

/// How the codes of a layout are stored, and what shares a scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grain {
    /// Blocks of the last two axes: `weight_block_size` of the configuration, or 128 × 128 without one.
    Squares,
    /// The whole tensor, or a row of it.
    Rows,
    /// The whole tensor or a row; groups of a row and blocks as the configuration of compressed-tensors says.
    Configured,
    /// This many codes of a row.
    Group(u64),
    /// This many codes of a row, which are pairs in bytes: the first code in the low bits.
    Pairs(u64),
    /// Pairs of codes of one more axis, 16 bytes for each scale.
    Blocks,
    /// `Blocks` of `[experts, rows, groups, 16]`. The output has `[experts, 32 groups, rows]`.
    TransposedBlocks,
    /// Unsigned integers in words of 32 bits, the first in the low bits.
    Words,
}

/// A layout.
#[derive(Debug)]
pub struct Format {
    /// The ends of the names of the codes and of their scales.
    pub ends: [&'static str; 2],
    pub codes: &'static [ElementType],
    pub scales: &'static [ElementType],
    /// The programs in whose checkpoints the layout is, as configurations name them. Empty if these have no configuration.
    pub methods: &'static [&'static str],
    pub grain: Grain,
    /// The source of the rule.
    pub source: &'static str,
}

const FLOAT8: &[ElementType] = &[ElementType::FLOAT8E4M3FN, ElementType::FLOAT8E5M2];
const FLOATS: &[ElementType] = &[ElementType::FLOAT, ElementType::BFLOAT16, ElementType::FLOAT16];
const FLOATS_AND_EXPONENTS: &[ElementType] =
    &[ElementType::FLOAT, ElementType::BFLOAT16, ElementType::FLOAT16, ElementType::FLOAT8E8M0];
/// Exponents of powers of two with a bias of 127. Before safetensors had the type, they were stored as bytes.
const EXPONENTS: &[ElementType] = &[ElementType::UINT8, ElementType::FLOAT8E8M0];
const BYTES: &[ElementType] = &[ElementType::UINT8];

/// The layouts. Two rows with the same ends of names differ in types.
pub const FORMATS: [Format; 11] = [
    // weight_dequant_kernel: y = x * s, one s for 128 × 128. Also inference/fp8_cast_bf16.py (X_scale_inv), and
    // huggingface/transformers, integrations/finegrained_fp8.py (weight_block_size; None is one scale for the tensor).
    Format {
        ends: ["", "_scale_inv"],
        codes: FLOAT8,
        scales: FLOATS_AND_EXPONENTS,
        methods: &["fp8"],
        grain: Grain::Squares,
        source: "deepseek-ai/DeepSeek-V3, inference/kernel.py",
    },
    // The same tensors with other names.
    Format {
        ends: [".weight", ".scale"],
        codes: &[ElementType::FLOAT8E4M3FN],
        scales: FLOATS_AND_EXPONENTS,
        methods: &["fp8"],
        grain: Grain::Squares,
        source: "deepseek-ai/DeepSeek-V3, inference/convert.py",
    },
    // _dequantize: (x_q - zero_point) * scale, with the scale of a tensor, a channel, a group or a block. Of the whole
    // tensor, also NVIDIA/Model-Optimizer, modelopt/torch/quantization/qtensor/fp8_tensor.py; neuralmagic/AutoFP8,
    // auto_fp8/quantize.py, whose method is fp8; and comfyanonymous/ComfyUI, comfy/quant_ops.py (TensorCoreFP8Layout).
    Format {
        ends: ["", "_scale"],
        codes: &[ElementType::FLOAT8E4M3FN, ElementType::FLOAT8E5M2, ElementType::INT8],
        scales: FLOATS,
        methods: &["compressed-tensors", "modelopt", "fp8"],
        grain: Grain::Configured,
        source: "vllm-project/compressed-tensors, src/compressed_tensors/quantization/lifecycle/forward.py",
    },
    // MXFP8QuantizationCompressor: 2^(scale - 127).
    Format {
        ends: ["", "_scale"],
        codes: FLOAT8,
        scales: EXPONENTS,
        methods: &["compressed-tensors", "modelopt"],
        grain: Grain::Group(32),
        source: "vllm-project/compressed-tensors, src/compressed_tensors/compressors/mxfp8/base.py",
    },
    // NVFP4QTensor.dequantize: scale * double_scale as float32, then times the values; low bits first. Its table of values
    // has 0 for the code 8, which is -0 here and in the other projects.
    Format {
        ends: ["", "_scale"],
        codes: BYTES,
        scales: &[ElementType::FLOAT8E4M3FN],
        methods: &["modelopt"],
        grain: Grain::Pairs(16),
        source: "NVIDIA/Model-Optimizer, modelopt/torch/quantization/qtensor/nvfp4_tensor.py",
    },
    // decompress and _dequantize: scale / global_scale as float32, then times the values; low bits first.
    Format {
        ends: ["_packed", "_scale"],
        codes: BYTES,
        scales: &[ElementType::FLOAT8E4M3FN],
        methods: &["compressed-tensors"],
        grain: Grain::Pairs(16),
        source: "vllm-project/compressed-tensors, src/compressed_tensors/compressors/nvfp4/base.py",
    },
    // MXFP4PackedCompressor: 2^(scale - 127).
    Format {
        ends: ["_packed", "_scale"],
        codes: BYTES,
        scales: EXPONENTS,
        methods: &["compressed-tensors"],
        grain: Grain::Pairs(32),
        source: "vllm-project/compressed-tensors, src/compressed_tensors/compressors/mxfp4/base.py",
    },
    // unpack_from_int32: low bits first, less half the range; zero points likewise, packed along the rows.
    Format {
        ends: ["_packed", "_scale"],
        codes: &[ElementType::INT32],
        scales: FLOATS,
        methods: &["compressed-tensors"],
        grain: Grain::Words,
        source: "vllm-project/compressed-tensors, src/compressed_tensors/compressors/pack_quantized/base.py",
    },
    // TensorCoreFP8Layout.dequantize: one scale for the tensor. kohya-ss/musubi-tuner,
    // modules/fp8_optimization_utils.py: also one for each row.
    Format {
        ends: [".weight", ".scale_weight"],
        codes: FLOAT8,
        scales: FLOATS,
        methods: &[],
        grain: Grain::Rows,
        source: "comfyanonymous/ComfyUI, comfy/quant_ops.py",
    },
    // convert_moe_packed_tensors: ldexp(value, scale - 127), low bits first, then out.transpose(1, 2).
    Format {
        ends: ["_blocks", "_scales"],
        codes: BYTES,
        scales: BYTES,
        methods: &["mxfp4"],
        grain: Grain::TransposedBlocks,
        source: "huggingface/transformers, src/transformers/integrations/mxfp4.py",
    },
    // Checkpoint._get_mxfp4_tensor: the same without the transposition.
    Format {
        ends: [".blocks", ".scales"],
        codes: BYTES,
        scales: BYTES,
        methods: &["mxfp4"],
        grain: Grain::Blocks,
        source: "openai/gpt-oss, gpt_oss/torch/weights.py",
    },
];
