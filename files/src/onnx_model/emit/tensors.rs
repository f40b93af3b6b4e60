//! Writes the tensors of a model. Their data goes into the model or into the file of external data.

use super::super::data::Content;
use super::super::edit::TensorEdit;
use super::super::message::Message;
use super::super::reader::fields;
use super::super::structure::{Node, TensorId};
use super::{Emitter, element};
use crate::error::{FileError, ModelFault, PlanFault};
use crate::onnx::fields::{DATA, EXTERNAL, entry, tensor};
use crate::plan::{TensorCast, TensorStorage};

impl Emitter<'_> {
    /// A tensor: of the attribute of `node`, or an initializer without a node.
    pub(super) fn tensor(&mut self, id: TensorId, node: Option<&Node>) -> Result<Message, FileError> {
        let (structure, none) = (self.structure, TensorEdit::default());
        let found = structure.tensor(id);
        let edit = self.edits.tensors.get(&id).unwrap_or(&none);
        let mut out = Message::default();
        let content = self.content(id, edit)?;
        let is_external = content.as_ref().is_some_and(|content| match self.threshold {
            Some(threshold) => (node.is_none() || content.source.is_external) && content.bytes >= threshold,
            None => content.source.is_external,
        });
        // Data that is in the model, is not cast and stays in the model is copied with its field.
        let content = content.filter(|content| is_external || content.source.is_external || content.cast.is_some());
        if edit == &none && content.is_none() {
            out.copy(&found.range)?;
            return Ok(out);
        }
        for field in fields(self.model, &tensor::KIND, &found.range, element) {
            let field = field?;
            match (field.number, &edit.to, &edit.name) {
                (tensor::DATA_TYPE, Some(to), _) => out.number(tensor::DATA_TYPE, to.onnx_code() as u64)?,
                (tensor::NAME, _, Some(name)) => out.text(tensor::NAME, name)?,
                (tensor::DATA_LOCATION, _, _) if content.is_some() => {}
                (number, _, _) if content.is_some() && DATA.iter().any(|(field, _)| *field == number) => {}
                _ => out.copy(&field.range)?,
            }
        }
        match content {
            None => {}
            Some(content) if is_external && content.bytes > 0 => {
                let (offset, length) = self.data.place(content)?;
                let entries = [
                    ("location", self.data.location.clone()),
                    ("offset", offset.to_string()),
                    ("length", length.to_string()),
                ];
                for (key, value) in entries {
                    let mut entry = Message::default();
                    entry.text(entry::KEY, key)?;
                    entry.text(entry::VALUE, &value)?;
                    out.message(tensor::EXTERNAL_DATA, entry)?;
                }
                out.number(tensor::DATA_LOCATION, EXTERNAL as u64)?;
            }
            Some(content) => {
                let mut raw = Message::default();
                content.append_to(&mut raw)?;
                out.message(tensor::RAW_DATA, raw)?;
            }
        }
        Ok(out)
    }

    /// The data of a tensor in the output; `None` for strings and for values that are neither packed nor decoded. Their
    /// fields are copied.
    fn content(&self, id: TensorId, edit: &TensorEdit) -> Result<Option<Content>, FileError> {
        let tensor = self.structure.tensor(id);
        let Some(source) = self.sources.of(id)? else { return Ok(None) };
        let types = tensor.element_type().zip(edit.to);
        let row = self.rows.of.get(&id).copied();
        let name = row.and_then(|row| self.rows.tensors.get(row)).map_or("", |tensor| &tensor.name);
        let cast = types.map(|(from, to)| TensorCast {
            name: name.to_owned(),
            elements: tensor.elements,
            input: source.range.input,
            offset: source.range.offset,
            from: TensorStorage::packed(from),
            to: TensorStorage::packed(to),
            options: self.options,
            column_major: Vec::new(),
            clamp: false,
        });
        let cast = cast.map(|cast| row.map(|row| (cast, row)).ok_or(ModelFault::Changed)).transpose()?;
        let bytes = match &cast {
            Some((cast, _)) => cast.to.bytes(cast.elements).ok_or(PlanFault::Size)?,
            None => source.range.bytes,
        };
        Ok(Some(Content { source, cast, bytes }))
    }
}
