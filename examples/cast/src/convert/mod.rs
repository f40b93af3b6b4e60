//! `wgpu-cast convert`: files of tensors and models.

pub mod advice;
mod caster;
mod config;
mod dequantize;
mod dry_run;
mod finished;
mod folder;
mod folder_types;
pub mod index;
pub mod index_output;
mod input;
mod input_state;
pub mod inputs;
mod json;
pub mod listing;
mod models;
mod npz;
mod onnx;
mod options;
mod patterns;
mod plan;
mod plot;
mod quantize;
mod refusals;
mod report;
mod request;
mod rules;
mod safetensors;
mod scales;
mod shard_part;
mod shared_data;
mod single;
mod source_types;
mod stamp;
mod writer;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io::Write;
use std::path::{Path, PathBuf};

use wgpu_cast::onnx::{CastNode, NEWEST_OPSET};
use wgpu_cast::{CastOptions, ElementType};
use wgpu_cast_files::onnx::NamedTensor;

use crate::args::{Attributes, ConvertArgs, InfoArgs};
use crate::atomic::target::{Existing, NewFolder, Permissions};
use crate::atomic::{self, Output};
use crate::failure::Failure;
use crate::files::FileFormat;
use crate::output::{note, warning};
use crate::roles::{FilePlace, Roles};
use caster::Caster;
use config::Changes;
use dry_run::DryRun;
pub use finished::Finished;
use folder_types::{FolderTypes, types_by_folder};
use index::Index;
use index_output::IndexOutput;
pub use input_state::Source;
pub use inputs::read_text;
use listing::Listing;
use models::Models;
use plan::Task;
use refusals::Planned;
use report::{Summary, TensorReport};
use request::{Request, format};
pub use rules::{Pattern, Rules};
use scales::ScaleRole;
pub use shard_part::ShardPart;
use single::Single;
pub use source_types::SourceTypes;
use writer::Writer;

pub fn convert(args: &ConvertArgs) -> Result<(), Failure> {
    let Request { pairs, indexes, copies, folder, elsewhere } = Request::new(args)?;
    let of_models = pairs.iter().filter(|pair| pair.input_format == FileFormat::Safetensors);
    let mut models = Models::of_run(of_models.map(|pair| pair.input.as_path()));
    let output_checked = if folder.is_none() { pairs.iter().try_for_each(models::check_output) } else { Ok(()) };
    let mut tasks = pairs.into_iter().map(|pair| Task::new(pair, args, &mut models)).collect::<Result<Vec<_>, _>>()?;
    patterns::check(&tasks, &indexes, &elsewhere, args)?;
    options::check_tensors(&tasks, args)?;
    check_scales(&tasks, args)?;
    args.check_attributes(&tasks)?;
    if args.rules.clamp {
        clamp(&mut tasks, args.part)?;
    }
    let sources = indexes.iter().map(|output| {
        let checked = output.index.check(&output.source);
        checked.map_err(|what| Failure::at(&output.source.join(&output.index.name), what))
    });
    let sources = sources.collect::<Result<Vec<_>, _>>()?;
    let types = types_by_folder(&tasks, indexes.iter().zip(&sources), args);
    let converted = tasks.len();
    let warnings = add_copies(copies, &types, &mut tasks, args)?;
    let others: Vec<_> = indexes.iter().map(IndexOutput::path).chain(args.plot.clone()).collect();
    let list = folder.as_deref().filter(|_| args.resume).map(|folder| Finished::path(folder, args.part));
    check_names(&tasks, &indexes, list.as_deref(), args)?;
    // After `check_names`, whose messages say more.
    output_checked?;
    shared_data::check(&tasks)?;
    warnings.iter().for_each(warning);
    let tensors = |tasks: &[Task]| tasks.iter().flat_map(|task| task.tensors.iter().cloned()).collect::<Vec<_>>();
    let caster = Caster::open(&args.device)?;
    let mut writer = Writer::new(args, &caster, &tasks, folder.as_deref());
    let existing = args.existing(tasks.iter().flat_map(|task| &task.sources));
    let stale: Vec<_> = indexes.iter().flat_map(IndexOutput::stale).collect();
    let small = |path: &PathBuf| Planned { path: path.clone(), bytes: 0, existing };
    let mut planned: Vec<_> = stale.iter().map(small).collect();
    planned.extend(writer.planned(&tasks)?);
    planned.extend(others.iter().filter(|path| !stale.contains(path)).map(small));
    // In these cases no output gets its name before all outputs are complete.
    let keeps_all = args.strict || args.in_place;
    let refused = refusals::of(&planned, folder.as_deref(), keeps_all);
    if args.dry_run {
        note_scales(&tensors(&tasks), args);
        let (conversions, copies) = tasks.split_at(converted);
        let indexes = indexes.iter().map(IndexOutput::path).collect();
        return DryRun { conversions, copies, indexes, refused }.print(args.print);
    }
    if let Some(first) = refused.into_iter().next() {
        return Err(first);
    }
    let mut new_folder = folder.as_deref().map(NewFolder::create).transpose()?;
    if let Some(new_folder) = &mut new_folder {
        let folders = tasks.iter().flat_map(|task| &task.outputs).filter_map(|output| output.target.folder());
        folders.collect::<BTreeSet<_>>().into_iter().try_for_each(|folder| new_folder.add(folder))?;
    }
    writer.remove_first(&stale)?;
    let begun = indexes.iter().map(|index| index.begin(existing)).collect::<Result<Vec<_>, _>>()?;
    tasks.iter_mut().try_for_each(|task| writer.write(task))?;
    let (seconds, resumed) = writer.stop();
    let tensors = tensors(&tasks);
    let only_strings = !tensors.iter().any(|tensor| tensor.to.is_some() && tensor.is_numeric());
    let route = match tensors.iter().any(|tensor| tensor.to.is_some()) {
        true => caster.route(&args.device, only_strings),
        false => "nothing was cast".to_owned(),
    };
    let relative_errors = args.needs_relative_errors();
    let summary = Summary { tensors: &tensors, route: &route, seconds, resumed, relative_errors };
    if args.print.json {
        summary.print_json()?;
    } else if args.stats {
        summary.print_stats()?;
    }
    note_scales(&tensors, args);
    if !args.print.json {
        note(summary.text());
    }
    for lost in [summary.beyond_range(), summary.lost_scales()].into_iter().flatten() {
        if args.strict {
            writer.discard();
            return Err(Failure::Work(format!("--strict: {lost}; nothing was written (--stats lists all tensors)")));
        }
        warning(format_args!("{lost} (--strict makes this an error, --stats lists all tensors)"));
    }
    let mut indexes: Vec<_> = indexes.into_iter().zip(begun).zip(sources).collect();
    let text = |writer: &Writer<'_>, ((index, mut output), sources): ((IndexOutput, Output), index::Shards)| {
        let text = index.text(&tensors, writer.named(), sources.identity, args)?;
        output.write_all(text.as_bytes()).map_err(|error| Failure::write(output.name(), error))?;
        output.complete()
    };
    // In place, the old index may be wrong as soon as the first shard is replaced, so the new one is complete before.
    if args.in_place {
        for index in std::mem::take(&mut indexes) {
            let index = text(&writer, index)?;
            writer.name_last(index);
        }
    }
    writer.name()?;
    if let Some(path) = &args.plot {
        atomic::write(path, &[plot::draw(&tensors).as_bytes()], existing)?;
    }
    indexes.into_iter().try_for_each(|index| text(&writer, index)?.rename())?;
    writer.close();
    new_folder.into_iter().for_each(NewFolder::keep);
    caster.close();
    Ok(())
}

/// Prints the tensors of a file, of the shards of an index, or of all files below a folder.
///
/// # Errors
/// A file is invalid.
pub fn list(path: &Path, args: &InfoArgs) -> Result<(), Failure> {
    let files = files_to_list(path, args)?;
    let has = |wanted: &[FileFormat]| files.iter().any(|(_, format)| wanted.contains(format));
    args.from.check(has(&[FileFormat::Npz]))?;
    if args.from.plain().is_some() && !has(&[FileFormat::Bin, FileFormat::Npy, FileFormat::Npz, FileFormat::Pb]) {
        let what = "--from is for .bin, .npy, .npz and .pb files";
        return Err(Failure::Usage(format!("{}: {what}", path.display())));
    }
    let of_models = files.iter().filter(|(_, format)| *format == FileFormat::Safetensors);
    let mut models = Models::of_run(of_models.map(|(path, _)| path.as_path()));
    for (file, format) in files {
        let tensors = plan::tensors(&file, format, &args.from, &mut models);
        let tensors = tensors.map_err(|failure| advice::explained(&file, format, failure))?;
        if !args.json {
            note(format_args!("{}:", file.display()));
        }
        tensors.iter().try_for_each(|tensor| tensor.print(args.json))?;
    }
    Ok(())
}

/// A file, the shards of an index, or all files below a folder.
fn files_to_list(path: &Path, args: &InfoArgs) -> Result<Vec<(PathBuf, FileFormat)>, Failure> {
    if index::is_index(path) {
        let index = Index::read(path)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        index.check(folder).map_err(|what| Failure::at(path, what))?;
        return Ok(index.shards().into_iter().map(|shard| (folder.join(shard), FileFormat::Safetensors)).collect());
    }
    if !path.is_dir() {
        return Ok(vec![(path.to_owned(), format(path, args.in_format)?)]);
    }
    let listing = Listing::read(path, args.in_format)?;
    let files = listing.files.into_iter();
    let mut files: Vec<_> = files.filter_map(|(file, format)| format.map(|format| (file, format))).collect();
    for folder in listing.folders {
        files.extend(files_to_list(&folder, args)?);
    }
    Ok(files)
}

/// Reads the tensor of a file that has one.
///
/// # Errors
/// The file is invalid.
pub fn read_tensor(path: &Path, format: FileFormat) -> Result<NamedTensor, Failure> {
    Single::open(path, format, None, None)?.in_memory(path)
}

/// Adds copies of files that are not converted. A model's data is not copied, because it is converted with the model.
/// Returns notes for the user.
fn add_copies(
    copies: Vec<(PathBuf, PathBuf)>,
    types: &HashMap<PathBuf, FolderTypes>,
    tasks: &mut Vec<Task>,
    args: &ConvertArgs,
) -> Result<Vec<String>, Failure> {
    let mut told = Vec::new();
    let place = |path: &Path| path.canonicalize().unwrap_or(path.to_owned());
    let read: HashSet<_> = tasks.iter().flat_map(|task| &task.sources).map(|source| place(&source.path)).collect();
    if args.in_place && args.changes_scales() {
        // Files are converted without what lies beside them.
        let alone = types.iter().filter(|(folder, _)| !copies.iter().any(|(from, _)| from.parent() == Some(folder)));
        let alone: BTreeMap<_, _> = alone.collect();
        told.extend(alone.into_iter().flat_map(|(folder, types)| config::outdated(folder, types)));
    }
    for (from, to) in copies.into_iter().filter(|(from, _)| !read.contains(&place(from))) {
        let types = from.parent().and_then(|folder| types.get(folder));
        let Changes { edits, warnings } =
            types.map_or(Ok(Changes::default()), |types| config::changes(&from, types))?;
        // A file that is copied onto itself is there already.
        let is_there = args.in_place && FilePlace::of(&from) == FilePlace::of(&to);
        if types.is_some_and(|types| types.is_dequantized()) && config::is_of_scales(&from) {
            if is_there {
                told.push(format!("{}: {}", from.display(), config::OUTDATED));
            }
            continue;
        }
        told.extend(warnings.iter().map(|what| format!("{}: {what}", from.display())));
        if is_there && edits.is_empty() {
            continue;
        }
        if config::may_have_weights(&from) {
            told.push(format!("{}: copied as it is; tensors in it are not converted", from.display()));
        }
        tasks.push(Task::copy(&from, to, edits)?);
    }
    Ok(told)
}

/// Refuses to cast codes without their scales, unless the user asks for that.
fn check_scales(tasks: &[Task], args: &ConvertArgs) -> Result<(), Failure> {
    let scaled: Vec<_> = tasks.iter().flat_map(|task| &task.tensors).filter(|tensor| tensor.loses_scale()).collect();
    match (scaled.first(), args.rules.ignore_scales) {
        (Some(first), false) => Err(scales::refuse(first, scaled.len())),
        _ if args.rules.dequantize => check_dequantized(tasks, args),
        _ if args.rules.quantize.is_some() => check_quantized(tasks, args),
        (None, true) if args.part.is_none() => {
            Err(Failure::Usage("--ignore-scales: no tensor that is cast has a scale".to_owned()))
        }
        _ => Ok(()),
    }
}

/// Refuses `--dequantize` if nothing is multiplied. Other parts of a model may have scales.
fn check_dequantized(tasks: &[Task], args: &ConvertArgs) -> Result<(), Failure> {
    let mut tensors = tasks.iter().flat_map(|task| &task.tensors);
    match tensors.any(|tensor| matches!(tensor.role, Some(ScaleRole::Applied(_)))) || args.part.is_some() {
        true => Ok(()),
        false => Err(Failure::Usage("--dequantize: no tensor that the rules choose has a scale".to_owned())),
    }
}

/// Refuses `--quantize` if no tensor gets a scale. Other parts of a model may have weights.
fn check_quantized(tasks: &[Task], args: &ConvertArgs) -> Result<(), Failure> {
    let mut tensors = tasks.iter().flat_map(|task| &task.tensors);
    match tensors.any(|tensor| matches!(tensor.role, Some(ScaleRole::DividedBy(_)))) || args.part.is_some() {
        true => Ok(()),
        false => Err(Failure::Usage(
            "--quantize: no tensor that the rules choose is the weight of a linear layer (--map GLOB=float8e4m3fn names \
             others)"
                .to_owned(),
        )),
    }
}

/// Says how many scales stay as they are. In JSON, each tensor says so itself.
fn note_scales(tensors: &[TensorReport], args: &ConvertArgs) {
    report::kept_scales(tensors).filter(|_| !args.print.json).into_iter().for_each(note);
}

/// Clamps all casts. If that affects none of them, it is an error.
fn clamp(tasks: &mut [Task], part: Option<ShardPart>) -> Result<(), Failure> {
    let has_effect = tasks.iter_mut().fold(false, |has_effect, task| task.clamp() | has_effect);
    let has_casts = tasks.iter().flat_map(|task| &task.tensors).any(|tensor| tensor.to.is_some());
    // Other parts may have casts that it affects.
    if has_casts && !has_effect && part.is_none() {
        let what = "--clamp affects only casts of numbers to float16, bfloat16 and float, and there are none";
        return Err(Failure::Usage(what.to_owned()));
    }
    Ok(())
}

/// Refuses an output that is an input or another output.
fn check_names(
    tasks: &[Task],
    indexes: &[IndexOutput],
    list: Option<&Path>,
    args: &ConvertArgs,
) -> Result<(), Failure> {
    let mut roles = Roles::default();
    let mut read_by = Vec::new();
    let inputs: HashSet<_> = tasks.iter().filter_map(|task| Some(task.sources.first()?.path.as_path())).collect();
    for task in tasks {
        let data = if args.rules.dequantize { "file with scales of the input" } else { "data of the input" };
        let what = |number| format!("the {} {}", if number == 0 { "input" } else { data }, task.name);
        // Scales may be in other inputs of this run. In place, no input is replaced before all outputs are complete.
        let is_told = |(number, source): &(usize, &Source)| {
            *number == 0 || !args.rules.dequantize || !inputs.contains(source.path.as_path())
        };
        let sources = task.sources.iter().enumerate().filter(is_told);
        read_by.push(sources.map(|(number, source)| roles.read(&source.path, what(number))).collect::<Vec<_>>());
    }
    let read_index = |output: &IndexOutput| output.source.join(&output.index.name);
    let read_indexes: Vec<_> =
        indexes.iter().map(|output| roles.read(&read_index(output), "the index of the inputs")).collect();
    for (task, read) in tasks.iter().zip(read_by) {
        // The model is the last output and the first input; the data of a model may go with it.
        let (mut own, mut what) = (&read[..1], "the output");
        for (number, output) in task.outputs.iter().enumerate().rev() {
            let path = output.target.path();
            roles.write(path, &format!("{what} of {}", task.name), own, args.in_place)?;
            if number + 1 == task.outputs.len() {
                let is_in_place =
                    FilePlace::of(path) == task.sources.first().and_then(|source| FilePlace::of(&source.path));
                (own, what) = (if is_in_place { &read[1..] } else { &[] }, "the data of the output");
            }
        }
    }
    for (output, read) in indexes.iter().zip(read_indexes) {
        roles.write(&output.path(), "the index of the outputs", &[read], args.in_place)?;
    }
    list.map_or(Ok(()), |path| roles.write(path, "the list of finished outputs", &[], false))?;
    args.plot.as_deref().map_or(Ok(()), |path| roles.write(path, "the picture of --plot", &[], false))
}

impl ConvertArgs {
    /// How to treat existing outputs, and the permissions of new ones, which are those of their inputs.
    fn existing<'a>(&self, inputs: impl IntoIterator<Item = &'a Source>) -> Existing {
        let modes = inputs.into_iter().filter_map(|input| Some(input.state?.mode));
        let (resume, no_clobber, force) = (self.resume, self.no_clobber, self.force);
        Existing { resume, no_clobber, force, permissions: Permissions::of_all(modes) }
    }

    /// Whether the relative errors of casts are needed.
    fn needs_relative_errors(&self) -> bool {
        self.stats || self.plot.is_some()
    }

    /// Refuses attributes that affect no tensor.
    fn check_attributes(&self, tasks: &[Task]) -> Result<(), Failure> {
        // Other parts may have casts that they affect.
        if self.part.is_some() {
            return Ok(());
        }
        let targets: Vec<_> = tasks.iter().flat_map(|task| &task.tensors).filter_map(|tensor| tensor.to).collect();
        let is_8_bit = |to: &ElementType| matches!(to.kind(), wgpu_cast::Kind::Float(format) if to.bits() == Some(8) && format.has_nan());
        if self.attributes.saturate.is_some() && !targets.is_empty() && !targets.iter().any(is_8_bit) {
            return Err(Failure::Usage("--saturate affects only casts to 8-bit floats, and there are none".to_owned()));
        }
        let is_e8m0 = |to: &ElementType| *to == ElementType::FLOAT8E8M0;
        if self.attributes.round_mode.is_some() && !targets.is_empty() && !targets.iter().any(is_e8m0) {
            return Err(Failure::Usage("--round-mode affects only casts to float8e8m0, and there are none".to_owned()));
        }
        Ok(())
    }
}

impl Attributes {
    /// The options of casts in a model. The model has its own opset, so that of the arguments is not used.
    ///
    /// # Errors
    /// The newest opset has no such attribute.
    pub fn of_model(&self) -> Result<CastOptions, Failure> {
        let node = CastNode::with_target(NEWEST_OPSET, ElementType::FLOAT8E8M0, self.saturate, self.round_mode)?;
        Ok(node.options())
    }

    /// The options that follow from Cast's attributes at this opset.
    ///
    /// # Errors
    /// The opset has no such attribute or type, or is not supported.
    pub fn options(&self, from: ElementType, to: ElementType) -> Result<CastOptions, Failure> {
        let node = CastNode::with_target(self.opset.unwrap_or(NEWEST_OPSET), to, self.saturate, self.round_mode)?;
        node.check(from)?;
        Ok(node.options())
    }
}
