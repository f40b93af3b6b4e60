/// What `convert_eight` needs of a source of 16 bits and of the options.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Steps {
    /// Of each magnitude code from 1 on, the least source magnitude that gets it or a higher one.
    pub least: [u32; 7],
    /// The least source magnitude that is NaN; 0: there is none.
    pub least_nan: u32,
    /// NaN is zero with the other sign, not the largest number.
    pub nan_flip: bool,
}

/// Two codes of 16 bits in a word, floats or integers with or without sign: signs in bits 15 and 31, and magnitudes. From
/// 2^14 on, those of integers without sign are some magnitude there that leaves bit 15 free.
#[cfg(test)]
pub(crate) fn split_lanes(codes: u32, signed: Option<bool>) -> (u32, u32) {
    match signed {
        None => (codes, codes & 0x7fff_7fff),
        Some(true) => {
            let negative = (codes >> 15) & 0x0001_0001;
            let ones = (negative << 16).wrapping_sub(negative);
            (codes, (codes ^ ones) + negative)
        }
        Some(false) => (0, (codes & 0x7fff_7fff) | ((codes >> 1) & 0x4000_4000)),
    }
}

/// Bits 15 and 31: whether each of two magnitudes of at most 0x8000 is at least `step`.
#[cfg(test)]
pub(crate) fn reached(magnitudes: u32, step: u32) -> u32 {
    magnitudes + (0x8000 - step) * 0x0001_0001
}

/// Bits 15 and 31, moved down.
#[cfg(test)]
pub(crate) fn plane(bits: u32, down: u32) -> u32 {
    (bits >> down) & (0x8000_8000 >> down)
}

/// Two codes of 16 bits to FLOAT4E2M1: one rounding to nearest, ties to even. Each is `down` bits below the top of its
/// half.
#[cfg(test)]
pub(crate) fn lanes_to_float4(codes: u32, down: u32, signed: Option<bool>, to: &Steps) -> u32 {
    let (mut signs, magnitudes) = split_lanes(codes, signed);
    let step = |code: usize| reached(magnitudes, to.least[code - 1]);
    let nan = if to.least_nan == 0 { 0 } else { reached(magnitudes, to.least_nan) };
    signs = if to.nan_flip { signs ^ nan } else { signs & !nan };
    let four = step(4) ^ if to.nan_flip { nan } else { 0 };
    // The bits of a sum, by the parity of the steps that change them.
    let two = four ^ step(2) ^ step(6);
    let one = two ^ step(1) ^ step(3) ^ step(5) ^ step(7);
    plane(signs, down) | plane(four, down + 1) | plane(two, down + 2) | plane(one, down + 3)
}

/// Eight codes of 16 bits to FLOAT4E2M1.
#[cfg(test)]
pub(crate) fn convert_eight(codes: [u32; 4], signed: Option<bool>, to: &Steps) -> u32 {
    // In this order half of the codes lie where they go.
    let halves = codes.into_iter().zip([12, 4, 8, 0]).map(|(codes, down)| lanes_to_float4(codes, down, signed, to));
    let halves = halves.fold(0, |all, two| all | two);
    (halves & 0xf0f0_0f0f) | ((halves << 12) & 0x0f0f_0000) | ((halves >> 12) & 0x0000_f0f0)
}
