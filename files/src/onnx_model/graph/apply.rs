//! Asks for the inputs of a node in the types that it needs, and defines its outputs.

use wgpu_cast::{ElementType, Kind};

use super::super::reader::Name;
use super::super::schema::Schema;
use super::super::structure::{GraphId, Node};
use super::Converter;
use super::flow::{Course, Flow, NodeFlow};
use super::uses::Need;
use super::values::Class;

/// What a node's conversion decided about the type variables of its schema.
pub(super) struct Variables {
    pub classes: Vec<Class>,
    /// Whether each variable gets the new type.
    pub converts: Vec<bool>,
    /// The types that attributes give to outputs.
    pub told: Vec<Option<ElementType>>,
    pub flow: NodeFlow,
}

impl Converter<'_, '_> {
    /// Asks for the inputs and defines the outputs.
    pub(super) fn apply(
        &mut self,
        at: (GraphId, usize),
        node: &Node,
        (inputs, schema): (&[Option<usize>], &Schema),
        variables: &Variables,
    ) {
        let target = |variable: usize| if variables.converts[variable] { self.rules.to } else { self.rules.from };
        let course = variables.flow.course;
        let wanted: Vec<(ElementType, Option<Need>)> = (0..inputs.len())
            .map(|index| {
                let variable = schema.inputs.variable(index);
                let wanted = variable.map_or(self.rules.from, target);
                let allowed = variable.map(|variable| schema.allowed(variable));
                let follows = allowed.is_some_and(|allowed| allowed.float(self.rules.to));
                match (course, inputs[index]) {
                    (Course::Follows, _) if follows => (wanted, None),
                    (Course::Looks, Some(value)) if self.values.class(value) == Class::Old => {
                        let actual = self.values.actual(value);
                        if allowed.is_some_and(|allowed| allowed.float(actual)) {
                            (actual, None)
                        } else {
                            (wanted, None)
                        }
                    }
                    _ => (wanted, Some(self.need(wanted, course == Course::Stays))),
                }
            })
            .collect();
        let made: Vec<((Class, Flow), ElementType)> = (0..node.outputs.len())
            .map(|index| match schema.outputs.variable(index) {
                Some(variable) => {
                    let class = variables.classes[variable].or(self.values.declared(node.outputs[index]));
                    let flow = self.output_flow(node, (inputs, schema), (variable, class), variables);
                    ((class, flow), target(variable))
                }
                None => ((Class::Unknown, Flow::Activation), self.rules.from),
            })
            .collect();
        if course == Course::Follows {
            let next = self.values.count();
            let follow = inputs.iter().zip(&wanted).filter(|(_, (_, need))| need.is_none());
            let follow = follow.filter_map(|(value, _)| *value).collect();
            self.uses.follow(follow, next..next + outputs_of(node), variables.flow.floats.is_kept());
        }
        for (index, (value, wanted)) in inputs.iter().zip(wanted).enumerate() {
            self.take(at, index, *value, wanted);
        }
        for (index, (of, actual)) in made.into_iter().enumerate() {
            self.make(at, index, node.outputs[index], (of, actual));
        }
    }

    /// What an output comes from.
    fn output_flow(
        &self,
        node: &Node,
        (inputs, schema): (&[Option<usize>], &Schema),
        (variable, class): (usize, Class),
        variables: &Variables,
    ) -> Flow {
        let flow = variables.flow;
        if class != Class::Other {
            return match self.structure.text(node.operator) {
                "DynamicQuantizeLinear" => Flow::Scale,
                _ => flow.floats,
            };
        }
        if !schema.allowed(variable).any_float() {
            return flow.integers;
        }
        if let Some(element_type) = variables.told[variable] {
            return if matches!(element_type.kind(), Kind::Float(_)) { flow.floats } else { flow.integers };
        }
        let bound = inputs.iter().enumerate().filter(|&(at, _)| schema.inputs.variable(at) == Some(variable));
        let bound = bound.filter_map(|(_, value)| value.map(|value| self.values.flow(value)));
        match bound.max() {
            _ if flow.integers.is_constant() => flow.integers,
            Some(highest) => highest.chosen(),
            None => flow.floats,
        }
    }

    /// Asks for an input in the type `wanted`, and notes that need.
    pub(super) fn take(
        &mut self,
        (graph, index): (GraphId, usize),
        at: usize,
        value: Option<usize>,
        (wanted, need): (ElementType, Option<Need>),
    ) {
        let Some(value) = value.filter(|&value| self.values.class(value) == Class::Old) else { return };
        if let Some(need) = need {
            self.uses.note(value, need);
        }
        if let Some(name) = self.request(value, wanted) {
            self.edits.graph(graph).nodes.entry(index).or_default().inputs.insert(at, name);
        }
    }

    /// Defines an output. It has the type `actual` now, if it is of the old type.
    pub(super) fn make(
        &mut self,
        (graph, index): (GraphId, usize),
        at: usize,
        name: Name,
        ((class, flow), actual): ((Class, Flow), ElementType),
    ) {
        let class = class.or(self.values.declared(name));
        if let Some(name) = self.define(name, (class, flow), actual, index + 1) {
            self.edits.graph(graph).nodes.entry(index).or_default().outputs.insert(at, name);
        }
    }
}

/// The number of values that a node makes.
pub(super) fn outputs_of(node: &Node) -> usize {
    node.outputs.iter().filter(|&&name| name != Name::EMPTY).count()
}
