//! The error of ONNX messages.

use wgpu_cast::Error;

use super::faults::{ModelFault, TensorFault};
use crate::text::{of_tensor, quoted};
use crate::wire::WireError;

/// An error of reading, writing or running ONNX messages.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// The bytes are not a valid message.
    #[error("invalid {message}: {error}")]
    #[non_exhaustive]
    Message {
        /// ONNX's name of the message.
        message: &'static str,
        /// What is wrong.
        #[source]
        error: WireError,
    },
    /// A `TensorProto` is invalid or not supported.
    #[error("{}{fault}", of_tensor(.name))]
    #[non_exhaustive]
    Tensor {
        /// The tensor's name, as the message gives it.
        name: String,
        /// What is wrong.
        #[source]
        fault: TensorFault,
    },
    /// A `ModelProto` is invalid or not supported, or the inputs do not match the model.
    #[error("{fault}")]
    #[non_exhaustive]
    Model {
        /// What is wrong.
        #[from]
        #[source]
        fault: ModelFault,
    },
    /// A node of a model is invalid or fails.
    #[error("node {node}: {error}", node = quoted(.node))]
    #[non_exhaustive]
    Node {
        /// The node's name, or the name of its output if it has none.
        node: String,
        /// What is wrong.
        #[source]
        error: Box<MessageError>,
    },
    /// A cast fails, or the rules of its operator do not allow it.
    #[error(transparent)]
    Cast(#[from] Error),
}
