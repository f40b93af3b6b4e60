//! Casts of elements with scales. Common ones have loops of their own, which multiply in registers. In all others, elements
//! are decoded to FLOAT and multiplied in the first-level cache, by the loops of casts from and to FLOAT.

mod divide;
mod multiply;
mod pieces;
#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
mod products;
mod scales;
#[cfg(test)]
mod tests;

use std::sync::{Mutex, PoisonError};

use super::bytes_of;
use super::code_cast::{CodeBits, CodeCast};
use super::convert::{CHUNK, convert_by};
use super::count::{LossCounter, Losses};
use super::isa::Isa;
#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
use super::lanes::{avx2::Avx2, avx512::Avx512};
use super::loops::loop_of;
use super::non_temporal;
use crate::bits::float_env::with_default_modes;
use crate::bits::format::{FloatFormat, Specials};
use crate::bits::threads::for_each_chunk;
use crate::types::conversion::Conversion;
use crate::types::element::{ElementType, Kind};
use crate::types::error::{CastFault, Error};
use crate::types::layout::CodeLayout;
use crate::types::loss::{CodeRange, Loss, LossCounts, LostCodes};
use crate::types::options::CastOptions;
use crate::types::spec::CastSpec;
use pieces::{Pieces, RegisterFactors};
use scales::Rows;

pub use divide::cast_divided_counted;
pub use scales::Scales;

/// Casts a tensor of scaled elements into preallocated memory: `(element − zero point) · scale` in FLOAT, rounded once,
/// and then cast to the destination type as [`cast_bytes`](super::cast_bytes) casts FLOAT.
///
/// `source` and `destination` have the packed codes of the elements in row-major order, in the layout of
/// [`Tensor`](crate::Tensor). They may start at any address. The source type is a float of at most 32 bits, an integer
/// of at most 16 bits, or INT32, which is rounded to FLOAT before it is scaled. Zero points of integers of at most
/// 16 bits are in the range of their type, all others must be 0.
///
/// Products follow IEEE 754, with subnormals, and are rounded to nearest, ties to even. A NaN has the sign of the
/// element that is NaN, or else of the scale that is NaN; 0 · ∞ is the positive NaN.
/// [`docs::semantics`](crate::docs::semantics) has the sources of these rules.
///
/// ```
/// use wgpu_cast::{CastSpec, ElementType, cpu};
///
/// // Two rows of four 4-bit integers, with one scale and one zero point for every two of them.
/// let (shape, block) = ([2, 4], [1, 2]);
/// let scales = cpu::Scales::new(&shape, &block, &[0.5, 1.0, 2.0, -1.0])?.with_zero_points(&[8, 0, 0, 8])?;
/// let spec = CastSpec::new(ElementType::UINT4, ElementType::FLOAT16);
/// let mut halves = [0; 16];
/// cpu::cast_scaled(&spec, &scales, &[0xf8, 0x21, 0x43, 0x65], &mut halves)?;
/// // 0, 3.5, 1, 2, 6, 8, 3 and 2
/// let expected: [u16; 8] = [0x0000, 0x4300, 0x3c00, 0x4000, 0x4600, 0x4800, 0x4200, 0x4000];
/// assert_eq!(halves.as_slice(), expected.map(u16::to_le_bytes).as_flattened());
/// # Ok::<(), wgpu_cast::Error>(())
/// ```
///
/// # Errors
/// [`CastFault::NoScales`] for other source types; [`Error::ElementWidth`] if a type is STRING; [`Error::Shape`] if the
/// shape's size overflows or `source` has another length; [`CastFault::DestinationLength`] if `destination` has another
/// length; [`CastFault::ZeroPoint`] for the first zero point that the source type cannot have. Nothing is written then.
pub fn cast_scaled(spec: &CastSpec, scales: &Scales<'_>, source: &[u8], destination: &mut [u8]) -> Result<(), Error> {
    cast_scaled_codes(spec, scales, [CodeLayout::Packed; 2], source, destination)
}

/// Casts as [`cast_scaled`]. `layouts` says how the codes of the source and of the destination lie in memory, as in
/// [`cast_codes`](super::cast_codes).
///
/// # Errors
/// As [`cast_scaled`], with the lengths that the layouts need. Nothing is written then.
pub fn cast_scaled_codes(
    spec: &CastSpec,
    scales: &Scales<'_>,
    layouts: [CodeLayout; 2],
    source: &[u8],
    destination: &mut [u8],
) -> Result<(), Error> {
    let scaled = ScaledCast::new(spec, scales, layouts, [source.len(), destination.len()])?;
    scaled.convert(Isa::best(), scales, source, destination, None);
    Ok(())
}

/// Casts as [`cast_scaled`], and counts what the cast from FLOAT to the destination type loses, as
/// [`cast_counted`](super::cast_counted).
///
/// # Errors
/// As [`cast_scaled`]. Nothing is written then.
pub fn cast_scaled_counted(
    spec: &CastSpec,
    scales: &Scales<'_>,
    source: &[u8],
    destination: &mut [u8],
) -> Result<LossCounts, Error> {
    cast_scaled_codes_counted(spec, scales, [CodeLayout::Packed; 2], source, destination)
}

/// Casts as [`cast_scaled_codes`], and counts losses as [`cast_scaled_counted`].
///
/// # Errors
/// As [`cast_scaled_codes`]. Nothing is written then.
pub fn cast_scaled_codes_counted(
    spec: &CastSpec,
    scales: &Scales<'_>,
    layouts: [CodeLayout; 2],
    source: &[u8],
    destination: &mut [u8],
) -> Result<LossCounts, Error> {
    let scaled = ScaledCast::new(spec, scales, layouts, [source.len(), destination.len()])?;
    let counted = Counted::new(&scaled, scales, Isa::best());
    scaled.convert(Isa::best(), scales, source, destination, Some(&counted));
    Ok(counted.lost.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// What the cast from FLOAT loses.
struct Counted {
    counter: LossCounter,
    /// The least and the greatest magnitude of finite elements, 0 apart, after a zero point is subtracted.
    of_elements: [f32; 2],
    /// Counts elements whose products are 0. `None` if zero points make others 0, or if an element can be infinite.
    zeros: Option<LossCounter>,
    lost: Mutex<LossCounts>,
}

impl Counted {
    fn new(cast: &ScaledCast, scales: &Scales<'_>, isa: Isa) -> Self {
        let from = cast.decode.conversion.from;
        let has_zero_points = !scales.zero_points.is_empty() && !matches!(from.kind(), Kind::Float(_));
        let zeros = zeros(from).filter(|_| !has_zero_points).map(|codes| {
            let lost = LostCodes { loss: Loss::Zero, codes };
            LossCounter::of(vec![lost], &cast.decode, isa)
        });
        let counter = LossCounter::new(&cast.encode, isa);
        Self { counter, of_elements: magnitudes(from), zeros, lost: Mutex::default() }
    }

    /// What is known of the losses of products with scales of these magnitudes.
    fn losses_of(&self, scales: [f32; 2]) -> Losses {
        let products = [0, 1].map(|i| self.of_elements[i] * scales[i]);
        // A product of 0 may have an element that is not 0.
        let knows_zeros = self.zeros.is_some() && products[0] > 0.0;
        match self.counter.losses_of(products) {
            Losses::InResults(_) if !knows_zeros => Losses::Unknown,
            losses => losses,
        }
    }

    /// Adds the losses of products by their results. `magnitudes` are those of [`Losses::InResults`].
    fn add_results(&self, magnitudes: [f32; 2], elements: usize, source: &[u8], results: &[u8]) {
        let Some(zeros) = &self.zeros else { unreachable!("then the losses are unknown") };
        self.add(self.counter.count_results(magnitudes, results, || zeros.count(source, elements).total()));
    }

    /// Adds the losses of products.
    fn add_products(&self, products: &[u8], results: &[u8]) {
        self.add(self.counter.count_cast(products, results));
    }

    fn add(&self, counts: LossCounts) {
        *self.lost.lock().unwrap_or_else(PoisonError::into_inner) += counts;
    }
}

/// A cast of scaled elements whose types and lengths were checked.
struct ScaledCast {
    elements: usize,
    /// From the source type to FLOAT.
    decode: CodeCast,
    /// From FLOAT to the destination type.
    encode: CodeCast,
    /// Whether results are stored past the caches, unless they are read again.
    past_caches: bool,
}

impl ScaledCast {
    /// `bytes` are those of the source and of the destination.
    fn new(spec: &CastSpec, scales: &Scales<'_>, layouts: [CodeLayout; 2], bytes: [usize; 2]) -> Result<Self, Error> {
        let CastSpec { from, to, options } = *spec;
        if let Some(&element_type) = [from, to].iter().find(|t| !t.is_numeric()) {
            return Err(Error::no_codes(element_type));
        }
        let Some(zero_points) = zero_points(from) else {
            return Err(Error::cast(from, to, CastFault::NoScales));
        };
        let elements = scales.elements().ok_or_else(|| Error::shape_overflow(from, scales.shape))?;
        let [read, written] = [bytes_of(from, layouts[0], elements)?, bytes_of(to, layouts[1], elements)?];
        if bytes[0] != read {
            return Err(Error::byte_length(from, scales.shape.to_vec(), read as u64, bytes[0] as u64));
        }
        if bytes[1] != written {
            let (expected, found) = (written as u64, bytes[1] as u64);
            return Err(Error::cast(from, to, CastFault::DestinationLength { expected, found }));
        }
        let (least, most) = (*zero_points.start(), *zero_points.end());
        let is_wrong = |&point: &i32| (point < least) | (point > most);
        // The compiler vectorises this search for any, but not that for the first.
        let mut any_is_wrong = false;
        Isa::best().run(
            #[inline(always)]
            || any_is_wrong = scales.zero_points.iter().fold(false, |any, point| any | is_wrong(point)),
        );
        if any_is_wrong && let Some(index) = scales.zero_points.iter().position(is_wrong) {
            let zero_point = scales.zero_points[index];
            return Err(Error::cast(from, to, CastFault::ZeroPoint { index, zero_point }));
        }
        let float = ElementType::FLOAT;
        let plain = |from, to| Conversion::new(from, to, &CastOptions::default());
        let [decode, encode] = [plain(from, float)?, Conversion::new(float, to, &options)?];
        Ok(Self {
            elements,
            decode: CodeCast::new(decode, [layouts[0], CodeLayout::Packed]),
            encode: CodeCast::new(encode, [CodeLayout::Packed, layouts[1]]),
            past_caches: non_temporal::is_faster(bytes),
        })
    }

    /// Casts the elements.
    fn convert(&self, isa: Isa, scales: &Scales<'_>, source: &[u8], destination: &mut [u8], counted: Option<&Counted>) {
        if self.elements == 0 {
            return;
        }
        let [decode, encode] = [&self.decode, &self.encode];
        let pieces = Pieces {
            elements: self.elements,
            scales,
            rows: scales.rows(),
            can_be_nan: can_be_nan(decode.conversion.from),
            decode: loop_of(&decode.conversion, decode.bits, isa),
            encode: loop_of(&encode.conversion, encode.bits, isa),
            to_float: encode.conversion.is_copy(),
            bits: CodeBits([decode.bits()[0], encode.bits()[1]]),
            isa,
            past_caches: self.past_caches,
            counted,
        };
        if let Some(products) = product_loop(isa, scales, &pieces.rows, [decode, encode]) {
            // Chunks begin where a granule begins, so that they do not begin at a line of the destination.
            return for_each_chunk(source, destination, pieces.bits.bytes(CHUNK), |chunk, source, destination| {
                with_default_modes(|| {
                    pieces.convert_in_registers(&*products, chunk * CHUNK, source, destination);
                });
            });
        }
        convert_by(pieces.bits, self.elements, source, destination, |at, source, destination| {
            with_default_modes(|| pieces.convert(at, source, destination));
        });
    }
}

/// A loop that decodes, multiplies and encodes in registers.
trait ProductLoop: Send + Sync {
    /// Casts elements from `at` on, which begin a granule, and returns what `losses_of` says about the least and the greatest
    /// magnitude of the scales. If that is unknown, or if a scale gives NaN, this loop does not serve: then nothing is
    /// written, and the answer is [`Losses::Unknown`].
    fn convert(
        &self,
        pieces: &Pieces<'_>,
        factors: &mut RegisterFactors,
        losses_of: &dyn Fn([f32; 2]) -> Losses,
        at: usize,
        source: &[u8],
        destination: &mut [u8],
    ) -> Losses;
}

/// The loop in registers of a cast to FLOAT and one from FLOAT; `None` if there is none.
#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
fn product_loop(isa: Isa, scales: &Scales<'_>, rows: &Rows, casts: [&CodeCast; 2]) -> Option<Box<dyn ProductLoop>> {
    match isa {
        Isa::Avx2(simd) => products::new(Avx2(simd), scales, rows, casts),
        Isa::Avx512(simd) => products::new(Avx512(simd), scales, rows, casts),
        Isa::Portable | Isa::Neon(_) => None,
    }
}

#[cfg(not(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64"))))]
fn product_loop(_: Isa, _: &Scales<'_>, _: &Rows, _: [&CodeCast; 2]) -> Option<Box<dyn ProductLoop>> {
    None
}

/// Whether an element of a type can be NaN or infinite.
fn can_be_nan(from: ElementType) -> bool {
    matches!(from.kind(), Kind::Float(format) if format.specials != Specials::Finite)
}

/// The least and the greatest magnitude of finite elements, 0 apart, after a zero point is subtracted. The greatest may be
/// less than this.
fn magnitudes(from: ElementType) -> [f32; 2] {
    let power = |exponent: i32| 2f32.powi(exponent);
    match from.kind() {
        Kind::Float(format) => [power(1 - (format.bias + format.man_bits) as i32), power(format.max_exponent() + 1)],
        _ => [1.0, power(from.code_bits() as i32)],
    }
}

/// The codes of 0 of a type whose elements are finite or NaN; `None` for others.
fn zeros(from: ElementType) -> Option<CodeRange> {
    let mask = match from.kind() {
        Kind::Float(FloatFormat { specials: Specials::Ieee | Specials::Scale, .. }) => return None,
        // The code that would be −0 is NaN.
        Kind::Float(format) if format.specials == Specials::NegativeZeroNan => u64::MAX,
        Kind::Float(format) => format.magnitude_mask(),
        _ => u64::MAX >> (64 - from.code_bits()),
    };
    Some(CodeRange { mask, first: 0, last: 0 })
}

/// The zero points that elements of a type can have; `None` for types that cannot be scaled.
fn zero_points(from: ElementType) -> Option<std::ops::RangeInclusive<i32>> {
    match (from.kind(), from.code_bits()) {
        (Kind::Float(_), ..=32) | (Kind::Int { signed: true }, 32) => Some(0..=0),
        (Kind::Int { signed: true }, bits @ ..=16) => Some(-(1 << (bits - 1))..=(1 << (bits - 1)) - 1),
        (Kind::Int { signed: false }, bits @ ..=16) => Some(0..=(1 << bits) - 1),
        _ => None,
    }
}
