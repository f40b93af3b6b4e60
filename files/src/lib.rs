//! Files of tensors, cast to other element types in bounded memory: safetensors, ONNX models and tensors, `.npy`, `.npz` and
//! raw codes. The casts are those of [`wgpu_cast`].
//!
//! | task | items |
//! |---|---|
//! | read ONNX tensors and models of casts, write them, run them | [`onnx::NamedTensor`], [`onnx::Model`], [`onnx::run()`], [`blocking::run()`] |
//! | plan a safetensors file | [`SafetensorsFile`] |
//! | plan an array of numpy, or a file of arrays | [`NpyHeader`], [`NpyArray`], [`npy_plan`]; [`NpzArchive`], [`NpzWriter`] |
//! | read and write numpy's arrays of strings | [`NpyArray::read_strings`], [`write_strings`] |
//! | plan an ONNX model of any size, its weights or the whole graph | [`ModelScan`], [`ModelRules`], [`GraphRules`] |
//! | plan an ONNX tensor | [`TensorMessage`], [`tensor_proto_plan`] |
//! | plan codes without a header | [`raw_tensor`], [`raw_plan`] |
//! | multiply codes by their scales; quantize weights | [`ScaledCast`], [`write_scaled`]; [`block_scales`] |
//! | write what a plan says | [`FilePlan`], [`write()`], [`StreamSettings`] |
//! | give bytes to read | [`ReadAt`], [`InputRange`], [`InputFile`] |
//!
//! # Plans
//! A conversion has two halves. The first reads the headers of the inputs and decides everything: a [`FilePlan`] lists
//! what the output consists of, in order, with every size known. The second, [`write()`], reads, casts and writes piece by
//! piece. It does not know the formats, and its buffers stay within [`StreamSettings::memory`]. The output is written from
//! front to back. It can therefore be a pipe, and an interrupted output can be continued.
//!
//! No value depends on another, with one exception: [`block_scales`] computes the scales of weights that are quantized, before
//! the output is made. Codes that have scales are multiplied by them where a plan says so ([`ScaledCast`]). A tensor that stays
//! in its type is not cast: its codes are copied, perhaps into another order or layout. [`LossCounts`](wgpu_cast::LossCounts)
//! counts the values that the destination type could not hold.
//!
//! # Models
//! ```
//! use wgpu_cast::onnx::CastNode;
//! use wgpu_cast::{ElementType, Tensor};
//! use wgpu_cast_files::blocking;
//! use wgpu_cast_files::onnx::Model;
//!
//! let node = CastNode::with_target(25, ElementType::FLOAT16, None, None)?;
//! let model = Model::of_cast(&node, ElementType::FLOAT, &[2])?;
//! let model = Model::from_bytes(&model.to_bytes()?, None)?;
//! let (outputs, _report) = blocking::run(&model, vec![Tensor::from_slice([2], &[1.0f32, 0.5])?])?;
//! assert_eq!(outputs[0].tensor.bytes(), Some(&[0x00, 0x3c, 0x00, 0x38][..]));
//! # Ok::<(), wgpu_cast_files::FileError>(())
//! ```
//!
//! # Features
//! `wgpu`, `backends`, `threads` and `cpu-simd` are those of `wgpu-cast`, on by default. Without `wgpu`, models cannot be run;
//! everything else is there.

mod block_scales;
#[cfg(all(feature = "wgpu", not(target_family = "wasm")))]
pub mod blocking;
mod clamp;
mod error;
mod input;
mod memory;
mod npy;
mod npz;
pub mod onnx;
mod onnx_model;
mod pieces;
mod plan;
mod raw;
mod repack;
mod safetensors;
mod scaled;
mod stored;
mod stream;
mod tensor_proto;
mod text;
mod transpose;
mod wire;

pub use block_scales::block_scales;
pub use error::{FileCause, FileError, FileFault};
#[cfg(any(unix, windows))]
pub use input::InputFile;
pub use input::{InputRange, ReadAt};
pub use npy::{Characters, NpyArray, NpyElements, NpyHeader, NpyOrder, StringLayout, npy_plan, write_strings};
pub use npz::{NpzArchive, NpzMember, NpzWriter};
pub use onnx_model::{
    GraphRules, KeptReason, ModelData, ModelNote, ModelPlan, ModelRules, ModelScan, ModelTensor, PlannedTensor,
};
pub use pieces::Piece;
pub use plan::{CodeStorage, FilePlan, Part, SourceRange, TensorCast, TensorCodes, TensorStorage};
pub use raw::{raw_plan, raw_tensor};
pub use safetensors::{SafetensorsEntry, SafetensorsFile, SafetensorsTensor};
pub use scaled::{CastScaledPiece, ScaleTensor, ScaledCast, SecondScale, ZeroPoints};
pub use stored::StoredTensor;
pub use stream::{CastLoss, CastPiece, FinishedPiece, StreamSettings, write, write_scaled};
pub use tensor_proto::{TensorData, TensorMessage, tensor_proto_plan};
