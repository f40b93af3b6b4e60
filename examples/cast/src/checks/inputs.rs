//! The inputs of an exhaustive check, in a fixed order. So the checksum of their casts is the same on every device.
//!
//! A source of at most 32 bits has all its codes as inputs, in ascending order. A wider source has too many codes. Its
//! inputs are all exponents (for an integer: all places of the leading bit) times significands near the boundaries of
//! roundings. The first bits of such a significand are those that a narrower type keeps. The others are zero, half of
//! the last kept place, all ones, or a neighbour of these.

use std::ops::Range;

use wgpu_cast::{ElementType, Kind};

use super::random::Random;

/// The number of patterns for the bits that are not kept.
const CUT: u64 = 6;

/// The inputs of one source.
#[derive(Clone, Copy, Debug)]
pub struct Inputs {
    bits: u32,
    wide: Option<Wide>,
}

/// How the inputs of a source of 64 bits are made.
#[derive(Clone, Copy, Debug)]
struct Wide {
    /// The bits of a float's significand; `None` for an integer.
    significand: Option<u32>,
    /// Up to this number of kept bits, every pattern of kept bits is an input.
    complete: u32,
    /// The number of patterns for each larger number of kept bits.
    samples: u64,
}

impl Inputs {
    /// The inputs of a numeric type.
    pub fn of(from: ElementType) -> Self {
        let bits = from.bits().expect("a numeric type");
        let wide = (bits > 32).then(|| match from.kind() {
            Kind::Float(format) => Wide { significand: Some(format.man_bits), complete: 10, samples: 8 },
            _ => Wide { significand: None, complete: 15, samples: 64 },
        });
        Self { bits, wide }
    }

    /// The number of inputs.
    pub fn count(&self) -> u64 {
        match self.wide {
            None => 1 << self.bits,
            Some(wide) => wide.leads() * wide.kept() * CUT,
        }
    }

    /// The input at `index`.
    pub fn code(&self, index: u64) -> u64 {
        self.wide.map_or(index, |wide| wide.code(index))
    }

    /// The packed inputs of a range that starts and ends at whole bytes.
    pub fn packed(&self, range: Range<u64>) -> Vec<u8> {
        let size = (range.end - range.start) * u64::from(self.bits) / 8;
        let mut bytes = vec![0; size as usize];
        match self.bits {
            64 => {
                for (code, index) in bytes.chunks_exact_mut(8).zip(range) {
                    code.copy_from_slice(&self.code(index).to_le_bytes());
                }
            }
            32 => {
                for (code, index) in bytes.chunks_exact_mut(4).zip(range) {
                    code.copy_from_slice(&(index as u32).to_le_bytes());
                }
            }
            bits => {
                let (mut buffer, mut filled) = (0, 0);
                let mut bytes = bytes.iter_mut();
                for index in range {
                    buffer |= index << filled;
                    filled += bits;
                    while filled >= 8 {
                        *bytes.next().expect("as many bytes as the codes have") = buffer as u8;
                        (buffer, filled) = (buffer >> 8, filled - 8);
                    }
                }
            }
        }
        bytes
    }
}

impl Wide {
    /// The number of exponents, or of places of the leading bit, with both signs.
    fn leads(self) -> u64 {
        self.significand.map_or(2 * 65, |significand| 1 << (64 - significand))
    }

    /// The number of bits after the leading one.
    fn width(self) -> u32 {
        self.significand.unwrap_or(63)
    }

    /// The number of pairs of a number of kept bits and a pattern of them.
    fn kept(self) -> u64 {
        self.complete_patterns() + u64::from(self.width() - self.complete) * self.samples
    }

    fn complete_patterns(self) -> u64 {
        (2 << self.complete) - 1
    }

    fn code(self, index: u64) -> u64 {
        let (rest, cut) = (index / CUT, index % CUT);
        let (lead, kept) = (rest / self.kept(), rest % self.kept());
        match self.significand {
            Some(width) => lead << width | self.significand(width, kept, cut, index),
            None => {
                // Without a leading bit the number is zero.
                let magnitude = (lead / 2)
                    .checked_sub(1)
                    .map_or(0, |width| 1 << width | self.significand(width as u32, kept, cut, index));
                if lead % 2 == 0 { magnitude } else { magnitude.wrapping_neg() }
            }
        }
    }

    /// The `width` bits after the leading one.
    fn significand(self, width: u32, kept: u64, cut: u64, seed: u64) -> u64 {
        let (bits, pattern) = match kept.checked_sub(self.complete_patterns()) {
            None => {
                let bits = (kept + 1).ilog2();
                (bits, kept + 1 - (1 << bits))
            }
            Some(sample) => (self.complete + 1 + (sample / self.samples) as u32, telling(sample % self.samples, seed)),
        };
        let bits = bits.min(width);
        let left = width - bits;
        let half = (1 << left) >> 1;
        let low = [0, 1, half - (half > 0) as u64, half, half + 1, u64::MAX][cut as usize];
        (pattern & mask(bits)) << left | low & mask(left)
    }
}

/// A pattern with no bit set, all, only the last one, all but the last one, or any.
fn telling(sample: u64, seed: u64) -> u64 {
    match sample {
        0 => 0,
        1 => u64::MAX,
        2 => 1,
        3 => u64::MAX - 1,
        _ => Random::new(seed).next(),
    }
}

fn mask(bits: u32) -> u64 {
    (1 << bits) - 1
}
