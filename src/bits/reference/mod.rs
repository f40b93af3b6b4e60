//! The reference of each WGSL function that converts. A reference has the same name as the WGSL function, lies in a
//! file of the same name, takes the same steps and gives the same bits. The folders are those of `shaders/`; a test
//! pairs files and functions in both directions.
//!
//! Integers only. Words are `u32`; 64-bit codes are two words, low first. The constants of a shader are parameters
//! here: `DecodeFloat` for `SRC_…`, `EncodeFloat` for `HUB_…` and `DST_…`, and so on.
//!
//! A conversion has up to three steps, each a function of one value (see `kernel/compose.rs`). *Decode* turns the code
//! into a value. *Hub* brings the value to the form that the last step takes, where that differs. *Encode* turns it
//! into the destination code. The hub of a float of at most 16 bits is one word: binary32, a narrower float's own
//! format, or the high word of a binary64. The high word is **rounded to odd**: truncated, and its last bit set if any
//! set bit was lost. It has at least two significand bits more than any float of at most 16 bits, so the one rounding
//! that follows gives the same result as rounding the full value.

mod parameters;

pub(crate) mod lib {
    mod integer;
    mod negate;
    mod normalize;
    mod pack_float;
    mod round;
    mod significand;

    pub(crate) use self::{integer::*, negate::*, normalize::*, pack_float::*, round::*, significand::*};
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
    mod split_f32;
    mod split_f64;
    mod split_float;
    mod split_int;
    mod split_int64;

    pub(crate) use self::{f64_high_word::*, split_f32::*, split_f64::*, split_float::*, split_int::*, split_int64::*};
}

pub(crate) mod encode {
    mod bool;
    mod clamp_infinity;
    mod e8m0;
    mod f32;
    mod f32_to_f64;
    mod f64_high_to_e8m0;
    mod f64_to_f32;
    #[cfg(test)]
    mod float4;
    mod float_higher_bias;
    mod float_is_nonzero;
    mod float_lower_bias;
    mod float_lower_bias_apart;
    mod float_lower_bias_sticky;
    mod float_same_bias;
    mod float_to_e8m0;
    mod int;
    mod int64;
    mod integer;
    mod integer_to_e8m0;
    mod integer_to_f32;
    mod integer_to_f64;
    mod integer_to_float;

    #[cfg(test)]
    pub(crate) use self::float4::*;
    pub(crate) use self::{bool::*, clamp_infinity::*, e8m0::*, f32::*, f32_to_f64::*, f64_high_to_e8m0::*};
    pub(crate) use self::{
        f64_to_f32::*, float_higher_bias::*, float_is_nonzero::*, float_lower_bias::*, float_lower_bias_apart::*,
        float_lower_bias_sticky::*,
    };
    pub(crate) use self::{float_same_bias::*, float_to_e8m0::*, int::*, int64::*, integer::*};
    pub(crate) use self::{integer_to_e8m0::*, integer_to_f32::*, integer_to_f64::*, integer_to_float::*};
}

pub(crate) use self::{decode::*, encode::*, hub::*, lib::*, parameters::*};

/// A 64-bit code: low word, high word.
pub(crate) type Pair = [u32; 2];

const SIGN: u32 = 0x8000_0000;
const INFINITY: u32 = 0x7f80_0000;
const NAN: u32 = 0x7fc0_0000;

/// WGSL's `firstLeadingBit`: the place of the highest set bit, or all ones where there is none.
fn first_leading_bit(word: u32) -> u32 {
    word.checked_ilog2().unwrap_or(!0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The results are those of the WGSL specification, also for 0, which has no leading bit.
    #[test]
    fn leading_bits_are_those_of_wgsl() {
        let words = [0, 1, 2, 3, 0x8000_0000, u32::MAX];
        assert_eq!(words.map(first_leading_bit), [u32::MAX, 0, 1, 1, 31, 31]);
    }
}
