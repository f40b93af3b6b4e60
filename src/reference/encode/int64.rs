use crate::reference::{Pair, SIGN, Significand, negate_words, truncate};

/// A float to a 64-bit integer, truncated. What does not fit: int64 gives the least integer; uint64 gives 2^63 for NaN
/// and below -2^63, and 0 from 2^64.
pub(crate) fn encode_int64(from: Significand, signed: bool) -> Pair {
    let Significand { negative, nan, place, top, rest } = from;
    let least = signed || negative || nan;
    let mut value = truncate(place & 63, top, rest);
    if place < 0 {
        value = [0, 0];
    }
    if negative {
        value = negate_words(value);
    }
    if place >= if least { 63 } else { 64 } {
        value = [0, if least { SIGN } else { 0 }];
    }
    value
}
