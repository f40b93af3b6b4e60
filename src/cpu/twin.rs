//! The twins' path: blocks of codes unpacked into words, converted by `bits.rs`, packed again. Any pair goes through it;
//! the others are faster.

use super::BLOCK;
use crate::conversion::Conversion;

pub(crate) struct Blocks {
    low: [u32; BLOCK],
    high: [u32; BLOCK],
}

impl Default for Blocks {
    fn default() -> Self {
        Self { low: [0; BLOCK], high: [0; BLOCK] }
    }
}

impl Blocks {
    /// Casts at most [`BLOCK`] elements; what it writes to pad bits is undefined.
    pub(crate) fn convert(&mut self, conversion: &Conversion, source: &[u8], destination: &mut [u8]) {
        let (from, to) = (conversion.from.code_bits(), conversion.to.code_bits());
        let elements = (source.len() * 8 / from as usize).min(destination.len() * 8 / to as usize);
        let (low, high) = (&mut self.low[..elements], &mut self.high[..elements]);
        unpack(source, from, low, high);
        conversion.convert(low, high);
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
