//! Running models without futures, for threads that may block.

use wgpu_cast::Tensor;

use crate::error::FileError;
use crate::onnx::{Model, NamedTensor, RunReport};

/// Runs a model like [`onnx::run`](crate::onnx::run()), on the context of [`wgpu_cast::blocking::context`]. All callers in
/// the process share that context.
///
/// # Errors
/// Those of [`onnx::run`](crate::onnx::run()) and of [`wgpu_cast::blocking::context`].
pub fn run(model: &Model, inputs: Vec<Tensor>) -> Result<(Vec<NamedTensor>, RunReport), FileError> {
    let context = wgpu_cast::blocking::context()?;
    pollster::block_on(crate::onnx::run(&context, model, inputs))
}
