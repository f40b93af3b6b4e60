//! Reads a `ModelProto` as a graph of casts.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use bytes::Bytes;
use wgpu_cast::onnx::NEWEST_OPSET;
use wgpu_cast::{ElementType, Tensor};

use super::external::ExternalFiles;
use super::fields::{function, graph, model, node, opset, value};
use super::header::TensorHeader;
use super::model::{Input, Model, Node, Output, needed};
use super::node::{Constant, NodeContent, NodeMessage, invalid, is_default, is_supported};
use super::order;
use super::parts::{ValueInfo, ValueKind, opset_import, value_info};
use crate::error::{FileError, ModelFault};
use crate::input::ReadAt;
use crate::wire::{Fields, read_bytes};

impl Model {
    /// Reads a `ModelProto` (a `.onnx` file). `path` is the path of the model's file, or of its folder. External data is
    /// read from files there. The rules for external data, for long names and for fields that are given twice are those of
    /// [`NamedTensor::from_bytes`](super::NamedTensor::from_bytes).
    ///
    /// The data of initializers and of `Constant` nodes is read if an output needs it. Tensors whose data is the same
    /// range of a file share its memory. Data that no output needs is not read: its type, its dims and its length are
    /// checked, but not its values, and its external file is not opened.
    ///
    /// # Errors
    /// [`FileCause::Malformed`](crate::FileCause::Malformed) if the bytes are not a valid `ModelProto`;
    /// [`FileCause::Unsupported`](crate::FileCause::Unsupported) for what is not a model of casts;
    /// [`FileCause::Cast`](crate::FileCause::Cast), with the node, for what the rules of its operator do not allow. For
    /// initializers and constants, the errors are those of
    /// [`NamedTensor::from_bytes`](super::NamedTensor::from_bytes).
    pub fn from_bytes(bytes: &[u8], path: Option<&Path>) -> Result<Self, FileError> {
        let input: &dyn ReadAt = &bytes;
        let (mut ir_version, mut imported, mut graph) = (0, None, None);
        for field in Fields::new(input, &model::KIND, 0..bytes.len() as u64) {
            let field = field.map_err(invalid(&model::KIND))?;
            match field.number {
                model::IR_VERSION => ir_version = field.number() as i64,
                model::GRAPH => graph = Some(field.bytes()),
                model::OPSET_IMPORT => {
                    let version = opset_import(input, field.bytes()).map_err(invalid(&opset::KIND))?;
                    match (imported, version) {
                        (Some(first), Some(second)) if first != second => {
                            return Err(ModelFault::TwoOpsets { first, second }.into());
                        }
                        (_, version) => imported = version.or(imported),
                    }
                }
                model::FUNCTIONS => check_function(input, field.bytes())?,
                _ => {}
            }
        }
        // The first two versions of the format had no imports. There was only opset 1.
        let implied = (1..3).contains(&ir_version).then_some(1);
        let opset = imported.or(implied).ok_or(ModelFault::NoOpset)?;
        if !(1..=NEWEST_OPSET).contains(&opset) {
            return Err(ModelFault::Opset { opset, oldest: 1, newest: NEWEST_OPSET }.into());
        }
        Reader::new(input, opset).read(graph.ok_or(ModelFault::NoGraph)?, path)
    }
}

/// Checks that a function of the model does not redefine a supported operator.
fn check_function(input: &dyn ReadAt, range: Range<u64>) -> Result<(), FileError> {
    let (mut name, mut is_of_default) = (Cow::Borrowed(""), true);
    for field in Fields::new(input, &function::KIND, range) {
        let field = field.map_err(invalid(&function::KIND))?;
        let text = || field.text(input).map_err(invalid(&function::KIND));
        match field.number {
            function::NAME => name = text()?,
            function::DOMAIN => is_of_default = is_default(&text()?),
            _ => {}
        }
    }
    if is_of_default && is_supported(&name) {
        return Err(ModelFault::Function { name: name.into_owned() }.into());
    }
    Ok(())
}

/// A model that is being read.
struct Reader<'a> {
    input: &'a dyn ReadAt,
    opset: i64,
    values: Vec<String>,
    by_name: HashMap<Cow<'a, str>, usize>,
    /// Whether an input, an initializer or a node makes each value.
    made: Vec<bool>,
    constants: Vec<Unread>,
    nodes: Vec<Node>,
}

/// A constant whose data is not read yet. It is read only if an output needs it.
struct Unread {
    value: usize,
    element_type: ElementType,
    place: Place,
}

/// The message of a constant.
enum Place {
    /// The bytes of a `TensorProto`.
    Initializer(Range<u64>),
    /// A `Constant` node: its name, and what it holds.
    Node(String, Constant),
}

/// A value's name, and its element type and shape where they are declared.
type Declared<'a> = (Cow<'a, str>, Option<ElementType>, Option<Bytes>);

/// The bytes of the messages that a graph consists of.
#[derive(Default)]
struct Parts {
    nodes: Vec<Range<u64>>,
    initializers: Vec<Range<u64>>,
    inputs: Vec<Range<u64>>,
    outputs: Vec<Range<u64>>,
}

impl<'a> Reader<'a> {
    fn new(input: &'a dyn ReadAt, opset: i64) -> Self {
        let (values, by_name, made) = (Vec::new(), HashMap::new(), Vec::new());
        Self { input, opset, values, by_name, made, constants: Vec::new(), nodes: Vec::new() }
    }

    /// Finds the parts of the graph. Their fields may have any order, so that all are found before any is read.
    fn parts(&self, range: Range<u64>) -> Result<Parts, FileError> {
        let mut parts = Parts::default();
        for field in Fields::new(self.input, &graph::KIND, range) {
            let field = field.map_err(invalid(&graph::KIND))?;
            match field.number {
                graph::NODE => parts.nodes.push(field.bytes()),
                graph::INITIALIZER => parts.initializers.push(field.bytes()),
                graph::INPUT => parts.inputs.push(field.bytes()),
                graph::OUTPUT => parts.outputs.push(field.bytes()),
                graph::SPARSE_INITIALIZER => return Err(ModelFault::Sparse.into()),
                _ => {}
            }
        }
        Ok(parts)
    }

    fn read(mut self, range: Range<u64>, path: Option<&Path>) -> Result<Model, FileError> {
        let parts = self.parts(range)?;
        let mut inputs = Vec::new();
        for range in parts.inputs {
            let (name, element_type, shape) = self.value_info("input", range)?;
            let no_tensor = || ModelFault::NoTensor { what: "input", name: name.clone().into_owned() };
            let element_type = element_type.ok_or_else(no_tensor)?;
            let value = self.make(name.clone())?;
            inputs.push(Input { name: name.into_owned(), element_type, has_default: false, value, shape });
        }
        for range in parts.initializers {
            self.initializer(range, &mut inputs)?;
        }
        for range in parts.nodes {
            self.node(range)?;
        }
        let mut declared = Vec::with_capacity(parts.outputs.len());
        for range in parts.outputs {
            let (name, element_type, shape) = self.value_info("output", range)?;
            declared.push((self.value(name), element_type, shape));
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
            constants.push((constant.value, constant.read(self.input, &mut files, is_needed)?));
        }
        let (opset, values, nodes) = (self.opset, self.values, self.nodes);
        Ok(Model { opset, values, types, inputs, outputs, constants, nodes })
    }

    /// The index of the value of this name, which is added if it is new.
    fn value(&mut self, name: Cow<'a, str>) -> usize {
        if let Some(&value) = self.by_name.get(&name) {
            return value;
        }
        let value = self.values.len();
        self.values.push(name.clone().into_owned());
        self.by_name.insert(name, value);
        self.made.push(false);
        value
    }

    /// The index of a value that an input, an initializer or a node makes. It is an error if something else makes it too.
    fn make(&mut self, name: Cow<'a, str>) -> Result<usize, FileError> {
        // An empty name stands for an input that is left out.
        if name.is_empty() {
            let what = "an input, an initializer or a node's output";
            return Err(ModelFault::NoName { what }.into());
        }
        let value = self.value(name);
        if std::mem::replace(&mut self.made[value], true) {
            return Err(ModelFault::Repeated { what: "value", name: self.values[value].clone() }.into());
        }
        Ok(value)
    }

    /// Adds a constant. It is the default value of the input of the same name, if there is one.
    fn initializer(&mut self, range: Range<u64>, inputs: &mut [Input]) -> Result<(), FileError> {
        let header = TensorHeader::read(self.input, range)?;
        let element_type = header.checked_type(self.input)?;
        let (name, range) = (header.name, header.range);
        // The inputs are the first values, so that the index of a value is that of an input.
        let input = self.by_name.get(name.as_str()).and_then(|&value| inputs.get_mut(value));
        let value = match input {
            Some(input) if input.has_default => return Err(ModelFault::Repeated { what: "value", name }.into()),
            Some(input) if input.element_type != element_type => {
                let (expected, found) = (input.element_type, element_type);
                return Err(ModelFault::ValueType { what: "initializer", name, expected, found }.into());
            }
            Some(input) => {
                input.has_default = true;
                input.value
            }
            None => self.make(name.into())?,
        };
        self.constants.push(Unread { value, element_type, place: Place::Initializer(range) });
        Ok(())
    }

    fn node(&mut self, range: Range<u64>) -> Result<(), FileError> {
        let mut message = NodeMessage::read(self.input, range).map_err(invalid(&node::KIND))?;
        let name = message.name().to_owned();
        let at = |error: FileError| error.in_node(&name);
        let content = NodeContent::read(self.input, &message, self.opset).map_err(at)?;
        let found = message.outputs.len();
        let arity = ModelFault::Arity { what: "outputs", expected: 1, found };
        let output = message.outputs.pop().filter(|_| found == 1).ok_or_else(|| at(arity.into()))?;
        let output = self.make(output).map_err(at)?;
        match content {
            NodeContent::Constant(constant) => {
                let (element_type, place) = (constant.element_type, Place::Node(name, constant));
                self.constants.push(Unread { value: output, element_type, place });
            }
            NodeContent::Operation(operation) => {
                // `NodeContent::read` has checked that there are as many inputs as the operator takes.
                let mut inputs = message.inputs.into_iter().map(|input| self.value(input));
                let (input, like) = (inputs.next().unwrap_or(output), inputs.next());
                self.nodes.push(Node { name, operation, input, like, output });
            }
        }
        Ok(())
    }

    /// Puts each node after the nodes that make its inputs. ONNX demands such an order, but not all writers keep to it.
    fn sort(&mut self) -> Result<(), FileError> {
        for node in &self.nodes {
            if let Some(value) = node.inputs().find(|&value| !self.made[value]) {
                let unknown = ModelFault::Unknown { value: self.values[value].clone() };
                return Err(FileError::from(unknown).in_node(&node.name));
            }
        }
        let order = order::order(&self.nodes, self.values.len());
        let order = order.map_err(|index| FileError::from(ModelFault::Cycle).in_node(&self.nodes[index].name))?;
        if let Some(order) = order {
            let mut nodes: Vec<Option<Node>> = std::mem::take(&mut self.nodes).into_iter().map(Some).collect();
            self.nodes = order.into_iter().filter_map(|index| nodes[index].take()).collect();
        }
        Ok(())
    }

    /// The element type of every value. The nodes must be sorted.
    fn types(&self, inputs: &[Input]) -> Result<Vec<ElementType>, FileError> {
        let mut types: Vec<Option<ElementType>> = vec![None; self.values.len()];
        inputs.iter().for_each(|input| types[input.value] = Some(input.element_type));
        self.constants.iter().for_each(|constant| types[constant.value] = Some(constant.element_type));
        let unknown = |value: usize| ModelFault::Unknown { value: self.values[value].clone() };
        for node in &self.nodes {
            let known = |value: usize| types[value].ok_or_else(|| FileError::from(unknown(value)));
            let made = known(node.input)
                .and_then(|first| Ok(node.operation.target(first, node.like.map_or(Ok(first), known)?)?))
                .map_err(|error: FileError| error.in_node(&node.name))?;
            types[node.output] = Some(made);
        }
        // `read` has checked that every value is made.
        let known = types.into_iter().enumerate();
        known.map(|(value, known)| known.ok_or_else(|| unknown(value).into())).collect()
    }

    fn value_info(&self, what: &'static str, range: Range<u64>) -> Result<Declared<'a>, FileError> {
        let invalid = invalid(&value::KIND);
        let ValueInfo { name, kind, shape } = value_info(self.input, range).map_err(&invalid)?;
        let element_type = match kind {
            None => return Ok((name, None, None)),
            Some(ValueKind::Tensor(code)) => ElementType::from_onnx_code(code),
            Some(ValueKind::Other | ValueKind::Unknown) => None,
        };
        // Sequences, maps and tensors of types that no cast takes are refused.
        if element_type.is_none() {
            return Err(ModelFault::NoTensor { what, name: name.into_owned() }.into());
        }
        // The shape is copied, so that a small model does not keep the whole file in memory.
        let shape = shape.map(|shape| read_bytes(self.input, &shape, u64::MAX).map(Bytes::from));
        Ok((name, element_type, shape.transpose().map_err(invalid)?))
    }
}

impl Unread {
    /// Reads the constant. One that is not needed gets no elements.
    fn read(&self, input: &dyn ReadAt, files: &mut ExternalFiles<'_>, is_needed: bool) -> Result<Tensor, FileError> {
        match &self.place {
            _ if !is_needed && self.element_type == ElementType::STRING => Ok(Tensor::from_strings([0], [""; 0])?),
            _ if !is_needed => Ok(Tensor::from_bytes(self.element_type, [0], Vec::new())?),
            Place::Initializer(range) => TensorHeader::read(input, range.clone())?.tensor(input, files),
            Place::Node(name, constant) => constant.read(input, files).map_err(|error| error.in_node(name)),
        }
    }
}
