//! The numbers that the fragments read; they follow from the table's row and the options.

use std::fmt::Write as _;

use crate::bits::reference::{EncodeE8m0, EncodeFloat, EncodeInt};
use crate::types::conversion::{Conversion, Decode, Encode};

/// WGSL's `const` lines. Their order does not matter.
pub(crate) struct Constants(String);

impl Constants {
    /// The constants of a conversion.
    pub(crate) fn new(conversion: &Conversion) -> Self {
        let mut constants = Self(String::new());
        constants.number("SRC_BITS", conversion.from.code_bits());
        constants.number("DST_BITS", conversion.to.code_bits());
        constants.decode(&conversion.decode);
        match conversion.encode {
            Encode::Float(to) => constants.encode_float(&to),
            Encode::E8m0(to) => constants.encode_e8m0(&to),
            Encode::Int(to) => constants.encode_int(&to),
            Encode::ClampInfinity { infinity, .. } => constants.number("DST_INFINITY", infinity),
            Encode::Int64 { signed } => constants.flag("INT64_SIGNED", signed),
            Encode::Copy | Encode::F32 | Encode::F64 | Encode::Bool => {}
        }
        constants
    }

    /// Adds the constants that only functions of values read.
    pub(crate) fn values(&mut self, conversion: &Conversion) {
        if let Decode::Float(from) = conversion.decode {
            self.line(&format!("const SRC_LEAST_NORMAL: f32 = 0x1p{}f;", 1 - from.bias as i32));
        }
    }

    pub(super) fn number(&mut self, name: &str, value: u32) {
        let _ = writeln!(self.0, "const {name}: u32 = {value:#x}u;");
    }

    pub(super) fn flag(&mut self, name: &str, value: bool) {
        let _ = writeln!(self.0, "const {name}: bool = {value};");
    }

    pub(crate) fn line(&mut self, line: &str) {
        let _ = writeln!(self.0, "{line}");
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    fn decode(&mut self, decode: &Decode) {
        match decode {
            Decode::Float(from) => {
                self.number("SRC_MAN", from.man);
                self.number("SRC_BIAS", from.bias);
                self.number("SRC_TOP", from.top);
                self.flag("SRC_IEEE", from.ieee);
                self.flag("SRC_FNUZ", from.fnuz);
                self.flag("SRC_SUBNORMALS", from.subnormals);
            }
            Decode::Bool => self.flag("SRC_SIGNED", false),
            Decode::Int { signed, .. } | Decode::Int64 { signed } => self.flag("SRC_SIGNED", *signed),
            Decode::E8m0 { nan } => self.number("SRC_NAN", *nan),
            // `split_lanes` reads SRC_SIGNED for every source, but uses it only for integers.
            Decode::Own => self.flag("SRC_SIGNED", true),
            Decode::F32 | Decode::F64 => {}
        }
    }

    fn encode_float(&mut self, to: &EncodeFloat) {
        self.number("HUB_BITS", to.hub.bits);
        self.number("HUB_MAN", to.hub.man);
        self.number("HUB_BIAS", to.hub.bias);
        self.number("HUB_TOP", to.hub.top);
        self.number("HUB_LEAST", to.least_exponent());
        self.number("HUB_LIMIT", to.limit());
        self.number("HUB_ROUND", to.round());
        self.number("DST_MAN", to.man);
        self.number("DST_BIAS", to.bias);
        self.number("DST_MAX", to.max);
        self.number("DST_OVERFLOW", to.overflow);
        self.number("DST_INTEGERS", to.integers);
        self.number("DST_NAN", to.nan);
        self.number("DST_NAN_KEEP", to.nan_keep);
        self.number("DST_NAN_FLIP", to.nan_flip);
        self.flag("DST_FNUZ", to.fnuz);
    }

    fn encode_e8m0(&mut self, to: &EncodeE8m0) {
        self.number("E8M0_LOW", to.low);
        self.number("E8M0_HIGH", to.high);
        self.number("E8M0_NAN", to.nan);
        self.number("E8M0_ROUND", to.round);
    }

    fn encode_int(&mut self, to: &EncodeInt) {
        let (below, above) = to.clamp.unwrap_or_default();
        self.number("INT_FAIL", to.fail);
        self.flag("INT_WIDE", to.wide);
        self.flag("INT_CLAMP", to.clamp.is_some());
        self.number("INT_BELOW", below);
        self.number("INT_ABOVE", above);
    }
}
