//! The example binary, run as a user runs it.

mod devices;
mod errors;
mod files;
mod npy;
mod onnx;
mod shader;
mod tool;
