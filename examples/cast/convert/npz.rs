//! `.npz` archives of arrays.

mod member;

use std::io::{self, Write};
use std::path::Path;

use wgpu_cast::files::{CastLoss, FilePlan, InputFile, NpzArchive, NpzError, NpzMember, NpzWriter, ReadAt};

use super::input_state::Source;
use super::inputs::{self, Pair};
use super::plan::{Task, TaskOutput};
use super::report::{TensorReport, count};
use super::single::told;
use super::source_types::SourceTypes;
use crate::args::ConvertArgs;
use crate::failure::Failure;
use crate::temporary;
use member::{Array, Elements};

/// An array of an archive that is written.
pub struct Entry {
    pub member: NpzMember,
    /// Its `.npy` file. The array of a compressed member is in input 1, into which it is decompressed first.
    pub plan: FilePlan,
}

impl Task {
    /// An archive: rules choose arrays by name. Arrays that are not cast are copied byte for byte, whatever their dtype.
    pub fn npz(pair: Pair, args: &ConvertArgs) -> Result<Self, Failure> {
        let source = Source::of(&pair.input);
        let input = inputs::open(&pair.input)?;
        let mut archive = NpzArchive::open(&input).map_err(|error| Failure::at(&pair.input, error))?;
        let (mut entries, mut tensors) = (Vec::new(), Vec::new());
        for member in archive.members().to_vec() {
            let refuse = |what: &dyn std::fmt::Display| Failure::at(&pair.input, format!("{}: {what}", member.name));
            let array = Array::read(&mut archive, &member, &args.from).map_err(|error| match &error {
                NpzError::Npy { error, .. } => refuse(&told(error)),
                _ => refuse(&error),
            })?;
            let target = array.target(&member.name, args).map_err(|what| refuse(&what))?;
            array.warn_if_left(&member.name, args);
            let mut report = report(&pair.input, &member, &array);
            let plan = match (array.element_type(), target) {
                (Some(from), Some(to)) => {
                    let options = args.attributes.options(from, to)?;
                    let plan = array.cast(&mut archive, &member, to, &options, args).map_err(|error| match error {
                        Failure::Work(what) => refuse(&what),
                        usage => usage,
                    })?;
                    report.to = Some(to);
                    let after = to.packed_bytes(count(&report.shape)).or_else(|| plan.bytes());
                    report.bytes[1] = after.unwrap_or(0);
                    plan
                }
                _ => Array::copy(&member),
            };
            tensors.push(report);
            entries.push(Entry { member, plan });
        }
        drop(archive);
        let output = TaskOutput { target: pair.output, plan: FilePlan::default(), rows: Vec::new() };
        let task = Self::of_file(source, vec![Box::new(input)], output, tensors);
        Ok(Self { archive: Some(entries), ..task })
    }
}

/// The arrays of an archive.
///
/// # Errors
/// The archive is invalid.
pub fn tensors(input: &dyn ReadAt, path: &Path, from: &SourceTypes) -> Result<Vec<TensorReport>, Failure> {
    let fail = |error: NpzError| Failure::at(path, error);
    let mut archive = NpzArchive::open(input).map_err(fail)?;
    let members = archive.members().to_vec();
    let tensors =
        members.iter().map(|member| Ok(report(path, member, &Array::read(&mut archive, member, from).map_err(fail)?)));
    tensors.collect()
}

/// An array that stays as it is.
fn report(path: &Path, member: &NpzMember, array: &Array) -> TensorReport {
    let from = array.element_type();
    let shape = array.header.shape.clone();
    // Strings and unknown elements have no packed size.
    let packed = from.and_then(|from| from.packed_bytes(count(&shape)));
    let bytes = packed.unwrap_or(member.bytes.saturating_sub(array.header.data_offset));
    TensorReport {
        file: path.display().to_string(),
        name: member.name.clone(),
        shape,
        from,
        dtype: matches!(array.elements, Elements::Other(_)).then(|| array.header.dtype.clone()),
        to: None,
        bytes: [bytes; 2],
        lost: CastLoss::default(),
    }
}

/// Writes the members of an archive one after the other. `make` writes one, from the archive and from the file into
/// which a compressed member was decompressed.
///
/// # Errors
/// The archive is damaged, or cannot be written.
pub fn write<W: Write>(
    (name, input): (&Path, &dyn ReadAt),
    entries: &[Entry],
    (to, out): (&Path, W),
    mut make: impl FnMut(&Entry, &[&dyn ReadAt], &mut dyn Write) -> Result<(), Failure>,
) -> Result<W, Failure> {
    let fail = |error: NpzError| Failure::at(name, error);
    let failed = |error: NpzError| Failure::at(if matches!(error, NpzError::Write(_)) { to } else { name }, error);
    let mut archive = NpzArchive::open(input).map_err(fail)?;
    let mut writer = NpzWriter::new(out);
    for entry in entries {
        let is_compressed = entry.member.stored.is_none();
        let mut inputs = vec![input];
        let spool;
        if is_compressed {
            let mut file = temporary::file()?;
            archive.copy(&entry.member, &mut file).map_err(|error| match error {
                NpzError::Write(error) => temporary::failed(&error),
                error => fail(error),
            })?;
            spool = InputFile::new(file);
            inputs.push(&spool);
        } else {
            // Only the checksum is compared.
            archive.copy(&entry.member, &mut io::sink()).map_err(fail)?;
        }
        let bytes = entry.plan.bytes().unwrap_or(u64::MAX);
        writer.start(&entry.member.name, bytes, is_compressed).map_err(failed)?;
        make(entry, &inputs, &mut writer)?;
    }
    writer.finish().map_err(failed)
}
