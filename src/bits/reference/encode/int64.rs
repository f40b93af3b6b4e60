use crate::bits::reference::{Pair, SIGN, Significand, negate_words, truncate};

/// Truncates a float to a 64-bit integer. A value that does not fit gives the least integer in int64. In uint64, NaN
/// and values below -2^63 give 2^63, and values from 2^64 on give 0.
pub(crate) fn encode_int64(parts: Significand, signed: bool) -> Pair {
    let fails_to_least = signed || parts.negative || parts.nan;
    let mut value = truncate(parts.exponent & 63, parts.high, parts.low);
    value = if parts.exponent < 0 { [0, 0] } else { value };
    value = if parts.negative { negate_words(value) } else { value };
    let fail = [0, if fails_to_least { SIGN } else { 0 }];
    if parts.exponent >= if fails_to_least { 63 } else { 64 } { fail } else { value }
}
