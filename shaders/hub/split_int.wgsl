// split_int.wgsl — the sign and the magnitude of an integer of at most 32 bits
// reads: SRC_SIGNED
//:use lib/integer

fn split_int(value: u32) -> Integer {
    let sign = select(0u, value & 0x80000000u, SRC_SIGNED);
    // The magnitude is the greater of a number and its negative. -2^31 is its own negative, and as a word without sign also
    // its own magnitude.
    let negated = bitcast<i32>(0u - value);
    let magnitude = select(value, bitcast<u32>(max(bitcast<i32>(value), negated)), SRC_SIGNED);
    return Integer(sign, magnitude, 0u);
}
