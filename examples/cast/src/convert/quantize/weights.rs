//! Which tensors are weights: those of linear layers.

use wgpu_cast::ElementType;

use crate::convert::scales::module;

/// The types of weights that get scales.
pub const FLOATS: [ElementType; 3] = [ElementType::FLOAT, ElementType::FLOAT16, ElementType::BFLOAT16];

/// Layers whose weights are matrices and stay as they are in published checkpoints: readers expect no scales there. These are
/// the last parts of their names.
const KEPT: [&str; 9] = [
    // Output layers: `ignore` in the recipes of vllm-project/llm-compressor; deepseek-ai/DeepSeek-V3. Llama and Mistral in
    // the format of their authors.
    "lm_head",
    "output",
    // Embeddings, which are no linear layers: T5; GPT-J and StarCoder.
    "shared",
    "relative_attention_bias",
    "wte",
    "wpe",
    // Routers of experts: `ignore` in the recipes of vllm-project/llm-compressor for Qwen; deepseek-ai/DeepSeek-V3.
    "gate",
    "router",
    "shared_expert_gate",
];

/// A part of the names of embeddings: `embed_tokens`, `tok_embeddings`, `token_type_embeddings`.
const EMBEDDING: &str = "embed";

/// Whether the name and the shape are those of the weight of a linear layer.
fn is_matrix(name: &str, shape: &[u64]) -> bool {
    module(name) != name && shape.len() == 2 && !shape.contains(&0)
}

/// Whether a tensor is a weight that published checkpoints quantize.
pub fn is_weight(name: &str, stored: Option<ElementType>, shape: &[u64]) -> bool {
    let layer = module(name).rsplit('.').next().unwrap_or_default();
    is_matrix(name, shape) && is_float(stored) && !KEPT.contains(&layer) && !layer.contains(EMBEDDING)
}

/// Whether elements of this type get scales.
pub fn is_float(stored: Option<ElementType>) -> bool {
    stored.is_some_and(|stored| FLOATS.contains(&stored))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_help_names_every_layer_that_stays() {
        let help = crate::help::convert();
        let list = help.split_once("(*embed*,").unwrap().1.split_once(')').unwrap().0;
        let named = list.split([',', '\n']).map(str::trim).filter(|name| !name.is_empty());
        assert_eq!(BTreeSet::from_iter(named), BTreeSet::from(KEPT));
    }
}
