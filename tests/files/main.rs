//! Files of tensors and models: plans of their conversion, and what they write.

mod onnx_model;
#[path = "../messages/wire.rs"]
#[allow(dead_code, reason = "another suite uses the rest")]
mod wire;
