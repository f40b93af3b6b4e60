//! The program, run as a user runs it.

mod advice;
mod archives;
#[cfg(unix)]
mod cache;
mod clamp;
mod convert;
mod dequantize;
mod dequantize_refused;
mod dequantize_runs;
mod devices;
mod dry_run;
mod embedded;
mod errors;
mod files;
mod folders;
mod help;
mod incomplete;
mod indexes;
#[cfg(unix)]
mod interrupted;
mod kept;
mod layouts;
mod messages;
mod models;
mod npy;
mod onnx;
#[cfg(unix)]
mod options;
mod outputs;
mod parts;
mod quantize;
mod quantize_refused;
mod quantize_runs;
mod resume;
mod roles;
mod scales;
mod shader;
mod tool;
mod verify;
