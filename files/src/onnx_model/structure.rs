//! The structure of a model: its graphs, nodes and tensors without their data.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use wgpu_cast::ElementType;

use super::reader::{Name, Names};
use crate::onnx::{TensorPlace, ValueKind};

pub(super) type GraphId = u32;
pub(super) type TensorId = u32;
/// A node, by its graph and its index there.
pub(super) type Place = (GraphId, usize);

/// The parts of a model. All graphs are in one list, in which a graph follows the graphs that contain it; all tensors are in
/// another.
#[derive(Debug, Default)]
pub(super) struct Structure {
    /// The bytes of the whole model.
    pub range: Range<u64>,
    pub ir_version: i64,
    /// The imported opset of the default domain.
    pub opset: Option<i64>,
    /// The model's graph and the graphs nested in it, then the body of each function and the graphs nested in that.
    pub graphs: Vec<Graph>,
    pub tensors: Vec<Tensor>,
    pub functions: Vec<Function>,
    /// The domains and names of the functions.
    pub function_names: HashSet<(Name, Name)>,
    /// The files of external data, in the order in which tensors name them, and the index of each.
    pub files: Vec<Name>,
    pub file_indexes: HashMap<Name, usize>,
    pub names: Names,
}

/// A `FunctionProto`.
#[derive(Debug, Default)]
pub(super) struct Function {
    pub name: Name,
    /// The body, and the graphs that are nested in it.
    pub graphs: Range<GraphId>,
    /// The opset of the default domain that the function imports; `None` if it imports none, and uses the model's.
    pub opset: Option<i64>,
    /// The operators of the default domain that the function uses.
    pub operators: BTreeSet<Name>,
}

/// A `GraphProto`, or the body of a `FunctionProto`, which has only nodes.
#[derive(Debug, Default)]
pub(super) struct Graph {
    pub range: Range<u64>,
    pub nodes: Vec<Node>,
    pub initializers: Vec<TensorId>,
    pub inputs: Vec<ValueInfo>,
    pub outputs: Vec<ValueInfo>,
    pub infos: Vec<ValueInfo>,
    /// The names and `TensorProto.DataType`s of sparse initializers.
    pub sparse: Vec<(Name, i32)>,
}

/// A `NodeProto`.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub range: Range<u64>,
    pub name: Name,
    pub operator: Name,
    /// Empty for the default domain.
    pub domain: Name,
    pub inputs: Vec<Name>,
    pub outputs: Vec<Name>,
    /// The attributes that conversions look at: those with tensors or graphs, values of constants, and those that `scan.rs`
    /// lists.
    pub attributes: Vec<Attribute>,
    /// Whether an attribute has a list of floats.
    pub has_floats: bool,
}

/// An `AttributeProto`.
#[derive(Debug, Default)]
pub(super) struct Attribute {
    /// The index among all attributes of the node.
    pub index: u32,
    pub range: Range<u64>,
    pub name: Name,
    pub int: Option<i64>,
    /// The bytes of the float.
    pub float: Option<Range<u64>>,
    /// The bytes of the floats of a list, if they are in one range.
    pub floats: Option<Range<u64>>,
    /// Whether the floats are in several ranges. `floats` is then the last one.
    pub unpacked: bool,
    /// The shape of a value of a `Constant` that is not a tensor: the length of a list; empty for a single value.
    pub dims: Vec<u64>,
    pub tensors: Vec<TensorId>,
    pub graphs: Vec<GraphId>,
}

/// A `ValueInfoProto`.
#[derive(Debug)]
pub(super) struct ValueInfo {
    pub range: Range<u64>,
    pub name: Name,
    pub kind: ValueKind,
}

impl Node {
    pub(super) fn attribute(&self, name: Option<Name>) -> Option<&Attribute> {
        name.and_then(|name| self.attributes.iter().find(|attribute| attribute.name == name))
    }
}

impl Structure {
    pub(super) fn graph(&self, id: GraphId) -> &Graph {
        &self.graphs[id as usize]
    }

    pub(super) fn tensor(&self, id: TensorId) -> &Tensor {
        &self.tensors[id as usize]
    }

    /// The index of a file of external data, which is added if it is new.
    pub(super) fn file(&mut self, location: Name) -> usize {
        let next = self.files.len();
        let index = *self.file_indexes.entry(location).or_insert(next);
        if index == next {
            self.files.push(location);
        }
        index
    }

    pub(super) fn text(&self, name: Name) -> &str {
        self.names.text(name)
    }

    /// A node, for messages: its operator, and its name or that of its first output.
    pub(super) fn node_text(&self, node: &Node) -> String {
        format!("{} {}", self.operator_text(node), crate::text::quoted(self.node_name(node)))
    }

    /// The name of a node, or of its first output if it has none.
    pub(super) fn node_name(&self, node: &Node) -> &str {
        let made = node.outputs.iter().copied().find(|&name| name != Name::EMPTY).unwrap_or(Name::EMPTY);
        self.text(if node.name == Name::EMPTY { made } else { node.name })
    }

    /// The operator, with its domain unless that is the default domain.
    pub(super) fn operator_text(&self, node: &Node) -> String {
        let operator = crate::text::cut(self.text(node.operator), 80);
        match self.text(node.domain) {
            "" => operator,
            domain => format!("{}.{operator}", crate::text::cut(domain, 80)),
        }
    }

    /// Whether the operator is one of ONNX's default domain, and not a function of the model.
    pub(super) fn is_standard(&self, node: &Node) -> bool {
        node.domain == Name::EMPTY && !self.function_names.contains(&(node.domain, node.operator))
    }
}

/// A `TensorProto`.
#[derive(Debug)]
pub(super) struct Tensor {
    pub range: Range<u64>,
    pub name: Name,
    pub dims: Vec<u64>,
    /// `TensorProto.DataType`.
    pub code: i32,
    /// The number of elements.
    pub elements: u64,
    pub data: TensorPlace,
    /// The index of the file of external data, if the data is in one.
    pub file: Option<usize>,
}

impl Tensor {
    /// The element type, unless it is UNDEFINED, complex or unknown.
    pub(super) fn element_type(&self) -> Option<ElementType> {
        ElementType::from_onnx_code(self.code)
    }

    /// The index of the input with the data. The model is input 0, and the files of external data follow.
    pub(super) fn input(&self) -> usize {
        self.file.map_or(0, |file| 1 + file)
    }
}
