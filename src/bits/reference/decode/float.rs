use crate::bits::reference::{DecodeFloat, INFINITY, NAN, first_leading_bit};

/// A signed float of at most 16 bits as binary32 bits, exactly. A NaN keeps its sign and payload.
pub(crate) fn decode_float(code: u32, from: &DecodeFloat) -> u32 {
    if from.bias == 127 {
        // The code is the upper bits of a binary32.
        return code << (32 - from.bits);
    }
    let sign_code = 1 << (from.bits - 1);
    let sign = (code & sign_code) << (32 - from.bits);
    let magnitude = code & (sign_code - 1);
    let mut value = (magnitude << (23 - from.man)).wrapping_add((127 - from.bias) << 23);
    if from.subnormals {
        // The leading bit of a subnormal becomes the implicit bit, so the addition below carries it into the exponent
        // field. A normal number's exponent field is in the magnitude already.
        let leading = (first_leading_bit(magnitude) as i32).min(from.man as i32);
        let exponent = (leading + (127 - from.bias as i32 - from.man as i32)) as u32;
        value = (magnitude << (23 - leading) as u32).wrapping_add(exponent << 23);
        value = if magnitude == 0 { 0 } else { value };
    }
    if from.ieee {
        // The top exponent of the source becomes the top exponent of binary32, for ∞ and NaN alike.
        value = if magnitude >= from.top { value | INFINITY } else { value };
    } else if from.fnuz {
        value = if magnitude == 0 && sign != 0 { NAN } else { value };
    } else {
        value = if magnitude > from.top { NAN } else { value };
    }
    value | sign
}
