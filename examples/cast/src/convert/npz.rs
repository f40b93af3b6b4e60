//! `.npz` archives of arrays.

mod member;

use std::io::{self, Write};
use std::path::Path;

use wgpu_cast_files::{CastLoss, FileCause, FileError, FilePlan, InputFile, NpzArchive, NpzMember, NpzWriter, ReadAt};

use super::input_state::Source;
use super::inputs::{self, Pair};
use super::plan::{Task, TaskOutput};
use super::report::{TensorReport, count};
use super::scales::{self, ScaleRole};
use super::source_types::SourceTypes;
use crate::args::ConvertArgs;
use crate::failure::Failure;
use crate::temporary;
use member::{Array, Elements};

/// An array of an archive that is written.
pub struct Entry {
    pub member: NpzMember,
    /// The plan of its `.npy` file. The array of a compressed member is in input 1: it is decompressed into that
    /// before.
    pub plan: FilePlan,
}

impl Task {
    /// Plans an archive. The rules choose arrays by name. Arrays that are not cast are copied byte for byte, whatever
    /// their dtype is.
    pub fn npz(pair: Pair, args: &ConvertArgs) -> Result<Self, Failure> {
        let source = Source::of(&pair.input);
        let input = inputs::open(&pair.input)?;
        let mut archive = NpzArchive::open(&input).map_err(|error| Failure::at(&pair.input, error))?;
        let members = archive.members().to_vec();
        let refuse = |member: &NpzMember, what: &dyn std::fmt::Display| {
            Failure::at(&pair.input, format!("{}: {what}", member.name))
        };
        let arrays = members
            .iter()
            .map(|member| Array::read(&mut archive, member, &args.from).map_err(|what| refuse(member, &what)));
        let arrays = arrays.collect::<Result<Vec<_>, _>>()?;
        let mut tensors: Vec<_> =
            members.iter().zip(&arrays).map(|(member, array)| report(&pair.input, member, array)).collect();
        scales::find(&mut tensors);
        let mut entries = Vec::new();
        for ((member, array), report) in members.into_iter().zip(arrays).zip(&mut tensors) {
            let refuse = |what: &dyn std::fmt::Display| refuse(&member, what);
            let is_left = report.role.as_ref().is_some_and(ScaleRole::is_scale) && !args.rules.maps(&member.name);
            let target = if is_left { Ok(None) } else { array.target(&member.name, args) };
            let target = target.map_err(|what| refuse(&what))?;
            array.warn_if_left(&pair.input, &member.name, args);
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
    let mut archive = NpzArchive::open(input).map_err(|error| Failure::at(path, error))?;
    let members = archive.members().to_vec();
    let tensors = members.iter().map(|member| {
        let array = Array::read(&mut archive, member, from);
        let array = array.map_err(|what| Failure::at(path, format!("{}: {what}", member.name)))?;
        Ok(report(path, member, &array))
    });
    let mut tensors = tensors.collect::<Result<Vec<_>, Failure>>()?;
    scales::find(&mut tensors);
    Ok(tensors)
}

/// The report of an array that stays as it is.
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
        role: None,
        lost: CastLoss::default(),
    }
}

/// Writes the members of an archive one after the other. `make` writes one member. It gets the archive, and the file
/// into which a compressed member was decompressed.
///
/// # Errors
/// The archive is damaged, or cannot be written.
pub fn write<W: Write>(
    (name, input): (&Path, &dyn ReadAt),
    entries: &[Entry],
    (to, out): (&Path, W),
    mut make: impl FnMut(&Entry, &[&dyn ReadAt], &mut dyn Write) -> Result<(), Failure>,
) -> Result<W, Failure> {
    let fail = |error: FileError| Failure::at(name, error);
    let failed = |error: FileError| match error.cause() {
        FileCause::Write(_) => Failure::at(to, error),
        _ => fail(error),
    };
    let mut archive = NpzArchive::open(input).map_err(fail)?;
    let mut writer = NpzWriter::new(out);
    for entry in entries {
        let is_compressed = entry.member.stored.is_none();
        let mut inputs = vec![input];
        let spool;
        if is_compressed {
            let mut file = temporary::file()?;
            archive.copy(&entry.member, &mut file).map_err(|error| match error.cause() {
                FileCause::Write(error) => temporary::failed(error),
                _ => fail(error),
            })?;
            spool = InputFile::new(file);
            inputs.push(&spool);
        } else {
            // Copies to nowhere, only to compare the checksum.
            archive.copy(&entry.member, &mut io::sink()).map_err(fail)?;
        }
        let bytes = entry.plan.bytes().unwrap_or(u64::MAX);
        writer.start(&entry.member.name, bytes, is_compressed).map_err(failed)?;
        make(entry, &inputs, &mut writer)?;
    }
    writer.finish().map_err(failed)
}
