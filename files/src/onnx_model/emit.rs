//! Writes a model with its edits. Whatever has no edit is copied byte for byte.

mod functions;
mod tensors;

use std::ops::Range;

use wgpu_cast::CastOptions;

use super::data::{DataFile, Sources};
use super::edit::{AttributeEdit, Edits, GraphEdits, NewAttribute, NewCast, NodeEdit, ValueEdit};
use super::message::Message;
use super::reader::{fields, wire};
use super::rows::Rows;
use super::structure::{Attribute, Graph, GraphId, Node, Structure, ValueInfo};
use crate::error::{FileError, ModelFault};
use crate::input::ReadAt;
use crate::onnx::fields::{
    attribute, attribute_type, graph, model, node, opset, tensor, tensor_type, value, value_type,
};
use crate::onnx::{opset_import, put_attribute};
use crate::wire::{Field, Kind};

/// The element in errors. All messages were read before, so that an error means that the input has changed since; it need
/// not name the part.
const ELEMENT: &str = "the model";

pub(super) struct Emitter<'a> {
    pub model: &'a dyn ReadAt,
    pub structure: &'a Structure,
    pub edits: &'a Edits,
    pub sources: &'a Sources<'a>,
    pub options: CastOptions,
    /// Initializers of at least this many bytes are stored in the data file. So are tensors of nodes of at least this many
    /// bytes, if they were in a file before. `None`: all tensors that were in a file before are stored in the data file.
    pub threshold: Option<u64>,
    pub rows: &'a Rows,
    pub data: DataFile,
}

fn element() -> String {
    ELEMENT.to_owned()
}

impl Emitter<'_> {
    /// The whole model.
    pub(super) fn model(&mut self) -> Result<Message, FileError> {
        let mut out = Message::default();
        let ir_version = self.edits.ir_version.map(|version| version as u64);
        if let Some(version) = ir_version {
            out.number(model::IR_VERSION, version)?;
        }
        let mut functions = 0;
        for field in fields(self.model, &model::KIND, &self.structure.range, element) {
            let field = field?;
            match field.number {
                model::IR_VERSION if ir_version.is_some() => {}
                model::GRAPH => {
                    let content = field.bytes();
                    self.child(&mut out, &field.range, model::GRAPH, content, |emitter| emitter.graph(0))?;
                }
                model::OPSET_IMPORT => {
                    let range = field.bytes();
                    self.child(&mut out, &field.range, model::OPSET_IMPORT, range.clone(), |emitter| {
                        emitter.import(&range, emitter.edits.opset)
                    })?;
                }
                model::FUNCTIONS => {
                    let index = next(&mut functions);
                    let content = field.bytes();
                    self.child(&mut out, &field.range, model::FUNCTIONS, content, |emitter| emitter.function(index))?;
                }
                _ => out.copy(&field.range)?,
            }
        }
        Ok(out)
    }

    /// Appends a field that is a message. A message that has not changed is copied with its field.
    fn child(
        &mut self,
        out: &mut Message,
        field: &Range<u64>,
        number: u32,
        content: Range<u64>,
        emit: impl FnOnce(&mut Self) -> Result<Message, FileError>,
    ) -> Result<(), FileError> {
        let message = emit(self)?;
        if message.is_copy_of(&content) { out.copy(field) } else { out.message(number, message) }
    }

    fn import(&self, range: &Range<u64>, opset: Option<i64>) -> Result<Message, FileError> {
        let mut out = Message::default();
        let found = opset_import(self.model, range.clone()).map_err(|error| wire(element, error))?;
        let version = opset.filter(|_| found.is_some());
        for field in fields(self.model, &opset::KIND, range, element) {
            let field = field?;
            match version {
                Some(version) if field.number == opset::VERSION => out.number(opset::VERSION, version as u64)?,
                _ => out.copy(&field.range)?,
            }
        }
        Ok(out)
    }

    fn graph(&mut self, id: GraphId) -> Result<Message, FileError> {
        let (structure, none) = (self.structure, GraphEdits::default());
        let graph = structure.graph(id);
        let edits = self.edits.graphs.get(&id).unwrap_or(&none);
        let mut out = Message::default();
        let [mut nodes, mut initializers, mut inputs, mut outputs, mut infos] = [0; 5];
        for field in fields(self.model, &graph::KIND, &graph.range, element) {
            let field = field?;
            let child = |emitter: &mut Self, out: &mut Message, emit: &dyn Fn(&mut Self) -> Result<Message, _>| {
                emitter.child(out, &field.range, field.number, field.bytes(), emit)
            };
            match field.number {
                graph::NODE => self.node_field(&mut out, &field, (graph, edits), next(&mut nodes))?,
                graph::INITIALIZER => {
                    let tensor = *known(&graph.initializers, next(&mut initializers))?;
                    child(self, &mut out, &|emitter| emitter.tensor(tensor, None))?;
                }
                graph::INPUT | graph::OUTPUT | graph::VALUE_INFO => {
                    let (value, edit) = match field.number {
                        graph::INPUT => {
                            let index = next(&mut inputs);
                            (known(&graph.inputs, index)?, edits.inputs.get(&index))
                        }
                        graph::OUTPUT => {
                            let index = next(&mut outputs);
                            (known(&graph.outputs, index)?, edits.outputs.get(&index))
                        }
                        _ => {
                            let index = next(&mut infos);
                            (known(&graph.infos, index)?, edits.infos.get(&index))
                        }
                    };
                    match edit {
                        None => out.copy(&field.range)?,
                        Some(ValueEdit::LeaveOut) => {}
                        Some(edit) => child(self, &mut out, &|emitter| emitter.value(value, edit))?,
                    }
                }
                _ => out.copy(&field.range)?,
            }
        }
        for cast in edits.casts.range(nodes..).flat_map(|(_, casts)| casts) {
            out.message(graph::NODE, cast_node(cast)?)?;
        }
        Ok(out)
    }

    /// Appends a node of a graph or a function, behind the casts that are inserted in front of it.
    fn node_field(
        &mut self,
        out: &mut Message,
        field: &Field,
        (graph, edits): (&Graph, &GraphEdits),
        index: usize,
    ) -> Result<(), FileError> {
        for cast in edits.casts.get(&index).into_iter().flatten() {
            out.message(field.number, cast_node(cast)?)?;
        }
        let (node, edit) = (known(&graph.nodes, index)?, edits.nodes.get(&index));
        let is_plain = |attribute: &Attribute| attribute.tensors.is_empty() && attribute.graphs.is_empty();
        match edit {
            None if node.attributes.iter().all(is_plain) => out.copy(&field.range),
            edit => self.child(out, &field.range, field.number, field.bytes(), |emitter| emitter.node(node, edit)),
        }
    }

    fn value(&self, value: &ValueInfo, edit: &ValueEdit) -> Result<Message, FileError> {
        let mut out = Message::default();
        let ValueEdit::Change { name, element_type } = edit else { return Ok(out) };
        for field in fields(self.model, &value::KIND, &value.range, element) {
            let field = field?;
            match (field.number, name) {
                (value::NAME, Some(name)) => out.text(value::NAME, name)?,
                (value::TYPE, _) => {
                    let code = element_type.onnx_code() as u64;
                    let path = [(&value_type::KIND, value_type::TENSOR), (&tensor_type::KIND, tensor_type::ELEM_TYPE)];
                    out.message(value::TYPE, self.replaced(&field.bytes(), &path, code)?)?;
                }
                _ => out.copy(&field.range)?,
            }
        }
        Ok(out)
    }

    /// A message with another number in one field. `path` has the kind of each message on the way and the field in it that
    /// leads on; the last field is the number.
    fn replaced(&self, range: &Range<u64>, path: &[(&'static Kind, u32)], number: u64) -> Result<Message, FileError> {
        let mut out = Message::default();
        let Some((&(kind, step), rest)) = path.split_first() else { return Ok(out) };
        for field in fields(self.model, kind, range, element) {
            let field = field?;
            match rest {
                [] if field.number == step => out.number(step, number)?,
                [_, ..] if field.number == step => out.message(step, self.replaced(&field.bytes(), rest, number)?)?,
                _ => out.copy(&field.range)?,
            }
        }
        Ok(out)
    }

    fn node(&mut self, node: &Node, edit: Option<&NodeEdit>) -> Result<Message, FileError> {
        let none = NodeEdit::default();
        let edit = edit.unwrap_or(&none);
        let mut out = Message::default();
        let [mut inputs, mut outputs, mut attributes] = [0; 3];
        let mut known_attributes = node.attributes.iter().peekable();
        for field in fields(self.model, &node::KIND, &node.range, element) {
            let field = field?;
            match field.number {
                node::INPUT | node::OUTPUT => {
                    let name = match field.number {
                        node::INPUT => edit.inputs.get(&next(&mut inputs)),
                        _ => edit.outputs.get(&next(&mut outputs)),
                    };
                    match name {
                        Some(name) => out.text(field.number, name)?,
                        None => out.copy(&field.range)?,
                    }
                }
                node::ATTRIBUTE => {
                    let index = next(&mut attributes) as u32;
                    let known = known_attributes.next_if(|attribute| attribute.index == index);
                    match (edit.attributes.get(&index), known) {
                        (Some(AttributeEdit::Number(value)), _) => {
                            let content = field.bytes();
                            let changed =
                                self.replaced(&content, &[(&attribute::KIND, attribute::I)], *value as u64)?;
                            out.message(node::ATTRIBUTE, changed)?;
                        }
                        (Some(AttributeEdit::Replace(new)), _) => {
                            self.new_attribute(&mut out, new)?;
                        }
                        (None, Some(known)) => {
                            let content = field.bytes();
                            self.child(&mut out, &field.range, node::ATTRIBUTE, content, |emitter| {
                                emitter.attribute(node, known)
                            })?;
                        }
                        (None, None) => out.copy(&field.range)?,
                    }
                }
                _ => out.copy(&field.range)?,
            }
        }
        for new in &edit.added {
            self.new_attribute(&mut out, new)?;
        }
        Ok(out)
    }

    fn attribute(&mut self, node: &Node, attribute: &Attribute) -> Result<Message, FileError> {
        let mut out = Message::default();
        let (mut tensors, mut graphs) = (attribute.tensors.iter(), attribute.graphs.iter());
        for field in fields(self.model, &attribute::KIND, &attribute.range, element) {
            let field = field?;
            match field.number {
                attribute::T | attribute::TENSORS => {
                    let tensor = *tensors.next().ok_or(ModelFault::Changed)?;
                    self.child(&mut out, &field.range, field.number, field.bytes(), |emitter| {
                        emitter.tensor(tensor, Some(node))
                    })?;
                }
                attribute::G | attribute::GRAPHS => {
                    let graph = *graphs.next().ok_or(ModelFault::Changed)?;
                    self.child(&mut out, &field.range, field.number, field.bytes(), |emitter| emitter.graph(graph))?;
                }
                _ => out.copy(&field.range)?,
            }
        }
        Ok(out)
    }

    /// Appends an attribute to a node.
    fn new_attribute(&mut self, node: &mut Message, new: &NewAttribute) -> Result<(), FileError> {
        match new {
            NewAttribute::Int { name, value } => node.literal(int_attribute(name, *value)),
            NewAttribute::Tensor { name, dims, to, source } => {
                let mut content = Message::default();
                for &dim in dims {
                    content.number(tensor::DIMS, dim)?;
                }
                content.number(tensor::DATA_TYPE, to.onnx_code() as u64)?;
                let mut raw = Message::default();
                match source {
                    Some((cast, place)) => {
                        let row = self.rows.of_nodes.get(place).ok_or(ModelFault::Changed)?;
                        raw.cast(cast.clone(), *row)?;
                    }
                    None => raw.literal(vec![0; to.packed_bytes(1).unwrap_or(0) as usize])?,
                }
                content.message(tensor::RAW_DATA, raw)?;
                let mut out = Message::default();
                out.text(attribute::NAME, name)?;
                out.message(attribute::T, content)?;
                out.number(attribute::TYPE, attribute_type("TENSOR"))?;
                node.message(node::ATTRIBUTE, out)
            }
        }
    }
}

/// Returns the index, and counts it up.
fn next(index: &mut usize) -> usize {
    std::mem::replace(index, *index + 1)
}

/// The element with this index. It is missing only if the model has changed since it was read.
fn known<T>(list: &[T], index: usize) -> Result<&T, FileError> {
    list.get(index).ok_or_else(|| ModelFault::Changed.into())
}

fn cast_node(cast: &NewCast) -> Result<Message, FileError> {
    let mut out = Message::default();
    out.text(node::INPUT, &cast.input)?;
    out.text(node::OUTPUT, &cast.output)?;
    out.text(node::OP_TYPE, "Cast")?;
    out.literal(int_attribute("to", cast.to.onnx_code().into()))?;
    Ok(out)
}

/// An attribute with an integer, as a field of a node.
fn int_attribute(name: &str, value: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_attribute(&mut bytes, name, wgpu_cast::onnx::Attribute::Int(value));
    bytes
}
