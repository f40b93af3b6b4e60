//! ONNX messages: tensors, and models of casts. Such models can be run.
//!
//! The parsers of both treat their input as untrusted. The rules of the operators are in [`wgpu_cast::onnx`].

mod data_file;
mod external;
pub(crate) mod fields;
mod header;
mod model;
mod node;
mod order;
mod parts;
mod reader;
#[cfg(feature = "wgpu")]
mod run;
mod tensor;

#[cfg(any(unix, windows))]
pub(crate) use data_file::open;
pub(crate) use data_file::plain_names;
pub(crate) use external::ExternalRange;
pub(crate) use header::{MOST_DIMS, TensorHeader, TensorPlace, header_bytes};
pub use model::{Input, Model, Output};
pub(crate) use node::{is_default, put_attribute};
pub(crate) use parts::{ValueKind, opset_import, value_info};
#[cfg(feature = "wgpu")]
pub use run::{RunReport, run};
pub(crate) use tensor::retyped;
pub use tensor::{LONGEST_MESSAGE, NamedTensor};
