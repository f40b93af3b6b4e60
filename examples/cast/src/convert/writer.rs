//! Makes the outputs in partial files beside their places, until they may get their names.

use std::collections::HashMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use wgpu_cast::cpu;
use wgpu_cast_files::{
    self as files, CastLoss, CastPiece, CastScaledPiece, FileCause, FileError, FilePlan, FinishedPiece, Part, ReadAt,
    StreamSettings,
};

use super::caster::Caster;
use super::finished::Finished;
use super::input_state::Source;
use super::inputs::Target;
use super::npz;
use super::plan::Task;
use super::refusals::Planned;
use super::report::sum;
use super::stamp::Stamp;
use crate::args::ConvertArgs;
use crate::atomic::target::{self, open_special};
use crate::atomic::{Complete, Output, sync_folder};
use crate::embedded;
use crate::failure::Failure;
use crate::output::{check_stdout_for_bytes, warning};
use crate::progress::Progress;

/// Makes the outputs of all tasks.
pub struct Writer<'a> {
    args: &'a ConvertArgs,
    caster: &'a Caster,
    progress: Progress,
    /// The finished outputs of an interrupted conversion of several files.
    finished: Option<Finished>,
    /// Outputs that are complete and wait for their names.
    complete: Vec<Made>,
    /// Outputs that get their names after these.
    last: Vec<Complete>,
    /// The files from which these outputs were made.
    sources: Vec<Source>,
    /// Files that are removed before the first output gets its name.
    stale: Vec<PathBuf>,
    /// The outputs that have their names.
    named: HashMap<PathBuf, Stamp>,
    /// The bytes that exist from an interrupted conversion.
    resumed: u64,
}

/// An output that is complete.
struct Made {
    output: Complete,
    path: PathBuf,
    fingerprint: u64,
    checksum: u32,
    /// The losses of each part, or of each entry of an archive.
    losses: Vec<CastLoss>,
    /// The model that has this output as its data. An old model is removed first, because it would read the new data as
    /// its own.
    outdates: Option<PathBuf>,
}

impl<'a> Writer<'a> {
    /// A writer of the outputs of all tasks. `folder` is the folder of the outputs, if they all go to one.
    pub fn new(args: &'a ConvertArgs, caster: &'a Caster, tasks: &[Task], folder: Option<&Path>) -> Self {
        let finished = folder.filter(|_| args.resume).map(|folder| Finished::open(folder, args.part));
        let outputs = tasks.iter().flat_map(|task| &task.outputs);
        let read_first = outputs.map(|output| bytes_of_weights(&output.plan, args));
        let bytes = sum(tasks.iter().map(Task::bytes).chain(read_first));
        let progress = Progress::of_bytes(bytes, args.print.is_silent());
        let (complete, last, sources, stale, named) = (Vec::new(), Vec::new(), Vec::new(), Vec::new(), HashMap::new());
        Self { args, caster, progress, finished, complete, last, sources, stale, named, resumed: 0 }
    }

    /// The files that are to be made, without those that an interrupted conversion has finished.
    ///
    /// # Errors
    /// An input does not exist any more.
    pub fn planned(&self, tasks: &[Task]) -> Result<Vec<Planned>, Failure> {
        let mut planned = Vec::new();
        for task in tasks {
            let identity = task.identity()?;
            for output in &task.outputs {
                let Target::File(path) = &output.target else { continue };
                if self.found(path, self.fingerprint(task.plans(output), identity)).is_none() {
                    // The size of compressed arrays is not known, so only the others count.
                    let stored = task.archive.iter().flatten().filter(|entry| entry.member.stored.is_some());
                    let stored = sum(stored.filter_map(|entry| entry.plan.bytes()));
                    let bytes = output.plan.bytes().unwrap_or(u64::MAX).saturating_add(stored);
                    let existing = self.args.existing(&task.sources);
                    planned.push(Planned { path: path.clone(), bytes, existing });
                }
            }
        }
        Ok(planned)
    }

    /// Sets the files that become wrong when an output is replaced. They are removed before that.
    ///
    /// # Errors
    /// As [`target::check`].
    pub fn remove_first(&mut self, stale: &[PathBuf]) -> Result<(), Failure> {
        let stale = stale.iter().map(|path| target::check(path, self.args.existing([])));
        self.stale = stale.collect::<Result<_, _>>()?;
        Ok(())
    }

    /// Makes the outputs of a task. They get their names, unless a later output may be refused.
    ///
    /// # Errors
    /// An input cannot be read or cast, or an output cannot be written.
    pub fn write(&mut self, task: &mut Task) -> Result<(), Failure> {
        match task.archive {
            Some(_) => self.write_archive(task)?,
            None => self.write_files(task)?,
        }
        self.sources.append(&mut task.sources);
        // In place, all outputs are named at the end, so that an interruption leaves all inputs as they were.
        if self.args.strict || self.args.in_place { Ok(()) } else { self.name() }
    }

    /// Gives the complete outputs their names.
    ///
    /// # Errors
    /// An input has changed, or the file system refuses it.
    pub fn name(&mut self) -> Result<(), Failure> {
        if let Some(changed) = std::mem::take(&mut self.sources).iter().find(|source| source.has_changed()) {
            let what = match (self.complete.is_empty(), !self.named.is_empty()) {
                (true, _) => "what was made of it may be wrong",
                (false, true) => "its output was not written",
                (false, false) => "nothing was written",
            };
            self.discard();
            return Err(Failure::at(&changed.path, format_args!("it changed while it was read; {what}")));
        }
        // In place, a shard that has been replaced may have had scales that the others need to be converted again.
        if self.args.in_place && self.complete.len() + self.last.len() > 1 {
            return self.name_in_place();
        }
        // After old files are removed, the complete outputs may be all that is left of a model. So they are kept,
        // whatever happens.
        if !self.stale.is_empty() || self.complete.iter().any(|made| made.outdates.is_some()) {
            self.complete.iter_mut().for_each(|made| made.output.keep());
        }
        let complete = std::mem::take(&mut self.complete);
        complete.into_iter().try_for_each(|made| self.name_one(made))?;
        self.last.drain(..).try_for_each(Complete::rename)
    }

    /// As [`name`](Self::name). When the first output has its name, all others are kept, and only need theirs.
    fn name_in_place(&mut self) -> Result<(), Failure> {
        let (mut complete, mut last) = (std::mem::take(&mut self.complete), std::mem::take(&mut self.last));
        // If no file is removed before, and the first output cannot get its name, nothing has changed.
        let removes = !self.stale.is_empty() || complete.first().is_some_and(|made| made.outdates.is_some());
        let mut outputs: Vec<_> = complete.iter_mut().map(|made| &mut made.output).chain(&mut last).collect();
        outputs.iter_mut().try_for_each(|output| output.finish())?;
        outputs.iter_mut().skip(usize::from(!removes)).for_each(|output| output.keep());
        let place = |output: &&mut Complete| [output.path().to_owned(), output.partial().to_owned()];
        let places: Vec<_> = outputs.iter().map(place).collect();
        let mut complete = complete.into_iter();
        let first = complete.next().map_or(Ok(()), |first| self.name_one(first));
        if first.is_err() && !removes {
            complete.map(|made| made.output).chain(last).for_each(Complete::discard);
            return first;
        }
        let named = first.and_then(|()| complete.try_for_each(|made| self.name_one(made)));
        let named = named.and_then(|()| last.into_iter().try_for_each(Complete::rename));
        named.inspect_err(|_| places.iter().for_each(warn_of_missing_name))
    }

    /// Gives an output its name after all that are made from tasks.
    pub fn name_last(&mut self, output: Complete) {
        self.last.push(output);
    }

    fn name_one(&mut self, made: Made) -> Result<(), Failure> {
        let Made { output, path, fingerprint, checksum, losses, outdates } = made;
        self.stale.drain(..).chain(outdates).try_for_each(|path| remove(&path))?;
        output.rename()?;
        let stamp = Stamp::of(&path, checksum).map_err(|error| Failure::at(&path, error))?;
        self.finished.iter().try_for_each(|finished| finished.add(&path, fingerprint, &stamp, &losses))?;
        self.named.insert(path, stamp);
        Ok(())
    }

    /// The outputs that have their names.
    pub fn named(&self) -> &HashMap<PathBuf, Stamp> {
        &self.named
    }

    /// Removes the complete outputs that have no names yet.
    pub fn discard(&mut self) {
        self.complete.drain(..).map(|made| made.output).chain(self.last.drain(..)).for_each(Complete::discard);
    }

    /// Removes the progress bar. Returns the seconds since the start, and the bytes that existed from an interrupted
    /// conversion.
    pub fn stop(&self) -> (f64, u64) {
        (self.progress.stop(), self.resumed)
    }

    /// Ends the conversion: removes the list of finished outputs. The list of a part stays until the parts are joined.
    /// So if a part is converted again, its outputs are not made again.
    pub fn close(&self) {
        if self.args.part.is_none() {
            self.finished.iter().for_each(Finished::remove);
        }
    }

    fn write_files(&mut self, task: &mut Task) -> Result<(), Failure> {
        let identity = task.identity()?;
        let existing = self.args.existing(&task.sources);
        let complete = self.complete.len();
        let Task { name, inputs, outputs, tensors, .. } = task;
        let inputs: Vec<&dyn ReadAt> = inputs.iter().map(|input| &**input).collect();
        for output in outputs {
            let plan = &output.plan;
            let mut lost = vec![CastLoss::default(); plan.parts.len()];
            match open(&output.target)? {
                Opened::Direct(out) => {
                    let made = self.stream(out, plan, &inputs, &mut lost, name);
                    made.map_err(|error| failure(error, name, output.target.path()))?;
                }
                Opened::Beside(path) => {
                    let fingerprint = self.fingerprint([plan], identity);
                    let bytes = plan.bytes().unwrap_or(u64::MAX);
                    if self.keep(path, fingerprint, bytes, &mut lost, name) {
                        self.progress.advance(bytes_of_weights(plan, self.args), name);
                    } else {
                        let made = Output::open(path, bytes, Some(fingerprint), existing)?;
                        let (output, checksum) = self.fill(made, plan, &inputs, &mut lost, name)?;
                        let (path, losses) = (path.to_owned(), lost.clone());
                        self.complete.push(Made { output, path, fingerprint, checksum, losses, outdates: None });
                    }
                }
            }
            let casts = plan.parts.iter().zip(&lost).filter(|(part, _)| part.cast().is_some());
            for ((_, lost), row) in casts.zip(&output.rows) {
                tensors[*row].lost += *lost;
            }
        }
        if let [data @ .., model] = &mut self.complete[complete..] {
            data.iter_mut().for_each(|data| data.outdates = Some(model.output.path().to_owned()));
        }
        Ok(())
    }

    /// Makes an archive. Its size is not known before, so it cannot be continued.
    fn write_archive(&mut self, task: &mut Task) -> Result<(), Failure> {
        let output = &task.outputs[0];
        let fingerprint = self.fingerprint(task.plans(output), task.identity()?);
        let existing = self.args.existing(&task.sources);
        let Task { name, inputs, archive, tensors, .. } = task;
        let path = Path::new(name.as_str());
        let entries = archive.as_deref().unwrap_or_default();
        let mut losses = vec![CastLoss::default(); entries.len()];
        let mut next = losses.iter_mut();
        let mut make = |writer: &mut Self, entry: &npz::Entry, inputs: &[&dyn ReadAt], out: &mut dyn Write| {
            let mut lost = vec![CastLoss::default(); entry.plan.parts.len()];
            let made = writer.stream(out, &entry.plan, inputs, &mut lost, &entry.member.name);
            made.map_err(|error| failure(error, &format!("{name}: {}", entry.member.name), output.target.path()))?;
            next.next().into_iter().for_each(|sum| lost.iter().for_each(|lost| *sum += *lost));
            Ok(())
        };
        let (input, to) = ((path, &*inputs[0]), output.target.path());
        match open(&output.target)? {
            Opened::Direct(out) => {
                npz::write(input, entries, (to, out), |entry, inputs, out| make(self, entry, inputs, out))?;
            }
            Opened::Beside(target) => {
                let bytes = sum(entries.iter().filter_map(|entry| entry.plan.bytes()));
                let mut known = vec![CastLoss::default(); entries.len()];
                if self.keep(target, fingerprint, bytes, &mut known, name) {
                    losses = known;
                } else {
                    let out = Output::open_growing(target, existing)?;
                    let made =
                        npz::write(input, entries, (to, out), |entry, inputs, out| make(self, entry, inputs, out))?;
                    let checksum = made.checksum();
                    let output = made.complete()?;
                    let (path, losses) = (target.to_owned(), losses.clone());
                    self.complete.push(Made { output, path, fingerprint, checksum, losses, outdates: None });
                }
            }
        }
        tensors.iter_mut().zip(losses).for_each(|(tensor, lost)| tensor.lost += lost);
        Ok(())
    }

    /// An output that an interrupted conversion has finished, and its losses.
    fn found(&self, path: &Path, fingerprint: u64) -> Option<(Stamp, Vec<(usize, CastLoss)>)> {
        self.finished.as_ref()?.find(path, fingerprint)
    }

    /// Whether an interrupted conversion has finished an output. Then the output is kept.
    fn keep(&mut self, path: &Path, fingerprint: u64, bytes: u64, lost: &mut [CastLoss], name: &str) -> bool {
        let Some((stamp, losses)) = self.found(path, fingerprint) else { return false };
        self.named.insert(path.to_owned(), stamp);
        add(lost, &losses);
        self.resumed = self.resumed.saturating_add(bytes);
        self.progress.advance(bytes, name);
        true
    }

    fn settings(&self, start: u64) -> StreamSettings {
        let mut settings = StreamSettings::default();
        (settings.memory, settings.start) = (self.args.memory, start);
        settings.relative_errors = self.args.needs_relative_errors();
        settings
    }

    /// Identifies the plans of an output, its pieces, what is computed about its casts, and its inputs. A partial
    /// output with another fingerprint is not continued.
    fn fingerprint<'p>(&self, plans: impl IntoIterator<Item = &'p FilePlan>, inputs: u64) -> u64 {
        let mut hasher = DefaultHasher::new();
        env!("CARGO_PKG_VERSION").hash(&mut hasher);
        plans.into_iter().for_each(|plan| plan.hash(&mut hasher));
        // The pieces depend on the memory, and a partial output ends with a whole piece.
        self.args.memory.hash(&mut hasher);
        self.args.needs_relative_errors().hash(&mut hasher);
        inputs.hash(&mut hasher);
        hasher.finish()
    }

    /// Makes an output that is written from front to back.
    fn stream(
        &mut self,
        mut output: impl Write,
        plan: &FilePlan,
        inputs: &[&dyn ReadAt],
        lost: &mut [CastLoss],
        name: &str,
    ) -> Result<(), FileError> {
        let put = &mut |made: &FinishedPiece<'_>| {
            output.write_all(made.bytes)?;
            output.flush()
        };
        self.make(plan, inputs, 0, lost, name, put)
    }

    /// Makes an output beside its place, or the part of it that is missing.
    fn fill(
        &mut self,
        mut output: Output,
        plan: &FilePlan,
        inputs: &[&dyn ReadAt],
        lost: &mut [CastLoss],
        name: &str,
    ) -> Result<(Complete, u32), Failure> {
        let done = output.done();
        add(lost, output.losses());
        self.resumed += done;
        self.progress.advance(done, name);
        let put = &mut |made: &FinishedPiece<'_>| output.write(made.piece.output.clone(), made.bytes, made.losses);
        let made = self.make(plan, inputs, done, lost, name, put);
        made.map_err(|error| failure(error, name, output.name()))?;
        let checksum = output.checksum();
        Ok((output.complete()?, checksum))
    }

    /// Makes the bytes of a plan's output from `start` on. `put` writes the pieces.
    fn make(
        &mut self,
        plan: &FilePlan,
        inputs: &[&dyn ReadAt],
        start: u64,
        lost: &mut [CastLoss],
        name: &str,
        put: &mut dyn FnMut(&FinishedPiece<'_>) -> io::Result<()>,
    ) -> Result<(), FileError> {
        let cast: &CastPiece<'_> = &|spec, source, len, destination| self.caster.cast(spec, source, len, destination);
        let quantizes = self.args.rules.quantize.is_some();
        let operation: &CastScaledPiece<'_> =
            if quantizes { &cpu::cast_divided_counted } else { &cpu::cast_scaled_counted };
        let scaled: &CastScaledPiece<'_> =
            &|spec, scales, source, destination| self.caster.cast_scaled(operation, spec, scales, source, destination);
        let computed = match quantizes {
            true => Some(files::block_scales(plan, inputs, &mut |bytes| {
                self.progress.advance(bytes, name);
                embedded::may_go_on()
            })?),
            false => None,
        };
        let computed = computed.as_ref().map(|computed| computed as &dyn ReadAt);
        let inputs: Vec<_> = inputs.iter().copied().chain(computed).collect();
        files::write_scaled(plan, &inputs, &self.settings(start), cast, scaled, &mut |made| {
            add(lost, made.losses);
            self.progress.advance(made.bytes.len() as u64, last_name(plan, &made).unwrap_or(name));
            embedded::may_go_on()?;
            put(&made)
        })
    }
}

/// The bytes of weights that are read first, to compute their scales.
fn bytes_of_weights(plan: &FilePlan, args: &ConvertArgs) -> u64 {
    let weights = plan.parts.iter().filter_map(|part| match part {
        Part::Scaled(scaled) if args.rules.quantize.is_some() => Some(&scaled.cast),
        _ => None,
    });
    sum(weights.filter_map(|cast| cast.from.bytes(cast.elements)))
}

/// Removes a file if it exists, in such a way that it does not come back after a crash of the machine.
fn remove(path: &Path) -> Result<(), Failure> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(Failure::at(path, format_args!("cannot remove: {error}")));
        }
        _ => {}
    }
    sync_folder(path).map_err(|error| Failure::at(path, format_args!("the folder cannot be stored: {error}")))
}

/// The failure to make an output. It names the output if that cannot be written, and otherwise the input.
fn failure(error: FileError, from: &str, to: &Path) -> Failure {
    let path = if matches!(error.cause(), FileCause::Write(_)) { to } else { Path::new(from) };
    Failure::at(path, error)
}

/// Tells how to complete a conversion in place, which may not be possible to make again.
fn warn_of_missing_name([path, partial]: &[PathBuf; 2]) {
    if partial.exists() {
        let (path, partial) = (path.display(), partial.display());
        warning(format_args!("{path}: its new content is complete, in {partial}, which only needs this name"));
    }
}

/// How an output is written.
enum Opened<'a> {
    /// From front to back: stdout, a device or a pipe.
    Direct(Box<dyn Write>),
    /// As a partial file beside this path.
    Beside(&'a Path),
}

fn open(target: &Target) -> Result<Opened<'_>, Failure> {
    let Target::File(path) = target else {
        check_stdout_for_bytes()?;
        return Ok(Opened::Direct(Box::new(io::stdout().lock())));
    };
    let special = open_special(path).transpose().map_err(|error| Failure::at(path, error))?;
    Ok(special.map_or(Opened::Beside(path), |file| Opened::Direct(Box::new(file))))
}

/// Adds what casts lost to the sums of their parts.
fn add(sums: &mut [CastLoss], losses: &[(usize, CastLoss)]) {
    for (part, lost) in losses {
        // A list that was read from a file may contain any part.
        sums.get_mut(*part).into_iter().for_each(|sum| *sum += *lost);
    }
}

/// The name of the last tensor in a piece.
fn last_name<'a>(plan: &'a FilePlan, made: &FinishedPiece<'_>) -> Option<&'a str> {
    plan.parts[made.losses.last()?.0].cast().map(|cast| cast.name.as_str())
}
