//! The CPU path: blocks of codes unpacked into words, converted by the twins, packed again.

#[cfg(not(target_family = "wasm"))]
use rayon::prelude::*;

use crate::conversion::Conversion;
use crate::element::ElementType;
use crate::error::Error;
use crate::options::CastOptions;
use crate::strings;
use crate::tensor::{Tensor, zeroed};

/// Elements converted at a time: a multiple of 16, so that blocks of every type start at a byte, and few enough that
/// both word arrays stay in the first-level cache.
pub(crate) const BLOCK: usize = 1024;

/// Elements given to a thread at a time. Below twice that, threads cost more than they bring.
const CHUNK: usize = 64 * BLOCK;

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
    let bytes = to.packed_bytes(tensor.len() as u64).and_then(|bytes| usize::try_from(bytes).ok());
    let bytes = bytes.ok_or_else(|| Error::ShapeOverflow { element_type: to, shape: tensor.shape().to_vec() })?;
    let mut destination = zeroed(from, to, bytes)?;
    let table = Table::new(&conversion, tensor.len());
    let block_bytes = |elements: usize, t: ElementType| elements * t.code_bits() as usize / 8;
    let run = |source: &[u8], destination: &mut [u8]| {
        let mut blocks = Blocks::default();
        let sources = source.chunks(block_bytes(BLOCK, from));
        for (source, destination) in sources.zip(destination.chunks_mut(block_bytes(BLOCK, to))) {
            blocks.convert(&conversion, table.as_ref(), source, destination);
        }
    };
    share(source, &mut destination, [from, to].map(|t| block_bytes(CHUNK, t)), run);
    crate::lanes::clear_pad(&mut destination, to.code_bits(), tensor.len() as u64);
    Ok(tensor.with_bytes(to, destination))
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

/// Every code of a source of at most 8 bits, converted once.
struct Table {
    low: [u32; 256],
    high: [u32; 256],
}

impl Table {
    /// `None` where the source is wider, or the tensor too small for a table to pay.
    fn new(conversion: &Conversion, elements: usize) -> Option<Self> {
        (conversion.from.code_bits() <= 8 && elements >= 512).then(|| {
            let mut table = Self { low: std::array::from_fn(|code| code as u32), high: [0; 256] };
            conversion.convert(&mut table.low, &mut table.high);
            table
        })
    }
}

struct Blocks {
    low: [u32; BLOCK],
    high: [u32; BLOCK],
}

impl Default for Blocks {
    fn default() -> Self {
        Self { low: [0; BLOCK], high: [0; BLOCK] }
    }
}

impl Blocks {
    /// Converts at most `BLOCK` elements; a last block may hold some garbage elements in its pad bits.
    fn convert(&mut self, conversion: &Conversion, table: Option<&Table>, source: &[u8], destination: &mut [u8]) {
        let (from, to) = (conversion.from.code_bits(), conversion.to.code_bits());
        let elements = (source.len() * 8 / from as usize).min(destination.len() * 8 / to as usize);
        let (low, high) = (&mut self.low[..elements], &mut self.high[..elements]);
        unpack(source, from, low, high);
        match table {
            Some(table) if to == 64 => low.iter_mut().zip(high.iter_mut()).for_each(|(low, high)| {
                let code = *low as usize & 0xff;
                (*low, *high) = (table.low[code], table.high[code]);
            }),
            Some(table) => low.iter_mut().for_each(|low| *low = table.low[*low as usize & 0xff]),
            None => conversion.convert(low, high),
        }
        pack(low, high, to, destination);
    }
}

/// Codes of `bits` bits into words; 64-bit codes into two.
pub(crate) fn unpack(bytes: &[u8], bits: u32, low: &mut [u32], high: &mut [u32]) {
    match bits {
        2 => unpack_lanes::<2, 4, 1>(bytes, low),
        4 => unpack_lanes::<4, 2, 1>(bytes, low),
        6 => unpack_lanes::<6, 4, 3>(bytes, low),
        8 => low.iter_mut().zip(bytes).for_each(|(lane, &byte)| *lane = byte.into()),
        16 => low.iter_mut().zip(words(bytes)).for_each(|(lane, b)| *lane = u16::from_le_bytes(b).into()),
        32 => low.iter_mut().zip(words(bytes)).for_each(|(lane, b)| *lane = u32::from_le_bytes(b)),
        _ => low.iter_mut().zip(high).zip(words(bytes)).for_each(|((low, high), b)| {
            let code = u64::from_le_bytes(b);
            (*low, *high) = (code as u32, (code >> 32) as u32);
        }),
    }
}

/// `LANES` codes of `BITS` bits lie in `SIZE` bytes; the last ones may be fewer.
#[inline]
fn unpack_lanes<const BITS: u32, const LANES: usize, const SIZE: usize>(bytes: &[u8], low: &mut [u32]) {
    let unpack = |bytes: &[u8]| {
        let mut word = [0; 4];
        word[..bytes.len()].copy_from_slice(bytes);
        let word = u32::from_le_bytes(word);
        std::array::from_fn::<u32, LANES, _>(|i| word >> (BITS * i as u32) & ((1 << BITS) - 1))
    };
    let whole = (low.len() / LANES).min(bytes.len() / SIZE);
    let (lanes, rest) = low.split_at_mut(whole * LANES);
    for (lanes, bytes) in lanes.chunks_exact_mut(LANES).zip(bytes.chunks_exact(SIZE)) {
        lanes.copy_from_slice(&unpack(bytes));
    }
    let tail = &bytes[whole * SIZE..];
    rest.copy_from_slice(&unpack(&tail[..tail.len().min(SIZE)])[..rest.len()]);
}

/// The other way; bits above a code's width are dropped.
#[inline]
fn pack_lanes<const BITS: u32, const LANES: usize, const SIZE: usize>(low: &[u32], bytes: &mut [u8]) {
    let pack = |lanes: &[u32]| {
        let lane = |word, (i, lane): (usize, &u32)| word | (lane & ((1 << BITS) - 1)) << (BITS * i as u32);
        lanes.iter().enumerate().fold(0, lane).to_le_bytes()
    };
    let whole = (low.len() / LANES).min(bytes.len() / SIZE);
    let (words, rest) = bytes.split_at_mut(whole * SIZE);
    for (bytes, lanes) in words.chunks_exact_mut(SIZE).zip(low.chunks_exact(LANES)) {
        bytes.copy_from_slice(&pack(lanes)[..SIZE]);
    }
    rest.copy_from_slice(&pack(&low[whole * LANES..])[..rest.len()]);
}

/// The whole little-endian words of `N` bytes.
fn words<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = [u8; N]> {
    bytes.chunks_exact(N).map(|bytes| bytes.try_into().expect("chunks of N bytes"))
}

/// Words to codes of `bits` bits; higher bits are dropped.
pub(crate) fn pack(low: &[u32], high: &[u32], bits: u32, bytes: &mut [u8]) {
    match bits {
        2 => pack_lanes::<2, 4, 1>(low, bytes),
        4 => pack_lanes::<4, 2, 1>(low, bytes),
        6 => pack_lanes::<6, 4, 3>(low, bytes),
        8 => bytes.iter_mut().zip(low).for_each(|(byte, &code)| *byte = code as u8),
        16 => bytes.chunks_exact_mut(2).zip(low).for_each(|(b, &code)| b.copy_from_slice(&(code as u16).to_le_bytes())),
        32 => bytes.chunks_exact_mut(4).zip(low).for_each(|(b, &code)| b.copy_from_slice(&code.to_le_bytes())),
        _ => bytes.chunks_exact_mut(8).zip(low).zip(high).for_each(|((b, &low), &high)| {
            b.copy_from_slice(&(u64::from(low) | u64::from(high) << 32).to_le_bytes());
        }),
    }
}
