//! The rules of every operator version and, with the feature `onnx`, reading and writing of ONNX messages.
//!
//! An engine with its own parser needs only [`CastNode`] and [`CastLikeNode`]. They turn the model's opset and a node's
//! attributes into the target type and [`CastOptions`](crate::CastOptions), or into an error that says what the opset
//! does not support.
//!
//! ```
//! use wgpu_cast::onnx::{Attribute, CastNode};
//! use wgpu_cast::{ElementType, Tensor, cpu};
//!
//! let node = CastNode::new(22, [("to", Attribute::Int(17)), ("saturate", Attribute::Int(0))])?;
//! assert_eq!((node.to(), node.version()), (ElementType::FLOAT8E4M3FN, 21));
//! let tensor = Tensor::from_slice([1], &[500.0f32])?;
//! node.check(tensor.element_type())?;
//! assert_eq!(cpu::cast(&tensor, node.to(), &node.options())?.bytes(), Some(&[0x7f][..]));
//! # Ok::<(), wgpu_cast::Error>(())
//! ```

#[cfg(feature = "onnx")]
mod data_file;
#[cfg(feature = "onnx")]
mod external;
#[cfg(feature = "onnx")]
mod memory;
#[cfg(feature = "onnx")]
mod model;
#[cfg(feature = "onnx")]
mod node;
mod opset;
#[cfg(feature = "onnx")]
mod order;
#[cfg(feature = "onnx")]
mod proto;
#[cfg(feature = "onnx")]
mod reader;
#[cfg(feature = "onnx")]
mod tensor;

#[cfg(all(feature = "files", any(unix, windows)))]
pub(crate) use data_file::open;
#[cfg(feature = "files")]
pub(crate) use data_file::plain_names;
#[cfg(all(feature = "files", any(unix, windows)))]
pub(crate) use external::open_data;
#[cfg(feature = "files")]
pub(crate) use external::{DataRange, data_range};
#[cfg(feature = "onnx")]
pub(crate) use model::Node;
#[cfg(feature = "onnx")]
pub use model::{Input, Model, Output};
#[cfg(feature = "files")]
pub(crate) use opset::ir_version;
pub use opset::{Attribute, CastLikeNode, CastNode, NEWEST_OPSET};
#[cfg(feature = "files")]
pub(crate) use tensor::MOST_DIMS;
#[cfg(feature = "onnx")]
pub use tensor::{LONGEST_MESSAGE, NamedTensor};
