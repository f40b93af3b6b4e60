//! Writes the functions of a model.

use super::super::edit::GraphEdits;
use super::super::message::Message;
use super::super::reader::fields;
use super::{Emitter, cast_node, element, known, next};
use crate::error::FileError;
use crate::onnx::fields::function;

impl Emitter<'_> {
    /// The function with this index in the model.
    pub(super) fn function(&mut self, index: usize) -> Result<Message, FileError> {
        let (structure, none) = (self.structure, GraphEdits::default());
        let body = known(&structure.functions, index)?.graphs.start;
        let graph = structure.graph(body);
        let edits = self.edits.graphs.get(&body).unwrap_or(&none);
        let opset = self.edits.functions.get(&index).copied();
        let (mut out, mut nodes) = (Message::default(), 0);
        for field in fields(self.model, &function::KIND, &graph.range, element) {
            let field = field?;
            match field.number {
                function::NODE => {
                    self.node_field(&mut out, &field, (graph, edits), next(&mut nodes))?;
                }
                function::OPSET_IMPORT => {
                    let range = field.bytes();
                    self.child(&mut out, &field.range, function::OPSET_IMPORT, range.clone(), |emitter| {
                        emitter.import(&range, opset)
                    })?;
                }
                _ => out.copy(&field.range)?,
            }
        }
        for cast in edits.casts.range(nodes..).flat_map(|(_, casts)| casts) {
            out.message(function::NODE, cast_node(cast)?)?;
        }
        Ok(out)
    }
}
