//! Converts a graph from one float type to another: its inputs, outputs, initializers, constants and nodes.
//!
//! Each node computes in the new type if its schema allows that. Its outputs then have the new type, and it asks for its
//! inputs in that type. Where a value has another type than a node asks for, a `Cast` is inserted behind the node that makes
//! the value, once for all nodes that ask for that type. Values that are computed from integers keep the old type (`flow`).

mod apply;
mod attributes;
mod constants;
mod control;
mod ends;
mod flow;
mod nodes;
mod uses;
mod values;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use wgpu_cast::{CastOptions, ElementType};

use super::GraphRules;
use super::data::Sources;
use super::edit::{Edits, ValueEdit};
use super::notes::{KeptReason, ModelNote};
use super::reader::Name;
use super::schema::{Schema, letter};
use super::structure::{GraphId, Node, Structure};
use super::weights::Rule;
use crate::error::{FileError, ModelFault};
use crate::input::ReadAt;
use crate::onnx::ValueKind;
use ends::{Ends, Known};
use flow::Flow;
use uses::{Need, Uses};
use values::{Class, Values};

/// The most passes that find out what the values of loops come from. Each pass carries this one turn further.
const MOST_PASSES: u32 = 8;

/// The most nodes that a note names.
const NAMED: usize = 5;

pub(super) struct Converter<'a, 'b> {
    pub model: &'a dyn ReadAt,
    pub structure: &'a Structure,
    pub sources: &'b mut Sources<'a>,
    pub edits: &'b mut Edits,
    pub options: CastOptions,
    pub opset: i64,
    pub rules: GraphRules<'a>,
    pub rule: Rule<'a>,
    values: Values,
    uses: Uses,
    /// The uses that the earlier passes found; `None` in these passes. Attributes and constants are changed in the last pass
    /// only.
    found: Option<Uses>,
    /// For each control node that this pass has met: what each output comes from, and the index of its value.
    turns: Turns,
    /// The same from the pass before.
    found_turns: Turns,
    /// The types of inserted casts and of changed values and tensors. The opset of the result must support them.
    types: HashSet<ElementType>,
    schemas: HashMap<Name, Option<Rc<Schema>>>,
    kept: BTreeMap<(String, KeptReason), (String, usize)>,
    integers: Integers,
    defaults: Defaults,
}

/// The keys are the graph and the index of the node.
type Turns = HashMap<(GraphId, usize), Vec<(Flow, usize)>>;

/// The nodes that keep the old type because their values come from integers.
#[derive(Debug, Default)]
struct Integers {
    /// The first [`NAMED`] of them.
    nodes: Vec<String>,
    count: usize,
}

/// The initializers that stay in the old type because they are default values of inputs that keep it.
#[derive(Debug, Default)]
struct Defaults {
    first: Option<Name>,
    count: usize,
}

impl<'a, 'b> Converter<'a, 'b> {
    /// # Errors
    /// Graphs are not converted between these types.
    pub(super) fn new(
        model: &'a dyn ReadAt,
        (structure, opset): (&'a Structure, i64),
        sources: &'b mut Sources<'a>,
        edits: &'b mut Edits,
        (rules, rule, options): (GraphRules<'a>, Rule<'a>, CastOptions),
    ) -> Result<Self, FileError> {
        let (from, to) = (rules.from, rules.to);
        if from == to || letter(from).is_none() || letter(to).is_none() {
            return Err(ModelFault::GraphTypes { from, to }.into());
        }
        Ok(Self {
            model,
            structure,
            sources,
            edits,
            options,
            opset,
            rules,
            rule,
            values: Values::default(),
            uses: Uses::default(),
            found: None,
            turns: Turns::new(),
            found_turns: Turns::new(),
            types: HashSet::new(),
            schemas: HashMap::new(),
            kept: BTreeMap::new(),
            integers: Integers::default(),
            defaults: Defaults::default(),
        })
    }

    /// Converts the whole model; returns the types of inserted casts and of changed values and tensors.
    pub(super) fn convert(mut self, notes: &mut Vec<ModelNote>) -> Result<HashSet<ElementType>, FileError> {
        let io = if self.rules.keep_io_types { self.rules.from } else { self.rules.to };
        // The first passes find out two things that later nodes decide: what the values of nested graphs come from, and
        // which constants are needed in the old type only, such as the scales of Resize. Rounding these would lose digits
        // for nothing. The last pass goes the same way with this knowledge, and makes the edits.
        for pass in 1..=MOST_PASSES {
            self.graph(0, &Known::all(io))?;
            let is_settled = self.found_turns == self.turns;
            let found_turns = std::mem::take(&mut self.turns);
            if is_settled || pass == MOST_PASSES {
                break;
            }
            self.found_turns = found_turns;
            self.restart();
        }
        self.uses.settle();
        self.found = Some(std::mem::take(&mut self.uses));
        self.restart();
        self.graph(0, &Known::all(io))?;
        notes.extend(self.kept.into_iter().map(|((operator, reason), (first, count))| ModelNote::Kept {
            operator,
            reason,
            first,
            count,
        }));
        let Defaults { first, count } = self.defaults;
        if let Some(first) = first {
            notes.push(ModelNote::DefaultsLeft { first: self.structure.text(first).to_owned(), count });
        }
        let Integers { nodes, count } = self.integers;
        if count > 0 {
            let more = count - nodes.len();
            notes.push(ModelNote::IntegersKept { nodes, more });
        }
        Ok(self.types)
    }

    /// Forgets what a pass found and edited.
    fn restart(&mut self) {
        (self.values, self.types, self.uses) = (Values::default(), HashSet::new(), Uses::default());
        self.kept.clear();
        self.integers = Integers::default();
        self.defaults = Defaults::default();
        *self.edits = Edits::default();
    }

    /// Converts a graph.
    fn graph(&mut self, id: GraphId, known: &Known) -> Result<Ends, FileError> {
        let graph = self.structure.graph(id);
        self.values.enter(id);
        for value in graph.outputs.iter().chain(&graph.infos) {
            let class = self.class_of(value.kind);
            self.values.declare(value.name, class);
        }
        for (index, output) in graph.outputs.iter().enumerate() {
            self.values.declare_output(output.name, known.output_type(index));
        }
        let mut ends = Ends { inputs: self.inputs(id, known), outputs: Vec::new() };
        self.initializers(id, known)?;
        for (index, node) in graph.nodes.iter().enumerate() {
            self.node(id, index, node)?;
        }
        for (index, output) in graph.outputs.iter().enumerate() {
            ends.outputs.push(self.output((id, index), output, known)?);
        }
        for (index, info) in graph.infos.iter().enumerate() {
            if info.kind != ValueKind::Tensor(self.rules.from.onnx_code()) {
                continue;
            }
            if let Some(element_type) = self.values.named_type(info.name).filter(|&t| t != self.rules.from) {
                let edit = ValueEdit::Change { name: None, element_type };
                self.edits.graph(id).infos.insert(index, edit);
            }
        }
        self.values.leave();
        Ok(ends)
    }

    /// The class of a value of a declared type.
    fn class_of(&self, kind: ValueKind) -> Class {
        match kind {
            ValueKind::Tensor(0) | ValueKind::Unknown => Class::Unknown,
            ValueKind::Tensor(code) if code == self.rules.from.onnx_code() => Class::Old,
            ValueKind::Tensor(_) | ValueKind::Other => Class::Other,
        }
    }

    /// Defines a value that is made before the node at `position`. If the value had the old type, it has the type `actual`
    /// now. If the value is also an output of the graph and needs another type there, the output gets the name, with a
    /// cast: the value's producer must then use the name that is returned.
    fn define(&mut self, name: Name, of: (Class, Flow), actual: ElementType, position: usize) -> Option<String> {
        let (value, output) = self.values.define(name, of, actual, position)?;
        let wanted = output.filter(|&wanted| wanted != actual)?;
        let fresh = self.edits.fresh(&self.structure.names, name, actual);
        self.values.rename(value, fresh.clone());
        let cast = self.values.cast(value, (wanted, None), self.structure.text(name));
        self.insert(value, cast);
        Some(fresh)
    }

    /// The name of a value in the type `wanted`; `None` for its own name. A cast is inserted if there is no such name yet.
    fn request(&mut self, value: usize, wanted: ElementType) -> Option<String> {
        match self.values.version(value, wanted) {
            Some(name) => name,
            None => {
                let own = self.values.name(value);
                let fresh = self.edits.fresh(&self.structure.names, own, wanted);
                let cast = self.values.cast(value, (wanted, Some(fresh.clone())), self.structure.text(own));
                self.insert(value, cast);
                Some(fresh)
            }
        }
    }

    /// The need for a value in the type `wanted`. With `is_kept`, a need for the old type is exact.
    fn need(&self, wanted: ElementType, is_kept: bool) -> Need {
        match wanted == self.rules.from {
            true if is_kept => Need::Exact,
            true => Need::Old,
            false => Need::New,
        }
    }

    /// Whether the next `count` values to be defined stay in the old type, given that they could have either type.
    fn next_stay(&self, count: usize, flow: Flow) -> bool {
        let next = self.values.count();
        self.found.as_ref().is_some_and(|found| found.stays(next..next + count, flow.is_kept()))
    }

    fn insert(&mut self, value: usize, cast: super::edit::NewCast) {
        let (graph, position) = self.values.place(value);
        self.types.extend([cast.to, self.values.actual(value)]);
        self.edits.graph(graph).casts.entry(position).or_default().push(cast);
    }

    fn undefined(&self, node: String, value: Name) -> FileError {
        let value = self.structure.text(value).to_owned();
        FileError::from(ModelFault::Undefined { value }).in_element(|| node)
    }

    fn note(&mut self, node: &Node, reason: KeptReason) {
        let key = (self.structure.operator_text(node), reason);
        let first = || (self.structure.node_name(node).to_owned(), 0);
        self.kept.entry(key).or_insert_with(first).1 += 1;
    }

    fn note_integers(&mut self, node: &Node) {
        self.integers.count += 1;
        if self.integers.nodes.len() < NAMED {
            self.integers.nodes.push(self.structure.node_text(node));
        }
    }
}
