//! wgpu: adapters, pipelines, recording, transfers.

pub(crate) mod adapter;
#[cfg(feature = "onnx")]
pub(crate) mod batch;
pub(crate) mod kernels;
pub(crate) mod link;
pub(crate) mod parameters;
pub(crate) mod record;
mod ring;
pub(crate) mod scope;
