//! The CPU path casts tensors in host memory, at the speed of memory if the processor's instructions allow it.
//!
//! It needs no device. On x86 processors it uses AVX2 or AVX-512 (F, BW, CD, DQ and VL) if the processor has them. From
//! about 131,000 elements on it uses all threads of the current rayon pool. The bits are the same in all cases.

mod compose;
pub(crate) mod isa;
mod kernel;
mod lanes;
mod method;
mod pack;
mod reference;
mod scalar;
mod sink;
mod source;
mod table;

#[cfg(test)]
mod tests;

#[cfg(not(target_family = "wasm"))]
use rayon::prelude::*;

use crate::conversion::Conversion;
use crate::element::ElementType;
use crate::error::Error;
use crate::float_env::with_default_modes;
use crate::lanes::clear_pad;
use crate::options::CastOptions;
use crate::strings;
use crate::tensor::{Tensor, zeroed};
use compose::compose;
use isa::Isa;
use kernel::{CopyCodes, Kernel};
use method::{Length, Method, SinkKind, SourceKind, method};
use reference::Reference;
use table::memory::MemoryTable;
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
use table::{register::RegisterTable, shuffle::ShuffleTable};

/// The number of elements that a thread gets at a time. For fewer than twice as many, starting threads costs more than
/// they save.
const CHUNK: usize = 1 << 16;

/// The size of a cache line and of the longest vectors, in bytes.
const LINE: usize = 64;

/// The number of elements from which a table is made for a source of at most 8 bits, and the destination is aligned.
const LONG: usize = 2048;

/// Casts a tensor on the CPU. The result has the same shape; its data is laid out as [`Tensor`] says.
///
/// Every conversion is ONNX Cast's (version 28; [`onnx::CastNode`](crate::onnx::CastNode) has the rules of others),
/// the same bits as on a GPU: floats round once from the exact source value, to nearest with ties to even; floats
/// truncate to integers; what ONNX leaves open is fixed by the rules in the crate's documentation. Where the codes are the
/// same, the result shares the tensor's memory.
///
/// # Strings
/// Numbers become decimals in positional notation, never with an exponent: integers `-12`; floats with the fewest digits
/// that give the same number again in the source type (FLOAT16, FLOAT, DOUBLE; other floats as FLOAT) and always a
/// fraction, `0.1`, `100.0`, `-0.0`, `NaN`, `INF`, `-INF`; BOOL `True` and `False`. The digits of a FLOAT8E8M0 may lie just
/// beside its power of two: only [`RoundMode::Nearest`](crate::RoundMode::Nearest) reads all of them back as they were.
///
/// Strings are read as decimals, `12`, `-.5e-3`, or `inf`, `infinity`, `nan` in any case, with an optional sign, between
/// optional ASCII white space. They round once from the exact decimal value to any float type; to integers they
/// truncate, must lie within −2⁶³ and 2⁶⁴, and keep their low bits. BOOL is false for ±0 and `false`, true for other
/// numbers and `true`, in any case.
///
/// # Errors
/// [`Error::InvalidLiteral`] and [`Error::LiteralOutOfRange`] with the first such element of a STRING tensor;
/// [`Error::OutOfMemory`] where there is no memory for the result.
pub fn cast(tensor: &Tensor, to: ElementType, options: &CastOptions) -> Result<Tensor, Error> {
    let from = tensor.element_type();
    match (tensor.string_array(), to) {
        (Some(_), ElementType::STRING) => return Ok(tensor.clone()),
        (Some(strings), _) => return strings::parse(tensor, strings, to, options),
        (None, ElementType::STRING) => return strings::print(tensor),
        (None, _) => {}
    }
    cast_numbers(tensor, &Conversion::new(from, to, options)?)
}

/// Casts a numeric tensor by a conversion that the caller has made.
pub(crate) fn cast_numbers(tensor: &Tensor, conversion: &Conversion) -> Result<Tensor, Error> {
    let (from, to) = (conversion.from, conversion.to);
    let source = tensor.bytes().ok_or(Error::NoKernel { from, to })?;
    if conversion.is_copy() {
        return Ok(tensor.with_type(to));
    }
    let mut destination = zeroed(from, to, packed_bytes(tensor, to)?)?;
    convert(conversion, Isa::best(), tensor.len(), source, &mut destination);
    Ok(tensor.with_bytes(to, destination))
}

/// [`cast`] into the caller's memory: `destination` gets the packed bytes of the result, in the layout that [`Tensor`]
/// describes, the bits after the last code in the last byte zero.
///
/// `destination` must be as long as the result, [`ElementType::packed_bytes`] of the tensor's elements; whatever it held
/// is overwritten, and it may start at any address. Memory that is used again saves more time than the cast takes: a
/// system hands out fresh memory page by page, at less than the speed of a cast. A shape has no part in this: the bytes
/// are those of the elements in row-major order.
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
/// [`Error::NoCodes`] for STRING on either side, which has no packed form: [`cast`] has strings.
/// [`Error::DestinationLength`] where `destination` is not exactly as long as the result. Nothing is written then.
pub fn cast_into(tensor: &Tensor, to: ElementType, options: &CastOptions, destination: &mut [u8]) -> Result<(), Error> {
    let from = tensor.element_type();
    if let Some(&element_type) = [from, to].iter().find(|t| !t.is_numeric()) {
        return Err(Error::NoCodes { element_type });
    }
    let conversion = Conversion::new(from, to, options)?;
    let source = tensor.bytes().ok_or(Error::NoCodes { element_type: from })?;
    let expected = packed_bytes(tensor, to)?;
    if destination.len() != expected {
        let (expected, found) = (expected as u64, destination.len() as u64);
        return Err(Error::DestinationLength { from, to, expected, found });
    }
    convert(&conversion, Isa::best(), tensor.len(), source, destination);
    Ok(())
}

/// Whether a cast here takes no longer than copying the tensor to a GPU and the result back: where the target has vector
/// instructions, whichever the processor has beyond those.
pub(crate) const fn is_fast() -> bool {
    cfg!(any(target_feature = "sse2", target_feature = "neon", target_feature = "simd128"))
}

/// Bytes of a tensor's elements as another type.
fn packed_bytes(tensor: &Tensor, to: ElementType) -> Result<usize, Error> {
    let bytes = to.packed_bytes(tensor.len() as u64).and_then(|bytes| usize::try_from(bytes).ok());
    bytes.ok_or_else(|| Error::ShapeOverflow { element_type: to, shape: tensor.shape().to_vec() })
}

/// Converts `elements` packed codes, on all threads where there are enough.
fn convert(conversion: &Conversion, isa: Isa, elements: usize, source: &[u8], destination: &mut [u8]) {
    let chunk = [conversion.from, conversion.to].map(|t| CHUNK * t.code_bits() as usize / 8);
    let length = if elements < LONG { Length::Short } else { Length::Long };
    let kernel = with_default_modes(|| kernel(conversion, isa, length));
    let convert = |source: &[u8], destination: &mut [u8]| {
        if !destination.is_empty() {
            with_default_modes(|| kernel.convert(source, destination));
        }
    };
    let [read, written] = if elements < LONG { [0, 0] } else { head(conversion, destination) };
    let (first_source, source) = source.split_at(read);
    let (first, rest) = destination.split_at_mut(written);
    convert(first_source, first);
    share(source, rest, chunk, convert);
    clear_pad(destination, conversion.to.code_bits(), elements as u64);
}

/// The source and destination bytes of the fewest elements after which the destination is at a multiple of [`LINE`],
/// since writing a vector across two lines takes as long as writing two. There are fewer than [`LONG`] such elements,
/// and none if no number of elements leads to a multiple.
fn head(conversion: &Conversion, destination: &[u8]) -> [usize; 2] {
    let bits = [conversion.from, conversion.to].map(|t| t.code_bits() as usize);
    // Four codes of any width below 8 bits fill whole bytes.
    let step = if bits.iter().all(|bits| bits % 8 == 0) { 1 } else { 4 };
    let bytes = |elements: usize| bits.map(|bits| elements * bits / 8);
    let address = destination.as_ptr().addr();
    let found = (0..=4 * LINE).step_by(step).map(bytes).find(|[_, written]| (address + written).is_multiple_of(LINE));
    found.unwrap_or_default()
}

/// The kernel of the pair's [`method`].
fn kernel(conversion: &Conversion, isa: Isa, length: Length) -> Box<dyn Kernel> {
    let (source, sink) = (SourceKind::new(conversion), SinkKind::new(conversion));
    match (method(source, sink, isa.name(), length), isa) {
        (Method::Copy, _) => Box::new(CopyCodes),
        (Method::Reference, _) => Box::new(Reference(*conversion)),
        (Method::MemoryTable, _) => Box::new(MemoryTable::new(conversion)),
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        (Method::ShuffleTable, Isa::Avx2(simd)) => Box::new(ShuffleTable::new(simd, conversion)),
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        (Method::ShuffleTable, Isa::Avx512(simd)) => Box::new(ShuffleTable::new(*simd, conversion)),
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        (Method::RegisterTable, Isa::Avx512(simd)) => Box::new(RegisterTable::new(simd, conversion)),
        (method, _) => compose(method, source, sink, isa),
    }
}

/// Runs `work` on chunks of `chunk` source and destination bytes: on all threads if there are at least two chunks.
#[cfg(not(target_family = "wasm"))]
fn share(source: &[u8], destination: &mut [u8], chunk: [usize; 2], work: impl Fn(&[u8], &mut [u8]) + Sync) {
    if source.len() < 2 * chunk[0] {
        return work(source, destination);
    }
    let chunks = source.par_chunks(chunk[0]).zip(destination.par_chunks_mut(chunk[1]));
    chunks.for_each(|(source, destination)| work(source, destination));
}

/// WebAssembly has no threads here, so one call does all the work.
#[cfg(target_family = "wasm")]
fn share(source: &[u8], destination: &mut [u8], _: [usize; 2], work: impl Fn(&[u8], &mut [u8])) {
    work(source, destination);
}
