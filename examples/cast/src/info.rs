//! `wgpu-cast info`: the tensors in files.

use std::path::Path;

use crate::args::InfoArgs;
use crate::convert::list;
use crate::failure::Failure;

pub fn info(args: &InfoArgs) -> Result<(), Failure> {
    args.paths.iter().try_for_each(|path: &std::path::PathBuf| list(Path::new(path), args))
}
