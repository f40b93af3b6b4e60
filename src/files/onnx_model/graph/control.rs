//! Converts `If`, `Loop` and `Scan`, whose inputs and outputs are those of their graphs.

use super::super::error::{KeptReason, OnnxModelError};
use super::super::schema::Schema;
use super::super::structure::{GraphId, Node};
use super::values::Class;
use super::{Converter, Ends};

/// How the inputs and outputs of a node and of its graph belong together.
struct Shape {
    /// What is added to the index of a graph's input to give the node's; `None` if the graph has no inputs.
    input: Option<usize>,
    /// What is added to the index of a node's output to give the graph's.
    output: usize,
    /// The first output of the graph that is an input of the next turn, and that input.
    state: Option<(usize, usize)>,
}

impl Converter<'_, '_> {
    pub(super) fn control(
        &mut self,
        at: (GraphId, usize),
        node: &Node,
        (inputs, schema): (&[Option<usize>], &Schema),
        asked: bool,
    ) -> Result<(), OnnxModelError> {
        let shape = match self.structure.text(node.operator) {
            "If" => Shape { input: None, output: 0, state: None },
            "Loop" => Shape { input: Some(0), output: 1, state: Some((1, 2)) },
            // The first version had the lengths of the sequences as another first input.
            _ => Shape { input: Some(usize::from(self.opset < 9)), output: 0, state: None },
        };
        let allowed = schema.outputs.variable(0).map(|variable| schema.allowed(variable));
        let is_allowed = allowed.is_some_and(|allowed| allowed.float(self.rules.to));
        let io = if is_allowed && !asked { self.rules.to } else { self.rules.from };
        let mut outputs = vec![Class::Unknown; node.outputs.len()];
        let mut is_concerned = false;
        let bodies = node.attributes.iter().flat_map(|attribute| &attribute.graphs);
        for (turn, &body) in bodies.enumerate() {
            let known = self.known(&shape, inputs, body);
            let ends = self.graph(body, io, &known)?;
            is_concerned |= ends.inputs.iter().chain(&ends.outputs).any(|class| *class == Class::Old);
            if let Some(offset) = shape.input {
                for (value, class) in inputs.iter().skip(offset).zip(&ends.inputs) {
                    if let Some(value) = *value {
                        self.values.resolve(value, *class, self.rules.from);
                    }
                }
            }
            for (index, class) in outputs.iter_mut().enumerate() {
                let found = ends.outputs.get(index + shape.output).copied().unwrap_or_default();
                let differ = turn > 0 && (*class == Class::Old) != (found == Class::Old);
                if differ && io != self.rules.from {
                    let value = self.structure.text(node.outputs[index]).to_owned();
                    return Err(OnnxModelError::UnknownType { element: self.structure.node_text(node), value });
                }
                *class = class.or(found);
            }
        }
        if is_concerned && io == self.rules.from {
            self.note(node, if asked { KeptReason::Asked } else { KeptReason::NotSupported });
        }
        for (index, value) in inputs.iter().enumerate() {
            self.take(at, index, *value, io);
        }
        for (index, class) in outputs.into_iter().enumerate() {
            self.make(at, index, node.outputs[index], (class, io));
        }
        Ok(())
    }

    /// What the node's inputs say of its graph.
    fn known(&self, shape: &Shape, inputs: &[Option<usize>], body: GraphId) -> Ends {
        let graph = self.structure.graph(body);
        let Some(offset) = shape.input else { return Ends::default() };
        let class = |index: usize| {
            let declared = self.class_of(graph.inputs[index].kind);
            let given = inputs.get(index + offset).copied().flatten();
            declared.or(given.map_or(Class::Unknown, |value| self.values.class(value)))
        };
        let classes: Vec<Class> = (0..graph.inputs.len()).map(class).collect();
        let output = |index: usize| {
            let (first_output, first_input) = shape.state?;
            let state = index.checked_sub(first_output)? + first_input;
            classes.get(state).copied()
        };
        let outputs = (0..graph.outputs.len()).map(|index| output(index).unwrap_or_default()).collect();
        Ends { inputs: classes, outputs }
    }
}
