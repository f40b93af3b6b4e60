// float4.wgsl — eight codes of 16 bits to a float of 4 bits that is finite throughout: one rounding to nearest, ties to
// even
// Such a float has eight magnitudes, whose codes are 0 to 7. The code of a source magnitude is the number of thresholds, of
// seven, that it reaches: DST_LEAST[i] is the least source magnitude whose code is above i. A word holds two source codes,
// in lanes of 16 bits, and both are compared at once: bit 15 of a lane is the answer, the bits below it have no meaning.
// reads: SRC_SIGNED SRC_LEAST_NAN DST_LEAST DST_NAN_FLIP

// Two codes as signs in bits 15 and 31, and magnitudes in both lanes.
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
        // Two's complement negation of the negative lanes: all bits inverted, and one more.
        let ones = (negative << 16u) - negative;
        return Lanes(codes, (codes ^ ones) + negative);
    }
    // Magnitudes from 2^15 on become some magnitude from 2^14 on, which leaves bit 15 free; both reach every threshold.
    return Lanes(0u, (codes & 0x7fff7fffu) | ((codes >> 1u) & 0x40004000u));
}

// Bits 15 and 31: whether a magnitude is at least `least`.
fn reaches(magnitudes: u32, least: u32) -> u32 {
    // The sum has bit 15 from `least` on. Magnitudes are at most 0x8000 and `least` is not 0, so that no lane carries into
    // the other.
    return magnitudes + (0x8000u - least) * 0x00010001u;
}

// Bits 15 and 31, moved down.
fn move_down(bits: u32, down: u32) -> u32 {
    return (bits >> down) & (0x80008000u >> down);
}

// Two codes to two, each with its top bit `down` bits below the top of its lane.
fn lanes_to_float4(codes: u32, down: u32) -> u32 {
    let lanes = split_lanes(codes);
    var signs = lanes.signs;
    // The three bits of the number of thresholds that are reached. They are reached in order, so that bit 2 is whether the
    // fourth is; each other bit changes at every second or at every threshold, and its parity is the sum of those changes.
    var bit_2 = reaches(lanes.magnitudes, DST_LEAST[3]);
    if (SRC_LEAST_NAN != 0u) {
        let nan = reaches(lanes.magnitudes, SRC_LEAST_NAN);
        if (DST_NAN_FLIP != 0u) {
            // NaN reaches every threshold: its bits are all ones. Inverting bit 2, from which the other two follow, makes
            // them 0.
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
    // Of the eight codes in order, a word has an even one in its low lane and the next one in its high lane. Moved down so,
    // half of them are where they go, and the others 12 bits beside it.
    let even = lanes_to_float4(codes.x, 12u) | lanes_to_float4(codes.z, 8u);
    let all = even | lanes_to_float4(codes.y, 4u) | lanes_to_float4(codes.w, 0u);
    return (all & 0xf0f00f0fu) | ((all << 12u) & 0x0f0f0000u) | ((all >> 12u) & 0x0000f0f0u);
}
