//! Tests that need no GPU: of the CPU path, the kernels as text, the tables, the README, the page of faults, the names
//! of code in documents, and the words of the page in a browser.

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
