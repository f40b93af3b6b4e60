//! Products in registers: 32 elements at a time are decoded to FLOAT, multiplied by the scales of their blocks and
//! encoded, with AVX2 or AVX-512.

mod avx2;
mod avx512;
mod decode;
mod piece;
mod steps;

use super::ProductLoop;
use super::pieces::{GRANULE, Pieces, RegisterFactors};
use super::scales::{Rows, Scales};
use crate::cpu::code_cast::{CodeBits, CodeCast};
use crate::cpu::codes::F32_NAN;
use crate::cpu::count::Losses;
use crate::cpu::lanes::Lanes;
use crate::cpu::non_temporal::Fence;
use crate::cpu::sink::convert_to_f16::ConvertToF16;
use crate::cpu::sink::{RoundToBytes, Rounding};
use crate::types::conversion::Encode;
use crate::types::element::Kind;
use decode::{Decode, Float8, Int8, Nibbles};
use piece::Piece;
use steps::{Make, Steps};

/// The elements that are multiplied at a time.
const STEP: usize = 2 * GRANULE;

/// The values of `TO`: the destination types.
const F32: usize = 0;
const F16: usize = 1;
const BF16: usize = 2;

/// The canonical NaN of BFLOAT16.
const BF16_NAN: u16 = (F32_NAN >> 16) as u16;

/// The instructions of products.
pub(super) trait ProductLanes: Lanes {
    /// [`STEP`] numbers in binary32: in the order of the elements, or, in pairs, those at even places apart from those at
    /// odd ones.
    type Numbers: Copy;
    /// [`STEP`] codes of 16 or 32 bits in the order of the elements.
    type Codes: Copy;
    /// The codes of 16 products.
    type Entries: Copy;
    /// Whether codes of 32 bits can be looked up.
    const LOOKS_UP_F32: bool;
    /// Whether [`joins`](Self::joins) can be true if results are not stored past the caches.
    const JOINS_IN_CACHES: bool;

    fn int8<const SIGNED: bool>(self, bytes: &[u8]) -> Self::Numbers;
    /// The numbers of packed codes, in pairs.
    fn nibbles(self, table: &Nibbles, bytes: &[u8]) -> Self::Numbers;
    /// In pairs.
    fn float8(self, format: Float8, bytes: &[u8]) -> Self::Numbers;

    /// The codes of the products of numbers.
    fn entries<const TO: usize>(self, numbers: &[u32; 16], zero_point: Option<f32>, scale: f32) -> Self::Entries;
    /// The entries of packed codes of 4 bits.
    fn look_up<const TO: usize>(self, entries: Self::Entries, bytes: &[u8]) -> Self::Codes;
    /// The products in BFLOAT16 of floats of 8 bits with 3 bits of significand, by those of the codes from 0 to 15.
    fn look_up_float8(self, entries: Self::Entries, bytes: &[u8]) -> Self::Codes;

    /// The numbers of two granules, one of each.
    fn granules(self, pairs: bool, granules: &[f32; 2]) -> Self::Numbers;
    fn subtract(self, a: Self::Numbers, b: Self::Numbers) -> Self::Numbers;
    fn multiply(self, a: Self::Numbers, b: Self::Numbers) -> Self::Numbers;

    /// Encodes to the type `TO`. NaNs are canonical.
    fn encode<const TO: usize>(self, pairs: bool, numbers: Self::Numbers) -> Self::Codes;
    fn write<const TO: usize>(self, codes: Self::Codes, bytes: &mut [u8]);
    /// Whether [`write_joined`](Self::write_joined) serves for a destination, and is faster than a store for each step.
    fn joins<const TO: usize>(self, destination: &[u8], is_past_caches: bool) -> bool;
    /// Writes codes in whole lines, past the caches if `PAST_CACHES`. Then the caller holds a fence.
    fn write_joined<const TO: usize, const PAST_CACHES: bool>(self, codes: impl Make<Self>, destination: &mut [u8]);
}

/// Casts the elements of a piece.
trait Loop: Send + Sync {
    fn convert(&self, piece: &Piece<'_>, source: &[u8], destination: &mut [u8], is_past_caches: bool);
}

/// The loop of a cast.
struct Products<L> {
    l: L,
    /// What scales are multiplied by.
    factor: f32,
    /// The bits of an element of the source and of the destination.
    bits: CodeBits,
    steps: Box<dyn Loop>,
}

/// The loop of a cast to FLOAT and one from FLOAT; `None` if there is none.
pub(super) fn new<L: ProductLanes + 'static>(
    l: L,
    scales: &Scales<'_>,
    rows: &Rows,
    [decode, encode]: [&CodeCast; 2],
) -> Option<Box<dyn ProductLoop>> {
    let to = To::new(encode).filter(|_| rows.begin_at_multiples_of(GRANULE))?;
    let bits = CodeBits([decode.bits()[0], encode.bits()[1]]);
    let (factor, steps) = match (decode.conversion.from.kind(), bits.0[0], decode.conversion.from.code_bits()) {
        (Kind::Int { signed }, 8, 8) => {
            (1.0, with_bool!(SIGNED = signed, steps_of::<L, _, true>(l, Int8::<SIGNED>, to)))
        }
        (_, 4, 4) => {
            let (nibbles, has_zero_points) = (Nibbles::new(decode), !scales.zero_points.is_empty());
            (1.0, with_bool!(HAS_ZERO_POINTS = has_zero_points, steps_of::<L, _, HAS_ZERO_POINTS>(l, nibbles, to)))
        }
        // Floats have the zero point 0.
        (Kind::Float(format), 8, 8) => {
            let float8 = Float8::new(&format, decode)?;
            (float8.factor, steps_of::<L, _, false>(l, float8, to))
        }
        _ => return None,
    };
    Some(Box::new(Products { l, factor, bits, steps }))
}

fn steps_of<L: ProductLanes + 'static, D: Decode<L> + 'static, const HAS_ZERO_POINTS: bool>(
    l: L,
    decode: D,
    to: To,
) -> Box<dyn Loop> {
    with_number!(TO = to, To { F32 F32, F16 F16, Bf16 BF16 }, {
        Box::new(Steps::<L, D, HAS_ZERO_POINTS, TO> { l, decode })
    })
}

impl<L: ProductLanes> ProductLoop for Products<L> {
    fn convert(
        &self,
        pieces: &Pieces<'_>,
        factors: &mut RegisterFactors,
        losses_of: &dyn Fn([f32; 2]) -> Losses,
        at: usize,
        source: &[u8],
        destination: &mut [u8],
    ) -> Losses {
        let elements = destination.len() * 8 / self.bits.0[1] as usize;
        let piece = Piece::new(self.l, pieces.scales, &pieces.rows, self.factor, [at, elements], factors);
        let Some(piece) = piece else { return Losses::Unknown };
        let losses = losses_of(piece.magnitudes.map(|code| f32::from_bits(code) / self.factor));
        // Results that are counted are read again.
        let past_caches = pieces.past_caches && losses == Losses::None;
        if losses != Losses::Unknown {
            // Nothing else sees the destination before the fence, because it is borrowed.
            let _fence = past_caches.then(|| Fence);
            self.steps.convert(&piece, source, destination, past_caches);
        }
        losses
    }
}

/// The destination type of a loop.
#[derive(Clone, Copy)]
enum To {
    F32,
    F16,
    Bf16,
}

impl To {
    /// `None` for other types.
    fn new(encode: &CodeCast) -> Option<Self> {
        match encode.conversion.encode {
            Encode::Copy => Some(Self::F32),
            Encode::Float(to) if ConvertToF16::new(&to).is_some() => Some(Self::F16),
            Encode::Float(to) => match Rounding::new(&to)? {
                Rounding::ToBytes(RoundToBytes::Shift16(_)) => Some(Self::Bf16),
                _ => None,
            },
            _ => None,
        }
    }
}
