//! What needs an adapter, a software one too: casts on a device, compared with the CPU path.

mod counted;
mod engine;
mod faults;
mod functions;
mod gpu;
mod immediates;
mod many;
mod overlap;
mod parts;
mod plans;
mod resident;
mod shapes;
mod slices;
mod strided;
