//! Files of tensors: what is read, what is planned, and what is refused.

mod npy;
mod plans;
mod raw;
