//! The element types. Everything about a type is written in its row of the table, and nowhere else.

use std::fmt;
use std::str::FromStr;

use crate::bits::format::{FloatFormat, Specials};
use crate::types::error::Error;

/// The meaning of an element type's codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// One byte. Any non-zero byte is read as true; casts write exactly 0 or 1.
    Bool,
    /// An integer, in two's complement if `signed`.
    Int {
        /// Whether the integer is signed.
        signed: bool,
    },
    /// A binary float.
    Float(FloatFormat),
    /// A UTF-8 string, which has no fixed width.
    String,
}

/// The two ONNX operators. CastLike supports the types of Cast except those of 6 bits, some from a later opset on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operator {
    /// `Cast`: the target is the attribute `to`.
    Cast,
    /// `CastLike`: the target is the element type of the second input.
    CastLike,
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Operator::Cast => "Cast",
            Operator::CastLike => "CastLike",
        })
    }
}

struct Row {
    name: &'static str,
    aliases: &'static [&'static str],
    onnx_code: i32,
    bits: u32,
    kind: Kind,
    since_cast: u32,
    since_cast_like: Option<u32>,
}

const fn float(exp_bits: u32, man_bits: u32, bias: u32, specials: Specials) -> Kind {
    Kind::Float(FloatFormat { exp_bits, man_bits, bias, specials })
}

const SIGNED: Kind = Kind::Int { signed: true };
const UNSIGNED: Kind = Kind::Int { signed: false };

/// Makes the enum, `ALL` and the rows from one list, so that a type is one line.
macro_rules! element_types {
    ($($variant:ident $name:literal $aliases:tt $code:literal, $bits:literal, $kind:expr, $cast:literal, $like:expr;)*) => {
        /// An ONNX element type (`TensorProto.DataType`), named as ONNX names it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        #[allow(clippy::upper_case_acronyms, reason = "the variants are spelled as in TensorProto.DataType")]
        pub enum ElementType {
            $(#[doc = concat!("`", $name, "`, `TensorProto.DataType` ", stringify!($code), ".")] $variant,)*
        }

        impl ElementType {
            /// Every element type, in the order of the ONNX codes.
            pub const ALL: &'static [ElementType] = &[$(ElementType::$variant,)*];

            const fn row(self) -> &'static Row {
                const ROWS: &[Row] = &[$(Row {
                    name: $name,
                    aliases: &$aliases,
                    onnx_code: $code,
                    bits: $bits,
                    kind: $kind,
                    since_cast: $cast,
                    since_cast_like: $like,
                },)*];
                &ROWS[self as usize]
            }
        }
    };
}

// Names are ONNX's. The aliases are the spellings of numpy, ml_dtypes and safetensors, and short ones; `from_str` says
// which characters do not matter. Columns: variant, name, aliases, ONNX code, bits, kind, first Cast and CastLike
// opset.
element_types! {
    FLOAT          "float"          ["float32", "f32", "single", "fp32"]          1, 32, float(8, 23, 127, Specials::Ieee), 1, Some(15);
    UINT8          "uint8"          ["u8"]                                2,  8, UNSIGNED, 1, Some(15);
    INT8           "int8"           ["i8"]                                3,  8, SIGNED, 1, Some(15);
    UINT16         "uint16"         ["u16"]                               4, 16, UNSIGNED, 1, Some(15);
    INT16          "int16"          ["i16"]                               5, 16, SIGNED, 1, Some(15);
    INT32          "int32"          ["i32"]                               6, 32, SIGNED, 1, Some(15);
    INT64          "int64"          ["i64"]                               7, 64, SIGNED, 1, Some(15);
    STRING         "string"         ["str"]                               8,  0, Kind::String, 9, Some(15);
    BOOL           "bool"           ["boolean"]                           9,  8, Kind::Bool, 1, Some(15);
    FLOAT16        "float16"        ["f16", "half", "fp16"]                      10, 16, float(5, 10, 15, Specials::Ieee), 1, Some(15);
    DOUBLE         "double"         ["float64", "f64", "fp64"]                   11, 64, float(11, 52, 1023, Specials::Ieee), 1, Some(15);
    UINT32         "uint32"         ["u32"]                              12, 32, UNSIGNED, 1, Some(15);
    UINT64         "uint64"         ["u64"]                              13, 64, UNSIGNED, 1, Some(15);
    BFLOAT16       "bfloat16"       ["bf16"]                             16, 16, float(8, 7, 127, Specials::Ieee), 13, Some(15);
    FLOAT8E4M3FN   "float8e4m3fn"   ["f8e4m3fn", "f8e4m3", "e4m3fn", "fp8e4m3fn", "fp8e4m3", "e4m3"]     17,  8, float(4, 3, 7, Specials::TopCodeNan), 19, Some(19);
    FLOAT8E4M3FNUZ "float8e4m3fnuz" ["f8e4m3fnuz", "e4m3fnuz", "fp8e4m3fnuz"]           18,  8, float(4, 3, 8, Specials::NegativeZeroNan), 19, Some(19);
    FLOAT8E5M2     "float8e5m2"     ["f8e5m2", "e5m2", "fp8e5m2"]                   19,  8, float(5, 2, 15, Specials::Ieee), 19, Some(19);
    FLOAT8E5M2FNUZ "float8e5m2fnuz" ["f8e5m2fnuz", "e5m2fnuz", "fp8e5m2fnuz"]           20,  8, float(5, 2, 16, Specials::NegativeZeroNan), 19, Some(19);
    UINT4          "uint4"          ["u4"]                               21,  4, UNSIGNED, 21, Some(21);
    INT4           "int4"           ["i4"]                               22,  4, SIGNED, 21, Some(21);
    FLOAT4E2M1     "float4e2m1"     ["float4e2m1fn", "f4e2m1", "f4", "e2m1", "fp4e2m1"] 23, 4, float(2, 1, 1, Specials::Finite), 23, Some(23);
    FLOAT8E8M0     "float8e8m0"     ["float8e8m0fnu", "f8e8m0", "e8m0"]  24,  8, float(8, 0, 127, Specials::Scale), 24, Some(24);
    UINT2          "uint2"          ["u2"]                               25,  2, UNSIGNED, 25, Some(25);
    INT2           "int2"           ["i2"]                               26,  2, SIGNED, 25, Some(25);
    FLOAT6E2M3     "float6e2m3"     ["float6e2m3fn", "f6e2m3", "e2m3", "fp6e2m3"]   27,  6, float(2, 3, 1, Specials::Finite), 28, None;
    FLOAT6E3M2     "float6e3m2"     ["float6e3m2fn", "f6e3m2", "e3m2", "fp6e3m2"]   28,  6, float(3, 2, 3, Specials::Finite), 28, None;
}

// The formats that have their own loops on the CPU.
pub(crate) const BINARY16: FloatFormat = format(ElementType::FLOAT16);
pub(crate) const BFLOAT16: FloatFormat = format(ElementType::BFLOAT16);
pub(crate) const BINARY32: FloatFormat = format(ElementType::FLOAT);
pub(crate) const BINARY64: FloatFormat = format(ElementType::DOUBLE);

const fn format(float: ElementType) -> FloatFormat {
    match float.kind() {
        Kind::Float(format) => format,
        _ => panic!("not a float"),
    }
}

impl ElementType {
    /// The ONNX name in lower case, such as `float8e4m3fn`.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// Other names that [`FromStr`] accepts: those of numpy, ml_dtypes and safetensors, and short ones.
    pub const fn aliases(self) -> &'static [&'static str] {
        self.row().aliases
    }

    /// The value of `TensorProto.DataType`.
    pub const fn onnx_code(self) -> i32 {
        self.row().onnx_code
    }

    /// The element type with this value of `TensorProto.DataType`; `None` for UNDEFINED, the complex types and unknown
    /// values.
    pub fn from_onnx_code(code: i32) -> Option<ElementType> {
        Self::ALL.iter().copied().find(|t| t.onnx_code() == code)
    }

    /// The width of one code in bits (2, 4, 6, 8, 16, 32 or 64); `None` for strings.
    pub const fn bits(self) -> Option<u32> {
        match self.row().bits {
            0 => None,
            bits => Some(bits),
        }
    }

    /// Width of one code in bits; 0 for strings.
    pub(crate) const fn code_bits(self) -> u32 {
        self.row().bits
    }

    /// The meaning of the codes.
    pub const fn kind(self) -> Kind {
        self.row().kind
    }

    /// Whether the type is numeric, which is every type except STRING. BOOL counts as numeric.
    pub const fn is_numeric(self) -> bool {
        !matches!(self.row().kind, Kind::String)
    }

    /// The first opset at which `operator` supports the type; `None` if no opset does (FLOAT6 types with CastLike).
    pub const fn since_opset(self, operator: Operator) -> Option<u32> {
        match operator {
            Operator::Cast => Some(self.row().since_cast),
            Operator::CastLike => self.row().since_cast_like,
        }
    }

    /// The size of `elements` packed codes in bytes, `ceil(elements * bits / 8)`; `None` for strings, or if the size
    /// overflows.
    ///
    /// Codes narrower than a byte are packed, low bits first: two 4-bit or four 2-bit codes per byte, four 6-bit codes
    /// per three bytes.
    pub fn packed_bytes(self, elements: u64) -> Option<u64> {
        let bits = u128::from(elements) * u128::from(self.bits()?);
        u64::try_from(bits.div_ceil(8)).ok()
    }

    /// The maximum number of elements in `bytes` packed bytes, `floor(8 * bytes / bits)`; `None` for strings.
    pub fn elements_in(self, bytes: u64) -> Option<u64> {
        u64::try_from(u128::from(bytes) * 8 / u128::from(self.bits()?)).ok()
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Removes the differences that do not matter in names: case, `_` and `-`. So `F8_E4M3` and `float8_e4m3fn` are both
/// accepted.
fn plain(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect()
}

impl FromStr for ElementType {
    type Err = Error;

    /// Parses a name of ONNX, numpy, ml_dtypes or safetensors, without regard to case, `_` and `-`.
    ///
    /// # Errors
    /// [`Error::UnknownName`] for any other name.
    fn from_str(text: &str) -> Result<Self, Error> {
        let wanted = plain(text);
        Self::ALL
            .iter()
            .copied()
            .find(|t| t.name() == wanted || t.aliases().contains(&wanted.as_str()))
            .ok_or_else(|| Error::UnknownName { kind: "element type", name: text.to_owned(), expected: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_is_read_and_names_one_type() {
        for &t in ElementType::ALL {
            assert_eq!(t.name().parse::<ElementType>().unwrap(), t);
            assert_eq!(t.name().to_uppercase().parse::<ElementType>().unwrap(), t);
            for alias in t.aliases() {
                assert_eq!(alias.parse::<ElementType>().unwrap(), t, "{alias}");
            }
            assert_eq!(ElementType::from_onnx_code(t.onnx_code()), Some(t));
        }
        for (text, t) in [
            ("F8_E4M3", ElementType::FLOAT8E4M3FN),
            ("F8_E8M0", ElementType::FLOAT8E8M0),
            ("F4", ElementType::FLOAT4E2M1),
            ("F6_E2M3", ElementType::FLOAT6E2M3),
            ("float8_e5m2fnuz", ElementType::FLOAT8E5M2FNUZ),
            ("float4_e2m1fn", ElementType::FLOAT4E2M1),
            ("BF16", ElementType::BFLOAT16),
            ("BOOL", ElementType::BOOL),
        ] {
            assert_eq!(text.parse::<ElementType>().unwrap(), t, "{text}");
        }
        let all: Vec<_> = ElementType::ALL.iter().flat_map(|t| t.aliases().iter().chain([&t.row().name])).collect();
        let distinct: std::collections::HashSet<_> = all.iter().collect();
        assert_eq!(all.len(), distinct.len(), "no spelling stands twice");
        for text in ["", "float9", "complex64", "undefined"] {
            assert!(text.parse::<ElementType>().is_err(), "{text:?}");
        }
    }

    /// The type lists of Cast 1, 9, 13, 19, 21, 23, 24, 25, 28 and CastLike 15, 19, 21, 23, 24, 25 in onnx 1.23.2,
    /// whose last element type is 28.
    #[test]
    fn each_operator_version_lists_as_many_types_as_its_schema() {
        let listed = |operator, opset| {
            let since = |t: &&ElementType| t.since_opset(operator).is_some_and(|since| since <= opset);
            ElementType::ALL.iter().filter(|t| t.onnx_code() <= 28).filter(since).count()
        };
        let cast = [(1, 12), (6, 12), (9, 13), (13, 14), (19, 18), (21, 20), (23, 21), (24, 22), (25, 24), (28, 26)];
        for (opset, types) in cast {
            assert_eq!(listed(Operator::Cast, opset), types, "Cast-{opset}");
        }
        for (opset, types) in [(15, 14), (19, 18), (21, 20), (23, 21), (24, 22), (25, 24), (28, 24)] {
            assert_eq!(listed(Operator::CastLike, opset), types, "CastLike at opset {opset}");
        }
    }

    #[test]
    fn packed_sizes() {
        for (t, elements, bytes) in [
            (ElementType::INT2, 5, 2),
            (ElementType::UINT4, 3, 2),
            (ElementType::FLOAT6E3M2, 4, 3),
            (ElementType::FLOAT6E2M3, 5, 4),
            (ElementType::BOOL, 5, 5),
            (ElementType::DOUBLE, 0, 0),
            (ElementType::DOUBLE, 3, 24),
        ] {
            assert_eq!(t.packed_bytes(elements), Some(bytes), "{t} x {elements}");
        }
        assert_eq!(ElementType::DOUBLE.packed_bytes(u64::MAX), None);
        assert_eq!(ElementType::STRING.packed_bytes(1), None);
        assert_eq!(ElementType::FLOAT6E2M3.elements_in(4), Some(5));
        assert_eq!(ElementType::INT2.elements_in(u64::MAX), None);
    }

    #[test]
    fn operators_have_the_names_of_onnx() {
        assert_eq!([Operator::Cast, Operator::CastLike].map(|operator| operator.to_string()), ["Cast", "CastLike"]);
    }
}
