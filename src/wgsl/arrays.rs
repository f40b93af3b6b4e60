//! Elements by their index: in a word that the caller holds, and in an array of words that the caller has declared.
//!
//! A function cannot take a pointer to a storage buffer without a language extension, so that the functions of arrays name
//! the caller's variable.

use super::functions::{Function, Functions, Type};
use super::names;
use super::values::word;
use crate::element::ElementType;
use crate::error::Error;
use crate::options::CastOptions;

/// The variable in which a code of less than 32 bits starts, in lines that follow each other.
struct Place {
    /// Defines `word`, its index, and `low`, the code's lowest bit in it.
    lines: String,
    bits: u32,
}

impl Place {
    /// The place of the code `index` in an array of words.
    fn new(bits: u32) -> Self {
        // An index times 6 could overflow where the index of the word does not.
        let lines = match bits {
            6 => "let bit = (index & 15u) * 6u;\nlet word = (index >> 4u) * 3u + (bit >> 5u);\nlet low = bit & 31u;"
                .to_owned(),
            _ => {
                let lanes = 32 / bits;
                let (log, mask) = (lanes.trailing_zeros(), lanes - 1);
                format!("let word = index >> {log}u;\nlet low = (index & {mask}u) * {bits}u;")
            }
        };
        Self { lines, bits }
    }

    fn mask(&self) -> u32 {
        (1 << self.bits) - 1
    }
}

impl Functions {
    /// `read_lane{bits}(word, index) -> code`, such as `read_lane4`: the code in a word of the element with this index. Of the index
    /// only the lower bits count, so that it may be the element's index in an array. 6-bit codes fill three words, a
    /// `vec3<u32>`, which hold sixteen.
    ///
    /// # Errors
    /// [`Error::NoKernel`] for strings; [`Error::NoLanes`] for types of at least 32 bits.
    pub fn lane(&mut self, element_type: ElementType) -> Result<Function, Error> {
        let (argument, count) = word(element_type)?;
        let bits = element_type.code_bits();
        let body = match argument {
            Type::U32 => {
                format!("return (word >> ((index & {}u) * {bits}u)) & {:#x}u;", count - 1, (1u32 << bits) - 1)
            }
            _ => "let bit = (index & 15u) * 6u;\n\
                  let low = bit & 31u;\n\
                  var code = word[bit >> 5u] >> low;\n\
                  if (low > 26u) {\n    code = code | (word[(bit >> 5u) + 1u] << (32u - low));\n}\n\
                  return code & 0x3fu;"
                .to_owned(),
        };
        let name = self.name(&format!("read_lane{bits}"));
        Ok(self.write(name, &[("word", argument), ("index", Type::U32)], Some(Type::U32), &body))
    }

    /// `with_lane{bits}(word, index, code) -> word`: the word with the code of one element replaced; see
    /// [`lane`](Self::lane).
    ///
    /// # Errors
    /// As [`lane`](Self::lane).
    pub fn with_lane(&mut self, element_type: ElementType) -> Result<Function, Error> {
        let (argument, count) = word(element_type)?;
        let bits = element_type.code_bits();
        let body = match argument {
            Type::U32 => {
                let (last, mask) = (count - 1, (1u32 << bits) - 1);
                format!("let low = (index & {last}u) * {bits}u;\nreturn (word & ~({mask:#x}u << low)) | (code << low);")
            }
            _ => "let bit = (index & 15u) * 6u;\n\
                  let low = bit & 31u;\n\
                  var words = word;\n\
                  words[bit >> 5u] = (words[bit >> 5u] & ~(0x3fu << low)) | (code << low);\n\
                  if (low > 26u) {\n    let above = 32u - low;\n    \
                  words[(bit >> 5u) + 1u] = (words[(bit >> 5u) + 1u] & ~(0x3fu >> above)) | (code >> above);\n}\n\
                  return words;"
                .to_owned(),
        };
        let name = self.name(&format!("with_lane{bits}"));
        let arguments = [("word", argument), ("index", Type::U32), ("code", Type::U32)];
        Ok(self.write(name, &arguments, Some(argument), &body))
    }

    /// `load_{type}_{variable}(index) -> code`: the code of an element of an array. `variable` is the name of an
    /// `array<u32>` in your module's scope, such as a storage buffer, which holds packed codes from its first bit on.
    ///
    /// # Errors
    /// [`Error::NoKernel`] for strings; [`Error::WgslName`] if `variable` is no name.
    pub fn load(&mut self, element_type: ElementType, variable: &str) -> Result<Function, Error> {
        check(element_type, variable)?;
        let bits = element_type.code_bits();
        let body = match bits {
            64 => format!("return vec2<u32>({variable}[2u * index], {variable}[2u * index + 1u]);"),
            32 => format!("return {variable}[index];"),
            _ => {
                let place = Place::new(bits);
                let (lines, mask) = (&place.lines, place.mask());
                if bits == 6 {
                    format!(
                        "{lines}\nvar code = {variable}[word] >> low;\nif (low > 26u) {{\n    \
                         code = code | ({variable}[word + 1u] << (32u - low));\n}}\nreturn code & {mask:#x}u;"
                    )
                } else {
                    format!("{lines}\nreturn ({variable}[word] >> low) & {mask:#x}u;")
                }
            }
        };
        let name = self.name(&format!("load_{element_type}_{variable}"));
        Ok(self.write(name, &[("index", Type::U32)], Some(Type::code(element_type)), &body))
    }

    /// `load_{type}_as_f32_{variable}(index) -> f32`: the value of an element of an array; see [`load`](Self::load) and
    /// [`decode`](Self::decode).
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn load_value(&mut self, from: ElementType, variable: &str) -> Result<Function, Error> {
        let load = self.load(from, variable)?;
        let decode = self.decode(from)?;
        let body = format!("return {}({}(index));", decode.name(), load.name());
        let name = self.name(&format!("load_{from}_as_f32_{variable}"));
        Ok(self.write(name, &[("index", Type::U32)], Some(Type::F32), &body))
    }

    /// `store_{type}_{variable}(index, code)`: writes an element of an array; see [`load`](Self::load). All other bits stay.
    /// Below 32 bits it reads a word and writes it, so that invocations must not store into the same word at the same time:
    /// give each of them whole words, or see [`store_atomic`](Self::store_atomic).
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn store(&mut self, element_type: ElementType, variable: &str) -> Result<Function, Error> {
        self.store_code(element_type, variable, "store", |word, mask, bits| {
            format!("{variable}[{word}] = ({variable}[{word}] & ~({mask})) | ({bits});")
        })
    }

    /// `store_atomic_{type}_{variable}(index, code)`: as [`store`](Self::store) for an `array<atomic<u32>>`. Invocations may
    /// store different elements of one word at the same time. Types of less than 32 bits only.
    ///
    /// # Errors
    /// As [`load`](Self::load), and [`Error::NoLanes`] for types of at least 32 bits.
    pub fn store_atomic(&mut self, element_type: ElementType, variable: &str) -> Result<Function, Error> {
        word(element_type)?;
        // Only this element's bits change, so that the two steps of several elements may come in any order.
        self.store_code(element_type, variable, "store_atomic", |word, mask, bits| {
            format!("atomicAnd(&{variable}[{word}], ~({mask}));\natomicOr(&{variable}[{word}], {bits});")
        })
    }

    /// `store_{type}_from_f32_{variable}(index, value)`: encodes a value and stores it; see [`store`](Self::store) and
    /// [`encode`](Self::encode), whose options are in the name after the type.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn store_value(&mut self, to: ElementType, options: &CastOptions, variable: &str) -> Result<Function, Error> {
        let store = self.store(to, variable)?;
        let encode = self.encode(to, options)?;
        let body = format!("{}(index, {}(value));", store.name(), encode.name());
        let first = self.name("f32_to_").len();
        let name = self.name(&format!("store_{}_from_f32_{variable}", &encode.name()[first..]));
        Ok(self.write(name, &[("index", Type::U32), ("value", Type::F32)], None, &body))
    }

    /// `put` writes the line that replaces the bits of a mask in a word.
    fn store_code(
        &mut self,
        element_type: ElementType,
        variable: &str,
        verb: &str,
        put: impl Fn(&str, &str, &str) -> String,
    ) -> Result<Function, Error> {
        check(element_type, variable)?;
        let bits = element_type.code_bits();
        let body = match bits {
            64 => format!("{variable}[2u * index] = code.x;\n{variable}[2u * index + 1u] = code.y;"),
            32 => format!("{variable}[index] = code;"),
            _ => {
                let place = Place::new(bits);
                let mask = place.mask();
                let mut body =
                    format!("{}\n{}", place.lines, put("word", &format!("{mask:#x}u << low"), "code << low"));
                if bits == 6 {
                    let rest = put("word + 1u", "0x3fu >> (32u - low)", "code >> (32u - low)");
                    body.push_str(&format!("\nif (low > 26u) {{\n    {}\n}}", rest.replace('\n', "\n    ")));
                }
                body
            }
        };
        let name = self.name(&format!("{verb}_{element_type}_{variable}"));
        Ok(self.write(name, &[("index", Type::U32), ("code", Type::code(element_type))], None, &body))
    }
}

/// Checks that the array can be named and that its elements have codes.
fn check(element_type: ElementType, variable: &str) -> Result<(), Error> {
    names::check(variable)?;
    match element_type.is_numeric() {
        true => Ok(()),
        false => Err(Error::NoKernel { from: element_type, to: element_type }),
    }
}
