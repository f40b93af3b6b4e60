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

/// What a tensor is to its codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Member {
    /// The scales of blocks, or of the whole tensor.
    Scale,
    /// A second scale, which multiplies the others.
    Multiplier,
    /// A second scale, which divides the others.
    Divisor,
    ZeroPoint,
    /// The shape of the tensor before it was packed.
    Shape,
    /// The layout of the codes, as JSON.
    Description,
    /// What only those need who compute with the codes.
    Unused,
    /// A part of a layout whose codes are not multiplied here.
    Other,
}

/// The ends of two names after their common part, and the types of the codes. The first name is that of the codes, the
/// second that of the tensor that belongs to them, and the last says what it is.
type Layout = (&'static str, &'static str, Codes, Member);

/// The layouts, with the projects that write them. If codes have several scales, messages name the scale of the first
/// row.
const LAYOUTS: [Layout; 29] = [
    // deepseek-ai/DeepSeek-V3, QwenLM/Qwen3: X.weight, X.weight_scale_inv. huggingface/transformers, finegrained_fp8:
    // X.gate_up_proj, X.gate_up_proj_scale_inv.
    ("", "_scale_inv", Codes::Narrow, Member::Scale),
    // vllm-project/compressed-tensors (float-quantized, int-quantized), NVIDIA/Model-Optimizer, Comfy-Org/ComfyUI:
    // X.weight, X.weight_scale.
    ("", "_scale", Codes::Narrow, Member::Scale),
    // Comfy-Org/ComfyUI until its metadata, kijai/ComfyUI-WanVideoWrapper, kohya-ss/musubi-tuner.
    (".weight", ".scale_weight", Codes::Narrow, Member::Scale),
    (".weight", ".scale_weight_tensor", Codes::Narrow, Member::Other),
    // deepseek-ai/DeepSeek-V3, inference/convert.py, which renames X.weight_scale_inv.
    (".weight", ".scale", Codes::Narrow, Member::Scale),
    // openai/gpt-oss: in the version of huggingface/transformers, and in its own.
    ("_blocks", "_scales", Codes::Narrow, Member::Scale),
    (".blocks", ".scales", Codes::Narrow, Member::Scale),
    // vllm-project/compressed-tensors (pack-quantized, nvfp4-pack-quantized): X.weight_packed, X.weight_scale.
    ("_packed", "_scale", Codes::Packed, Member::Scale),
    ("_packed", "_global_scale", Codes::Packed, Member::Divisor),
    ("_packed", "_zero_point", Codes::Packed, Member::ZeroPoint),
    ("_packed", "_shape", Codes::Packed, Member::Shape),
    ("_packed", "_g_idx", Codes::Packed, Member::Other),
    (".weight_packed", ".input_global_scale", Codes::Packed, Member::Unused),
    ("", "_zero_point", Codes::Narrow, Member::ZeroPoint),
    // NVIDIA/Model-Optimizer (NVFP4): X.weight, X.weight_scale, X.weight_scale_2.
    ("", "_scale_2", Codes::Narrow, Member::Multiplier),
    // AutoGPTQ/AutoGPTQ, ModelCloud/GPTQModel, casper-hansen/AutoAWQ.
    (".qweight", ".scales", Codes::Packed, Member::Other),
    (".qweight", ".qzeros", Codes::Packed, Member::Other),
    // ml-explore/mlx, QuantizedLinear.
    (".weight", ".scales", Codes::Packed, Member::Other),
    (".weight", ".biases", Codes::Packed, Member::Other),
    // bitsandbytes-foundation/bitsandbytes: 8 bits, then 4 bits.
    (".weight", ".SCB", Codes::Narrow, Member::Other),
    ("", ".absmax", Codes::Narrow, Member::Other),
    ("", ".nested_absmax", Codes::Narrow, Member::Other),
    // huggingface/optimum-quanto: X.weight._data, X.weight._scale.
    ("._data", "._scale", Codes::Narrow, Member::Other),
    ("._data", "._shift", Codes::Narrow, Member::Other),
    // Scales of activations: neuralmagic/AutoFP8, NVIDIA/Model-Optimizer and Comfy-Org/ComfyUI; then
    // vllm-project/compressed-tensors; then Comfy-Org/ComfyUI until its metadata and kohya-ss/musubi-tuner.
    (".weight", ".input_scale", Codes::Narrow, Member::Unused),
    (".weight", ".output_scale", Codes::Narrow, Member::Unused),
    (".weight", ".scale_input", Codes::Narrow, Member::Unused),
    // Comfy-Org/ComfyUI: the layout of a layer, as JSON.
    (".weight", ".comfy_quant", Codes::Narrow, Member::Description),
    // silveroxides/convert_to_quant (hybrid MXFP8).
    (".weight", ".weight_scalar", Codes::Narrow, Member::Other),
];

/// A tensor that says that floats of 8 bits have scales: Comfy-Org/ComfyUI until its metadata,
/// kijai/ComfyUI-WanVideoWrapper.
const MARKER: &str = "scaled_fp8";

/// The key of safetensors' metadata with the layouts of layers: Comfy-Org/ComfyUI.
pub const METADATA: &str = "_quantization_metadata";

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
    /// Codes that are multiplied by this scale.
    Applied(String),
    /// The scale of these codes, or another tensor that belongs to them. The output has no such tensor, because the codes
    /// are multiplied.
    Dropped(String),
    /// A weight that is divided by this scale.
    DividedBy(String),
    /// The scale that is computed for this weight. The input has no such tensor.
    Computed(String),
    /// A parameter of an operator of an ONNX model, such as the scale of DequantizeLinear.
    Parameter,
}

/// The scales of a model.
#[derive(Debug, Default)]
pub struct Scales {
    roles: HashMap<String, ScaleRole>,
    /// The types of the codes that have scales; `None` if the type is not known.
    codes: HashMap<String, Option<ElementType>>,
    /// Another source that tells that codes have scales.
    told_by: Option<String>,
}

impl Scales {
    /// Finds the scales among the tensors of a model. A tensor has no type if its shard was not read. `told_by` is
    /// another source that tells that there are scales.
    pub fn new(tensors: &BTreeMap<String, Option<ElementType>>, told_by: Option<String>) -> Self {
        let (mut roles, mut types, mut marker) = (HashMap::new(), HashMap::new(), None);
        for (codes, scale, stored, _) in LAYOUTS {
            for name in tensors.keys() {
                let Some(common) = name.strip_suffix(scale) else { continue };
                let codes = format!("{common}{codes}");
                if let Some(element_type) = tensors.get(&codes).filter(|element_type| stored.include(**element_type)) {
                    types.entry(codes.clone()).or_insert(*element_type);
                    roles.entry(name.clone()).or_insert_with(|| ScaleRole::ScaleOf(codes.clone()));
                    roles.entry(codes).or_insert_with(|| ScaleRole::ScaledBy(name.clone()));
                }
            }
        }
        for name in tensors.keys().filter(|name| name.rsplit('.').next() == Some(MARKER)) {
            marker.get_or_insert_with(|| format!("the tensor {name}"));
            roles.insert(name.clone(), ScaleRole::ScaleOf("all float8 tensors".to_owned()));
        }
        Self { roles, codes: types, told_by: told_by.or(marker) }
    }

    /// What the metadata of a safetensors file tells about scales.
    pub fn in_metadata(metadata: &BTreeMap<String, String>) -> Option<String> {
        metadata.contains_key(METADATA).then(|| format!("{METADATA:?} in the metadata"))
    }

    /// Whether there are scales.
    pub fn exist(&self) -> bool {
        self.told_by.is_some() || !self.roles.is_empty()
    }

    /// The type of codes that have a scale. `None` if the name is not that of such codes.
    pub fn codes_type(&self, name: &str) -> Option<Option<ElementType>> {
        self.codes.get(name).copied()
    }

    /// The name that the scale of a tensor would have, by the scales that are known. If none is, it ends with `end`.
    pub fn expected(&self, name: &str, end: &'static str) -> String {
        let is_pair = |[codes, scale]: &[&str; 2]| {
            let of = |(scaled, role): (&String, &ScaleRole)| match role {
                ScaleRole::ScaledBy(by) => {
                    scaled.strip_suffix(codes).zip(by.strip_suffix(scale)).is_some_and(|(codes, scale)| codes == scale)
                }
                _ => false,
            };
            name.ends_with(codes) && self.roles.iter().any(of)
        };
        let pairs = LAYOUTS.iter().filter(|row| row.3 == Member::Scale).map(|row| [row.0, row.1]);
        let [codes, scale] = pairs.into_iter().find(is_pair).unwrap_or(["", end]);
        format!("{}{scale}", name.strip_suffix(codes).unwrap_or(name))
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
        matches!(self, Self::ScaleOf(_) | Self::Dropped(_) | Self::Computed(_))
    }

    /// The text about the role, after a tensor in a list.
    pub fn text(&self) -> String {
        match self {
            Self::ScaledBy(scale) => format!("with the scale {}", printable(scale)),
            Self::Scaled(told_by) => format!("with a scale, by {}", printable(told_by)),
            Self::ScaleOf(codes) => format!("the scale of {}", printable(codes)),
            Self::Applied(scale) => format!("multiplied by {}", printable(scale)),
            Self::Dropped(codes) => format!("the scale of {}, not written", printable(codes)),
            Self::DividedBy(scale) => format!("divided by {}", printable(scale)),
            Self::Computed(codes) => format!("the scale of {}, computed", printable(codes)),
            Self::Parameter => "a parameter of an operator".to_owned(),
        }
    }
}

/// Whether a tensor has the name of a scale that its codes are multiplied or divided by.
pub fn is_factor(name: &str) -> bool {
    let is_scale = |row: &&Layout| matches!(row.3, Member::Scale | Member::Multiplier | Member::Divisor);
    LAYOUTS.iter().filter(is_scale).any(|row| name.ends_with(row.1))
}

/// A tensor that may belong to codes.
pub struct Companion {
    /// The ends of the names of the codes and of the tensor.
    pub ends: [&'static str; 2],
    pub name: String,
    pub member: Member,
}

/// The tensors that would belong to codes of this name, in any layout.
pub fn companions(codes: &str) -> impl Iterator<Item = Companion> {
    LAYOUTS.iter().filter_map(move |&(end, other, _, member)| {
        let common = codes.strip_suffix(end)?;
        Some(Companion { ends: [end, other], name: format!("{common}{other}"), member })
    })
}

/// The name of the layer to which a weight belongs.
pub fn module(weight: &str) -> &str {
    weight.strip_suffix(".weight").unwrap_or(weight)
}

/// The name of a tensor whose codes have this name in a layout.
pub fn plain_name(codes: &str) -> &str {
    ["_packed", "_blocks", ".blocks"].iter().find_map(|end| codes.strip_suffix(end)).unwrap_or(codes)
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
    let help = "--dequantize multiplies the codes in .safetensors files by their scales, --except GLOB or --map GLOB=keep leaves \
         such tensors as they are, --ignore-scales casts the codes alone";
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
