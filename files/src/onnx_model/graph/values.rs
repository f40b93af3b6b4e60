//! The values of a graph and of the graphs nested in it: what is known of their types, and the name of each value in each
//! type that it has.

use std::collections::HashMap;

use wgpu_cast::ElementType;

use super::super::edit::NewCast;
use super::super::reader::Name;
use super::super::structure::GraphId;
use super::flow::Flow;

/// What is known of the type that a value has in the source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) enum Class {
    /// A tensor of the type that is replaced.
    Old,
    /// Anything else.
    Other,
    #[default]
    Unknown,
}

impl Class {
    /// This class, or `other` if this one is not known.
    pub(super) fn or(self, other: Class) -> Class {
        if self == Class::Unknown { other } else { self }
    }
}

#[derive(Debug)]
struct Value {
    name: Name,
    class: Class,
    flow: Flow,
    graph: GraphId,
    /// The index of the node behind the one that makes the value. Casts are inserted there.
    position: usize,
    /// The types that the value has, each with a name; `None` is the value's own name. The first is what its producer
    /// makes. Empty unless the value is of the old type.
    versions: Vec<(ElementType, Option<String>)>,
}

#[derive(Debug)]
struct Scope {
    graph: GraphId,
    values: HashMap<Name, usize>,
    declared: HashMap<Name, Class>,
    /// The type of each output, if it is of the old type.
    outputs: HashMap<Name, ElementType>,
}

#[derive(Debug, Default)]
pub(super) struct Values {
    values: Vec<Value>,
    scopes: Vec<Scope>,
}

impl Values {
    pub(super) fn enter(&mut self, graph: GraphId) {
        let (values, declared) = (HashMap::new(), HashMap::new());
        self.scopes.push(Scope { graph, values, declared, outputs: HashMap::new() });
    }

    pub(super) fn leave(&mut self) {
        self.scopes.pop();
    }

    /// Notes the class that the current graph declares for a value.
    pub(super) fn declare(&mut self, name: Name, class: Class) {
        if let Some(scope) = self.scopes.last_mut() {
            let declared = scope.declared.entry(name).or_default();
            *declared = declared.or(class);
        }
    }

    /// Notes the type of an output of the current graph. If a value is an output twice, its own name has the first type.
    pub(super) fn declare_output(&mut self, name: Name, io: ElementType) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.outputs.entry(name).or_insert(io);
        }
    }

    pub(super) fn declared(&self, name: Name) -> Class {
        self.scopes.last().and_then(|scope| scope.declared.get(&name)).copied().unwrap_or_default()
    }

    /// Defines a value of the current graph. Returns its index and, if it is an output, the type of that; `None` if the
    /// value is not of the old type.
    pub(super) fn define(
        &mut self,
        name: Name,
        (class, flow): (Class, Flow),
        actual: ElementType,
        position: usize,
    ) -> Option<(usize, Option<ElementType>)> {
        let index = self.values.len();
        let scope = self.scopes.last_mut()?;
        if name == Name::EMPTY {
            return None;
        }
        let versions = if class == Class::Old { vec![(actual, None)] } else { Vec::new() };
        self.values.push(Value { name, class, flow, graph: scope.graph, position, versions });
        scope.values.insert(name, index);
        (class == Class::Old).then(|| (index, scope.outputs.get(&name).copied()))
    }

    /// The value of a name. It may belong to a graph around the current one.
    pub(super) fn find(&self, name: Name) -> Option<usize> {
        self.scopes.iter().rev().find_map(|scope| scope.values.get(&name)).copied()
    }

    /// The number of values. This is the index of the next one.
    pub(super) fn count(&self) -> usize {
        self.values.len()
    }

    pub(super) fn class(&self, value: usize) -> Class {
        self.values[value].class
    }

    pub(super) fn flow(&self, value: usize) -> Flow {
        self.values[value].flow
    }

    pub(super) fn name(&self, value: usize) -> Name {
        self.values[value].name
    }

    /// The type that the producer makes now. The value must be of the old type.
    pub(super) fn actual(&self, value: usize) -> ElementType {
        self.values[value].versions[0].0
    }

    /// The graph of a value, and the index of the node behind the one that makes it.
    pub(super) fn place(&self, value: usize) -> (GraphId, usize) {
        (self.values[value].graph, self.values[value].position)
    }

    /// Notes `class` for a value whose class is not known; returns the class that is known now. Values of unknown class are
    /// not changed. A value that turns out to be of the old type therefore still has it.
    pub(super) fn resolve(&mut self, value: usize, class: Class, old: ElementType) -> Class {
        let value = &mut self.values[value];
        if value.class == Class::Unknown && class != Class::Unknown {
            value.class = class;
            if class == Class::Old {
                value.versions.push((old, None));
            }
        }
        value.class
    }

    /// The type that the value's own name has now, if the value is of the old type.
    pub(super) fn named_type(&self, name: Name) -> Option<ElementType> {
        let value = self.scopes.last().and_then(|scope| scope.values.get(&name))?;
        self.values[*value].versions.iter().find(|(_, name)| name.is_none()).map(|&(element_type, _)| element_type)
    }

    /// The name of a value in the type `wanted`, if there is one. An inner `None` is the value's own name.
    pub(super) fn version(&self, value: usize, wanted: ElementType) -> Option<Option<String>> {
        let found = self.values[value].versions.iter().find(|(element_type, _)| *element_type == wanted);
        found.map(|(_, name)| name.clone())
    }

    /// Gives another name to the version that the producer makes.
    pub(super) fn rename(&mut self, value: usize, name: String) {
        self.values[value].versions[0].1 = Some(name);
    }

    /// Adds a version of a value; returns the cast that makes it. `own` is the text of the value's own name.
    pub(super) fn cast(&mut self, value: usize, version: (ElementType, Option<String>), own: &str) -> NewCast {
        let versions = &mut self.values[value].versions;
        let text = |name: &Option<String>| name.clone().unwrap_or_else(|| own.to_owned());
        let cast = NewCast { input: text(&versions[0].1), output: text(&version.1), to: version.0 };
        versions.push(version);
        cast
    }
}
