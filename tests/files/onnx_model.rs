//! ONNX models, byte by byte.

mod build;
mod external;
mod graphs;
mod hostile;
mod integers;
mod nested;
mod rows;
mod weights;
