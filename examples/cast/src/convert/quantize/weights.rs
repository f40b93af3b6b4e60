//! Which tensors are weights: those of linear layers.

use wgpu_cast::ElementType;

/// The types of weights that get scales.
pub const FLOATS: [ElementType; 3] = [ElementType::FLOAT, ElementType::FLOAT16, ElementType::BFLOAT16];

/// The end of a weight's name.
const WEIGHT: &str = ".weight";

/// Layers whose weights are matrices and stay as they are in published checkpoints: readers expect no scales there. These are
/// the last parts of their names.
const KEPT: [&str; 9] = [
    // Output layers: `ignore` in the recipes of vllm-project/llm-compressor; deepseek-ai/DeepSeek-V3.
    "lm_head",
    // Embeddings, which are no linear layers: Llama, Qwen and DeepSeek; GPT-2; BLOOM and BERT.
    "embed_tokens",
    "wte",
    "wpe",
    "word_embeddings",
    "position_embeddings",
    // Routers of experts: `ignore` in the recipes of vllm-project/llm-compressor for Qwen; deepseek-ai/DeepSeek-V3.
    "gate",
    "router",
    "shared_expert_gate",
];

/// The name of the layer to which a weight belongs.
pub fn module(weight: &str) -> &str {
    weight.strip_suffix(WEIGHT).unwrap_or(weight)
}

/// Whether the name and the shape are those of the weight of a linear layer.
pub fn is_matrix(name: &str, shape: &[u64]) -> bool {
    name.ends_with(WEIGHT) && shape.len() == 2 && !shape.contains(&0)
}

/// Whether a tensor is a weight that published checkpoints quantize.
pub fn is_weight(name: &str, stored: Option<ElementType>, shape: &[u64]) -> bool {
    let layer = module(name).rsplit('.').next().unwrap_or_default();
    is_matrix(name, shape) && is_float(stored) && !KEPT.contains(&layer)
}

/// Whether elements of this type get scales.
pub fn is_float(stored: Option<ElementType>) -> bool {
    stored.is_some_and(|stored| FLOATS.contains(&stored))
}
