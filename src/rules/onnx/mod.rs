//! The rules of every version of the operators. ONNX messages are read and written by the package `wgpu-cast-files`.
//!
//! An engine with its own parser needs only [`CastNode`] and [`CastLikeNode`]. They turn the model's opset and a node's
//! attributes into the target type and [`CastOptions`](crate::CastOptions), or into an error that names what the opset
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

mod opset;

pub use opset::{Attribute, CastLikeNode, CastNode, NEWEST_OPSET, ir_version};
