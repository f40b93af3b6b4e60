//! Decoding to values and encoding from them: one element, four elements, and the elements of a word.

use super::fragments::Fragments;
use super::functions::{Function, Functions, suffix};
use super::types::{Type, ValueType, returned};
use crate::types::conversion::{Conversion, Decode};
use crate::types::element::{ElementType, Kind};
use crate::types::error::Error;
use crate::types::options::CastOptions;
use crate::types::spec::CastSpec;

/// How a code becomes a value.
enum Method {
    /// An integer of at most 16 bits: WGSL's own conversion, which is exact.
    Int {
        signed: bool,
    },
    Bool,
    /// The function of the fragment `value/float`.
    Float(String),
    /// By a cast, and a function that makes a value of its code.
    Cast {
        cast: String,
        value: String,
    },
    /// The code itself.
    Code,
}

/// The type of an argument that holds whole elements, and the number of these elements. 6-bit codes take three words.
pub(super) fn word(element_type: ElementType) -> Result<(Type, u32), Error> {
    match element_type.code_bits() {
        0 => Err(Error::no_codes(element_type)),
        6 => Ok((Type::Vec3U32, 16)),
        bits if bits <= 16 => Ok((Type::U32, 32 / bits)),
        _ => Err(Error::ElementWidth { element_type, allowed: 16 }),
    }
}

impl Functions {
    /// `{from}_to_f32(code) -> f32`, such as `float16_to_f32`: the value of a code.
    ///
    /// # Errors
    /// [`CastFault::NoKernel`](crate::CastFault::NoKernel) for strings.
    pub fn decode(&mut self, from: ElementType) -> Result<Function, Error> {
        self.decode_to(from, self.values)
    }

    fn decode_to(&mut self, from: ElementType, values: ValueType) -> Result<Function, Error> {
        let method = self.method(from, values)?;
        let value = value(&method, "code", 0, from.code_bits());
        let value = converted(values, "f16", &value);
        let name = self.name(&format!("{from}_to_{}", values.name()));
        Ok(self.write(name, &[("code", Type::code(from))], Some(values.of(1)), &format!("return {value};")))
    }

    /// `{from}_to_f32x4(word) -> vec4<f32>`: the values of four codes of at most 8 bits. The codes lie in the lowest
    /// bits of the word: 6-bit codes in three of its bytes, 4-bit codes in two, 2-bit codes in one.
    ///
    /// # Errors
    /// [`Error::ElementWidth`] for wider types and strings.
    pub fn decode_four(&mut self, from: ElementType) -> Result<Function, Error> {
        self.decode_lanes(from, four(from)?)
    }

    /// `{from}_to_f32x{n}(word)`: the values of the `n` codes of a word in their order. The result is a `vec2<f32>` for
    /// 16-bit codes, a `vec4<f32>` for 8-bit codes, an `array<vec4<f32>, 2>` for 4-bit codes, and an `array<vec4<f32>,
    /// 4>` for 2-bit and 6-bit codes. For 6-bit codes, `word` is a `vec3<u32>`, which holds 16 codes.
    ///
    /// # Errors
    /// [`Error::ElementWidth`] for types of at least 32 bits and strings.
    pub fn decode_word(&mut self, from: ElementType) -> Result<Function, Error> {
        self.decode_lanes(from, word(from)?)
    }

    fn decode_lanes(&mut self, from: ElementType, (argument, count): (Type, u32)) -> Result<Function, Error> {
        let name = self.name(&format!("{from}_to_{}x{count}", self.values.name()));
        if let Some(function) = self.find(&name) {
            return Ok(function);
        }
        let method = self.method(from, self.values)?;
        let bits = from.code_bits();
        let mut body = String::new();
        let lanes: Vec<String> = if bits < 8 && argument == Type::U32 && matches!(method, Method::Int { signed: false })
        {
            // Some GPUs convert a byte of a word to a float in one instruction.
            let mask = 0x0101_0101 * ((1u32 << bits) - 1);
            for part in 0..8 / bits {
                let shifted = if part == 0 { "word".to_owned() } else { format!("(word >> {}u)", part * bits) };
                body.push_str(&format!("let bytes_{part} = {shifted} & {mask:#x}u;\n"));
            }
            let lane = |i| value(&method, &format!("bytes_{}", i % (8 / bits)), i / (8 / bits) * 8, 8);
            (0..count).map(lane).collect()
        } else {
            (0..count).map(|i| self.lane_value(&method, argument, i * bits, bits)).collect()
        };
        let vectors: Vec<_> = lanes
            .chunks(4)
            .map(|lanes| {
                let vector = format!("vec{}<f32>(\n    {},\n)", lanes.len(), lanes.join(",\n    "));
                converted(self.values, &format!("vec{}<f16>", lanes.len()), &vector)
            })
            .collect();
        let result = self.values.of(count);
        match &vectors[..] {
            [vector] => body.push_str(&format!("return {vector};")),
            vectors => body.push_str(&format!("return {result}({});", vectors.join(", "))),
        }
        Ok(self.write(name, &[("word", argument)], Some(result), &body))
    }

    /// The value of the code that starts at `bit` of the argument `word`, which may be a vector of words.
    fn lane_value(&self, method: &Method, argument: Type, bit: u32, bits: u32) -> String {
        let (index, shift) = (bit / 32, bit % 32);
        let part = |index: u32| match argument {
            Type::U32 => "word".to_owned(),
            _ => format!("word.{}", ["x", "y", "z"][index as usize]),
        };
        if shift + bits <= 32 {
            return value(method, &part(index), shift, bits);
        }
        let across = format!("((({} >> {shift}u) | ({} << {}u)))", part(index), part(index + 1), 32 - shift);
        value(method, &across, 0, bits)
    }

    /// `f32_to_{to}(value) -> code`, such as `f32_to_bfloat16`: the code of a value, by the cast from FLOAT. The name
    /// has the options as that of [`cast`](Self::cast).
    ///
    /// # Errors
    /// [`CastFault::NoKernel`](crate::CastFault::NoKernel) for strings.
    pub fn encode(&mut self, to: ElementType, options: &CastOptions) -> Result<Function, Error> {
        let spec = CastSpec::new(ElementType::FLOAT, to).with_options(*options);
        let cast = self.cast(&spec)?;
        let name = self.name(&format!("{}_to_{to}{}", self.values.name(), suffix(&spec)?));
        let value = match self.values {
            ValueType::F32 => "value",
            ValueType::F16 => "f32(value)",
        };
        let body = format!("return {}(bitcast<u32>({value}));", cast.name());
        Ok(self.write(name, &[("value", self.values.of(1))], Some(Type::code(to)), &body))
    }

    /// `f32x4_to_{to}(values) -> u32`: the codes of four values, of at most 8 bits each, in the lowest bits of a word.
    /// The bits above them are 0.
    ///
    /// # Errors
    /// [`Error::ElementWidth`] for wider types and strings.
    pub fn encode_four(&mut self, to: ElementType, options: &CastOptions) -> Result<Function, Error> {
        self.encode_lanes(to, options, four(to)?)
    }

    /// `f32x{n}_to_{to}(values)`: the word of `n` codes, in the form that [`decode_word`](Self::decode_word) takes.
    ///
    /// # Errors
    /// [`Error::ElementWidth`] for types of at least 32 bits and strings.
    pub fn encode_word(&mut self, to: ElementType, options: &CastOptions) -> Result<Function, Error> {
        self.encode_lanes(to, options, word(to)?)
    }

    fn encode_lanes(
        &mut self,
        to: ElementType,
        options: &CastOptions,
        (result, count): (Type, u32),
    ) -> Result<Function, Error> {
        let one = self.encode(to, options)?;
        let suffix = suffix(&CastSpec::new(ElementType::FLOAT, to).with_options(*options))?;
        let bits = to.code_bits();
        let mut words = vec![Vec::new(); if result == Type::U32 { 1 } else { 3 }];
        let mut body = String::new();
        for i in 0..count {
            let component = ["x", "y", "z", "w"][(i % 4) as usize];
            let value =
                if count <= 4 { format!("values.{component}") } else { format!("values[{}].{component}", i / 4) };
            body.push_str(&format!("let code_{i} = {}({value});\n", one.name()));
            let (word, shift) = ((i * bits / 32) as usize, i * bits % 32);
            words[word].push(if shift == 0 { format!("code_{i}") } else { format!("(code_{i} << {shift}u)") });
            if shift + bits > 32 {
                words[word + 1].push(format!("(code_{i} >> {}u)", 32 - shift));
            }
        }
        let words: Vec<_> = words.iter().map(|fields| fields.join(" | ")).collect();
        body.push_str(&returned(result, &words));
        let name = self.name(&format!("{}x{count}_to_{to}{suffix}", self.values.name()));
        Ok(self.write(name, &[("values", self.values.of(count))], Some(result), &body))
    }

    /// The method by which codes of a type become values, and the functions that it needs, which are written. For `f16`
    /// the method gives an `f32` with the value of the `f16`.
    fn method(&mut self, from: ElementType, values: ValueType) -> Result<Method, Error> {
        if values == ValueType::F16 && !values.holds(from) {
            let cast = self.cast(&CastSpec::new(from, values.element_type()))?.name().to_owned();
            let value = self.decode_to(values.element_type(), ValueType::F32)?.name().to_owned();
            return Ok(Method::Cast { cast, value });
        }
        let conversion = Conversion::new(from, ElementType::FLOAT, &CastOptions::default())?;
        Ok(match (conversion.decode, from.kind()) {
            (Decode::Bool, _) => Method::Bool,
            (Decode::Int { bits, signed }, _) if bits <= 16 => Method::Int { signed },
            (Decode::Float(float), Kind::Float(_)) if float.bias < 127 => {
                let own = self.name(&format!("{from}_to_f32"));
                let function = Fragments::name("value/float", "float_value", &self.prefix, &own);
                self.fragments(&["value/float"], &conversion, &own);
                Method::Float(function)
            }
            (Decode::F32, _) => Method::Code,
            _ => {
                let cast = self.cast(&CastSpec::new(from, ElementType::FLOAT))?.name().to_owned();
                Method::Cast { cast, value: "bitcast<f32>".to_owned() }
            }
        })
    }
}

/// The type of a word that holds four codes, and that number.
fn four(element_type: ElementType) -> Result<(Type, u32), Error> {
    word(element_type)?;
    if element_type.code_bits() <= 8 {
        Ok((Type::U32, 4))
    } else {
        Err(Error::ElementWidth { element_type, allowed: 8 })
    }
}

/// Converts an expression of type `f32` to the type of `values`. `f16` names the `f16` type with the same number of
/// components.
fn converted(values: ValueType, f16: &str, value: &str) -> String {
    match values {
        ValueType::F32 => value.to_owned(),
        ValueType::F16 => format!("{f16}({value})"),
    }
}

/// The expression, of type `f32`, of a value. Its code has `bits` bits and starts at bit `shift` of `word`.
fn value(method: &Method, word: &str, shift: u32, bits: u32) -> String {
    let above = 32u32.saturating_sub(shift + bits);
    let field = match (shift, above) {
        (0, 0) => word.to_owned(),
        (_, 0) => format!("({word} >> {shift}u)"),
        (0, _) => format!("({word} & {:#x}u)", (1u64 << bits) - 1),
        _ => format!("(({word} >> {shift}u) & {:#x}u)", (1u64 << bits) - 1),
    };
    match method {
        Method::Int { signed: false } => format!("f32({field})"),
        Method::Int { signed: true } => format!("f32(extractBits(bitcast<i32>({word}), {shift}u, {bits}u))"),
        Method::Bool => format!("select(0.0, 1.0, {field} != 0u)"),
        Method::Float(function) => {
            let magnitude = format!("extractBits({word}, {shift}u, {}u)", bits - 1);
            // `float_value` takes the sign in the top bit of a word.
            let signed = if above == 0 { word.to_owned() } else { format!("{word} << {above}u") };
            format!("{function}({magnitude}, {signed})")
        }
        Method::Cast { cast, value } if bits == 64 => format!("{value}({cast}({word}))"),
        Method::Cast { cast, value } => format!("{value}({cast}({field}))"),
        Method::Code => format!("bitcast<f32>({word})"),
    }
}
