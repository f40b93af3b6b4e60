//! The CPU path casts tensors in host memory, at the speed of memory if the processor's instructions allow it.
//!
//! The CPU path needs no device. With the feature `cpu-simd`, on by default, it uses AVX2 or AVX-512 on x86 processors
//! that have them (AVX-512 from Intel's Ice Lake and AMD's Zen 4 on), and NEON on aarch64. From about 131,000 elements
//! on it uses all threads of the current rayon pool, unless [`on_this_thread`] says otherwise. The bits are the same in
//! all cases.

#![allow(clippy::needless_range_loop, reason = "the closures of adapters are compiled without the vector instructions")]

/// Evaluates `$made` with a constant `$NAME` that equals `$value`.
macro_rules! with_bool {
    ($NAME:ident = $value:expr, $made:expr) => {
        if $value {
            const $NAME: bool = true;
            $made
        } else {
            const $NAME: bool = false;
            $made
        }
    };
}

/// Evaluates `$made` with a constant `$NAME`: the number that the list has for `$value`, a variant of `$Enum`.
macro_rules! with_number {
    ($NAME:ident = $value:expr, $Enum:ident { $($Variant:ident $number:expr),+ }, $made:expr) => {
        match $value {
            $($Enum::$Variant => {
                const $NAME: usize = $number;
                $made
            })+
        }
    };
}

mod any_length;
mod cast_loop;
mod code_cast;
mod codes;
mod convert;
mod count;
pub(crate) mod isa;
mod lanes;
mod loops;
#[cfg(all(feature = "cpu-simd", target_arch = "aarch64"))]
mod neon_steps;
mod non_temporal;
mod one_per_byte;
#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
mod pack;
mod packed_loop;
mod recipe;
mod reference;
mod relative_error;
mod scalar;
mod scaled;
mod sign_rule;
mod sink;
mod source;
mod table;
#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
mod unpack;
mod word;
#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
mod x86;

#[cfg(test)]
mod tests;

use std::sync::{Mutex, PoisonError};

use crate::bits::float_env::with_default_modes;
use crate::rules::strings;
use crate::types::conversion::Conversion;
use crate::types::element::ElementType;
use crate::types::error::{CastFault, Error};
use crate::types::layout::CodeLayout;
use crate::types::loss::LossCounts;
use crate::types::options::CastOptions;
use crate::types::spec::CastSpec;
use crate::types::tensor::{Tensor, zeroed};
use code_cast::{CodeBits, CodeCast};
use convert::{convert, convert_by, convert_past_caches};
use count::LossCounter;
use isa::Isa;
use loops::{Kept, kept_of, kept_of_spec, loop_of};

pub use crate::bits::threads::on_this_thread;
pub use one_per_byte::{pack_codes, unpack_codes};
pub use scaled::{
    Scales, cast_divided_counted, cast_scaled, cast_scaled_codes, cast_scaled_codes_counted, cast_scaled_counted,
};

/// The number of elements that are cast before their losses are counted. The elements are then still in the cache.
const COUNTED: usize = 1 << 13;

/// Casts a tensor on the CPU. The result has the same shape.
///
/// The results are those of ONNX Cast at the newest opset; [`onnx::CastNode`](crate::onnx::CastNode) gives the options
/// of other opsets. They are bit-identical to those of a GPU. [`docs::semantics`](crate::docs::semantics) lists the
/// rules. If both types have the same codes, the result shares the tensor's memory.
///
/// # Strings
/// Numbers become decimals without an exponent. Integers: `-12`. Floats: the fewest digits that read back as the same
/// number, always with a fraction: `0.1`, `100.0`, `-0.0`, `NaN`, `INF`, `-INF`. Digits of DOUBLE and FLOAT16 read back
/// as the same number of that type, digits of all other floats as the same FLOAT. BOOL: `True` and `False`. FLOAT8E8M0
/// values read back exactly only with [`RoundMode::Nearest`](crate::RoundMode::Nearest), because their shortest FLOAT
/// digits may be just above or below the power of two.
///
/// Strings are parsed as decimals such as `12` and `-.5e-3`, or as `inf`, `infinity` or `nan` in any case, with an
/// optional sign and surrounding ASCII white space. The exact decimal value is rounded once to a float type. For
/// integers it is truncated, must be at least −2⁶³ and less than 2⁶⁴, and keeps its low bits. For BOOL, `true` and
/// `false` (in any case) are accepted too, ±0 is false, and any other number is true.
///
/// # Errors
/// [`CastFault::Literal`] for the first invalid element of a STRING tensor; [`CastFault::OutOfMemory`] if there is no
/// memory for the result.
pub fn cast(tensor: &Tensor, to: ElementType, options: &CastOptions) -> Result<Tensor, Error> {
    let from = tensor.element_type();
    match (tensor.string_array(), to) {
        (Some(_), ElementType::STRING) => return Ok(tensor.clone()),
        (Some(strings), _) => return strings::parse(tensor, strings, to, options),
        (None, ElementType::STRING) => return strings::print(tensor),
        (None, _) => {}
    }
    let spec = CastSpec::new(from, to).with_options(*options);
    let bits = CodeBits::of_types([from, to], [CodeLayout::Packed; 2]);
    cast_by(tensor, kept_of_spec(&spec, bits, Isa::best())?)
}

/// Casts a numeric tensor by a conversion that the caller has made.
#[cfg_attr(not(feature = "wgpu"), allow(dead_code, reason = "contexts cast by it"))]
pub(crate) fn cast_numbers(tensor: &Tensor, conversion: &Conversion) -> Result<Tensor, Error> {
    cast_by(tensor, kept_of(conversion, CodeBits::packed(conversion), Isa::best()))
}

/// Casts a numeric tensor by the loop of packed codes.
fn cast_by(tensor: &Tensor, Kept { cast, cast_loop, .. }: &Kept) -> Result<Tensor, Error> {
    let (from, to) = (cast.conversion.from, cast.conversion.to);
    let source = tensor.packed()?;
    if cast.conversion.is_copy() {
        return Ok(tensor.with_type(to));
    }
    let mut destination = zeroed(from, to, packed_bytes(to, tensor.len(), tensor.shape())?)?;
    convert(cast_loop, cast.bits, tensor.len(), source, &mut destination);
    Ok(tensor.with_bytes(to, destination))
}

/// Casts into preallocated memory. `destination` receives the packed bytes of the result in row-major order, in the
/// layout of [`Tensor`]. Bits after the last code in the last byte become zero.
///
/// `destination` must have exactly the size of the result, [`ElementType::packed_bytes`]. It may start at any address.
/// Reusing memory is faster than [`cast`], because the system needs time to provide new memory: about as long as the
/// cast with huge pages, and several times as long with ordinary pages of 4 KiB. On some processors, large results are
/// stored past the caches. That is faster into memory that has been used before, and slower into new memory.
///
/// ```
/// use wgpu_cast::{CastOptions, ElementType, Tensor, cpu};
///
/// let tensor = Tensor::from_slice([3], &[1.0f32, -2.0, 7.9])?;
/// // Three 4-bit codes take two bytes.
/// let mut packed = [0; 2];
/// cpu::cast_into(&tensor, ElementType::INT4, &CastOptions::default(), &mut packed)?;
/// assert_eq!(packed, [0xe1, 0x07]);
/// # Ok::<(), wgpu_cast::Error>(())
/// ```
///
/// # Errors
/// [`Error::ElementWidth`] if either type is STRING, which has no packed form (use [`cast`]).
/// [`CastFault::DestinationLength`] if `destination` has another size than the result. Nothing is written then.
pub fn cast_into(tensor: &Tensor, to: ElementType, options: &CastOptions, destination: &mut [u8]) -> Result<(), Error> {
    let spec = CastSpec::new(tensor.element_type(), to).with_options(*options);
    cast_bytes(&spec, tensor.packed()?, tensor.len(), destination)
}

/// Casts `len` packed codes, such as those of a memory-mapped file, into preallocated memory. The source is not copied
/// first, and the results are those of [`cast`]. The destination is written as by [`cast_into`].
///
/// `source` and `destination` must have exactly the bytes of `len` elements, [`ElementType::packed_bytes`], in the
/// layout of [`Tensor`]. They may start at any address. Bits after the last code are ignored in the source, and become
/// zero in the destination.
///
/// # Errors
/// [`Error::ElementWidth`] if either type is STRING; [`Error::Shape`] if a size overflows or the source has another
/// length; [`CastFault::DestinationLength`] if the destination has another length. Nothing is written then.
pub fn cast_bytes(spec: &CastSpec, source: &[u8], len: usize, destination: &mut [u8]) -> Result<(), Error> {
    cast_codes(spec, [CodeLayout::Packed; 2], source, len, destination)
}

/// Casts `len` codes as [`cast_bytes`]. `layouts` says how the codes of the source and of the destination lie in
/// memory. No layout needs a second pass over memory.
///
/// `source` and `destination` must have exactly the bytes of `len` elements, [`CodeLayout::bytes`]. They may start at
/// any address. With the same type on both sides, codes are packed, or unpacked to one in each byte.
///
/// ```
/// use wgpu_cast::{CastSpec, CodeLayout, ElementType, cpu};
///
/// let source: Vec<u8> = [1.0f32, -2.0, 7.9].iter().flat_map(|value| value.to_le_bytes()).collect();
/// let spec = CastSpec::new(ElementType::FLOAT, ElementType::INT4);
/// let mut codes = [0; 3];
/// cpu::cast_codes(&spec, [CodeLayout::Packed, CodeLayout::OnePerByte], &source, 3, &mut codes)?;
/// assert_eq!(codes, [0x1, 0xe, 0x7]);
///
/// let mut packed = [0; 2];
/// let pack = CastSpec::new(ElementType::INT4, ElementType::INT4);
/// cpu::cast_codes(&pack, [CodeLayout::OnePerByte, CodeLayout::Packed], &codes, 3, &mut packed)?;
/// assert_eq!(packed, [0xe1, 0x07]);
/// # Ok::<(), wgpu_cast::Error>(())
/// ```
///
/// # Errors
/// As [`cast_bytes`], with the lengths that the layouts need. Nothing is written then.
pub fn cast_codes(
    spec: &CastSpec,
    layouts: [CodeLayout; 2],
    source: &[u8],
    len: usize,
    destination: &mut [u8],
) -> Result<(), Error> {
    check_lengths(spec, layouts, source, len, destination.len())?;
    let bits = CodeBits::of_types([spec.from, spec.to], layouts);
    let Kept { cast_loop, .. } = kept_of_spec(spec, bits, Isa::best())?;
    if non_temporal::is_faster([source.len(), destination.len()]) {
        convert_past_caches(cast_loop, bits, len, source, destination);
    } else {
        convert(cast_loop, bits, len, source, destination);
    }
    Ok(())
}

/// An error if a type has no codes, or if source or destination has another number of bytes than `len` codes.
fn check_lengths(
    spec: &CastSpec,
    layouts: [CodeLayout; 2],
    source: &[u8],
    len: usize,
    destination: usize,
) -> Result<(), Error> {
    let CastSpec { from, to, .. } = *spec;
    if let Some(&element_type) = [from, to].iter().find(|t| !t.is_numeric()) {
        return Err(Error::no_codes(element_type));
    }
    let [source_bytes, destination_bytes] = [bytes_of(from, layouts[0], len)?, bytes_of(to, layouts[1], len)?];
    if source.len() != source_bytes {
        let (expected, found) = (source_bytes as u64, source.len() as u64);
        return Err(Error::byte_length(from, vec![len], expected, found));
    }
    if destination != destination_bytes {
        let (expected, found) = (destination_bytes as u64, destination as u64);
        return Err(Error::cast(from, to, CastFault::DestinationLength { expected, found }));
    }
    Ok(())
}

/// The conversion of `len` codes, or an error as [`check_lengths`].
fn checked(
    spec: &CastSpec,
    layouts: [CodeLayout; 2],
    source: &[u8],
    len: usize,
    destination: usize,
) -> Result<Conversion, Error> {
    check_lengths(spec, layouts, source, len, destination)?;
    Conversion::new(spec.from, spec.to, &spec.options)
}

/// Casts as [`cast_bytes`], and counts what is lost.
///
/// Each piece is counted while it is in the cache, which costs much less than reading it from memory again. Counting
/// reads the codes of the source. For some casts to shorter floats, it reads the codes of the result first, and those
/// of the source only if the result does not show how much is lost. [`count_losses`] counts without casting, for
/// results that come from a GPU.
///
/// ```
/// use wgpu_cast::{CastSpec, ElementType, cpu};
///
/// let source: Vec<u8> = [1.0f32, 70000.0, 1e-9].iter().flat_map(|value| value.to_le_bytes()).collect();
/// let spec = CastSpec::new(ElementType::FLOAT, ElementType::FLOAT16);
/// let mut result = [0; 6];
/// let lost = cpu::cast_counted(&spec, &source, 3, &mut result)?;
/// assert_eq!((lost.infinite, lost.zero, lost.total()), (1, 1, 2));
/// # Ok::<(), wgpu_cast::Error>(())
/// ```
///
/// # Errors
/// As [`cast_bytes`]. Nothing is written then.
pub fn cast_counted(spec: &CastSpec, source: &[u8], len: usize, destination: &mut [u8]) -> Result<LossCounts, Error> {
    cast_codes_counted(spec, [CodeLayout::Packed; 2], source, len, destination)
}

/// Casts as [`cast_codes`], and counts what is lost as [`cast_counted`].
///
/// # Errors
/// As [`cast_codes`]. Nothing is written then.
pub fn cast_codes_counted(
    spec: &CastSpec,
    layouts: [CodeLayout; 2],
    source: &[u8],
    len: usize,
    destination: &mut [u8],
) -> Result<LossCounts, Error> {
    let conversion = checked(spec, layouts, source, len, destination.len())?;
    let bits = CodeBits::new(&conversion, layouts);
    let counter = LossCounter::new(&CodeCast { conversion, bits }, Isa::best());
    if bits.0[0] < 8 {
        // Only `len` tells which codes of the last byte are elements, so the whole tensor is counted at once.
        convert(loop_of(&conversion, bits, Isa::best()), bits, len, source, destination);
        return Ok(counter.count(source, len));
    }
    let cast_loop = loop_of(&conversion, bits, Isa::best());
    let lost = Mutex::new(LossCounts::default());
    let [read, written] = bits.bytes(COUNTED);
    convert_by(bits, len, source, destination, |_, source, destination| {
        for (source, destination) in source.chunks(read).zip(destination.chunks_mut(written)) {
            with_default_modes(|| cast_loop.convert(source, destination));
            let counts = counter.count_cast(source, destination);
            *lost.lock().unwrap_or_else(PoisonError::into_inner) += counts;
        }
    });
    Ok(lost.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Counts what a cast of `len` packed codes loses, as [`cast_counted`], without casting.
///
/// # Errors
/// As [`cast_bytes`], for the source.
pub fn count_losses(spec: &CastSpec, source: &[u8], len: usize) -> Result<LossCounts, Error> {
    count_lost_codes(spec, CodeLayout::Packed, source, len)
}

/// Counts what a cast of `len` codes loses, as [`cast_codes_counted`], without casting. `layout` is that of the source.
///
/// # Errors
/// As [`cast_codes`], for the source.
pub fn count_lost_codes(spec: &CastSpec, layout: CodeLayout, source: &[u8], len: usize) -> Result<LossCounts, Error> {
    let destination = if spec.to.is_numeric() { packed_bytes(spec.to, len, &[len])? } else { 0 };
    let layouts = [layout, CodeLayout::Packed];
    let conversion = checked(spec, layouts, source, len, destination)?;
    Ok(LossCounter::new(&CodeCast::new(conversion, layouts), Isa::best()).count(source, len))
}

/// The largest relative error that a cast makes by rounding, given `len` packed codes before and after it.
///
/// The relative error of a value is |result − value| / |value|, in binary64. A value has no error if it is 0, infinite
/// or NaN before or after the cast, or if [`LossCounts`] counts it as saturated or out of range. If no value is
/// rounded, the result is 0.
///
/// ```
/// use wgpu_cast::{CastSpec, ElementType, cpu};
///
/// let spec = CastSpec::new(ElementType::FLOAT, ElementType::FLOAT8E4M3FN);
/// let (source, mut result) = (7.75f32.to_le_bytes(), [0]);
/// cpu::cast_bytes(&spec, &source, 1, &mut result)?;
/// let error = cpu::largest_relative_error(&spec, &source, 1, &result)?;
/// assert_eq!(error, 0.25 / 7.75);
/// # Ok::<(), wgpu_cast::Error>(())
/// ```
///
/// # Errors
/// As [`cast_bytes`]; `result` is its destination.
pub fn largest_relative_error(spec: &CastSpec, source: &[u8], len: usize, result: &[u8]) -> Result<f64, Error> {
    let conversion = checked(spec, [CodeLayout::Packed; 2], source, len, result.len())?;
    relative_error::largest(&conversion, source, len, result)
}

/// The bytes of `len` elements, or an error with `shape` if the number overflows.
fn packed_bytes(element_type: ElementType, len: usize, shape: &[usize]) -> Result<usize, Error> {
    let bytes = element_type.packed_bytes(len as u64).and_then(|bytes| usize::try_from(bytes).ok());
    bytes.ok_or_else(|| Error::shape_overflow(element_type, shape))
}

/// The bytes of `len` elements in a layout, or an error if the number overflows.
fn bytes_of(element_type: ElementType, layout: CodeLayout, len: usize) -> Result<usize, Error> {
    let bytes = layout.bytes(element_type, len as u64).and_then(|bytes| usize::try_from(bytes).ok());
    bytes.ok_or_else(|| Error::shape_overflow(element_type, &[len]))
}
