//! `.npz` archives of arrays.

use std::io::{self, Write};
use std::path::Path;

use wgpu_cast::files::{
    CastLoss, FilePlan, InputFile, NpyElements, NpyError, NpyOrder, NpzArchive, NpzError, NpzMember, NpzWriter, ReadAt,
    npy_plan,
};
use wgpu_cast::{CastOptions, ElementType};

use super::input_state::Source;
use super::inputs::{self, Pair};
use super::plan::{Task, TaskOutput};
use super::report::{TensorReport, count};
use super::single::told;
use crate::args::ConvertArgs;
use crate::failure::Failure;
use crate::temporary;

/// An array of an archive that is written.
pub struct Entry {
    pub member: NpzMember,
    /// Its `.npy` file. The array of a compressed member is in input 1, into which it is decompressed first.
    pub plan: FilePlan,
}

impl Task {
    /// An archive: rules choose arrays by name. Arrays of strings are refused.
    pub fn npz(pair: Pair, args: &ConvertArgs) -> Result<Self, Failure> {
        let source = Source::of(&pair.input);
        let input = inputs::open(&pair.input)?;
        let fail = |error: NpzError| Failure::at(&pair.input, error);
        let mut archive = NpzArchive::open(&input).map_err(fail)?;
        let (mut entries, mut tensors) = (Vec::new(), Vec::new());
        for member in archive.members().to_vec() {
            let refuse = |what: String| Failure::at(&pair.input, format!("{}: {what}", member.name));
            // --from says what raw codes are, and chooses among the other arrays.
            let array = match archive.array(&member, None) {
                Err(NpzError::Npy { error: NpyError::NoElementType { .. }, .. }) => archive.array(&member, args.from),
                array => array,
            };
            let array = array.map_err(|error| match &error {
                NpzError::Npy { error, .. } => refuse(told(error)),
                _ => refuse(error.to_string()),
            })?;
            let NpyElements::Numbers(storage) = array.elements else {
                return Err(refuse("arrays of strings are not supported in archives".to_owned()));
            };
            let from = storage.element_type;
            let to = args.target(&member.name, from);
            let options = to.map_or(Ok(CastOptions::default()), |to| args.attributes.options(from, to))?;
            let mut stored = array
                .stored(&member.name, usize::from(member.stored.is_none()))
                .map_err(|error| refuse(told(&error)))?;
            stored.offset += member.stored.as_ref().map_or(0, |range| range.start);
            let plan = npy_plan(&stored, to.unwrap_or(from), &options, NpyOrder::Keep);
            let plan = plan.map_err(|error| refuse(told(&error)))?;
            tensors.push(TensorReport {
                file: pair.input.display().to_string(),
                name: member.name.clone(),
                shape: array.shape.clone(),
                from: Some(from),
                to,
                bytes: [from, to.unwrap_or(from)].map(|t| t.packed_bytes(count(&stored.shape)).unwrap_or(0)),
                lost: CastLoss::default(),
            });
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
pub fn tensors(input: &dyn ReadAt, path: &Path) -> Result<Vec<TensorReport>, Failure> {
    let fail = |error: NpzError| Failure::at(path, error);
    let mut archive = NpzArchive::open(input).map_err(fail)?;
    let members = archive.members().to_vec();
    let tensors = members.into_iter().map(|member| {
        let array = archive.array(&member, None).map_err(fail)?;
        let from = match array.elements {
            NpyElements::Numbers(storage) => Some(storage.element_type),
            _ => Some(ElementType::STRING),
        };
        let (name, shape) = (member.name, array.shape);
        // Strings have no packed size.
        let bytes = from.and_then(|from| from.packed_bytes(count(&shape))).unwrap_or(member.bytes);
        let (file, bytes) = (path.display().to_string(), [bytes; 2]);
        Ok(TensorReport { file, name, shape, from, to: None, bytes, lost: CastLoss::default() })
    });
    tensors.collect()
}

/// Writes the members of an archive one after the other. `make` writes one, from the archive and from the file into
/// which a compressed member was decompressed.
///
/// # Errors
/// The archive is damaged, or cannot be written.
pub fn write<W: Write>(
    (name, input): (&Path, &dyn ReadAt),
    entries: &[Entry],
    out: W,
    mut make: impl FnMut(&Entry, &[&dyn ReadAt], &mut dyn Write) -> Result<(), Failure>,
) -> Result<W, Failure> {
    let fail = |error: NpzError| Failure::at(name, error);
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
        writer.start(&entry.member.name, bytes, is_compressed).map_err(fail)?;
        make(entry, &inputs, &mut writer)?;
    }
    writer.finish().map_err(fail)
}
