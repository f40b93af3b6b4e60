//! Converts a graph from one float type to another: its inputs, outputs, initializers, constants and nodes.
//!
//! Each value of the old type gets the type that its producer makes now. A node asks for its inputs in the types that
//! its schema allows. Where both differ, a `Cast` is inserted behind the producer, once for all nodes that ask for it.
//! What is computed from integers keeps the old type (`flow`).

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

/// The most passes that find out what the values of loops come from. Each lets it reach the next turn.
const MOST_PASSES: u32 = 8;

/// How many nodes a note names.
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
    /// The uses that earlier passes found. Those make no attributes.
    found: Option<Uses>,
    /// What the outputs of the graphs of control nodes come from, with the values of the nodes' outputs.
    turns: Turns,
    /// Those that an earlier pass found.
    found_turns: Turns,
    /// The types that occur in the result where the source had others.
    types: HashSet<ElementType>,
    schemas: HashMap<Name, Option<Rc<Schema>>>,
    kept: BTreeMap<(String, KeptReason), (String, usize)>,
    integers: Integers,
}

/// By graph and index of the node.
type Turns = HashMap<(GraphId, usize), Vec<(Flow, usize)>>;

/// The nodes that keep the old type for what their values come from.
#[derive(Debug, Default)]
struct Integers {
    /// The first ones.
    nodes: Vec<String>,
    count: usize,
}

impl<'a, 'b> Converter<'a, 'b> {
    /// # Errors
    /// Types between which graphs are not converted.
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
        })
    }

    /// Converts the whole model; returns the types that occur in casts.
    pub(super) fn convert(mut self, notes: &mut Vec<ModelNote>) -> Result<HashSet<ElementType>, FileError> {
        let io = if self.rules.keep_io_types { self.rules.from } else { self.rules.to };
        // The first passes find out what the values of nested graphs come from, and constants that are needed in the
        // old type only, such as the scales of Resize, which would be rounded for nothing. The last pass finds the
        // same.
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
        let Integers { nodes, count } = self.integers;
        if count > 0 {
            let more = count - nodes.len();
            notes.push(ModelNote::IntegersKept { nodes, more });
        }
        Ok(self.types)
    }

    /// Forgets what a pass did.
    fn restart(&mut self) {
        (self.values, self.types, self.uses) = (Values::default(), HashSet::new(), Uses::default());
        self.kept.clear();
        self.integers = Integers::default();
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

    /// What a declared type says.
    fn class_of(&self, kind: ValueKind) -> Class {
        match kind {
            ValueKind::Tensor(0) | ValueKind::Unknown => Class::Unknown,
            ValueKind::Tensor(code) if code == self.rules.from.onnx_code() => Class::Old,
            ValueKind::Tensor(_) | ValueKind::Other => Class::Other,
        }
    }

    /// Defines a value that is made before the node at `position`, in the type `actual` if it is of the old type. If it
    /// is an output of the graph in another type, it is made under the name that is returned, with a cast behind.
    fn define(&mut self, name: Name, of: (Class, Flow), actual: ElementType, position: usize) -> Option<String> {
        let (value, output) = self.values.define(name, of, actual, position)?;
        let wanted = output.filter(|&wanted| wanted != actual)?;
        let fresh = self.edits.fresh(&self.structure.names, name, actual);
        self.values.rename(value, fresh.clone());
        let cast = self.values.cast(value, (wanted, None), self.structure.text(name));
        self.insert(value, cast);
        Some(fresh)
    }

    /// The name of a value in a type, `None` for its own name. If the value does not have the type yet, it is cast.
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

    /// The need for a value in a type. `is_kept`: if that is the old one, each digit counts.
    fn need(&self, wanted: ElementType, is_kept: bool) -> Need {
        match wanted == self.rules.from {
            true if is_kept => Need::Exact,
            true => Need::Old,
            false => Need::New,
        }
    }

    /// Whether the values that are defined next stay in the old type, if they can have either.
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
