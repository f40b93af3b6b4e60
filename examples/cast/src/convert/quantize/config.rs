//! What the configuration of a model says about its scales.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::layout::{BLOCK, Layout};

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
