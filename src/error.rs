//! What can go wrong, as fields.

#[cfg(feature = "onnx")]
mod onnx;

use crate::element::{ElementType, Operator};
#[cfg(feature = "onnx")]
pub use onnx::{ModelFault, TensorFault};

/// Which side of a cast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// What is read.
    Source,
    /// What is written.
    Destination,
}

impl std::fmt::Display for Side {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Side::Source => "source",
            Side::Destination => "destination",
        })
    }
}

/// A version of an operator, and the opset for which it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct OperatorVersion {
    /// The operator.
    pub operator: Operator,
    /// The opset that brought the version.
    pub since: u32,
    /// The opset asked for.
    pub opset: i64,
}

impl std::fmt::Display for OperatorVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{} (opset {})", self.operator, self.since, self.opset)
    }
}

/// Every error of this crate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A name that no element type has.
    #[error("unknown element type {name}", name = quoted(.name))]
    UnknownElementType {
        /// The text as given.
        name: String,
    },
    /// A `round_mode` other than `up`, `down`, `nearest`.
    #[error("unknown round mode {name}, known are up, down, nearest", name = quoted(.name))]
    UnknownRoundMode {
        /// The text as given.
        name: String,
    },
    /// [`has_kernel`](crate::has_kernel) is false for this pair, and a device was to do it.
    #[error("casting {from} to {to} is for the CPU: no device has strings")]
    NoKernel {
        /// Source element type.
        from: ElementType,
        /// Destination element type.
        to: ElementType,
    },
    /// A string that is not what ONNX calls a numeric literal, nor a truth value where one is asked for.
    #[error("casting string to {to}: element {index} is no {}: {literal:?}", if *.to == ElementType::BOOL { "truth value or number" } else { "number" })]
    InvalidLiteral {
        /// Destination element type.
        to: ElementType,
        /// Which element, in row-major order.
        index: usize,
        /// The string; of a longer one the first 40 characters and `…`.
        literal: String,
    },
    /// A string that is a number, but of no 64-bit integer: an infinity, NaN, or below −2⁶³ or from 2⁶⁴ on.
    #[error("casting string to {to}: element {index} is beyond 64-bit integers: {literal:?}")]
    LiteralOutOfRange {
        /// Destination element type.
        to: ElementType,
        /// Which element, in row-major order.
        index: usize,
        /// The string; of a longer one the first 40 characters and `…`.
        literal: String,
    },
    /// The element type has no codes of fixed width.
    #[error("{element_type} has no codes of fixed width")]
    NoCodes {
        /// The element type.
        element_type: ElementType,
    },
    /// The number of elements or their bytes pass what this machine can count.
    #[error("shape {shape:?} of {element_type} is too large to count")]
    ShapeOverflow {
        /// The element type.
        element_type: ElementType,
        /// Elements along each axis.
        shape: Vec<usize>,
    },
    /// The data is not as long as shape and type say.
    #[error("{found} bytes given, but shape {shape:?} of {element_type} takes {expected}")]
    ByteLength {
        /// The element type.
        element_type: ElementType,
        /// Elements along each axis.
        shape: Vec<usize>,
        /// Bytes that shape and type take.
        expected: u64,
        /// Bytes that were given.
        found: u64,
    },
    /// The caller's memory is not as long as the result.
    #[error("casting {from} to {to}: the destination has {found} bytes, but the result takes {expected}")]
    DestinationLength {
        /// Source element type.
        from: ElementType,
        /// Destination element type.
        to: ElementType,
        /// Bytes of the result.
        expected: u64,
        /// Bytes that were given.
        found: u64,
    },
    /// There are not as many elements as the shape says.
    #[error("shape {shape:?} of {element_type} takes {expected} elements, not {}", found.map_or("more".to_owned(), |n| n.to_string()))]
    ElementCount {
        /// The element type.
        element_type: ElementType,
        /// Elements along each axis.
        shape: Vec<usize>,
        /// Elements that the shape takes.
        expected: usize,
        /// Elements that were given; `None` if there were more, which nobody counted.
        found: Option<usize>,
    },
    /// A typed view of a tensor of another type.
    #[error("the tensor holds {found}, not {wanted}")]
    ElementTypeMismatch {
        /// What was asked for.
        wanted: ElementType,
        /// What the tensor holds.
        found: ElementType,
    },
    /// The operator's version does not list the type.
    #[error("{node} does not list {element_type}{}", listed(*.node, *.element_type))]
    TypeNotInOpset {
        /// The operator's version.
        node: OperatorVersion,
        /// The type that is not listed.
        element_type: ElementType,
    },
    /// The operator's version has no such attribute.
    #[error("{node} has no attribute {attribute}{}", since.map_or(String::new(), |since| format!(", it came with {}-{since}", .node.operator)), attribute = quoted(.attribute))]
    UnknownAttribute {
        /// The operator's version.
        node: OperatorVersion,
        /// The attribute.
        attribute: String,
        /// The version that brought it, if one did.
        since: Option<u32>,
    },
    /// A node without an attribute that it must have.
    #[error("{node} needs the attribute {attribute}")]
    MissingAttribute {
        /// The operator's version.
        node: OperatorVersion,
        /// The attribute.
        attribute: &'static str,
    },
    /// A node with the same attribute twice.
    #[error("{node} is given the attribute {attribute} twice", attribute = quoted(.attribute))]
    RepeatedAttribute {
        /// The operator's version.
        node: OperatorVersion,
        /// The attribute.
        attribute: String,
    },
    /// An attribute of the wrong kind.
    #[error("{node}: the attribute {attribute} is of kind {wanted}, not {found}")]
    AttributeKind {
        /// The operator's version.
        node: OperatorVersion,
        /// The attribute.
        attribute: &'static str,
        /// The kind that the version gives it.
        wanted: &'static str,
        /// The kind that the node gives it.
        found: String,
    },
    /// An attribute of a value that means nothing.
    #[error("{node}: the attribute {attribute} cannot be {value}, only {allowed}", value = quoted(.value))]
    AttributeValue {
        /// The operator's version.
        node: OperatorVersion,
        /// The attribute.
        attribute: &'static str,
        /// The value.
        value: String,
        /// What it can be.
        allowed: String,
    },
    /// The operator does not exist at this opset, or the opset is newer than this crate.
    #[error("{operator} is known from opset {first} to {newest}, not at opset {opset}")]
    UnknownOpset {
        /// The operator.
        operator: Operator,
        /// The opset asked for.
        opset: i64,
        /// The operator's first opset.
        first: u32,
        /// The newest opset that this crate knows.
        newest: i64,
    },
    /// Bytes that are not the message they are said to be.
    #[cfg(feature = "onnx")]
    #[error("not a {message}: {reason}")]
    Message {
        /// ONNX's name of the message.
        message: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// A `TensorProto` that makes no tensor.
    #[cfg(feature = "onnx")]
    #[error("tensor {name}: {fault}", name = quoted(.name))]
    Tensor {
        /// The tensor's name, as the message gives it.
        name: String,
        /// What is wrong.
        #[source]
        fault: TensorFault,
    },
    /// A `ModelProto` that is no model of casts, or inputs that are not the model's.
    #[cfg(feature = "onnx")]
    #[error("{fault}")]
    Model {
        /// What is wrong.
        #[from]
        #[source]
        fault: ModelFault,
    },
    /// A node of a model that makes no sense, or fails.
    #[cfg(feature = "onnx")]
    #[error("node {node}: {error}", node = quoted(.node))]
    Node {
        /// Its name, or what it makes if it has none.
        node: String,
        /// What is wrong.
        #[source]
        error: Box<Error>,
    },
    /// No adapter, or none that would give a device.
    #[error("no GPU adapter: {reason}")]
    NoAdapter {
        /// What the backends said.
        reason: String,
    },
    /// No adapter's name holds the text asked for.
    #[error("no adapter's name contains {wanted:?}; there is {}", list(.available))]
    AdapterNotFound {
        /// The text asked for.
        wanted: String,
        /// The adapters there are.
        available: Vec<String>,
    },
    /// The work needs more than the device allows.
    #[error("casting {from} to {to} needs {needed} for {limit}, the device allows {allowed}")]
    Limit {
        /// Source element type.
        from: ElementType,
        /// Destination element type.
        to: ElementType,
        /// WebGPU's name of the limit.
        limit: &'static str,
        /// What is needed.
        needed: u64,
        /// What there is.
        allowed: u64,
    },
    /// A buffer slice lacks a usage that a cast needs.
    #[error("casting {from} to {to}: the {side} buffer lacks usage {usage}")]
    MissingUsage {
        /// Source element type.
        from: ElementType,
        /// Destination element type.
        to: ElementType,
        /// Which buffer.
        side: Side,
        /// The missing usage.
        usage: &'static str,
    },
    /// A slice passes the end of its buffer, or its last word does.
    #[error(
        "casting {from} to {to}: the {side} slice at byte {offset} takes whole words up to byte {end}, the buffer has \
         {size} bytes"
    )]
    SliceOutOfRange {
        /// Source element type.
        from: ElementType,
        /// Destination element type.
        to: ElementType,
        /// Which slice.
        side: Side,
        /// Where the slice starts, in bytes.
        offset: u64,
        /// Where its last 32-bit word ends, in bytes.
        end: u64,
        /// Size of the buffer in bytes.
        size: u64,
    },
    /// A slice is not as long as the cast prepared.
    #[error("casting {from} to {to}: the {side} slice has {found} bytes, the prepared length takes {expected}")]
    SliceLength {
        /// Source element type.
        from: ElementType,
        /// Destination element type.
        to: ElementType,
        /// Which slice.
        side: Side,
        /// Bytes that the prepared length takes.
        expected: u64,
        /// Bytes of the slice.
        found: u64,
    },
    /// A slice does not start at a multiple of its element's size.
    #[error("casting {from} to {to}: the {side} slice starts at byte {offset}, not a multiple of {alignment}")]
    SliceAlignment {
        /// Source element type.
        from: ElementType,
        /// Destination element type.
        to: ElementType,
        /// Which slice.
        side: Side,
        /// Where the slice starts, in bytes.
        offset: u64,
        /// The size of an element in bytes.
        alignment: u64,
    },
    /// Source and destination lie in one buffer and have bytes in common, other than all of them and element by element.
    #[error(
        "casting {from} to {to}: the slices at bytes {source_offset} and {destination_offset} of one buffer overlap"
    )]
    Overlap {
        /// Source element type.
        from: ElementType,
        /// Destination element type.
        to: ElementType,
        /// Where the source starts, in bytes.
        source_offset: u64,
        /// Where the destination starts, in bytes.
        destination_offset: u64,
    },
    /// A strided view that no kernel reads.
    #[error("casting {from} to {to}: the view cannot be read: {reason}")]
    View {
        /// Source element type.
        from: ElementType,
        /// Destination element type.
        to: ElementType,
        /// Why not.
        reason: &'static str,
    },
    /// The device does not take the kernel: a driver's fault or a device without compute shaders.
    #[error("the device refused the kernel from {from} to {to}: {message}")]
    Kernel {
        /// Source element type.
        from: ElementType,
        /// Destination element type.
        to: ElementType,
        /// What the device said.
        message: String,
    },
    /// The device, or this machine, has no memory left for a buffer or a result.
    #[error("casting {from} to {to}: out of memory for {bytes} bytes")]
    OutOfMemory {
        /// Source element type.
        from: ElementType,
        /// Destination element type.
        to: ElementType,
        /// Bytes that were asked for.
        bytes: u64,
    },
    /// The device is gone; a new [`Context`](crate::Context) is needed.
    #[error("casting {from} to {to}: the device was lost: {reason}")]
    DeviceLost {
        /// Source element type.
        from: ElementType,
        /// Destination element type.
        to: ElementType,
        /// What the driver said.
        reason: String,
    },
    /// The device did not answer in time. The work may still go on.
    #[error("casting {from} to {to}: the device did not answer within {seconds} s")]
    Timeout {
        /// Source element type.
        from: ElementType,
        /// Destination element type.
        to: ElementType,
        /// How long it was given.
        seconds: u64,
    },
    /// The device reported an error of its own.
    #[error("casting {from} to {to}: {message}")]
    Device {
        /// Source element type.
        from: ElementType,
        /// Destination element type.
        to: ElementType,
        /// What the device said.
        message: String,
    },
    /// A device that does not compute what it should.
    #[error("casting {from} to {to}: the device makes {got:#x} of {code:#x}, which is {expected:#x}")]
    SelfTest {
        /// Source element type.
        from: ElementType,
        /// Destination element type.
        to: ElementType,
        /// The source code.
        code: u64,
        /// What the device made of it.
        got: u64,
        /// What it is.
        expected: u64,
    },
    /// A device that writes what is not its to write.
    #[error("casting {from} to {to}: the device changes byte {offset}, which lies outside of the destination")]
    SelfTestOutside {
        /// Source element type.
        from: ElementType,
        /// Destination element type.
        to: ElementType,
        /// The byte of the destination's buffer.
        offset: u64,
    },
    /// The work was submitted and came back without its sentinel: the result is not to be trusted.
    #[error("casting {from} to {to}: the device did not finish the work")]
    Incomplete {
        /// Source element type.
        from: ElementType,
        /// Destination element type.
        to: ElementType,
    },
}

fn listed(node: OperatorVersion, element_type: ElementType) -> String {
    match element_type.since_opset(node.operator) {
        Some(since) => format!(", {}-{since} was the first", node.operator),
        None => ", nor does any other version".to_owned(),
    }
}

/// A text that a stranger chose, in quotes and no longer than a line.
fn quoted(text: &str) -> String {
    format!("{:?}", cut(text, 80))
}

/// The text; of a longer one so many characters and `…`.
pub(crate) fn cut(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
