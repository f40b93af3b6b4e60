//! The errors of ONNX messages.

use wgpu_cast::ElementType;

/// The reason why a `TensorProto` is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TensorFault {
    /// `data_type` is UNDEFINED, a complex type, or not a number of ONNX.
    #[error("data_type {code} is not supported by Cast")]
    DataType {
        /// The value of `data_type`.
        code: i32,
    },
    /// There are too many dimensions.
    #[error("dims has {found} dimensions, the limit is {limit}")]
    Rank {
        /// The number of dimensions.
        found: usize,
        /// The largest number of dimensions that is read.
        limit: usize,
    },
    /// Other fields, such as `doc_string`, lie between those of the data in too many places.
    #[error("the data lies in more than {limit} places between other fields")]
    Scattered {
        /// The most places that are supported.
        limit: usize,
    },
    /// A dimension is negative.
    #[error("dimension {axis} is negative: {dim}")]
    NegativeDim {
        /// The axis of the dimension.
        axis: usize,
        /// The dimension.
        dim: i64,
    },
    /// The number of elements, or of their bytes, overflows.
    #[error("dims {dims} are too large: the tensor's size overflows", dims = dims_of(.dims))]
    TooLarge {
        /// All dimensions.
        dims: Vec<i64>,
    },
    /// More than one field holds data.
    #[error("both {first} and {second} contain data")]
    TwoFields {
        /// One field.
        first: &'static str,
        /// Another field.
        second: &'static str,
    },
    /// The data is in a field that is not for its type.
    #[error("{field} cannot contain data of {element_type}")]
    WrongField {
        /// The field.
        field: &'static str,
        /// The tensor's type.
        element_type: ElementType,
    },
    /// The length of the data does not match `dims` and `data_type`.
    #[error("{field}: expected {} from dims and data_type, got {found}", amount(*.expected, .unit))]
    Length {
        /// The field, or the external data.
        field: &'static str,
        /// The unit of the length: bytes or entries.
        unit: &'static str,
        /// The expected length.
        expected: u64,
        /// The length found.
        found: u64,
    },
    /// A value in `int32_data` or `uint64_data` is out of range for the type's codes.
    #[error("{field}[{index}] is out of range for {element_type}: {value}")]
    Value {
        /// The field.
        field: &'static str,
        /// Index of the entry.
        index: usize,
        /// The value of the entry.
        value: i128,
        /// The tensor's type.
        element_type: ElementType,
    },
    /// A string is not UTF-8.
    #[error("string_data[{index}] is not valid UTF-8")]
    Utf8 {
        /// Index of the entry.
        index: usize,
    },
    /// The message is a segment of a tensor, which is not supported.
    #[error("tensor segments are not supported")]
    Segment,
    /// `data_location` has an unknown value, or there is `external_data` without `data_location` EXTERNAL.
    #[error("data_location is {code}, expected 0 (DEFAULT) without external_data or 1 (EXTERNAL) with it")]
    DataLocation {
        /// The value of `data_location`.
        code: i32,
    },
    /// The message would exceed the size limit of protobuf.
    #[error("the message would have {bytes} bytes; protobuf messages must be smaller than 2 GiB")]
    BeyondMessage {
        /// Size of the message.
        bytes: u64,
    },
    /// There is no memory for the data.
    #[error("out of memory (requested {})", crate::text::counted(*.bytes, "byte"))]
    OutOfMemory {
        /// Bytes that were requested.
        bytes: u64,
    },
    /// The data is in an external file, but the caller gave no folder.
    #[error("the data is in an external file, but no folder was given")]
    NoFolder,
    /// The data is in an external file, but the path of the model or of its folder, beside which the file is, cannot be
    /// resolved.
    #[error("the data is in an external file, but the model's path {path} cannot be resolved: {reason}", path = crate::text::quoted(.path))]
    ModelPath {
        /// The path of the model or of its folder.
        path: String,
        /// The message of the operating system.
        reason: String,
    },
    /// The data is in an external file, but there is no `location`.
    #[error("the data is in an external file, but external_data has no location")]
    NoLocation,
    /// An entry of `external_data` is unknown, given twice, or not a number where one is required.
    #[error("{}", external_entry(.key, .value))]
    ExternalEntry {
        /// The key of the entry.
        key: String,
        /// The value of the entry.
        value: String,
    },
    /// A `location` is not a plain path inside the model's folder.
    #[error("external_data location {location} is not a relative path inside the model's folder", location = crate::text::quoted(.location))]
    Escape {
        /// The path.
        location: String,
    },
    /// A `location` is a link, or below a link, that leads out of the model's folder, and not into the folder of the file
    /// to which the model itself is a link.
    #[error("external_data location {location} is a link that leads out of the model's folder", location = crate::text::quoted(.location))]
    LeadsOut {
        /// The path.
        location: String,
    },
    /// A `location` is not a regular file.
    #[error("external_data location {location} is {what}", location = crate::text::quoted(.location))]
    NotPlain {
        /// The path.
        location: String,
        /// What the path is instead.
        what: &'static str,
    },
    /// The data ends beyond the end of its file.
    #[error("external_data location {location}: {length} bytes at offset {offset} exceed the file's size of {size}", location = crate::text::quoted(.location))]
    BeyondFile {
        /// The path.
        location: String,
        /// Start of the data, in bytes.
        offset: u64,
        /// Length of the data, in bytes.
        length: u64,
        /// Size of the file, in bytes.
        size: u64,
    },
    /// The file cannot be read.
    #[error("external_data location {location}: {reason}", location = crate::text::quoted(.location))]
    Read {
        /// The path.
        location: String,
        /// The message of the operating system.
        reason: String,
    },
}

/// The reason why a `ModelProto` or its inputs are rejected, apart from tensors and attributes of casts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelFault {
    /// The message would exceed the size limit of protobuf.
    #[error("the message would have {bytes} bytes; protobuf messages must be smaller than 2 GiB")]
    BeyondMessage {
        /// Size of the message.
        bytes: u64,
    },
    /// There is no memory for the message.
    #[error("out of memory (requested {})", crate::text::counted(*.bytes, "byte"))]
    OutOfMemory {
        /// Bytes that were requested.
        bytes: u64,
    },
    /// There is no graph.
    #[error("the model has no graph")]
    NoGraph,
    /// The model imports no opset of the default domain.
    #[error("the model imports no opset of the default domain")]
    NoOpset,
    /// The model imports two different opsets of the default domain.
    #[error("the model imports two opsets of the default domain: {first} and {second}")]
    TwoOpsets {
        /// One opset.
        first: i64,
        /// The other opset.
        second: i64,
    },
    /// The opset is not supported.
    #[error("the model imports opset {opset} (supported opsets: 1 to {newest})")]
    Opset {
        /// The opset.
        opset: i64,
        /// The newest supported opset.
        newest: i64,
    },
    /// The model defines a function with the name of a supported operator.
    #[error("the model redefines the operator {name} as a function, which is not supported")]
    Function {
        /// The operator.
        name: String,
    },
    /// A value has no name.
    #[error("an input, an initializer or a node's output has no name")]
    NoName,
    /// The model has sparse initializers.
    #[error("sparse initializers are not supported")]
    Sparse,
    /// A node has an unsupported operator.
    #[error("operator {operator} is not supported (supported: {})", .supported.join(", "), operator = crate::text::quoted(.operator))]
    Operator {
        /// The operator's name, with its domain if that is not the default domain.
        operator: String,
        /// The supported operators.
        supported: &'static [&'static str],
    },
    /// A node has too few or too many inputs or outputs.
    #[error("expected {}, got {found}", amount(*.expected as u64, .what))]
    Arity {
        /// Inputs or outputs.
        what: &'static str,
        /// The number that the operator requires.
        expected: usize,
        /// The number that the node has.
        found: usize,
    },
    /// An input of a node, or an output of the graph, is not defined.
    #[error("the value {value} is not defined", value = crate::text::quoted(.value))]
    Unknown {
        /// The value's name.
        value: String,
    },
    /// Two inputs, initializers or nodes define the same value.
    #[error("the value {value} is defined twice", value = crate::text::quoted(.value))]
    Repeated {
        /// The value's name.
        value: String,
    },
    /// The node depends on its own output.
    #[error("the node is part of a cycle")]
    Cycle,
    /// An input or output of the graph is not a tensor of a supported element type, or an input has no type.
    #[error("the {what} {name} is not a tensor of a supported element type", name = crate::text::quoted(.name))]
    NoTensor {
        /// Input or output.
        what: &'static str,
        /// The value's name.
        name: String,
    },
    /// A value has another type than the graph declares.
    #[error("the {what} {name} has type {found}, expected {expected}", name = crate::text::quoted(.name))]
    ValueType {
        /// Input, initializer or output.
        what: &'static str,
        /// The value's name.
        name: String,
        /// The type that the graph declares.
        expected: ElementType,
        /// The type of the tensor.
        found: ElementType,
    },
    /// The number of inputs does not match the graph.
    #[error("expected {}, got {found}", inputs(*.required, *.all))]
    InputCount {
        /// Inputs without an initializer.
        required: usize,
        /// All inputs.
        all: usize,
        /// Inputs given.
        found: usize,
    },
    /// A `Constant` does not have exactly one value attribute.
    #[error("Constant must have exactly one value, got {found}")]
    ConstantValue {
        /// The number of its attributes.
        found: usize,
    },
    /// A `Constant` or `Identity` has an attribute that is not supported at this opset, or not with this type.
    #[error("the attribute {attribute} of type {kind} is not supported", attribute = crate::text::quoted(.attribute))]
    Attribute {
        /// The attribute's name.
        attribute: String,
        /// The attribute's type.
        kind: String,
    },
}

/// What is wrong with an entry of `external_data`, which its key and value tell.
fn external_entry(key: &str, value: &str) -> String {
    let (is_number, value) = (value.parse::<u64>().is_ok(), crate::text::quoted(value));
    match key {
        "offset" | "length" if !is_number => {
            format!("invalid external_data {key} {value}: expected a non-negative integer")
        }
        "offset" | "length" | "location" | "checksum" => format!("external_data has a second {key}, {value}"),
        "" => "external_data has an entry without a valid key".to_owned(),
        _ => format!("unknown external_data key {}", crate::text::quoted(key)),
    }
}

/// A number with a unit that is given as a plural.
fn amount(number: u64, plural: &str) -> String {
    match plural {
        "entries" if number != 1 => format!("{number} entries"),
        "entries" => "1 entry".to_owned(),
        _ => crate::text::counted(number, plural.trim_end_matches('s')),
    }
}

fn dims_of(dims: &[i64]) -> String {
    const SHOWN: usize = 16;
    let more = if dims.len() > SHOWN { ", …" } else { "" };
    let shown: Vec<String> = dims.iter().take(SHOWN).map(i64::to_string).collect();
    format!("[{}{more}]", shown.join(", "))
}

fn inputs(required: usize, all: usize) -> String {
    match amount(required as u64, "inputs") {
        required_only if required == all => required_only,
        required_only => format!("{required_only} (or all {all}, including those with a default)"),
    }
}
