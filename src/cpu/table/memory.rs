//! Tables in memory. The entry of a source byte, or of a 6-bit code, has the destination codes of all codes in it.

use super::{Entries, entries};
use crate::cpu::cast_loop::CastLoop;
use crate::cpu::code_cast::CodeCast;

/// The cast of one pair by tables in memory. An index is a source byte, or one 6-bit code. It holds one, two or four
/// source codes, whose destination codes follow one another without gaps. A byte with one code of fewer than 8 bits is an
/// index, too: its other bits do not matter.
pub(crate) struct MemoryTable {
    from_bits: u32,
    tables: Tables,
}

/// Tables of 256 words, by the destination bits of an index. If there are several tables, the n-th index of a group
/// uses the n-th table. Its entries are shifted to the place of that index's destination bits. A group then takes two
/// loads for each index, and one store.
enum Tables {
    Bits2(Box<[[u64; 256]; 8]>),
    Bits4(Box<[[u64; 256]; 8]>),
    Bits6(Box<[[u64; 256]; 8]>),
    Bits8(Box<[[u64; 256]; 8]>),
    Bits12(Box<[[u64; 256]; 4]>),
    Bits16(Box<[[u64; 256]; 4]>),
    Bits24(Box<[[u64; 256]; 2]>),
    Bits32(Box<[[u64; 256]; 2]>),
    // Single indexes that become one, two or four words.
    Bits64(Box<[[u64; 1]; 256]>),
    Bits128(Box<[[u64; 2]; 256]>),
    Bits256(Box<[[u64; 4]; 256]>),
}

impl CastLoop for MemoryTable {
    fn convert_steps(&self, source: &[u8], destination: &mut [u8]) {
        match &self.tables {
            Tables::Bits2(tables) => self.joined::<8, 2>(tables, source, destination),
            Tables::Bits4(tables) => self.joined::<8, 4>(tables, source, destination),
            Tables::Bits6(tables) => self.joined::<8, 6>(tables, source, destination),
            Tables::Bits8(tables) => self.joined::<8, 8>(tables, source, destination),
            Tables::Bits12(tables) => self.joined::<4, 6>(tables, source, destination),
            Tables::Bits16(tables) => self.joined::<4, 8>(tables, source, destination),
            Tables::Bits24(tables) => self.joined::<2, 6>(tables, source, destination),
            Tables::Bits32(tables) => self.joined::<2, 8>(tables, source, destination),
            Tables::Bits64(table) => self.whole(table, source, destination),
            Tables::Bits128(table) => self.whole(table, source, destination),
            Tables::Bits256(table) => self.whole(table, source, destination),
        }
    }
}

impl MemoryTable {
    /// `None` for other widths of codes than element types have.
    pub(crate) fn new(cast: &CodeCast) -> Option<Self> {
        let [from_bits, to_bits] = cast.bits();
        let codes = match from_bits {
            2 | 4 | 8 => 8 / from_bits,
            6 => 1,
            _ => return None,
        };
        let entries = entries(cast, codes);
        let tables = match codes * to_bits {
            2 => Tables::Bits2(shifted(&entries, 2)),
            4 => Tables::Bits4(shifted(&entries, 4)),
            6 => Tables::Bits6(shifted(&entries, 6)),
            8 => Tables::Bits8(shifted(&entries, 8)),
            12 => Tables::Bits12(shifted(&entries, 12)),
            16 => Tables::Bits16(shifted(&entries, 16)),
            24 => Tables::Bits24(shifted(&entries, 24)),
            32 => Tables::Bits32(shifted(&entries, 32)),
            64 => Tables::Bits64(first(&entries)),
            128 => Tables::Bits128(first(&entries)),
            256 => Tables::Bits256(first(&entries)),
            _ => return None,
        };
        Some(Self { from_bits, tables })
    }

    /// Converts `INDEXES` indexes to `BYTES` bytes at a time.
    fn joined<const INDEXES: usize, const BYTES: usize>(
        &self,
        tables: &[[u64; 256]; INDEXES],
        source: &[u8],
        destination: &mut [u8],
    ) {
        self.eights(8 / INDEXES * BYTES, source, destination, |indexes, destination| {
            for (bytes, indexes) in destination.chunks_exact_mut(BYTES).zip(indexes.chunks_exact(INDEXES)) {
                let word = tables.iter().zip(indexes).fold(0, |word, (table, &index)| word | table[usize::from(index)]);
                bytes.copy_from_slice(&word.to_le_bytes()[..BYTES]);
            }
        });
    }

    /// Converts each index to whole words.
    fn whole<const WORDS: usize>(&self, table: &[[u64; WORDS]; 256], source: &[u8], destination: &mut [u8]) {
        self.eights(64 * WORDS, source, destination, |indexes, destination| {
            for (bytes, &index) in destination.chunks_exact_mut(8 * WORDS).zip(indexes) {
                for (bytes, word) in bytes.chunks_exact_mut(8).zip(table[usize::from(index)]) {
                    bytes.copy_from_slice(&word.to_le_bytes());
                }
            }
        });
    }

    /// Calls `convert` for eight indexes at a time, which become `written` bytes. If the last call has fewer indexes,
    /// zeros take the place of the others, and their bytes are dropped. This function is inlined so that the compiler
    /// knows `written` and can unroll `convert`.
    #[inline(always)]
    fn eights(&self, written: usize, source: &[u8], destination: &mut [u8], convert: impl Fn(&[u8; 8], &mut [u8])) {
        let six = self.from_bits == 6;
        let read = if six { 6 } else { 8 };
        let whole = (source.len() / read).min(destination.len() / written);
        let (sources, source) = source.split_at(whole * read);
        let (destinations, destination) = destination.split_at_mut(whole * written);
        let groups = destinations.chunks_exact_mut(written);
        if six {
            for (destination, source) in groups.zip(sources.chunks_exact(6)) {
                convert(&six_bit_indexes(source), destination);
            }
        } else {
            for (destination, source) in groups.zip(sources.chunks_exact(8)) {
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
        convert(&if six { six_bit_indexes(&last[..6]) } else { last }, &mut made[..written]);
        destination.copy_from_slice(&made[..destination.len()]);
    }
}

/// Eight 6-bit codes, one in each byte.
#[inline(always)]
fn six_bit_indexes(bytes: &[u8]) -> [u8; 8] {
    let bytes: &[u8; 6] = bytes.try_into().expect("six bytes");
    let &[a, b, c, d, e, f] = bytes;
    let word = u64::from_le_bytes([a, b, c, d, e, f, 0, 0]);
    let code = |i: u32| (word >> (6 * i) & 0x3f) as u8;
    [code(0), code(1), code(2), code(3), code(4), code(5), code(6), code(7)]
}

/// A table for each of the `INDEXES` indexes that share a word.
fn shifted<const INDEXES: usize>(entries: &Entries, entry_bits: usize) -> Box<[[u64; 256]; INDEXES]> {
    let mut tables = Box::new([[0; 256]; INDEXES]);
    for (place, table) in tables.iter_mut().enumerate() {
        table.iter_mut().zip(entries).for_each(|(word, entry)| *word = entry[0] << (place * entry_bits));
    }
    tables
}

/// The first `WORDS` words of each entry.
fn first<const WORDS: usize>(entries: &Entries) -> Box<[[u64; WORDS]; 256]> {
    let mut table = Box::new([[0; WORDS]; 256]);
    table.iter_mut().zip(entries).for_each(|(words, entry)| words.copy_from_slice(&entry[..WORDS]));
    table
}
