//! What the configuration of a model says about its scales.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::layout::{BLOCK, Layout};

/// The models of huggingface/transformers (5.24) with layers that are `Conv1D` (pytorch_utils.py), by their `model_type`. The
/// weights of such layers are transposed. transformers applies scales to linear layers only, and takes the codes of these as
/// they are.
const TRANSPOSED: [&str; 5] = ["clvp", "decision_transformer", "gpt2", "imagegpt", "openai-gpt"];

/// The last parts of the names of those layers. Other models have linear layers with the same names.
const TRANSPOSED_LAYERS: [&str; 4] = ["c_attn", "c_fc", "c_proj", "q_attn"];

/// The last parts of the names of such layers in a model of this `model_type`.
pub fn transposed_layers(model: &str) -> &'static [&'static str] {
    if TRANSPOSED.contains(&model) { &TRANSPOSED_LAYERS } else { &[] }
}

/// `quantization_config` of a model whose linear layers have scales, except those of these names. Activations are quantized
/// while the model runs, so that nothing is calibrated.
pub fn configuration(layout: Layout, kept: &BTreeSet<&str>) -> Value {
    match layout {
        // deepseek-ai/DeepSeek-V3, config.json. huggingface/transformers, finegrained_fp8.py, reads modules_to_not_convert.
        Layout::Block => json!({
            "activation_scheme": "dynamic",
            "fmt": "e4m3",
            "modules_to_not_convert": kept,
            "quant_method": "fp8",
            "weight_block_size": BLOCK,
        }),
        // vllm-project/compressed-tensors, src/compressed_tensors/quantization/quant_scheme.py: FP8_DYNAMIC, and FP8 with
        // dynamic activations.
        Layout::Row => compressed("channel", "token", kept),
        Layout::Tensor => compressed("tensor", "tensor", kept),
    }
}

/// The configuration of compressed-tensors.
fn compressed(weights: &str, activations: &str, kept: &BTreeSet<&str>) -> Value {
    let codes = |strategy: &str, is_dynamic: bool| json!({"dynamic": is_dynamic, "num_bits": 8, "strategy": strategy, "symmetric": true, "type": "float"});
    json!({
        "config_groups": {"group_0": {
            "input_activations": codes(activations, true),
            "targets": ["Linear"],
            "weights": codes(weights, false),
        }},
        "format": "float-quantized",
        "ignore": kept,
        "quant_method": "compressed-tensors",
        "quantization_status": "compressed",
    })
}
