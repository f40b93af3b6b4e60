//! Casts of tensors in host memory on a device: the choice of the device, transfers, known answers.

pub(crate) mod adapter;
pub(crate) mod batch;
#[cfg(not(target_family = "wasm"))]
pub mod blocking;
pub(crate) mod context;
mod device_batch;
mod device_link;
mod pipelined;
pub(crate) mod self_test;
