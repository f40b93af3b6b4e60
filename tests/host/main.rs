//! What needs no GPU: the CPU path, the kernels as text, the tables, the README and the page of faults.

mod cpu;
mod faults;
mod functions;
mod golden;
#[cfg(target_os = "linux")]
mod guard_pages;
mod inputs;
mod oracle;
mod properties;
mod readme;
mod shaders;
mod shared_bytes;
mod threads;
