//! The data types of the crate: element types, options, tensors, what a cast loses, and the conversion of a pair.

pub(crate) mod conversion;
pub(crate) mod element;
pub(crate) mod error;
pub(crate) mod layout;
pub(crate) mod loss;
pub(crate) mod options;
pub(crate) mod packed;
pub(crate) mod side;
pub(crate) mod spec;
pub(crate) mod string_array;
pub(crate) mod tensor;
