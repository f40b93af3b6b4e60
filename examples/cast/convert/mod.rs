//! `cast convert`: files of tensors and models.

mod caster;
mod finished;
mod inputs;
mod npz;
mod onnx;
mod plan;
mod progress;
mod report;
mod rules;
mod shard_part;
mod single;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};

use wgpu_cast::LossCounts;
use wgpu_cast::files::{self, FileError, FilePlan, FinishedPiece, Part, ReadAt, StreamSettings};
use wgpu_cast::onnx::{CastNode, NEWEST_OPSET, NamedTensor};
use wgpu_cast::{CastOptions, ElementType};

use crate::args::{Attributes, ConvertArgs, InfoArgs};
use crate::atomic::{self, Complete, Existing, Output};
use crate::failure::Failure;
use crate::files::FileFormat;
use crate::merge::name_of_part;
use crate::output::note;
use caster::Caster;
use finished::Finished;
pub use inputs::Index;
use inputs::{Pair, Target};
use plan::Task;
use progress::Progress;
use report::Summary;
pub use rules::{Pattern, Rules};
pub use shard_part::ShardPart;
use single::Single;

pub fn convert(args: &ConvertArgs) -> Result<(), Failure> {
    let Request { pairs, index, copies, folder } = Request::new(args)?;
    let mut tasks = pairs.into_iter().map(|pair| Task::new(pair, args)).collect::<Result<Vec<_>, _>>()?;
    args.check_attributes(&tasks)?;
    let tensors = |tasks: &[Task]| tasks.iter().flat_map(|task| task.tensors.iter().cloned()).collect::<Vec<_>>();
    if args.dry_run {
        return report::print_plan(&tensors(&tasks), args.print.json);
    }
    let caster = Caster::open(&args.device)?;
    if let Some(folder) = &folder {
        std::fs::create_dir_all(folder).map_err(|error| Failure::at(folder, error))?;
    }
    let total = tasks.iter().map(Task::bytes).sum();
    let progress = Progress::new(total, args.print.quiet || args.print.json);
    let finished = folder.as_deref().filter(|_| args.resume).map(|folder| {
        Finished::open(folder, &args.part.map_or(String::new(), |part| format!("-{}-of-{}", part.index, part.count)))
    });
    let mut writer = Writer { args, caster: &caster, progress, finished, complete: Vec::new(), resumed: 0 };
    tasks.iter_mut().try_for_each(|task| writer.write(task))?;
    let seconds = writer.progress.stop();
    let tensors = tensors(&tasks);
    let read = tensors.iter().map(|tensor| tensor.bytes[0]).sum();
    let string = ElementType::STRING.name();
    let is_numeric = !tensors.iter().any(|tensor| tensor.from == string || tensor.to == Some(ElementType::STRING));
    let route = caster.route(&args.device, is_numeric);
    let summary = Summary { tensors: &tensors, route: &route, seconds, bytes: [read, total], resumed: writer.resumed };
    if args.print.json {
        summary.print_json()?;
    } else if args.stats {
        summary.print_stats()?;
    }
    if !args.print.quiet && !args.print.json {
        summary.print_text();
    }
    if args.strict && summary.lost().overflowed() > 0 {
        return Err(Failure::Work("--strict: values are beyond the range of the type; nothing was written".to_owned()));
    }
    writer.name()?;
    if let Some(index) = index {
        write_index(index, &tasks, args)?;
    }
    copies.iter().try_for_each(|(from, to)| copy(from, to, args.existing()))?;
    writer.finished.iter().for_each(Finished::remove);
    caster.close();
    Ok(())
}

/// Prints the tensors of a file or of the files of a folder.
///
/// # Errors
/// A file is invalid.
pub fn list(path: &Path, args: &InfoArgs) -> Result<(), Failure> {
    if path.is_dir() {
        let files = inputs::files_of(path)?.into_iter().filter(|(_, format)| format.is_some());
        return files.map(|(file, _)| file).try_for_each(|file| list(&file, args));
    }
    let tensors = plan::tensors(path, format(path, args.in_format)?)?;
    if !args.json {
        note(format_args!("{}:", path.display()));
    }
    tensors.iter().try_for_each(|tensor| tensor.print(args.json))
}

/// Reads the tensor of a file that has one.
///
/// # Errors
/// The file is invalid.
pub fn read_tensor(path: &Path, format: FileFormat) -> Result<NamedTensor, Failure> {
    Single::open(path, format, None, None)?.in_memory(path)
}

/// What is to be done.
struct Request {
    pairs: Vec<Pair>,
    index: Option<Index>,
    /// Other files of a model's folder.
    copies: Vec<(PathBuf, PathBuf)>,
    /// The folder of the outputs, if they go to one.
    folder: Option<PathBuf>,
}

impl Request {
    fn new(args: &ConvertArgs) -> Result<Self, Failure> {
        let (inputs, output) = match (&args.out_dir, args.paths.split_last()) {
            (Some(folder), _) => (&args.paths[..], folder.clone()),
            (None, Some((output, inputs @ [_]))) => (inputs, output.clone()),
            (None, Some((only, []))) => {
                let what = "give an output, or --out-dir DIR";
                return Err(Failure::Usage(format!("{}: {what}", only.display())));
            }
            _ => return Err(Failure::Usage("several inputs need --out-dir DIR".to_owned())),
        };
        let mut request = Self { pairs: Vec::new(), index: None, copies: Vec::new(), folder: None };
        for input in inputs {
            if inputs::is_index(input) {
                request.add_model(input, &output, args)?;
            } else if input.is_dir() {
                match inputs::index_of(input) {
                    Some(index) => request.add_model(&index, &output, args)?,
                    None => request.add_folder(input, &output, args)?,
                }
            } else if args.out_dir.is_some() {
                let input_format = format(input, args.in_format)?;
                let output_format = args.out_format.unwrap_or(input_format);
                let name = Path::new(input.file_name().unwrap_or_default());
                let name = if output_format == input_format {
                    name.to_owned()
                } else {
                    name.with_extension(output_format.extension())
                };
                let output = Target::File(output.join(name));
                request.pairs.push(Pair { input: input.clone(), input_format, output, output_format });
            } else {
                let input_format = format(input, args.in_format)?;
                let (target, output_format) = if output == Path::new("-") {
                    (Target::Stdout, args.out_format.unwrap_or(input_format))
                } else if output.is_dir() {
                    return Err(Failure::at(&output, "cannot write: it is a folder"));
                } else {
                    (Target::File(output.clone()), format(&output, args.out_format)?)
                };
                request.pairs.push(Pair { input: input.clone(), input_format, output: target, output_format });
            }
        }
        let has_model = request.pairs.iter().any(|pair| pair.input_format == FileFormat::Onnx);
        let of_models =
            [(args.graph, "--graph"), (args.keep_io_types, "--keep-io-types"), (!args.keep.is_empty(), "--keep")];
        if let Some((_, option)) = of_models.iter().find(|(given, _)| *given && !has_model) {
            return Err(Failure::Usage(format!("{option} is for ONNX models")));
        }
        if args.part.is_some() && request.index.is_none() {
            return Err(Failure::Usage(
                "--part is for sharded models (a folder with an index, or the index)".to_owned(),
            ));
        }
        request.check_names()?;
        let to_stdout = request.pairs.iter().any(|pair| pair.output == Target::Stdout);
        let printed = [
            (args.print.json, "--json"),
            (args.stats, "--stats"),
            (args.strict, "--strict"),
            (args.resume, "--resume"),
        ];
        if let Some((_, option)) = printed.iter().find(|(given, _)| *given && to_stdout) {
            return Err(Failure::Usage(format!("{option} cannot be combined with output to a pipe (-)")));
        }
        if request.index.is_some() || args.out_dir.is_some() || inputs[0].is_dir() {
            request.folder = Some(output);
        }
        Ok(request)
    }

    /// The shards that an index names, and the other files of their folder.
    fn add_model(&mut self, path: &Path, output: &Path, args: &ConvertArgs) -> Result<(), Failure> {
        let folder = path.parent().unwrap_or(Path::new(""));
        let index = Index::read(path)?;
        let shards = index.shards().map_err(|what| Failure::at(path, what))?;
        let sizes = shards.iter().map(|shard| {
            let shard = folder.join(shard);
            std::fs::metadata(&shard).map(|metadata| metadata.len()).map_err(|error| Failure::at(&shard, error))
        });
        let sizes = sizes.collect::<Result<Vec<_>, _>>()?;
        let chosen = args.part.map_or_else(|| vec![true; shards.len()], |part| part.choose(&sizes));
        for (shard, _) in shards.iter().zip(chosen).filter(|(_, chosen)| *chosen) {
            let format = FileFormat::Safetensors;
            let output = Target::File(output.join(shard));
            self.pairs.push(Pair { input: folder.join(shard), input_format: format, output, output_format: format });
        }
        if self.index.replace(index).is_some() {
            return Err(Failure::Usage("convert one sharded model at a time".to_owned()));
        }
        if args.copy_others && args.part.is_none_or(|part| part.index == 1) {
            let files = inputs::files_of(folder)?.into_iter().map(|(file, _)| file);
            let others = files.filter(|file| file != path && !shards.iter().any(|shard| file.ends_with(shard)));
            self.copies.extend(others.map(|file| (file.clone(), output.join(file.file_name().unwrap_or_default()))));
        }
        Ok(())
    }

    /// The files of a folder.
    fn add_folder(&mut self, folder: &Path, output: &Path, args: &ConvertArgs) -> Result<(), Failure> {
        let before = self.pairs.len();
        for (file, format) in inputs::files_of(folder)? {
            let name = Path::new(file.file_name().unwrap_or_default());
            match format {
                Some(format) => {
                    let output_format = args.out_format.unwrap_or(format);
                    let name = if output_format == format {
                        name.to_owned()
                    } else {
                        name.with_extension(output_format.extension())
                    };
                    let output = Target::File(output.join(name));
                    self.pairs.push(Pair { input: file.clone(), input_format: format, output, output_format });
                }
                None if args.copy_others => self.copies.push((file.clone(), output.join(name))),
                None => {}
            }
        }
        if self.pairs.len() == before {
            return Err(Failure::at(folder, "the folder has no file that can be converted"));
        }
        Ok(())
    }

    /// No two outputs have one name.
    fn check_names(&self) -> Result<(), Failure> {
        let mut names: Vec<_> = self.pairs.iter().map(|pair| &pair.output).collect();
        names.sort_by_key(|target| format!("{target:?}"));
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some([Target::File(path), _]) => {
                Err(Failure::Usage(format!("{}: two inputs have this output", path.display())))
            }
            _ => Ok(()),
        }
    }
}

/// The format that an option or the extension names.
fn format(path: &Path, option: Option<FileFormat>) -> Result<FileFormat, Failure> {
    match option {
        Some(format) => Ok(format),
        None if path == Path::new("-") => Err(Failure::Usage("-: add --in-format FORMAT".to_owned())),
        None => FileFormat::of(path),
    }
}

/// Makes the outputs of all tasks.
struct Writer<'a> {
    args: &'a ConvertArgs,
    caster: &'a Caster,
    progress: Progress,
    /// Outputs of an interrupted conversion of several files.
    finished: Option<Finished>,
    /// Outputs that are complete and wait for their names.
    complete: Vec<Complete>,
    /// Bytes that an interrupted conversion had left.
    resumed: u64,
}

impl Writer<'_> {
    /// Makes the outputs of a task, and names them unless a later one may be refused.
    fn write(&mut self, task: &mut Task) -> Result<(), Failure> {
        if task.archive.is_some() {
            self.write_archive(task)?;
            return if self.args.strict { Ok(()) } else { self.name() };
        }
        let inputs: Vec<&dyn ReadAt> = task.inputs.iter().map(|input| &**input).collect();
        let mut made_now = Vec::new();
        for (target, plan) in &task.outputs {
            let mut lost = vec![LossCounts::default(); plan.parts.len()];
            let made = match target {
                Target::Stdout => self.stream(std::io::stdout().lock(), plan, &inputs, &mut lost, &task.name),
                Target::File(path) => match atomic::open_special(path) {
                    Some(Ok(file)) => self.stream(file, plan, &inputs, &mut lost, &task.name),
                    Some(Err(error)) => return Err(Failure::at(path, error)),
                    None => {
                        let (bytes, fingerprint) = (plan.bytes().unwrap_or(u64::MAX), fingerprint(plan, &task.state));
                        let found = self.finished.as_ref().and_then(|finished| finished.find(path, fingerprint));
                        if let Some(losses) = found {
                            for (part, counts) in losses {
                                lost.get_mut(part).into_iter().for_each(|lost| *lost += counts);
                            }
                            self.resumed += bytes;
                            self.progress.advance(bytes, &task.name);
                            Ok(())
                        } else {
                            let output = Output::open(path, bytes, fingerprint, self.args.existing())?;
                            let filled = self.fill(output, plan, &inputs, &mut lost, &task.name);
                            made_now.push((path, fingerprint, lost.iter().copied().enumerate().collect::<Vec<_>>()));
                            filled
                        }
                    }
                },
            };
            made?;
            for (part, lost) in plan.parts.iter().zip(&lost) {
                let Part::Cast(cast) = part else { continue };
                let tensor = task.tensors.iter_mut().find(|tensor| tensor.name == cast.name);
                tensor.into_iter().for_each(|tensor| tensor.lost += *lost);
            }
        }
        if self.args.strict {
            return Ok(());
        }
        self.name()?;
        let Some(finished) = &self.finished else { return Ok(()) };
        made_now.iter().try_for_each(|(path, plan, losses)| finished.add(path, *plan, losses))
    }

    /// Makes an archive. It grows, so that it cannot be continued.
    fn write_archive(&mut self, task: &mut Task) -> Result<(), Failure> {
        let Task { name, inputs, outputs, archive, tensors, .. } = task;
        let entries = archive.as_deref().unwrap_or_default();
        let existing = self.args.existing();
        let (mut losses, mut complete) = (Vec::new(), None);
        let mut make = |entry: &npz::Entry, inputs: &[&dyn ReadAt], out: &mut dyn Write| {
            let mut lost = vec![LossCounts::default(); entry.plan.parts.len()];
            self.stream(out, &entry.plan, inputs, &mut lost, &entry.member.name)?;
            losses.push(lost.into_iter().fold(LossCounts::default(), |mut sum, lost| {
                sum += lost;
                sum
            }));
            Ok(())
        };
        let fail = |failure: Failure| Failure::at(Path::new(name.as_str()), failure);
        match &outputs[0].0 {
            Target::Stdout => {
                drop(npz::write(&*inputs[0], entries, std::io::stdout().lock(), &mut make).map_err(fail)?);
            }
            Target::File(path) => match atomic::open_special(path) {
                Some(file) => {
                    let file = file.map_err(|error| Failure::at(path, error))?;
                    npz::write(&*inputs[0], entries, file, &mut make).map_err(fail)?;
                }
                None => {
                    let output = Output::open_growing(path, existing)?;
                    let output = npz::write(&*inputs[0], entries, output, &mut make).map_err(fail)?;
                    complete = Some(output.complete()?);
                }
            },
        }
        self.complete.extend(complete);
        tensors.iter_mut().zip(losses).for_each(|(tensor, lost)| tensor.lost += lost);
        Ok(())
    }

    /// Gives the complete outputs their names.
    fn name(&mut self) -> Result<(), Failure> {
        self.complete.drain(..).try_for_each(Complete::rename)
    }

    fn settings(&self, start: u64) -> StreamSettings {
        let mut settings = StreamSettings::default();
        (settings.memory, settings.start) = (self.args.memory, start);
        settings
    }

    /// Makes an output that is written from front to back.
    fn stream(
        &mut self,
        mut output: impl Write,
        plan: &FilePlan,
        inputs: &[&dyn ReadAt],
        lost: &mut [LossCounts],
        name: &str,
    ) -> Result<(), Failure> {
        files::write(plan, inputs, &self.settings(0), self.caster, &mut |made| {
            made.losses.iter().for_each(|(part, counts)| lost[*part] += *counts);
            self.progress.advance(made.bytes.len() as u64, last_name(plan, &made).unwrap_or(name));
            output.write_all(made.bytes)?;
            output.flush()
        })
        .map_err(|error| Failure::at(Path::new(name), error))
    }

    /// Makes an output beside its place, or what is missing of it.
    fn fill(
        &mut self,
        mut output: Output,
        plan: &FilePlan,
        inputs: &[&dyn ReadAt],
        lost: &mut [LossCounts],
        name: &str,
    ) -> Result<(), Failure> {
        output.losses().iter().for_each(|(part, counts)| lost[*part] += *counts);
        self.resumed += output.done();
        self.progress.advance(output.done(), name);
        files::write(plan, inputs, &self.settings(output.done()), self.caster, &mut |made| {
            made.losses.iter().for_each(|(part, counts)| lost[*part] += *counts);
            self.progress.advance(made.bytes.len() as u64, last_name(plan, &made).unwrap_or(name));
            output.write(made.piece.output.clone(), made.bytes, made.losses)
        })
        .map_err(|error| match error {
            FileError::Write { .. } => Failure::at(output.name(), error),
            _ => Failure::at(Path::new(name), error),
        })?;
        self.complete.push(output.complete()?);
        Ok(())
    }
}

/// The name of the last tensor in a piece.
fn last_name<'a>(plan: &'a FilePlan, made: &FinishedPiece<'_>) -> Option<&'a str> {
    match &plan.parts[made.losses.last()?.0] {
        Part::Cast(cast) => Some(&cast.name),
        _ => None,
    }
}

/// Identifies a plan and the state of its inputs. A partial output of another plan is not continued.
fn fingerprint(plan: &FilePlan, state: &[plan::InputState]) -> u64 {
    let mut hasher = DefaultHasher::new();
    env!("CARGO_PKG_VERSION").hash(&mut hasher);
    for part in &plan.parts {
        format!("{part:?}").hash(&mut hasher);
    }
    state.hash(&mut hasher);
    hasher.finish()
}

/// Writes the index of a sharded model, with the new size of its tensors.
fn write_index(mut index: Index, tasks: &[Task], args: &ConvertArgs) -> Result<(), Failure> {
    let total: u64 = tasks.iter().flat_map(|task| &task.tensors).map(|tensor| tensor.bytes[1]).sum();
    index.content["metadata"]["total_size"] = total.into();
    let folder = match tasks.first().map(|task| &task.outputs[0].0) {
        Some(Target::File(path)) => path.parent().unwrap_or(Path::new("")).to_owned(),
        _ => return Ok(()),
    };
    let name = match args.part {
        None => index.name.clone(),
        Some(part) => {
            // Each part lists its own tensors; `merge-index` joins the lists.
            let own: Vec<_> = tasks.iter().flat_map(|task| &task.tensors).map(|tensor| tensor.name.as_str()).collect();
            let map = index.content["weight_map"].as_object_mut();
            map.into_iter().for_each(|map| map.retain(|name, _| own.contains(&name.as_str())));
            name_of_part(&index.name, part)
        }
    };
    let text = serde_json::to_string_pretty(&index.content).unwrap_or_default() + "\n";
    atomic::write(&folder.join(name), &[text.as_bytes()], args.existing())
}

/// Copies a file that is not converted.
fn copy(from: &Path, to: &Path, existing: Existing) -> Result<(), Failure> {
    let bytes = std::fs::read(from).map_err(|error| Failure::at(from, error))?;
    atomic::write(to, &[&bytes], existing)
}

impl ConvertArgs {
    fn existing(&self) -> Existing {
        Existing { resume: self.resume, no_clobber: self.no_clobber, force: self.force }
    }

    /// Refuses attributes that affect no tensor.
    fn check_attributes(&self, tasks: &[Task]) -> Result<(), Failure> {
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
    /// The options of casts in a model, which has its own opset.
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
        let node = CastNode::with_target(self.opset, to, self.saturate, self.round_mode)?;
        node.check(from)?;
        Ok(node.options())
    }
}
