//! ONNX models, byte by byte.

mod build;
mod external;
mod hostile;
mod weights;
