//! Tests that need an adapter, which may be a software adapter: casts on a device, compared with the CPU path.

// As in src/lib.rs: the types of wgpu nest deeply.
#![recursion_limit = "256"]

mod batches;
mod bindings;
mod bytes;
mod calls;
mod counted;
mod engine;
mod faults;
mod faulty;
mod functions;
mod functions_f16;
mod functions_vectors;
mod fused;
mod gpu;
mod immediates;
mod lists;
mod lost;
mod many;
mod overlap;
mod parameters;
mod parts;
mod plans;
mod pool;
mod random;
mod refused;
mod resident;
mod slices;
mod soak;
mod strided;
