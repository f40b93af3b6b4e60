use crate::bits::reference::{Pair, SIGN, Significand, negate_words, truncate};

/// A float to a 64-bit integer, truncated. What does not fit: int64 gives the least integer; uint64 gives 2^63 for NaN
/// and below -2^63, and 0 from 2^64.
pub(crate) fn encode_int64(parts: Significand, signed: bool) -> Pair {
    let fails_to_least = signed || parts.negative || parts.nan;
    let mut value = truncate(parts.exponent & 63, parts.high, parts.low);
    value = if parts.exponent < 0 { [0, 0] } else { value };
    value = if parts.negative { negate_words(value) } else { value };
    let fail = [0, if fails_to_least { SIGN } else { 0 }];
    if parts.exponent >= if fails_to_least { 63 } else { 64 } { fail } else { value }
}
