//! ONNX models, byte by byte.

mod build;
mod driver;
mod external;
mod graphs;
mod hostile;
mod nested;
mod weights;
