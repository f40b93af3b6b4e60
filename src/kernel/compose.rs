//! Composes one WGSL module of fragments, constants and the line that joins them.

use super::constants::Constants;
use super::entry::vector;
use super::fragments::{fragment, used};
use super::{Access, Composed, ParameterSpace, VIEW_RANK};
use crate::bits::reference::{EncodeFloat, FloatMethod, Thresholds};
use crate::types::conversion::{Carrier, Conversion, Decode, Encode};

/// A module being composed.
pub(super) struct Module {
    header: String,
    constants: Constants,
    text: String,
    used: Vec<&'static str>,
}

impl Module {
    pub(super) fn new(conversion: &Conversion, size: u32, elements: u32) -> Self {
        let (from, to) = (conversion.from, conversion.to);
        let header = format!(
            "// from: {from}\n// to: {to}\n// elements per invocation: {elements}\n// workgroup size: {size}\n"
        );
        let mut constants = Constants::new(conversion);
        constants.number("WORKGROUP_SIZE", size);
        constants.number("VIEW_RANK", VIEW_RANK as u32);
        Self { header, constants, text: String::new(), used: Vec::new() }
    }

    /// Adds a fragment once, after the fragments that it uses.
    pub(super) fn need(&mut self, name: &str) {
        let (name, text) = fragment(name);
        if self.used.contains(&name) {
            return;
        }
        self.used.push(name);
        used(text).for_each(|used| self.need(used));
        self.text.push('\n');
        for line in text.lines().filter(|line| !line.starts_with("//:use ")) {
            self.line(line);
        }
    }

    pub(super) fn number(&mut self, name: &str, value: u32) {
        self.constants.number(name, value);
    }

    /// A name for one word or a vector of words.
    pub(super) fn alias(&mut self, name: &str, words: u32) {
        self.constants.line(&format!("alias {name} = {};", vector(words)));
    }

    pub(super) fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Declares the source and the destination as arrays of vectors. `source` and `destination` are the words in a
    /// vector.
    pub(super) fn bindings(&mut self, access: Access, source: u32, destination: u32) {
        self.alias("SourceWords", source);
        self.alias("DestinationWords", destination);
        self.need(match access {
            Access::Separate => "entry/separate",
            Access::Writable => "entry/writable",
            Access::Shared => "entry/shared",
        });
    }

    /// Declares `params` and `fn workgroup_number`.
    pub(super) fn params(&mut self, access: Access, space: ParameterSpace) {
        match (space, access) {
            (ParameterSpace::Counted, Access::Separate) => self.need("entry/count"),
            (ParameterSpace::Counted, _) => self.need("entry/count_writable"),
            _ => {}
        }
        self.need(match space {
            ParameterSpace::Uniform => "entry/params_uniform",
            ParameterSpace::Immediate => "entry/params_immediate",
            ParameterSpace::Table => "entry/params_table",
            ParameterSpace::Counted => "entry/params_counted",
        });
    }

    /// Declares `fn convert_eight`, from four words of source codes to one word of destination codes.
    pub(super) fn eights(&mut self, thresholds: &Thresholds) {
        let least: Vec<_> = thresholds.least.iter().map(|least| format!("{least:#x}u")).collect();
        self.constants.number("SRC_LEAST_NAN", thresholds.least_nan);
        self.constants.line(&format!("const DST_LEAST: array<u32, 7> = array<u32, 7>({});", least.join(", ")));
        self.need("encode/float4");
    }

    /// Declares `fn convert`, from source code to destination code: one line, and the fragments whose functions it
    /// calls.
    pub(super) fn conversion(&mut self, conversion: &Conversion) {
        let word = |bits| if bits == 64 { "vec2<u32>" } else { "u32" };
        let (source, destination) = (word(conversion.from.code_bits()), word(conversion.to.code_bits()));
        let mut value = String::from("code");
        for (fragment, function) in functions(conversion).into_iter().flatten() {
            self.need(fragment);
            value = format!("{function}({value})");
        }
        self.line("");
        self.line(&format!("fn convert(code: {source}) -> {destination} {{"));
        self.line(&format!("    return {value};"));
        self.line("}");
    }

    pub(super) fn finish(self, workgroup_size: u32, elements_per_invocation: u32) -> Composed {
        let wgsl = format!("{}\n{}{}", self.header, self.constants.text(), self.text);
        Composed { wgsl, workgroup_size, elements_per_invocation }
    }
}

/// A function of one argument: its file and its name.
pub(crate) type Function = Option<(&'static str, &'static str)>;

/// The functions from source code to destination code: decode, hub and encode, each if there is such a step.
/// [`Conversion::convert`] calls their references.
pub(crate) fn functions(conversion: &Conversion) -> [Function; 3] {
    if conversion.is_direct() {
        return match conversion.encode {
            Encode::Int(_) => [None, Some(("hub/split_float", "split_float")), Some(("encode/int", "encode_int"))],
            Encode::E8m0(_) => [None, None, Some(("encode/float_to_e8m0", "float_to_e8m0"))],
            _ => [None, None, Some(("encode/float_is_nonzero", "float_is_nonzero"))],
        };
    }
    let decode = match conversion.decode {
        _ if conversion.keeps_codes() => None,
        Decode::Bool => Some(("decode/bool", "decode_bool")),
        Decode::Int { .. } => Some(("decode/int", "decode_int")),
        Decode::Float(_) => Some(("decode/float", "decode_float")),
        Decode::E8m0 { .. } => Some(("decode/e8m0", "decode_e8m0")),
        Decode::Int64 { .. } | Decode::F32 | Decode::F64 | Decode::Own => None,
    };
    let (hub, encode) = match conversion.carrier() {
        Carrier::Int { .. } => from_int(&conversion.encode),
        Carrier::Int64 { .. } => from_int64(&conversion.encode),
        Carrier::F32 => from_f32(&conversion.encode),
        Carrier::F64 => from_f64(&conversion.encode),
    };
    [decode, hub, encode]
}

/// Hub and encode from an integer of at most 32 bits.
fn from_int(encode: &Encode) -> (Function, Function) {
    let split = Some(("hub/split_int", "split_int"));
    match encode {
        Encode::Float(_) => (split, Some(("encode/integer_to_float", "integer_to_float"))),
        Encode::F32 => (split, Some(("encode/integer_to_f32", "integer_to_f32"))),
        Encode::F64 => (split, Some(("encode/integer_to_f64", "integer_to_f64"))),
        Encode::E8m0(_) => (None, Some(("encode/integer_to_e8m0", "int_to_e8m0"))),
        Encode::Int64 { .. } => (None, Some(("encode/integer", "int_to_int64"))),
        Encode::Bool => (None, Some(("encode/bool", "int_is_nonzero"))),
        Encode::Int(_) | Encode::Copy | Encode::ClampInfinity { .. } => (None, None),
    }
}

/// Hub and encode from a 64-bit integer.
fn from_int64(encode: &Encode) -> (Function, Function) {
    let split = Some(("hub/split_int64", "split_int64"));
    match encode {
        Encode::Float(_) => (split, Some(("encode/integer_to_float", "integer_to_float"))),
        Encode::F32 => (split, Some(("encode/integer_to_f32", "integer_to_f32"))),
        Encode::F64 => (split, Some(("encode/integer_to_f64", "integer_to_f64"))),
        Encode::E8m0(_) => (None, Some(("encode/integer_to_e8m0", "int64_to_e8m0"))),
        Encode::Int(_) => (None, Some(("encode/integer", "int64_to_int"))),
        Encode::Bool => (None, Some(("encode/bool", "int64_is_nonzero"))),
        Encode::Int64 { .. } | Encode::Copy | Encode::ClampInfinity { .. } => (None, None),
    }
}

/// Hub and encode from binary32, or from a float of at most 16 bits that is its own hub.
fn from_f32(encode: &Encode) -> (Function, Function) {
    let split = Some(("hub/split_f32", "split_f32"));
    match encode {
        Encode::Float(to) => (None, Some(from_hub(to))),
        Encode::F32 => (None, Some(("encode/f32", "encode_f32"))),
        Encode::F64 => (None, Some(("encode/f32_to_f64", "f32_to_f64"))),
        Encode::E8m0(_) => (None, Some(("encode/e8m0", "encode_e8m0"))),
        Encode::Int(_) => (split, Some(("encode/int", "encode_int"))),
        Encode::Int64 { .. } => (split, Some(("encode/int64", "encode_int64"))),
        Encode::Bool => (None, Some(("encode/bool", "f32_is_nonzero"))),
        Encode::ClampInfinity { .. } => (None, Some(("encode/clamp_infinity", "clamp_infinity"))),
        Encode::Copy => (None, None),
    }
}

/// Encode from a hub to a float of at most 16 bits.
fn from_hub(to: &EncodeFloat) -> (&'static str, &'static str) {
    match to.method() {
        FloatMethod::SameBias => ("encode/float_same_bias", "encode_same_bias"),
        FloatMethod::HigherBias => ("encode/float_higher_bias", "encode_higher_bias"),
        FloatMethod::LowerBias => ("encode/float_lower_bias", "encode_lower_bias"),
        FloatMethod::LowerBiasApart => ("encode/float_lower_bias_apart", "encode_lower_bias_apart"),
        FloatMethod::LowerBiasSticky => ("encode/float_lower_bias_sticky", "encode_lower_bias_sticky"),
    }
}

/// Hub and encode from binary64.
fn from_f64(encode: &Encode) -> (Function, Function) {
    let split = Some(("hub/split_f64", "split_f64"));
    let high = Some(("hub/f64_high_word", "f64_high_word"));
    match encode {
        Encode::Float(to) => (high, Some(from_hub(to))),
        Encode::F32 => (None, Some(("encode/f64_to_f32", "f64_to_f32"))),
        Encode::E8m0(_) => (high, Some(("encode/f64_high_to_e8m0", "f64_high_to_e8m0"))),
        Encode::Int(_) => (split, Some(("encode/int", "encode_int"))),
        Encode::Int64 { .. } => (split, Some(("encode/int64", "encode_int64"))),
        Encode::Bool => (None, Some(("encode/bool", "f64_is_nonzero"))),
        Encode::F64 | Encode::Copy | Encode::ClampInfinity { .. } => (None, None),
    }
}

#[cfg(test)]
mod tests {
    use crate::kernel::fragments::FRAGMENTS;
    use std::path::Path;

    /// The files below a folder of the crate, by their path there without the ending.
    fn files(folder: &str) -> Vec<String> {
        fn visit(folder: &Path, prefix: &str, names: &mut Vec<String>) {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name = format!("{prefix}{}", path.file_stem().unwrap().to_str().unwrap());
                match path.is_dir() {
                    true => visit(&path, &format!("{name}/"), names),
                    false => names.push(name),
                }
            }
        }
        let mut names = Vec::new();
        visit(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), "", &mut names);
        names.sort();
        names
    }

    /// The names of the functions in a file of WGSL or Rust, methods excluded.
    fn functions(text: &str) -> Vec<&str> {
        let lines = text.lines().map(|line| line.strip_prefix("pub(crate) ").unwrap_or(line));
        lines.filter_map(|line| line.strip_prefix("fn ")?.split('(').next()).collect()
    }

    #[test]
    fn every_file_is_a_fragment() {
        let known: Vec<_> = FRAGMENTS.iter().map(|(name, _)| *name).collect();
        assert_eq!(files("shaders"), known);
    }

    /// A fragment's first line names the file, and its list of constants is that of the constants that it reads.
    #[test]
    #[cfg(feature = "kernel-comments")]
    fn fragment_headers_match_the_code() {
        use std::collections::HashSet;
        for (name, text) in FRAGMENTS {
            let file = format!("// {}.wgsl — ", name.rsplit('/').next().unwrap());
            assert!(text.starts_with(&file), "{name} starts with {file:?}");
            let is_constant = |word: &&str| {
                let mut letters = word.chars();
                letters.next().is_some_and(|c| c.is_ascii_uppercase())
                    && word.contains('_')
                    && letters.all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
            };
            let words = |line: &'static str| {
                line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(is_constant).collect::<Vec<_>>()
            };
            let declared: HashSet<_> = text.lines().filter(|l| l.starts_with("// reads: ")).flat_map(words).collect();
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            let read: HashSet<_> = code.flat_map(words).collect();
            assert_eq!(declared, read, "{name}");
        }
    }

    /// Each WGSL function that converts has a reference of the same name in the file of the same name, in the same
    /// order, and vice versa. Functions that give values instead of codes have none: they are compared with conversions
    /// to FLOAT.
    #[test]
    fn every_function_has_its_reference() {
        let converts = |name: &str| !name.starts_with("entry/") && !name.starts_with("value/");
        let fragments: Vec<_> = FRAGMENTS.iter().filter(|(name, _)| converts(name)).collect();
        let references: Vec<_> = files("src/bits/reference").into_iter().filter(|name| name.contains('/')).collect();
        assert_eq!(references, fragments.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        for (name, text) in fragments {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/bits/reference/{name}.rs"));
            assert_eq!(functions(&std::fs::read_to_string(path).unwrap()), functions(text), "{name}");
        }
    }
}
