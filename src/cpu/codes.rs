//! Codes and fields of FLOAT16, FLOAT and DOUBLE that several loops need, taken from the element table.

use crate::bits::format::FloatFormat;
use crate::types::element::{BINARY16, BINARY32, BINARY64};

const fn nan(format: FloatFormat) -> u64 {
    format.nan().expect("IEEE formats have NaN")
}

pub(crate) const F16_SIGN: u16 = BINARY16.sign_code() as u16;
pub(crate) const F16_MAGNITUDE: u16 = BINARY16.magnitude_mask() as u16;
pub(crate) const F16_INFINITY: u16 = BINARY16.top() as u16;
pub(crate) const F16_NAN: u16 = nan(BINARY16) as u16;

pub(crate) const F32_SIGN: u32 = BINARY32.sign_code() as u32;
pub(crate) const F32_INFINITY: u32 = BINARY32.top() as u32;
pub(crate) const F32_NAN: u32 = nan(BINARY32) as u32;
pub(crate) const F32_MAN: u32 = BINARY32.man_bits;
pub(crate) const F32_BIAS: u32 = BINARY32.bias;

pub(crate) const F64_INFINITY: u64 = BINARY64.top();
pub(crate) const F64_NAN: u64 = nan(BINARY64);
pub(crate) const F64_MAN: u32 = BINARY64.man_bits;
pub(crate) const F64_BIAS: u32 = BINARY64.bias;
