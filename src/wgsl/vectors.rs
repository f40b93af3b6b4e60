//! The codes of a `vec4<u32>`, for arrays that are read in vectors.

use super::functions::{Function, Functions, suffix};
use super::types::{Type, returned};
use super::values::word;
use crate::types::element::ElementType;
use crate::types::error::Error;
use crate::types::options::CastOptions;
use crate::types::spec::CastSpec;

/// [`Functions::decode_word`] takes a part of vectors. A vector has four parts, and so have the three vectors that
/// 6-bit codes fill.
const PARTS: u32 = 4;

const COMPONENTS: [&str; 4] = ["x", "y", "z", "w"];

impl Functions {
    /// `{from}_to_f32x{n}(words)`: the values of the `n` codes of a `vec4<u32>` in their order, as `array<vec4<f32>, n
    /// / 4>`. A vector holds 8 codes of 16 bits, 16 of 8 bits, 32 of 4 bits, or 64 of 2 bits. For 6-bit codes, `words`
    /// is an `array<vec4<u32>, 3>`, which holds 64 codes.
    ///
    /// # Errors
    /// [`Error::ElementWidth`] for types of at least 32 bits and strings.
    pub fn decode_vector(&mut self, from: ElementType) -> Result<Function, Error> {
        let (part, count) = word(from)?;
        let decode = self.decode_word(from)?;
        let (argument, parts) = parts(part);
        let mut body = String::new();
        let mut vectors = Vec::new();
        for (i, part) in parts.iter().enumerate() {
            body.push_str(&format!("let values_{i} = {}({part});\n", decode.name()));
            match count {
                2 if i % 2 == 0 => vectors.push(format!("{}(values_{i}, values_{})", self.values.of(4), i + 1)),
                2 => {}
                4 => vectors.push(format!("values_{i}")),
                _ => vectors.extend((0..count / 4).map(|k| format!("values_{i}[{k}]"))),
            }
        }
        let result = self.values.of(PARTS * count);
        body.push_str(&returned(result, &vectors));
        let name = self.name(&format!("{from}_to_{}x{}", self.values.name(), PARTS * count));
        Ok(self.write(name, &[("words", argument)], Some(result), &body))
    }

    /// `f32x{n}_to_{to}(values)`: the vector of `n` codes, in the form that [`decode_vector`](Self::decode_vector)
    /// takes.
    ///
    /// # Errors
    /// [`Error::ElementWidth`] for types of at least 32 bits and strings.
    pub fn encode_vector(&mut self, to: ElementType, options: &CastOptions) -> Result<Function, Error> {
        let (part, count) = word(to)?;
        let encode = self.encode_word(to, options)?;
        let mut body = String::new();
        let mut words = Vec::new();
        for i in 0..PARTS {
            let values = match count {
                2 => format!("values[{}].{}", i / 2, ["xy", "zw"][i as usize % 2]),
                4 => format!("values[{i}]"),
                _ => {
                    let vectors: Vec<_> = (0..count / 4).map(|k| format!("values[{}]", i * count / 4 + k)).collect();
                    format!("{}({})", self.values.of(count), vectors.join(", "))
                }
            };
            body.push_str(&format!("let part_{i} = {}({values});\n", encode.name()));
            match part {
                Type::U32 => words.push(format!("part_{i}")),
                _ => words.extend(COMPONENTS[..3].iter().map(|component| format!("part_{i}.{component}"))),
            }
        }
        let vectors: Vec<_> = words.chunks(4).map(|four| format!("{}({})", Type::Vec4U32, four.join(", "))).collect();
        let (result, _) = parts(part);
        body.push_str(&returned(result, &vectors));
        let suffix = suffix(&CastSpec::new(ElementType::FLOAT, to).with_options(*options))?;
        let name = self.name(&format!("{}x{}_to_{to}{suffix}", self.values.name(), PARTS * count));
        Ok(self.write(name, &[("values", self.values.of(PARTS * count))], Some(result), &body))
    }
}

/// The type of the vectors that hold whole parts of type `part`, and the expressions of the parts of `words`.
fn parts(part: Type) -> (Type, Vec<String>) {
    match part {
        Type::U32 => (Type::Vec4U32, COMPONENTS.iter().map(|component| format!("words.{component}")).collect()),
        _ => {
            let word = |i: usize| format!("words[{}].{}", i / 4, COMPONENTS[i % 4]);
            let part = |i: u32| {
                let words: Vec<_> = (0..3).map(|k| word(3 * i as usize + k)).collect();
                format!("{part}({})", words.join(", "))
            };
            (Type::ThreeVec4U32, (0..PARTS).map(part).collect())
        }
    }
}
