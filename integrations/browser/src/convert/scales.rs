//! Codes that are stored with scales: their values are wrong without them.
//!
//! The program `wgpu-cast` knows the layouts of many projects. The page refuses whatever may be one of them.

use std::collections::HashMap;

use wgpu_cast::{ElementType, Kind};
use wgpu_cast_files::{SafetensorsFile, SafetensorsTensor};

/// What the last part of a scale's name has, in the layouts that the program knows.
const WORDS: [&str; 4] = ["scal", "absmax", "SCB", "comfy_quant"];

/// Why a file is refused whose tensors of this type are to be cast, if it is.
pub fn refused(file: &SafetensorsFile, is_cast: impl Fn(ElementType) -> bool) -> Option<String> {
    let is_codes = |tensor: &&SafetensorsTensor| {
        tensor.element_type.is_some_and(|t| is_narrow_float(t) && t != ElementType::FLOAT8E8M0 && is_cast(t))
    };
    let mut codes = file.tensors().iter().filter(is_codes).peekable();
    codes.peek()?;
    // Of all tensors of the model, as Comfy-Org/ComfyUI writes it.
    let metadata = file.metadata().contains_key("_quantization_metadata").then_some("_quantization_metadata");
    let marker = file.tensors().iter().map(|tensor| tensor.name.as_str()).find(|name| split(name).1 == "scaled_fp8");
    let told = metadata.or(marker);
    let scales = scales(file);
    let (codes, scale) = codes.find_map(|codes| {
        let beside = scales.get(split(&codes.name).0).into_iter().flatten();
        Some((codes, told.or(beside.copied().find(|name| *name != codes.name))?))
    })?;
    Some(format!(
        "{} is {}, and its scale is probably stored beside it ({scale}): a cast of the codes alone gives wrong values. \
         The program wgpu-cast tells which tensors have scales: wgpu-cast info FILE",
        codes.name,
        codes.element_type.map_or("", ElementType::name)
    ))
}

fn is_narrow_float(element_type: ElementType) -> bool {
    matches!(element_type.kind(), Kind::Float(_)) && element_type.bits().is_some_and(|bits| bits <= 8)
}

/// The module and the last part of a name.
fn split(name: &str) -> (&str, &str) {
    name.rsplit_once('.').unwrap_or(("", name))
}

/// The tensors that are named as scales, by their modules.
fn scales(file: &SafetensorsFile) -> HashMap<&str, Vec<&str>> {
    let mut scales: HashMap<_, Vec<_>> = HashMap::new();
    for tensor in file.tensors() {
        let (module, last) = split(&tensor.name);
        if WORDS.iter().any(|word| last.contains(word)) {
            scales.entry(module).or_default().push(tensor.name.as_str());
        }
    }
    scales
}
