//! wip
mod bits;
mod conversion;
pub mod cpu;
mod element;
mod error;
mod format;
mod kernel;
mod lanes;
pub mod onnx;
mod options;
mod tensor;

pub use conversion::can_cast;
pub use element::{ElementType, Kind, Operator};
pub use error::{Error, Side};
pub use kernel::{Kernel, edge_kernel, kernel};
pub use format::{FloatFormat, Specials};
pub use options::{CastOptions, Float4Nan, Int4Overflow, RoundMode};
pub use tensor::{Element, Tensor};
