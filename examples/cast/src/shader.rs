//! `wgpu-cast shader`: prints the kernel for a pair of element types.

use wgpu_cast::CastSpec;
use wgpu_cast::wgsl::{self, KernelVariant};

use crate::args::ShaderArgs;
use crate::atomic::{self, target::Existing};
use crate::failure::Failure;
use crate::output;
use crate::translate::translate;

pub fn print(args: &ShaderArgs) -> Result<(), Failure> {
    let options = args.attributes.options(args.from, args.to)?;
    let spec = CastSpec::new(args.from, args.to).with_options(options);
    let variant = match (args.edge, args.computed) {
        (true, _) => KernelVariant::Edge,
        (false, true) => KernelVariant::Computed,
        (false, false) => KernelVariant::Table,
    };
    let kernel = wgsl::kernel(&spec, variant)?;
    let bytes = translate(kernel.wgsl(), args.format)
        .map_err(|e| Failure::Work(format!("{} to {} as {}: {e}", args.from, args.to, args.format.name())))?;
    if let Some(path) = &args.output {
        return atomic::write(path, &[&bytes], Existing::default());
    }
    output::bytes(&bytes)
}
