//! ONNX models, byte by byte.

mod build;
mod constants;
mod external;
mod graphs;
mod hostile;
mod integers;
mod nested;
mod opsets;
mod parameters;
mod rows;
mod weights;
