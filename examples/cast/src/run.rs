//! `wgpu-cast run`: runs a model of casts on tensor files.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use wgpu_cast::Tensor;
use wgpu_cast_files::onnx::{self, LONGEST_MESSAGE, Model, NamedTensor};
use wgpu_cast_files::{ModelScan, ReadAt};

use crate::args::RunArgs;
use crate::atomic::target::{Existing, Permissions};
use crate::convert::{Source, advice, read_tensor};
use crate::failure::Failure;
use crate::files::FileFormat;
use crate::progress::Progress;
use crate::roles::Roles;
use crate::session::Session;
use crate::{output, outputs};

/// The most outputs, and the most axes of each, in the line on stderr. A model may have millions.
const SHOWN: usize = 8;

pub fn run(args: &RunArgs) -> Result<(), Failure> {
    let choice = args.device.choice()?;
    let bytes = message(&args.model)?;
    let data = data_of(&bytes, &args.model);
    let model = Model::from_bytes(&bytes, Some(&args.model));
    let model = model.map_err(|e| advice::explained(&args.model, FileFormat::Onnx, Failure::at(&args.model, e)))?;
    let existing = check_names(args, &data, model.outputs().len())?;
    let inputs = args.inputs.iter().map(|path| read(path)).collect::<Result<_, _>>()?;
    if args.output.exists() && !args.output.is_dir() {
        return Err(Failure::at(&args.output, "not a folder"));
    }
    let progress = Progress::of_one_step(&args.model.display().to_string(), args.print.is_silent());
    let (made, mut report) = pollster::block_on(async {
        let session = Session::open(choice).await?;
        let made = onnx::run(&session.context, &model, inputs).await?;
        session.keep();
        Ok::<_, Failure>(made)
    })?;
    report.casts.reason = args.device.reason(report.casts.route).unwrap_or(report.casts.reason);
    let (count, summary) = (made.len(), summary(&made));
    let described: Vec<_> =
        made.iter().enumerate().map(|(index, output)| describe(&args.output, index, output)).collect();
    outputs::write(&args.output, made, existing)?;
    let seconds = progress.stop();
    let older = outputs::path(&args.output, count);
    if older.exists() {
        output::warning(format_args!("{} is from an earlier run", older.display()));
    }
    if args.print.json {
        described.iter().try_for_each(output::line)?;
        return output::line(json!({"outputs": count, "seconds": seconds, "route": report.to_string()}));
    }
    output::note(format_args!("{summary}; {report}"));
    Ok(())
}

/// The files of a model's external data.
fn data_of(model: &dyn ReadAt, path: &Path) -> Vec<PathBuf> {
    // If the file is no model, reading it as one later gives the error.
    let folder = path.parent().unwrap_or(Path::new(""));
    let scan = ModelScan::read(model);
    scan.map_or(Vec::new(), |scan| scan.external_files().map(|name| folder.join(name)).collect())
}

/// Refuses outputs that are inputs. Returns how to treat existing files, and the permissions of new ones.
fn check_names(args: &RunArgs, data: &[PathBuf], outputs: usize) -> Result<Existing, Failure> {
    let mut roles = Roles::default();
    roles.read(&args.model, "the model");
    for path in data {
        roles.read(path, "the data of the model");
    }
    for path in &args.inputs {
        roles.read(path, format!("the input {}", path.display()));
    }
    (0..outputs).try_for_each(|index| {
        roles.write(&outputs::path(&args.output, index), &format!("output {index}"), &[], false)
    })?;
    let inputs = [&args.model].into_iter().chain(data).chain(&args.inputs).map(|path| Source::of(path));
    let permissions = Permissions::of_all(inputs.filter_map(|input| Some(input.state?.mode)));
    Ok(Existing { permissions, ..Existing::default() })
}

/// An output as JSON. Strings have no fixed size.
fn describe(folder: &Path, index: usize, output: &NamedTensor) -> Value {
    let NamedTensor { name, tensor } = output;
    json!({
        "file": outputs::path(folder, index).display().to_string(),
        "tensor": name,
        "shape": tensor.shape(),
        "type": tensor.element_type().name(),
        "bytes": tensor.bytes().map(<[u8]>::len),
    })
}

/// The types and shapes of the outputs.
fn summary(outputs: &[NamedTensor]) -> String {
    let of_output = |NamedTensor { tensor, .. }: &NamedTensor| {
        let axes = tensor.shape().iter().map(usize::to_string);
        format!("{} [{}]", tensor.element_type(), list(axes))
    };
    list(outputs.iter().map(of_output))
}

/// The first [`SHOWN`] items, and how many more there are.
fn list(items: impl ExactSizeIterator<Item = String>) -> String {
    let more = items.len().saturating_sub(SHOWN);
    let shown = items.take(SHOWN).collect::<Vec<_>>().join(", ");
    if more == 0 { shown } else { format!("{shown}, … and {more} more") }
}

fn read(path: &Path) -> Result<Tensor, Failure> {
    match FileFormat::of(path)? {
        format @ (FileFormat::Npy | FileFormat::Pb) => Ok(read_tensor(path, format)?.tensor),
        _ => {
            let what = "model inputs must be .pb or .npy files, which contain the type and the shape of one tensor";
            Err(Failure::Usage(format!("{}: {what}", path.display())))
        }
    }
}

/// The bytes of a file that contains one message.
fn message(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    // The limit matters for files that have no end.
    let limit = LONGEST_MESSAGE as u64 + 1;
    let read = File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes));
    read.map_err(|e| Failure::at(path, e))?;
    if bytes.len() as u64 == limit {
        return Err(Failure::at(path, "too large: protobuf messages must be smaller than 2 GiB"));
    }
    Ok(bytes)
}
