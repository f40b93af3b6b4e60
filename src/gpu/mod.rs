//! wgpu: adapters, pipelines, recording, transfers.

pub(crate) mod adapter;
mod arena;
pub(crate) mod binding_fault;
#[cfg(not(target_family = "wasm"))]
pub(crate) mod compile_queue;
pub(crate) mod device_batch;
pub(crate) mod device_link;
pub(crate) mod error_scope;
pub(crate) mod kernels;
pub(crate) mod parameters;
pub(crate) mod pipelined;
pub(crate) mod record;
