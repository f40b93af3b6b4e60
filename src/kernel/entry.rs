//! The entry point of the blocks kernel and of the shifted kernel: loads, conversions and stores, unrolled. Rust writes
//! the WGSL that depends on the widths of a pair, in this file, in `views.rs` and in `src/wgsl`. All other WGSL is in
//! `shaders/`.

use std::fmt::Write as _;

use super::{Access, BLOCKS_SIZE, CodeLookup, KernelKind, Units, Window, thresholds, uses_table};
use crate::types::conversion::{Conversion, Encode};

/// The element type of a binding of vectors of `words` words.
pub(super) fn vector(words: u32) -> &'static str {
    match words {
        4 => "vec4<u32>",
        2 => "vec2<u32>",
        _ => "u32",
    }
}

/// The length, in words, of the widest vector that divides `words` into whole vectors.
fn widest(words: u32) -> u32 {
    match words {
        words if words % 4 == 0 => 4,
        2 => 2,
        _ => 1,
    }
}

/// The expression of a value that consists of these words. A single word stays as it is.
pub(super) fn vector_of(words: &[String]) -> String {
    match words {
        [whole] => whole.clone(),
        words => format!("vec{}<u32>({})", words.len(), words.join(", ")),
    }
}

/// The expression of the word at `index`, in values that were loaded as vectors of `vector` words. Their names are
/// `name` and a number.
pub(super) fn word_of(name: &str, vector: u32, index: u32) -> String {
    match vector {
        1 => format!("{name}_{index}"),
        vector => format!("{name}_{}.{}", index / vector, ["x", "y", "z", "w"][(index % vector) as usize]),
    }
}

/// The entry point of the blocks kernel or the shifted kernel, or of the windows of a view.
pub(super) struct Entry {
    source_bits: u32,
    destination_bits: u32,
    /// Words of a unit. A source unit of less than a word counts as one word.
    source_words: u32,
    destination_words: u32,
    /// The words that one load, or one store, moves.
    pub(super) source_vector: u32,
    pub(super) destination_vector: u32,
    /// The source may start at any bit.
    shifted: bool,
    pub(super) units: Units,
    /// Whether a dispatch may have no unit at all.
    pub(super) may_be_empty: bool,
    copy: bool,
    /// `convert_eight` makes one destination word of four source words.
    eights: bool,
    /// The number of elements in a table entry, which is also the number of source codes in an index. `None`: there is no
    /// table.
    per_entry: Option<u32>,
    /// `convert` leaves undefined bits above the width of its codes, so they must be masked.
    masked: bool,
    /// `convert` ignores the bits above a source code.
    ignores_above: bool,
}

impl Entry {
    pub(super) fn new(conversion: &Conversion, kind: KernelKind, access: Access, lookup: CodeLookup) -> Self {
        let units = Units::new(conversion, kind, access, lookup);
        let (source_bits, destination_bits) = (conversion.from.code_bits(), conversion.to.code_bits());
        let per_entry = uses_table(conversion, lookup).then(|| {
            // The largest number for which an index has at most 8 bits and an entry at most one word.
            [4, 2].into_iter().find(|n| n * source_bits <= 8 && n * destination_bits <= 32).unwrap_or(1)
        });
        let source_words = (units.elements * source_bits / 32).max(1);
        let destination_words = units.elements * destination_bits / 32;
        let shifted = kind == KernelKind::Shifted;
        // One binding of both sides has one element type, so both sides need the same vectors.
        let shared = access == Access::Shared;
        Self {
            source_bits,
            destination_bits,
            source_words,
            destination_words,
            source_vector: if shifted { 1 } else { widest(source_words) },
            destination_vector: if shifted && shared { 1 } else { widest(destination_words) },
            shifted,
            units,
            may_be_empty: false,
            copy: conversion.is_copy(),
            eights: thresholds(conversion, lookup).is_some(),
            per_entry,
            masked: matches!(conversion.encode, Encode::Int(_)),
            ignores_above: source_bits == 16 && !matches!(conversion.encode, Encode::E8m0(_)),
        }
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text).expect("writing to a String cannot fail");
        text
    }

    fn write(&self, text: &mut String) -> std::fmt::Result {
        let (size, repeat) = (BLOCKS_SIZE, self.units.repeat);
        if let Some(per_entry) = self.per_entry {
            let word = if self.destination_bits == 64 { "vec2<u32>" } else { "u32" };
            writeln!(text, "var<workgroup> table: array<{word}, {}>;\n", 1u32 << (per_entry * self.source_bits))?;
        }
        writeln!(text, "@compute @workgroup_size(WORKGROUP_SIZE)")?;
        // Workgroups have one dimension. `local_invocation_index` would be shorter, but llvmpipe of Mesa 25 computes it
        // slowly: casts then reach 0.5 to 0.6 of their speed.
        let arguments = "@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>";
        writeln!(text, "fn main({arguments}) {{")?;
        if let Some(per_entry) = self.per_entry {
            self.fill(text, per_entry)?;
        }
        writeln!(text, "    let unit = workgroup_number(group) * {}u + local.x;", size * repeat)?;
        let start = |vector: u32| match vector {
            4 => " >> 2u",
            2 => " >> 1u",
            _ => "",
        };
        writeln!(text, "    let source_start = params.source_word{};", start(self.source_vector))?;
        writeln!(text, "    let destination_start = params.destination_word{};", start(self.destination_vector))?;
        if repeat > 1 {
            // All loads come before the first store, so that the device waits for all of them at once. An invocation
            // without a unit loads the last unit instead, so that no load needs a branch.
            if self.may_be_empty {
                writeln!(text, "    if (params.count == 0u) {{\n        return;\n    }}")?;
            }
            writeln!(text, "    let last = params.count - 1u;")?;
        }
        for r in 0..repeat {
            if repeat > 1 {
                writeln!(text, "    let unit_{r} = min(unit + {}u, last);", r * size)?;
            } else {
                writeln!(text, "    if (unit >= params.count) {{\n        return;\n    }}")?;
                writeln!(text, "    let unit_{r} = unit;")?;
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

    /// Fills the table: each invocation converts the codes of one index. Every code of an entry has its own conversion.
    fn fill(&self, text: &mut String, per_entry: u32) -> std::fmt::Result {
        let entries = 1u32 << (per_entry * self.source_bits);
        let codes: Vec<String> = (0..per_entry)
            .map(|i| {
                let code = field("local.x", i * self.source_bits, self.source_bits, true);
                self.shifted(format!("convert({code})"), i * self.destination_bits, true)
            })
            .collect();
        let guard = if entries < BLOCKS_SIZE { format!("if (local.x < {entries}u) ") } else { String::new() };
        writeln!(
            text,
            "    {guard}{{\n        table[local.x] = {};\n    }}\n    workgroupBarrier();",
            codes.join(" | ")
        )
    }

    /// A destination code, moved up by `shift` bits. It is cut to its width if its undefined bits could reach a
    /// neighbour.
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
        if self.shifted {
            return self.load_shifted(text, r);
        }
        let unit_bits = self.units.elements * self.source_bits;
        if unit_bits < 32 {
            let (log, mask) = parts(unit_bits);
            let word = format!("load_source(source_start + (unit_{r} >> {log}u))");
            return writeln!(text, "    let s{r}_0 = {word} >> ((unit_{r} & {mask}u) * {unit_bits}u);");
        }
        let count = self.source_words / self.source_vector;
        for k in 0..count {
            writeln!(text, "    let s{r}_{k} = load_source(source_start + {});", index(r, k, count))?;
        }
        Ok(())
    }

    /// Makes each source word of the two words that it lies across. No load goes beyond the last word of the source.
    fn load_shifted(&self, text: &mut String, r: u32) -> std::fmt::Result {
        let unit_bits = self.units.elements * self.source_bits;
        let words = self.source_words;
        if unit_bits < 32 {
            let (log, mask) = parts(unit_bits);
            writeln!(text, "    let bit_{r} = params.source_bit + (unit_{r} & {mask}u) * {unit_bits}u;")?;
            writeln!(text, "    let from_{r} = source_start + (unit_{r} >> {log}u) + (bit_{r} >> 5u);")?;
        } else {
            writeln!(text, "    let bit_{r} = params.source_bit;")?;
            writeln!(text, "    let from_{r} = source_start + unit_{r} * {words}u;")?;
        }
        writeln!(text, "    let low_{r} = bit_{r} & 31u;")?;
        for k in 0..=words {
            writeln!(text, "    let w{r}_{k} = load_source(min(from_{r} + {k}u, params.source_last));")?;
        }
        self.shift(text, r)
    }

    /// Makes the source's words of the loaded words that they lie across.
    fn shift(&self, text: &mut String, r: u32) -> std::fmt::Result {
        for k in 0..self.source_words {
            let above = format!("((w{r}_{} << 1u) << (31u - low_{r}))", k + 1);
            writeln!(text, "    let s{r}_{k} = (w{r}_{k} >> low_{r}) | {above};")?;
        }
        Ok(())
    }

    /// The conversion of windows of a view's row. The unit is the window.
    pub(super) fn window(conversion: &Conversion, window: &Window) -> Self {
        let (source_bits, destination_bits) = (conversion.from.code_bits(), conversion.to.code_bits());
        Self {
            source_bits,
            destination_bits,
            source_words: (window.elements * source_bits).div_ceil(32),
            destination_words: window.words,
            source_vector: 1,
            destination_vector: window.vector,
            shifted: true,
            units: Units { elements: window.elements, repeat: 1 },
            may_be_empty: false,
            copy: conversion.is_copy(),
            eights: false,
            per_entry: None,
            masked: matches!(conversion.encode, Encode::Int(_)),
            ignores_above: source_bits == 16 && !matches!(conversion.encode, Encode::E8m0(_)),
        }
    }

    /// `fn store_window`, which converts the window at a position of the source.
    pub(super) fn window_text(&self, source_vector: u32) -> String {
        let mut text = String::new();
        self.write_window(&mut text, source_vector).expect("writing to a String cannot fail");
        text
    }

    fn write_window(&self, text: &mut String, source_vector: u32) -> std::fmt::Result {
        writeln!(text, "fn store_window(position: u32, unit_0: u32) {{")?;
        match self.source_bits {
            64 => writeln!(text, "    let from_0 = params.source_word + 2u * position;")?,
            6 => {
                writeln!(text, "    let bit_0 = params.source_bit + (position & 15u) * 6u;")?;
                writeln!(text, "    let from_0 = params.source_word + (position >> 4u) * 3u + (bit_0 >> 5u);")?;
                writeln!(text, "    let low_0 = bit_0 & 31u;")?;
            }
            bits => {
                let (log, mask) = parts(bits);
                writeln!(text, "    let index_0 = position + params.source_bit / {bits}u;")?;
                writeln!(text, "    let from_0 = params.source_word + (index_0 >> {log}u);")?;
                if bits < 32 {
                    writeln!(text, "    let low_0 = (index_0 & {mask}u) * {bits}u;")?;
                }
            }
        }
        let narrow = self.source_bits < 32;
        let words = self.source_words;
        if source_vector == 4 {
            let vectors = words / 4;
            writeln!(text, "    let first_0 = from_0 >> 2u;")?;
            for k in 0..vectors {
                writeln!(text, "    let v0_{k} = load_source(first_0 + {k}u);")?;
            }
            // One more vector is loaded only if it holds a part of the window. Otherwise it may lie outside the
            // binding.
            let needed = if narrow { "(from_0 & 3u) != 0u || low_0 != 0u" } else { "(from_0 & 3u) != 0u" };
            writeln!(text, "    var v0_{vectors} = vec4<u32>();")?;
            writeln!(text, "    if ({needed}) {{\n        v0_{vectors} = load_source(first_0 + {vectors}u);\n    }}")?;
            let word = |k: u32| word_of("v0", 4, k);
            writeln!(text, "    let two_0 = (from_0 & 2u) != 0u;\n    let one_0 = (from_0 & 1u) != 0u;")?;
            let count = words + u32::from(narrow);
            for k in 0..=count {
                writeln!(text, "    let m0_{k} = select({}, {}, two_0);", word(k), word(k + 2))?;
            }
            let name = if narrow { "w" } else { "s" };
            for k in 0..count {
                writeln!(text, "    let {name}0_{k} = select(m0_{k}, m0_{}, one_0);", k + 1)?;
            }
        } else {
            let name = if narrow { "w" } else { "s" };
            for k in 0..words {
                writeln!(text, "    let {name}0_{k} = load_source(from_0 + {k}u);")?;
            }
            if narrow {
                // The word after the last one is loaded only if a code lies in it. Otherwise it may lie outside the
                // binding.
                let used = (self.units.elements * self.source_bits - 1) % 32 + 1;
                writeln!(text, "    let after_0 = from_0 + select({}u, {words}u, low_0 > {}u);", words - 1, 32 - used)?;
                writeln!(text, "    let w0_{words} = load_source(after_0);")?;
            }
        }
        if narrow {
            self.shift(text, 0)?;
        }
        let log = self.destination_vector.trailing_zeros();
        writeln!(text, "    let destination_start = params.destination_word >> {log}u;")?;
        let values = self.destination_values(0, text)?;
        self.store(text, 0, &values, "    ")?;
        writeln!(text, "}}")
    }

    /// The expression of the loaded source word at `index` of a unit.
    fn source_word(&self, r: u32, index: u32) -> String {
        word_of(&format!("s{r}"), self.source_vector, index)
    }

    /// The expression of `bits` source bits from `bit` on. They may lie across two words.
    fn source_field(&self, r: u32, bit: u32, bits: u32) -> String {
        let (word, shift) = (bit / 32, bit % 32);
        if shift == 0 && self.ignores_above {
            return self.source_word(r, word);
        }
        if shift + bits <= 32 {
            // The word of a unit of less than a word also has the codes of other units above it.
            let whole = self.units.elements * self.source_bits >= 32;
            return field(&self.source_word(r, word), shift, bits, whole);
        }
        let (low, high) = (self.source_word(r, word), self.source_word(r, word + 1));
        format!("((({low} >> {shift}u) | ({high} << {}u)) & {:#x}u)", 32 - shift, (1u32 << bits) - 1)
    }

    fn store(&self, text: &mut String, r: u32, values: &[String], indent: &str) -> std::fmt::Result {
        let count = self.destination_words / self.destination_vector;
        for (k, part) in values.chunks(values.len() / count as usize).enumerate() {
            let at = index(r, k as u32, count);
            writeln!(text, "{indent}store_destination(destination_start + {at}, {});", vector_of(part))?;
        }
        Ok(())
    }

    /// Converts a unit, and returns the expression of each destination word. A copy with vectors of the same length
    /// returns that of each vector instead.
    fn destination_values(&self, r: u32, text: &mut String) -> Result<Vec<String>, std::fmt::Error> {
        if self.copy && self.source_vector == self.destination_vector {
            return Ok((0..self.source_words / self.source_vector).map(|k| format!("s{r}_{k}")).collect());
        }
        if self.copy {
            return Ok((0..self.source_words).map(|word| self.source_word(r, word)).collect());
        }
        if self.eights {
            for word in 0..self.destination_words {
                let codes: Vec<_> = (4 * word..4 * word + 4).map(|word| self.source_word(r, word)).collect();
                writeln!(text, "    let d{r}_{word} = convert_eight(vec4<u32>({}));", codes.join(", "))?;
            }
            return Ok((0..self.destination_words).map(|word| format!("d{r}_{word}")).collect());
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
            // In the topmost field of a word, the shift drops the undefined bits. A table holds codes without such
            // bits.
            let has_neighbours = self.per_entry.is_none() && shift + chunk_bits != 32;
            words[word].push(self.shifted(name.clone(), shift, has_neighbours));
            if shift + chunk_bits > 32 {
                let rest = self.shifted(name, 0, has_neighbours);
                words[word + 1].push(format!("({rest} >> {}u)", 32 - shift));
            }
        }
        if self.per_entry.is_some() {
            // Lookups complete in the order in which they start. So the first use of the last one waits for all lookups
            // of a word at once.
            words.iter_mut().for_each(|fields| fields[1..].reverse());
        }
        Ok(words.into_iter().map(|fields| fields.join(" | ")).collect())
    }

    /// The expression of the source code, or of the table index, of the `i`th conversion of a unit.
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

/// The expression of `bits` bits of a word from `shift` on. If the word is `whole`, its topmost bits need no mask.
fn field(word: &str, shift: u32, bits: u32, whole: bool) -> String {
    let shifted = if shift == 0 { word.to_owned() } else { format!("({word} >> {shift}u)") };
    match shift + bits {
        32 if whole => shifted,
        // GPUs have an instruction for this, and some compilers recognise it only in `extractBits`.
        _ if shift > 0 && bits < 8 => format!("extractBits({word}, {shift}u, {bits}u)"),
        _ => format!("({shifted} & {:#x}u)", (1u64 << bits) - 1),
    }
}

/// For units of less than a word: the binary logarithm of the number of units in a word, and the mask that gives the
/// index of a unit in its word.
fn parts(unit_bits: u32) -> (u32, u32) {
    let parts = 32 / unit_bits;
    (parts.trailing_zeros(), parts - 1)
}

/// Index of the `k`th of `n` loads or stores of a unit.
fn index(r: u32, k: u32, n: u32) -> String {
    if n == 1 { format!("unit_{r}") } else { format!("unit_{r} * {n}u + {k}u") }
}
