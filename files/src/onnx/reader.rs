//! `ModelProto` to a graph of casts.

use std::collections::HashMap;
use std::path::Path;

use bytes::Bytes;
use wgpu_cast::onnx::NEWEST_OPSET;
use wgpu_cast::{ElementType, Tensor};

use super::external::ExternalFiles;
use super::memory::parse_message;
use super::model::{Input, Model, Node, Output, needed};
use super::node::{self, NodeContent};
use super::order;
use super::proto::{FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, ValueInfoProto};
use super::tensor;
use crate::onnx::{MessageError, ModelFault};

impl Model {
    /// Reads a `ModelProto` (a `.onnx` file). `path` is the path of the model's file, or of its folder alone: external
    /// data is read from files there, by the rules of [`NamedTensor::from_bytes`](super::NamedTensor::from_bytes).
    ///
    /// The data of initializers and of `Constant` nodes is read if an output needs it. Data in the same part of a file
    /// is read once, and tensors share it. Data that no output needs is not read: its type, its dims and its length are
    /// checked, but not its values, and its external file is not opened.
    ///
    /// # Errors
    /// [`MessageError::Message`] if the bytes are not a `ModelProto`; [`MessageError::Model`] for an unsupported model;
    /// [`MessageError::Node`] for an invalid node, with its name; [`MessageError::Tensor`] for an invalid initializer.
    pub fn from_bytes(bytes: Vec<u8>, path: Option<&Path>) -> Result<Self, MessageError> {
        let message: ModelProto = parse_message(bytes.into(), "ModelProto")?;
        let opset = imported_opset(&message)?;
        for function in &message.functions {
            let function: FunctionProto = parse_message(function.clone(), "FunctionProto")?;
            if node::is_default(&function.domain) && node::is_supported(&function.name) {
                return Err(ModelFault::Function { name: function.name }.into());
            }
        }
        let graph = message.graph.ok_or(ModelFault::NoGraph)?;
        Reader { opset, ..Reader::default() }.read(&graph, path)
    }
}

/// The imported version of ONNX's own domain. The first two versions of the format had no imports, and one opset.
fn imported_opset(message: &ModelProto) -> Result<i64, MessageError> {
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
struct Reader {
    opset: i64,
    values: Vec<String>,
    by_name: HashMap<String, usize>,
    /// Whether an input, an initializer or a node makes each value.
    made: Vec<bool>,
    constants: Vec<Unread>,
    nodes: Vec<Node>,
}

/// A constant whose data is not read yet, because no output may need it.
struct Unread {
    value: usize,
    element_type: ElementType,
    place: Place,
}

/// The message of a constant.
enum Place {
    /// A [`TensorProto`].
    Initializer(Bytes),
    /// A [`NodeProto`].
    Node(Bytes),
}

impl Reader {
    fn read(mut self, graph: &GraphProto, path: Option<&Path>) -> Result<Model, MessageError> {
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
            self.node(node)?;
        }
        let mut declared = Vec::with_capacity(graph.output.len());
        for info in &graph.output {
            let (name, element_type, shape) = value_info("output", info)?;
            declared.push((self.value(&name), element_type, shape));
        }
        if let Some((value, _, _)) = declared.iter().find(|(value, _, _)| !self.made[*value]) {
            return Err(ModelFault::Unknown { value: self.values[*value].clone() }.into());
        }
        self.sort()?;
        let types = self.types(&inputs)?;
        let mut outputs = Vec::with_capacity(declared.len());
        for (value, expected, shape) in declared {
            let (name, found) = (self.values[value].clone(), types[value]);
            if let Some(expected) = expected.filter(|&expected| expected != found) {
                return Err(ModelFault::ValueType { what: "output", name, expected, found }.into());
            }
            outputs.push(Output { name, element_type: found, value, shape });
        }
        let needed = needed(self.values.len(), outputs.iter().map(|output| output.value), &self.nodes);
        let mut files = ExternalFiles::new(path);
        let mut constants = Vec::with_capacity(self.constants.len());
        for constant in self.constants {
            let is_needed = needed[constant.value];
            constants.push((constant.value, constant.read(self.opset, &mut files, is_needed)?));
        }
        let (opset, values, nodes) = (self.opset, self.values, self.nodes);
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
    fn make(&mut self, name: &str) -> Result<usize, MessageError> {
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
    fn initializer(&mut self, initializer: &Bytes, inputs: &mut [Input]) -> Result<(), MessageError> {
        let message: TensorProto = parse_message(initializer.clone(), "TensorProto")?;
        let element_type = tensor::element_type(&message)?;
        let name = message.name;
        // The inputs are the first values.
        let input = self.by_name.get(&name).and_then(|&value| inputs.get_mut(value));
        let value = match input {
            Some(input) if input.has_default => return Err(ModelFault::Repeated { value: name }.into()),
            Some(input) if input.element_type != element_type => {
                let (expected, found) = (input.element_type, element_type);
                return Err(ModelFault::ValueType { what: "initializer", name, expected, found }.into());
            }
            Some(input) => {
                input.has_default = true;
                input.value
            }
            None => self.make(&name)?,
        };
        self.constants.push(Unread { value, element_type, place: Place::Initializer(initializer.clone()) });
        Ok(())
    }

    fn node(&mut self, bytes: &Bytes) -> Result<(), MessageError> {
        let message: NodeProto = parse_message(bytes.clone(), "NodeProto")?;
        let at = |error: MessageError| in_node(name_of(&message), error);
        let content = NodeContent::read(&message, self.opset).map_err(at)?;
        let [output] = message.output.as_slice() else {
            let fault = ModelFault::Arity { what: "outputs", expected: 1, found: message.output.len() };
            return Err(at(fault.into()));
        };
        let output = self.make(output).map_err(at)?;
        match content {
            NodeContent::Constant(constant) => {
                let (element_type, place) = (constant.element_type, Place::Node(bytes.clone()));
                self.constants.push(Unread { value: output, element_type, place });
            }
            NodeContent::Operation(operation) => {
                // The content has as many inputs as its operator takes.
                let mut inputs = message.input.iter().map(|input| self.value(input));
                let (input, like) = (inputs.next().unwrap_or(output), inputs.next());
                self.nodes.push(Node { name: name_of(&message).to_owned(), operation, input, like, output });
            }
        }
        Ok(())
    }

    /// Puts each node after those that make its inputs. ONNX asks writers for such an order; not all keep to it.
    fn sort(&mut self) -> Result<(), MessageError> {
        for node in &self.nodes {
            if let Some(value) = node.inputs().find(|&value| !self.made[value]) {
                let unknown = ModelFault::Unknown { value: self.values[value].clone() };
                return Err(in_node(&node.name, unknown.into()));
            }
        }
        let order = order::order(&self.nodes, self.values.len());
        let order = order.map_err(|index| in_node(&self.nodes[index].name, ModelFault::Cycle.into()))?;
        if let Some(order) = order {
            let mut nodes: Vec<Option<Node>> = std::mem::take(&mut self.nodes).into_iter().map(Some).collect();
            self.nodes = order.into_iter().filter_map(|index| nodes[index].take()).collect();
        }
        Ok(())
    }

    /// Every value's element type, by the nodes in their order.
    fn types(&self, inputs: &[Input]) -> Result<Vec<ElementType>, MessageError> {
        let mut types: Vec<Option<ElementType>> = vec![None; self.values.len()];
        inputs.iter().for_each(|input| types[input.value] = Some(input.element_type));
        self.constants.iter().for_each(|constant| types[constant.value] = Some(constant.element_type));
        let unknown = |value: usize| ModelFault::Unknown { value: self.values[value].clone() };
        for node in &self.nodes {
            let known = |value: usize| types[value].ok_or_else(|| MessageError::from(unknown(value)));
            let made = known(node.input)
                .and_then(|first| Ok(node.operation.target(first, node.like.map_or(Ok(first), known)?)?))
                .map_err(|error| in_node(&node.name, error))?;
            types[node.output] = Some(made);
        }
        // `read` has checked that every value is made.
        let known = types.into_iter().enumerate();
        known.map(|(value, known)| known.ok_or_else(|| unknown(value).into())).collect()
    }
}

impl Unread {
    /// The constant, or one without elements in place of a constant that is not needed.
    fn read(self, opset: i64, files: &mut ExternalFiles<'_>, is_needed: bool) -> Result<Tensor, MessageError> {
        match self.place {
            _ if !is_needed && self.element_type == ElementType::STRING => Ok(Tensor::from_strings([0], [""; 0])?),
            _ if !is_needed => Ok(Tensor::from_bytes(self.element_type, [0], Vec::new())?),
            Place::Initializer(bytes) => tensor::read(&parse_message(bytes, "TensorProto")?, files),
            Place::Node(bytes) => {
                let message = parse_message(bytes, "NodeProto")?;
                let at = |error: MessageError| in_node(name_of(&message), error);
                match NodeContent::read(&message, opset).map_err(at)? {
                    NodeContent::Constant(constant) => constant.read(files).map_err(at),
                    // Only `Constant` nodes are constants.
                    NodeContent::Operation(_) => Err(at(ModelFault::ConstantValue { found: 0 }.into())),
                }
            }
        }
    }
}

/// A node's name, or the name of what it makes.
fn name_of(node: &NodeProto) -> &str {
    let names = [&node.name, node.output.first().unwrap_or(&node.op_type)];
    names.into_iter().find(|name| !name.is_empty()).unwrap_or(&node.op_type)
}

fn in_node(node: &str, error: MessageError) -> MessageError {
    MessageError::Node { node: node.to_owned(), error: Box::new(error) }
}

/// A value's name, and its element type and shape where they are declared.
fn value_info(what: &'static str, info: &Bytes) -> Result<(String, Option<ElementType>, Option<Bytes>), MessageError> {
    let ValueInfoProto { name, type_proto } = parse_message(info.clone(), "ValueInfoProto")?;
    let Some(type_proto) = type_proto else { return Ok((name, None, None)) };
    // Sequences, maps and tensors of types that no cast takes are refused.
    let tensor = type_proto.tensor_type.filter(|t| ElementType::from_onnx_code(t.elem_type).is_some());
    let Some(tensor) = tensor else { return Err(ModelFault::NoTensor { what, name }.into()) };
    // The shape is copied, so that a small model does not keep the whole file in memory.
    let shape = tensor.shape.map(|shape| Bytes::copy_from_slice(&shape));
    Ok((name, ElementType::from_onnx_code(tensor.elem_type), shape))
}
