use crate::bits::reference::Thresholds;

/// Two codes taken apart: their signs are in bits 15 and 31, their magnitudes in both lanes.
#[derive(Clone, Copy)]
pub(crate) struct Lanes {
    pub signs: u32,
    pub magnitudes: u32,
}

/// Splits the two 16-bit codes of a word, which are floats, signed integers or unsigned integers.
pub(crate) fn split_lanes(codes: u32, signed: bool, to: &Thresholds) -> Lanes {
    if to.least_nan != 0 {
        // Floats.
        return Lanes { signs: codes, magnitudes: codes & 0x7fff_7fff };
    }
    if signed {
        let negative = (codes >> 15) & 0x0001_0001;
        // Two's complement negation of the negative lanes: invert all bits and add one.
        let ones = (negative << 16).wrapping_sub(negative);
        return Lanes { signs: codes, magnitudes: (codes ^ ones) + negative };
    }
    // A magnitude from 2^15 on becomes another magnitude from 2^14 on, which leaves bit 15 free. This changes no
    // result, since both reach every threshold.
    Lanes { signs: 0, magnitudes: (codes & 0x7fff_7fff) | ((codes >> 1) & 0x4000_4000) }
}

/// Bits 15 and 31 of the result say whether the magnitude of their lane is at least `least`.
pub(crate) fn reaches(magnitudes: u32, least: u32) -> u32 {
    // Bit 15 of a lane's sum is set if and only if the magnitude is at least `least`. Magnitudes are at most 0x8000 and
    // `least` is not 0, so no lane carries into the other.
    magnitudes + (0x8000 - least) * 0x0001_0001
}

/// Moves bits 15 and 31 down by `down` bits.
pub(crate) fn move_down(bits: u32, down: u32) -> u32 {
    (bits >> down) & (0x8000_8000 >> down)
}

/// Converts two codes. The top bit of each result is `down` bits below the top of its lane.
pub(crate) fn lanes_to_float4(codes: u32, down: u32, signed: bool, to: &Thresholds) -> u32 {
    let Lanes { mut signs, magnitudes } = split_lanes(codes, signed, to);
    // The result is the number of thresholds that are reached, in three bits. Thresholds are reached in order. Bit 2 is
    // therefore set from the fourth threshold on. Bit 1 changes at every second threshold and bit 0 at each one, so
    // these bits are the parity of the changes so far.
    let mut bit_2 = reaches(magnitudes, to.least[3]);
    if to.least_nan != 0 {
        let nan = reaches(magnitudes, to.least_nan);
        if to.nan_flip {
            // NaN reaches every threshold, which makes all its bits ones. The other two bits follow from bit 2, so
            // inverting bit 2 makes all of them 0.
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

/// Converts eight 16-bit codes, two in each word, to a 4-bit float without special codes: one rounding to nearest, ties
/// to even.
pub(crate) fn convert_eight(codes: [u32; 4], signed: bool, to: &Thresholds) -> u32 {
    // Each word has an even code in its low lane and the next code in its high lane. Moved down like this, half of the
    // results are in their final places, and the others are 12 bits away from them.
    let even = lanes_to_float4(codes[0], 12, signed, to) | lanes_to_float4(codes[2], 8, signed, to);
    let all = even | lanes_to_float4(codes[1], 4, signed, to) | lanes_to_float4(codes[3], 0, signed, to);
    (all & 0xf0f0_0f0f) | ((all << 12) & 0x0f0f_0000) | ((all >> 12) & 0x0000_f0f0)
}
