//! What is wrong with ONNX messages and models.

use wgpu_cast::ElementType;

use super::FileCause;
use super::faults::Class;
use crate::text::{counted, listed, quoted};

/// A `TensorProto` is rejected.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TensorFault {
    /// UNDEFINED, a complex type, or a number to which ONNX gives no type.
    #[error("data_type {code} is not supported by Cast")]
    DataType { code: i32 },
    #[error("dims has {found} dimensions, the limit is {limit}")]
    Rank { found: usize, limit: usize },
    /// Fields that are copied, such as `doc_string`, lie in too many places between the other fields.
    #[error("the data lies in more than {limit} places between other fields")]
    Scattered { limit: usize },
    #[error("dimension {axis} is negative: {dim}")]
    NegativeDim { axis: usize, dim: i64 },
    #[error("dims {dims} are too large: the tensor's size overflows", dims = dims_of(.dims))]
    TooLarge { dims: Vec<i64> },
    #[error("both {first} and {second} contain data")]
    TwoFields { first: &'static str, second: &'static str },
    #[error("{field} cannot contain data of {element_type}")]
    WrongField { field: &'static str, element_type: ElementType },
    /// `unit` is `bytes` or `entries`.
    #[error("{field}: expected {} from dims and data_type, got {found}", amount(*.expected, .unit))]
    Length { field: &'static str, unit: &'static str, expected: u64, found: u64 },
    #[error("{field}[{index}] is out of range for {element_type}: {value}")]
    Value { field: &'static str, index: usize, value: i128, element_type: ElementType },
    #[error("string_data[{index}] is not valid UTF-8")]
    Utf8 { index: usize },
    #[error("tensor segments are not supported")]
    Segment,
    #[error("data_location is {code}, expected 0 (DEFAULT) without external_data or 1 (EXTERNAL) with it")]
    DataLocation { code: i32 },
    #[error("the data is in an external file, but external_data has no location")]
    NoLocation,
    /// The key is unknown or given twice, or the value is not a number where one is required.
    #[error("{}", external_entry(.key, .value))]
    ExternalEntry { key: String, value: String },
    #[error("it is {what}")]
    NotPlain { what: &'static str },
    #[error("{length} bytes at offset {offset} exceed the file's size of {size}")]
    BeyondFile { offset: u64, length: u64, size: u64 },
}

impl TensorFault {
    pub(super) fn class(&self) -> Class {
        match self {
            Self::DataType { .. } | Self::Rank { .. } | Self::Scattered { .. } | Self::Segment => {
                FileCause::Unsupported
            }
            Self::TooLarge { .. } => FileCause::TooLarge,
            Self::NegativeDim { .. }
            | Self::TwoFields { .. }
            | Self::WrongField { .. }
            | Self::Length { .. }
            | Self::Value { .. }
            | Self::Utf8 { .. }
            | Self::DataLocation { .. }
            | Self::NoLocation
            | Self::ExternalEntry { .. }
            | Self::NotPlain { .. }
            | Self::BeyondFile { .. } => FileCause::Malformed,
        }
    }
}

/// A `ModelProto`, its inputs or its conversion are rejected.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ModelFault {
    #[error("the model has no graph")]
    NoGraph,
    #[error("the model imports no opset of the default domain")]
    NoOpset,
    #[error("two opsets of the default domain are imported: {first} and {second}")]
    TwoOpsets { first: i64, second: i64 },
    #[error("the model imports opset {opset} (supported opsets: {oldest} to {newest})")]
    Opset { opset: i64, oldest: i64, newest: i64 },
    #[error("the model redefines the operator {name} as a function, which is not supported")]
    Function { name: String },
    #[error("{what} has no name")]
    NoName { what: &'static str },
    #[error("sparse initializers are not supported")]
    Sparse,
    #[error("models with training_info are not supported")]
    Training,
    #[error("operator {} is not supported (supported: {})", quoted(.operator), .supported.join(", "))]
    Operator { operator: String, supported: &'static [&'static str] },
    /// `what` is `inputs` or `outputs`, those of a node.
    #[error("expected {}, got {found}", amount(*.expected as u64, .what))]
    Arity { what: &'static str, expected: usize, found: usize },
    #[error("the value {} is not defined", quoted(.value))]
    Unknown { value: String },
    #[error("the value {} is not defined before it is used", quoted(.value))]
    Undefined { value: String },
    #[error("the {what} {} is defined twice", quoted(.name))]
    Repeated { what: &'static str, name: String },
    #[error("the node is part of a cycle")]
    Cycle,
    #[error("the {what} {} is not a tensor of a supported element type", quoted(.name))]
    NoTensor { what: &'static str, name: String },
    /// `what` is `initializer`, `output` or `input`. An input is one that the caller of a run gives.
    #[error("the {what} {} has type {found}, expected {expected}", quoted(.name))]
    ValueType { what: &'static str, name: String, expected: ElementType, found: ElementType },
    /// `required` is the number of inputs without an initializer.
    #[error("expected {}, got {found}", inputs(*.required, *.all))]
    #[cfg_attr(not(feature = "wgpu"), allow(dead_code, reason = "models are run where there are devices"))]
    InputCount { required: usize, all: usize, found: usize },
    #[error("Constant must have exactly one value, got {found}")]
    ConstantValue { found: usize },
    #[error("the attribute {} of type {kind} is not supported", quoted(.attribute))]
    Attribute { attribute: String, kind: &'static str },
    #[error("graphs are nested more than {limit} deep")]
    TooDeep { limit: u32 },
    #[error("the model's structure without its tensors takes more than {limit} bytes of memory")]
    Structure { limit: u64 },
    #[error(
        "more than {limit} bytes of the model's values are in typed fields, which are decoded in memory; store them in \
         raw_data"
    )]
    TypedData { limit: u64 },
    #[error("it cannot be stored as {to}: casts from and to string are not supported")]
    Strings { to: ElementType },
    #[error("external data is not supported there")]
    ExternalThere,
    #[error(
        "the model would have {bytes} bytes without its external data; protobuf messages must be smaller than 2 GiB"
    )]
    BeyondMessage { bytes: u64 },
    #[error("the model and its external data are {expected} inputs, {found} are given")]
    Inputs { expected: usize, found: usize },
    #[error("the model has changed since its structure was read")]
    Changed,
    #[error(
        "{element_type} needs opset {to}, and the model imports opset {from}; the operators of these nodes changed in \
         between: {}; convert the model to opset {to} with onnx.version_converter first",
        listed(.nodes, *.more)
    )]
    RaiseOpset { element_type: ElementType, from: i64, to: i64, nodes: Vec<String>, more: usize },
    #[error("a graph cannot be converted from {from} to {to}: they must be two of float, double, float16 and bfloat16")]
    GraphTypes { from: ElementType, to: ElementType },
    #[error("the element type of {} cannot be found out", quoted(.value))]
    UnknownType { value: String },
}

impl ModelFault {
    pub(super) fn class(&self) -> Class {
        match self {
            Self::NoGraph
            | Self::NoOpset
            | Self::TwoOpsets { .. }
            | Self::NoName { .. }
            | Self::Arity { .. }
            | Self::Unknown { .. }
            | Self::Undefined { .. }
            | Self::Repeated { .. }
            | Self::Cycle
            | Self::ConstantValue { .. } => FileCause::Malformed,
            Self::Structure { .. } | Self::TypedData { .. } | Self::BeyondMessage { .. } => FileCause::TooLarge,
            Self::Opset { .. }
            | Self::Function { .. }
            | Self::Sparse
            | Self::Training
            | Self::Operator { .. }
            | Self::NoTensor { .. }
            | Self::Attribute { .. }
            | Self::TooDeep { .. }
            | Self::Strings { .. }
            | Self::ExternalThere
            | Self::RaiseOpset { .. }
            | Self::UnknownType { .. } => FileCause::Unsupported,
            Self::ValueType { what: "input", .. }
            | Self::InputCount { .. }
            | Self::Inputs { .. }
            | Self::Changed
            | Self::GraphTypes { .. } => FileCause::Request,
            Self::ValueType { .. } => FileCause::Malformed,
        }
    }
}

/// The text of a wrong entry of `external_data`. Its key and value determine what is wrong.
fn external_entry(key: &str, value: &str) -> String {
    let (is_number, value) = (value.parse::<u64>().is_ok(), quoted(value));
    match key {
        "offset" | "length" if !is_number => {
            format!("invalid external_data {key} {value}: expected a non-negative integer")
        }
        "offset" | "length" | "location" | "checksum" => format!("external_data has a second {key}, {value}"),
        "" => "external_data has an entry without a valid key".to_owned(),
        _ => format!("unknown external_data key {}", quoted(key)),
    }
}

/// A number with its unit. The unit is given in the plural.
fn amount(number: u64, plural: &str) -> String {
    match plural {
        "entries" if number != 1 => format!("{number} entries"),
        "entries" => "1 entry".to_owned(),
        _ => counted(number, plural.trim_end_matches('s')),
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
