//! Sources of at most 8 bits, by table: what each of the 256 bytes becomes, all lanes of a byte at once.

use super::Scratch;
use super::level::Level;
use super::subbyte;
use super::twin;
use super::words::{Word, fill_words};
use crate::conversion::Conversion;

/// The casts of one pair by table. A *unit* is a source byte, or a 6-bit code in a byte of its own; it holds one code, or
/// two or four, which become so many destination codes without gaps.
pub(crate) struct Narrow {
    from_bits: u32,
    to_bits: u32,
    /// Destination bits of a unit.
    unit_bits: u32,
    entries: Entries,
}

/// What each unit becomes, in the narrowest word that holds it.
enum Entries {
    One(Box<[u8; 256]>),
    Two(Box<[u16; 256]>),
    Three(Box<[[u8; 3]; 256]>),
    Four(Box<[u32; 256]>),
    Eight(Box<[u64; 256]>),
    Sixteen(Box<[[u64; 2]; 256]>),
    ThirtyTwo(Box<[[u64; 4]; 256]>),
}

impl Narrow {
    /// `None` where a source code has more than 8 bits.
    pub(crate) fn new(conversion: &Conversion) -> Option<Self> {
        let [from_bits, to_bits] = [conversion.from, conversion.to].map(|t| t.code_bits());
        if from_bits > 8 {
            return None;
        }
        let lanes = if from_bits == 6 { 1 } else { 8 / from_bits };
        let codes = Codes::new(conversion, from_bits);
        let unit_bits = lanes * to_bits;
        let entries = match unit_bits {
            ..=8 => Entries::One(codes.entries(lanes, to_bits)),
            ..=16 => Entries::Two(codes.entries(lanes, to_bits)),
            24 => Entries::Three(codes.entries(lanes, to_bits)),
            32 => Entries::Four(codes.entries(lanes, to_bits)),
            64 => Entries::Eight(codes.entries(lanes, to_bits)),
            128 => Entries::Sixteen(codes.entries(lanes, to_bits)),
            _ => Entries::ThirtyTwo(codes.entries(lanes, to_bits)),
        };
        Some(Self { from_bits, to_bits, unit_bits, entries })
    }

    /// Casts at most [`BLOCK`](super::BLOCK) elements; what it writes to pad bits is undefined.
    pub(crate) fn convert(&self, level: Level, source: &[u8], destination: &mut [u8], scratch: &mut Scratch) {
        let Scratch { aligned, codes, hub: unpacked, .. } = scratch;
        let units = if self.from_bits == 6 {
            subbyte::unpack6(level, source, unpacked);
            // Of the last byte, no more than what the destination has room for.
            let elements = (source.len() * 8 / 6).min(destination.len() * 8 / self.to_bits as usize);
            &bytemuck::cast_slice::<u64, u8>(unpacked)[..elements]
        } else {
            source
        };
        match &self.entries {
            Entries::One(entries) if self.unit_bits == 8 => level.look_up(units, destination, entries),
            Entries::One(entries) => {
                level.look_up(units, bytemuck::cast_slice_mut(codes), entries);
                subbyte::pack(level, codes, self.unit_bits, destination);
            }
            Entries::Two(entries) if self.unit_bits == 16 => spread(units, destination, aligned, entries),
            Entries::Two(entries) => {
                let codes16: &mut [u16] = bytemuck::cast_slice_mut(codes);
                look_up(units, codes16, entries);
                subbyte::pack(level, codes, self.unit_bits, destination);
            }
            Entries::Three(entries) => spread(units, destination, aligned, entries),
            Entries::Four(entries) => spread(units, destination, aligned, entries),
            Entries::Eight(entries) => spread(units, destination, aligned, entries),
            Entries::Sixteen(entries) => spread(units, destination, aligned, entries),
            Entries::ThirtyTwo(entries) => spread(units, destination, aligned, entries),
        }
    }
}

/// Each unit's entry, one after the other; of the last one, as many bytes as there is room for.
fn spread<W: Word>(units: &[u8], destination: &mut [u8], aligned: &mut [u64], entries: &[W; 256]) {
    fill_words(destination, aligned, |words| look_up(units, words, entries));
}

/// `words[i] = entries[units[i]]`, as far as both reach. Loads and stores alone, of which a processor has few a cycle;
/// wider instructions have nothing to add, and loops of one lookup each are slower than loops of eight.
fn look_up<W: Copy>(units: &[u8], words: &mut [W], entries: &[W; 256]) {
    let entry = |unit: &u8| entries[usize::from(*unit)];
    for (words, units) in words.chunks_exact_mut(8).zip(units.chunks_exact(8)) {
        for i in 0..8 {
            words[i] = entry(&units[i]);
        }
    }
    let done = (words.len() / 8).min(units.len() / 8) * 8;
    words[done..].iter_mut().zip(&units[done..]).for_each(|(word, unit)| *word = entry(unit));
}

/// Every code of the source, converted.
struct Codes {
    from_bits: u32,
    low: [u32; 256],
    high: [u32; 256],
}

impl Codes {
    fn new(conversion: &Conversion, from_bits: u32) -> Self {
        let mut codes = Self { from_bits, low: std::array::from_fn(|code| code as u32), high: [0; 256] };
        let count = 1 << from_bits;
        conversion.convert(&mut codes.low[..count], &mut codes.high[..count]);
        codes
    }

    /// For each unit of so many lanes, its codes of `to_bits` bits packed.
    fn entries<W: Word>(&self, lanes: u32, to_bits: u32) -> Box<[W; 256]> {
        let mask = (1 << self.from_bits) - 1;
        let mut entries = Box::new([W::default(); 256]);
        for (unit, entry) in entries.iter_mut().enumerate() {
            let code = |lane: usize| unit >> (lane as u32 * self.from_bits % 8) & mask;
            let (low, high): ([u32; 4], [u32; 4]) =
                (std::array::from_fn(|lane| self.low[code(lane)]), std::array::from_fn(|lane| self.high[code(lane)]));
            let lanes = lanes as usize;
            let mut bytes = [0; 32];
            let used = (lanes * to_bits as usize).div_ceil(8);
            twin::pack(&low[..lanes], &high[..lanes], to_bits, &mut bytes[..used]);
            *entry = W::read(&bytes[..size_of::<W>()]);
        }
        entries
    }
}
