//! Ways to change bytes.

use crate::fields;
use support::random::Random;

/// Numbers at which something ends, as a dimension, a length, a code or an enumeration.
const NUMBERS: [u64; 24] = [
    0,
    1,
    2,
    3,
    7,
    8,
    15,
    16,
    28,
    29,
    127,
    128,
    255,
    256,
    65535,
    65536,
    (1 << 31) - 1,
    1 << 31,
    1 << 32,
    1 << 62,
    (1 << 63) - 1,
    1 << 63,
    u64::MAX - 1,
    u64::MAX,
];

/// Words of messages and literals, whole or nearly so.
const WORDS: [&str; 40] = [
    "Cast",
    "CastLike",
    "Identity",
    "Constant",
    "to",
    "saturate",
    "round_mode",
    "nearest",
    "down",
    "value",
    "x",
    "y",
    "value_ints",
    "value_strings",
    "location",
    "offset",
    "length",
    "checksum",
    "data.bin",
    "../data.bin",
    "ai.onnx",
    "FLOAT",
    "INT32",
    "inf",
    "-nan",
    "Infinity",
    "true",
    "FALSE",
    "e",
    "E-",
    ".",
    "-",
    "+",
    "0",
    "9",
    "00000000",
    "99999999",
    "e400",
    "5e-324",
    "\u{a0}",
];

/// Another number, not far from the old one or far out.
pub fn number(random: &mut Random, old: u64) -> u64 {
    match random.below(5) {
        0 => old.wrapping_add(1),
        1 => old.wrapping_sub(1),
        2 => old ^ 1 << random.below(64),
        3 => random.below(32) as u64,
        _ => *random.pick(&NUMBERS),
    }
}

/// Changes something, mostly little; `others` lend parts of theirs.
pub fn bytes(random: &mut Random, bytes: &mut Vec<u8>, others: &[Vec<u8>]) {
    let length = bytes.len();
    let range = random.range(length);
    match random.below(12) {
        0 if length > 0 => bytes[random.below(length)] ^= 1 << random.below(8),
        1 if length > 0 => bytes[random.below(length)] = random.next() as u8,
        // As if it were a length.
        2 if length > 0 => {
            let at = random.below(length);
            bytes[at] = bytes[at].wrapping_add(random.below(7) as u8).wrapping_sub(3);
        }
        3 => {
            let place = range.start..range.start + random.below(2).min(length - range.start);
            let number = *random.pick(&NUMBERS);
            bytes.splice(place, fields::varint(number));
        }
        4 => drop(bytes.drain(range)),
        5 => {
            let copy = bytes[range.clone()].to_vec();
            let most = if random.one_in(50) { 12 } else { 5 };
            let many = 1 << random.below(most);
            bytes.splice(range.end..range.end, copy.repeat(many));
        }
        6 => {
            let copy = bytes[range].to_vec();
            let at = random.below(length + 1);
            bytes.splice(at..at, copy);
        }
        7 | 8 => {
            let word = *random.pick(&WORDS);
            let place = if random.one_in(2) { range } else { range.start..range.start };
            bytes.splice(place, word.bytes());
        }
        9 => {
            let other = random.pick(others);
            let part = random.range(other.len());
            bytes.splice(range, other[part].iter().copied());
        }
        // The start of one and the end of another.
        10 => {
            let other = random.pick(others);
            bytes.truncate(range.start);
            bytes.extend(&other[random.below(other.len() + 1)..]);
        }
        _ => {
            let digit = b'0' + random.below(10) as u8;
            bytes.insert(range.start, digit);
        }
    }
}

/// One input made of another by some changes.
pub fn input(random: &mut Random, seed: &[u8], others: &[Vec<u8>], structured: bool) -> Vec<u8> {
    let mut input = seed.to_vec();
    loop {
        if structured && random.below(8) > 0 {
            fields::mutate(random, &mut input, others);
        } else {
            bytes(random, &mut input, others);
        }
        if random.below(3) == 0 {
            return input;
        }
    }
}
