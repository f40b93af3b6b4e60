//! A graph of casts, and its writer to a `ModelProto`.

use bytes::Bytes;
use wgpu_cast::onnx::{CastNode, ir_version};
use wgpu_cast::{ElementType, Tensor};

use super::fields::shape::{DIM, DIM_VALUE};
use super::fields::{graph, model, node, opset, tensor_type, value, value_type};
use super::node::Operation;
use super::tensor::{LONGEST_MESSAGE, NamedTensor};
use crate::error::{FileCause, FileError, PlanFault};
use crate::wire::{put_bytes, put_length, put_number, varint_bytes};

/// A model that contains only `Cast`, `CastLike`, `Identity` and `Constant` nodes.
///
/// [`run`](super::run()) runs it. Shapes that the graph declares are kept but not checked, because no cast depends on
/// them.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    pub(super) opset: i64,
    /// The name of every value. The rest of the model refers to a value by its index here.
    pub(super) values: Vec<String>,
    /// The element type of every value.
    pub(super) types: Vec<ElementType>,
    pub(super) inputs: Vec<Input>,
    pub(super) outputs: Vec<Output>,
    /// The values of initializers and `Constant` nodes. A constant that no output needs has no elements.
    pub(super) constants: Vec<(usize, Tensor)>,
    /// The nodes, in an order in which every node follows the nodes that make its inputs.
    pub(super) nodes: Vec<Node>,
}

/// An input of a model's graph.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Input {
    /// The name.
    pub name: String,
    /// The element type that the graph declares.
    pub element_type: ElementType,
    /// Whether an initializer of the same name is the default value.
    pub has_default: bool,
    pub(crate) value: usize,
    /// The `TensorShapeProto` that the graph declares, for writing.
    pub(super) shape: Option<Bytes>,
}

/// An output of a model's graph.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Output {
    /// The name.
    pub name: String,
    /// The element type of the output.
    pub element_type: ElementType,
    pub(crate) value: usize,
    pub(super) shape: Option<Bytes>,
}

/// A node that makes one value from others.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    /// The node's name, or the name of its output if it has none.
    pub name: String,
    pub operation: Operation,
    /// The value that is cast or passed on.
    pub input: usize,
    /// The second input of `CastLike`: only its type matters.
    pub like: Option<usize>,
    pub output: usize,
}

impl Node {
    /// All inputs.
    pub(super) fn inputs(&self) -> impl Iterator<Item = usize> {
        [self.input].into_iter().chain(self.like)
    }
}

/// Whether an output needs each value. The second input of `CastLike` is not needed: its type is known without its value.
pub(super) fn needed(values: usize, outputs: impl Iterator<Item = usize>, nodes: &[Node]) -> Vec<bool> {
    let mut needed = vec![false; values];
    outputs.for_each(|output| needed[output] = true);
    for node in nodes.iter().rev() {
        if needed[node.output] {
            needed[node.input] = true;
        }
    }
    needed
}

impl Model {
    /// A model of a single node, for instance to compare with another runtime. Its input is named `input` and has the type
    /// `from`. Its output is named `output`. Both have the shape `shape`.
    ///
    /// # Errors
    /// [`FileCause::Cast`] with [`TypeNotInOpset`](wgpu_cast::Error::TypeNotInOpset) if the node's opset does not support
    /// `from`.
    pub fn of_cast(node: &CastNode, from: ElementType, shape: &[usize]) -> Result<Self, FileError> {
        node.check(from)?;
        let operation = Operation::Cast(*node);
        let cast = Node { name: "cast".to_owned(), operation, input: 0, like: None, output: 1 };
        let mut dims = Vec::new();
        for &dim in shape {
            let mut dimension = Vec::new();
            // A size of more than 63 bits does not fit the message; that dimension is declared without a size.
            if i64::try_from(dim).is_ok() {
                put_number(&mut dimension, DIM_VALUE, dim as u64);
            }
            put_bytes(&mut dims, DIM, &dimension);
        }
        let shape = Some(Bytes::from(dims));
        let [input, output] = ["input", "output"].map(str::to_owned);
        Ok(Self {
            opset: node.opset(),
            values: vec![input.clone(), output.clone()],
            types: vec![from, node.to()],
            inputs: vec![Input { name: input, element_type: from, has_default: false, value: 0, shape: shape.clone() }],
            outputs: vec![Output { name: output, element_type: node.to(), value: 1, shape }],
            constants: Vec::new(),
            nodes: vec![cast],
        })
    }

    /// The opset of the default domain that the model imports.
    pub fn opset(&self) -> i64 {
        self.opset
    }

    /// The inputs of the graph, in its order.
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// The outputs of the graph, in its order.
    pub fn outputs(&self) -> &[Output] {
        &self.outputs
    }

    /// Writes an equivalent `ModelProto`. Constants become initializers. Constants that no output needs have no elements.
    ///
    /// # Errors
    /// [`FileCause::TooLarge`] if a constant or the model exceeds 2 GiB, the limit of protobuf messages;
    /// [`FileCause::OutOfMemory`].
    pub fn to_bytes(&self) -> Result<Vec<u8>, FileError> {
        let mut start = Vec::new();
        for node in &self.nodes {
            put_bytes(&mut start, graph::NODE, &self.node_bytes(node));
        }
        put_bytes(&mut start, graph::NAME, b"casts");
        let initializers = self.constants.iter().map(|(value, tensor)| {
            NamedTensor { name: self.values[*value].clone(), tensor: tensor.clone() }.into_bytes()
        });
        let initializers = initializers.collect::<Result<Vec<_>, _>>()?;
        let mut end = Vec::new();
        let inputs = self.inputs.iter().map(|input| (graph::INPUT, &input.name, input.value, &input.shape));
        let outputs = self.outputs.iter().map(|output| (graph::OUTPUT, &output.name, output.value, &output.shape));
        for (field, name, value, shape) in inputs.chain(outputs) {
            put_bytes(&mut end, field, &value_info(name, self.types[value], shape.as_ref()));
        }
        let mut head = Vec::new();
        // Format version 4 was the first in which an initializer need not be an input.
        let oldest = if self.constants.is_empty() { 3 } else { 4 };
        let version = ir_version(self.opset).map_or(oldest, |version| version.max(oldest));
        put_number(&mut head, model::IR_VERSION, version as u64);
        put_bytes(&mut head, model::PRODUCER_NAME, b"wgpu-cast");
        let mut import = Vec::new();
        put_number(&mut import, opset::VERSION, self.opset as u64);
        let field = |bytes: &Vec<u8>| 1 + varint_bytes(bytes.len() as u64) + bytes.len() as u64;
        let content = (start.len() + end.len()) as u64 + initializers.iter().map(field).sum::<u64>();
        put_length(&mut head, model::GRAPH, content);
        let bytes = head.len() as u64 + content + field(&import);
        if bytes > LONGEST_MESSAGE as u64 {
            return Err(PlanFault::BeyondMessage { bytes }.into());
        }
        head.try_reserve_exact(bytes as usize - head.len()).map_err(|_| FileCause::OutOfMemory { bytes })?;
        head.extend(start);
        initializers.iter().for_each(|initializer| put_bytes(&mut head, graph::INITIALIZER, initializer));
        head.extend(end);
        put_bytes(&mut head, model::OPSET_IMPORT, &import);
        Ok(head)
    }

    /// A `NodeProto`.
    fn node_bytes(&self, node: &Node) -> Vec<u8> {
        let mut bytes = Vec::new();
        node.inputs().for_each(|input| put_bytes(&mut bytes, node::INPUT, self.values[input].as_bytes()));
        put_bytes(&mut bytes, node::OUTPUT, self.values[node.output].as_bytes());
        put_bytes(&mut bytes, node::NAME, node.name.as_bytes());
        put_bytes(&mut bytes, node::OP_TYPE, node.operation.name().as_bytes());
        node.operation.put_attributes(&mut bytes);
        bytes
    }
}

/// A `ValueInfoProto` of a tensor.
fn value_info(name: &str, element_type: ElementType, shape: Option<&Bytes>) -> Vec<u8> {
    let [mut bytes, mut kind, mut tensor] = [const { Vec::new() }; 3];
    put_number(&mut tensor, tensor_type::ELEM_TYPE, element_type.onnx_code() as u64);
    if let Some(shape) = shape {
        put_bytes(&mut tensor, tensor_type::SHAPE, shape);
    }
    put_bytes(&mut kind, value_type::TENSOR, &tensor);
    put_bytes(&mut bytes, value::NAME, name.as_bytes());
    put_bytes(&mut bytes, value::TYPE, &kind);
    bytes
}
