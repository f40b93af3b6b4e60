//! The rows of a report: the tensors of a model, and the types to which they are cast.

use std::collections::HashMap;

use wgpu_cast::ElementType;

use super::structure::{Place, TensorId};

/// A tensor of a model, and the type to which a conversion casts it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlannedTensor {
    /// The name of the initializer, or of the output of a `Constant` node. For the tensor of another node, it is the node's
    /// name, or that of its first output if the node has no name.
    pub name: String,
    /// The sizes of the axes.
    pub shape: Vec<u64>,
    /// The number of elements.
    pub elements: u64,
    /// The element type; `None` for one that ONNX Cast does not support.
    pub from: Option<ElementType>,
    /// The type to which the tensor is cast; `None` if it stays as it is.
    pub to: Option<ElementType>,
    /// Whether the tensor is a parameter of an operator, such as the scale of `DequantizeLinear`. A value of it that becomes 0 changes
    /// the meaning of other tensors.
    pub is_parameter: bool,
}

/// All rows; the row of each tensor; and the row of each constant that is not a tensor, by its node.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub tensors: Vec<PlannedTensor>,
    pub of: HashMap<TensorId, usize>,
    pub of_nodes: HashMap<Place, usize>,
}
