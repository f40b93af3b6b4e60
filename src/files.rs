//! Files of tensors, converted in bounded memory: safetensors, ONNX models and tensors, `.npy`, `.npz` and raw codes.
//!
//! A conversion has two halves. The first reads the headers of the inputs and decides everything: a [`FilePlan`] lists
//! what the output consists of, in order, with every size known. The second reads, casts and writes piece by
//! piece, and needs neither the formats nor more memory than it is given. The output is written from front to back, so it
//! can be a pipe, and an interrupted one can be continued.
//!
//! Values are cast, not quantized: there are no scales, and no value depends on another.

mod input;
mod onnx_model;
mod plan;
#[allow(dead_code, reason = "the readers of tensors and models use it")]
mod wire;

#[cfg(any(unix, windows))]
pub use input::InputFile;
pub use input::ReadAt;
pub use onnx_model::{
    GraphRules, KeptReason, ModelNote, ModelPlan, ModelRules, ModelScan, ModelTensor, OnnxModelError, TensorData,
};
pub use plan::{CodeStorage, FilePlan, Part, SourceRange, TensorCast, TensorStorage};
pub use wire::WireError;
