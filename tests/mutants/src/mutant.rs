//! The changes that cargo-mutants lists.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::error::Error;
use std::fs;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// One change.
#[derive(Debug)]
pub struct Mutant {
    /// Its place in the list.
    pub id: u32,
    pub name: String,
    pub kind: String,
    /// Bytes of the file that change.
    pub span: Range<usize>,
    pub replacement: String,
}

/// A source file with its changes.
#[derive(Debug)]
pub struct Source {
    pub path: PathBuf,
    pub text: String,
    pub mutants: Vec<Mutant>,
}

/// Reads the list of cargo-mutants and the files that it names.
pub fn read(mut list: impl Read, folder: &Path) -> Result<Vec<Source>, Box<dyn Error>> {
    let mut text = String::new();
    list.read_to_string(&mut text)?;
    let mut sources = BTreeMap::<String, Source>::new();
    for (id, entry) in serde_json::from_str::<Vec<Value>>(&text)?.iter().enumerate() {
        let word = |name: &str| entry[name].as_str().map(str::to_owned).ok_or_else(|| format!("no {name} in {entry}"));
        let file = word("file")?;
        let source = match sources.entry(file.clone()) {
            Entry::Occupied(found) => found.into_mut(),
            Entry::Vacant(place) => {
                let text = fs::read_to_string(folder.join(&file))?;
                place.insert(Source { path: PathBuf::from(file), text, mutants: Vec::new() })
            }
        };
        let place = |end: &str| {
            let number = |name: &str| entry["span"][end][name].as_u64().unwrap_or(1) as usize;
            offset(&source.text, number("line"), number("column") - 1)
        };
        let span = place("start")..place("end");
        let (name, kind, replacement) = (word("name")?, word("genre")?, word("replacement")?);
        source.mutants.push(Mutant { id: id as u32, name, kind, span, replacement });
    }
    Ok(sources.into_values().collect())
}

/// The byte of a line, counted from one, and a column in characters, counted from zero.
pub fn offset(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
    let line = &text[start..];
    start + line.char_indices().nth(column).map_or(line.len(), |(byte, _)| byte)
}
