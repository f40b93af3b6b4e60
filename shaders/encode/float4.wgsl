// float4.wgsl — eight codes of 16 bits to a float of 4 bits without special codes: one rounding to nearest, ties to even
// Such a float has eight magnitudes with the codes 0 to 7. The code of a source magnitude is the number of thresholds that
// it reaches, of seven: DST_LEAST[i] is the least source magnitude whose code is above i. A word holds two source codes in
// lanes of 16 bits, and both are compared at once: bit 15 of a lane is the answer, and the bits below it have no meaning.
// reads: SRC_SIGNED SRC_LEAST_NAN DST_LEAST DST_NAN_FLIP

// Two codes taken apart: their signs are in bits 15 and 31, their magnitudes in both lanes.
struct Lanes {
    signs: u32,
    magnitudes: u32,
}

fn split_lanes(codes: u32) -> Lanes {
    if (SRC_LEAST_NAN != 0u) {
        // Floats.
        return Lanes(codes, codes & 0x7fff7fffu);
    }
    if (SRC_SIGNED) {
        let negative = (codes >> 15u) & 0x00010001u;
        // Two's complement negation of the negative lanes: invert all bits and add one.
        let ones = (negative << 16u) - negative;
        return Lanes(codes, (codes ^ ones) + negative);
    }
    // A magnitude from 2^15 on becomes another magnitude from 2^14 on, which leaves bit 15 free. This changes no result,
    // since both reach every threshold.
    return Lanes(0u, (codes & 0x7fff7fffu) | ((codes >> 1u) & 0x40004000u));
}

// Bits 15 and 31 of the result say whether the magnitude of their lane is at least `least`.
fn reaches(magnitudes: u32, least: u32) -> u32 {
    // Bit 15 of a lane's sum is set if and only if the magnitude is at least `least`. Magnitudes are at most 0x8000 and
    // `least` is not 0, so no lane carries into the other.
    return magnitudes + (0x8000u - least) * 0x00010001u;
}

// Moves bits 15 and 31 down by `down` bits.
fn move_down(bits: u32, down: u32) -> u32 {
    return (bits >> down) & (0x80008000u >> down);
}

// Converts two codes. The top bit of each result is `down` bits below the top of its lane.
fn lanes_to_float4(codes: u32, down: u32) -> u32 {
    let lanes = split_lanes(codes);
    var signs = lanes.signs;
    // The result is the number of thresholds that are reached, in three bits. Thresholds are reached in order. Bit 2 is
    // therefore set from the fourth threshold on. Bit 1 changes at every second threshold and bit 0 at each one, so these
    // bits are the parity of the changes so far.
    var bit_2 = reaches(lanes.magnitudes, DST_LEAST[3]);
    if (SRC_LEAST_NAN != 0u) {
        let nan = reaches(lanes.magnitudes, SRC_LEAST_NAN);
        if (DST_NAN_FLIP != 0u) {
            // NaN reaches every threshold, which makes all its bits ones. The other two bits follow from bit 2, so
            // inverting bit 2 makes all of them 0.
            bit_2 = bit_2 ^ nan;
            signs = signs ^ nan;
        } else {
            signs = signs & ~nan;
        }
    }
    let bit_1 = bit_2 ^ reaches(lanes.magnitudes, DST_LEAST[1]) ^ reaches(lanes.magnitudes, DST_LEAST[5]);
    let odd = bit_1 ^ reaches(lanes.magnitudes, DST_LEAST[0]) ^ reaches(lanes.magnitudes, DST_LEAST[2]);
    let bit_0 = odd ^ reaches(lanes.magnitudes, DST_LEAST[4]) ^ reaches(lanes.magnitudes, DST_LEAST[6]);
    return move_down(signs, down) | move_down(bit_2, down + 1u) | move_down(bit_1, down + 2u) | move_down(bit_0, down + 3u);
}

fn convert_eight(codes: vec4<u32>) -> u32 {
    // Each word has an even code in its low lane and the next code in its high lane. Moved down like this, half of the
    // results are in their final places, and the others are 12 bits away from them.
    let even = lanes_to_float4(codes.x, 12u) | lanes_to_float4(codes.z, 8u);
    let all = even | lanes_to_float4(codes.y, 4u) | lanes_to_float4(codes.w, 0u);
    return (all & 0xf0f00f0fu) | ((all << 12u) & 0x0f0f0000u) | ((all >> 12u) & 0x0000f0f0u);
}
