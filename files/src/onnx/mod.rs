//! ONNX messages: tensors, and models of casts, which can be run.
//!
//! Both parsers treat their input as untrusted. [`wgpu_cast::onnx`] has the rules of the operators.

mod data_file;
mod error;
mod external;
mod faults;
mod memory;
mod model;
mod node;
mod order;
mod proto;
mod reader;
#[cfg(feature = "wgpu")]
mod run;
mod tensor;

#[cfg(any(unix, windows))]
pub(crate) use data_file::open;
pub(crate) use data_file::plain_names;
pub use error::MessageError;
#[cfg(any(unix, windows))]
pub(crate) use external::open_data;
pub(crate) use external::{DataRange, data_range};
pub use faults::{ModelFault, TensorFault};
pub use model::{Input, Model, Output};
#[cfg(feature = "wgpu")]
pub use run::{RunReport, run};
pub use tensor::{LONGEST_MESSAGE, NamedTensor};
pub(crate) use tensor::{MOST_DIMS, retyped};
