use crate::reference::{INFINITY, Pair, SIGN};

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
pub(crate) fn split_f32(value: u32) -> Significand {
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
pub(crate) fn split_f16(code: u32) -> Significand {
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
pub(crate) fn split_f64(code: Pair) -> Significand {
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
