//! Converts ONNX models: casts their tensors, and the types of their graphs.
//!
//! A model is edited as protobuf fields. What a conversion does not have to change is copied byte for byte, and so are
//! fields that are not known here. The data of tensors is not held in memory, whether it is in the model or in files beside
//! it. There is one exception: values in typed fields that must be decoded to be cast. `data.rs` limits their messages to
//! 64 MiB.

mod constants;
mod data;
mod edit;
mod emit;
mod extension;
mod graph;
mod message;
mod notes;
mod opset;
mod parameters;
mod reader;
mod rows;
mod scan;
mod schema;
mod structure;
mod weights;

use std::fmt;

use wgpu_cast::{CastOptions, ElementType};

use crate::error::{FileError, ModelFault};
use crate::input::ReadAt;
use crate::onnx::{LONGEST_MESSAGE, TensorPlace, plain_names};
use crate::plan::{FilePlan, SourceRange};
use constants::Constants;
use data::{DataFile, Sources};
use edit::Edits;
use emit::Emitter;
use graph::Converter;
use message::Message;
use reader::{Paged, wire};
use structure::{GraphId, Structure, Tensor};

pub use notes::{KeptReason, ModelNote};
pub use rows::PlannedTensor;

/// If the model would exceed the limit of protobuf messages, initializers of at least this many bytes are stored in the
/// file of external data.
const EXTERNAL_FROM: u64 = 1024;

/// The structure of a model, without the data of its tensors.
#[derive(Debug)]
pub struct ModelScan {
    structure: Structure,
}

/// How a model is converted.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct ModelRules<'a> {
    /// The type in which an initializer or the value of a `Constant` node is stored, by its name and type. `None` if it
    /// stays as it is. The name of a constant is that of its node's output.
    pub types: &'a dyn Fn(&str, ElementType) -> Option<ElementType>,
    /// Whether an initializer or constant is stored in the type that `types` gives even if it is a parameter of an
    /// operator, by its name. Parameters are scales of quantization and of `Resize`, limits of `Range`, and thresholds.
    /// Rounding them would change shapes and the meaning of codes, so that they stay as they are by default. With
    /// `graph`, this applies inside functions only; elsewhere `graph` decides.
    pub casts_parameter: &'a dyn Fn(&str) -> bool,
    /// The options of the casts.
    pub options: CastOptions,
    /// How the graph is converted. `None`: nodes compute in the types that they had, and a `Cast` back follows each
    /// initializer and constant that is stored in another type. With rules for the graph, `types` still decides about
    /// initializers and constants: one of the old type gets the new type only if `types` gives that and a node takes it
    /// in that type.
    pub graph: Option<GraphRules<'a>>,
    /// Initializers of at least this many bytes are stored in the file of external data, and smaller ones in the model.
    /// `None`: those that were in files before are stored in the file. If the model would exceed 2 GiB, all initializers
    /// of at least 1,024 bytes are stored in the file. A lower limit may also move shapes and the scales of `Resize`
    /// there, which shape inference by the `onnx` package reads in the model only.
    pub external_from: Option<u64>,
    /// The file of external data: a path relative to the model's folder, with `/` between names.
    pub data_file: &'a str,
}

/// How a graph is converted from one float type to another. Values that come from integers, such as sizes, positions
/// and sums, keep the old type, because a narrow type would round them. They keep it until they are integers again, or
/// until they are combined with an activation, a scale of dynamic quantization or the weights of a layer.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct GraphRules<'a> {
    /// The type that is replaced.
    pub from: ElementType,
    /// The type that replaces it.
    pub to: ElementType,
    /// Whether the inputs and outputs of the model keep their types. `Cast` nodes then follow the inputs and precede the
    /// outputs.
    pub keep_io_types: bool,
    /// Whether a node keeps the old type, by its operator and its name.
    pub keep: &'a dyn Fn(&str, &str) -> bool,
}

/// What a conversion writes.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ModelPlan {
    /// The model.
    pub model: FilePlan,
    /// The file of external data, if there is one.
    pub external: Option<FilePlan>,
    /// The initializers and constants in the order of [`ModelScan::tensors`], then tensors of other nodes that are cast
    /// with the graph.
    pub tensors: Vec<PlannedTensor>,
    /// For each cast in the plan of the model, in the order of the parts, the index of its tensor in `tensors`. A tensor
    /// without elements has no part.
    pub model_rows: Vec<usize>,
    /// The same for the file of external data. Of tensors that share their data, only the first one has a part.
    pub external_rows: Vec<usize>,
    /// The values that are not packed codes in any input, decoded into packed codes. If there are any, they are one more
    /// input of the plans, behind the model and its external files.
    pub decoded: Vec<u8>,
    /// What was not converted, or was changed although nobody asked for it.
    pub notes: Vec<ModelNote>,
}

/// An initializer of a model, or the value of a `Constant` node.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelTensor<'a> {
    /// The name of the initializer, or of the node's output.
    pub name: &'a str,
    /// The element type; `None` for one that ONNX Cast does not support.
    pub element_type: Option<ElementType>,
    /// The sizes of the axes.
    pub shape: &'a [u64],
    /// The number of elements.
    pub elements: u64,
    /// Where the data is.
    pub data: ModelData,
}

/// Where the data of a tensor is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelData {
    /// There is none.
    Empty,
    /// Packed codes in the model or in one of its external files.
    Packed(SourceRange),
    /// All bytes of an external file from an offset on.
    ToEnd {
        /// The index of the input.
        input: usize,
        /// The first byte.
        offset: u64,
    },
    /// Values that are not packed codes in one range.
    Values,
}

impl<'a> ModelRules<'a> {
    /// Rules that store initializers and constants in the types that `types` gives.
    pub fn new(types: &'a dyn Fn(&str, ElementType) -> Option<ElementType>, data_file: &'a str) -> Self {
        let options = CastOptions::default();
        Self { types, casts_parameter: &|_| false, options, graph: None, external_from: None, data_file }
    }
}

impl<'a> GraphRules<'a> {
    /// Rules that convert all nodes, inputs and outputs from one type to another.
    pub fn new(from: ElementType, to: ElementType) -> Self {
        Self { from, to, keep_io_types: false, keep: &|_, _| false }
    }
}

impl fmt::Debug for ModelRules<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { types: _, casts_parameter: _, options, graph, external_from, data_file } = self;
        let mut text = f.debug_struct("ModelRules");
        text.field("options", options).field("graph", graph).field("external_from", external_from);
        text.field("data_file", data_file).finish_non_exhaustive()
    }
}

impl fmt::Debug for GraphRules<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, keep_io_types, keep: _ } = self;
        let mut text = f.debug_struct("GraphRules");
        text.field("from", from).field("to", to).field("keep_io_types", keep_io_types).finish_non_exhaustive()
    }
}

impl ModelScan {
    /// Reads the structure of a `ModelProto` (a `.onnx` file). It takes memory for nodes, names and shapes, not for data. A
    /// structure that would take more than 512 MiB is an error. Protobuf lets writers give a field twice that a message can
    /// have once, and its parsers take the last one; here that is an error.
    ///
    /// # Errors
    /// [`FileError`], which names the element at fault.
    pub fn read(model: &dyn ReadAt) -> Result<Self, FileError> {
        Ok(Self { structure: scan::scan(model)? })
    }

    /// The imported opset of the default domain.
    pub fn opset(&self) -> Option<i64> {
        self.structure.opset
    }

    /// The initializers of all graphs, then the values of all `Constant` nodes, except sparse ones. Nested graphs and
    /// functions are included.
    pub fn tensors(&self) -> impl Iterator<Item = ModelTensor<'_>> {
        let structure = &self.structure;
        let ids = structure.graphs.iter().flat_map(|graph| &graph.initializers);
        let initializers = ids.map(|&id| {
            let tensor = structure.tensor(id);
            let (name, shape, elements) = (structure.text(tensor.name), &*tensor.dims, tensor.elements);
            ModelTensor { name, element_type: tensor.element_type(), shape, elements, data: model_data(tensor) }
        });
        let constants = structure.constants().map(|(_, constant)| {
            let (name, shape, elements) = (structure.text(constant.name), constant.shape, constant.elements);
            let data = constant.tensor.map_or(ModelData::Values, |id| model_data(structure.tensor(id)));
            ModelTensor { name, element_type: constant.element_type, shape, elements, data }
        });
        initializers.chain(constants)
    }

    /// The operator and the name of each node of all graphs. Nested graphs and functions are included. A name may be empty.
    pub fn nodes(&self) -> impl Iterator<Item = (&str, &str)> {
        let nodes = self.structure.graphs.iter().flat_map(|graph| &graph.nodes);
        nodes.map(|node| (self.structure.text(node.operator), self.structure.text(node.name)))
    }

    /// The external files, in the order in which they follow the model as inputs. They are paths relative to the model's
    /// folder, with plain names only.
    pub fn external_files(&self) -> impl ExactSizeIterator<Item = &str> {
        self.structure.files.iter().map(|&name| self.structure.text(name))
    }

    /// Opens the external files. Each is opened when the iterator comes to it, because there may be more files than a
    /// process can open at once. `path` is the path of the model's file, or of its folder. Links are followed. Each file
    /// must be a regular file inside the folder of the model. If the model's file is a link, as in Hugging Face's cache,
    /// the folder of the link's target is allowed too. Do not read from a folder that untrusted users can write to at the
    /// same time.
    ///
    /// # Errors
    /// Those of [`TensorMessage::open_external`](crate::TensorMessage::open_external), with the name of the first tensor
    /// that needs the file.
    #[cfg(any(unix, windows))]
    pub fn open_external(&self, path: &std::path::Path) -> impl Iterator<Item = Result<crate::InputFile, FileError>> {
        let open = move |(index, location)| match crate::onnx::open(location, path) {
            Ok((file, _)) => Ok(crate::InputFile::new(file)),
            Err(error) => {
                let tensor = self.structure.tensors.iter().find(|tensor| tensor.file == Some(index));
                Err(error.of_tensor(tensor.map_or("", |tensor| self.structure.text(tensor.name))))
            }
        };
        self.external_files().enumerate().map(open)
    }

    /// Plans a conversion. `inputs` are the model and its external files, in the order of
    /// [`external_files`](Self::external_files).
    ///
    /// # Errors
    /// [`FileError`], which names the element at fault.
    pub fn plan(&self, inputs: &[&dyn ReadAt], rules: &ModelRules<'_>) -> Result<ModelPlan, FileError> {
        let structure = &self.structure;
        let mut sources = Sources::new(structure, inputs)?;
        plain_names(rules.data_file)?;
        let paged = Paged::new(inputs[0])?;
        let (mut edits, mut notes) = (Edits::default(), Vec::new());
        if let Some(first) = structure.sparse().next() {
            notes.push(ModelNote::SparseLeft { first: first.to_owned(), count: structure.sparse().count() });
        }
        let all = structure.graphs.len() as GraphId;
        let mut types = std::collections::HashSet::new();
        let stored = match rules.graph {
            None => 0..all,
            Some(graph) => {
                let opset = opset::reached(structure, graph.to)?;
                let rules = (graph, rules.types, rules.options);
                let converter = Converter::new(&paged, (structure, opset), &mut sources, &mut edits, rules)?;
                types = converter.convert(&mut notes)?;
                // Functions are not converted with the graph. Only their initializers and constants are stored in other
                // types.
                structure.functions.first().map_or(all, |first| first.graphs.start)..all
            }
        };
        let is_kept = |from: ElementType| rules.graph.is_some_and(|graph| graph.from == from);
        let rule = |name: &str, from: ElementType| (rules.types)(name, from).filter(|_| !is_kept(from));
        let (options, edited) = (rules.options, &mut edits);
        let mut constants = Constants { model: &paged, structure, sources: &mut sources, edits: edited, options };
        types.extend(weights::store_all(&mut constants, stored, &mut notes, &rule, rules.casts_parameter)?);
        if types.is_empty() {
            notes.extend(weights::nothing_cast(structure, &notes, rules));
        } else {
            opset::raise(structure, &mut edits, &mut notes, types.into_iter())?;
            weights::leave_out_constants(structure, &mut edits, &mut notes);
        }
        sources.decode(&paged, &edits)?;
        let rows = edits.rows(structure);
        let emit = |threshold| {
            let data = DataFile::new(rules.data_file);
            let options = rules.options;
            let (model, edits, sources, rows) = (&paged, &edits, &sources, &rows);
            let mut emitter = Emitter { model, structure, edits, sources, options, threshold, rows, data };
            emitter.model().map(|model| (model, emitter.data.content))
        };
        let is_too_long = |(model, _): &(Message, Message)| model.bytes() > LONGEST_MESSAGE as u64;
        let mut emitted = emit(rules.external_from)?;
        if is_too_long(&emitted) && rules.external_from.is_none_or(|from| from > EXTERNAL_FROM) {
            emitted = emit(Some(EXTERNAL_FROM))?;
            notes.extend(rules.external_from.map(|_| ModelNote::MoreExternal { from: EXTERNAL_FROM }));
        }
        if is_too_long(&emitted) {
            return Err(ModelFault::BeyondMessage { bytes: emitted.0.bytes() }.into());
        }
        let plan = |message: Message| message.into_plan(&paged).map_err(|error| wire(|| "the model".to_owned(), error));
        let (model, content) = emitted;
        let (external, external_rows) = if content.bytes() > 0 { Some(plan(content)?).unzip() } else { (None, None) };
        let external_rows = external_rows.unwrap_or_default();
        let (model, model_rows) = plan(model)?;
        let (tensors, decoded) = (rows.tensors, sources.decoded);
        Ok(ModelPlan { model, external, tensors, model_rows, external_rows, decoded, notes })
    }
}

/// Where the data of a tensor is.
fn model_data(tensor: &Tensor) -> ModelData {
    let input = tensor.input();
    match &tensor.data {
        TensorPlace::Nowhere => ModelData::Empty,
        TensorPlace::Field { .. } => ModelData::Values,
        TensorPlace::Packed(range) => {
            let (offset, bytes) = (range.start, range.end - range.start);
            ModelData::Packed(SourceRange { input, offset, bytes })
        }
        TensorPlace::External(range) => {
            let offset = range.offset;
            let bytes = range.length.or(tensor.element_type().and_then(|t| t.packed_bytes(tensor.elements)));
            let packed = bytes.map(|bytes| ModelData::Packed(SourceRange { input, offset, bytes }));
            packed.unwrap_or(ModelData::ToEnd { input, offset })
        }
    }
}
