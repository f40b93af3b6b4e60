//! Tensors that are stored with scales. Casting only their codes would give values that are wrong by the scale.
//!
//! Names and the type of the codes tell which tensor is the scale of which. Names alone are not enough: `layer_scale`,
//! `logit_scale` and the `scale` of a norm are ordinary weights.

use std::collections::{BTreeMap, HashMap};

use wgpu_cast::{ElementType, Kind};

use super::report::TensorReport;
use crate::failure::Failure;
use crate::output::counted;
use crate::text::printable;

/// The types in which a layout stores codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Codes {
    /// Floats or integers of at most 8 bits.
    Narrow,
    /// The types of `Narrow`, and integers that hold several codes.
    Packed,
}

/// The ends of two names after their common part, and the types of the codes. The first name is that of the codes, the
/// second that of the tensor that belongs to them.
type Layout = (&'static str, &'static str, Codes);

/// The layouts, with the projects that write them. If codes have several scales, messages name the scale of the first
/// row.
const LAYOUTS: [Layout; 26] = [
    // deepseek-ai/DeepSeek-V3, QwenLM/Qwen3: X.weight, X.weight_scale_inv. huggingface/transformers, finegrained_fp8:
    // X.gate_up_proj, X.gate_up_proj_scale_inv.
    ("", "_scale_inv", Codes::Narrow),
    // vllm-project/compressed-tensors (float-quantized, int-quantized), NVIDIA/Model-Optimizer, Comfy-Org/ComfyUI:
    // X.weight, X.weight_scale.
    ("", "_scale", Codes::Narrow),
    // Comfy-Org/ComfyUI until its metadata, kijai/ComfyUI-WanVideoWrapper, kohya-ss/musubi-tuner.
    (".weight", ".scale_weight", Codes::Narrow),
    // deepseek-ai/DeepSeek-V3, inference/convert.py, which renames X.weight_scale_inv.
    (".weight", ".scale", Codes::Narrow),
    // openai/gpt-oss: in the version of huggingface/transformers, and in its own.
    ("_blocks", "_scales", Codes::Narrow),
    (".blocks", ".scales", Codes::Narrow),
    // vllm-project/compressed-tensors (pack-quantized, nvfp4-pack-quantized): X.weight_packed, X.weight_scale.
    ("_packed", "_scale", Codes::Packed),
    ("_packed", "_global_scale", Codes::Packed),
    ("_packed", "_zero_point", Codes::Packed),
    (".weight_packed", ".input_global_scale", Codes::Packed),
    ("", "_zero_point", Codes::Narrow),
    // NVIDIA/Model-Optimizer (NVFP4): X.weight, X.weight_scale, X.weight_scale_2.
    ("", "_scale_2", Codes::Narrow),
    // AutoGPTQ/AutoGPTQ, ModelCloud/GPTQModel, casper-hansen/AutoAWQ.
    (".qweight", ".scales", Codes::Packed),
    (".qweight", ".qzeros", Codes::Packed),
    // ml-explore/mlx, QuantizedLinear.
    (".weight", ".scales", Codes::Packed),
    (".weight", ".biases", Codes::Packed),
    // bitsandbytes-foundation/bitsandbytes: 8 bits, then 4 bits.
    (".weight", ".SCB", Codes::Narrow),
    ("", ".absmax", Codes::Narrow),
    ("", ".nested_absmax", Codes::Narrow),
    // huggingface/optimum-quanto: X.weight._data, X.weight._scale.
    ("._data", "._scale", Codes::Narrow),
    ("._data", "._shift", Codes::Narrow),
    // Scales of activations: neuralmagic/AutoFP8, NVIDIA/Model-Optimizer and Comfy-Org/ComfyUI; then
    // vllm-project/compressed-tensors; then Comfy-Org/ComfyUI until its metadata and kohya-ss/musubi-tuner.
    (".weight", ".input_scale", Codes::Narrow),
    (".weight", ".output_scale", Codes::Narrow),
    (".weight", ".scale_input", Codes::Narrow),
    // Comfy-Org/ComfyUI: the layout of a layer, as JSON.
    (".weight", ".comfy_quant", Codes::Narrow),
    // silveroxides/convert_to_quant (hybrid MXFP8).
    (".weight", ".weight_scalar", Codes::Narrow),
];

/// A tensor that says that floats of 8 bits have scales: Comfy-Org/ComfyUI until its metadata,
/// kijai/ComfyUI-WanVideoWrapper.
const MARKER: &str = "scaled_fp8";

/// The key of safetensors' metadata with the layouts of layers: Comfy-Org/ComfyUI.
const METADATA: &str = "_quantization_metadata";

/// Files beside a model, and the keys in them that tell of scales.
pub const CONFIGURATIONS: [(&str, &str); 3] = [
    // huggingface/transformers.
    ("config.json", "quantization_config"),
    // vllm-project/compressed-tensors until 0.5.
    ("config.json", "compression_config"),
    // NVIDIA/Model-Optimizer.
    ("hf_quant_config.json", "quantization"),
];

/// The role of a tensor in a layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScaleRole {
    /// Codes with this scale.
    ScaledBy(String),
    /// Codes with a scale of unknown name. The text tells how it is known that there is a scale.
    Scaled(String),
    /// The scale of these codes, or another tensor that belongs to them.
    ScaleOf(String),
}

/// The scales of a model.
#[derive(Debug, Default)]
pub struct Scales {
    roles: HashMap<String, ScaleRole>,
    /// Another source that tells that codes have scales.
    told_by: Option<String>,
}

impl Scales {
    /// Finds the scales among the tensors of a model. A tensor has no type if its shard was not read. `told_by` is
    /// another source that tells that there are scales.
    pub fn new(tensors: &BTreeMap<String, Option<ElementType>>, told_by: Option<String>) -> Self {
        let (mut roles, mut marker) = (HashMap::new(), None);
        for (codes, scale, stored) in LAYOUTS {
            for name in tensors.keys() {
                let Some(common) = name.strip_suffix(scale) else { continue };
                let codes = format!("{common}{codes}");
                if tensors.get(&codes).is_some_and(|element_type| stored.include(*element_type)) {
                    roles.entry(name.clone()).or_insert_with(|| ScaleRole::ScaleOf(codes.clone()));
                    roles.entry(codes).or_insert_with(|| ScaleRole::ScaledBy(name.clone()));
                }
            }
        }
        for name in tensors.keys().filter(|name| name.rsplit('.').next() == Some(MARKER)) {
            marker.get_or_insert_with(|| format!("the tensor {name}"));
            roles.insert(name.clone(), ScaleRole::ScaleOf("all float8 tensors".to_owned()));
        }
        Self { roles, told_by: told_by.or(marker) }
    }

    /// What the metadata of a safetensors file tells about scales.
    pub fn in_metadata(metadata: &BTreeMap<String, String>) -> Option<String> {
        metadata.contains_key(METADATA).then(|| format!("{METADATA:?} in the metadata"))
    }

    /// Whether the name belongs to a layout.
    pub fn pairs(&self, name: &str) -> bool {
        self.roles.contains_key(name)
    }

    /// The role of a tensor in a layout, if it has one.
    pub fn role(&self, name: &str, element_type: Option<ElementType>) -> Option<ScaleRole> {
        let told = || {
            let told_by =
                self.told_by.clone().filter(|_| element_type.is_some() && Codes::Narrow.include(element_type));
            told_by.map(ScaleRole::Scaled)
        };
        self.roles.get(name).cloned().or_else(told)
    }
}

impl ScaleRole {
    /// Whether the tensor is a scale, or another tensor that belongs to codes.
    pub fn is_scale(&self) -> bool {
        matches!(self, Self::ScaleOf(_))
    }

    /// The text about the role, after a tensor in a list.
    pub fn text(&self) -> String {
        match self {
            Self::ScaledBy(scale) => format!("with the scale {}", printable(scale)),
            Self::Scaled(told_by) => format!("with a scale, by {}", printable(told_by)),
            Self::ScaleOf(codes) => format!("the scale of {}", printable(codes)),
        }
    }
}

/// Finds the scales among all tensors of a model.
pub fn find(tensors: &mut [TensorReport]) {
    let scales = Scales::new(&tensors.iter().map(|tensor| (tensor.name.clone(), tensor.from)).collect(), None);
    tensors.iter_mut().for_each(|tensor| tensor.role = scales.role(&tensor.name, tensor.from));
}

/// The error of a conversion that would cast the codes of `count` tensors without their scales.
pub fn refuse(first: &TensorReport, count: usize) -> Failure {
    let more = match count - 1 {
        0 => String::new(),
        more => format!(" (and {} more)", counted(more as u64, "tensor")),
    };
    let (name, role) = (first.shown_name(), first.role.as_ref().map_or(String::new(), ScaleRole::text));
    let what = format!("{name} is {} {role}{more}, and the values are wrong without it", first.source_name());
    let help =
        "--except GLOB or --map GLOB=keep leaves such tensors as they are, --ignore-scales casts the codes alone";
    Failure::Usage(format!("{}: {what}: {help}", first.file))
}

impl Codes {
    /// Whether tensors of this type can be such codes. A tensor of unknown type can.
    fn include(self, element_type: Option<ElementType>) -> bool {
        let Some(element_type) = element_type else { return true };
        let is_narrow = element_type.bits().is_some_and(|bits| bits <= 8);
        match element_type.kind() {
            // E8M0 is the type of scales, not of codes.
            _ if element_type == ElementType::FLOAT8E8M0 => false,
            Kind::Float(_) => is_narrow,
            Kind::Int { .. } => is_narrow || self == Self::Packed,
            _ => false,
        }
    }
}
