//! The twins: each WGSL fragment in `shaders/` again in Rust, same names, same meaning, integers only.
//!
//! Words are `u32`; 64-bit codes are two words, low first. A *hub* is a value as the bits of one word that
//! `encode_float` rounds from: binary32, a narrower float's own format, or the high word of a double **rounded to odd**:
//! cut towards zero, and the last bit set when anything was lost. Every float of at most 16 bits has significand bits to
//! spare there, so the one rounding that follows is as exact as from the full value.

use crate::format::FloatFormat;

/// A 64-bit code: low word, high word.
pub(crate) type Pair = [u32; 2];

const SIGN: u32 = 0x8000_0000;
const INFINITY: u32 = 0x7f80_0000;
const NAN: u32 = 0x7fc0_0000;

/// What `decode_float` needs of a signed format of at most 16 bits and of the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct DecodeFloat {
    pub bits: u32,
    pub man: u32,
    pub bias: u32,
    /// Largest magnitude code that is not NaN.
    pub top: u32,
    /// `top` is infinity.
    pub ieee: bool,
    /// The code of −0 is NaN.
    pub fnuz: bool,
    /// Subnormals are decoded. Without, a subnormal gives some number below the least normal one, which serves where
    /// all of them become zero.
    pub subnormals: bool,
}

impl DecodeFloat {
    pub(crate) fn new(format: &FloatFormat, needs_subnormals: bool) -> Self {
        Self {
            bits: format.bits(),
            man: format.man_bits,
            bias: format.bias,
            top: format.top() as u32,
            ieee: format.has_infinity(),
            fnuz: format.nan() == Some(format.sign_code()),
            // With binary32's bias the subnormals are binary32's own.
            subnormals: needs_subnormals && format.bias != 127,
        }
    }
}

/// What `encode_float` needs of a signed format of at most 16 bits and of the options.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct EncodeFloat {
    pub hub: Hub,
    pub bits: u32,
    pub man: u32,
    pub bias: u32,
    /// Code of the largest finite number.
    pub max: u32,
    /// Magnitude code for everything that rounds beyond `max`, ±∞ included.
    pub overflow: u32,
    /// Magnitude code for NaN; its sign bit is `(source sign & nan_keep) ^ nan_flip`.
    pub nan: u32,
    pub nan_keep: u32,
    pub nan_flip: u32,
    /// There is no −0.
    pub fnuz: bool,
}

/// The format that `encode_float` rounds from: IEEE's, or all numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Hub {
    pub bits: u32,
    pub man: u32,
    pub bias: u32,
    /// Largest magnitude code that is not NaN.
    pub top: u32,
}

impl Hub {
    pub(crate) fn new(format: &FloatFormat) -> Self {
        Self { bits: format.bits(), man: format.man_bits, bias: format.bias, top: format.top() as u32 }
    }

    pub(crate) const BINARY32: Self = Self { bits: 32, man: 23, bias: 127, top: INFINITY };
    /// A double's high word, rounded to odd.
    pub(crate) const DOUBLE_HEAD: Self = Self { bits: 32, man: 20, bias: 1023, top: 0x7ff0_0000 };
}

/// What `encode_scale` needs of the options.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct EncodeScale {
    /// Code for everything below 2^-127.
    pub low: u32,
    /// Code for everything above 2^127.
    pub high: u32,
    /// The only NaN.
    pub nan: u32,
    /// Added to the 23 fraction bits before they are cut.
    pub round: u32,
}

/// What `encode_int` needs of the destination and of the options; the source is a float.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct EncodeInt {
    /// Result where the value does not fit.
    pub fail: u32,
    /// uint32: fits while |t| < 2^63, and the low word is kept. Otherwise: while |t| < 2^31.
    pub wide: bool,
    /// Instead of wrapping: largest magnitudes allowed below and above zero.
    pub clamp: Option<(u32, u32)>,
}

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

// lib/round.wgsl

/// Shifts right by `shift` (1..=31), rounding to nearest, ties to even.
pub(crate) fn round_shift(word: u32, shift: u32) -> u32 {
    // ....LR.TTT  half an ulp less one, plus L, carries into L exactly when the cut part is above half, or half and L
    // odd
    word.wrapping_add((1 << (shift - 1)) - 1).wrapping_add((word >> shift) & 1) >> shift
}

// lib/normalize.wgsl

/// A 64-bit magnitude with its leading bit moved to the top: top word, next word, and the leading bit's place. Zero
/// gives a top word of 0.
pub(crate) fn normalize_words(low: u32, high: u32) -> (u32, u32, u32) {
    let tall = high != 0;
    let first = if tall { high } else { low };
    let second = if tall { low } else { 0 };
    let place = first.checked_ilog2().unwrap_or(!0);
    let shift = !place & 31;
    let top = (first << shift) | ((second >> 1) >> (31 - shift));
    (top, second << shift, if tall { place + 32 } else { place })
}

// decode/

/// Any byte but zero is true.
pub(crate) fn decode_bool(code: u32) -> u32 {
    (code != 0) as u32
}

/// Sign- or zero-extends a code of `bits` bits.
pub(crate) fn decode_int(code: u32, bits: u32, signed: bool) -> u32 {
    let shift = 32 - bits;
    if signed { ((code << shift) as i32 >> shift) as u32 } else { code << shift >> shift }
}

/// A signed float of at most 16 bits as binary32 bits, exactly; of NaN, sign and payload are kept.
pub(crate) fn decode_float(code: u32, from: &DecodeFloat) -> u32 {
    let sign_code = 1 << (from.bits - 1);
    let sign = (code & sign_code) << (32 - from.bits);
    let magnitude = code & (sign_code - 1);
    let mut value = (magnitude << (23 - from.man)).wrapping_add((127 - from.bias) << 23);
    if from.subnormals && magnitude < 1 << from.man {
        // A subnormal: its leading bit becomes the implicit one, which the addition carries into the exponent.
        let shift = magnitude.leading_zeros() & 31;
        let normal = ((magnitude << shift) >> 8).wrapping_add((158 - shift - from.bias - from.man) << 23);
        value = if magnitude == 0 { 0 } else { normal };
    }
    if from.ieee {
        // The top exponent stays the top exponent: ∞ and NaN alike.
        value = if magnitude >= from.top { value | INFINITY } else { value };
    } else if from.fnuz {
        value = if magnitude == 0 && sign != 0 { NAN } else { value };
    } else {
        value = if magnitude > from.top { NAN } else { value };
    }
    value | sign
}

/// An E8M0 code as binary32 bits: 2^(code - 127), code 0 being a binary32 subnormal.
pub(crate) fn decode_scale(code: u32, nan: u32) -> u32 {
    if code == nan {
        NAN
    } else if code == 0 {
        0x0040_0000
    } else {
        code << 23
    }
}

// hub/

/// binary64 to its head: the high word, rounded to odd.
pub(crate) fn double_head(code: Pair) -> u32 {
    let [low, high] = code;
    high | ((low != 0) as u32)
}

/// The magnitude of a 32-bit integer, and its sign bit.
pub(crate) fn split_int(value: u32, signed: bool) -> (u32, u32) {
    let sign = if signed { value & SIGN } else { 0 };
    (sign, if sign != 0 { value.wrapping_neg() } else { value })
}

/// Two's complement negation of two words.
pub(crate) fn negate_words(value: Pair) -> Pair {
    let [low, high] = value;
    [low.wrapping_neg(), (!high).wrapping_add((low == 0) as u32)]
}

/// The magnitude of a 64-bit integer, and its sign bit.
pub(crate) fn split_long(value: Pair, signed: bool) -> (u32, Pair) {
    let sign = if signed { value[1] & SIGN } else { 0 };
    if sign == 0 {
        return (sign, value);
    }
    (sign, negate_words(value))
}

// encode/

/// The hub to a signed float of at most 16 bits: one rounding to nearest, ties to even. The hub is binary32, a double's
/// head (rounded to odd), or a source's own format where the destination lies within it.
pub(crate) fn encode_float(hub: u32, to: &EncodeFloat) -> u32 {
    let sign_code = 1 << (to.hub.bits - 1);
    let magnitude = hub & (sign_code - 1);
    let down = to.hub.man - to.man;
    let mut code = if to.bias > to.hub.bias {
        // Every exponent field grows by one, and subnormals double; by two: twice.
        let mut value = magnitude + magnitude.min(1 << to.hub.man);
        if to.bias > to.hub.bias + 1 {
            value += value.min(1 << to.hub.man);
        }
        round_shift(value, down)
    } else if to.bias == to.hub.bias {
        round_shift(magnitude, down)
    } else if to.hub.man + to.man <= 28 {
        // The significand's leading bit at the top leaves room below for all that a subnormal's further shift moves down.
        let least = to.hub.bias - to.bias + 1;
        let exponent = magnitude >> to.hub.man;
        let significand = (hub << (31 - to.hub.man)) | SIGN;
        let shift = ((least + 1) as i32 - exponent as i32).clamp(1, to.man as i32 + 3) as u32;
        ((exponent.max(least) - least) << to.man) + round_shift(significand >> shift, 30 - to.man)
    } else {
        // Below the least normal number each exponent less shifts the significand, implicit bit included, once more.
        let exponent = magnitude >> to.hub.man;
        let least = to.hub.bias - to.bias + 1;
        let shift = ((down + least) as i32 - exponent as i32).clamp(down as i32, 31) as u32;
        let significand = (magnitude & ((1 << to.hub.man) - 1)) | (1 << to.hub.man);
        let kept = significand >> shift;
        // What was cut, at the top of a word; a tie counts as above half where the kept part is odd.
        let cut = (significand << (32 - shift)) | (kept & 1);
        ((exponent.max(least) - least) << to.man) + kept + ((cut > 0x8000_0000) as u32)
    };
    code = if code > to.max { to.overflow } else { code };
    let mut sign = (hub >> (to.hub.bits - to.bits)) & (1 << (to.bits - 1));
    if magnitude > to.hub.top {
        code = to.nan;
        sign = (sign & to.nan_keep) ^ to.nan_flip;
    }
    if to.fnuz && code == 0 {
        sign = 0;
    }
    code | sign
}

/// The hub to E8M0.
pub(crate) fn encode_scale(hub: u32, to: &EncodeScale) -> u32 {
    // 2^-127 is a binary32 subnormal: moved up, its exponent field is the code 0 and its fraction 23 bits again.
    let value = if hub < 0x0080_0000 { hub.wrapping_sub(0x0040_0000) << 1 } else { hub };
    let mut code = value.wrapping_add(to.round) >> 23;
    if hub > 0x7f00_0000 {
        code = to.high;
    }
    if !(0x0040_0000..SIGN).contains(&hub) {
        code = to.low;
    }
    if hub & !SIGN > INFINITY {
        code = to.nan;
    }
    code
}

/// An integer of up to 64 bits to a signed float of at most 16 bits: one rounding to nearest, ties to even. 1 is a
/// normal number of every format, so that no result is subnormal.
pub(crate) fn integer_to_float(sign: u32, low: u32, high: u32, to: &EncodeFloat) -> u32 {
    let (normal, rest, place) = normalize_words(low, high);
    let top = normal | ((rest != 0) as u32);
    // As in round_shift, without the leading bit, which makes room for the carry.
    let down = 31 - to.man;
    let fraction = top.wrapping_add(0x7fff_ffff + (1 << (down - 1))).wrapping_add((top >> down) & 1) >> down;
    let mut code = fraction.wrapping_add(place.wrapping_add(to.bias) << to.man);
    code = if code > to.max { to.overflow } else { code };
    code = if normal == 0 { 0 } else { code };
    code | (sign >> (32 - to.bits))
}

/// An integer of up to 64 bits to E8M0.
pub(crate) fn integer_to_scale(positive: bool, low: u32, high: u32, to: &EncodeScale) -> u32 {
    let (normal, rest, place) = normalize_words(low, high);
    let top = normal | ((rest != 0) as u32);
    // The rounding for the 31 bits after the leading one, which gives the carry its place.
    let round = (to.round << 8) | (to.round & 0xff);
    let code = place.wrapping_add(127).wrapping_add(top.wrapping_add(SIGN + round) >> 31);
    if positive { code } else { to.low }
}

/// float16 to E8M0.
pub(crate) fn half_to_scale(code: u32, to: &EncodeScale) -> u32 {
    let magnitude = code & 0x7fff;
    let normal = (magnitude + (to.round >> 13) + (112 << 10)) >> 10;
    // A subnormal is an integer times 2^-24; its leading bit goes to the top, and out.
    let place = magnitude.checked_ilog2().unwrap_or(!0);
    let fraction = magnitude << (!place & 31);
    let carry = fraction.wrapping_add(SIGN + ((to.round << 8) | (to.round & 0xff))) >> 31;
    let mut scale = if magnitude < 0x400 { place.wrapping_add(carry + 103) } else { normal };
    if code == 0x7c00 {
        scale = to.high;
    }
    if code.wrapping_sub(1) >= 0x7fff {
        scale = to.low;
    }
    if magnitude > 0x7c00 { to.nan } else { scale }
}

/// A double's head to E8M0.
pub(crate) fn head_to_scale(head: u32, to: &EncodeScale) -> u32 {
    let mut code = (head.wrapping_add(to.round >> 3) >> 20).wrapping_sub(896);
    if head > 0x47e0_0000 {
        code = to.high;
    }
    if (head as i32) < 0x3800_0000 {
        code = to.low;
    }
    if head & !SIGN > 0x7ff0_0000 { to.nan } else { code }
}

/// binary32 to binary32: NaN becomes the canonical one, sign kept.
pub(crate) fn canonical_nan(value: u32) -> u32 {
    if value & !SIGN > INFINITY { NAN | (value & SIGN) } else { value }
}

/// binary64 to binary32: one rounding to nearest, ties to even; NaN becomes the canonical one.
pub(crate) fn double_to_single(code: Pair) -> u32 {
    let [low, high] = code;
    let magnitude = high & !SIGN;
    let cut = ((magnitude.wrapping_sub(0x3800_0000)) << 3) | (low >> 29);
    let mut value = cut.wrapping_add(((low & 0x1fff_ffff) + 0x0fff_ffff + (cut & 1)) >> 29);
    if magnitude < 0x3810_0000 {
        // Three bits beyond the 24 and a sticky one, then the exponent's shift in one rounding.
        let significand = 0x0400_0000 | ((magnitude & 0x000f_ffff) << 6) | (low >> 26) | ((low << 6 != 0) as u32);
        value = round_shift(significand, (900 - (magnitude >> 20)).min(31));
    }
    if magnitude >= 0x47f0_0000 {
        value = if magnitude > 0x7ff0_0000 || (magnitude == 0x7ff0_0000 && low != 0) { NAN } else { INFINITY };
    }
    value | (high & SIGN)
}

/// An integer of up to 64 bits to binary32: one rounding to nearest, ties to even.
pub(crate) fn integer_to_single(sign: u32, low: u32, high: u32) -> u32 {
    let (top, rest, place) = normalize_words(low, high);
    let cut = top >> 8;
    let lost = (top & 0xff) | ((rest != 0) as u32);
    let value = cut.wrapping_add((lost + 0x7f + (cut & 1)) >> 8).wrapping_add(place.wrapping_add(126) << 23);
    (if top == 0 { 0 } else { value }) | sign
}

/// binary32 to binary64, exactly; NaN becomes the canonical one.
pub(crate) fn single_to_double(value: u32) -> Pair {
    let mut magnitude = value & !SIGN;
    let mut rebias = 0x3800_0000;
    if magnitude < 0x0080_0000 {
        // Subnormal: the leading bit moves to the implicit one's place, which adds one to the exponent.
        let shift = magnitude.leading_zeros().wrapping_sub(8) & 31;
        rebias = if magnitude == 0 { 0 } else { 0x3800_0000 - (shift << 20) };
        magnitude <<= shift;
    }
    let mut low = magnitude << 29;
    let mut high = (magnitude >> 3).wrapping_add(rebias);
    if magnitude >= INFINITY {
        low = 0;
        high = if magnitude > INFINITY { 0x7ff8_0000 } else { 0x7ff0_0000 };
    }
    [low, high | (value & SIGN)]
}

/// An integer of up to 64 bits to binary64: one rounding to nearest, ties to even.
pub(crate) fn integer_to_double(sign: u32, low: u32, high: u32) -> Pair {
    let (top, rest, place) = normalize_words(low, high);
    let cut = (top << 21) | (rest >> 11);
    let value = cut.wrapping_add(((rest & 0x7ff) + 0x3ff + (cut & 1)) >> 11);
    let carry = (value < cut) as u32;
    let head = (top >> 11).wrapping_add(carry).wrapping_add(place.wrapping_add(1022) << 20);
    if top == 0 { [0, sign] } else { [value, head | sign] }
}

/// A float taken apart for truncation: place of its leading bit (∞ and NaN: beyond every integer), then its significand
/// in two words with the leading bit at the top.
#[derive(Clone, Copy)]
pub(crate) struct Significand {
    pub negative: bool,
    pub nan: bool,
    pub place: i32,
    pub top: u32,
    pub rest: u32,
}

/// binary32 taken apart; below 1 the significand does not matter.
pub(crate) fn split_single(value: u32) -> Significand {
    let magnitude = value & !SIGN;
    Significand {
        negative: value >= SIGN,
        nan: magnitude > INFINITY,
        place: (magnitude >> 23) as i32 - 127,
        top: SIGN | (magnitude << 8),
        rest: 0,
    }
}

/// float16 taken apart; below 1 the significand does not matter.
pub(crate) fn split_half(code: u32) -> Significand {
    let magnitude = code & 0x7fff;
    Significand {
        negative: code & 0x8000 != 0,
        nan: magnitude > 0x7c00,
        place: if magnitude >= 0x7c00 { 64 } else { (magnitude >> 10) as i32 - 15 },
        top: SIGN | (magnitude << 21),
        rest: 0,
    }
}

/// binary64 taken apart; below 1 the significand does not matter.
pub(crate) fn split_double(code: Pair) -> Significand {
    let [low, high] = code;
    let magnitude = high & !SIGN;
    Significand {
        negative: high >= SIGN,
        nan: magnitude > 0x7ff0_0000 || (magnitude == 0x7ff0_0000 && low != 0),
        place: (magnitude >> 20) as i32 - 1023,
        top: SIGN | (magnitude << 11) | (low >> 21),
        rest: low << 11,
    }
}

/// The integer part of a float whose leading bit stands at `place` 0..=63, as two words.
pub(crate) fn truncate(place: i32, top: u32, rest: u32) -> Pair {
    let shift = (63 - place) as u32;
    let part = shift & 31;
    let low = (rest >> part) | ((top << 1) << (31 - part));
    let high = top >> part;
    if shift >= 32 { [high, 0] } else { [low, high] }
}

/// A float to an integer of at most 32 bits, truncated; what does not fit as `EncodeInt` says. Not masked.
pub(crate) fn encode_int(from: Significand, to: &EncodeInt) -> u32 {
    let Significand { negative, nan, place, top, rest } = from;
    let fits = if to.wide { place < 63 } else { place < 31 };
    let mut value = if to.wide {
        if place < 0 { 0 } else { truncate(place & 63, top, rest)[0] }
    } else if to.clamp.is_some() {
        // What does not fit gives much.
        (top >> 1) >> (30 - place).clamp(0, 31)
    } else {
        (top >> 1) >> ((30 - place) as u32).min(31)
    };
    if let Some((below, above)) = to.clamp {
        value = value.min(if negative { below } else { above });
        value = if nan { 0 } else { value };
    }
    value = if negative { value.wrapping_neg() } else { value };
    if to.clamp.is_none() && !fits {
        value = to.fail;
    }
    value
}

/// A float to a 64-bit integer, truncated. What does not fit: int64 gives the least integer; uint64 gives 2^63 for NaN
/// and below -2^63, and 0 from 2^64.
pub(crate) fn encode_long(from: Significand, signed: bool) -> Pair {
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

/// Whether float16 bits are a number other than ±0 (NaN included).
pub(crate) fn half_is_nonzero(code: u32) -> u32 {
    (code & 0x7fff != 0) as u32
}

/// Whether binary32 bits are a number other than ±0 (NaN included).
pub(crate) fn single_is_nonzero(value: u32) -> u32 {
    (value & !SIGN != 0) as u32
}

/// Whether binary64 bits are a number other than ±0 (NaN included).
pub(crate) fn double_is_nonzero(code: Pair) -> u32 {
    ((code[1] & !SIGN) | code[0] != 0) as u32
}

// encode/float4.wgsl, for kernels only

/// Two codes of 16 bits in a word, floats or integers with or without sign: signs in bits 15 and 31, and magnitudes. From
/// 2^14 on, those of integers without sign are some magnitude there that leaves bit 15 free.
#[cfg(test)]
pub(crate) fn split_halves(codes: u32, signed: Option<bool>) -> (u32, u32) {
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
pub(crate) fn halves_to_float4(codes: u32, down: u32, signed: Option<bool>, to: &Steps) -> u32 {
    let (mut signs, magnitudes) = split_halves(codes, signed);
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
    let halves = codes.into_iter().zip([12, 4, 8, 0]).map(|(codes, down)| halves_to_float4(codes, down, signed, to));
    let halves = halves.fold(0, |all, two| all | two);
    (halves & 0xf0f0_0f0f) | ((halves << 12) & 0x0f0f_0000) | ((halves >> 12) & 0x0000_f0f0)
}

/// ±∞ to ±max, every other code as it is.
pub(crate) fn clamp_infinity(code: u32, infinity: u32, bits: u32) -> u32 {
    let magnitude = code & ((1 << (bits - 1)) - 1);
    if magnitude == infinity { code - 1 } else { code }
}
