//! Stores initializers and constants in other types. A `Cast` back follows each of them, so that nodes get the types that
//! they had.

use std::collections::HashSet;
use std::ops::Range;

use wgpu_cast::ElementType;

use super::ModelRules;
use super::constants::Constants;
use super::edit::{Edits, NewCast, TensorEdit, ValueEdit};
use super::notes::ModelNote;
use super::opset::inputs_are_constants;
use super::parameters::Parameters;
use super::reader::Name;
use super::structure::{GraphId, Place, Structure, TensorId};
use crate::error::{FileError, ModelFault};

/// The most tensors that a note names.
const NAMED: usize = 5;

/// The target type of an initializer or a constant, by its name and type; `None` if it stays as it is.
pub(super) type Rule<'a> = &'a dyn Fn(&str, ElementType) -> Option<ElementType>;

/// The graph inputs that callers may give. In old format versions, an input with an initializer is a constant instead.
pub(super) fn inputs(structure: &Structure, id: GraphId) -> HashSet<Name> {
    let graph = structure.graph(id);
    let all = graph.inputs.iter().map(|input| input.name);
    if id > 0 || !inputs_are_constants(structure) {
        return all.collect();
    }
    let initialized: HashSet<Name> = graph.initializers.iter().map(|&id| structure.tensor(id).name).collect();
    all.filter(|name| !initialized.contains(name)).collect()
}

/// Leaves out the inputs that are constants in old format versions. In a newer version, they would be default values.
pub(super) fn leave_out_constants(structure: &Structure, edits: &mut Edits, notes: &mut Vec<ModelNote>) {
    if !inputs_are_constants(structure) || structure.graphs.is_empty() {
        return;
    }
    let given = inputs(structure, 0);
    let constants = structure.graph(0).inputs.iter().enumerate().filter(|(_, input)| !given.contains(&input.name));
    let constants: Vec<usize> = constants.map(|(index, _)| index).collect();
    if constants.is_empty() {
        return;
    }
    notes.push(ModelNote::InputsLeftOut { count: constants.len() });
    edits.graph(0).inputs.extend(constants.into_iter().map(|index| (index, ValueEdit::LeaveOut)));
}

/// The target type of an initializer; `None` if it stays in its own type.
pub(super) fn target(structure: &Structure, id: TensorId, rule: Rule<'_>) -> Result<Option<ElementType>, FileError> {
    let tensor = structure.tensor(id);
    let target = target_of(structure, tensor.name, tensor.element_type(), rule)?;
    if target.is_some() && tensor.name == Name::EMPTY {
        return Err(ModelFault::NoName { what: "an initializer of the model" }.into());
    }
    Ok(target)
}

/// The target type of a tensor of this name and type; `None` if it stays in its own type.
pub(super) fn target_of(
    structure: &Structure,
    name: Name,
    from: Option<ElementType>,
    rule: Rule<'_>,
) -> Result<Option<ElementType>, FileError> {
    let Some(from) = from else { return Ok(None) };
    let name = structure.text(name);
    let Some(to) = rule(name, from).filter(|&to| to != from) else { return Ok(None) };
    if !from.is_numeric() || !to.is_numeric() {
        return Err(FileError::from(ModelFault::Strings { to }).of_tensor(name));
    }
    Ok(Some(to))
}

/// Stores an initializer in another type under a new name, with a cast back at the front of its graph.
pub(super) fn store(structure: &Structure, edits: &mut Edits, graph: GraphId, id: TensorId, to: ElementType) {
    let tensor = structure.tensor(id);
    let Some(from) = tensor.element_type() else { return };
    let name = edits.fresh(&structure.names, tensor.name, to);
    let cast = NewCast { input: name.clone(), output: structure.text(tensor.name).to_owned(), to: from };
    edits.graph(graph).casts.entry(0).or_default().push(cast);
    edits.tensors.insert(id, TensorEdit { name: Some(name), to: Some(to) });
}

/// Gives the output of a `Constant` node a new name, and inserts a cast back to the old name behind the node.
pub(super) fn cast_back(
    structure: &Structure,
    edits: &mut Edits,
    (graph, index): Place,
    name: Name,
    (from, to): (ElementType, ElementType),
) {
    let fresh = edits.fresh(&structure.names, name, to);
    let cast = NewCast { input: fresh.clone(), output: structure.text(name).to_owned(), to: from };
    let graph = edits.graph(graph);
    graph.nodes.entry(index).or_default().outputs.insert(0, fresh);
    graph.casts.entry(index + 1).or_default().push(cast);
}

/// Stores the initializers and constants that the rule selects in other types, in the graphs `graphs`. Returns the types
/// that occur in casts. A parameter of an operator is left as it is, unless `casts_parameter` is true for its name.
pub(super) fn store_all(
    constants: &mut Constants<'_, '_>,
    graphs: Range<GraphId>,
    notes: &mut Vec<ModelNote>,
    rule: Rule<'_>,
    casts_parameter: &dyn Fn(&str) -> bool,
) -> Result<HashSet<ElementType>, FileError> {
    let structure = constants.structure;
    let parameters = Parameters::new(structure);
    let is_left = |graph, name| parameters.contain(graph, name) && !casts_parameter(structure.text(name));
    let (mut left, mut more_left) = (Vec::new(), 0);
    let mut leave = |name| match left.len() < NAMED {
        true => left.push(structure.text(name).to_owned()),
        false => more_left += 1,
    };
    let mut types = HashSet::new();
    let (mut defaults, mut first) = (0, None);
    for graph_id in graphs {
        let graph = structure.graph(graph_id);
        let inputs = inputs(structure, graph_id);
        for &id in &graph.initializers {
            let Some(to) = target(structure, id, rule)? else { continue };
            let tensor = structure.tensor(id);
            if inputs.contains(&tensor.name) {
                first.get_or_insert(tensor.name);
                defaults += 1;
                continue;
            }
            if is_left(graph_id, tensor.name) {
                leave(tensor.name);
                continue;
            }
            store(structure, constants.edits, graph_id, id, to);
            types.extend(tensor.element_type().into_iter().chain([to]));
        }
        for (index, node) in graph.nodes.iter().enumerate() {
            let Some(constant) = structure.constant(node) else { continue };
            let target = target_of(structure, constant.name, constant.element_type, rule)?;
            let Some((from, to)) = constant.element_type.zip(target) else { continue };
            if is_left(graph_id, constant.name) {
                leave(constant.name);
                continue;
            }
            constants.cast((graph_id, index), &constant, to)?;
            cast_back(structure, constants.edits, (graph_id, index), constant.name, (from, to));
            types.extend([from, to]);
        }
    }
    if let Some(first) = first {
        notes.push(ModelNote::DefaultsLeft { first: structure.text(first).to_owned(), count: defaults });
    }
    if !left.is_empty() {
        notes.push(ModelNote::ParametersLeft { tensors: left, more: more_left });
    }
    Ok(types)
}

/// The note that says why nothing was cast. There is none if other notes say so.
pub(super) fn nothing_cast(structure: &Structure, notes: &[ModelNote], rules: &ModelRules<'_>) -> Option<ModelNote> {
    if !notes.is_empty() {
        return None;
    }
    if let Some(graph) = rules.graph {
        return Some(ModelNote::NoValues { element_type: graph.from });
    }
    let initializers = structure.graphs.iter().flat_map(|graph| &graph.initializers);
    let initializers = initializers.map(|&id| (structure.tensor(id).name, structure.tensor(id).element_type()));
    let constants = structure.constants().map(|(_, constant)| (constant.name, constant.element_type));
    let (mut tensors, mut same) = (0, 0);
    for (name, element_type) in initializers.chain(constants) {
        tensors += 1;
        same += usize::from(element_type.is_some_and(|from| (rules.types)(structure.text(name), from) == Some(from)));
    }
    let others = || {
        let nodes = structure.graphs.iter().flat_map(|graph| &graph.nodes);
        nodes.filter(|node| node.has_floats && structure.constant(node).is_none())
    };
    let first = others().next().map(|node| structure.node_text(node)).unwrap_or_default();
    Some(ModelNote::NothingCast { tensors, same, nodes: others().count(), first })
}
