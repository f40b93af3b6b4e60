//! The changes of a model. Everything else is copied.

use std::collections::{BTreeMap, HashMap, HashSet};

use wgpu_cast::ElementType;

use super::parameters::Parameters;
use super::reader::{Name, Names};
use super::rows::{PlannedTensor, Rows};
use super::structure::{GraphId, Place, Structure, TensorId};
use crate::plan::TensorCast;

#[derive(Debug, Default)]
pub(super) struct Edits {
    pub ir_version: Option<i64>,
    pub opset: Option<i64>,
    pub graphs: HashMap<GraphId, GraphEdits>,
    pub tensors: HashMap<TensorId, TensorEdit>,
    /// The new opsets of functions, by the index of the function.
    pub functions: HashMap<usize, i64>,
    /// The new types of constants.
    pub constant_types: HashSet<ElementType>,
    /// The tensors that are cast but are neither initializers nor constants.
    pub others: Vec<(TensorId, PlannedTensor)>,
    names: FreshNames,
}

/// The changes of a graph. Keys are the indexes of nodes, inputs and so on in the graph.
#[derive(Debug, Default)]
pub(super) struct GraphEdits {
    /// The inserted casts, by the index of the node that follows them. Casts behind the last node have the number of nodes.
    pub casts: BTreeMap<usize, Vec<NewCast>>,
    pub nodes: HashMap<usize, NodeEdit>,
    pub inputs: HashMap<usize, ValueEdit>,
    pub outputs: HashMap<usize, ValueEdit>,
    pub infos: HashMap<usize, ValueEdit>,
}

/// A `Cast` node to insert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NewCast {
    pub input: String,
    pub output: String,
    pub to: ElementType,
}

/// A new name, a new type, or both, for a tensor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TensorEdit {
    pub name: Option<String>,
    pub to: Option<ElementType>,
}

#[derive(Debug, Default)]
pub(super) struct NodeEdit {
    /// The new names of inputs and outputs, by their indexes.
    pub inputs: HashMap<usize, String>,
    pub outputs: HashMap<usize, String>,
    /// The changes of attributes, by their indexes.
    pub attributes: HashMap<u32, AttributeEdit>,
    pub added: Vec<NewAttribute>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum AttributeEdit {
    /// Another integer. The other fields of the attribute stay.
    Number(i64),
    Replace(NewAttribute),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum NewAttribute {
    Int {
        name: &'static str,
        value: i64,
    },
    /// A tensor of shape `dims`: the result of the cast in `source`, or a single zero. The place is that of the `Constant`
    /// node.
    Tensor {
        name: &'static str,
        dims: Vec<u64>,
        to: ElementType,
        source: Option<(TensorCast, Place)>,
    },
}

/// The change of a `ValueInfoProto`.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ValueEdit {
    LeaveOut,
    Change { name: Option<String>, element_type: ElementType },
}

impl Edits {
    pub(super) fn graph(&mut self, id: GraphId) -> &mut GraphEdits {
        self.graphs.entry(id).or_default()
    }

    /// The rows of the report: initializers, then constants, then other tensors that are cast.
    pub(super) fn rows(&self, structure: &Structure) -> Rows {
        let mut rows = Rows::default();
        let parameters = Parameters::new(structure);
        let new_type = |id: TensorId| self.tensors.get(&id).and_then(|edit| edit.to);
        let initializers = (0..)
            .zip(&structure.graphs)
            .flat_map(|(id, graph)| graph.initializers.iter().map(move |&tensor| (id, tensor)));
        for (graph, id) in initializers {
            let tensor = structure.tensor(id);
            let is_parameter = parameters.contain(graph, tensor.name);
            let (name, shape, elements) =
                (structure.text(tensor.name).to_owned(), tensor.dims.clone(), tensor.elements);
            rows.of.insert(id, rows.tensors.len());
            let (from, to) = (tensor.element_type(), new_type(id));
            rows.tensors.push(PlannedTensor { name, shape, elements, from, to, is_parameter });
        }
        for (place, constant) in structure.constants() {
            let to = constant.tensor.map_or_else(|| self.replaced(place), new_type);
            match constant.tensor {
                Some(id) => rows.of.insert(id, rows.tensors.len()),
                None => rows.of_nodes.insert(place, rows.tensors.len()),
            };
            let (name, shape) = (structure.text(constant.name).to_owned(), constant.shape.to_vec());
            let (elements, from) = (constant.elements, constant.element_type);
            let is_parameter = parameters.contain(place.0, constant.name);
            rows.tensors.push(PlannedTensor { name, shape, elements, from, to, is_parameter });
        }
        for (id, tensor) in &self.others {
            rows.of.insert(*id, rows.tensors.len());
            rows.tensors.push(tensor.clone());
        }
        rows
    }

    /// The type of the tensor that replaces an attribute of a node, if one does.
    fn replaced(&self, (graph, index): Place) -> Option<ElementType> {
        let attributes = &self.graphs.get(&graph)?.nodes.get(&index)?.attributes;
        attributes.values().find_map(|edit| match edit {
            AttributeEdit::Replace(NewAttribute::Tensor { to, .. }) => Some(*to),
            _ => None,
        })
    }

    /// A name that the model does not have yet, for the value `name` in another type.
    pub(super) fn fresh(&mut self, names: &Names, name: Name, element_type: ElementType) -> String {
        self.names.fresh(names, names.text(name), element_type)
    }
}

#[derive(Debug, Default)]
struct FreshNames {
    used: HashSet<String>,
    /// How many candidates were tried for each name. The next search goes on behind them: otherwise many values of one
    /// name would take quadratic time.
    counts: HashMap<String, u32>,
}

impl FreshNames {
    fn fresh(&mut self, names: &Names, name: &str, element_type: ElementType) -> String {
        let base = format!("{name}_{element_type}");
        let count = self.counts.entry(base.clone()).or_insert(0);
        loop {
            let candidate = if *count == 0 { base.clone() } else { format!("{base}_{count}") };
            *count += 1;
            if names.find(&candidate).is_none() && self.used.insert(candidate.clone()) {
                return candidate;
            }
        }
    }
}
