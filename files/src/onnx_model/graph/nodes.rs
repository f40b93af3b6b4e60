//! Converts nodes as far as their schemas allow.

use std::rc::Rc;

use super::super::notes::KeptReason;
use super::super::reader::Name;
use super::super::schema::Schema;
use super::super::structure::{GraphId, Node};
use super::Converter;
use super::apply::{Variables, outputs_of};
use super::attributes::OutputType;
use super::ends::Known;
use super::flow::Course;
use super::values::Class;
use crate::error::FileError;

impl Converter<'_, '_> {
    pub(super) fn node(&mut self, graph: GraphId, index: usize, node: &Node) -> Result<(), FileError> {
        let mut inputs = Vec::with_capacity(node.inputs.len());
        for &name in &node.inputs {
            inputs.push(match self.values.find(name) {
                Some(value) => Some(value),
                None if name == Name::EMPTY => None,
                None => return Err(self.undefined(self.structure.node_text(node), name)),
            });
        }
        let (operator, name) = (self.structure.text(node.operator), self.structure.text(node.name));
        let asked = (self.rules.keep)(operator, name);
        let schema = if self.structure.is_standard(node) { self.schema(node.operator) } else { None };
        let Some(schema) = schema else {
            let reason = if asked { KeptReason::Asked } else { KeptReason::Unknown };
            self.keep_bodies(node)?;
            return self.keep_untyped((graph, index), node, &inputs, reason);
        };
        if let Some(constant) = self.structure.constant(node) {
            return self.constant((graph, index), node, (&constant, &schema), asked);
        }
        if let "If" | "Loop" | "Scan" = operator {
            return self.control((graph, index), node, (&inputs, &schema), asked);
        }
        let has_bodies = node.attributes.iter().any(|attribute| !attribute.graphs.is_empty());
        let fits = (0..inputs.len()).all(|at| schema.inputs.variable(at).is_some())
            && (0..node.outputs.len()).all(|at| schema.outputs.variable(at).is_some());
        if has_bodies || !fits {
            self.keep_bodies(node)?;
            let reason = if asked { KeptReason::Asked } else { KeptReason::Untyped };
            return self.keep_untyped((graph, index), node, &inputs, reason);
        }
        self.typed((graph, index), node, (&inputs, &schema), asked)
    }

    fn schema(&mut self, operator: Name) -> Option<Rc<Schema>> {
        let (structure, opset) = (self.structure, self.opset);
        let found = || Schema::at(structure.text(operator), opset).map(Rc::new);
        self.schemas.entry(operator).or_insert_with(found).clone()
    }

    /// Converts a node whose inputs and outputs all have a type variable in the schema.
    fn typed(
        &mut self,
        at: (GraphId, usize),
        node: &Node,
        (inputs, schema): (&[Option<usize>], &Schema),
        asked: bool,
    ) -> Result<(), FileError> {
        let operator = self.structure.text(node.operator);
        let (from, to) = (self.rules.from, self.rules.to);
        let mut classes = self.bind(inputs, schema);
        let is_known = inputs.iter().flatten().all(|&value| self.values.class(value) != Class::Unknown);
        let takes_tensors = schema.inputs.all().chain(schema.outputs.all()).all(|v| !schema.allowed(v).no_tensor());
        let supports = schema.body_supports(to);
        let mut converts: Vec<bool> = (0..classes.len()).map(|v| schema.allowed(v).float(to) && supports).collect();
        let mut told = vec![None; classes.len()];
        if operator == "Resize"
            && let Some(roi) = schema.inputs.variable(1)
        {
            // Schemas allow FLOAT16 for the region. But its numbers are pixels or fractions of the size, so that rounding
            // would move it.
            converts[roi] = false;
        }
        // These outputs have types that do not follow from the types of inputs.
        let mut reason = asked.then_some(KeptReason::Asked);
        let mut made: Option<(usize, OutputType)> = None;
        for (index, &name) in node.outputs.iter().enumerate() {
            let Some(variable) = schema.outputs.variable(index) else { continue };
            if classes[variable] != Class::Unknown || name == Name::EMPTY {
                continue;
            }
            let allowed = schema.allowed(variable);
            let output_type = self.output_type(operator, node);
            told[variable] = output_type.as_ref().and_then(OutputType::element_type);
            match output_type {
                _ if !allowed.float(from) => classes[variable] = Class::Other,
                _ if allowed.only(from) => classes[variable] = Class::Old,
                Some(OutputType::Input(input)) => {
                    let followed = schema.inputs.variable(input);
                    classes[variable] = followed.map_or(Class::Unknown, |followed| classes[followed]);
                    let input_converts = followed.is_some_and(|followed| converts[followed]);
                    made = Some((variable, OutputType::Input(input)));
                    converts[variable] &= input_converts;
                }
                Some(OutputType::Fixed(element_type)) => {
                    classes[variable] = if element_type == Some(from) { Class::Old } else { Class::Other };
                    converts[variable] = false;
                }
                Some(output) => {
                    classes[variable] = if output.element_type() == Some(from) { Class::Old } else { Class::Other };
                    made = Some((variable, output));
                }
                None => {
                    classes[variable] = self.values.declared(name);
                    reason = reason.or(Some(KeptReason::Untyped));
                }
            }
        }
        if operator == "BitCast" {
            reason = reason.or(Some(KeptReason::NotSupported));
        }
        let is_old = |variable: usize| classes[variable] == Class::Old;
        let (convertible, old) = (0..classes.len()).filter(|&v| is_old(v)).partition::<Vec<_>, _>(|&v| converts[v]);
        if !is_known || !takes_tensors {
            reason = reason.or(Some(KeptReason::Untyped));
        }
        if convertible.is_empty() && !old.is_empty() {
            reason = reason.or(Some(if supports { KeptReason::NotSupported } else { KeptReason::Body }));
        }
        let mut flow = self.node_flow(operator, inputs);
        let makes_old = (0..node.outputs.len())
            .filter(|&at| node.outputs[at] != Name::EMPTY)
            .any(|at| schema.outputs.variable(at).is_some_and(is_old));
        if flow.course == Course::Follows && !makes_old {
            // The node computes integers from constants, so that no use of floats decides its type.
            flow.course = Course::Stays;
        }
        let stays = match flow.course {
            Course::Stays => true,
            Course::Follows => self.next_stay(outputs_of(node), flow.floats),
            Course::Converts | Course::Looks => false,
        };
        let is_kept = stays && (flow.floats.is_kept() || flow.course == Course::Stays);
        if is_kept && makes_old && matches!(reason, None | Some(KeptReason::NotSupported | KeptReason::Body)) {
            self.note_integers(node);
        } else if let Some(reason) = reason {
            if !(convertible.is_empty() && old.is_empty()) {
                self.note(node, reason);
            }
        } else if !old.is_empty() && !stays {
            self.note(node, KeptReason::InPart);
        }
        if stays || reason.is_some() {
            converts.fill(false);
        }
        if let Some((variable, output)) = made
            && is_old(variable)
            && converts[variable]
            && self.found.is_some()
        {
            self.change_output_type(at, node, &output);
        }
        if reason.is_some() && flow.course == Course::Follows {
            // A node that is kept for a reason cannot follow its uses.
            flow.course = if flow.floats.is_kept() { Course::Stays } else { Course::Converts };
        }
        self.apply(at, node, (inputs, schema), &Variables { classes, converts, told, flow });
        Ok(())
    }

    /// Finds the class of each type variable from the inputs, and gives it to inputs whose class was not known.
    fn bind(&mut self, inputs: &[Option<usize>], schema: &Schema) -> Vec<Class> {
        let variables = schema.inputs.all().chain(schema.outputs.all()).max().map_or(0, |last| last + 1);
        let mut classes = vec![Class::Unknown; variables];
        let bound = || {
            let bound = inputs.iter().enumerate().filter_map(|(at, value)| schema.inputs.variable(at).zip(*value));
            bound.collect::<Vec<_>>()
        };
        for (variable, value) in bound() {
            let allowed = schema.allowed(variable);
            let class = match self.values.class(value) {
                Class::Unknown if !allowed.float(self.rules.from) => Class::Other,
                Class::Unknown if allowed.only(self.rules.from) => Class::Old,
                class => class,
            };
            classes[variable] = if class == Class::Old { class } else { classes[variable].or(class) };
        }
        for (variable, value) in bound() {
            self.values.resolve(value, classes[variable], self.rules.from);
        }
        classes
    }

    /// Keeps a node in the old type. Of its outputs, only the types that the graph declares are known.
    fn keep_untyped(
        &mut self,
        at: (GraphId, usize),
        node: &Node,
        inputs: &[Option<usize>],
        reason: KeptReason,
    ) -> Result<(), FileError> {
        let mut is_concerned = false;
        let flow = self.unknown_flow(inputs);
        let need = self.need(self.rules.from, flow.is_kept());
        for (index, value) in inputs.iter().enumerate() {
            is_concerned |= value.is_some_and(|value| self.values.class(value) != Class::Other);
            self.take(at, index, *value, (self.rules.from, Some(need)));
        }
        for (index, &name) in node.outputs.iter().enumerate() {
            is_concerned |= self.values.declared(name) != Class::Other;
            self.make(at, index, name, ((Class::Unknown, flow), self.rules.from));
        }
        if is_concerned {
            self.note(node, reason);
        }
        Ok(())
    }

    /// Converts the nested graphs of a node that keeps the old type. Their inputs and outputs keep it too.
    fn keep_bodies(&mut self, node: &Node) -> Result<(), FileError> {
        for &body in node.attributes.iter().flat_map(|attribute| &attribute.graphs) {
            self.graph(body, &Known::all(self.rules.from))?;
        }
        Ok(())
    }
}
