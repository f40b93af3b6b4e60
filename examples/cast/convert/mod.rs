//! `cast convert`: files of tensors and models.

mod caster;
mod finished;
mod inputs;
mod npz;
mod onnx;
mod plan;
mod plot;
mod report;
mod request;
mod rules;
mod shard_part;
mod single;
mod writer;

use std::collections::HashSet;
use std::path::Path;

use wgpu_cast::onnx::{CastNode, NEWEST_OPSET, NamedTensor};
use wgpu_cast::{CastOptions, ElementType};

use crate::args::{Attributes, ConvertArgs, InfoArgs};
use crate::atomic::{self, Existing};
use crate::failure::Failure;
use crate::files::FileFormat;
use crate::merge::name_of_part;
use crate::output::note;
use caster::Caster;
pub use inputs::Index;
use inputs::Target;
use plan::Task;
use report::{Summary, TensorReport};
use request::{Request, format};
pub use rules::{Pattern, Rules};
pub use shard_part::ShardPart;
use single::Single;
use writer::Writer;

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
    let mut writer = Writer::new(args, &caster, total, folder.as_deref());
    tasks.iter_mut().try_for_each(|task| writer.write(task))?;
    let (seconds, resumed) = writer.stop();
    let tensors = tensors(&tasks);
    let read = tensors.iter().map(|tensor| tensor.bytes[0]).sum();
    let route = caster.route(&args.device, tensors.iter().all(TensorReport::is_numeric));
    let relative_errors = args.needs_relative_errors();
    let summary = Summary { tensors: &tensors, route: &route, seconds, bytes: [read, total], resumed, relative_errors };
    if args.print.json {
        summary.print_json()?;
    } else if args.stats {
        summary.print_stats()?;
    }
    if !args.print.is_silent() {
        summary.print_text();
    }
    if args.strict && summary.lost().counts.overflowed() > 0 {
        return Err(Failure::Work("--strict: values are beyond the range of the type; nothing was written".to_owned()));
    }
    writer.name()?;
    if let Some(path) = &args.plot {
        atomic::write(path, &[plot::draw(&tensors).as_bytes()], args.existing())?;
    }
    if let Some(index) = index {
        write_index(index, &tasks, args)?;
    }
    copies.iter().try_for_each(|(from, to)| copy(from, to, args.existing()))?;
    writer.close();
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
            let own = tasks.iter().flat_map(|task| &task.tensors).map(|tensor| tensor.name.as_str());
            let own: HashSet<_> = own.collect();
            let map = index.content["weight_map"].as_object_mut();
            map.into_iter().for_each(|map| map.retain(|name, _| own.contains(name.as_str())));
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

    /// Whether the relative errors of casts are to be found.
    fn needs_relative_errors(&self) -> bool {
        self.stats || self.plot.is_some()
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
