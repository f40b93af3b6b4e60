//! Files of tensors: what is read, what is planned, and what is refused.

mod npy;
mod npz;
mod plans;
mod raw;
