//! Arithmetic on bits, and the state of the calling thread. It knows no element type.

pub(crate) mod float_env;
pub(crate) mod format;
pub(crate) mod packing;
pub(crate) mod reference;
pub(crate) mod threads;
