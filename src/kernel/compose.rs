//! Fragments, constants, and the line that joins decode and encode, composed into one WGSL module.

use std::collections::HashSet;
use std::fmt::Write as _;

use super::entry::vector;
use super::{Access, Kernel, VIEW_RANK};
use crate::conversion::{Carrier, Conversion, Decode, Encode};
use crate::reference::{self, Steps};

macro_rules! fragments {
    ($($name:literal)*) => {
        /// Every file of `shaders/`, by its path there without the ending.
        const FRAGMENTS: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../shaders/", $name, ".wgsl"))),)*];
    };
}

fragments! {
    "decode/bool" "decode/e8m0" "decode/float" "decode/int" "encode/bool" "encode/clamp_infinity" "encode/e8m0"
    "encode/f16_to_e8m0" "encode/f32" "encode/f32_to_f64" "encode/f64_high_to_e8m0" "encode/f64_to_f32" "encode/float"
    "encode/float4" "encode/int" "encode/int64" "encode/integer_to_e8m0" "encode/integer_to_f32"
    "encode/integer_to_f64" "encode/integer_to_float" "entry/edge_lanes" "entry/edge_words" "entry/load_pair"
    "entry/load_word" "entry/params" "entry/serial" "entry/store_pair" "entry/store_word" "entry/strided"
    "entry/strided_pair" "entry/strided_word" "hub/f64_high_word" "lib/negate" "lib/normalize" "lib/round"
    "lib/split_float" "lib/split_integer"
}

/// A module being composed.
pub(super) struct Module {
    header: String,
    constants: String,
    text: String,
    used: HashSet<&'static str>,
    is_shared: bool,
}

/// The name of the one binding that holds both sides.
const SHARED: &str = "memory";

impl Module {
    pub(super) fn new(conversion: &Conversion, size: u32, elements: u32) -> Self {
        let (from, to) = (conversion.from, conversion.to);
        let header = format!(
            "// from: {from}\n// to: {to}\n// elements per invocation: {elements}\n// workgroup size: {size}\n"
        );
        let dispatch = format!("const WORKGROUP_SIZE: u32 = {size}u;\nconst VIEW_RANK: u32 = {VIEW_RANK}u;\n");
        let constants = dispatch + &constants(conversion);
        Self { header, constants, text: String::new(), used: HashSet::new(), is_shared: false }
    }

    /// Adds a fragment after the fragments that it uses, once.
    pub(super) fn need(&mut self, name: &str) {
        let &(name, text) = FRAGMENTS.iter().find(|(known, _)| *known == name).expect("a file of shaders/");
        if !self.used.insert(name) {
            return;
        }
        for used in text.lines().filter_map(|line| line.strip_prefix("//:use ")) {
            self.need(used);
        }
        self.text.push('\n');
        for line in text.lines().filter(|line| !line.starts_with("//:use ")) {
            self.line(line);
        }
    }

    pub(super) fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// The source and the destination, as vectors of so many words.
    pub(super) fn bindings(&mut self, access: Access, source: u32, destination: u32) {
        let (source, destination) = (vector(source), vector(destination));
        let mut binding = |place: u32, access: &str, name: &str, vector: &str| {
            self.text
                .push_str(&format!("@group(0) @binding({place}) var<storage, {access}> {name}: array<{vector}>;\n"));
        };
        match access {
            Access::Separate => binding(0, "read", "source", source),
            Access::Writable => binding(0, "read_write", "source", source),
            Access::Shared => return self.shared_binding(source),
        }
        binding(1, "read_write", "destination", destination);
    }

    /// One range that holds both: what reads the source and what writes the destination name it.
    fn shared_binding(&mut self, vector: &str) {
        self.is_shared = true;
        self.line(&format!("@group(0) @binding(1) var<storage, read_write> {SHARED}: array<{vector}>;"));
    }

    /// `fn convert_eight`, from four words of source codes to one of destination codes.
    pub(super) fn eights(&mut self, steps: &Steps) {
        let least: Vec<_> = steps.least.iter().map(|step| format!("{step:#x}u")).collect();
        let _ = writeln!(self.constants, "const SRC_LEAST_NAN: u32 = {:#x}u;", steps.least_nan);
        let _ = writeln!(self.constants, "const DST_STEPS: array<u32, 7> = array<u32, 7>({});", least.join(", "));
        self.need("encode/float4");
    }

    /// `fn convert`, from source code to destination code, and the fragments that it joins.
    pub(super) fn conversion(&mut self, conversion: &Conversion) {
        let word = |bits| if bits == 64 { "vec2<u32>" } else { "u32" };
        let (source, destination) = (word(conversion.from.code_bits()), word(conversion.to.code_bits()));
        let body = self.body(conversion);
        self.line("");
        self.line(&format!("fn convert(code: {source}) -> {destination} {{"));
        for line in body {
            self.line(&format!("    {line}"));
        }
        self.line("}");
    }

    fn body(&mut self, conversion: &Conversion) -> Vec<String> {
        match conversion.encode {
            Encode::Copy => return vec!["return code;".into()],
            Encode::ClampInfinity { .. } => {
                self.need("encode/clamp_infinity");
                return vec!["return clamp_infinity(code);".into()];
            }
            _ => {}
        }
        if let Some((fragments, result)) = from_f16(conversion) {
            fragments.iter().for_each(|fragment| self.need(fragment));
            return vec![format!("return {result};")];
        }
        let decode = match conversion.decode {
            Decode::Bool => Some(("decode/bool", "decode_bool")),
            Decode::Int { .. } => Some(("decode/int", "decode_int")),
            Decode::Float(_) => Some(("decode/float", "decode_float")),
            Decode::E8m0 { .. } => Some(("decode/e8m0", "decode_e8m0")),
            Decode::Int64 { .. } | Decode::F32 | Decode::F64 | Decode::Own => None,
        };
        let value = match decode {
            Some((fragment, function)) => {
                self.need(fragment);
                format!("let value = {function}(code);")
            }
            None => "let value = code;".into(),
        };
        let (fragments, split, result) = joint(conversion);
        fragments.iter().for_each(|fragment| self.need(fragment));
        std::iter::once(value).chain(split.map(String::from)).chain([format!("return {result};")]).collect()
    }

    pub(super) fn finish(mut self, workgroup_size: u32, elements_per_invocation: u32) -> Kernel {
        if self.is_shared {
            self.text = self.text.replace("source[", "memory[").replace("destination[", "memory[");
        }
        let wgsl = format!("{}\n{}{}", self.header, self.constants, self.text);
        Kernel { wgsl, workgroup_size, elements_per_invocation }
    }
}

/// From a FLOAT16 `code` to the destination code, where that takes no hub.
fn from_f16(conversion: &Conversion) -> Option<(&'static [&'static str], &'static str)> {
    if !conversion.is_from_f16() {
        return None;
    }
    match conversion.encode {
        Encode::Int(_) => Some((&["encode/int"], "encode_int(split_f16(code))")),
        Encode::E8m0(_) => Some((&["encode/f16_to_e8m0"], "f16_to_e8m0(code)")),
        Encode::Bool => Some((&["encode/bool"], "f16_is_nonzero(code)")),
        _ => None,
    }
}

/// From the carried `value` to the destination code: fragments, a line that takes an integer apart, the result.
fn joint(conversion: &Conversion) -> (&'static [&'static str], Option<&'static str>, &'static str) {
    const SPLIT_INT: Option<&str> = Some("let parts = vec3<u32>(split_int(value), 0u);");
    const SPLIT_INT64: Option<&str> = Some("let parts = split_int64(value);");
    let integer = match conversion.carrier() {
        Carrier::Int { .. } => Some(SPLIT_INT),
        Carrier::Int64 { .. } => Some(SPLIT_INT64),
        _ => None,
    };
    if let Some(split) = integer {
        let long = split == SPLIT_INT64;
        let positive = match conversion.carrier() {
            Carrier::Int64 { signed: true } => "let positive = (value.x | value.y) != 0u && value.y < 0x80000000u;",
            Carrier::Int64 { .. } => "let positive = (value.x | value.y) != 0u;",
            Carrier::Int { signed: true } => "let positive = bitcast<i32>(value) > 0;",
            _ => "let positive = value != 0u;",
        };
        return match conversion.encode {
            Encode::Float(_) => (
                &["lib/split_integer", "encode/integer_to_float"],
                split,
                "integer_to_float(parts.x, parts.y, parts.z)",
            ),
            Encode::E8m0(_) => (
                &["encode/integer_to_e8m0"],
                Some(positive),
                if long {
                    "integer_to_e8m0(positive, value.x, value.y)"
                } else {
                    "integer_to_e8m0(positive, value, 0u)"
                },
            ),
            Encode::F32 => {
                (&["lib/split_integer", "encode/integer_to_f32"], split, "integer_to_f32(parts.x, parts.y, parts.z)")
            }
            Encode::F64 => {
                (&["lib/split_integer", "encode/integer_to_f64"], split, "integer_to_f64(parts.x, parts.y, parts.z)")
            }
            Encode::Int64 { .. } if long => (&[], None, "value"),
            Encode::Int64 { .. } => (&[], None, "vec2<u32>(value, select(0u, 0u - (value >> 31u), SRC_SIGNED))"),
            Encode::Bool if long => (&[], None, "select(0u, 1u, (value.x | value.y) != 0u)"),
            Encode::Bool => (&[], None, "select(0u, 1u, value != 0u)"),
            _ if long => (&[], None, "value.x"),
            _ => (&[], None, "value"),
        };
    }
    let double = conversion.carrier() == Carrier::F64;
    match conversion.encode {
        Encode::Float(_) if double => {
            (&["hub/f64_high_word", "encode/float"], None, "encode_float(f64_high_word(value))")
        }
        Encode::Float(_) => (&["encode/float"], None, "encode_float(value)"),
        Encode::E8m0(_) if double => {
            (&["hub/f64_high_word", "encode/f64_high_to_e8m0"], None, "f64_high_to_e8m0(f64_high_word(value))")
        }
        Encode::E8m0(_) => (&["encode/e8m0"], None, "encode_e8m0(value)"),
        Encode::F32 if double => (&["encode/f64_to_f32"], None, "f64_to_f32(value)"),
        Encode::F32 => (&["encode/f32"], None, "encode_f32(value)"),
        Encode::F64 if !double => (&["encode/f32_to_f64"], None, "f32_to_f64(value)"),
        Encode::Int(_) if double => (&["encode/int"], None, "encode_int(split_f64(value))"),
        Encode::Int(_) => (&["encode/int"], None, "encode_int(split_f32(value))"),
        Encode::Int64 { .. } if double => (&["encode/int64"], None, "encode_int64(split_f64(value))"),
        Encode::Int64 { .. } => (&["encode/int64"], None, "encode_int64(split_f32(value))"),
        Encode::Bool if double => (&["encode/bool"], None, "f64_is_nonzero(value)"),
        Encode::Bool => (&["encode/bool"], None, "f32_is_nonzero(value)"),
        _ => (&[], None, "value"),
    }
}

/// The numbers that the fragments read, from the table's row and the options.
fn constants(conversion: &Conversion) -> String {
    let mut text = String::new();
    let mut number = |name: &str, value: u32| {
        let _ = writeln!(text, "const {name}: u32 = {value:#x}u;");
    };
    number("SRC_BITS", conversion.from.code_bits());
    number("DST_BITS", conversion.to.code_bits());
    let mut flags = Vec::new();
    match conversion.decode {
        Decode::Float(from) => {
            number("SRC_MAN", from.man);
            number("SRC_BIAS", from.bias);
            number("SRC_TOP", from.top);
            flags.extend([("SRC_IEEE", from.ieee), ("SRC_FNUZ", from.fnuz), ("SRC_SUBNORMALS", from.subnormals)]);
        }
        Decode::Bool => flags.push(("SRC_SIGNED", false)),
        Decode::Int { signed, .. } | Decode::Int64 { signed } => flags.push(("SRC_SIGNED", signed)),
        Decode::E8m0 { nan } => number("SRC_NAN", nan),
        Decode::Own => flags.push(("SRC_SIGNED", true)),
        Decode::F32 | Decode::F64 => {}
    }
    match conversion.encode {
        Encode::Float(to) => {
            number("HUB_BITS", to.hub.bits);
            number("HUB_MAN", to.hub.man);
            number("HUB_BIAS", to.hub.bias);
            number("HUB_TOP", to.hub.top);
            // How many exponents the hub reaches below the destination's normal numbers.
            let above = to.hub.bias.saturating_sub(to.bias);
            number("HUB_ABOVE", above);
            // What overflows to, as a number of the hub; it may be the one after the largest.
            number("HUB_MOST", ((above << to.man) + to.overflow) << (to.hub.man - to.man));
            // Half an ulp less one, and the exponents below the least normal one's away, for kernels where that has a place.
            let away = (above + 1).checked_shl(to.hub.man + to.man + 1).unwrap_or_default();
            number("HUB_ROUND", ((1u32 << to.hub.man) - 1).wrapping_sub(away));
            number("DST_MAN", to.man);
            number("DST_BIAS", to.bias);
            number("DST_MAX", to.max);
            number("DST_OVERFLOW", to.overflow);
            // FLOAT4E2M1's codes of 0 to 7.
            let small = |i| reference::integer_to_float(0, i, 0, &to) << (4 * i);
            number("DST_SMALL", if to.bits == 4 { (0..8).map(small).sum() } else { 0 });
            number("DST_NAN", to.nan);
            number("DST_NAN_KEEP", to.nan_keep);
            number("DST_NAN_FLIP", to.nan_flip);
            flags.extend([("DST_FNUZ", to.fnuz)]);
        }
        Encode::E8m0(to) => {
            number("E8M0_LOW", to.low);
            number("E8M0_HIGH", to.high);
            number("E8M0_NAN", to.nan);
            number("E8M0_ROUND", to.round);
        }
        Encode::Int(to) => {
            let (below, above) = to.clamp.unwrap_or_default();
            number("INT_FAIL", to.fail);
            number("INT_BELOW", below);
            number("INT_ABOVE", above);
            flags.extend([("INT_WIDE", to.wide), ("INT_CLAMP", to.clamp.is_some())]);
        }
        Encode::ClampInfinity { infinity, .. } => number("DST_INFINITY", infinity),
        Encode::Int64 { signed } => flags.push(("INT64_SIGNED", signed)),
        Encode::Copy | Encode::F32 | Encode::F64 | Encode::Bool => {}
    }
    for (name, value) in flags {
        let _ = writeln!(text, "const {name}: bool = {value};");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
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

    /// The names of a file's functions, in WGSL or Rust, methods apart.
    fn functions(text: &str) -> Vec<&str> {
        let lines = text.lines().map(|line| line.strip_prefix("pub(crate) ").unwrap_or(line));
        lines.filter_map(|line| line.strip_prefix("fn ")?.split('(').next()).collect()
    }

    #[test]
    fn every_file_is_a_fragment() {
        let known: Vec<_> = FRAGMENTS.iter().map(|(name, _)| *name).collect();
        assert_eq!(files("shaders"), known);
    }

    /// A fragment's first line names the file; what it declares to read is what it reads.
    #[test]
    fn headers_tell_the_truth() {
        for (name, text) in FRAGMENTS {
            let file = format!("// {}.wgsl — ", name.rsplit('/').next().unwrap());
            assert!(text.starts_with(&file), "{name} starts with {file:?}");
            let is_constant = |word: &&str| {
                let mut letters = word.chars();
                letters.next().is_some_and(|c| c.is_ascii_uppercase())
                    && word.contains('_')
                    && letters.all(|c| c.is_ascii_uppercase() || c == '_')
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

    /// Each WGSL function that converts has its reference of the same name in the file of the same name, and the other way
    /// round, in the same order.
    #[test]
    fn every_function_has_its_reference() {
        let converts = |name: &str| !name.starts_with("entry/");
        let fragments: Vec<_> = FRAGMENTS.iter().filter(|(name, _)| converts(name)).collect();
        let references: Vec<_> = files("src/reference").into_iter().filter(|name| name != "mod").collect();
        assert_eq!(references, fragments.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        for (name, text) in fragments {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/reference/{name}.rs"));
            assert_eq!(functions(&std::fs::read_to_string(path).unwrap()), functions(text), "{name}");
        }
    }
}
