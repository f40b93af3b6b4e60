//! The reference of each WGSL function that converts: the same name in the file of the same name, the same steps, the same
//! bits. It mirrors `shaders/` folder by folder; a test pairs files and functions both ways.
//!
//! Integers only. Words are `u32`; 64-bit codes are two words, low first. What a shader reads as constants is a parameter
//! here: `DecodeFloat` for `SRC_…`, `EncodeFloat` for `HUB_…` and `DST_…`, and so on.
//!
//! A *hub* is a value as the bits of one word that `encode_float` rounds from: binary32, a narrower float's own format, or
//! the high word of a binary64 **rounded to odd**: cut towards zero, and the last bit set when anything was lost. Every
//! float of at most 16 bits has fewer significand bits than that, so the one rounding that follows is as exact as from the
//! full value.

pub(crate) mod lib {
    mod negate;
    mod normalize;
    mod round;
    mod split_float;
    mod split_integer;

    pub(crate) use self::{negate::*, normalize::*, round::*, split_float::*, split_integer::*};
}

pub(crate) mod decode {
    mod bool;
    mod e8m0;
    mod float;
    mod int;

    pub(crate) use self::{bool::*, e8m0::*, float::*, int::*};
}

pub(crate) mod hub {
    mod f64_high_word;

    pub(crate) use self::f64_high_word::*;
}

pub(crate) mod encode {
    mod bool;
    mod clamp_infinity;
    mod e8m0;
    mod f16_to_e8m0;
    mod f32;
    mod f32_to_f64;
    mod f64_high_to_e8m0;
    mod f64_to_f32;
    mod float;
    mod float4;
    mod int;
    mod int64;
    mod integer_to_e8m0;
    mod integer_to_f32;
    mod integer_to_f64;
    mod integer_to_float;

    pub(crate) use self::{bool::*, clamp_infinity::*, e8m0::*, f16_to_e8m0::*, f32::*, f32_to_f64::*};
    pub(crate) use self::{f64_high_to_e8m0::*, f64_to_f32::*, float::*, float4::*, int::*, int64::*};
    pub(crate) use self::{integer_to_e8m0::*, integer_to_f32::*, integer_to_f64::*, integer_to_float::*};
}

pub(crate) use self::{decode::*, encode::*, hub::*, lib::*};

/// A 64-bit code: low word, high word.
pub(crate) type Pair = [u32; 2];

const SIGN: u32 = 0x8000_0000;
const INFINITY: u32 = 0x7f80_0000;
const NAN: u32 = 0x7fc0_0000;
