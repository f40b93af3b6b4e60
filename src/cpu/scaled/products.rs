//! Products in registers: 32 elements at a time are decoded to FLOAT, multiplied by the scales of their blocks and
//! encoded, with AVX2 or AVX-512.

mod avx2;
mod avx512;
mod granules;

use super::ProductLoop;
use super::scales::{Rows, Scales};
use crate::bits::format::{FloatFormat, Specials};
use crate::cpu::code_cast::CodeCast;
use crate::cpu::codes::{F16_SIGN, F32_BIAS, F32_INFINITY, F32_MAN};
use crate::cpu::lanes::Lanes;
use crate::cpu::sink::convert_to_f16::ConvertToF16;
use crate::cpu::sink::{RoundToBytes, Rounding};
use crate::types::conversion::Encode;
use crate::types::element::{BINARY16, Kind};
use granules::{GRANULE, Granules};

/// The elements that are multiplied at a time.
const STEP: usize = 2 * GRANULE;

/// The values of `TO`: the destination types.
const F32: usize = 0;
const F16: usize = 1;
const BF16: usize = 2;

/// The instructions of products.
pub(super) trait ProductLanes: Copy + Send + Sync {
    /// [`STEP`] numbers in binary32: in the order of the elements, or, in pairs, those at even places apart from those at
    /// odd ones.
    type Numbers: Copy;
    /// [`STEP`] codes of 16 or 32 bits in the order of the elements.
    type Codes: Copy;
    /// The codes of 16 products.
    type Entries: Copy;
    /// Whether codes of 32 bits can be looked up.
    const LOOKS_UP_F32: bool;

    /// Runs `work`, a closure that is always inlined.
    fn run(self, work: impl FnOnce());

    fn int8<const SIGNED: bool>(self, bytes: &[u8]) -> Self::Numbers;
    /// The numbers of packed codes, in pairs.
    fn nibbles(self, table: &Nibbles, bytes: &[u8]) -> Self::Numbers;
    /// In pairs.
    fn float8(self, format: Float8, bytes: &[u8]) -> Self::Numbers;

    /// The codes of the products of all numbers in `table`.
    fn entries<const TO: usize>(self, table: &Nibbles, zero_point: Option<f32>, scale: f32) -> Self::Entries;
    /// The entries of packed codes.
    fn look_up<const TO: usize>(self, entries: Self::Entries, bytes: &[u8]) -> Self::Codes;

    /// The numbers of two granules, one of each.
    fn granules(self, pairs: bool, granules: &[f32]) -> Self::Numbers;
    fn subtract(self, a: Self::Numbers, b: Self::Numbers) -> Self::Numbers;
    fn multiply(self, a: Self::Numbers, b: Self::Numbers) -> Self::Numbers;

    /// Encodes to the type `TO`. NaNs are canonical.
    fn encode<const TO: usize>(self, pairs: bool, numbers: Self::Numbers) -> Self::Codes;
    fn write<const TO: usize>(self, codes: Self::Codes, bytes: &mut [u8]);
    /// Writes the codes of a number of steps.
    fn write_all<const TO: usize>(self, steps: usize, codes: impl FnMut(usize) -> Self::Codes, destination: &mut [u8]);
}

/// The loop of a cast to FLOAT and one from FLOAT; `None` if there is none.
pub(super) fn new<L: ProductLanes + 'static>(
    l: L,
    scales: &Scales<'_>,
    rows: &Rows,
    [decode, encode]: [&CodeCast; 2],
) -> Option<Box<dyn ProductLoop>> {
    let to = To::new(encode).filter(|_| rows.begin_at_multiples_of(GRANULE))?;
    let has_zero_points = !scales.zero_points.is_empty();
    let [from_bits, _] = decode.bits();
    match (decode.conversion.from.kind(), from_bits, decode.conversion.from.code_bits()) {
        (Kind::Int { signed }, 8, 8) => Some(with_bool!(
            SIGNED = signed,
            with_bool!(HAS_ZERO_POINTS = has_zero_points, {
                steps::<L, Int8<SIGNED>, HAS_ZERO_POINTS>(l, Int8, to, 1.0)
            })
        )),
        (_, 4, 4) => {
            let nibbles = Nibbles::new(decode);
            Some(with_bool!(HAS_ZERO_POINTS = has_zero_points, {
                steps::<L, Nibbles, HAS_ZERO_POINTS>(l, nibbles, to, 1.0)
            }))
        }
        // Floats have the zero point 0.
        (Kind::Float(format), 8, 8) => {
            let float8 = Float8::new(&format)?;
            Some(steps::<L, Float8, false>(l, float8, to, float8.factor))
        }
        _ => None,
    }
}

fn steps<L: ProductLanes + 'static, D: Decode<L> + 'static, const HAS_ZERO_POINTS: bool>(
    l: L,
    decode: D,
    to: To,
    factor: f32,
) -> Box<dyn ProductLoop> {
    with_number!(TO = to, To { F32 F32, F16 F16, Bf16 BF16 }, {
        Box::new(Steps::<L, D, HAS_ZERO_POINTS, TO> { l, decode, factor })
    })
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

/// Decodes elements, which are not infinite. NaNs become canonical ones, which products and roundings keep, together with their
/// signs.
trait Decode<L: ProductLanes>: Copy + Send + Sync {
    const BITS: usize;
    const PAIRS: bool = false;
    fn decode(self, l: L, bytes: &[u8]) -> L::Numbers;
    /// The codes of numbers that can be looked up.
    #[inline(always)]
    fn table(&self) -> Option<&Nibbles> {
        None
    }
}

#[derive(Clone, Copy)]
struct Int8<const SIGNED: bool>;

impl<L: ProductLanes, const SIGNED: bool> Decode<L> for Int8<SIGNED> {
    const BITS: usize = 8;

    #[inline(always)]
    fn decode(self, l: L, bytes: &[u8]) -> L::Numbers {
        l.int8::<SIGNED>(bytes)
    }
}

/// The numbers of packed codes of 4 bits. The upper halves of their codes in binary32 are enough.
#[derive(Clone, Copy)]
pub(super) struct Nibbles {
    numbers: [u32; 16],
    /// The low and the high bytes of the upper halves.
    upper_halves: [[u8; 16]; 2],
}

impl Nibbles {
    fn new(decode: &CodeCast) -> Self {
        let (mut numbers, mut high): ([u32; 16], _) = (std::array::from_fn(|code| code as u32), [0; 16]);
        decode.conversion.convert(&mut numbers, &mut high);
        Self { numbers, upper_halves: [16, 24].map(|place| numbers.map(|number| (number >> place) as u8)) }
    }
}

impl<L: ProductLanes> Decode<L> for Nibbles {
    const BITS: usize = 4;
    const PAIRS: bool = true;

    #[inline(always)]
    fn decode(self, l: L, bytes: &[u8]) -> L::Numbers {
        l.nibbles(&self, bytes)
    }

    #[inline(always)]
    fn table(&self) -> Option<&Nibbles> {
        Some(self)
    }
}

/// A float of 8 bits with one NaN of either sign. Its numbers, times a power of two, are those of the same exponents and
/// significands in FLOAT16, which the processor converts to FLOAT.
#[derive(Clone, Copy)]
pub(super) struct Float8 {
    /// Exponent bits of FLOAT16 minus those of the format. A code, shifted up by 8 bits and down by this number, is in its
    /// place in FLOAT16, with more signs above it.
    down: u32,
    /// The bits that a code has there.
    mask: u16,
    /// The magnitude of NaN there.
    nan: u16,
    /// What FLOAT16's numbers are multiplied by.
    factor: f32,
}

impl Float8 {
    /// `None` for other formats.
    fn new(format: &FloatFormat) -> Option<Self> {
        if format.bits() != 8 || format.specials != Specials::TopCodeNan {
            return None;
        }
        let down = BINARY16.exp_bits.checked_sub(format.exp_bits)?;
        let nan = (format.magnitude_mask() as u16) << (8 - down);
        let factor = f32::from_bits((F32_BIAS + BINARY16.bias - format.bias) << F32_MAN);
        Some(Self { down, mask: F16_SIGN | nan, nan, factor })
    }
}

impl<L: ProductLanes> Decode<L> for Float8 {
    const BITS: usize = 8;
    const PAIRS: bool = true;

    #[inline(always)]
    fn decode(self, l: L, bytes: &[u8]) -> L::Numbers {
        l.float8(self, bytes)
    }
}

/// FLOATs rounded to BFLOAT16 in their upper halves. Neither ∞ nor a canonical NaN changes.
#[inline(always)]
fn rounded_to_bf16<L: Lanes>(l: L, numbers: L::U32) -> L::U32 {
    let odd = l.and_u32(l.shr_u32::<16>(numbers), l.splat_u32(1));
    l.add_u32(numbers, l.add_u32(odd, l.splat_u32(0x7fff)))
}

/// The codes of the products of all 16 numbers with the last scale and zero point that two granules shared.
struct Table<L: ProductLanes> {
    /// The scale and the zero point.
    factors: [f32; 2],
    entries: L::Entries,
}

/// The loop from elements that `D` decodes to the type `TO`.
struct Steps<L, D, const HAS_ZERO_POINTS: bool, const TO: usize> {
    l: L,
    decode: D,
    /// What scales are multiplied by.
    factor: f32,
}

impl<L: ProductLanes, D: Decode<L>, const HAS_ZERO_POINTS: bool, const TO: usize> Steps<L, D, HAS_ZERO_POINTS, TO> {
    const READ: usize = STEP * D::BITS / 8;
    const WRITTEN: usize = STEP * if TO == F32 { 4 } else { 2 };

    /// The codes of two granules, which begin at `at`.
    #[inline(always)]
    fn codes(l: L, decode: D, table: &mut Option<Table<L>>, granules: &Granules, at: usize, source: &[u8]) -> L::Codes {
        let (scales, zero_points) = (&granules.scales[at..at + 2], &granules.zero_points[at..at + 2]);
        // Integers are compared without vectors.
        let are_equal = |granules: &[f32]| granules[0].to_bits() == granules[1].to_bits();
        if let (Some(table), Some(numbers)) = (table, decode.table())
            && are_equal(scales)
            && (!HAS_ZERO_POINTS || are_equal(zero_points))
        {
            let factors = [scales[0], if HAS_ZERO_POINTS { zero_points[0] } else { 0.0 }];
            if table.factors.map(f32::to_bits) != factors.map(f32::to_bits) {
                *table = Self::table(l, numbers, factors);
            }
            return l.look_up::<TO>(table.entries, source);
        }
        let mut numbers = decode.decode(l, source);
        if HAS_ZERO_POINTS {
            numbers = l.subtract(numbers, l.granules(D::PAIRS, zero_points));
        }
        l.encode::<TO>(D::PAIRS, l.multiply(numbers, l.granules(D::PAIRS, scales)))
    }

    #[inline(always)]
    fn table(l: L, numbers: &Nibbles, factors: [f32; 2]) -> Table<L> {
        let [scale, zero_point] = factors;
        Table { factors, entries: l.entries::<TO>(numbers, HAS_ZERO_POINTS.then_some(zero_point), scale) }
    }

    #[inline(always)]
    fn repeat(&self, granules: &Granules, source: &[u8], destination: &mut [u8]) {
        // Copies of these stay in registers. The compiler cannot exclude that a store changes what `self` borrows.
        let &Self { l, decode, .. } = self;
        let mut table = match decode.table() {
            Some(numbers) if TO != F32 || L::LOOKS_UP_F32 => Some(Self::table(l, numbers, [0.0; 2])),
            _ => None,
        };
        let whole = destination.len() / Self::WRITTEN;
        l.write_all::<TO>(
            whole,
            #[inline(always)]
            move |step| {
                let source = &source[step * Self::READ..][..Self::READ];
                Self::codes(l, decode, &mut table, granules, 2 * step, source)
            },
            destination,
        );
        let (source, destination) = (&source[whole * Self::READ..], &mut destination[whole * Self::WRITTEN..]);
        if !destination.is_empty() {
            let (mut last, mut made) = ([0; STEP], [0; 4 * STEP]);
            last[..source.len()].copy_from_slice(source);
            let codes = Self::codes(l, decode, &mut None, granules, 2 * whole, &last[..Self::READ]);
            l.write::<TO>(codes, &mut made[..Self::WRITTEN]);
            destination.copy_from_slice(&made[..destination.len()]);
        }
    }
}

impl<L: ProductLanes, D: Decode<L>, const HAS_ZERO_POINTS: bool, const TO: usize> ProductLoop
    for Steps<L, D, HAS_ZERO_POINTS, TO>
{
    fn convert(
        &self,
        scales: &Scales<'_>,
        rows: &Rows,
        at: usize,
        source: &[u8],
        destination: &mut [u8],
    ) -> Option<[f32; 2]> {
        let elements = destination.len() / (Self::WRITTEN / STEP);
        let mut granules = Granules::new();
        let magnitudes = fill(self.l, &mut granules, (scales, rows, self.factor), at, elements);
        // Otherwise, products can be NaN whose elements are not.
        let serves = magnitudes[1] < F32_INFINITY;
        if serves {
            self.l.run(
                #[inline(always)]
                || self.repeat(&granules, source, destination),
            );
        }
        serves.then(|| magnitudes.map(|code| f32::from_bits(code) / self.factor))
    }
}

/// Writes codes where they lie.
#[inline(always)]
fn write_each<L: ProductLanes, const TO: usize>(
    l: L,
    steps: usize,
    mut codes: impl FnMut(usize) -> L::Codes,
    destination: &mut [u8],
) {
    let written = STEP * if TO == F32 { 4 } else { 2 };
    for (step, destination) in destination.chunks_exact_mut(written).take(steps).enumerate() {
        l.write::<TO>(codes(step), destination);
    }
}

/// Fills granules, as [`Granules::fill`]. All loops share this function.
#[inline(never)]
fn fill<L: ProductLanes>(
    l: L,
    granules: &mut Granules,
    (scales, rows, factor): (&Scales<'_>, &Rows, f32),
    at: usize,
    elements: usize,
) -> [u32; 2] {
    let mut magnitudes = [0; 2];
    l.run(
        #[inline(always)]
        || magnitudes = granules.fill(scales, rows, factor, at, elements),
    );
    magnitudes
}
