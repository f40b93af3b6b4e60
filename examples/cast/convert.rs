//! `cast convert`: one tensor file into another.

use wgpu_cast::onnx::CastNode;
use wgpu_cast::{CastOptions, Context, ElementType};

use crate::args::{Attributes, ConvertArgs};
use crate::failure::Failure;
use crate::files::{self, FileFormat};
use crate::npy;
use crate::output;

pub fn convert(args: &ConvertArgs) -> Result<(), Failure> {
    let (input, output) = (FileFormat::of(&args.input)?, FileFormat::of(&args.output)?);
    let choice = args.device.choice()?;
    if let Some(from) = args.from {
        args.attributes.options(from, args.to)?;
    }
    let tensor = match (input, args.from, args.len) {
        (FileFormat::Bin, Some(from), len) => files::read_bin(&args.input, from, len)?,
        (FileFormat::Bin, None, _) => {
            let what = "a .bin does not say its element type, give --from TYPE";
            return Err(Failure::Usage(format!("{}: {what}", args.input.display())));
        }
        (FileFormat::Npy, from, None) => npy::read(&args.input, from)?,
        (FileFormat::Npy, _, Some(_)) => {
            return Err(Failure::Usage(format!("{}: --len is for .bin, a .npy has a shape", args.input.display())));
        }
    };
    let from = tensor.element_type();
    let options = args.attributes.options(from, args.to)?;
    let (result, report) = pollster::block_on(async {
        let context = Context::open(choice).await?;
        context.cast(&tensor, args.to, &options).await
    })?;
    drop(tensor);
    let elements = result.len();
    match output {
        FileFormat::Bin => files::write(&args.output, &[result.bytes().unwrap_or_default()])?,
        FileFormat::Npy => npy::write(&args.output, result)?,
    }
    output::note(format_args!("{from} -> {}, {elements} elements, {report}", args.to));
    Ok(())
}

impl Attributes {
    /// The options that Cast's attributes mean at this opset.
    ///
    /// # Errors
    /// The opset lacks an attribute or a type, or is not known.
    pub fn options(&self, from: ElementType, to: ElementType) -> Result<CastOptions, Failure> {
        let node = CastNode::with_target(self.opset, to, self.saturate, self.round_mode)?;
        node.check(from)?;
        Ok(node.options())
    }
}
