//! `cast shader`: prints the kernel for a pair of element types.

use crate::args::ShaderArgs;
use crate::failure::Failure;
use crate::files;
use crate::output;
use crate::translate::translate;

pub fn print(args: &ShaderArgs) -> Result<(), Failure> {
    let options = args.attributes.options(args.from, args.to)?;
    let kernel = match (args.edge, args.computed) {
        (true, _) => wgpu_cast::edge_kernel,
        (false, true) => wgpu_cast::computed_kernel,
        (false, false) => wgpu_cast::kernel,
    };
    let kernel = kernel(args.from, args.to, &options)?;
    let bytes = translate(kernel.wgsl(), args.format)
        .map_err(|e| Failure::Work(format!("{} to {} as {}: {e}", args.from, args.to, args.format.name())))?;
    if let Some(path) = &args.output {
        return files::write(path, &[&bytes]);
    }
    output::bytes(&bytes)
}
