//! Stores initializers in other types, with casts back, so that the nodes see the types that they know.

use std::collections::HashSet;

use super::edit::{Edits, NewCast, TensorEdit, ValueEdit};
use super::error::{ModelNote, OnnxModelError};
use super::opset::inputs_are_constants;
use super::reader::Name;
use super::structure::{GraphId, Structure, TensorId};
use crate::element::ElementType;

/// The target type of an initializer, by its name and type; `None` if it is to stay.
pub(super) type Rule<'a> = &'a dyn Fn(&str, ElementType) -> Option<ElementType>;

/// The graph inputs that callers may give: the others are constants in old format versions.
pub(super) fn inputs(structure: &Structure, id: GraphId) -> HashSet<Name> {
    let graph = structure.graph(id);
    let all = graph.inputs.iter().map(|input| input.name);
    if id > 0 || !inputs_are_constants(structure) {
        return all.collect();
    }
    let initialized: HashSet<Name> = graph.initializers.iter().map(|&id| structure.tensor(id).name).collect();
    all.filter(|name| !initialized.contains(name)).collect()
}

/// Leaves out the inputs that are constants. They would become default values by the newer format version.
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

/// The target type of an initializer other than its own, if there is one.
pub(super) fn target(
    structure: &Structure,
    id: TensorId,
    rule: Rule<'_>,
) -> Result<Option<ElementType>, OnnxModelError> {
    let tensor = structure.tensor(id);
    let Some(from) = tensor.element_type() else { return Ok(None) };
    let name = structure.text(tensor.name);
    let Some(to) = rule(name, from).filter(|&to| to != from) else { return Ok(None) };
    if tensor.name == Name::EMPTY {
        return Err(OnnxModelError::NoName);
    }
    if !from.is_numeric() || !to.is_numeric() {
        return Err(OnnxModelError::Strings { name: name.to_owned(), to });
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

/// Stores the initializers that the rule selects; returns the types that occur in casts.
pub(super) fn store_all(
    structure: &Structure,
    edits: &mut Edits,
    notes: &mut Vec<ModelNote>,
    rule: Rule<'_>,
) -> Result<HashSet<ElementType>, OnnxModelError> {
    let mut types = HashSet::new();
    let (mut defaults, mut first) = (0, None);
    for (index, graph) in structure.graphs.iter().enumerate() {
        let graph_id = index as GraphId;
        let inputs = inputs(structure, graph_id);
        for &id in &graph.initializers {
            let Some(to) = target(structure, id, rule)? else { continue };
            let tensor = structure.tensor(id);
            if inputs.contains(&tensor.name) {
                first.get_or_insert(tensor.name);
                defaults += 1;
                continue;
            }
            store(structure, edits, graph_id, id, to);
            types.extend(tensor.element_type().into_iter().chain([to]));
        }
    }
    if let Some(first) = first {
        notes.push(ModelNote::DefaultsLeft { first: structure.text(first).to_owned(), count: defaults });
    }
    Ok(types)
}
