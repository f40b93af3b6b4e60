//! The example binaries, run as a user runs them.

mod advice;
#[cfg(unix)]
mod cache;
mod clamp;
mod convert;
mod devices;
mod errors;
mod files;
mod folders;
mod fused;
mod help;
mod indexes;
mod kept;
mod layouts;
mod messages;
mod models;
mod npy;
mod onnx;
mod parts;
mod resume;
mod shader;
mod tool;
mod verify;
