//! wgpu: adapters, pipelines, recording, transfers.

pub(crate) mod adapter;
pub(crate) mod kernels;
pub(crate) mod parameters;
pub(crate) mod record;
pub(crate) mod scope;
pub(crate) mod transfer;
