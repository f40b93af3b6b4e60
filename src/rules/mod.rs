//! Rules that need no conversion: what each opset allows, and numbers as text.

pub mod onnx;
#[cfg(feature = "cpu")]
pub(crate) mod strings;
