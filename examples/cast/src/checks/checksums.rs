//! Checksums of the casts of all inputs: how they are computed, and which of them are recorded.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use wgpu_cast::{CastOptions, CastSpec, ElementType, Error, cpu};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::inputs::Inputs;
use super::numeric;
use super::options::{options_text, pair_variants};

/// The number of inputs in a block.
const BLOCK: u64 = 1 << 26;

/// The number of inputs that the CPU path casts at once. They stay in the caches.
const AT_ONCE: u64 = 1 << 16;

/// The casts whose checksums are recorded, one per line.
const RECORDED: &str = include_str!("checksums.txt");

/// A cast whose results have a checksum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The source type.
    pub from: ElementType,
    /// The destination type.
    pub to: ElementType,
    /// The options.
    pub options: CastOptions,
    /// The checksum that its results should have, if one is recorded.
    pub recorded: Option<u64>,
}

impl Case {
    /// The number of inputs.
    pub fn inputs(&self) -> u64 {
        Inputs::of(self.from).count()
    }

    /// The number of blocks of inputs.
    pub fn blocks(&self) -> u64 {
        self.inputs().div_ceil(BLOCK)
    }

    /// The inputs of a block, in pieces of at most `size`, a multiple of 64.
    pub fn pieces(&self, block: u64, size: u64) -> impl Iterator<Item = Range<u64>> + use<> {
        let end = ((block + 1) * BLOCK).min(self.inputs());
        (block * BLOCK..end).step_by(size as usize).map(move |start| start..(start + size).min(end))
    }

    /// The checksum of a block, cast on the CPU, on this thread alone.
    ///
    /// # Errors
    /// Those of [`cpu::cast_bytes`].
    pub fn on_cpu(&self, block: u64) -> Result<u64, Error> {
        let inputs = Inputs::of(self.from);
        let spec = CastSpec::new(self.from, self.to).with_options(self.options);
        let mut checksum = Block::default();
        let mut result = Vec::new();
        for piece in self.pieces(block, AT_ONCE) {
            let len = (piece.end - piece.start) as usize;
            result.resize(self.to.packed_bytes(len as u64).expect("few") as usize, 0);
            let source = inputs.packed(piece);
            cpu::on_this_thread(|| cpu::cast_bytes(&spec, &source, len, &mut result))?;
            checksum.update(&result);
        }
        Ok(checksum.finish())
    }

    /// The options that are not the default: `saturate=false`, or `-`.
    pub fn options_text(&self) -> String {
        options_text(&self.options)
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.from, self.to, self.options_text())
    }
}

/// The casts of these types (`None`: of all types), with every combination of options that affects them. If
/// `only_recorded`, only those whose checksums are recorded.
pub fn cases(from: Option<ElementType>, to: Option<ElementType>, only_recorded: bool) -> Vec<Case> {
    let recorded = recorded();
    let types = |only: Option<ElementType>| numeric().filter(move |t| only.is_none_or(|only| only == *t));
    let pairs = types(from).flat_map(|from| types(to).map(move |to| (from, to)));
    let cases = pairs.flat_map(|(from, to)| {
        let case = move |options| Case { from, to, options, recorded: None };
        pair_variants(from, to).into_iter().map(case)
    });
    let known = cases.map(|case| Case { recorded: recorded.get(&case.to_string()).copied(), ..case });
    known.filter(|case| !only_recorded || case.recorded.is_some()).collect()
}

/// The recorded checksums, by the text of their cast.
fn recorded() -> HashMap<String, u64> {
    let lines = RECORDED.lines().filter(|line| !line.starts_with('#'));
    let checksum = |line: &str| {
        let (case, checksum) = line.rsplit_once(' ')?;
        Some((case.to_owned(), parse(checksum)?))
    };
    lines.map(|line| checksum(line).expect("a cast and its checksum")).collect()
}

/// A checksum as text.
pub fn text(checksum: u64) -> String {
    format!("{checksum:016x}")
}

/// Parses a checksum of 16 hexadecimal digits.
pub fn parse(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok().filter(|_| text.len() == 16)
}

/// The checksum of a block: XXH3 with 64 bits of its packed results.
#[derive(Default)]
pub struct Block(Xxh3);

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Block").field(&text(self.finish())).finish()
    }
}

impl Block {
    /// Adds the packed results that follow.
    pub fn update(&mut self, results: &[u8]) {
        self.0.update(results);
    }

    /// The checksum of all that was added.
    pub fn finish(&self) -> u64 {
        self.0.digest()
    }
}

/// The checksum of a cast: XXH3 with 64 bits of its blocks' checksums, each in eight bytes, the lowest first.
pub fn of_blocks(checksums: &[u64]) -> u64 {
    let bytes: Vec<u8> = checksums.iter().flat_map(|checksum| checksum.to_le_bytes()).collect();
    xxh3_64(&bytes)
}
