//! Files of tensors and models: what is read, what is planned and refused, and the pieces in which it is converted.

#![allow(clippy::ptr_arg, reason = "a vector is an input as it is, a slice only behind a reference")]

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
