//! Converts a graph from one float type to another: its inputs, outputs, initializers, constants and nodes.
//!
//! Each value of the old type gets the type that its producer makes now. A node asks for its inputs in the types that
//! its schema allows. Where both differ, a `Cast` is inserted behind the producer, once for all nodes that ask for it.

mod attributes;
mod control;
mod nodes;
mod values;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use super::GraphRules;
use super::data::Sources;
use super::edit::{Edits, TensorEdit, ValueEdit};
use super::error::{KeptReason, ModelNote, OnnxModelError};
use super::reader::Name;
use super::schema::{Schema, letter};
use super::structure::{GraphId, Node, Structure, ValueInfo, ValueKind};
use super::weights::{self, Rule};
use crate::element::ElementType;
use crate::files::input::ReadAt;
use crate::options::CastOptions;
use values::{Class, Values};

/// The oldest opset whose graphs are converted: from it on `Cast` names its target by a number.
pub(super) const OLDEST_OPSET: i64 = 6;

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
    /// Whether values are asked for in the old type and in another, by their indexes.
    uses: Vec<[bool; 2]>,
    /// The uses that a first pass found. It makes no attributes.
    found: Option<Vec<[bool; 2]>>,
    /// The types that occur in the result where the source had others.
    types: HashSet<ElementType>,
    schemas: HashMap<Name, Option<Rc<Schema>>>,
    kept: BTreeMap<(String, KeptReason), (String, usize)>,
}

/// What is known of a nested graph before it is converted, and of its inputs and outputs after that.
#[derive(Clone, Debug, Default)]
pub(super) struct Ends {
    pub inputs: Vec<Class>,
    pub outputs: Vec<Class>,
}

impl<'a, 'b> Converter<'a, 'b> {
    /// # Errors
    /// [`OnnxModelError::GraphTypes`] for types between which graphs are not converted.
    pub(super) fn new(
        model: &'a dyn ReadAt,
        (structure, opset): (&'a Structure, i64),
        sources: &'b mut Sources<'a>,
        edits: &'b mut Edits,
        (rules, rule, options): (GraphRules<'a>, Rule<'a>, CastOptions),
    ) -> Result<Self, OnnxModelError> {
        let (from, to) = (rules.from, rules.to);
        if from == to || letter(from).is_none() || letter(to).is_none() {
            return Err(OnnxModelError::GraphTypes { from, to });
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
            uses: Vec::new(),
            found: None,
            types: HashSet::new(),
            schemas: HashMap::new(),
            kept: BTreeMap::new(),
        })
    }

    /// Converts the whole model; returns the types that occur in casts.
    pub(super) fn convert(mut self, notes: &mut Vec<ModelNote>) -> Result<HashSet<ElementType>, OnnxModelError> {
        let io = if self.rules.keep_io_types { self.rules.from } else { self.rules.to };
        // The first pass finds constants that are needed in the old type only, such as the scales of Resize. They would
        // be rounded for nothing. What else it finds out is the same the second time.
        self.graph(0, io, &Ends::default())?;
        self.found = Some(std::mem::take(&mut self.uses));
        (self.values, self.types) = (Values::default(), HashSet::new());
        self.kept.clear();
        *self.edits = Edits::default();
        self.graph(0, io, &Ends::default())?;
        notes.extend(self.kept.into_iter().map(|((operator, reason), (first, count))| ModelNote::Kept {
            operator,
            reason,
            first,
            count,
        }));
        Ok(self.types)
    }

    /// Converts a graph whose inputs and outputs of the old type get the type `io`.
    fn graph(&mut self, id: GraphId, io: ElementType, known: &Ends) -> Result<Ends, OnnxModelError> {
        let graph = self.structure.graph(id);
        self.values.enter(id, io);
        for value in graph.outputs.iter().chain(&graph.infos) {
            let class = self.class_of(value.kind);
            self.values.declare(value.name, class);
        }
        for output in &graph.outputs {
            self.values.declare_output(output.name);
        }
        let mut ends = Ends { inputs: self.inputs(id, io, known)?, outputs: Vec::new() };
        self.initializers(id, io)?;
        for (index, node) in graph.nodes.iter().enumerate() {
            self.node(id, index, node)?;
        }
        for (index, output) in graph.outputs.iter().enumerate() {
            let hint = known.outputs.get(index).copied().unwrap_or(Class::Unknown);
            ends.outputs.push(self.output((id, index), output, io, hint)?);
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

    fn inputs(&mut self, id: GraphId, io: ElementType, known: &Ends) -> Result<Vec<Class>, OnnxModelError> {
        let (graph, given) = (self.structure.graph(id), weights::inputs(self.structure, id));
        let mut classes = Vec::new();
        for (index, input) in graph.inputs.iter().enumerate() {
            let declared = self.class_of(input.kind);
            let class = declared.or(known.inputs.get(index).copied().unwrap_or(Class::Unknown));
            classes.push(class);
            if !given.contains(&input.name) {
                continue;
            }
            self.define(input.name, class, io, 0);
            if class == Class::Old && io != self.rules.from {
                let edit = ValueEdit::Change { name: None, element_type: io };
                self.edits.graph(id).inputs.insert(index, edit);
                self.types.insert(io);
            }
        }
        Ok(classes)
    }

    fn initializers(&mut self, id: GraphId, io: ElementType) -> Result<(), OnnxModelError> {
        let (graph, given) = (self.structure.graph(id), weights::inputs(self.structure, id));
        for &tensor_id in &graph.initializers {
            let tensor = self.structure.tensor(tensor_id);
            let (name, is_old) = (tensor.name, tensor.code == self.rules.from.onnx_code());
            if given.contains(&name) {
                // The default value of an input has the type of the input.
                if is_old && io != self.rules.from {
                    self.edits.tensors.insert(tensor_id, TensorEdit { name: None, to: Some(io) });
                    self.types.insert(io);
                }
                continue;
            }
            let target = weights::target(self.structure, tensor_id, self.rule)?;
            let target = target.filter(|&to| !(is_old && to == self.rules.to && self.next_stays()));
            self.types.extend(target);
            if !is_old {
                if let Some(to) = target {
                    self.types.extend(tensor.element_type());
                    weights::store(self.structure, self.edits, id, tensor_id, to);
                }
                self.define(name, Class::Other, self.rules.from, 0);
                continue;
            }
            let renamed = self.define(name, Class::Old, target.unwrap_or(self.rules.from), 0);
            if target.is_some() || renamed.is_some() {
                self.edits.tensors.insert(tensor_id, TensorEdit { name: renamed, to: target });
            }
        }
        for &(name, code) in &graph.sparse {
            let class = self.class_of(ValueKind::Tensor(code));
            // It cannot be renamed, so its own name has the old type.
            self.values.define(name, class, self.rules.from, 0);
        }
        Ok(())
    }

    /// Gives an output its type; returns what it was before.
    fn output(
        &mut self,
        (id, index): (GraphId, usize),
        output: &ValueInfo,
        io: ElementType,
        hint: Class,
    ) -> Result<Class, OnnxModelError> {
        let element = || format!("an output of {}", if id == 0 { "the graph" } else { "a nested graph" });
        let Some(value) = self.values.find(output.name) else {
            return Err(self.undefined(element(), output.name));
        };
        let class = self.values.resolve(value, hint, self.rules.from);
        if class != Class::Old {
            return Ok(class);
        }
        if id == 0 && self.values.named_type(output.name) != Some(io) {
            // Callers know the outputs of the model by name, so that one without a cast behind it keeps its type too.
            self.note_use(value, self.rules.from);
            return Ok(class);
        }
        // The value has its own name in this type if it is made in this graph.
        let name = self.request(value, io);
        if io != self.rules.from || name.is_some() {
            self.edits.graph(id).outputs.insert(index, ValueEdit::Change { name, element_type: io });
        }
        Ok(class)
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
    fn define(&mut self, name: Name, class: Class, actual: ElementType, position: usize) -> Option<String> {
        let (value, output) = self.values.define(name, class, actual, position)?;
        if let Some(wanted) = output {
            self.note_use(value, wanted);
        }
        let wanted = output.filter(|&wanted| wanted != actual)?;
        let fresh = self.edits.fresh(&self.structure.names, name, actual);
        self.values.rename(value, fresh.clone());
        let cast = self.values.cast(value, (wanted, None), self.structure.text(name));
        self.insert(value, cast);
        Some(fresh)
    }

    /// The name of a value in a type, `None` for its own name. If the value does not have the type yet, it is cast.
    fn request(&mut self, value: usize, wanted: ElementType) -> Option<String> {
        self.note_use(value, wanted);
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

    fn note_use(&mut self, value: usize, wanted: ElementType) {
        if self.uses.len() <= value {
            self.uses.resize(value + 1, [false; 2]);
        }
        self.uses[value][usize::from(wanted != self.rules.from)] = true;
    }

    /// Whether the value that is defined next is needed in the old type only.
    fn next_stays(&self) -> bool {
        let uses = self.found.as_ref().and_then(|found| found.get(self.values.count()));
        uses == Some(&[true, false])
    }

    fn insert(&mut self, value: usize, cast: super::edit::NewCast) {
        let (graph, position) = self.values.place(value);
        self.types.extend([cast.to, self.values.actual(value)]);
        self.edits.graph(graph).casts.entry(position).or_default().push(cast);
    }

    fn undefined(&self, node: String, value: Name) -> OnnxModelError {
        OnnxModelError::Undefined { node, value: self.structure.text(value).to_owned() }
    }

    fn note(&mut self, node: &Node, reason: KeptReason) {
        let key = (self.structure.operator_text(node), reason);
        let first = || (self.structure.node_name(node).to_owned(), 0);
        self.kept.entry(key).or_insert_with(first).1 += 1;
    }
}
