//! A graph of casts, and how it is written as a `ModelProto`.

use bytes::Bytes;
use prost::Message;
use wgpu_cast::onnx::{CastNode, ir_version};
use wgpu_cast::{ElementType, Tensor};

use super::node::Operation;
use super::proto::{
    Dimension, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorShapeProto, TensorTypeProto, TypeProto,
    ValueInfoProto,
};
use super::tensor::{LONGEST_MESSAGE, NamedTensor, encoded};
use crate::onnx::{MessageError, ModelFault};

/// A model that contains only `Cast`, `CastLike`, `Identity` and `Constant` nodes.
///
/// [`run`](super::run()) runs it. Shapes that the graph declares are kept but not checked, because no
/// cast depends on them.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    pub(super) opset: i64,
    /// Every value's name; the rest of the model refers to values by their index here.
    pub(super) values: Vec<String>,
    /// Every value's element type.
    pub(super) types: Vec<ElementType>,
    pub(super) inputs: Vec<Input>,
    pub(super) outputs: Vec<Output>,
    /// Initializers, and what `Constant` nodes hold. Those that no output needs have no elements.
    pub(super) constants: Vec<(usize, Tensor)>,
    /// In an order in which every node follows the nodes that make its inputs.
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
    /// As the graph declares it, for writing.
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
    /// Its name, or the name of what it makes, for messages.
    pub name: String,
    pub operation: Operation,
    /// The input that is cast or passed on.
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

/// Which values the outputs need. The second input of `CastLike` is not needed: its type is known without its value.
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
    /// A model of a single node, for instance to compare with another runtime. Its input is `input` of type `from` and
    /// its output is `output`, both of the given shape.
    ///
    /// # Errors
    /// [`MessageError::Cast`] with [`TypeNotInOpset`](wgpu_cast::Error::TypeNotInOpset) if the node's opset does not support
    /// `from`.
    pub fn of_cast(node: &CastNode, from: ElementType, shape: &[usize]) -> Result<Self, MessageError> {
        node.check(from)?;
        let operation = Operation::Cast(*node);
        let cast = Node { name: "cast".to_owned(), operation, input: 0, like: None, output: 1 };
        let dim = |&dim: &usize| Dimension { dim_value: i64::try_from(dim).ok() };
        let shape = Some(bytes(&TensorShapeProto { dim: shape.iter().map(dim).collect() }));
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

    /// Writes an equivalent `ModelProto`. Constants become initializers. Those that no output needs have no elements.
    ///
    /// # Errors
    /// [`MessageError::Tensor`] if a constant, or [`MessageError::Model`] if the model, exceeds 2 GiB, the limit of protobuf
    /// messages, or if there is no memory for it.
    pub fn to_bytes(&self) -> Result<Vec<u8>, MessageError> {
        let info = |name: &str, value: usize, shape: &Option<Bytes>| {
            let (elem_type, shape) = (self.types[value].onnx_code(), shape.clone());
            let type_proto = Some(TypeProto { tensor_type: Some(TensorTypeProto { elem_type, shape }) });
            bytes(&ValueInfoProto { name: name.to_owned(), type_proto })
        };
        let name = |value: usize| self.values[value].clone();
        let nodes = self.nodes.iter().map(|node| {
            bytes(&NodeProto {
                input: node.inputs().map(name).collect(),
                output: vec![name(node.output)],
                name: node.name.clone(),
                op_type: node.operation.name().to_owned(),
                attribute: node.operation.attributes().iter().map(bytes).collect(),
                domain: String::new(),
            })
        });
        let initializers = self.constants.iter().map(|(value, tensor)| {
            let named = NamedTensor { name: self.values[*value].clone(), tensor: tensor.clone() };
            named.into_bytes().map(Bytes::from)
        });
        let graph = GraphProto {
            node: nodes.collect(),
            name: "casts".to_owned(),
            initializer: initializers.collect::<Result<_, _>>()?,
            input: self.inputs.iter().map(|input| info(&input.name, input.value, &input.shape)).collect(),
            output: self.outputs.iter().map(|output| info(&output.name, output.value, &output.shape)).collect(),
            sparse_initializer: Vec::new(),
        };
        let import = OperatorSetIdProto { domain: String::new(), version: self.opset };
        // Version 4 was the first with initializers that are not inputs.
        let oldest = if self.constants.is_empty() { 3 } else { 4 };
        let model = ModelProto {
            ir_version: ir_version(self.opset).map_or(oldest, |version| version.max(oldest)),
            producer_name: "wgpu-cast".to_owned(),
            graph: Some(graph),
            opset_import: vec![bytes(&import)],
            functions: Vec::new(),
        };
        let length = model.encoded_len();
        if length > LONGEST_MESSAGE {
            return Err(ModelFault::BeyondMessage { bytes: length as u64 }.into());
        }
        encoded(&model, length).map_err(|bytes| ModelFault::OutOfMemory { bytes }.into())
    }
}

fn bytes(message: &impl Message) -> Bytes {
    message.encode_to_vec().into()
}
