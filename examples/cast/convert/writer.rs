//! Makes the outputs: beside their places, then all names at once.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::Path;

use wgpu_cast::files::{self, CastLoss, CastPiece, FileError, FilePlan, FinishedPiece, Part, ReadAt, StreamSettings};

use super::caster::Caster;
use super::finished::Finished;
use super::inputs::Target;
use super::npz;
use super::plan::{InputState, Task};
use crate::args::ConvertArgs;
use crate::atomic::{self, Complete, Output};
use crate::failure::Failure;
use crate::progress::Progress;

/// Makes the outputs of all tasks.
pub struct Writer<'a> {
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

impl<'a> Writer<'a> {
    /// A writer of `bytes` bytes; `folder` is that of the outputs, if they go to one.
    pub fn new(args: &'a ConvertArgs, caster: &'a Caster, bytes: u64, folder: Option<&Path>) -> Self {
        let finished = folder.filter(|_| args.resume).map(|folder| {
            Finished::open(
                folder,
                &args.part.map_or(String::new(), |part| format!("-{}-of-{}", part.index, part.count)),
            )
        });
        let progress = Progress::of_bytes(bytes, args.print.is_silent());
        Self { args, caster, progress, finished, complete: Vec::new(), resumed: 0 }
    }

    /// Removes the progress bar. Returns the seconds that it took, and the bytes that an interrupted conversion had left.
    pub fn stop(&self) -> (f64, u64) {
        (self.progress.stop(), self.resumed)
    }

    /// Forgets the finished outputs: the conversion is complete.
    pub fn close(&self) {
        self.finished.iter().for_each(Finished::remove);
    }

    /// Makes the outputs of a task, and names them unless a later one may be refused.
    pub fn write(&mut self, task: &mut Task) -> Result<(), Failure> {
        if task.archive.is_some() {
            self.write_archive(task)?;
            return if self.args.strict { Ok(()) } else { self.name() };
        }
        let inputs: Vec<&dyn ReadAt> = task.inputs.iter().map(|input| &**input).collect();
        let mut made_now = Vec::new();
        for (target, plan) in &task.outputs {
            let mut lost = vec![CastLoss::default(); plan.parts.len()];
            let made = match target {
                Target::Stdout => self.stream(std::io::stdout().lock(), plan, &inputs, &mut lost, &task.name),
                Target::File(path) => match atomic::open_special(path) {
                    Some(Ok(file)) => self.stream(file, plan, &inputs, &mut lost, &task.name),
                    Some(Err(error)) => return Err(Failure::at(path, error)),
                    None => {
                        let (bytes, fingerprint) =
                            (plan.bytes().unwrap_or(u64::MAX), self.fingerprint(plan, &task.state));
                        let found = self.finished.as_ref().and_then(|finished| finished.find(path, fingerprint));
                        if let Some(losses) = found {
                            add(&mut lost, &losses);
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
            let mut tensors: HashMap<_, _> =
                task.tensors.iter_mut().map(|tensor| (tensor.name.as_str(), &mut tensor.lost)).collect();
            for (part, lost) in plan.parts.iter().zip(&lost) {
                let Part::Cast(cast) = part else { continue };
                tensors.get_mut(cast.name.as_str()).into_iter().for_each(|sum| **sum += *lost);
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
            let mut lost = vec![CastLoss::default(); entry.plan.parts.len()];
            self.stream(out, &entry.plan, inputs, &mut lost, &entry.member.name)?;
            losses.push(lost.into_iter().fold(CastLoss::default(), |mut sum, lost| {
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
    pub fn name(&mut self) -> Result<(), Failure> {
        self.complete.drain(..).try_for_each(Complete::rename)
    }

    fn settings(&self, start: u64) -> StreamSettings {
        let mut settings = StreamSettings::default();
        (settings.memory, settings.start) = (self.args.memory, start);
        settings.relative_errors = self.args.needs_relative_errors();
        settings
    }

    /// Identifies a plan, what is found out about its casts, and the state of its inputs. A partial output of another plan
    /// is not continued.
    fn fingerprint(&self, plan: &FilePlan, state: &[InputState]) -> u64 {
        let mut hasher = DefaultHasher::new();
        env!("CARGO_PKG_VERSION").hash(&mut hasher);
        for part in &plan.parts {
            format!("{part:?}").hash(&mut hasher);
        }
        self.args.needs_relative_errors().hash(&mut hasher);
        state.hash(&mut hasher);
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
    ) -> Result<(), Failure> {
        let cast: &CastPiece<'_> = &|from, source, len, to, options, destination| {
            self.caster.cast(from, source, len, to, options, destination)
        };
        files::write(plan, inputs, &self.settings(0), cast, &mut |made| {
            add(lost, made.losses);
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
        lost: &mut [CastLoss],
        name: &str,
    ) -> Result<(), Failure> {
        add(lost, output.losses());
        self.resumed += output.done();
        self.progress.advance(output.done(), name);
        let cast: &CastPiece<'_> = &|from, source, len, to, options, destination| {
            self.caster.cast(from, source, len, to, options, destination)
        };
        files::write(plan, inputs, &self.settings(output.done()), cast, &mut |made| {
            add(lost, made.losses);
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

/// Adds what casts lost to the sums of their parts.
fn add(sums: &mut [CastLoss], losses: &[(usize, CastLoss)]) {
    for (part, lost) in losses {
        // A list that was read from a file may name any part.
        sums.get_mut(*part).into_iter().for_each(|sum| *sum += *lost);
    }
}

/// The name of the last tensor in a piece.
fn last_name<'a>(plan: &'a FilePlan, made: &FinishedPiece<'_>) -> Option<&'a str> {
    match &plan.parts[made.losses.last()?.0] {
        Part::Cast(cast) => Some(&cast.name),
        _ => None,
    }
}
