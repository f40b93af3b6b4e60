//! Files of tensors and models: what is read, what is planned and refused, and the pieces in which it is converted.

#![allow(clippy::ptr_arg, reason = "a vector is an input as it is, a slice only behind a reference")]

mod block_scales;
mod clamp;
mod codes;
mod npy;
mod npz;
mod onnx_model;
mod plans;
mod raw;
mod safetensors;
mod scaled;
mod stream;
mod tensor_proto;
#[allow(dead_code, reason = "another suite uses the rest")]
#[path = "../messages/wire.rs"]
mod wire;

use std::io;

use wgpu_cast_files::ReadAt;

/// An input that nothing may read.
struct Unread;

impl ReadAt for Unread {
    fn read_exact_at(&self, _: u64, _: &mut [u8]) -> io::Result<()> {
        panic!("the input is read")
    }
    fn size(&self) -> io::Result<u64> {
        panic!("the size is asked for")
    }
}
