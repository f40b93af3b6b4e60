//! Converts `If`, `Loop` and `Scan`. The inputs and outputs of their graphs become inputs and outputs of the nodes.

use wgpu_cast::ElementType;

use super::super::notes::KeptReason;
use super::super::reader::Name;
use super::super::schema::Schema;
use super::super::structure::{GraphId, Node};
use super::Converter;
use super::ends::{End, Known};
use super::flow::Flow;
use super::values::Class;
use crate::error::{FileError, ModelFault};

/// Which inputs and outputs of a node's graph correspond to which inputs and outputs of the node.
struct Shape {
    /// Added to the index of a graph's input, this is the index of the node's input; `None` if the graph has no inputs.
    input: Option<usize>,
    /// Added to the index of a node's output, this is the index of the graph's output.
    output: usize,
    /// The outputs of the graph that are its inputs in the next turn.
    states: States,
}

/// The outputs of a graph that are its inputs in the next turn. The first such output has the index `output`, and is the
/// input with the index `input`. The others follow both, as far as the index of the input is below `last_input`.
struct States {
    output: usize,
    input: usize,
    last_input: usize,
}

/// An output of the node.
#[derive(Default)]
struct Made {
    class: Class,
    flow: Flow,
    /// The values that make this output in the nested graphs.
    values: Vec<usize>,
}

impl Converter<'_, '_> {
    pub(super) fn control(
        &mut self,
        at: (GraphId, usize),
        node: &Node,
        (inputs, schema): (&[Option<usize>], &Schema),
        asked: bool,
    ) -> Result<(), FileError> {
        let shape = self.shape(node);
        let allowed = schema.outputs.variable(0).map(|variable| schema.allowed(variable));
        let is_allowed = allowed.is_some_and(|allowed| allowed.float(self.rules.to));
        let io = if is_allowed && !asked { self.rules.to } else { self.rules.from };
        let turns = self.found_turns.get(&at).cloned().unwrap_or_default();
        let mut taken = vec![(io, Some(self.need(io, false))); inputs.len()];
        let mut made: Vec<(Made, ElementType)> = Vec::new();
        made.resize_with(node.outputs.len(), || (Made { flow: Flow::Constant, ..Made::default() }, io));
        let mut is_concerned = false;
        let bodies = node.attributes.iter().flat_map(|attribute| &attribute.graphs);
        for (turn, &body) in bodies.enumerate() {
            let known = self.known(&shape, (node, inputs), body, (io, &turns));
            let ends = self.graph(body, &known)?;
            let classes = ends.outputs.iter().map(|(class, _)| class);
            is_concerned |= ends.inputs.iter().chain(classes).any(|class| *class == Class::Old);
            if let Some(offset) = shape.input {
                for (value, class) in inputs.iter().skip(offset).zip(&ends.inputs) {
                    if let Some(value) = *value {
                        self.values.resolve(value, *class, self.rules.from);
                    }
                }
                for (taken, end) in taken.iter_mut().skip(offset).zip(&known.inputs) {
                    *taken = (end.to, Some(self.need(end.to, end.flow.is_kept())));
                }
            }
            for (index, (made, to)) in made.iter_mut().enumerate() {
                let end = index + shape.output;
                *to = known.output_type(end);
                let found = ends.outputs.get(end).copied();
                let class = found.map(|(class, _)| class).unwrap_or_default();
                let differ = turn > 0 && (made.class == Class::Old) != (class == Class::Old);
                if differ && io != self.rules.from {
                    let value = self.structure.text(node.outputs[index]).to_owned();
                    let error = FileError::from(ModelFault::UnknownType { value });
                    return Err(error.in_element(|| self.structure.node_text(node)));
                }
                made.class = made.class.or(class);
                if let Some((_, value)) = found {
                    made.flow = made.flow.or(self.values.flow(value));
                    made.values.push(value);
                }
            }
        }
        if is_concerned && io == self.rules.from {
            self.note(node, if asked { KeptReason::Asked } else { KeptReason::NotSupported });
        }
        for (index, (value, wanted)) in inputs.iter().zip(taken).enumerate() {
            self.take(at, index, *value, wanted);
        }
        let mut turns = Vec::with_capacity(made.len());
        for (index, (Made { class, flow, values }, to)) in made.into_iter().enumerate() {
            let (name, next) = (node.outputs[index], self.values.count());
            let flow = flow.chosen();
            turns.push((flow, next));
            if shape.input.is_none() && name != Name::EMPTY {
                self.uses.follow(values, next..next + 1, flow.is_kept());
            }
            self.make(at, index, name, ((class, flow), to));
        }
        self.turns.insert(at, turns);
        Ok(())
    }

    fn shape(&self, node: &Node) -> Shape {
        let no_states = States { output: 0, input: 0, last_input: 0 };
        match self.structure.text(node.operator) {
            "If" => Shape { input: None, output: 0, states: no_states },
            "Loop" => {
                let states = States { output: 1, input: 2, last_input: usize::MAX };
                Shape { input: Some(0), output: 1, states }
            }
            _ => {
                let scanned = node.attribute(self.structure.names.find("num_scan_inputs")).and_then(|found| found.int);
                let offset = usize::from(self.opset < 9);
                // In the first version of Scan, the first input was the lengths of the sequences. Its graph has no such
                // input.
                let inputs = node.inputs.len().saturating_sub(offset);
                let scanned = scanned.and_then(|scanned| usize::try_from(scanned).ok()).unwrap_or(inputs);
                let states = States { last_input: inputs.saturating_sub(scanned), ..no_states };
                Shape { input: Some(offset), output: 0, states }
            }
        }
    }

    /// What is known of a nested graph from the node's inputs and from an earlier pass.
    fn known(
        &self,
        shape: &Shape,
        (node, inputs): (&Node, &[Option<usize>]),
        body: GraphId,
        (io, turns): (ElementType, &[(Flow, usize)]),
    ) -> Known {
        let (graph, from) = (self.structure.graph(body), self.rules.from);
        let found = |output: usize| turns.get(output.checked_sub(shape.output)?).copied();
        let typed = |class: Class, flow: Flow| End { class, flow, to: if flow.is_kept() { from } else { io } };
        let Some(offset) = shape.input else {
            // The outputs of the graphs of `If` are needed in the types in which the node's outputs are.
            let output = |index: usize| {
                let (flow, value) = found(index).unwrap_or_default();
                let stays = self.found.as_ref().is_some_and(|found| found.stays(value..value + 1, flow.is_kept()));
                End { class: Class::Unknown, flow, to: if flow.is_kept() && stays { from } else { io } }
            };
            let outputs = (0..node.outputs.len()).map(output).collect();
            return Known { inputs: Vec::new(), outputs, to: io, outputs_follow: true };
        };
        let States { output: first_output, input: first_input, last_input } = shape.states;
        let input = |index: usize| {
            let given = inputs.get(index + offset).copied().flatten();
            let declared = self.class_of(graph.inputs[index].kind);
            let class = declared.or(given.map_or(Class::Unknown, |value| self.values.class(value)));
            let flow = given.map_or(Flow::Integers, |value| self.values.flow(value));
            match index.checked_sub(first_input) {
                Some(state) if index < last_input => {
                    let next = found(first_output + state).map_or(flow, |(flow, _)| flow);
                    typed(class, flow.chosen().or(next))
                }
                // The other inputs of Loop's graph are integers. Those of Scan's graph are slices of the node's inputs.
                _ if first_input > 0 || class == Class::Other => typed(class, flow.chosen()),
                _ if flow.is_constant() => typed(class, Flow::Activation),
                _ => typed(class, flow),
            }
        };
        let inputs: Vec<End> = (0..graph.inputs.len()).map(input).collect();
        let output = |index: usize| {
            let state = index.checked_sub(first_output).map(|state| state + first_input);
            let state = state.filter(|&state| state < last_input).and_then(|state| inputs.get(state).copied());
            let flow = found(index).map(|(flow, _)| flow).unwrap_or_default();
            state.unwrap_or_else(|| typed(Class::Unknown, flow))
        };
        let outputs = (0..graph.outputs.len()).map(output).collect();
        Known { inputs, outputs, to: io, outputs_follow: false }
    }
}
