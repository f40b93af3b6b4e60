//! The journal of a partial file: the pieces that it contains, and what their casts lost.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::ops::Range;

use serde_json::{Value, json};
use wgpu_cast_files::CastLoss;

/// The first line. `plan` identifies what is written, `bytes` is the size of the output.
pub fn head(plan: Option<u64>, bytes: u64) -> String {
    json!({"cast-partial": 1, "plan": plan.map(|plan| format!("{plan:016x}")), "bytes": bytes}).to_string() + "\n"
}

/// A piece that the journal lists.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub output: Range<u64>,
    pub checksum: u32,
    pub losses: Vec<(usize, CastLoss)>,
}

impl Entry {
    /// The line of the piece.
    pub fn line(&self) -> String {
        let losses = losses_to_json(self.losses.iter().copied());
        let Range { start, end } = self.output;
        json!({"start": start, "end": end, "crc32": self.checksum, "losses": losses}).to_string() + "\n"
    }

    /// Parses a line that [`line`](Self::line) made; `None` for any other text.
    fn parse(line: &str) -> Option<Self> {
        let line: Value = serde_json::from_str(line).ok()?;
        Some(Self {
            output: line["start"].as_u64()?..line["end"].as_u64()?,
            checksum: u32::try_from(line["crc32"].as_u64()?).ok()?,
            losses: losses_from_json(&line["losses"])?,
        })
    }
}

/// The pieces that a partial file contains: from its beginning without a gap, those with the right checksum. `None` if
/// the file belongs to another plan.
///
/// # Errors
/// The file system refuses it.
pub fn read(file: &mut File, bytes: u64, head: &str) -> io::Result<Option<Vec<Entry>>> {
    file.seek(SeekFrom::Start(bytes))?;
    let mut lines = BufReader::new(&mut *file).lines();
    if lines.next().transpose().ok().flatten().as_deref() != Some(head.trim_end()) {
        return Ok(None);
    }
    // A line that was cut off ends the journal.
    let listed: Vec<Entry> = lines.map_while(|line| Entry::parse(&line.ok()?)).collect();
    let mut entries: Vec<Entry> = Vec::new();
    let mut piece = Vec::new();
    for entry in listed {
        let start = entries.last().map_or(0, |last| last.output.end);
        let Range { start: from, end } = entry.output;
        if from != start || end <= from || end > bytes {
            break;
        }
        piece.clear();
        file.seek(SeekFrom::Start(from))?;
        (&mut *file).take(end - from).read_to_end(&mut piece)?;
        if piece.len() as u64 != end - from || crc32fast::hash(&piece) != entry.checksum {
            break;
        }
        entries.push(entry);
    }
    Ok(Some(entries))
}

/// What casts lost, by the index of the part.
pub fn losses_to_json(losses: impl Iterator<Item = (usize, CastLoss)>) -> Value {
    let counts = |lost: &CastLoss| lost.counts.iter().collect::<BTreeMap<_, _>>();
    // The error is written as its bits, so that it is read back exactly.
    losses.map(|(part, lost)| json!([part, counts(&lost), lost.relative_error.to_bits()])).collect()
}

/// Reads what [`losses_to_json`] made; `None` for any other value.
pub fn losses_from_json(value: &Value) -> Option<Vec<(usize, CastLoss)>> {
    let losses = value.as_array()?.iter().map(|pair| {
        let part = usize::try_from(pair[0].as_u64()?).ok()?;
        let mut lost = CastLoss::default();
        lost.relative_error = f64::from_bits(pair[2].as_u64()?);
        for (name, count) in lost.counts.iter_mut() {
            *count = pair[1][name].as_u64()?;
        }
        Some((part, lost))
    });
    losses.collect()
}
