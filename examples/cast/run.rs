//! `cast run`: runs a model of casts on tensor files.

use std::fs;
use std::path::Path;

use wgpu_cast::Tensor;
use wgpu_cast::onnx::Model;

use crate::args::RunArgs;
use crate::failure::Failure;
use crate::files::FileFormat;
use crate::session::Session;
use crate::{npy, output, pb};

pub fn run(args: &RunArgs) -> Result<(), Failure> {
    let choice = args.device.choice()?;
    let model = Model::from_bytes(pb::message(&args.model)?, args.model.parent());
    let model = model.map_err(|e| Failure::at(&args.model, e))?;
    let inputs = args.inputs.iter().map(|path| read(path)).collect::<Result<_, _>>()?;
    if args.output.exists() && !args.output.is_dir() {
        return Err(Failure::at(&args.output, "not a folder"));
    }
    let (outputs, mut report) = pollster::block_on(async {
        let session = Session::open(choice).await?;
        let made = session.context.run(&model, inputs).await?;
        session.keep();
        Ok::<_, Failure>(made)
    })?;
    report.reason = args.device.reason(report.route).unwrap_or(report.reason);
    fs::create_dir_all(&args.output).map_err(|e| Failure::at(&args.output, e))?;
    let made: Vec<String> =
        outputs.iter().map(|named| format!("{} {:?}", named.tensor.element_type(), named.tensor.shape())).collect();
    let place = |index: usize| args.output.join(format!("output_{index}.pb"));
    for (index, named) in outputs.into_iter().enumerate() {
        pb::write(&place(index), named)?;
    }
    let older = place(made.len());
    let older =
        if older.exists() { format!("; warning: {} is from an earlier run", older.display()) } else { String::new() };
    output::note(format_args!("{}; {report}{older}", made.join(", ")));
    Ok(())
}

fn read(path: &Path) -> Result<Tensor, Failure> {
    match FileFormat::of(path)? {
        FileFormat::Npy => npy::read(path, None),
        FileFormat::Pb => Ok(pb::read(path, None)?.tensor),
        _ => {
            let what = "model inputs must be .pb or .npy files, which contain the type and the shape of one tensor";
            Err(Failure::Usage(format!("{}: {what}", path.display())))
        }
    }
}
