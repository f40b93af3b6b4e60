//! The opset and the format version that the types of a result need.

use super::edit::Edits;
use super::error::{ModelNote, OnnxModelError};
use super::reader::Name;
use super::schema;
use super::structure::Structure;
use crate::element::{ElementType, Operator};
use crate::error::cut;
use crate::onnx::{NEWEST_OPSET, ir_version};

/// How many nodes an error names.
const NAMED: usize = 5;

/// The first format version in which initializers need not be graph inputs.
const INITIALIZERS_ALONE: i64 = 4;

/// The opset of the default domain, which must be a known one from `oldest` on.
pub(super) fn imported(structure: &Structure, oldest: i64) -> Result<i64, OnnxModelError> {
    let opset = structure.opset.ok_or(OnnxModelError::NoOpset)?;
    if (oldest..=NEWEST_OPSET).contains(&opset) {
        return Ok(opset);
    }
    Err(OnnxModelError::Opset { opset, oldest, newest: NEWEST_OPSET })
}

/// Raises the opset to the one that `Cast` needs for these types, if no operator of the model changed in between.
pub(super) fn raise(
    structure: &Structure,
    edits: &mut Edits,
    notes: &mut Vec<ModelNote>,
    types: impl Iterator<Item = ElementType>,
) -> Result<(), OnnxModelError> {
    let from = imported(structure, 1)?;
    let since = |t: ElementType| (i64::from(t.since_opset(Operator::Cast).unwrap_or(1)), t);
    let Some((needed, element_type)) = types.map(since).max() else { return Ok(()) };
    if needed > from {
        check_nodes(structure, element_type, from, needed)?;
        edits.opset = Some(needed);
        notes.push(ModelNote::OpsetRaised { from, to: needed });
    }
    let version = ir_version(needed).unwrap_or(structure.ir_version).max(structure.ir_version);
    let version = version.max(INITIALIZERS_ALONE);
    edits.ir_version = Some(version).filter(|&version| version != structure.ir_version);
    Ok(())
}

/// Checks that the operators of all nodes, and those that functions use, are the same at both opsets.
fn check_nodes(structure: &Structure, element_type: ElementType, from: i64, to: i64) -> Result<(), OnnxModelError> {
    let changes = |operator: Name, from: i64| {
        let [before, after] = [from, to].map(|opset| schema::since(structure.text(operator), opset));
        before.is_none() || before != after
    };
    let nodes = structure.graphs.iter().flat_map(|graph| &graph.nodes);
    let nodes = nodes.filter(|node| structure.is_standard(node) && changes(node.operator, from));
    let functions = structure.functions.iter();
    let functions = functions.flat_map(|((_, name), all)| all.iter().map(move |function| (name, function)));
    let functions = functions.flat_map(|(name, function)| {
        let operators =
            function.operators.iter().filter(|&&operator| changes(operator, function.opset.unwrap_or(from)));
        operators.map(|&operator| (*name, operator))
    });
    let functions = functions.map(|(name, operator)| {
        let [name, operator] = [name, operator].map(|name| cut(structure.text(name), 80));
        format!("{operator} in the function {name:?}")
    });
    let mut changed = nodes.map(|node| structure.node_text(node)).chain(functions);
    let nodes: Vec<String> = changed.by_ref().take(NAMED).collect();
    let more = changed.count();
    if nodes.is_empty() {
        return Ok(());
    }
    Err(OnnxModelError::RaiseOpset { element_type, from, to, nodes, more })
}

/// Whether graph inputs with an initializer are constants, as they had to be in old format versions.
pub(super) fn inputs_are_constants(structure: &Structure) -> bool {
    structure.ir_version < INITIALIZERS_ALONE
}
