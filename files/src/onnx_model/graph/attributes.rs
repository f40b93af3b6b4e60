//! Outputs whose types are given by attributes.

use wgpu_cast::ElementType;

use super::super::edit::{AttributeEdit, NewAttribute, NodeEdit, TensorEdit};
use super::super::rows::PlannedTensor;
use super::super::structure::{Attribute, GraphId, Node, TensorId};
use super::Converter;

/// What determines the type of an output, where the schema does not determine it from the inputs.
#[derive(Clone, Debug)]
pub(super) enum OutputType {
    /// The type of an input.
    Input(usize),
    /// A type that is not converted; `None` for a type that casts do not know.
    Fixed(Option<ElementType>),
    /// An attribute with the number of a type. `index` is its index in the node. Without an index, the node does not have
    /// the attribute, which is then added.
    Number { name: &'static str, index: Option<u32>, element_type: Option<ElementType> },
    /// The attribute `value` of `ConstantOfShape`, a tensor of one element. Without it, the value is a zero of FLOAT.
    Tensor(Option<TensorId>, Option<ElementType>),
}

impl OutputType {
    pub(super) fn element_type(&self) -> Option<ElementType> {
        match self {
            OutputType::Input(_) => None,
            OutputType::Fixed(element_type) => *element_type,
            OutputType::Number { element_type, .. } => *element_type,
            OutputType::Tensor(_, element_type) => *element_type,
        }
    }
}

/// The attribute that gives the type of an operator's output. The second part is the input whose type the output has without
/// the attribute; `None` if it is FLOAT then, or if the attribute is required.
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

    /// What determines the type of a node's output; `None` if nothing does.
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
            "LayerNormalization" => {
                let stash = self.attribute(node, "stash_type").and_then(|found| found.int).unwrap_or(1);
                Some(OutputType::Fixed(element_type(stash)))
            }
            _ => None,
        }
    }

    /// Changes an attribute of the node so that the output has the new type.
    pub(super) fn change_output_type(&mut self, at: (GraphId, usize), node: &Node, output: &OutputType) {
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
                let row = PlannedTensor { name, shape, elements, from, to: Some(to), is_parameter: false };
                self.edits.others.push((*id, row));
            }
            OutputType::Tensor(None, _) => {
                self.edit(at).added.push(NewAttribute::Tensor { name: "value", dims: vec![1], to, source: None });
            }
        }
    }

    fn edit(&mut self, (graph, index): (GraphId, usize)) -> &mut NodeEdit {
        self.edits.graph(graph).nodes.entry(index).or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::schema::Schema;
    use super::type_attribute;
    use wgpu_cast::ElementType::{BFLOAT16, DOUBLE, FLOAT, FLOAT16};
    use wgpu_cast::onnx::NEWEST_OPSET;

    /// An output without the attribute has the type of the input. If the output did not support all types that the input
    /// supports, converting the input could give the output a type that it cannot have.
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
