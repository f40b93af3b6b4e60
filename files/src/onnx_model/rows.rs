//! The rows of a report: the tensors of a model, and what becomes of them.

use std::collections::HashMap;

use wgpu_cast::ElementType;

use super::structure::{Place, TensorId};

/// A tensor of a model, and what a conversion does with it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlannedTensor {
    /// The name of the initializer, or of what a `Constant` node makes. Of the tensor of another node it is the node's
    /// name, or its first output if the node has no name.
    pub name: String,
    /// The sizes of the axes.
    pub shape: Vec<u64>,
    /// The number of elements.
    pub elements: u64,
    /// The element type; `None` for those that ONNX Cast does not support.
    pub from: Option<ElementType>,
    /// The type to which the tensor is cast; `None` if it stays as it is.
    pub to: Option<ElementType>,
}

/// All rows, and which of them a tensor has, or a constant that is no tensor.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub tensors: Vec<PlannedTensor>,
    pub of: HashMap<TensorId, usize>,
    pub of_nodes: HashMap<Place, usize>,
}
