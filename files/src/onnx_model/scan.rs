//! Reads the structure of a model.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use super::constants::VALUES;
use super::reader::{Name, Paged, fields, of_tensor, wire};
use super::structure::{Attribute, Function, Graph, GraphId, Node, Structure, Tensor, TensorId, ValueInfo};
use crate::error::{FileError, ModelFault};
use crate::input::ReadAt;
use crate::onnx::fields::{attribute, function, graph, model, node, sparse};
use crate::onnx::{TensorHeader, TensorPlace, ValueKind, is_default, opset_import, value_info};
use crate::wire::{Field, Form, Packed, Value};

/// The most graphs that may be nested. Parsers of protobuf allow 100 nested messages, and each nested graph takes three of
/// them: a graph, a node and an attribute.
const DEEPEST: u32 = 32;

/// The most memory for the structure in bytes.
const MOST_MEMORY: u64 = 512 << 20;

/// The attributes that conversions look at, beside those with tensors or graphs and the values of constants.
const ATTRIBUTES: [&str; 7] =
    ["sparse_value", "to", "dtype", "output_dtype", "output_datatype", "stash_type", "num_scan_inputs"];

/// Reads the structure of a model.
pub(super) fn scan(input: &dyn ReadAt) -> Result<Structure, FileError> {
    let element = || "the model".to_owned();
    let paged = Paged::new(input).map_err(|error| error.in_element(element))?;
    let range = 0..paged.len();
    let structure = Structure { range: range.clone(), ..Structure::default() };
    let mut scanner = Scanner { input: &paged, structure, memory: 0 };
    let (mut has_graph, mut opset) = (false, None);
    let mut functions = Vec::new();
    for field in fields(&paged, &model::KIND, &range, element) {
        let field = field?;
        match field.number {
            model::IR_VERSION => scanner.structure.ir_version = field.number() as i64,
            model::GRAPH => {
                has_graph = true;
                scanner.graph(field.bytes(), "the graph", 0)?;
            }
            model::OPSET_IMPORT => scanner.import(&field, &mut opset, element)?,
            model::TRAINING_INFO => return Err(ModelFault::Training.into()),
            model::FUNCTIONS => {
                scanner.spend(48)?;
                functions.push(field.bytes());
            }
            _ => {}
        }
    }
    for (index, range) in functions.iter().enumerate() {
        scanner.function(range, index)?;
    }
    scanner.structure.opset = opset;
    if has_graph { Ok(scanner.structure) } else { Err(ModelFault::NoGraph.into()) }
}

pub(super) struct Scanner<'a> {
    pub input: &'a dyn ReadAt,
    pub structure: Structure,
    memory: u64,
}

impl Scanner<'_> {
    /// Counts memory before it is used. More than [`MOST_MEMORY`] bytes in all are an error.
    pub(super) fn spend(&mut self, bytes: usize) -> Result<(), FileError> {
        self.memory = self.memory.saturating_add(bytes as u64);
        if self.memory > MOST_MEMORY { Err(ModelFault::Structure { limit: MOST_MEMORY }.into()) } else { Ok(()) }
    }

    fn name(&mut self, field: &Field, element: impl Fn() -> String) -> Result<Name, FileError> {
        let text = field.text(self.input).map_err(|error| wire(element, error))?;
        self.intern(&text)
    }

    fn intern(&mut self, text: &str) -> Result<Name, FileError> {
        let (name, is_new) = self.structure.names.intern(text);
        // 96 bytes are for the two references to the text and for the entry of the hash table.
        self.spend(if is_new { text.len() + 96 } else { 0 })?;
        Ok(name)
    }

    /// The name of a domain. The default domain has two names; both become the empty one.
    fn domain(&mut self, field: &Field, element: impl Fn() -> String) -> Result<Name, FileError> {
        let name = self.name(field, element)?;
        Ok(if is_default(self.structure.text(name)) { Name::EMPTY } else { name })
    }

    /// Notes the imported opset, if it is one of the default domain. Two different ones are an error.
    fn import(
        &mut self,
        field: &Field,
        imported: &mut Option<i64>,
        importer: impl Fn() -> String,
    ) -> Result<(), FileError> {
        let element = || format!("an opset_import of {}", importer());
        let version = opset_import(self.input, field.bytes()).map_err(|error| wire(element, error))?;
        match (*imported, version) {
            (Some(first), Some(second)) if first != second => {
                Err(FileError::from(ModelFault::TwoOpsets { first, second }).in_element(importer))
            }
            _ => {
                *imported = version.or(*imported);
                Ok(())
            }
        }
    }

    /// Reads a function. External data in it is an error.
    fn function(&mut self, range: &Range<u64>, index: usize) -> Result<(), FileError> {
        let (mut domain, mut name) = (Name::EMPTY, Name::EMPTY);
        let element = || format!("function {index}");
        let (tensors, graphs) = (self.structure.tensors.len(), self.structure.graphs.len());
        let mut found = Function::default();
        let mut body = Graph { range: range.clone(), ..Graph::default() };
        self.spend(size_of::<Graph>())?;
        self.structure.graphs.push(Graph::default());
        for field in fields(self.input, &function::KIND, range, element) {
            let field = field?;
            match field.number {
                function::OPSET_IMPORT => self.import(&field, &mut found.opset, element)?,
                function::NAME => name = self.name(&field, element)?,
                function::DOMAIN => domain = self.domain(&field, element)?,
                function::NODE => {
                    let node = self.node(field.bytes(), &element(), body.nodes.len(), 0)?;
                    body.nodes.push(node);
                }
                _ => {}
            }
        }
        if self.has_external(tensors) {
            let element = || format!("function {}", crate::text::quoted(self.structure.text(name)));
            return Err(FileError::from(ModelFault::ExternalThere).in_element(element));
        }
        self.structure.graphs[graphs] = body;
        let nodes = self.structure.graphs[graphs..].iter().flat_map(|graph| &graph.nodes);
        found.operators.extend(nodes.filter(|node| node.domain == Name::EMPTY).map(|node| node.operator));
        (found.name, found.graphs) = (name, graphs as GraphId..self.structure.graphs.len() as GraphId);
        self.spend(size_of::<Function>() + 16 + 16 * found.operators.len())?;
        self.structure.functions.push(found);
        self.structure.function_names.insert((domain, name));
        Ok(())
    }

    /// Whether a tensor with an index of at least `first` has external data.
    fn has_external(&self, first: usize) -> bool {
        self.structure.tensors[first..].iter().any(|tensor| tensor.file.is_some())
    }

    fn graph(&mut self, range: Range<u64>, element: &str, depth: u32) -> Result<GraphId, FileError> {
        if depth >= DEEPEST {
            return Err(FileError::from(ModelFault::TooDeep { limit: DEEPEST }).in_element(|| element.to_owned()));
        }
        self.spend(size_of::<Graph>())?;
        let id = self.structure.graphs.len();
        self.structure.graphs.push(Graph::default());
        let mut graph = Graph { range: range.clone(), ..Graph::default() };
        let mut initialized = HashSet::new();
        let name = || element.to_owned();
        for field in fields(self.input, &graph::KIND, &range, name) {
            let field = field?;
            match field.number {
                graph::NODE => {
                    let node = self.node(field.bytes(), element, graph.nodes.len(), depth)?;
                    graph.nodes.push(node);
                }
                graph::INITIALIZER => {
                    let at = graph.initializers.len();
                    let tensor = self.tensor(field.bytes(), || format!("initializer {at} of {element}"))?;
                    let value = self.structure.tensor(tensor).name;
                    if !initialized.insert(value) {
                        let name = self.structure.text(value).to_owned();
                        return Err(ModelFault::Repeated { what: "initializer", name }.into());
                    }
                    graph.initializers.push(tensor);
                }
                graph::INPUT => graph.inputs.push(self.value(field.bytes(), element)?),
                graph::OUTPUT => graph.outputs.push(self.value(field.bytes(), element)?),
                graph::VALUE_INFO => graph.infos.push(self.value(field.bytes(), element)?),
                graph::SPARSE_INITIALIZER => {
                    self.spend(8)?;
                    let content = field.bytes();
                    graph.sparse.push(self.sparse(&content, || format!("a sparse initializer of {element}"))?);
                }
                _ => {}
            }
        }
        self.structure.graphs[id] = graph;
        Ok(id as GraphId)
    }

    /// Reads a sparse tensor. Sparse tensors are copied as they are, so that external data in them is an error. The
    /// name and type are those of the values.
    fn sparse(&mut self, range: &Range<u64>, element: impl Fn() -> String) -> Result<(Name, i32), FileError> {
        let tensors = self.structure.tensors.len();
        let mut values = (Name::EMPTY, 0);
        for field in fields(self.input, &sparse::KIND, range, &element) {
            let field = field?;
            if matches!(field.number, sparse::VALUES | sparse::INDICES) {
                let id = self.tensor(field.bytes(), &element)?;
                if field.number == sparse::VALUES {
                    values = (self.structure.tensor(id).name, self.structure.tensor(id).code);
                }
            }
        }
        if self.has_external(tensors) {
            return Err(FileError::from(ModelFault::ExternalThere).in_element(element));
        }
        self.structure.tensors.truncate(tensors);
        Ok(values)
    }

    /// Reads a tensor, and adds it to the list of tensors.
    fn tensor(&mut self, range: Range<u64>, element: impl Fn() -> String) -> Result<TensorId, FileError> {
        self.spend(size_of::<Tensor>())?;
        let header = TensorHeader::read(self.input, range).map_err(|error| of_tensor(element, error))?;
        let TensorHeader { range, name, dims, code, elements, data, .. } = header;
        let name = self.intern(&name)?;
        self.spend(8 * dims.len())?;
        let mut file = None;
        if let TensorPlace::External(range) = &data {
            let location = self.intern(&range.location)?;
            self.spend(range.location.len() + 32)?;
            file = Some(self.structure.file(location));
        }
        let id = self.structure.tensors.len() as TensorId;
        self.structure.tensors.push(Tensor { range, name, dims, code, elements, data, file });
        Ok(id)
    }

    fn value(&mut self, range: Range<u64>, graph: &str) -> Result<ValueInfo, FileError> {
        self.spend(size_of::<ValueInfo>())?;
        let found = value_info(self.input, range.clone());
        let found = found.map_err(|error| wire(|| format!("a value of {graph}"), error))?;
        let (kind, name) = (found.kind.unwrap_or(ValueKind::Unknown), self.intern(&found.name)?);
        Ok(ValueInfo { range, name, kind })
    }

    fn node(&mut self, range: Range<u64>, graph: &str, index: usize, depth: u32) -> Result<Node, FileError> {
        self.spend(size_of::<Node>())?;
        let element = || format!("node {index} of {graph}");
        let mut node = Node { range: range.clone(), ..Node::default() };
        let mut attributes = 0;
        for field in fields(self.input, &node::KIND, &range, element) {
            let field = field?;
            match field.number {
                node::INPUT => node.inputs.push(self.name(&field, element)?),
                node::OUTPUT => node.outputs.push(self.name(&field, element)?),
                node::NAME => node.name = self.name(&field, element)?,
                node::OP_TYPE => node.operator = self.name(&field, element)?,
                node::DOMAIN => node.domain = self.domain(&field, element)?,
                node::ATTRIBUTE => {
                    let (found, has_floats) = self.attribute(field.bytes(), attributes, &element(), depth)?;
                    attributes += 1;
                    node.has_floats |= has_floats;
                    if let Some(found) = found {
                        self.spend(size_of::<Attribute>())?;
                        node.attributes.push(found);
                    }
                }
                _ => continue,
            }
            self.spend(8)?;
        }
        Ok(node)
    }

    fn attribute(
        &mut self,
        range: Range<u64>,
        index: u32,
        node: &str,
        depth: u32,
    ) -> Result<(Option<Attribute>, bool), FileError> {
        let element = || format!("attribute {index} of {node}");
        let mut found = Attribute { index, range: range.clone(), ..Attribute::default() };
        let mut name = Cow::Borrowed("");
        for field in fields(self.input, &attribute::KIND, &range, element) {
            let field = field?;
            match field.number {
                attribute::NAME => name = field.text(self.input).map_err(|error| wire(element, error))?,
                attribute::I => found.int = Some(field.number() as i64),
                attribute::F => found.float = Some(field.range.end - 4..field.range.end),
                attribute::FLOATS => {
                    let range = match &field.value {
                        Value::Bytes(range) => range.clone(),
                        _ => field.range.end - 4..field.range.end,
                    };
                    found.unpacked |= found.floats.replace(range).is_some();
                }
                attribute::T | attribute::TENSORS => {
                    let tensor = self.tensor(field.bytes(), || format!("the tensor of {}", element()))?;
                    found.tensors.push(tensor);
                }
                attribute::G | attribute::GRAPHS => {
                    let graph = format!("the graph of {}", element());
                    found.graphs.push(self.graph(field.bytes(), &graph, depth + 1)?);
                }
                attribute::SPARSE_TENSOR | attribute::SPARSE_TENSORS => {
                    self.sparse(&field.bytes(), || format!("the sparse tensor of {}", element()))?;
                }
                _ => {}
            }
        }
        let has_floats = found.floats.is_some();
        let value = VALUES.iter().find(|(value, ..)| *value == name);
        let is_known = value.is_some() || ATTRIBUTES.contains(&name.as_ref());
        if found.tensors.is_empty() && found.graphs.is_empty() && !is_known {
            return Ok((None, has_floats));
        }
        if let Some((.., Some(list))) = value {
            self.spend(size_of::<u64>())?;
            found.dims.push(self.values(&range, *list, element)?);
        }
        found.name = self.intern(&name)?;
        Ok((Some(found), has_floats))
    }

    /// The number of values in a list.
    fn values(&self, range: &Range<u64>, list: u32, element: impl Fn() -> String) -> Result<u64, FileError> {
        let mut count = 0;
        for field in fields(self.input, &attribute::KIND, range, &element) {
            let field = field?;
            count += match field.value {
                _ if field.number != list => 0,
                Value::Bytes(packed) if list == attribute::FLOATS => (packed.end - packed.start) / 4,
                Value::Bytes(packed) if list == attribute::INTS => {
                    let mut ints = Packed::new(self.input, Form::Numbers, packed);
                    ints.try_fold(0, |count, int| int.map(|_| count + 1)).map_err(|error| wire(&element, error))?
                }
                _ => 1,
            };
        }
        Ok(count)
    }
}
