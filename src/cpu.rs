//! The CPU path: tensors cast in host memory, at the speed of memory where the processor's instructions allow it.
//!
//! Needs no device; on x86 processors it uses AVX2 or AVX-512 (its parts F, BW, CD, DQ and VL) where they have it,
//! and from some hundred thousand elements on all threads of the current rayon pool. The bits are the same everywhere.

// Sources of at most 8 bits go by table, in registers where vector instructions look it up; but 8-bit integers that need no
// rounding, and with AVX2 8-bit floats to 16-bit integers, are computed, as wider sources are. Those go through a hub:
// decoded into binary32 or binary64 numbers, as they are encoded or into a block that stays in the first-level cache. 16-bit
// floats are cast in words of their own where that is less. The loops are plain ones, of which the compiler makes vector
// instructions; where the same steps are faster written with AVX2's or AVX-512's own, `x86.rs` has those. All numbers come
// from `Conversion`, whose twins say what the results are.

mod decode;
mod encode;
pub(crate) mod float_env;
mod half;
mod level;
mod narrow;
mod subbyte;
mod twin;
mod wide;
mod words;
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
mod x86;

#[cfg(test)]
mod tests;

#[cfg(not(target_family = "wasm"))]
use rayon::prelude::*;

use crate::conversion::Conversion;
use crate::element::ElementType;
use crate::error::Error;
use crate::lanes::clear_pad;
use crate::options::CastOptions;
use crate::strings;
use crate::tensor::{Tensor, zeroed};
use float_env::with_default_modes;
use level::Level;
use narrow::Narrow;
pub(crate) use twin::{pack, unpack};
use wide::Wide;
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
use x86::Vectors;

/// Elements converted at a time: a multiple of 16, so that blocks of every type start at a byte, and few enough that
/// the blocks of all stages stay in the first-level cache.
pub(crate) const BLOCK: usize = 2048;

/// Elements given to a thread at a time. Below twice that, threads cost more than they bring.
const CHUNK: usize = 32 * BLOCK;

/// Bytes of a line of the caches, and of the longest vectors.
const LINE: usize = 64;

/// Elements from which on a table is made for a source of at most 8 bits.
const TABLE: usize = BLOCK;

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
    match (tensor.text(), to) {
        (Some(_), ElementType::STRING) => return Ok(tensor.clone()),
        (Some(strings), _) => return strings::parse(tensor, strings, to, options),
        (None, ElementType::STRING) => return strings::print(tensor),
        (None, _) => {}
    }
    let conversion = Conversion::new(from, to, options)?;
    let source = tensor.bytes().ok_or(Error::NoKernel { from, to })?;
    if conversion.is_copy() {
        return Ok(tensor.with_type(to));
    }
    let mut destination = zeroed(from, to, packed_bytes(tensor, to)?)?;
    convert(&conversion, Level::best(), tensor.len(), source, &mut destination);
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
    convert(&conversion, Level::best(), tensor.len(), source, destination);
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
fn convert(conversion: &Conversion, level: Level, elements: usize, source: &[u8], destination: &mut [u8]) {
    let chunk = [conversion.from, conversion.to].map(|t| CHUNK * t.code_bits() as usize / 8);
    let path = with_default_modes(|| Path::new(conversion, elements, level));
    let [read, written] = if elements < TABLE { [0, 0] } else { head(conversion, destination) };
    let (first_source, source) = source.split_at(read);
    let (first, rest) = destination.split_at_mut(written);
    path.convert(first_source, first);
    share(source, rest, chunk, |source, destination| path.convert(source, destination));
    clear_pad(destination, conversion.to.code_bits(), elements as u64);
}

/// Source and destination bytes of the fewest elements after which the destination lies at a multiple of [`LINE`]: a
/// vector written across two lines takes as long as two. They are fewer than [`TABLE`]; none where no elements lead there.
fn head(conversion: &Conversion, destination: &[u8]) -> [usize; 2] {
    let bits = [conversion.from, conversion.to].map(|t| t.code_bits() as usize);
    // Of codes of less than a byte, any four end at one.
    let step = if bits.iter().all(|bits| bits % 8 == 0) { 1 } else { 4 };
    let bytes = |elements: usize| bits.map(|bits| elements * bits / 8);
    let address = destination.as_ptr().addr();
    let found = (0..=4 * LINE).step_by(step).map(bytes).find(|[_, written]| (address + written).is_multiple_of(LINE));
    found.unwrap_or_default()
}

/// How a pair is cast.
enum Path<'a> {
    Copy,
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    Vectors(Vectors),
    Narrow(Narrow),
    Wide(Level, &'a Conversion, Wide),
    Twin(&'a Conversion),
}

impl<'a> Path<'a> {
    fn new(conversion: &'a Conversion, elements: usize, level: Level) -> Self {
        if conversion.is_copy() {
            return Self::Copy;
        }
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        if let Some(loops) = Vectors::loops(level, conversion) {
            return Self::Vectors(loops);
        }
        if let Some(wide) = Wide::new(conversion, level) {
            return Self::Wide(wide.level(level), conversion, wide);
        }
        if elements < TABLE {
            return Self::Twin(conversion);
        }
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        if let Some(tables) = Vectors::tables(level, conversion) {
            return Self::Vectors(tables);
        }
        Narrow::new(conversion).map_or(Self::Twin(conversion), Self::Narrow)
    }

    /// Casts packed codes that start at a byte on both sides; what it writes to pad bits is undefined.
    fn convert(&self, source: &[u8], destination: &mut [u8]) {
        if !destination.is_empty() {
            with_default_modes(|| self.convert_under_default_modes(source, destination));
        }
    }

    fn convert_under_default_modes(&self, source: &[u8], destination: &mut [u8]) {
        match self {
            Self::Copy => destination.copy_from_slice(source),
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Self::Vectors(vectors) => vectors.convert(source, destination),
            Self::Narrow(narrow) => narrow.convert(source, destination),
            Self::Wide(level, conversion, wide) => {
                let mut scratch = Scratch::default();
                blocks(conversion, source, destination, |source, destination| {
                    wide.convert(*level, source, destination, &mut scratch);
                });
            }
            Self::Twin(conversion) => {
                let mut scratch = twin::Blocks::default();
                blocks(conversion, source, destination, |source, destination| {
                    scratch.convert(conversion, source, destination);
                });
            }
        }
    }
}

/// Runs `work` on blocks of [`BLOCK`] elements.
fn blocks(conversion: &Conversion, source: &[u8], destination: &mut [u8], mut work: impl FnMut(&[u8], &mut [u8])) {
    let [from, to] = [conversion.from, conversion.to].map(|t| BLOCK * t.code_bits() as usize / 8);
    for (source, destination) in source.chunks(from).zip(destination.chunks_mut(to)) {
        work(source, destination);
    }
}

/// What the stages of a block leave for one another.
struct Scratch {
    /// Source words whose address does not suit them.
    aligned: [u64; BLOCK],
    /// Numbers between decode and encode.
    hub: [u64; BLOCK],
    /// Codes of less than a byte, one a byte.
    codes: [u64; BLOCK / 8],
    /// Destination words whose address does not suit them.
    target: [u64; BLOCK],
}

impl Default for Scratch {
    fn default() -> Self {
        Self { aligned: [0; BLOCK], hub: [0; BLOCK], codes: [0; BLOCK / 8], target: [0; BLOCK] }
    }
}

/// Runs `work` on chunks of so many source and destination bytes, on all threads where there are at least two.
#[cfg(not(target_family = "wasm"))]
fn share(source: &[u8], destination: &mut [u8], chunk: [usize; 2], work: impl Fn(&[u8], &mut [u8]) + Sync) {
    if source.len() < 2 * chunk[0] {
        return work(source, destination);
    }
    let chunks = source.par_chunks(chunk[0]).zip(destination.par_chunks_mut(chunk[1]));
    chunks.for_each(|(source, destination)| work(source, destination));
}

/// Without threads, all at once.
#[cfg(target_family = "wasm")]
fn share(source: &[u8], destination: &mut [u8], _: [usize; 2], work: impl Fn(&[u8], &mut [u8])) {
    work(source, destination);
}
