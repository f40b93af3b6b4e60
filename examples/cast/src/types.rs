//! The names of element types on the command line.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command};
use wgpu_cast::{ElementType, Kind};

use crate::output::warning;

/// Names that count bits here and bytes in numpy. The type is the one that numpy means.
const AMBIGUOUS: [(&str, ElementType); 7] = [
    ("f4", ElementType::FLOAT),
    ("i2", ElementType::INT16),
    ("i4", ElementType::INT32),
    ("i8", ElementType::INT64),
    ("u2", ElementType::UINT16),
    ("u4", ElementType::UINT32),
    ("u8", ElementType::UINT64),
];

/// A function that parses the name of an element type, and the names that shells offer. Errors name similar types
/// instead of all types.
#[derive(Clone, Copy, Debug)]
pub struct TypeParser {
    parse: fn(&str) -> Result<ElementType, String>,
    offered: fn(ElementType) -> bool,
}

/// Any type, as [`any_type`].
pub const ANY_TYPE: TypeParser = TypeParser { parse: any_type, offered: |_| true };

/// A numeric type, as [`element_type`].
pub const NUMERIC_TYPE: TypeParser = TypeParser { parse: element_type, offered: ElementType::is_numeric };

impl TypedValueParser for TypeParser {
    type Value = ElementType;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<ElementType, clap::Error> {
        self.parse.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let offered = ElementType::ALL.iter().filter(|&&t| (self.offered)(t));
        Some(Box::new(offered.map(|t| PossibleValue::new(t.name()))))
    }
}

/// Parses the name of an element type. The error for an unknown name suggests similar ones.
///
/// A name that has another meaning in numpy keeps the meaning that it has in this program. A warning says so.
///
/// # Errors
/// There is no such type.
pub fn any_type(text: &str) -> Result<ElementType, String> {
    let found: ElementType = text.parse().map_err(|error| match foreign(text) {
        Some(what) => format!("{error}: {what}"),
        None => format!("{error}, did you mean {}?", or(&near(text))),
    })?;
    if let Some((name, numpy)) = AMBIGUOUS.iter().find(|(name, _)| text.eq_ignore_ascii_case(name)) {
        let bits = found.bits().unwrap_or(0);
        warning(format_args!("{name}: taken as {found} ({bits} bits); numpy's {name} is {numpy}"));
    }
    Ok(found)
}

/// Parses the name of a numeric element type, as [`any_type`].
///
/// # Errors
/// There is no such type, or it is STRING.
fn element_type(text: &str) -> Result<ElementType, String> {
    match any_type(text)? {
        known if known.is_numeric() => Ok(known),
        known => Err(format!("{known} is not a numeric element type (strings have no GPU kernel)")),
    }
}

/// What a name means that is known from elsewhere but is no element type.
fn foreign(text: &str) -> Option<String> {
    const NO_SCALES: &str = "and this program casts values without scales";
    let plain = text.to_lowercase().replace(['_', '-', '.'], "");
    let is_of_llama = |rest: &str| rest.starts_with(|digit: char| digit.is_ascii_digit());
    let blocks = [("mxfp4", "float4e2m1"), ("nvfp4", "float4e2m1"), ("mxfp6", "float6e2m3"), ("mxfp8", "float8e4m3fn")];
    if let Some((name, codes)) = blocks.iter().find(|(name, _)| plain.starts_with(name)) {
        return Some(format!(
            "{name} has a scale for each block of values, {NO_SCALES} (--to {codes} casts them as they are)"
        ));
    }
    if ["iq", "tq", "q"].iter().any(|family| plain.strip_prefix(family).is_some_and(is_of_llama)) {
        return Some(format!("it is a quantization of llama.cpp with scales, {NO_SCALES}"));
    }
    match plain.as_str() {
        "nf4" | "bnb4bit" | "bnb" | "gptq" | "awq" | "hqq" | "w8a8" | "w8a16" | "w4a16" | "w4a8" => {
            Some(format!("it is a quantization with scales, {NO_SCALES}"))
        }
        "gguf" | "ggml" => Some("it is a file format of llama.cpp, which is not written here".to_owned()),
        "safetensors" | "onnx" | "npz" | "npy" | "pb" | "bin" => {
            Some(format!("it is a file format, which the extension of the output names (OUT.{plain})"))
        }
        "complex64" | "complex128" | "complex" => Some("complex numbers are not cast".to_owned()),
        "tf32" | "tensorfloat32" => Some("it is a way to multiply; its values are stored as float".to_owned()),
        _ => None,
    }
}

/// The element types with similar names. If the text names a family, they are the types of that family. Otherwise they
/// are those with the least edit distance.
fn near(text: &str) -> Vec<ElementType> {
    let plain = text.to_lowercase().replace(['_', '-'], "");
    let text = plain.trim_start_matches("mx").trim_start_matches("torch.");
    let text = if let Some(rest) = text.strip_prefix("fp") { format!("float{rest}") } else { text.to_owned() };
    let family = |t: &ElementType| {
        let name = t.name();
        matches!(t.kind(), Kind::Float(_)) && text.len() > "float".len() && name.starts_with(&text) && name != text
    };
    let all = || ElementType::ALL.iter().copied();
    let members: Vec<_> = all().filter(family).collect();
    if !members.is_empty() {
        return members;
    }
    let names = |t: ElementType| std::iter::once(t.name()).chain(t.aliases().iter().copied());
    let distance = |t: ElementType| names(t).map(|name| strsim::damerau_levenshtein(name, &text)).min();
    let least = all().map(distance).min();
    all().filter(|&t| distance(t) == least.flatten()).collect()
}

/// `a, b or c`.
fn or(types: &[ElementType]) -> String {
    let names: Vec<_> = types.iter().map(|t| t.name()).collect();
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}
