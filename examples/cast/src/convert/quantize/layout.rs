//! The layouts in which quantized weights are written. Each has readers, and `--dequantize` is one of them.

use std::collections::BTreeMap;

use clap::ValueEnum;
use serde_json::json;

use crate::convert::dequantize::{Geometry, blocks_of};
use crate::convert::report::count;
use crate::convert::scales::module;

/// The rows and columns of a block.
pub const BLOCK: [u64; 2] = [128, 128];

/// What shares a scale, and how codes and scales are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Layout {
    /// One scale for a tensor: ComfyUI
    Tensor,
    /// One scale for a row: compressed-tensors
    Row,
    /// One scale for 128 x 128 elements: DeepSeek
    Block,
}

impl Layout {
    /// The name of the scale of a weight.
    pub fn scale_name(self, weight: &str) -> String {
        match self {
            // comfyanonymous/ComfyUI, QUANTIZATION.md, and vllm-project/compressed-tensors: X.weight_scale.
            Self::Tensor | Self::Row => format!("{weight}_scale"),
            // deepseek-ai/DeepSeek-V3, and huggingface/transformers, finegrained_fp8: X.weight_scale_inv.
            Self::Block => format!("{weight}_scale_inv"),
        }
    }

    /// The blocks of a weight, which has at least two axes and no empty one, and the shape of its scales.
    pub fn blocks(self, shape: &[u64]) -> Option<(Geometry, Vec<u64>)> {
        let (&columns, outer) = shape.split_last()?;
        let rows = count(outer);
        let matrix = [rows, columns];
        Some(match self {
            // vllm-project/compressed-tensors creates scales of a tensor with this shape. ComfyUI reads one number.
            Self::Tensor => (Geometry::of_blocks(&matrix, matrix)?, vec![1]),
            Self::Row => (Geometry::of_blocks(&matrix, [1, columns])?, [outer, &[1]].concat()),
            Self::Block => (Geometry::of_blocks(shape, BLOCK)?, blocks_of(shape, BLOCK)?),
        })
    }

    /// What the metadata of a file says of the layout, if its readers look there.
    pub fn metadata<'a>(self, weights: impl Iterator<Item = &'a str>) -> Option<String> {
        // comfyanonymous/ComfyUI, QUANTIZATION.md.
        let layers: BTreeMap<_, _> =
            weights.map(|weight| (module(weight), json!({"format": "float8_e4m3fn"}))).collect();
        let is_told = self == Self::Tensor && !layers.is_empty();
        is_told.then(|| json!({"format_version": "1.0", "layers": layers}).to_string())
    }
}
