//! Tables in memory: an entry for each of the 256 bytes has the destination codes of all codes in the byte.

use super::units;
use crate::cpu::cast_loop::CastLoop;
use crate::types::conversion::Conversion;

/// The cast of one pair by tables in memory. A *unit* is a source byte, or one 6-bit code. It holds one, two or four
/// codes, which become as many destination codes without gaps.
pub(crate) struct MemoryTable {
    from_bits: u32,
    /// The destination bits of a unit. Eight units have as many destination bytes.
    unit_bits: usize,
    entries: Entries,
}

/// Tables of 256 words. If there are several, the n-th unit of a group uses the n-th table, whose entries are shifted
/// to the place of that unit's destination bits. A group then takes two loads for each unit, and one store.
enum Entries {
    /// Groups of eight units.
    Eight(Box<[[u64; 256]; 8]>),
    /// Groups of four.
    Four(Box<[[u64; 256]; 4]>),
    /// Groups of two.
    Two(Box<[[u64; 256]; 2]>),
    /// Single units that become one, two or four words.
    Word(Box<[[u64; 1]; 256]>),
    Words2(Box<[[u64; 2]; 256]>),
    Words4(Box<[[u64; 4]; 256]>),
}

impl CastLoop for MemoryTable {
    fn convert(&self, source: &[u8], destination: &mut [u8]) {
        match (&self.entries, self.unit_bits) {
            (Entries::Eight(tables), 2) => self.joined::<8, 2>(tables, source, destination),
            (Entries::Eight(tables), 4) => self.joined::<8, 4>(tables, source, destination),
            (Entries::Eight(tables), 6) => self.joined::<8, 6>(tables, source, destination),
            (Entries::Eight(tables), _) => self.joined::<8, 8>(tables, source, destination),
            (Entries::Four(tables), 12) => self.joined::<4, 6>(tables, source, destination),
            (Entries::Four(tables), _) => self.joined::<4, 8>(tables, source, destination),
            (Entries::Two(tables), 24) => self.joined::<2, 6>(tables, source, destination),
            (Entries::Two(tables), _) => self.joined::<2, 8>(tables, source, destination),
            (Entries::Word(table), _) => self.whole(table, source, destination),
            (Entries::Words2(table), _) => self.whole(table, source, destination),
            (Entries::Words4(table), _) => self.whole(table, source, destination),
        }
    }
}

impl MemoryTable {
    pub(crate) fn new(conversion: &Conversion) -> Self {
        let [from_bits, to_bits] = [conversion.from, conversion.to].map(|t| t.code_bits());
        let lanes = if from_bits == 6 { 1 } else { 8 / from_bits };
        let units = units(conversion, lanes);
        let unit_bits = (lanes * to_bits) as usize;
        let entries = match unit_bits {
            2 | 4 | 6 | 8 => Entries::Eight(shifted(&units, unit_bits)),
            12 | 16 => Entries::Four(shifted(&units, unit_bits)),
            24 | 32 => Entries::Two(shifted(&units, unit_bits)),
            64 => Entries::Word(first(&units)),
            128 => Entries::Words2(first(&units)),
            _ => Entries::Words4(first(&units)),
        };
        Self { from_bits, unit_bits, entries }
    }

    /// Converts `UNITS` units to `BYTES` bytes at a time.
    fn joined<const UNITS: usize, const BYTES: usize>(
        &self,
        tables: &[[u64; 256]; UNITS],
        source: &[u8],
        destination: &mut [u8],
    ) {
        self.eights(8 / UNITS * BYTES, source, destination, |units, destination| {
            for (bytes, units) in destination.chunks_exact_mut(BYTES).zip(units.chunks_exact(UNITS)) {
                let word = tables.iter().zip(units).fold(0, |word, (table, &unit)| word | table[usize::from(unit)]);
                bytes.copy_from_slice(&word.to_le_bytes()[..BYTES]);
            }
        });
    }

    /// Converts each unit to whole words.
    fn whole<const WORDS: usize>(&self, table: &[[u64; WORDS]; 256], source: &[u8], destination: &mut [u8]) {
        self.eights(64 * WORDS, source, destination, |units, destination| {
            for (bytes, &unit) in destination.chunks_exact_mut(8 * WORDS).zip(units) {
                for (bytes, word) in bytes.chunks_exact_mut(8).zip(table[usize::from(unit)]) {
                    bytes.copy_from_slice(&word.to_le_bytes());
                }
            }
        });
    }

    /// Calls `convert` for eight units at a time, which become `written` bytes. The last units may be fewer. It is
    /// inlined so that the compiler knows `written` and can unroll `convert`.
    #[inline(always)]
    fn eights(&self, written: usize, source: &[u8], destination: &mut [u8], convert: impl Fn(&[u8; 8], &mut [u8])) {
        let six = self.from_bits == 6;
        let read = if six { 6 } else { 8 };
        let whole = (source.len() / read).min(destination.len() / written);
        let (sources, source) = source.split_at(whole * read);
        let (destinations, destination) = destination.split_at_mut(whole * written);
        let pieces = destinations.chunks_exact_mut(written);
        if six {
            for (destination, source) in pieces.zip(sources.chunks_exact(6)) {
                convert(&six_bit_units(source), destination);
            }
        } else {
            for (destination, source) in pieces.zip(sources.chunks_exact(8)) {
                convert(source.try_into().expect("chunks of eight"), destination);
            }
        }
        if destination.is_empty() {
            return;
        }
        let mut last = [0; 8];
        let rest = source.len().min(read);
        last[..rest].copy_from_slice(&source[..rest]);
        let mut made = [0; 256];
        convert(&if six { six_bit_units(&last[..6]) } else { last }, &mut made[..written]);
        destination.copy_from_slice(&made[..destination.len()]);
    }
}

/// Eight 6-bit codes, one in each byte.
#[inline(always)]
fn six_bit_units(bytes: &[u8]) -> [u8; 8] {
    let bytes: &[u8; 6] = bytes.try_into().expect("six bytes");
    let &[a, b, c, d, e, f] = bytes;
    let word = u64::from_le_bytes([a, b, c, d, e, f, 0, 0]);
    let code = |i: u32| (word >> (6 * i) & 0x3f) as u8;
    [code(0), code(1), code(2), code(3), code(4), code(5), code(6), code(7)]
}

/// A table for each of the `UNITS` units in a word.
fn shifted<const UNITS: usize>(units: &[[u64; 4]; 256], unit_bits: usize) -> Box<[[u64; 256]; UNITS]> {
    let mut tables = Box::new([[0; 256]; UNITS]);
    for (place, table) in tables.iter_mut().enumerate() {
        table.iter_mut().zip(units).for_each(|(entry, unit)| *entry = unit[0] << (place * unit_bits));
    }
    tables
}

/// The first words of each unit.
fn first<const WORDS: usize>(units: &[[u64; 4]; 256]) -> Box<[[u64; WORDS]; 256]> {
    let mut table = Box::new([[0; WORDS]; 256]);
    table.iter_mut().zip(units).for_each(|(entry, unit)| entry.copy_from_slice(&unit[..WORDS]));
    table
}
