//! Elements by their index: in a word that the caller holds, and in an array of words that the caller has declared.
//!
//! A function cannot take a pointer to a storage buffer without a language extension. So the functions of arrays name
//! the caller's variable.

use super::array::{Array, Elements};
use super::functions::{Function, Functions, suffix};
use super::names::{self, rename};
use super::types::Type;
use super::values::word;
use crate::types::element::ElementType;
use crate::types::error::Error;
use crate::types::options::CastOptions;
use crate::types::spec::CastSpec;

/// The WGSL lines that find where a code of less than 32 bits starts.
struct Place {
    /// Defines `word`, the index of a word, and `low`, the code's lowest bit in that word.
    lines: String,
    bits: u32,
}

impl Place {
    /// The place of the code at `index` in an array of words.
    fn new(bits: u32) -> Self {
        // `index * 6` could overflow where the index of the word does not.
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
    /// `read_lane{bits}(word, index) -> code`, such as `read_lane4`: the code of one element of a word. Only the low
    /// bits of `index` count, so it may be the element's index in an array. For 6-bit codes, `word` is a `vec3<u32>`,
    /// which holds 16 codes.
    ///
    /// # Errors
    /// [`Error::ElementWidth`] for types of at least 32 bits and strings.
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

    /// `with_lane{bits}(word, index, code) -> word`: the word after the code of one element is replaced; see
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

    /// `load_{type}_{array}(index) -> code`: the code of an element of an array. The array is a name or an [`Array`].
    ///
    /// # Errors
    /// [`Error::ElementWidth`] for strings; [`Error::WgslName`] if the array's name has characters that no name has, or if an
    /// earlier function under the same prefix takes it for an array of other elements or has this function's name.
    pub fn load<'a>(&mut self, element_type: ElementType, array: impl Into<Array<'a>>) -> Result<Function, Error> {
        let array = array.into();
        let name = self.of_codes("load", element_type, array);
        self.note(element_type, array, &[&name])?;
        let bits = element_type.code_bits();
        let body = match bits {
            64 => format!("return vec2<u32>({}, {});", array.word("2u * index"), array.word("2u * index + 1u")),
            32 => format!("return {};", array.word("index")),
            _ => {
                let place = Place::new(bits);
                let (lines, mask, word) = (&place.lines, place.mask(), array.word("word"));
                if bits == 6 {
                    format!(
                        "{lines}\nvar code = {word} >> low;\nif (low > 26u) {{\n    \
                         code = code | ({} << (32u - low));\n}}\nreturn code & {mask:#x}u;",
                        array.word("word + 1u")
                    )
                } else {
                    format!("{lines}\nreturn ({word} >> low) & {mask:#x}u;")
                }
            }
        };
        Ok(self.write_over(array.name, name, &[("index", Type::U32)], Some(Type::code(element_type)), &body))
    }

    /// `load_{type}_as_f32_{array}(index) -> f32`: the value of an element of an array; see [`load`](Self::load) and
    /// [`decode`](Self::decode).
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn load_value<'a>(&mut self, from: ElementType, array: impl Into<Array<'a>>) -> Result<Function, Error> {
        let array = array.into();
        let name = self.name(&format!("load_{from}_as_{}_{}", self.values.name(), array.name));
        self.note(from, array, &[&name, &self.of_codes("load", from, array)])?;
        let load = self.load(from, array)?;
        let decode = self.decode(from)?;
        let body = format!("return {}({}(index));", decode.name(), load.name());
        Ok(self.write(name, &[("index", Type::U32)], Some(self.values.of(1)), &body))
    }

    /// `store_{type}_{array}(index, code)`: writes an element of an array; see [`load`](Self::load). All other bits
    /// stay. For types of less than 32 bits it reads a word and writes it back. So two invocations must not store into
    /// the same word at the same time: give each invocation whole words, or see [`store_atomic`](Self::store_atomic).
    /// In an `array<vec4<u32>>`, give each invocation whole vectors for every type, because WGSL lets the store of a
    /// component write the whole vector.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn store<'a>(&mut self, element_type: ElementType, array: impl Into<Array<'a>>) -> Result<Function, Error> {
        self.store_code(element_type, array.into(), "store", |word, mask, bits| {
            format!("{word} = ({word} & ~({mask})) | ({bits});")
        })
    }

    /// `store_atomic_{type}_{array}(index, code)`: as [`store`](Self::store), for an `array<atomic<u32>>` of this name.
    /// Invocations may store different elements of one word at the same time. The type must have less than 32 bits.
    /// There is no such function for an `array<vec4<u32>>`, because WGSL has no atomic vectors.
    ///
    /// # Errors
    /// As [`load`](Self::load), and [`Error::ElementWidth`] for types of at least 32 bits.
    pub fn store_atomic(&mut self, element_type: ElementType, array: &str) -> Result<Function, Error> {
        word(element_type)?;
        let array = Array { name: array, elements: Elements::AtomicWords };
        // Each step changes only this element's bits, so the steps of several invocations may come in any order.
        self.store_code(element_type, array, "store_atomic", |word, mask, bits| {
            format!("atomicAnd(&{word}, ~({mask}));\natomicOr(&{word}, {bits});")
        })
    }

    /// `store_{type}_from_f32_{array}(index, value)`: encodes a value and stores it; see [`store`](Self::store) and
    /// [`encode`](Self::encode). The options are in the name, after the type.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn store_value<'a>(
        &mut self,
        to: ElementType,
        options: &CastOptions,
        array: impl Into<Array<'a>>,
    ) -> Result<Function, Error> {
        let (array, values) = (array.into(), self.values.name());
        let spec = CastSpec::new(ElementType::FLOAT, to).with_options(*options);
        // For strings, `note` gives the error.
        let suffix = if to.is_numeric() { suffix(&spec)? } else { String::new() };
        let name = self.name(&format!("store_{to}{suffix}_from_{values}_{}", array.name));
        self.note(to, array, &[&name, &self.of_codes("store", to, array)])?;
        let store = self.store(to, array)?;
        let encode = self.encode(to, options)?;
        let body = format!("{}(index, {}(value));", store.name(), encode.name());
        Ok(self.write(name, &[("index", Type::U32), ("value", self.values.of(1))], None, &body))
    }

    /// Writes a function that stores a code. `put` gives the line that replaces the bits under a mask in a word.
    fn store_code(
        &mut self,
        element_type: ElementType,
        array: Array<'_>,
        verb: &str,
        put: impl Fn(&str, &str, &str) -> String,
    ) -> Result<Function, Error> {
        let name = self.of_codes(verb, element_type, array);
        self.note(element_type, array, &[&name])?;
        let bits = element_type.code_bits();
        let body = match bits {
            64 => {
                let [low, high] = ["2u * index", "2u * index + 1u"].map(|index| array.word(index));
                format!("{low} = code.x;\n{high} = code.y;")
            }
            32 => format!("{} = code;", array.word("index")),
            _ => {
                let place = Place::new(bits);
                let mask = format!("{:#x}u << low", place.mask());
                let mut body = format!("{}\n{}", place.lines, put(&array.word("word"), &mask, "code << low"));
                if bits == 6 {
                    let rest = put(&array.word("word + 1u"), "0x3fu >> (32u - low)", "code >> (32u - low)");
                    body.push_str(&format!("\nif (low > 26u) {{\n    {}\n}}", rest.replace('\n', "\n    ")));
                }
                body
            }
        };
        let arguments = [("index", Type::U32), ("code", Type::code(element_type))];
        Ok(self.write_over(array.name, name, &arguments, None, &body))
    }

    /// The name of a function that loads or stores codes of an array.
    fn of_codes(&self, verb: &str, element_type: ElementType, array: Array<'_>) -> String {
        self.name(&format!("{verb}_{element_type}_{}", array.name))
    }

    /// Checks that the array's name is valid and that its elements have codes. Records the names of its functions.
    fn note(&mut self, element_type: ElementType, array: Array<'_>, functions: &[&str]) -> Result<(), Error> {
        names::check(array.name)?;
        match element_type.is_numeric() {
            true => self.note_functions(functions, (array.name, array.elements)),
            false => Err(Error::no_codes(element_type)),
        }
    }

    /// Writes a function whose body has `ARRAY` for the caller's variable. The function's own variables never hide the
    /// caller's.
    fn write_over(
        &mut self,
        variable: &str,
        name: String,
        arguments: &[(&str, Type)],
        result: Option<Type>,
        body: &str,
    ) -> Function {
        let other = |word: &str| (word == variable && word != "ARRAY").then(|| format!("{word}_here"));
        let body = rename(body, |word| if word == "ARRAY" { Some(variable.to_owned()) } else { other(word) });
        let names: Vec<_> = arguments.iter().map(|(name, _)| other(name).unwrap_or((*name).to_owned())).collect();
        let arguments: Vec<_> = names.iter().zip(arguments).map(|(name, (_, kind))| (name.as_str(), *kind)).collect();
        self.write(name, &arguments, result, &body)
    }
}
