//! What can be wrong with ONNX's messages.

use crate::element::ElementType;

/// What is wrong with a `TensorProto`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TensorFault {
    /// `data_type` is UNDEFINED, complex, or no number that ONNX knows.
    #[error("data_type {code} is none of the types that casts take")]
    DataType {
        /// The number.
        code: i32,
    },
    /// A negative dimension.
    #[error("dimension {axis} is {dim}")]
    NegativeDim {
        /// Which axis.
        axis: usize,
        /// What `dims` says.
        dim: i64,
    },
    /// The dimensions multiply to more elements, or more bytes, than this machine can count.
    #[error("dims {dims} are too large to count", dims = dims_of(.dims))]
    TooLarge {
        /// All of them.
        dims: Vec<i64>,
    },
    /// More than one field holds data.
    #[error("both {first} and {second} hold data")]
    TwoFields {
        /// One field.
        first: &'static str,
        /// Another.
        second: &'static str,
    },
    /// The data is in a field that is not for its type.
    #[error("{field} holds data, which is not the field for {element_type}")]
    WrongField {
        /// The field.
        field: &'static str,
        /// The tensor's type.
        element_type: ElementType,
    },
    /// The data is not as long as dims and type say.
    #[error("{field} has {found} {unit}, dims and type take {expected}")]
    Length {
        /// The field, or the external data.
        field: &'static str,
        /// What is counted: bytes or entries.
        unit: &'static str,
        /// How many there should be.
        expected: u64,
        /// How many there are.
        found: u64,
    },
    /// A value in `int32_data` or `uint64_data` that the type's codes are too narrow for.
    #[error("{field}[{index}] is {value}, which is no code of {element_type}")]
    Value {
        /// The field.
        field: &'static str,
        /// Which entry.
        index: usize,
        /// Its value.
        value: i128,
        /// The tensor's type.
        element_type: ElementType,
    },
    /// A string that is not UTF-8.
    #[error("string_data[{index}] is not UTF-8")]
    Utf8 {
        /// Which entry.
        index: usize,
    },
    /// A part of a tensor, which ONNX has no rules for.
    #[error("it is a segment of a tensor")]
    Segment,
    /// `data_location` is none that ONNX knows, or there is `external_data` without it.
    #[error("data_location {code} does not say where its data is")]
    DataLocation {
        /// The number.
        code: i32,
    },
    /// The message would be longer than protobuf readers take.
    #[error("its message would have {bytes} bytes, 2 GiB and more cannot be read")]
    BeyondMessage {
        /// How long it would be.
        bytes: u64,
    },
    /// No memory for the data.
    #[error("out of memory for {bytes} bytes")]
    OutOfMemory {
        /// How many bytes.
        bytes: u64,
    },
    /// The data is in another file, and it is not known in which folder.
    #[error("its data is in another file, and no folder is given to look in")]
    NoFolder,
    /// The data is in another file, of which no `location` is given.
    #[error("its data is in another file, of which there is no location")]
    NoLocation,
    /// An entry of `external_data` that is unknown, given twice, or no number where there must be one.
    #[error("external_data has the entry {key}: {value}", key = super::quoted(.key), value = super::quoted(.value))]
    ExternalEntry {
        /// Its key.
        key: String,
        /// Its value.
        value: String,
    },
    /// A `location` that is no plain path below the model's folder.
    #[error("location {location} is not a path below the model's folder", location = super::quoted(.location))]
    Escape {
        /// The path.
        location: String,
    },
    /// A `location` of something other than a regular file of a single name.
    #[error("location {location} is {what}", location = super::quoted(.location))]
    NotPlain {
        /// The path.
        location: String,
        /// What is there.
        what: &'static str,
    },
    /// The data passes the end of its file.
    #[error("location {location} has {size} bytes, the data is at {offset} and takes {length}", location = super::quoted(.location))]
    BeyondFile {
        /// The path.
        location: String,
        /// Where the data starts.
        offset: u64,
        /// How long it is.
        length: u64,
        /// How long the file is.
        size: u64,
    },
    /// The file cannot be read.
    #[error("location {location}: {reason}", location = super::quoted(.location))]
    Read {
        /// The path.
        location: String,
        /// What the system says.
        reason: String,
    },
}

/// What is wrong with a `ModelProto`, apart from its tensors and the attributes of its nodes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelFault {
    /// The message would be longer than protobuf readers take.
    #[error("its message would have {bytes} bytes, 2 GiB and more cannot be read")]
    BeyondMessage {
        /// How long it would be.
        bytes: u64,
    },
    /// There is no graph.
    #[error("the model has no graph")]
    NoGraph,
    /// No opset is imported for ONNX's own domain.
    #[error("the model imports no opset of the default domain")]
    NoOpset,
    /// Two opsets are imported for ONNX's own domain.
    #[error("the model imports two opsets of the default domain, {first} and {second}")]
    TwoOpsets {
        /// One.
        first: i64,
        /// The other.
        second: i64,
    },
    /// The opset is none, or newer than this crate.
    #[error("the model imports opset {opset}, known are 1 to {newest}")]
    Opset {
        /// The opset.
        opset: i64,
        /// The newest that this crate knows.
        newest: i64,
    },
    /// A function of the model takes an operator's name.
    #[error("the model has a function of its own called {name}")]
    Function {
        /// The operator.
        name: String,
    },
    /// Something makes a value that has no name.
    #[error("an input, initializer or output of a node has no name")]
    NoName,
    /// Sparse tensors, which no cast takes.
    #[error("the model has sparse initializers")]
    Sparse,
    /// A node of another operator.
    #[error("the operator {operator} is not supported, only {}", .supported.join(", "), operator = super::quoted(.operator))]
    Operator {
        /// Its name, with its domain if that is not ONNX's.
        operator: String,
        /// The operators that are.
        supported: &'static [&'static str],
    },
    /// A node with too few or too many inputs or outputs.
    #[error("it has {found} {what}, the operator takes {expected}")]
    Arity {
        /// Inputs or outputs.
        what: &'static str,
        /// How many the operator has.
        expected: usize,
        /// How many the node has.
        found: usize,
    },
    /// An input, or an output of the graph, that nothing makes.
    #[error("nothing makes the value {value}", value = super::quoted(.value))]
    Unknown {
        /// The value's name.
        value: String,
    },
    /// Two inputs, initializers or nodes make the same value.
    #[error("the value {value} is made twice", value = super::quoted(.value))]
    Repeated {
        /// The value's name.
        value: String,
    },
    /// Nodes that wait for each other.
    #[error("it is part of a cycle")]
    Cycle,
    /// An input or output of the graph that is no tensor of a known element type, or an input that does not say.
    #[error("the {what} {name} is not a tensor of a known element type", name = super::quoted(.name))]
    NoTensor {
        /// Input or output.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// A value of another type than the graph says.
    #[error("the {what} {name} is of type {found}, the graph says {expected}", name = super::quoted(.name))]
    ValueType {
        /// Input, initializer or output.
        what: &'static str,
        /// Its name.
        name: String,
        /// The graph's type for it.
        expected: ElementType,
        /// The tensor's.
        found: ElementType,
    },
    /// Another number of inputs is given than the graph has.
    #[error("inputs given: {found}, the graph takes {}", inputs(*.required, *.all))]
    InputCount {
        /// Inputs without an initializer.
        required: usize,
        /// All inputs.
        all: usize,
        /// Inputs given.
        found: usize,
    },
    /// A `Constant` without exactly one value, or with one of a kind that its version lacks.
    #[error("it must have one value, not {}", if *.found == 0 { "none" } else { "several" })]
    ConstantValue {
        /// How many it has.
        found: usize,
    },
    /// A `Constant` or `Identity` with an attribute that its version lacks, of another kind, or a sparse tensor.
    #[error("its attribute {attribute} of kind {kind} is not supported", attribute = super::quoted(.attribute))]
    Attribute {
        /// Its name.
        attribute: String,
        /// The kind given.
        kind: String,
    },
}

fn dims_of(dims: &[i64]) -> String {
    const SHOWN: usize = 16;
    let more = if dims.len() > SHOWN { ", …" } else { "" };
    let shown: Vec<String> = dims.iter().take(SHOWN).map(i64::to_string).collect();
    format!("[{}{more}]", shown.join(", "))
}

fn inputs(required: usize, all: usize) -> String {
    if required == all { all.to_string() } else { format!("{required}, or {all} with those that have a default") }
}
