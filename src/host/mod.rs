//! Casts of tensors in host memory on a device: the choice of the device, transfers, known answers.

#[cfg(feature = "cpu")]
pub(crate) mod adapter;
#[cfg(feature = "cpu")]
pub(crate) mod batch;
#[cfg(all(feature = "cpu", not(target_family = "wasm")))]
pub mod blocking;
#[cfg(feature = "cpu")]
pub(crate) mod context;
#[cfg(feature = "cpu")]
mod device_batch;
mod device_link;
mod pipelined;
pub(crate) mod self_test;
