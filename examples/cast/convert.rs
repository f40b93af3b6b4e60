//! `cast convert`: one tensor file into another.

use std::path::Path;

use wgpu_cast::onnx::{CastNode, NamedTensor};
use wgpu_cast::{CastOptions, DeviceChoice, ElementType, Tensor, has_kernel};

use crate::args::{Attributes, ConvertArgs};
use crate::failure::Failure;
use crate::files::{self, FileFormat};
use crate::npy;
use crate::output;
use crate::pb;
use crate::session::Session;

pub fn convert(args: &ConvertArgs) -> Result<(), Failure> {
    let (input, output) = (FileFormat::of(&args.input)?, FileFormat::of(&args.output)?);
    let choice = args.device.choice()?;
    if let Some(from) = args.from {
        args.attributes.options(from, args.to)?;
        check_strings(from, &args.input, input)?;
    }
    check_strings(args.to, &args.output, output)?;
    if args.len.is_some() && input != FileFormat::Bin {
        let what = "--len is only for .bin files, other formats contain a shape";
        return Err(Failure::Usage(format!("{}: {what}", args.input.display())));
    }
    let NamedTensor { name, tensor } = match (input, args.from) {
        (FileFormat::Bin, Some(from)) => unnamed(files::read_bin(&args.input, from, args.len)?),
        (FileFormat::Bin, None) => {
            let what = "a .bin file does not contain its element type: add --from TYPE";
            return Err(Failure::Usage(format!("{}: {what}", args.input.display())));
        }
        (FileFormat::Npy, from) => unnamed(npy::read(&args.input, from)?),
        (FileFormat::Pb, from) => pb::read(&args.input, from)?,
    };
    let from = tensor.element_type();
    let options = args.attributes.options(from, args.to)?;
    let choice = match (choice, has_kernel(from, args.to)) {
        (choice, true) => choice,
        // Strings need no device, so none is opened.
        (DeviceChoice::Auto | DeviceChoice::Cpu, false) => DeviceChoice::Cpu,
        _ => {
            let what = "strings can only be cast on the CPU";
            return Err(Failure::Usage(format!("{from} to {}: {what}", args.to)));
        }
    };
    let (tensor, mut report) = if choice == DeviceChoice::Auto {
        // This opens a device only where the cast may be faster on it.
        wgpu_cast::blocking::cast(&tensor, args.to, &options)?
    } else {
        pollster::block_on(async {
            let session = Session::open(choice).await?;
            let made = session.context.cast(&tensor, args.to, &options).await?;
            session.keep();
            Ok::<_, Failure>(made)
        })?
    };
    report.reason = args.device.reason(report.route).unwrap_or(report.reason);
    let elements = output::counted(tensor.len() as u64, "element");
    match output {
        FileFormat::Bin => files::write(&args.output, &[tensor.bytes().unwrap_or_default()])?,
        FileFormat::Npy => npy::write(&args.output, tensor)?,
        FileFormat::Pb => pb::write(&args.output, NamedTensor { name, tensor })?,
    }
    output::note(format_args!("{from} -> {}, {elements}, {report}", args.to));
    Ok(())
}

fn unnamed(tensor: Tensor) -> NamedTensor {
    NamedTensor { name: String::new(), tensor }
}

/// Refuses string tensors in a format that has none.
fn check_strings(element_type: ElementType, path: &Path, format: FileFormat) -> Result<(), Failure> {
    if element_type.is_numeric() || format == FileFormat::Pb {
        return Ok(());
    }
    Err(Failure::Usage(format!("{}: string tensors are supported only in .pb files", path.display())))
}

impl Attributes {
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
