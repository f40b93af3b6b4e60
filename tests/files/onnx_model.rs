//! ONNX models, byte by byte.

mod build;
mod driver;
mod external;
mod hostile;
mod weights;
