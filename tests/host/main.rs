//! Tests that need no GPU: of the CPU path, of the kernels as text, and of the tables. Others compare documents with
//! the code: the README, the page of faults, names of code, and the words of the page in a browser.

mod cpu;
mod faults;
mod functions;
mod golden;
#[cfg(target_os = "linux")]
mod guard_pages;
mod inputs;
mod losses;
mod names;
mod oracle;
mod properties;
mod readme;
mod shaders;
mod shared_bytes;
mod threads;
mod words;
