// float.wgsl — a signed float of at most 16 bits, with a lower bias than binary32's, to its value, exactly
// reads: SRC_BITS SRC_MAN SRC_BIAS SRC_TOP SRC_IEEE SRC_FNUZ SRC_LEAST_NORMAL

// 1. The magnitude is read as if all of its codes were normal numbers: its exponent field 0 then stands for 2^-SRC_BIAS *
//    1.mmm, which is no subnormal of binary32.
// 2. A subnormal is 2^(1 - SRC_BIAS) * 0.mmm = 2 * normal - SRC_LEAST_NORMAL, which is less than `normal`. From the least
//    normal number on, the same difference is at least `normal`. So the lesser of the two is the number.
// 3. ∞ and NaN are set as bits. So is the sign, which is bit 31 of `sign_word`; the other bits of `sign_word` have no
//    meaning.
//
// Each step is exact, and no step takes or gives a subnormal, so no driver may round or flush anything. The sign of a zero,
// which a driver may ignore, is not taken from a float.
fn float_value(magnitude: u32, sign_word: u32) -> f32 {
    let normal = bitcast<f32>((magnitude << (23u - SRC_MAN)) + ((127u - SRC_BIAS) << 23u));
    var number = bitcast<u32>(min(normal, fma(normal, 2.0, -SRC_LEAST_NORMAL)));
    // Formats without special codes, and those whose NaN is the code of -0, have numbers up to the last magnitude.
    if (SRC_TOP != (1u << (SRC_BITS - 1u)) - 1u) {
        number = select(number, 0x7fc00000u, magnitude > SRC_TOP);
        if (SRC_IEEE) {
            number = select(number, 0x7f800000u, magnitude == SRC_TOP);
        }
    }
    // Some GPUs have an instruction for this.
    let value = insertBits(sign_word, number, 0u, 31u);
    if (SRC_FNUZ) {
        return bitcast<f32>(select(value, 0xffc00000u, value == 0x80000000u));
    }
    return bitcast<f32>(value);
}
