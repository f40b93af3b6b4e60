//! The opset and the format version that a result needs for its types.

use wgpu_cast::{ElementType, Operator, onnx::NEWEST_OPSET, onnx::ir_version};

use super::edit::Edits;
use super::extension::keeps_meaning;
use super::notes::ModelNote;
use super::reader::Name;
use super::schema;
use super::structure::{GraphId, Structure};
use crate::error::{FileError, ModelFault};
use crate::text::cut;

/// The most nodes that an error names.
const NAMED: usize = 5;

/// The first format version in which initializers need not be graph inputs.
const INITIALIZERS_ALONE: i64 = 4;

/// The first opset whose `Cast` names its target by a number.
const NUMBERED_CAST: i64 = 6;

/// The first opset whose `Constant` has other types than FLOAT, FLOAT16 and DOUBLE.
const ANY_CONSTANT: i64 = 9;

/// The imported opset of the default domain. It must be from `oldest` to [`NEWEST_OPSET`].
fn imported(structure: &Structure, oldest: i64) -> Result<i64, FileError> {
    let opset = structure.opset.ok_or(ModelFault::NoOpset)?;
    if (oldest..=NEWEST_OPSET).contains(&opset) {
        return Ok(opset);
    }
    Err(ModelFault::Opset { opset, oldest, newest: NEWEST_OPSET }.into())
}

/// The first opset whose `Cast` supports a type and names it by a number.
fn needed(element_type: ElementType) -> i64 {
    NUMBERED_CAST.max(i64::from(element_type.since_opset(Operator::Cast).unwrap_or(1)))
}

/// The opset that the model imports once it has values of `element_type`. It is the model's own opset if [`raise`] cannot
/// raise that.
pub(super) fn reached(structure: &Structure, element_type: ElementType) -> Result<i64, FileError> {
    let from = imported(structure, NUMBERED_CAST)?;
    let to = needed(element_type).max(from);
    let is_reached = changed_nodes(structure, &mut Edits::default(), &[], (from, to)).is_empty();
    Ok(if is_reached { to } else { from })
}

/// Raises the opset to the one that `Cast` and `Constant` need for these types. Between the two opsets, the operators of the
/// model may only have gained types and optional parts; otherwise it is an error. Functions that are changed import the new
/// opset too.
pub(super) fn raise(
    structure: &Structure,
    edits: &mut Edits,
    notes: &mut Vec<ModelNote>,
    types: impl Iterator<Item = ElementType>,
) -> Result<(), FileError> {
    let from = imported(structure, 1)?;
    let cast = types.map(|t| (needed(t), t));
    let always = [ElementType::FLOAT, ElementType::FLOAT16, ElementType::DOUBLE];
    let constants = edits.constant_types.iter().filter(|t| !always.contains(t)).map(|&t| (ANY_CONSTANT, t));
    let Some((needed, element_type)) = cast.chain(constants).max() else { return Ok(()) };
    let is_edited = |graphs: &std::ops::Range<GraphId>| edits.graphs.keys().any(|graph| graphs.contains(graph));
    let functions = structure.functions.iter().enumerate();
    let edited: Vec<usize> =
        functions.filter(|(_, function)| is_edited(&function.graphs)).map(|(index, _)| index).collect();
    // ONNX demands that a function and the model import the same version of each operator that both use. `Cast` is one.
    let imports = edited.iter().filter_map(|&index| structure.functions[index].opset);
    let to = imports.fold(needed.max(from), i64::max);
    if to > NEWEST_OPSET {
        return Err(ModelFault::Opset { opset: to, oldest: 1, newest: NEWEST_OPSET }.into());
    }
    let changed = changed_nodes(structure, edits, &edited, (from, to));
    if !changed.is_empty() {
        let more = changed.len().saturating_sub(NAMED);
        let nodes = changed.into_iter().take(NAMED).collect();
        return Err(ModelFault::RaiseOpset { element_type, from, to, nodes, more }.into());
    }
    if to > from {
        edits.opset = Some(to);
        notes.push(ModelNote::OpsetRaised { from, to });
    }
    // Some writers combine an opset with an older format version than it needs. If the opset is not raised, that is
    // not corrected.
    let version =
        ir_version(if to > from { to } else { needed }).unwrap_or(structure.ir_version).max(structure.ir_version);
    let version = version.max(INITIALIZERS_ALONE);
    edits.ir_version = Some(version).filter(|&version| version != structure.ir_version);
    Ok(())
}

/// The nodes that mean something else at the opset `to`. The functions that must import it are added to `edits`.
fn changed_nodes(structure: &Structure, edits: &mut Edits, edited: &[usize], (from, to): (i64, i64)) -> Vec<String> {
    let first_body = structure.functions.first().map_or(structure.graphs.len(), |first| first.graphs.start as usize);
    let nodes = structure.graphs[..first_body].iter().flat_map(|graph| &graph.nodes);
    let nodes = nodes.filter(|node| to > from && structure.is_standard(node));
    let nodes = nodes.filter(|node| !keeps_meaning(structure.text(node.operator), from, to));
    let mut changed: Vec<String> = nodes.map(|node| structure.node_text(node)).collect();
    for (index, function) in structure.functions.iter().enumerate() {
        let old = function.opset.unwrap_or(from);
        let is_edited = edited.contains(&index);
        if old >= to || !(is_edited || to > from) {
            continue;
        }
        let versions = |operator: Name| [old, to].map(|opset| schema::since(structure.text(operator), opset));
        let others = function.operators.iter().copied().filter(|&operator| {
            let [before, after] = versions(operator);
            before.is_none() || before != after
        });
        let others: Vec<Name> = others.collect();
        if is_edited || !others.is_empty() {
            edits.functions.insert(index, to);
        }
        let others = others.into_iter().map(|operator| structure.text(operator));
        changed.extend(others.filter(|operator| !keeps_meaning(operator, old, to)).map(|operator| {
            let [name, operator] = [structure.text(function.name), operator].map(|name| cut(name, 80));
            format!("{operator} in the function {name:?}")
        }));
    }
    changed
}

/// Whether graph inputs with an initializer are constants. In old format versions, each initializer had to be an input.
pub(super) fn inputs_are_constants(structure: &Structure) -> bool {
    structure.ir_version < INITIALIZERS_ALONE
}
