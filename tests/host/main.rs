//! What needs no GPU: the CPU path, the kernels as text, the tables, the README.

mod cpu;
mod golden;
mod oracle;
mod readme;
mod shaders;
