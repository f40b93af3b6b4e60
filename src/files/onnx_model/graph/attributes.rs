//! Outputs whose types are told by attributes.

use super::super::edit::{AttributeEdit, NewAttribute, NodeEdit, TensorEdit};
use super::super::error::OnnxModelError;
use super::super::fields::attribute;
use super::super::reader::fields;
use super::super::rows::PlannedTensor;
use super::super::structure::{Attribute, GraphId, Node, TensorId};
use super::Converter;
use super::flow::Flow;
use crate::element::ElementType;
use crate::files::plan::{TensorCast, TensorStorage};
use crate::files::wire::{Value, read_bytes};

/// What tells the type of an output that does not follow from the schema.
#[derive(Clone, Debug)]
pub(super) enum OutputType {
    /// The type of an input.
    Input(usize),
    /// A type that is not converted; `None` for one that casts do not know.
    Fixed(Option<ElementType>),
    /// An attribute with the number of a type. It is added if it has no index.
    Number { name: &'static str, index: Option<u32>, element_type: Option<ElementType> },
    /// A tensor of one element or of all; without one it is a zero of FLOAT.
    Tensor(Option<TensorId>, Option<ElementType>),
    /// The float or floats of an attribute, by its index.
    Floats(u32),
}

impl OutputType {
    pub(super) fn element_type(&self) -> Option<ElementType> {
        match self {
            OutputType::Input(_) => None,
            OutputType::Fixed(element_type) => *element_type,
            OutputType::Number { element_type, .. } => *element_type,
            OutputType::Tensor(_, element_type) => *element_type,
            OutputType::Floats(_) => Some(ElementType::FLOAT),
        }
    }
}

/// The attribute that tells the type of the output, where it may be another than that of an input.
fn type_attribute(operator: &str) -> Option<(&'static str, Option<usize>)> {
    Some(match operator {
        "Cast" => ("to", None),
        "RandomNormal" | "RandomUniform" => ("dtype", None),
        "BlackmanWindow" | "HammingWindow" | "HannWindow" | "MelWeightMatrix" => ("output_datatype", None),
        "Bernoulli" | "EyeLike" | "RandomNormalLike" | "RandomUniformLike" => ("dtype", Some(0)),
        "DequantizeLinear" => ("output_dtype", Some(1)),
        _ => return None,
    })
}

impl Converter<'_, '_> {
    fn attribute<'n>(&self, node: &'n Node, name: &str) -> Option<&'n Attribute> {
        node.attribute(self.structure.names.find(name))
    }

    /// What tells the type of an output of a node; `None` if nothing does.
    pub(super) fn output_type(&self, operator: &str, node: &Node) -> Option<OutputType> {
        let element_type = |code: i64| i32::try_from(code).ok().and_then(ElementType::from_onnx_code);
        if let Some((name, input)) = type_attribute(operator) {
            let found = self.attribute(node, name).filter(|found| found.int != Some(0));
            return Some(match (found, input) {
                (Some(found), _) => {
                    let element_type = found.int.and_then(element_type);
                    OutputType::Number { name, index: Some(found.index), element_type }
                }
                (None, Some(input)) => OutputType::Input(input),
                (None, None) => OutputType::Number { name, index: None, element_type: Some(ElementType::FLOAT) },
            });
        }
        let tensor = || {
            let id = *self.attribute(node, "value")?.tensors.first()?;
            Some(OutputType::Tensor(Some(id), self.structure.tensor(id).element_type()))
        };
        match operator {
            "ConstantOfShape" => tensor().or(Some(OutputType::Tensor(None, Some(ElementType::FLOAT)))),
            "Constant" if self.attribute(node, "sparse_value").is_some() => None,
            "Constant" => {
                let floats = ["value_float", "value_floats"].iter().find_map(|name| self.attribute(node, name));
                let floats = || floats.map(|found| OutputType::Floats(found.index));
                tensor().or_else(floats).or(Some(OutputType::Fixed(None)))
            }
            "LayerNormalization" => {
                let stash = self.attribute(node, "stash_type").and_then(|found| found.int).unwrap_or(1);
                Some(OutputType::Fixed(element_type(stash)))
            }
            _ => None,
        }
    }

    /// What the value of a `Constant` is.
    pub(super) fn constant_flow(&self, node: &Node) -> Flow {
        let tensor = self.attribute(node, "value").and_then(|found| found.tensors.first());
        tensor.map_or(Flow::Constant, |&id| Flow::of_shape(&self.structure.tensor(id).dims))
    }

    /// Makes the output one of the new type.
    pub(super) fn change_output_type(
        &mut self,
        at: (GraphId, usize),
        node: &Node,
        output: &OutputType,
    ) -> Result<(), OnnxModelError> {
        let to = self.rules.to;
        let value = i64::from(to.onnx_code());
        self.types.insert(to);
        match output {
            OutputType::Input(_) | OutputType::Fixed(_) => {}
            OutputType::Number { index: Some(index), .. } => {
                self.edit(at).attributes.insert(*index, AttributeEdit::Number(value));
            }
            OutputType::Number { name, index: None, .. } => self.edit(at).added.push(NewAttribute::Int { name, value }),
            OutputType::Tensor(Some(id), _) => {
                self.edits.tensors.insert(*id, TensorEdit { name: None, to: Some(to) });
                let tensor = self.structure.tensor(*id);
                let (name, shape) = (self.structure.node_name(node).to_owned(), tensor.dims.clone());
                let (elements, from) = (tensor.elements, tensor.element_type());
                let row = PlannedTensor { name, shape, elements, from, to: Some(to) };
                self.edits.constants.push((Some(*id), row));
            }
            OutputType::Tensor(None, _) => {
                self.edit(at).added.push(NewAttribute::Tensor { name: "value", dims: vec![1], to, source: None });
            }
            OutputType::Floats(index) => {
                let found = node.attributes.iter().find(|attribute| attribute.index == *index);
                if let Some(found) = found {
                    let new = self.floats(node, found)?;
                    self.edit(at).attributes.insert(*index, AttributeEdit::Replace(new));
                }
            }
        }
        Ok(())
    }

    fn edit(&mut self, (graph, index): (GraphId, usize)) -> &mut NodeEdit {
        self.edits.graph(graph).nodes.entry(index).or_default()
    }

    /// The tensor of a constant that is a float or floats.
    fn floats(&mut self, node: &Node, found: &Attribute) -> Result<NewAttribute, OnnxModelError> {
        let name = self.structure.node_name(node).to_owned();
        let to = self.rules.to;
        let is_list = self.structure.text(found.name) == "value_floats";
        let (input, range) = match (&found.float, &found.floats) {
            (Some(range), _) if !is_list => (0, range.clone()),
            // A float that is not written is a zero.
            (None, _) if !is_list => {
                return Ok(NewAttribute::Tensor { name: "value", dims: Vec::new(), to, source: None });
            }
            (_, Some(range)) if !found.unpacked && (range.end - range.start).is_multiple_of(4) => (0, range.clone()),
            _ => {
                let decoded = self.decoded_floats(&name, found)?;
                (self.sources.decoded_input(), self.sources.append(&name, &decoded)?)
            }
        };
        let elements = (range.end - range.start) / 4;
        let dims = if is_list { vec![elements] } else { Vec::new() };
        let cast = TensorCast {
            name,
            elements,
            input,
            offset: range.start,
            from: TensorStorage::packed(ElementType::FLOAT),
            to: TensorStorage::packed(to),
            options: self.options,
            column_major: Vec::new(),
            clamp: false,
        };
        let index = self.edits.constants.len();
        let (name, from) = (cast.name.clone(), Some(ElementType::FLOAT));
        let row = PlannedTensor { name, shape: dims.clone(), elements, from, to: Some(to) };
        self.edits.constants.push((None, row));
        Ok(NewAttribute::Tensor { name: "value", dims, to, source: Some((cast, index)) })
    }

    /// The floats of an attribute that are not in one range of the model.
    fn decoded_floats(&mut self, name: &str, found: &Attribute) -> Result<Vec<u8>, OnnxModelError> {
        let bytes = found.range.end - found.range.start;
        self.sources.spend(name, bytes)?;
        let element = || format!("an attribute of the node {name}");
        let failed = |error| OnnxModelError::Message { element: element(), error };
        let mut decoded = Vec::new();
        for field in fields(self.model, &found.range, element) {
            let field = field?;
            match &field.value {
                Value::Fixed32(code) if field.number == attribute::FLOATS => decoded.extend(code.to_le_bytes()),
                Value::Bytes(range) if field.number == attribute::FLOATS => {
                    let packed = read_bytes(self.model, range, bytes).map_err(failed)?;
                    if packed.len() % 4 != 0 {
                        return Err(OnnxModelError::FieldType { element: element(), field: field.number });
                    }
                    decoded.extend(packed);
                }
                _ => {}
            }
        }
        Ok(decoded)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::schema::Schema;
    use super::type_attribute;
    use crate::element::ElementType::{BFLOAT16, DOUBLE, FLOAT, FLOAT16};
    use crate::onnx::NEWEST_OPSET;

    /// Otherwise converting the input would give the output a type that it cannot have.
    #[test]
    fn outputs_that_follow_an_input_support_what_the_input_supports() {
        let mut found = 0;
        for operator in ["Bernoulli", "EyeLike", "RandomNormalLike", "RandomUniformLike", "DequantizeLinear"] {
            let (_, input) = type_attribute(operator).unwrap();
            for schema in (1..=NEWEST_OPSET).filter_map(|opset| Schema::at(operator, opset)) {
                let input = schema.allowed(schema.inputs.variable(input.unwrap()).unwrap());
                let output = schema.allowed(schema.outputs.variable(0).unwrap());
                assert!([FLOAT, DOUBLE, FLOAT16, BFLOAT16].iter().all(|&t| !input.float(t) || output.float(t)));
                found += 1;
            }
        }
        assert!(found > 50);
    }
}
