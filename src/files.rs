//! Files of tensors, converted in bounded memory: safetensors, ONNX models and tensors, `.npy`, `.npz` and raw codes.
//!
//! A conversion has two halves. The first reads the headers of the inputs and decides everything: a [`FilePlan`] lists
//! what the output consists of, in order, with every size known. The second, [`write()`], reads, casts and writes piece by
//! piece, and needs neither the formats nor more memory than it is given. The output is written from front to back, so it
//! can be a pipe, and an interrupted one can be continued.
//!
//! Values are cast, not quantized: there are no scales, and no value depends on another. A tensor that stays in its type is
//! not cast: its codes are copied, and at most stored in another order or layout.
//! [`LossCounts`](crate::LossCounts) says what the destination type could not hold.

mod clamp;
mod error;
mod input;
mod npy;
mod npz;
mod onnx_model;
mod pieces;
mod plan;
mod raw;
mod repack;
mod safetensors;
mod stored;
mod stream;
mod tensor_fields;
mod tensor_proto;
mod transpose;
mod wire;

pub use error::FileError;
#[cfg(any(unix, windows))]
pub use input::InputFile;
pub use input::{InputRange, ReadAt};
pub use npy::{
    Characters, NpyArray, NpyElements, NpyError, NpyHeader, NpyOrder, StringLayout, npy_plan, write_strings,
};
pub use npz::{NpzArchive, NpzError, NpzMember, NpzWriter};
pub use onnx_model::{
    GraphRules, KeptReason, ModelData, ModelNote, ModelPlan, ModelRules, ModelScan, ModelTensor, OnnxModelError,
    PlannedTensor,
};
pub use pieces::Piece;
pub use plan::{CodeStorage, FilePlan, Part, SourceRange, TensorCast, TensorCodes, TensorStorage};
pub use raw::{RawError, raw_plan, raw_tensor};
pub use safetensors::{SafetensorsFile, SafetensorsTensor};
pub use stored::StoredTensor;
pub use stream::{CastLoss, CastPiece, FinishedPiece, StreamSettings, write};
pub use tensor_proto::{TensorData, TensorMessage, TensorProtoError, tensor_proto_plan};
pub use wire::WireError;
