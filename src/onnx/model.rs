//! `ModelProto` to a graph of casts, and back.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::path::Path;

use bytes::Bytes;
use prost::Message;

use super::node::{self, NodeContent, Operation};
use super::opset::{self, CastNode, NEWEST_OPSET};
use super::proto::{
    Dimension, FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, TensorShapeProto,
    TensorTypeProto, TypeProto, ValueInfoProto,
};
use super::tensor::{LONGEST_MESSAGE, NamedTensor, parse_message};
use crate::element::ElementType;
use crate::error::{Error, ModelFault};
use crate::tensor::Tensor;

/// A model that contains only `Cast`, `CastLike`, `Identity` and `Constant` nodes.
///
/// [`Context::run`](crate::Context::run) runs it. Shapes that the graph declares are kept but not checked, because no
/// cast depends on them.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    opset: i64,
    /// Every value's name; the rest of the model refers to values by their index here.
    values: Vec<String>,
    /// Every value's element type.
    types: Vec<ElementType>,
    inputs: Vec<Input>,
    outputs: Vec<Output>,
    /// Initializers, and what `Constant` nodes hold.
    constants: Vec<(usize, Tensor)>,
    /// In an order in which every node follows the nodes that make its inputs.
    nodes: Vec<Node>,
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
    shape: Option<Bytes>,
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
    shape: Option<Bytes>,
}

/// A node that makes one value from others.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    /// Its name, or the name of what it makes, for messages.
    pub name: String,
    pub operation: Operation,
    pub inputs: Vec<usize>,
    pub output: usize,
}

impl Node {
    /// The input that is cast or passed on.
    pub(crate) fn input(&self) -> usize {
        self.inputs[0]
    }
}

impl Model {
    /// Reads a `ModelProto` (a `.onnx` file). External data is read from `folder`, the folder of the model. All
    /// initializers are read, each into separate memory.
    ///
    /// # Errors
    /// [`Error::Message`] if the bytes are not a `ModelProto`; [`Error::Model`] for an unsupported model;
    /// [`Error::Node`] for an invalid node, with its name; [`Error::Tensor`] for an invalid initializer.
    pub fn from_bytes(bytes: Vec<u8>, folder: Option<&Path>) -> Result<Self, Error> {
        let message: ModelProto = parse_message(bytes.into(), "ModelProto")?;
        let opset = imported_opset(&message)?;
        for function in &message.functions {
            let function: FunctionProto = parse_message(function.clone(), "FunctionProto")?;
            if node::is_default(&function.domain) && node::is_supported(&function.name) {
                return Err(ModelFault::Function { name: function.name }.into());
            }
        }
        let graph = message.graph.ok_or(ModelFault::NoGraph)?;
        Reader { opset, folder, ..Reader::default() }.read(&graph)
    }

    /// A model of a single node, for instance to compare with another runtime. Its input is `input` of type `from` and
    /// its output is `output`, both of the given shape.
    ///
    /// # Errors
    /// [`Error::TypeNotInOpset`] if the node's opset does not support `from`.
    pub fn of_cast(node: &CastNode, from: ElementType, shape: &[usize]) -> Result<Self, Error> {
        node.check(from)?;
        let operation = Operation::Cast(*node);
        let cast = Node { name: "cast".to_owned(), operation, inputs: vec![0], output: 1 };
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

    pub(crate) fn values(&self) -> usize {
        self.values.len()
    }

    pub(crate) fn element_type(&self, value: usize) -> ElementType {
        self.types[value]
    }

    pub(crate) fn constants(&self) -> &[(usize, Tensor)] {
        &self.constants
    }

    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Writes an equivalent `ModelProto`. Constants become initializers.
    ///
    /// # Errors
    /// [`Error::Tensor`] if a constant, or [`Error::Model`] if the model, exceeds 2 GiB, the limit of protobuf
    /// messages.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        let info = |name: &str, value: usize, shape: &Option<Bytes>| {
            let (elem_type, shape) = (self.types[value].onnx_code(), shape.clone());
            let type_proto = Some(TypeProto { tensor_type: Some(TensorTypeProto { elem_type, shape }) });
            bytes(&ValueInfoProto { name: name.to_owned(), type_proto })
        };
        let name = |&value: &usize| self.values[value].clone();
        let nodes = self.nodes.iter().map(|node| {
            bytes(&NodeProto {
                input: node.inputs.iter().map(name).collect(),
                output: vec![name(&node.output)],
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
            ir_version: opset::at(self.opset).map_or(oldest, |opset| opset.ir_version.max(oldest)),
            producer_name: env!("CARGO_PKG_NAME").to_owned(),
            graph: Some(graph),
            opset_import: vec![bytes(&import)],
            functions: Vec::new(),
        };
        let length = model.encoded_len();
        if length > LONGEST_MESSAGE {
            return Err(ModelFault::BeyondMessage { bytes: length as u64 }.into());
        }
        Ok(model.encode_to_vec())
    }
}

fn bytes(message: &impl Message) -> Bytes {
    message.encode_to_vec().into()
}

/// The imported version of ONNX's own domain. The first two versions of the format had no imports, and one opset.
fn imported_opset(message: &ModelProto) -> Result<i64, Error> {
    let mut found = None;
    for import in &message.opset_import {
        let import: OperatorSetIdProto = parse_message(import.clone(), "OperatorSetIdProto")?;
        if !node::is_default(&import.domain) {
            continue;
        }
        match found.replace(import.version) {
            Some(first) if first != import.version => {
                return Err(ModelFault::TwoOpsets { first, second: import.version }.into());
            }
            _ => {}
        }
    }
    let implied = (1..3).contains(&message.ir_version).then_some(1);
    let opset = found.or(implied).ok_or(ModelFault::NoOpset)?;
    if (1..=NEWEST_OPSET).contains(&opset) {
        Ok(opset)
    } else {
        Err(ModelFault::Opset { opset, newest: NEWEST_OPSET }.into())
    }
}

/// A model that is being read.
#[derive(Default)]
struct Reader<'a> {
    opset: i64,
    folder: Option<&'a Path>,
    values: Vec<String>,
    by_name: HashMap<String, usize>,
    /// Whether an input, an initializer or a node makes each value.
    made: Vec<bool>,
    constants: Vec<(usize, Tensor)>,
    nodes: Vec<Node>,
}

impl Reader<'_> {
    fn read(mut self, graph: &GraphProto) -> Result<Model, Error> {
        if !graph.sparse_initializer.is_empty() {
            return Err(ModelFault::Sparse.into());
        }
        let mut inputs = Vec::new();
        for info in &graph.input {
            let (name, element_type, shape) = value_info("input", info)?;
            let element_type =
                element_type.ok_or_else(|| ModelFault::NoTensor { what: "input", name: name.clone() })?;
            let value = self.make(&name)?;
            inputs.push(Input { name, element_type, has_default: false, value, shape });
        }
        for initializer in &graph.initializer {
            self.initializer(initializer, &mut inputs)?;
        }
        for node in &graph.node {
            self.node(&parse_message(node.clone(), "NodeProto")?)?;
        }
        let mut declared = Vec::with_capacity(graph.output.len());
        for info in &graph.output {
            let (name, element_type, shape) = value_info("output", info)?;
            declared.push((self.value(&name), element_type, shape));
        }
        if let Some((value, _, _)) = declared.iter().find(|(value, _, _)| !self.made[*value]) {
            return Err(ModelFault::Unknown { value: self.values[*value].clone() }.into());
        }
        let nodes = self.sort()?;
        let types = self.types(&inputs, &nodes)?;
        let mut outputs = Vec::with_capacity(declared.len());
        for (value, expected, shape) in declared {
            let (name, found) = (self.values[value].clone(), types[value]);
            if let Some(expected) = expected.filter(|&expected| expected != found) {
                return Err(ModelFault::ValueType { what: "output", name, expected, found }.into());
            }
            outputs.push(Output { name, element_type: found, value, shape });
        }
        let (opset, values, constants) = (self.opset, self.values, self.constants);
        Ok(Model { opset, values, types, inputs, outputs, constants, nodes })
    }

    /// The index of a value of this name.
    fn value(&mut self, name: &str) -> usize {
        if let Some(&value) = self.by_name.get(name) {
            return value;
        }
        let value = self.values.len();
        self.values.push(name.to_owned());
        self.by_name.insert(name.to_owned(), value);
        self.made.push(false);
        value
    }

    /// The index of a value that something makes, which nothing else may.
    fn make(&mut self, name: &str) -> Result<usize, Error> {
        // An empty name stands for an input that is left out.
        if name.is_empty() {
            return Err(ModelFault::NoName.into());
        }
        let value = self.value(name);
        if std::mem::replace(&mut self.made[value], true) {
            return Err(ModelFault::Repeated { value: name.to_owned() }.into());
        }
        Ok(value)
    }

    /// A constant, or the default of the input of the same name.
    fn initializer(&mut self, initializer: &Bytes, inputs: &mut [Input]) -> Result<(), Error> {
        let message: TensorProto = parse_message(initializer.clone(), "TensorProto")?;
        let NamedTensor { name, tensor } = NamedTensor::read(message, self.folder)?;
        // The inputs are the first values.
        let input = self.by_name.get(&name).and_then(|&value| inputs.get_mut(value));
        let value = match input {
            Some(input) if input.has_default => return Err(ModelFault::Repeated { value: name }.into()),
            Some(input) if input.element_type != tensor.element_type() => {
                let (expected, found) = (input.element_type, tensor.element_type());
                return Err(ModelFault::ValueType { what: "initializer", name, expected, found }.into());
            }
            Some(input) => {
                input.has_default = true;
                input.value
            }
            None => self.make(&name)?,
        };
        self.constants.push((value, tensor));
        Ok(())
    }

    fn node(&mut self, message: &NodeProto) -> Result<(), Error> {
        let name = [&message.name, message.output.first().unwrap_or(&message.op_type)];
        let name = name.into_iter().find(|name| !name.is_empty()).unwrap_or(&message.op_type).clone();
        let at = |error: Error| Error::Node { node: name.clone(), error: Box::new(error) };
        let content = NodeContent::read(message, self.opset, self.folder).map_err(at)?;
        let [output] = message.output.as_slice() else {
            let fault = ModelFault::Arity { what: "outputs", expected: 1, found: message.output.len() };
            return Err(at(fault.into()));
        };
        let output = self.make(output).map_err(at)?;
        match content {
            NodeContent::Constant(tensor) => self.constants.push((output, tensor)),
            NodeContent::Operation(operation) => {
                let inputs = message.input.iter().map(|input| self.value(input)).collect();
                self.nodes.push(Node { name, operation, inputs, output });
            }
        }
        Ok(())
    }

    /// The nodes, each after those that make its inputs. ONNX asks writers for such an order; not all keep to it.
    fn sort(&mut self) -> Result<Vec<Node>, Error> {
        let unknown = |value: usize| ModelFault::Unknown { value: self.values[value].clone() };
        for node in &self.nodes {
            if let Some(&value) = node.inputs.iter().find(|&&value| !self.made[value]) {
                return Err(Error::Node { node: node.name.clone(), error: Box::new(unknown(value).into()) });
            }
        }
        let mut waiting: Vec<usize> = vec![0; self.nodes.len()];
        let mut waits_for: HashMap<usize, Vec<usize>> = HashMap::new();
        let makers: HashMap<usize, usize> =
            self.nodes.iter().enumerate().map(|(index, node)| (node.output, index)).collect();
        for (index, node) in self.nodes.iter().enumerate() {
            for maker in node.inputs.iter().filter_map(|input| makers.get(input)) {
                waiting[index] += 1;
                waits_for.entry(*maker).or_default().push(index);
            }
        }
        // Of the nodes that wait for nothing, the first in the graph's order comes next, so that a sorted graph keeps
        // its order.
        let ready = (0..waiting.len()).filter(|&index| waiting[index] == 0);
        let mut ready: BinaryHeap<Reverse<usize>> = ready.map(Reverse).collect();
        let mut order = Vec::new();
        while let Some(Reverse(index)) = ready.pop() {
            order.push(index);
            for &after in waits_for.get(&index).into_iter().flatten() {
                waiting[after] -= 1;
                if waiting[after] == 0 {
                    ready.push(Reverse(after));
                }
            }
        }
        if let Some(index) = waiting.iter().position(|&waiting| waiting > 0) {
            // The node may wait for a cycle without being part of it. Following what it waits for, for as many steps as
            // there are nodes, ends inside a cycle.
            let maker = |input: &usize| makers.get(input).copied().filter(|&maker| waiting[maker] > 0);
            let step = |index: usize, _| self.nodes[index].inputs.iter().find_map(maker).unwrap_or(index);
            let node = self.nodes[(0..self.nodes.len()).fold(index, step)].name.clone();
            return Err(Error::Node { node, error: Box::new(ModelFault::Cycle.into()) });
        }
        let mut nodes: Vec<Option<Node>> = std::mem::take(&mut self.nodes).into_iter().map(Some).collect();
        Ok(order.into_iter().filter_map(|index| nodes[index].take()).collect())
    }
}

impl Reader<'_> {
    /// Every value's element type, by the nodes in their order.
    fn types(&self, inputs: &[Input], nodes: &[Node]) -> Result<Vec<ElementType>, Error> {
        let mut types: Vec<Option<ElementType>> = vec![None; self.values.len()];
        inputs.iter().for_each(|input| types[input.value] = Some(input.element_type));
        self.constants.iter().for_each(|(value, tensor)| types[*value] = Some(tensor.element_type()));
        for node in nodes {
            let known: Vec<_> = node.inputs.iter().filter_map(|&input| types[input]).collect();
            let made = node.operation.target(&known);
            types[node.output] = Some(made.map_err(|e| Error::Node { node: node.name.clone(), error: Box::new(e) })?);
        }
        // `read` has checked that every value is made.
        let known = types.into_iter().enumerate();
        let unknown = |value: usize| ModelFault::Unknown { value: self.values[value].clone() };
        known.map(|(value, known)| known.ok_or_else(|| unknown(value).into())).collect()
    }
}

/// A value's name, and its element type and shape where they are declared.
fn value_info(what: &'static str, info: &Bytes) -> Result<(String, Option<ElementType>, Option<Bytes>), Error> {
    let ValueInfoProto { name, type_proto } = parse_message(info.clone(), "ValueInfoProto")?;
    let Some(type_proto) = type_proto else { return Ok((name, None, None)) };
    // Sequences, maps and tensors of types that no cast takes are refused.
    let tensor = type_proto.tensor_type.filter(|t| ElementType::from_onnx_code(t.elem_type).is_some());
    let Some(tensor) = tensor else { return Err(ModelFault::NoTensor { what, name }.into()) };
    // The shape is copied, so that a small model does not keep the whole file in memory.
    let shape = tensor.shape.map(|shape| Bytes::copy_from_slice(&shape));
    Ok((name, ElementType::from_onnx_code(tensor.elem_type), shape))
}
