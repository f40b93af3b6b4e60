/// Sign- or zero-extends a code of `bits` bits.
pub(crate) fn decode_int(code: u32, bits: u32, signed: bool) -> u32 {
    let shift = 32 - bits;
    if signed { ((code << shift) as i32 >> shift) as u32 } else { code << shift >> shift }
}
