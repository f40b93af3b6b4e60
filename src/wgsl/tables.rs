//! Tables in workgroup memory for sources of at most 8 bits, which have at most 256 codes.

use super::functions::{Function, Functions};
use super::types::{Type, ValueType, returned};
use super::values::word;
use crate::types::element::ElementType;
use crate::types::error::Error;
use crate::types::spec::CastSpec;

/// A table in workgroup memory, and the functions that fill it and look codes up.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Table {
    /// The name of the `var<workgroup>`.
    pub variable: String,
    /// The workgroup memory that the table takes, in bytes.
    pub bytes: u32,
    /// `{…}_fill(local_index, workgroup_size)`. Every invocation of the workgroup must call it before the first
    /// look-up, in uniform control flow. It ends with a barrier.
    pub fill: Function,
    /// `{…}_look_up`, which gives the same result as the function that computes.
    pub look_up: Function,
    /// For a table of values: the same for all codes of a word, as [`Functions::decode_word`].
    pub look_up_word: Option<Function>,
}

impl Functions {
    /// `{from}_to_{to}_table`, `_fill` and `_look_up`: a cast that looks codes up, as the kernels of this crate do on
    /// GPUs. Each workgroup converts every code once. So a table pays only if a workgroup converts several times as
    /// many elements as the source has codes. Software adapters are slower with tables, because their workgroup memory
    /// is slow.
    ///
    /// # Errors
    /// [`CastFault::NoKernel`](crate::CastFault::NoKernel) for strings; [`Error::ElementWidth`] for sources of more
    /// than 8 bits.
    pub fn cast_table(&mut self, spec: &CastSpec) -> Result<Table, Error> {
        check(spec.from)?;
        let cast = self.cast(spec)?;
        let entry = Type::code(spec.to);
        let bytes = if entry == Type::U32 { 4 } else { 8 };
        let codes = 1 << spec.from.code_bits();
        let table = format!("{}_table", cast.name());
        let fill = self.fill(cast.name(), &table, entry.wgsl(), codes, &format!("{}(code)", cast.name()));
        let name = format!("{}_look_up", cast.name());
        let look_up = self.write(name, &[("code", Type::U32)], Some(entry), &format!("return {table}[code];"));
        Ok(Table { variable: table, bytes: codes * bytes, fill, look_up, look_up_word: None })
    }

    /// `{from}_to_f32_table`, `_fill` and `_look_up`, and `{from}_to_f32x{n}_look_up` for a word: values that are
    /// looked up; see [`cast_table`](Self::cast_table). Of a word, one look-up takes two 4-bit codes, or four 2-bit
    /// codes, at once.
    ///
    /// # Errors
    /// As [`cast_table`](Self::cast_table).
    pub fn decode_table(&mut self, from: ElementType) -> Result<Table, Error> {
        check(from)?;
        let decode = self.decode(from)?;
        let bits = from.code_bits();
        // The number of codes that an index of 8 bits holds.
        let per_entry = if bits == 6 { 1 } else { 8 / bits };
        let components = ["x", "y", "z", "w"];
        // An `f32` is stored as its bits, so that no driver changes it. `f16` cannot be made from bits.
        let (stored, bytes, from_bits, to_bits) = match self.values {
            ValueType::F32 => ("u32", 4, "bitcast<f32>", "bitcast<u32>"),
            ValueType::F16 => ("f16", 2, "", ""),
        };
        let entry = if per_entry == 1 { stored.to_owned() } else { format!("vec{per_entry}<{stored}>") };
        let value = |i: u32| {
            let code = if i == 0 { "code".to_owned() } else { format!("(code >> {}u)", i * bits) };
            let code = if per_entry == 1 { code } else { format!("{code} & {:#x}u", (1u32 << bits) - 1) };
            format!("{to_bits}({}({code}))", decode.name())
        };
        let all: Vec<_> = (0..per_entry).map(value).collect();
        let codes = 1 << (per_entry * bits);
        let table = format!("{}_table", decode.name());
        let fill = self.fill(decode.name(), &table, &entry, codes, &format!("{entry}({})", all.join(", ")));
        let first = if per_entry == 1 { "" } else { ".x" };
        let name = format!("{}_look_up", decode.name());
        let body = format!("return {from_bits}({table}[code]{first});");
        let look_up = self.write(name, &[("code", Type::U32)], Some(self.values.of(1)), &body);

        let (argument, count) = word(from)?;
        let mut body = String::new();
        let mut values = Vec::new();
        for i in 0..count / per_entry {
            let (at, width) = (i * per_entry * bits, per_entry * bits);
            let (index, shift) = ((at / 32) as usize, at % 32);
            let part = |index: usize| match argument {
                Type::U32 => "word".to_owned(),
                _ => format!("word.{}", components[index]),
            };
            let moved = match (shift, shift + width > 32) {
                (0, _) => part(index),
                (_, false) => format!("({} >> {shift}u)", part(index)),
                (_, true) => format!("(({} >> {shift}u) | ({} << {}u))", part(index), part(index + 1), 32 - shift),
            };
            body.push_str(&format!("let entry_{i} = {table}[{moved} & {:#x}u];\n", (1u32 << width) - 1));
            match per_entry {
                1 => values.push(format!("{from_bits}(entry_{i})")),
                n => values.extend((0..n).map(|k| format!("{from_bits}(entry_{i}.{})", components[k as usize]))),
            }
        }
        let vectors: Vec<_> =
            values.chunks(4).map(|four| format!("{}({})", self.values.of(4), four.join(", "))).collect();
        let result = self.values.of(count);
        body.push_str(&returned(result, &vectors));
        let name = self.name(&format!("{from}_to_{}x{count}_look_up", self.values.name()));
        let look_up_word = Some(self.write(name, &[("word", argument)], Some(result), &body));
        Ok(Table { variable: table, bytes: codes * per_entry * bytes, fill, look_up, look_up_word })
    }

    /// Writes a table and the function that fills it.
    fn fill(&mut self, name: &str, table: &str, entry: &str, codes: u32, value: &str) -> Function {
        let name = format!("{name}_fill");
        if let Some(function) = self.find(&name) {
            return function;
        }
        self.line(&format!("\nvar<workgroup> {table}: array<{entry}, {codes}>;"));
        let body = format!(
            "for (var code = local_index; code < {codes}u; code = code + workgroup_size) {{\n    \
             {table}[code] = {value};\n}}\nworkgroupBarrier();"
        );
        self.write(name, &[("local_index", Type::U32), ("workgroup_size", Type::U32)], None, &body)
    }
}

fn check(from: ElementType) -> Result<(), Error> {
    if from.code_bits() <= 8 { Ok(()) } else { Err(Error::ElementWidth { element_type: from, allowed: 8 }) }
}
