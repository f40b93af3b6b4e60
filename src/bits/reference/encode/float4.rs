use crate::bits::reference::Thresholds;

/// Two codes as signs in bits 15 and 31, and magnitudes in both lanes.
#[derive(Clone, Copy)]
pub(crate) struct Lanes {
    pub signs: u32,
    pub magnitudes: u32,
}

/// Two codes of 16 bits in a word, floats or integers with or without sign.
pub(crate) fn split_lanes(codes: u32, signed: bool, to: &Thresholds) -> Lanes {
    if to.least_nan != 0 {
        // Floats.
        return Lanes { signs: codes, magnitudes: codes & 0x7fff_7fff };
    }
    if signed {
        let negative = (codes >> 15) & 0x0001_0001;
        // Two's complement negation of the negative lanes: all bits inverted, and one more.
        let ones = (negative << 16).wrapping_sub(negative);
        return Lanes { signs: codes, magnitudes: (codes ^ ones) + negative };
    }
    // Magnitudes from 2^15 on become some magnitude from 2^14 on, which leaves bit 15 free; both reach every threshold.
    Lanes { signs: 0, magnitudes: (codes & 0x7fff_7fff) | ((codes >> 1) & 0x4000_4000) }
}

/// Bits 15 and 31: whether a magnitude is at least `least`.
pub(crate) fn reaches(magnitudes: u32, least: u32) -> u32 {
    // The sum has bit 15 from `least` on. Magnitudes are at most 0x8000 and `least` is not 0, so that no lane carries
    // into the other.
    magnitudes + (0x8000 - least) * 0x0001_0001
}

/// Bits 15 and 31, moved down.
pub(crate) fn move_down(bits: u32, down: u32) -> u32 {
    (bits >> down) & (0x8000_8000 >> down)
}

/// Two codes to two, each with its top bit `down` bits below the top of its lane.
pub(crate) fn lanes_to_float4(codes: u32, down: u32, signed: bool, to: &Thresholds) -> u32 {
    let Lanes { mut signs, magnitudes } = split_lanes(codes, signed, to);
    // The three bits of the number of thresholds that are reached. They are reached in order, so that bit 2 is whether
    // the fourth is; each other bit changes at every second or at every threshold, and its parity is the sum of those
    // changes.
    let mut bit_2 = reaches(magnitudes, to.least[3]);
    if to.least_nan != 0 {
        let nan = reaches(magnitudes, to.least_nan);
        if to.nan_flip {
            // NaN reaches every threshold: its bits are all ones. Inverting bit 2, from which the other two follow,
            // makes them 0.
            bit_2 ^= nan;
            signs ^= nan;
        } else {
            signs &= !nan;
        }
    }
    let bit_1 = bit_2 ^ reaches(magnitudes, to.least[1]) ^ reaches(magnitudes, to.least[5]);
    let odd = bit_1 ^ reaches(magnitudes, to.least[0]) ^ reaches(magnitudes, to.least[2]);
    let bit_0 = odd ^ reaches(magnitudes, to.least[4]) ^ reaches(magnitudes, to.least[6]);
    move_down(signs, down) | move_down(bit_2, down + 1) | move_down(bit_1, down + 2) | move_down(bit_0, down + 3)
}

/// Eight codes of 16 bits, two a word, to a float of 4 bits that is finite throughout: one rounding to nearest, ties to
/// even.
pub(crate) fn convert_eight(codes: [u32; 4], signed: bool, to: &Thresholds) -> u32 {
    // Of the eight codes in order, a word has an even one in its low lane and the next one in its high lane. Moved down
    // so, half of them are where they go, and the others 12 bits beside it.
    let even = lanes_to_float4(codes[0], 12, signed, to) | lanes_to_float4(codes[2], 8, signed, to);
    let all = even | lanes_to_float4(codes[1], 4, signed, to) | lanes_to_float4(codes[3], 0, signed, to);
    (all & 0xf0f0_0f0f) | ((all << 12) & 0x0f0f_0000) | ((all >> 12) & 0x0000_f0f0)
}
