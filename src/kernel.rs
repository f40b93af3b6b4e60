//! Kernels: which WGSL fragments a conversion needs, with which constants, composed into one module.
//!
//! A conversion has two kernels. The *blocks* kernel moves whole units: as many elements as fill whole words on both
//! sides, 16 bytes on the wider one. The *edge* kernel does any range of elements, one destination word an invocation,
//! and keeps what lies around them; it takes tails and small tensors. Conversion code lies in `shaders/`; what is
//! written here is the constants, the line that joins decode and encode, and the blocks kernel's unrolled entry.

use std::collections::HashSet;
use std::fmt::Write as _;

use crate::conversion::{Carrier, Conversion, Decode, Encode};
use crate::element::ElementType;
use crate::error::Error;
use crate::options::CastOptions;

/// Invocations in a workgroup of the blocks kernel; also fills a table of 256 entries in one go.
pub(crate) const BLOCKS_SIZE: u32 = 256;
/// Invocations in a workgroup of the edge kernel.
pub(crate) const EDGE_SIZE: u32 = 64;

macro_rules! fragments {
    ($($name:literal)*) => {
        /// Every file of `shaders/`, by its path there without the ending.
        pub(crate) const FRAGMENTS: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../shaders/", $name, ".wgsl"))),)*];
    };
}

fragments! {
    "decode/bool" "decode/float" "decode/int" "decode/scale"
    "encode/bool" "encode/clamp_infinity" "encode/double_integer" "encode/double_single" "encode/float" "encode/int"
    "encode/long" "encode/scale" "encode/single" "encode/single_double" "encode/single_integer"
    "entry/edge_lanes" "entry/edge_words" "entry/load_pair" "entry/load_word" "entry/params"
    "hub/double" "hub/integer"
    "lib/negate" "lib/normalize" "lib/round" "lib/split_float" "lib/split_integer"
}

/// A composed compute shader: WGSL text with the entry point `main`.
///
/// Bind group 0 holds the source words (binding 0, read-only storage), the destination words (binding 1, read-write
/// storage) and the parameters (binding 4, uniform).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    wgsl: String,
    workgroup_size: u32,
    elements_per_invocation: u32,
}

impl Kernel {
    /// The WGSL text exactly as the device gets it.
    pub fn wgsl(&self) -> &str {
        &self.wgsl
    }

    /// Invocations in a workgroup.
    pub fn workgroup_size(&self) -> u32 {
        self.workgroup_size
    }

    /// The most elements that one invocation converts.
    pub fn elements_per_invocation(&self) -> u32 {
        self.elements_per_invocation
    }
}

/// The kernel that converts the bulk of a tensor.
///
/// # Errors
/// [`Error::UnsupportedPair`] where [`can_cast`](crate::can_cast) is false.
pub fn kernel(from: ElementType, to: ElementType, options: &CastOptions) -> Result<Kernel, Error> {
    Ok(blocks(&Conversion::new(from, to, options)?, true))
}

/// As [`kernel`], for software adapters: computes what the other looks up in workgroup memory, which they lack.
///
/// # Errors
/// [`Error::UnsupportedPair`] where [`can_cast`](crate::can_cast) is false.
pub fn computed_kernel(from: ElementType, to: ElementType, options: &CastOptions) -> Result<Kernel, Error> {
    Ok(blocks(&Conversion::new(from, to, options)?, false))
}

/// The kernel that converts a tensor's tail, or all of a small one.
///
/// # Errors
/// [`Error::UnsupportedPair`] where [`can_cast`](crate::can_cast) is false.
pub fn edge_kernel(from: ElementType, to: ElementType, options: &CastOptions) -> Result<Kernel, Error> {
    Ok(edge(&Conversion::new(from, to, options)?))
}

/// How the blocks kernel of a conversion divides a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Units {
    /// Elements in a unit: whole words of both sides (a source unit may be a whole part of a word).
    pub elements: u32,
    /// Units an invocation converts, `BLOCKS_SIZE` units apart.
    pub repeat: u32,
}

impl Units {
    pub(crate) fn new(conversion: &Conversion, tables: bool) -> Self {
        let (source, destination) = (conversion.from.code_bits(), conversion.to.code_bits());
        if conversion.is_copy() {
            // Whole 16-byte blocks; 6-bit codes fill three of them.
            return Self { elements: if source == 6 { 64 } else { 128 / source }, repeat: 1 };
        }
        let elements = if source == 6 || destination == 6 {
            // Sixteen codes fill three words.
            16
        } else {
            // 16 bytes of the wider side, but no less than a word of the destination.
            (128 / source.max(destination)).max(32 / destination)
        };
        let bytes = elements * (source + destination) / 8;
        let repeat = if uses_table(conversion, tables) { (128 / bytes).max(1).next_power_of_two() } else { 1 };
        Self { elements, repeat }
    }

    /// Elements that a workgroup converts.
    pub(crate) fn per_workgroup(&self) -> u32 {
        self.elements * self.repeat * BLOCKS_SIZE
    }
}

/// A source of at most 8 bits has few codes: with tables, a workgroup converts each once and then looks them up. Without,
/// it does so only where a lookup saves the encoding of several codes.
fn uses_table(conversion: &Conversion, tables: bool) -> bool {
    let saves_several =
        conversion.from.code_bits() <= 4 && matches!(conversion.encode, Encode::Float(_) | Encode::Scale(_));
    conversion.from.code_bits() <= 8 && !conversion.is_copy() && (tables || saves_several)
}

/// The kernel for whole units.
pub(crate) fn blocks(conversion: &Conversion, tables: bool) -> Kernel {
    let units = Units::new(conversion, tables);
    let elements = units.elements * units.repeat;
    let mut module = Module::new(conversion, BLOCKS_SIZE, elements, "");
    module.need("entry/params");
    let entry = Entry::new(conversion, units, tables);
    module.bindings(entry.source_words, entry.destination_words);
    if !conversion.is_copy() {
        module.conversion(conversion);
    }
    module.text.push('\n');
    entry.write(&mut module.text);
    module.finish(BLOCKS_SIZE, elements)
}

/// The kernel for any range of elements.
pub(crate) fn edge(conversion: &Conversion) -> Kernel {
    let bits = conversion.to.code_bits();
    // The most codes that touch one word: of 6 bits, five whole ones and two in part.
    let elements = if bits == 6 { 7 } else { (32 / bits).max(1) };
    let mut module = Module::new(conversion, EDGE_SIZE, elements, "up to ");
    let _ = writeln!(module.constants, "const EDGE_SIZE: u32 = {EDGE_SIZE}u;");
    module.bindings(1, 1);
    module.conversion(conversion);
    module.need(if conversion.from.code_bits() == 64 { "entry/load_pair" } else { "entry/load_word" });
    match bits {
        64 => module.line("fn store_code(word: u32, code: vec2<u32>) { destination[word] = code.x; destination[word + 1u] = code.y; }"),
        32 => module.line("fn store_code(word: u32, code: u32) { destination[word] = code; }"),
        _ => {}
    }
    module.need(if bits < 32 { "entry/edge_lanes" } else { "entry/edge_words" });
    module.finish(EDGE_SIZE, elements)
}

/// A module being composed.
struct Module {
    header: String,
    constants: String,
    text: String,
    used: HashSet<&'static str>,
}

impl Module {
    fn new(conversion: &Conversion, size: u32, elements: u32, up_to: &str) -> Self {
        let (from, to) = (conversion.from, conversion.to);
        let header = format!(
            "// from: {from}\n// to: {to}\n// elements per invocation: {up_to}{elements}\n// workgroup size: {size}\n"
        );
        Self { header, constants: constants(conversion), text: String::new(), used: HashSet::new() }
    }

    /// Adds a fragment after the fragments that it uses, once.
    fn need(&mut self, name: &str) {
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

    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn bindings(&mut self, source_words: u32, destination_words: u32) {
        let (source, destination) = (vector(source_words), vector(destination_words));
        self.line("");
        self.line(&format!("@group(0) @binding(0) var<storage, read> source: array<{source}>;"));
        self.line(&format!("@group(0) @binding(1) var<storage, read_write> destination: array<{destination}>;"));
    }

    /// `fn convert`, from source code to destination code, and the fragments that it joins.
    fn conversion(&mut self, conversion: &Conversion) {
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
        let decode = match conversion.decode {
            Decode::Bool => Some(("decode/bool", "decode_bool")),
            Decode::Int { .. } => Some(("decode/int", "decode_int")),
            Decode::Float(_) => Some(("decode/float", "decode_float")),
            Decode::Scale => Some(("decode/scale", "decode_scale")),
            Decode::Long { .. } | Decode::Single | Decode::Double | Decode::Own => None,
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

    fn finish(self, workgroup_size: u32, elements_per_invocation: u32) -> Kernel {
        let wgsl = format!("{}\n{}{}", self.header, self.constants, self.text);
        Kernel { wgsl, workgroup_size, elements_per_invocation }
    }
}

/// From the carried `value` to the destination code: fragments, a line that takes an integer apart, the result.
fn joint(conversion: &Conversion) -> (&'static [&'static str], Option<&'static str>, &'static str) {
    const SPLIT_INT: Option<&str> = Some("let parts = vec3<u32>(split_int(value), 0u);");
    const SPLIT_LONG: Option<&str> = Some("let parts = split_long(value);");
    let integer = match conversion.carrier() {
        Carrier::Int { .. } => Some(SPLIT_INT),
        Carrier::Long { .. } => Some(SPLIT_LONG),
        _ => None,
    };
    if let Some(split) = integer {
        let long = split == SPLIT_LONG;
        return match conversion.encode {
            Encode::Float(_) => (
                &["lib/split_integer", "hub/integer", "encode/float"],
                split,
                "encode_float(integer_to_hub(parts.x, parts.y, parts.z))",
            ),
            Encode::Scale(_) => (
                &["lib/split_integer", "hub/integer", "encode/scale"],
                split,
                "encode_scale(integer_to_hub(parts.x, parts.y, parts.z))",
            ),
            Encode::Single => {
                (&["lib/split_integer", "encode/single_integer"], split, "integer_to_single(parts.x, parts.y, parts.z)")
            }
            Encode::Double => {
                (&["lib/split_integer", "encode/double_integer"], split, "integer_to_double(parts.x, parts.y, parts.z)")
            }
            Encode::Long { .. } if long => (&[], None, "value"),
            Encode::Long { .. } => (&[], None, "vec2<u32>(value, select(0u, 0u - (value >> 31u), SRC_SIGNED))"),
            Encode::Bool if long => (&[], None, "select(0u, 1u, (value.x | value.y) != 0u)"),
            Encode::Bool => (&[], None, "select(0u, 1u, value != 0u)"),
            _ if long => (&[], None, "value.x"),
            _ => (&[], None, "value"),
        };
    }
    let double = conversion.carrier() == Carrier::Double;
    match conversion.encode {
        Encode::Float(_) if double => (&["hub/double", "encode/float"], None, "encode_float(double_to_hub(value))"),
        Encode::Float(_) => (&["encode/float"], None, "encode_float(value)"),
        Encode::Scale(_) if double => (&["hub/double", "encode/scale"], None, "encode_scale(double_to_hub(value))"),
        Encode::Scale(_) => (&["encode/scale"], None, "encode_scale(value)"),
        Encode::Single if double => (&["encode/single_double"], None, "double_to_single(value)"),
        Encode::Single => (&["encode/single"], None, "canonical_nan(value)"),
        Encode::Double if !double => (&["encode/double_single"], None, "single_to_double(value)"),
        Encode::Int(_) if double => (&["encode/int"], None, "encode_int(split_double(value))"),
        Encode::Int(_) => (&["encode/int"], None, "encode_int(split_single(value))"),
        Encode::Long { .. } if double => (&["encode/long"], None, "encode_long(split_double(value))"),
        Encode::Long { .. } => (&["encode/long"], None, "encode_long(split_single(value))"),
        Encode::Bool if double => (&["encode/bool"], None, "double_is_nonzero(value)"),
        Encode::Bool => (&["encode/bool"], None, "single_is_nonzero(value)"),
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
        Decode::Int { signed, .. } | Decode::Long { signed } => flags.push(("SRC_SIGNED", signed)),
        Decode::Scale | Decode::Single | Decode::Double | Decode::Own => {}
    }
    match conversion.encode {
        Encode::Float(to) => {
            number("HUB_BITS", to.hub.bits);
            number("HUB_MAN", to.hub.man);
            number("HUB_BIAS", to.hub.bias);
            // How many exponents the hub reaches below the destination's normal numbers.
            number("HUB_ABOVE", to.hub.bias.saturating_sub(to.bias));
            number("DST_MAN", to.man);
            number("DST_BIAS", to.bias);
            number("DST_MAX", to.max);
            number("DST_OVERFLOW", to.overflow);
            number("DST_NAN", to.nan);
            number("DST_NAN_KEEP", to.nan_keep);
            number("DST_NAN_FLIP", to.nan_flip);
            flags.extend([("DST_FNUZ", to.fnuz), ("HUB_FROM_INTEGER", to.hub.from_integer)]);
        }
        Encode::Scale(to) => {
            number("SCALE_LOW", to.low);
            number("SCALE_HIGH", to.high);
            number("SCALE_ROUND", to.round);
        }
        Encode::Int(to) => {
            let (below, above) = to.clamp.unwrap_or_default();
            number("INT_FAIL", to.fail);
            number("INT_BELOW", below);
            number("INT_ABOVE", above);
            flags.extend([("INT_WIDE", to.wide), ("INT_CLAMP", to.clamp.is_some())]);
        }
        Encode::ClampInfinity { infinity, .. } => number("DST_INFINITY", infinity),
        Encode::Long { signed } => flags.push(("LONG_SIGNED", signed)),
        Encode::Copy | Encode::Single | Encode::Double | Encode::Bool => {}
    }
    for (name, value) in flags {
        let _ = writeln!(text, "const {name}: bool = {value};");
    }
    text
}

/// The element type of a binding that moves `words` words a unit.
fn vector(words: u32) -> &'static str {
    match words {
        words if words % 4 == 0 => "vec4<u32>",
        2 => "vec2<u32>",
        _ => "u32",
    }
}

/// The blocks kernel's entry: loads, lanes, stores, unrolled.
struct Entry {
    source_bits: u32,
    destination_bits: u32,
    /// Words a unit takes; a source unit of less than a word counts as one.
    source_words: u32,
    destination_words: u32,
    units: Units,
    copy: bool,
    /// Elements a table entry holds, and so many source codes its index.
    per_entry: Option<u32>,
    /// Codes come with undefined bits above their width.
    masked: bool,
}

impl Entry {
    fn new(conversion: &Conversion, units: Units, tables: bool) -> Self {
        let (source_bits, destination_bits) = (conversion.from.code_bits(), conversion.to.code_bits());
        let per_entry = uses_table(conversion, tables).then(|| {
            // As many codes as an index of 8 bits and an entry of one word allow.
            [4, 2].into_iter().find(|n| n * source_bits <= 8 && n * destination_bits <= 32).unwrap_or(1)
        });
        Self {
            source_bits,
            destination_bits,
            source_words: (units.elements * source_bits / 32).max(1),
            destination_words: units.elements * destination_bits / 32,
            units,
            copy: conversion.is_copy(),
            per_entry,
            masked: matches!(conversion.encode, Encode::Int(_)),
        }
    }

    fn write(&self, text: &mut String) {
        // Writing to a String cannot fail.
        let _ = self.try_write(text);
    }

    fn try_write(&self, text: &mut String) -> std::fmt::Result {
        let (size, repeat) = (BLOCKS_SIZE, self.units.repeat);
        if let Some(per_entry) = self.per_entry {
            let word = if self.destination_bits == 64 { "vec2<u32>" } else { "u32" };
            writeln!(text, "var<workgroup> table: array<{word}, {}>;\n", 1u32 << (per_entry * self.source_bits))?;
        }
        writeln!(text, "@compute @workgroup_size({size})")?;
        let arguments = "@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32";
        writeln!(text, "fn main({arguments}) {{")?;
        if let Some(per_entry) = self.per_entry {
            self.fill(text, per_entry)?;
        }
        writeln!(text, "    let unit = (group.y * params.pitch + group.x) * {}u + lane;", size * repeat)?;
        if repeat > 1 {
            // Every load before the first store, past the end from the last unit: they overlap, and none branches.
            writeln!(text, "    let last = params.count - 1u;")?;
        }
        for r in 0..repeat {
            if repeat > 1 {
                writeln!(text, "    let unit_{r} = params.first + min(unit + {}u, last);", r * size)?;
            } else {
                writeln!(text, "    if (unit >= params.count) {{\n        return;\n    }}")?;
                writeln!(text, "    let unit_{r} = params.first + unit;")?;
            }
            self.load(text, r)?;
        }
        for r in 0..repeat {
            let values = self.destination_values(r, text)?;
            if repeat > 1 {
                writeln!(text, "    if (unit + {}u < params.count) {{", r * size)?;
                self.store(text, r, &values, "        ")?;
                writeln!(text, "    }}")?;
            } else {
                self.store(text, r, &values, "    ")?;
            }
        }
        writeln!(text, "}}")
    }

    /// Converts every source code once; an entry holds several neighbours' codes where they fit.
    fn fill(&self, text: &mut String, per_entry: u32) -> std::fmt::Result {
        let entries = 1u32 << (per_entry * self.source_bits);
        let codes: Vec<String> = (0..per_entry)
            .map(|i| {
                let code = field("lane", i * self.source_bits, self.source_bits, true);
                self.shifted(format!("convert({code})"), i * self.destination_bits, true)
            })
            .collect();
        let guard = if entries < BLOCKS_SIZE { format!("if (lane < {entries}u) ") } else { String::new() };
        writeln!(text, "    {guard}{{\n        table[lane] = {};\n    }}\n    workgroupBarrier();", codes.join(" | "))
    }

    /// A destination code moved to its bit, cut to its width where it could reach its neighbour.
    fn shifted(&self, code: String, shift: u32, has_neighbours: bool) -> String {
        let bits = self.destination_bits;
        let code = if self.masked && bits < 32 && has_neighbours {
            format!("({code} & {:#x}u)", (1u32 << bits) - 1)
        } else {
            code
        };
        if shift == 0 { code } else { format!("({code} << {shift}u)") }
    }

    fn load(&self, text: &mut String, r: u32) -> std::fmt::Result {
        let words = self.source_words;
        let unit_bits = self.units.elements * self.source_bits;
        if unit_bits < 32 {
            let parts = 32 / unit_bits;
            let (log, mask) = (parts.trailing_zeros(), parts - 1);
            return writeln!(
                text,
                "    let s{r}_0 = source[unit_{r} >> {log}u] >> ((unit_{r} & {mask}u) * {unit_bits}u);"
            );
        }
        let step = if vector(words) == "u32" { 1 } else { words.min(4) };
        for (k, _) in (0..words).step_by(step as usize).enumerate() {
            writeln!(text, "    let s{r}_{k} = source[{}];", index(r, k as u32, words / step))?;
        }
        Ok(())
    }

    /// The source word at `index` of a unit, as loaded.
    fn source_word(&self, r: u32, index: u32) -> String {
        match vector(self.source_words) {
            "u32" => format!("s{r}_{index}"),
            _ => format!("s{r}_{}.{}", index / 4, ["x", "y", "z", "w"][index as usize % 4]),
        }
    }

    /// `bits` source bits from `bit` on, a field that may lie across two words.
    fn source_field(&self, r: u32, bit: u32, bits: u32) -> String {
        let (word, shift) = (bit / 32, bit % 32);
        if shift + bits <= 32 {
            // A unit of less than a word has other units' codes above it.
            let whole = self.units.elements * self.source_bits >= 32;
            return field(&self.source_word(r, word), shift, bits, whole);
        }
        let (low, high) = (self.source_word(r, word), self.source_word(r, word + 1));
        format!("((({low} >> {shift}u) | ({high} << {}u)) & {:#x}u)", 32 - shift, (1u32 << bits) - 1)
    }

    fn store(&self, text: &mut String, r: u32, values: &[String], indent: &str) -> std::fmt::Result {
        let words = self.destination_words;
        let step = if vector(words) == "u32" { 1 } else { words.min(4) };
        for (k, part) in values.chunks(if self.copy { 1 } else { step as usize }).enumerate() {
            let value = if part.len() == 1 { part[0].clone() } else { format!("vec{step}<u32>({})", part.join(", ")) };
            writeln!(text, "{indent}destination[{}] = {value};", index(r, k as u32, words / step))?;
        }
        Ok(())
    }

    /// Converts a unit; returns the expression of each destination word.
    fn destination_values(&self, r: u32, text: &mut String) -> Result<Vec<String>, std::fmt::Error> {
        if self.copy {
            return Ok((0..self.source_words / 4).map(|k| format!("s{r}_{k}")).collect());
        }
        let per_entry = self.per_entry.unwrap_or(1);
        let chunk_bits = per_entry * self.destination_bits;
        let mut words = vec![Vec::new(); self.destination_words as usize];
        for i in 0..self.units.elements / per_entry {
            let code = self.source_code(r, i, per_entry);
            let converted = match self.per_entry {
                Some(_) => format!("table[{code}]"),
                None => format!("convert({code})"),
            };
            let name = format!("d{r}_{i}");
            writeln!(text, "    let {name} = {converted};")?;
            if self.destination_bits == 64 {
                words[2 * i as usize].push(format!("{name}.x"));
                words[2 * i as usize + 1].push(format!("{name}.y"));
                continue;
            }
            let (word, shift) = ((i * chunk_bits / 32) as usize, i * chunk_bits % 32);
            // The topmost field of a word loses what lies above it in the shift; a table holds clean codes.
            let has_neighbours = self.per_entry.is_none() && shift + chunk_bits != 32;
            words[word].push(self.shifted(name.clone(), shift, has_neighbours));
            if shift + chunk_bits > 32 {
                let rest = self.shifted(name, 0, has_neighbours);
                words[word + 1].push(format!("({rest} >> {}u)", 32 - shift));
            }
        }
        Ok(words.into_iter().map(|fields| fields.join(" | ")).collect())
    }

    /// The source code, or the table index, of the `i`th conversion of a unit.
    fn source_code(&self, r: u32, i: u32, per_entry: u32) -> String {
        let bits = per_entry * self.source_bits;
        match bits {
            64 => {
                let (low, high) = (self.source_word(r, 2 * i), self.source_word(r, 2 * i + 1));
                format!("vec2<u32>({low}, {high})")
            }
            32 => self.source_word(r, i),
            _ => self.source_field(r, i * bits, bits),
        }
    }
}

/// `bits` bits of a word from `shift` on; the topmost need no mask where the word is `whole`.
fn field(word: &str, shift: u32, bits: u32, whole: bool) -> String {
    let shifted = if shift == 0 { word.to_owned() } else { format!("({word} >> {shift}u)") };
    if shift + bits == 32 && whole { shifted } else { format!("({shifted} & {:#x}u)", (1u64 << bits) - 1) }
}

/// Index of the `k`th of `n` loads or stores of a unit.
fn index(r: u32, k: u32, n: u32) -> String {
    if n == 1 { format!("unit_{r}") } else { format!("unit_{r} * {n}u + {k}u") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The files of `shaders/`, by their path there without the ending.
    fn files(folder: &std::path::Path, prefix: &str, names: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("{prefix}{}", path.file_stem().unwrap().to_str().unwrap());
            match path.is_dir() {
                true => files(&path, &format!("{name}/"), names),
                false => names.push(name),
            }
        }
    }

    #[test]
    fn every_file_is_a_fragment() {
        let mut names = Vec::new();
        files(std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/shaders")), "", &mut names);
        let mut known: Vec<_> = FRAGMENTS.iter().map(|(name, _)| name.to_string()).collect();
        names.sort();
        known.sort();
        assert_eq!(names, known);
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

    /// The CPU twin of a fragment's function is found by its name.
    #[test]
    fn every_function_has_its_twin() {
        let twins = include_str!("bits.rs");
        for (name, text) in FRAGMENTS.iter().filter(|(name, _)| !name.starts_with("entry/")) {
            for line in text.lines().filter_map(|line| line.strip_prefix("fn ")) {
                let function = line.split('(').next().unwrap();
                assert!(twins.contains(&format!("pub(crate) fn {function}(")), "{name}: {function}");
            }
        }
    }
}
