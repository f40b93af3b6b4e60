//! The values of `Constant` nodes. A value in an attribute of numbers, such as `value_floats`, becomes a tensor when it is
//! cast.

use wgpu_cast::{CastOptions, ElementType};

use super::data::Sources;
use super::edit::{AttributeEdit, Edits, NewAttribute, TensorEdit};
use super::reader::{Name, wire};
use super::structure::{Attribute, Node, Place, Structure, TensorId};
use crate::error::{FileError, ModelFault};
use crate::input::ReadAt;
use crate::onnx::fields::attribute;
use crate::plan::{TensorCast, TensorStorage};
use crate::wire::Numbers;

/// The attributes of `Constant` whose values are not tensors: the name, the element type and, for a list, the field of the
/// values.
pub(super) const VALUES: [(&str, ElementType, Option<u32>); 6] = [
    ("value_float", ElementType::FLOAT, None),
    ("value_floats", ElementType::FLOAT, Some(attribute::FLOATS)),
    ("value_int", ElementType::INT64, None),
    ("value_ints", ElementType::INT64, Some(attribute::INTS)),
    ("value_string", ElementType::STRING, None),
    ("value_strings", ElementType::STRING, Some(attribute::STRINGS)),
];

/// A `Constant` node.
pub(super) struct Constant<'a> {
    /// The name of its output.
    pub name: Name,
    /// The element type; `None` for one that casts do not know.
    pub element_type: Option<ElementType>,
    pub shape: &'a [u64],
    pub elements: u64,
    pub attribute: &'a Attribute,
    /// The tensor, if the attribute has one.
    pub tensor: Option<TensorId>,
}

impl Structure {
    /// The constant of a node, if the node is a `Constant` with a value that is not sparse.
    pub(super) fn constant<'a>(&'a self, node: &'a Node) -> Option<Constant<'a>> {
        if self.text(node.operator) != "Constant" || !self.is_standard(node) {
            return None;
        }
        let name = *node.outputs.first().filter(|&&name| name != Name::EMPTY)?;
        node.attributes.iter().find_map(|attribute| {
            let kind = self.text(attribute.name);
            if let ("value", Some(&id)) = (kind, attribute.tensors.first()) {
                let tensor = self.tensor(id);
                let (element_type, shape, elements) = (tensor.element_type(), tensor.dims.as_slice(), tensor.elements);
                return Some(Constant { name, element_type, shape, elements, attribute, tensor: Some(id) });
            }
            let &(_, element_type, _) = VALUES.iter().find(|(value, ..)| *value == kind)?;
            let (shape, elements) = (attribute.dims.as_slice(), attribute.dims.first().copied().unwrap_or(1));
            Some(Constant { name, element_type: Some(element_type), shape, elements, attribute, tensor: None })
        })
    }

    /// All constants, in the order of the graphs and their nodes.
    pub(super) fn constants(&self) -> impl Iterator<Item = (Place, Constant<'_>)> {
        (0..).zip(&self.graphs).flat_map(move |(id, graph)| {
            let found = move |(index, node)| Some(((id, index), self.constant(node)?));
            graph.nodes.iter().enumerate().filter_map(found)
        })
    }

    /// The names of all sparse initializers and of all sparse values of `Constant` nodes.
    pub(super) fn sparse(&self) -> impl Iterator<Item = &str> {
        let value = self.names.find("sparse_value");
        self.graphs.iter().flat_map(move |graph| {
            let constants = graph.nodes.iter().filter(move |node| node.attribute(value).is_some());
            let made = constants.map(|node| node.outputs.first().copied().unwrap_or(Name::EMPTY));
            graph.sparse.iter().map(|&(name, _)| name).chain(made).map(|name| self.text(name))
        })
    }
}

/// The model with everything that a change of its constants needs.
pub(super) struct Constants<'a, 'b> {
    pub model: &'a dyn ReadAt,
    pub structure: &'a Structure,
    pub sources: &'b mut Sources<'a>,
    pub edits: &'b mut Edits,
    pub options: CastOptions,
}

impl Constants<'_, '_> {
    /// Casts the value of a constant to another type. Neither type is STRING.
    pub(super) fn cast(
        &mut self,
        (graph, index): Place,
        constant: &Constant<'_>,
        to: ElementType,
    ) -> Result<(), FileError> {
        self.edits.constant_types.insert(to);
        if let Some(id) = constant.tensor {
            self.edits.tensors.insert(id, TensorEdit { name: None, to: Some(to) });
            return Ok(());
        }
        let new = self.tensor((graph, index), constant, to)?;
        let node = self.edits.graph(graph).nodes.entry(index).or_default();
        node.attributes.insert(constant.attribute.index, AttributeEdit::Replace(new));
        Ok(())
    }

    /// The tensor that replaces an attribute of numbers.
    fn tensor(&mut self, place: Place, constant: &Constant<'_>, to: ElementType) -> Result<NewAttribute, FileError> {
        let Constant { attribute: found, elements, shape, .. } = *constant;
        let from = constant.element_type.unwrap_or(ElementType::FLOAT);
        let (name, dims) = (self.structure.text(constant.name).to_owned(), shape.to_vec());
        let is_list = !dims.is_empty();
        let (input, range) = match (from, &found.float, &found.floats) {
            (ElementType::FLOAT, Some(range), _) if !is_list => (0, range.clone()),
            // A number that the message does not have is 0.
            (ElementType::FLOAT, None, _) if !is_list => {
                return Ok(NewAttribute::Tensor { name: "value", dims, to, source: None });
            }
            (ElementType::FLOAT, _, Some(range)) if !found.unpacked && (range.end - range.start).is_multiple_of(4) => {
                (0, range.clone())
            }
            _ => {
                let decoded =
                    if is_list { self.decoded(&name, found)? } else { found.int.unwrap_or(0).to_le_bytes().to_vec() };
                (self.sources.decoded_input(), self.sources.append(&name, &decoded)?)
            }
        };
        let cast = TensorCast {
            name,
            elements,
            input,
            offset: range.start,
            from: TensorStorage::packed(from),
            to: TensorStorage::packed(to),
            options: self.options,
            column_major: Vec::new(),
            clamp: false,
        };
        if from.packed_bytes(elements) != Some(range.end - range.start) {
            return Err(ModelFault::Changed.into());
        }
        Ok(NewAttribute::Tensor { name: "value", dims, to, source: Some((cast, place)) })
    }

    /// The numbers of a list as packed codes. In the model, they are not packed codes in one range.
    fn decoded(&mut self, name: &str, found: &Attribute) -> Result<Vec<u8>, FileError> {
        let bytes = found.range.end - found.range.start;
        // A varint has at least one byte, and becomes eight.
        self.sources.spend(name, bytes.saturating_mul(if found.floats.is_some() { 1 } else { 8 }))?;
        let element = || format!("an attribute of the node {name}");
        let field = if found.floats.is_some() { attribute::FLOATS } else { attribute::INTS };
        let mut decoded = Vec::new();
        for number in Numbers::new(self.model, &attribute::KIND, found.range.clone(), field) {
            let number = number.map_err(|error| wire(element, error))?.to_le_bytes();
            decoded.extend_from_slice(if found.floats.is_some() { &number[..4] } else { &number });
        }
        Ok(decoded)
    }
}
