//! The conversion by the reference. Each line names the functions that the kernel of the pair calls
//! (`kernel/compose.rs`).

use super::{Carrier, Conversion, Decode, Encode};
use crate::bits::reference::*;

impl Conversion {
    /// Casts codes in place: `low` holds the low words, `high` the high words of 64-bit codes. The bits above the width
    /// of a destination code are undefined; `high` has a meaning for 64-bit destinations only.
    pub(crate) fn convert(&self, low: &mut [u32], high: &mut [u32]) {
        match self.encode {
            Encode::Copy => return,
            Encode::ClampInfinity { infinity, bits } => return map(low, |code| clamp_infinity(code, infinity, bits)),
            _ => {}
        }
        match self.decode {
            Decode::Float(from) if self.is_direct() => return self.convert_float(low, &from),
            Decode::Bool => map(low, decode_bool),
            Decode::Int { bits, signed: true } => map(low, |code| decode_int(code, bits, true)),
            Decode::Int { bits, signed: false } => map(low, |code| decode_int(code, bits, false)),
            Decode::Float(from) => map(low, |code| decode_float(code, &from)),
            Decode::E8m0 { nan } => map(low, |code| decode_e8m0(code, nan)),
            Decode::Int64 { .. } | Decode::F32 | Decode::F64 | Decode::Own => {}
        }
        match self.carrier() {
            Carrier::Int { signed } => self.convert_int(low, high, signed),
            Carrier::Int64 { signed } => self.convert_int64(low, high, signed),
            Carrier::F32 => self.convert_f32(low, high),
            Carrier::F64 => self.convert_f64(low, high),
        }
    }

    fn convert_float(&self, low: &mut [u32], from: &DecodeFloat) {
        match self.encode {
            Encode::Int(to) => {
                let bits = self.to.code_bits();
                map(low, |code| encode_int(split_float(code, from, bits), &to));
            }
            Encode::E8m0(to) => map(low, |code| float_to_e8m0(code, from, &to)),
            _ => map(low, |code| float_is_nonzero(code, from.bits)),
        }
    }

    fn convert_int(&self, low: &mut [u32], high: &mut [u32], signed: bool) {
        match self.encode {
            Encode::Float(to) => map(low, |value| integer_to_float(split_int(value, signed), &to)),
            Encode::F32 => map(low, |value| integer_to_f32(split_int(value, signed))),
            Encode::F64 => map_pairs(low, high, |[value, _]| integer_to_f64(split_int(value, signed))),
            Encode::E8m0(to) => map(low, |value| int_to_e8m0(value, signed, &to)),
            Encode::Int64 { .. } => map_pairs(low, high, |[value, _]| int_to_int64(value, signed)),
            Encode::Bool => map(low, int_is_nonzero),
            Encode::Int(_) | Encode::Copy | Encode::ClampInfinity { .. } => {}
        }
    }

    fn convert_int64(&self, low: &mut [u32], high: &mut [u32], signed: bool) {
        match self.encode {
            Encode::Float(to) => map_low(low, high, |value| integer_to_float(split_int64(value, signed), &to)),
            Encode::F32 => map_low(low, high, |value| integer_to_f32(split_int64(value, signed))),
            Encode::F64 => map_pairs(low, high, |value| integer_to_f64(split_int64(value, signed))),
            Encode::E8m0(to) => map_low(low, high, |value| int64_to_e8m0(value, signed, &to)),
            Encode::Int(_) => map_low(low, high, int64_to_int),
            Encode::Bool => map_low(low, high, int64_is_nonzero),
            Encode::Int64 { .. } | Encode::Copy | Encode::ClampInfinity { .. } => {}
        }
    }

    fn convert_f32(&self, low: &mut [u32], high: &mut [u32]) {
        match self.encode {
            Encode::Float(to) => map(low, |value| to.encode(value)),
            Encode::F32 => map(low, encode_f32),
            Encode::F64 => map_pairs(low, high, |[value, _]| f32_to_f64(value)),
            Encode::E8m0(to) => map(low, |value| encode_e8m0(value, &to)),
            Encode::Int(to) => map(low, |value| encode_int(split_f32(value), &to)),
            Encode::Int64 { signed } => map_pairs(low, high, |[value, _]| encode_int64(split_f32(value), signed)),
            Encode::Bool => map(low, f32_is_nonzero),
            Encode::Copy | Encode::ClampInfinity { .. } => {}
        }
    }

    fn convert_f64(&self, low: &mut [u32], high: &mut [u32]) {
        match self.encode {
            Encode::Float(to) => map_low(low, high, |value| to.encode(f64_high_word(value))),
            Encode::F32 => map_low(low, high, f64_to_f32),
            Encode::E8m0(to) => map_low(low, high, |value| f64_high_to_e8m0(f64_high_word(value), &to)),
            Encode::Int(to) => map_low(low, high, |value| encode_int(split_f64(value), &to)),
            Encode::Int64 { signed } => map_pairs(low, high, |value| encode_int64(split_f64(value), signed)),
            Encode::Bool => map_low(low, high, f64_is_nonzero),
            Encode::F64 | Encode::Copy | Encode::ClampInfinity { .. } => {}
        }
    }
}

/// Words to words.
#[inline]
fn map(low: &mut [u32], f: impl Fn(u32) -> u32) {
    low.iter_mut().for_each(|word| *word = f(*word));
}

/// Pairs of words to words.
#[inline]
fn map_low(low: &mut [u32], high: &[u32], f: impl Fn(Pair) -> u32) {
    low.iter_mut().zip(high).for_each(|(low, &high)| *low = f([*low, high]));
}

/// Pairs of words to pairs of words.
#[inline]
fn map_pairs(low: &mut [u32], high: &mut [u32], f: impl Fn(Pair) -> Pair) {
    low.iter_mut().zip(high).for_each(|(low, high)| [*low, *high] = f([*low, *high]));
}
