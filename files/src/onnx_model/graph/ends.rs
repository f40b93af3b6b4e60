//! Converts the inputs, initializers and outputs of a graph.

use std::collections::HashMap;

use wgpu_cast::ElementType;

use super::super::edit::{TensorEdit, ValueEdit};
use super::super::reader::Name;
use super::super::structure::{GraphId, ValueInfo};
use super::super::weights;
use super::Converter;
use super::flow::Flow;
use super::uses::Need;
use super::values::Class;
use crate::error::FileError;
use crate::onnx::ValueKind;

/// An input or output of a graph.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    pub class: Class,
    pub flow: Flow,
    /// The type that the input or output gets if it is of the old type.
    pub to: ElementType,
}

/// What is known of the inputs and outputs of a graph before it is converted.
#[derive(Debug)]
pub(super) struct Known {
    /// The inputs. Inputs and outputs that are not in these lists get the type `to`.
    pub inputs: Vec<End>,
    pub outputs: Vec<End>,
    pub to: ElementType,
    /// Whether the outputs are needed in the types in which the node's outputs are.
    pub outputs_follow: bool,
}

/// The inputs and outputs of a graph, as the conversion found them.
#[derive(Debug, Default)]
pub(super) struct Ends {
    pub inputs: Vec<Class>,
    /// The class and the index of the value of each output.
    pub outputs: Vec<(Class, usize)>,
}

impl Known {
    /// Nothing is known of the graph. All its inputs and outputs of the old type get the type `to`.
    pub(super) fn all(to: ElementType) -> Self {
        Self { inputs: Vec::new(), outputs: Vec::new(), to, outputs_follow: false }
    }

    pub(super) fn output_type(&self, index: usize) -> ElementType {
        self.outputs.get(index).map_or(self.to, |end| end.to)
    }
}

impl Converter<'_, '_> {
    pub(super) fn inputs(&mut self, id: GraphId, known: &Known) -> Vec<Class> {
        let (graph, given) = (self.structure.graph(id), weights::inputs(self.structure, id));
        let mut classes = Vec::new();
        for (index, input) in graph.inputs.iter().enumerate() {
            let unknown = End { class: Class::Unknown, flow: Flow::of_input(input.kind), to: known.to };
            let End { class, flow, to } = known.inputs.get(index).copied().unwrap_or(unknown);
            let class = self.class_of(input.kind).or(class);
            classes.push(class);
            if !given.contains(&input.name) {
                continue;
            }
            self.define(input.name, (class, flow), to, 0);
            if class == Class::Old && to != self.rules.from {
                let edit = ValueEdit::Change { name: None, element_type: to };
                self.edits.graph(id).inputs.insert(index, edit);
                self.types.insert(to);
            }
        }
        classes
    }

    pub(super) fn initializers(&mut self, id: GraphId, known: &Known) -> Result<(), FileError> {
        let (graph, given) = (self.structure.graph(id), weights::inputs(self.structure, id));
        let types = graph.inputs.iter().zip(&known.inputs).map(|(input, end)| (input.name, end.to));
        let types: HashMap<Name, ElementType> = types.collect();
        for &tensor_id in &graph.initializers {
            let tensor = self.structure.tensor(tensor_id);
            let (name, is_old) = (tensor.name, tensor.code == self.rules.from.onnx_code());
            if given.contains(&name) {
                // The default value of an input has the type of the input.
                let io = types.get(&name).copied().unwrap_or(known.to);
                if is_old && io != self.rules.from {
                    self.edits.tensors.insert(tensor_id, TensorEdit { name: None, to: Some(io) });
                    self.types.insert(io);
                } else if is_old
                    && self.rules.keep_io_types
                    && weights::target(self.structure, tensor_id, self.rule)?.is_some()
                {
                    self.defaults.first.get_or_insert(name);
                    self.defaults.count += 1;
                }
                continue;
            }
            let flow = Flow::of_shape(&tensor.dims);
            let target = weights::target(self.structure, tensor_id, self.rule)?;
            let target = target.filter(|&to| !(is_old && to == self.rules.to && self.next_stay(1, flow)));
            self.types.extend(target);
            if !is_old {
                if let Some(to) = target {
                    self.types.extend(tensor.element_type());
                    weights::store(self.structure, self.edits, id, tensor_id, to);
                }
                self.define(name, (Class::Other, flow), self.rules.from, 0);
                continue;
            }
            let renamed = self.define(name, (Class::Old, flow), target.unwrap_or(self.rules.from), 0);
            if target.is_some() || renamed.is_some() {
                self.edits.tensors.insert(tensor_id, TensorEdit { name: renamed, to: target });
            }
        }
        for &(name, code) in &graph.sparse {
            let class = self.class_of(ValueKind::Tensor(code));
            // A sparse initializer is copied as it is, so that its own name has the old type.
            self.values.define(name, (class, Flow::Constant), self.rules.from, 0);
        }
        Ok(())
    }

    /// Gives an output its type. Returns the class of its value, and the index of the value.
    pub(super) fn output(
        &mut self,
        (id, index): (GraphId, usize),
        output: &ValueInfo,
        known: &Known,
    ) -> Result<(Class, usize), FileError> {
        let element = || format!("an output of {}", if id == 0 { "the graph" } else { "a nested graph" });
        let Some(value) = self.values.find(output.name) else {
            return Err(self.undefined(element(), output.name));
        };
        let hint = known.outputs.get(index).map_or(Class::Unknown, |end| end.class);
        let class = self.values.resolve(value, hint, self.rules.from);
        let io = known.output_type(index);
        if class != Class::Old {
            return Ok((class, value));
        }
        if id == 0 && self.values.named_type(output.name) != Some(io) {
            // Callers know the outputs of the model by name. This name does not have the type `io`, and cannot change: the
            // output keeps its type.
            self.uses.note(value, Need::Old);
            return Ok((class, value));
        }
        if !known.outputs_follow {
            let is_kept = known.outputs.get(index).is_some_and(|end| end.flow.is_kept());
            self.uses.note(value, self.need(io, is_kept));
        }
        // If the value is made in this graph, its own name has this type, and the output keeps the name.
        let name = self.request(value, io);
        if io != self.rules.from || name.is_some() {
            self.edits.graph(id).outputs.insert(index, ValueEdit::Change { name, element_type: io });
        }
        Ok((class, value))
    }
}
