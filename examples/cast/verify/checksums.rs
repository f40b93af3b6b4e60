//! Checksums of casts: how they are computed, which are recorded, and the file in which a run keeps those of its blocks.

use std::collections::HashMap;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use support::options::pair_variants;
use wgpu_cast::{CastOptions, ElementType, Float4Nan, Int4Overflow};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::args::numeric;
use crate::failure::Failure;

/// The casts whose checksums are recorded, each in a line.
const RECORDED: &str = include_str!("checksums.txt");

/// A cast whose results have a checksum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    pub from: ElementType,
    pub to: ElementType,
    pub options: CastOptions,
    /// The checksum that its results should have, if one is recorded.
    pub recorded: Option<u64>,
}

impl Case {
    /// The options that are not the default: `saturate=false`, or `-`.
    pub fn options_text(&self) -> String {
        let (default, options) = (CastOptions::default(), &self.options);
        let mut told = Vec::new();
        if options.saturate != default.saturate {
            told.push(format!("saturate={}", options.saturate));
        }
        if options.round_mode != default.round_mode {
            told.push(format!("round_mode={}", options.round_mode));
        }
        if options.int4_overflow == Int4Overflow::Clamp {
            told.push("int4_overflow=clamp".to_owned());
        }
        if options.float4_nan == Float4Nan::Max {
            told.push("float4_nan=max".to_owned());
        }
        if told.is_empty() { "-".to_owned() } else { told.join(",") }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.from, self.to, self.options_text())
    }
}

/// The casts of these types (`None`: of all) with every combination of options that affects them; if `only_recorded`,
/// those whose checksums are recorded.
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

fn parse(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok().filter(|_| text.len() == 16)
}

/// The checksum of a block: XXH3 with 64 bits of its packed results.
#[derive(Default)]
pub struct Block(Xxh3);

impl Block {
    pub fn update(&mut self, results: &[u8]) {
        self.0.update(results);
    }

    pub fn finish(&self) -> u64 {
        self.0.digest()
    }
}

/// The checksum of a cast: XXH3 with 64 bits of its blocks' checksums, each in eight bytes, the lowest first.
pub fn of_blocks(checksums: &[u64]) -> u64 {
    let bytes: Vec<u8> = checksums.iter().flat_map(|checksum| checksum.to_le_bytes()).collect();
    xxh3_64(&bytes)
}

/// The file with the checksums of the blocks that a run has done, one in a line. An interrupted run goes on from it.
pub struct Record {
    path: PathBuf,
    file: Mutex<File>,
    known: HashMap<String, u64>,
}

impl Record {
    /// Opens or creates the file.
    ///
    /// # Errors
    /// The file belongs to a run of another version or on another device, or cannot be read or written.
    pub fn open(path: &Path, device: &str) -> Result<Self, Failure> {
        let head = format!("# checksums of blocks, wgpu-cast {}, {device}\n", env!("CARGO_PKG_VERSION"));
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => return Err(Failure::at(path, error)),
        };
        if !text.is_empty() && !text.starts_with(&head) {
            let expected = head.trim_end();
            return Err(Failure::at(path, format_args!("belongs to another run: its first line is not {expected:?}")));
        }
        // The end of the last line may be missing after an interruption.
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let file = OpenOptions::new().append(true).create(true).open(path).map_err(|e| Failure::write(path, e))?;
        file.set_len(whole as u64).map_err(|e| Failure::write(path, e))?;
        let line = |line: &str| {
            let (block, checksum) = line.rsplit_once(' ')?;
            Some((block.to_owned(), parse(checksum)?))
        };
        let known = text[..whole].lines().filter_map(line).collect();
        let record = Self { path: path.to_owned(), file: Mutex::new(file), known };
        if whole == 0 {
            record.write(&head)?;
        }
        Ok(record)
    }

    /// The checksum of a block that was done before.
    pub fn block(&self, case: &Case, number: u64) -> Option<u64> {
        self.known.get(&format!("{case} {number}")).copied()
    }

    /// Adds a block.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add(&self, case: &Case, number: u64, checksum: u64) -> Result<(), Failure> {
        self.write(&format!("{case} {number} {}\n", text(checksum)))
    }

    fn write(&self, line: &str) -> Result<(), Failure> {
        let mut file = self.file.lock().expect("no panic while it is held");
        file.write_all(line.as_bytes()).map_err(|e| Failure::write(&self.path, e))
    }
}
