//! Rules that need no conversion: what each opset allows, and numbers as text.

pub mod onnx;
pub(crate) mod strings;
