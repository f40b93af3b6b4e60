//! The errors of this crate. Each variant carries its details as fields.

use std::ops::Range;

use crate::types::element::{ElementType, Operator};

/// A side of a cast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The tensor that is read.
    Source,
    /// The tensor that is written.
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

/// What a cast reads or writes in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operand {
    /// The tensor that is read.
    Source,
    /// The tensor that is written.
    Destination,
    /// The number of elements, where the device reads it from a buffer.
    Count,
}

impl std::fmt::Display for Operand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Operand::Source => "source",
            Operand::Destination => "destination",
            Operand::Count => "count",
        })
    }
}

/// How the tensors of a cast may overlap in one buffer, if their types have the same width or it is a cast of a
/// [`View`](crate::View). Other tensors may overlap in any way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AllowedOverlap {
    /// Both start at the same bit: a cast between types of one width in place.
    SameStart,
    /// Not at all: a view.
    None,
}

impl std::fmt::Display for AllowedOverlap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            AllowedOverlap::SameStart => "tensors of types of the same width must start at the same bit, or be apart",
            AllowedOverlap::None => "source and destination of a view must be apart",
        })
    }
}

/// A version of an operator, and the opset it was looked up for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct OperatorVersion {
    /// The operator.
    pub operator: Operator,
    /// The opset that introduced the version.
    pub since: u32,
    /// The opset of the model.
    pub opset: i64,
}

impl std::fmt::Display for OperatorVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at opset {}", self.operator, self.opset)
    }
}

/// Any error of this crate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The name is not the name of an element type.
    #[error("unknown element type {name}", name = quoted(.name))]
    #[non_exhaustive]
    UnknownElementType {
        /// The name as given.
        name: String,
    },
    /// The `round_mode` is not `up`, `down` or `nearest`.
    #[error("unknown round_mode {name} (expected up, down or nearest)", name = quoted(.name))]
    #[non_exhaustive]
    UnknownRoundMode {
        /// The name as given.
        name: String,
    },
    /// The cast was to run on a device, but the pair has no GPU kernel: see [`has_kernel`](crate::has_kernel).
    #[error("casting {from} to {to} is supported only on the CPU: strings have no GPU kernel")]
    #[non_exhaustive]
    NoKernel {
        /// Source element type.
        from: ElementType,
        /// Destination element type.
        to: ElementType,
    },
    /// The text cannot be a name, or the first part of names, in WGSL.
    #[error("{name} cannot be used in names of WGSL: {reason}", name = quoted(.name))]
    #[non_exhaustive]
    WgslName {
        /// The text as given.
        name: String,
        /// Why it cannot be used.
        reason: &'static str,
    },
    /// No 32-bit word holds several elements of the type.
    #[error("{element_type} elements are not narrower than a 32-bit word: there are no lanes of them")]
    #[non_exhaustive]
    NoLanes {
        /// The element type.
        element_type: ElementType,
    },
    /// The source has too many codes for a table.
    #[error("casting {from} to {to}: only sources of at most 8 bits are looked up in a table")]
    #[non_exhaustive]
    NoTable {
        /// Source element type.
        from: ElementType,
        /// Destination element type.
        to: ElementType,
    },
    /// A string is not a numeric literal of ONNX, nor, for BOOL, `true` or `false`.
    #[error("casting string to {to}: element {index} is not a {}: {literal:?}", if *.to == ElementType::BOOL { "boolean or a number" } else { "number" })]
    #[non_exhaustive]
    InvalidLiteral {
        /// Destination element type.
        to: ElementType,
        /// Index of the element, in row-major order.
        index: usize,
        /// The string; if it is longer than 40 characters, the first 40 and `…`.
        literal: String,
    },
    /// A string is a number that no 64-bit integer holds: an infinity, NaN, below −2⁶³, or 2⁶⁴ and above.
    #[error("casting string to {to}: element {index} is out of range for 64-bit integers: {literal:?}")]
    #[non_exhaustive]
    LiteralOutOfRange {
        /// Destination element type.
        to: ElementType,
        /// Index of the element, in row-major order.
        index: usize,
        /// The string; if it is longer than 40 characters, the first 40 and `…`.
        literal: String,
    },
    /// The elements of the type have no fixed width.
    #[error("{element_type} elements have no fixed width")]
    #[non_exhaustive]
    NoCodes {
        /// The element type.
        element_type: ElementType,
    },
    /// The number of elements, or of their bytes, overflows.
    #[error("shape {shape:?} of {element_type} is too large: its size overflows")]
    #[non_exhaustive]
    ShapeOverflow {
        /// The element type.
        element_type: ElementType,
        /// Elements along each axis.
        shape: Vec<usize>,
    },
    /// The length of the data does not match the shape and the element type.
    #[error("shape {shape:?} of {element_type} needs {}, got {found}", counted(*.expected, "byte"))]
    #[non_exhaustive]
    ByteLength {
        /// The element type.
        element_type: ElementType,
        /// Elements along each axis.
        shape: Vec<usize>,
        /// Bytes that the shape and the type need.
        expected: u64,
        /// Bytes that were given.
        found: u64,
    },
    /// The length of the caller's memory does not match the result.
    #[error("casting {from} to {to}: the destination must have {}, got {found}", counted(*.expected, "byte"))]
    #[non_exhaustive]
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
    /// The number of elements does not match the shape.
    #[error("shape {shape:?} of {element_type} needs {}, got {}", counted(*.expected as u64, "element"), found.map_or("more".to_owned(), |n| n.to_string()))]
    #[non_exhaustive]
    ElementCount {
        /// The element type.
        element_type: ElementType,
        /// Elements along each axis.
        shape: Vec<usize>,
        /// Elements that the shape needs.
        expected: usize,
        /// Elements that were given; `None` if there were more than needed, which are not counted.
        found: Option<usize>,
    },
    /// The tensor has another element type than the one requested.
    #[error("expected a tensor of {wanted}, got {found}")]
    #[non_exhaustive]
    ElementTypeMismatch {
        /// The requested element type.
        wanted: ElementType,
        /// The tensor's element type.
        found: ElementType,
    },
    /// The operator does not support the type at this opset.
    #[error("{node} does not support {element_type}{}", added(.element_type.since_opset(.node.operator)).unwrap_or(" (no opset does)".to_owned()))]
    #[non_exhaustive]
    TypeNotInOpset {
        /// The operator's version.
        node: OperatorVersion,
        /// The unsupported type.
        element_type: ElementType,
    },
    /// The operator has no such attribute at this opset.
    #[error("{node} has no attribute {attribute}{}", added(*.since).unwrap_or_default(), attribute = quoted(.attribute))]
    #[non_exhaustive]
    UnknownAttribute {
        /// The operator's version.
        node: OperatorVersion,
        /// The attribute.
        attribute: String,
        /// The opset that introduced the attribute, if one did.
        since: Option<u32>,
    },
    /// The tensor is one of another batch, whose device may be another.
    #[error("the tensor of {element_type} belongs to another batch")]
    #[non_exhaustive]
    OtherBatch {
        /// The tensor's element type.
        element_type: ElementType,
    },
    /// A required attribute is missing.
    #[error("{node}: the required attribute {attribute} is missing", attribute = quoted(.attribute))]
    #[non_exhaustive]
    MissingAttribute {
        /// The operator's version.
        node: OperatorVersion,
        /// The attribute.
        attribute: &'static str,
    },
    /// A node has the same attribute twice.
    #[error("{node}: the attribute {attribute} is given twice", attribute = quoted(.attribute))]
    #[non_exhaustive]
    RepeatedAttribute {
        /// The operator's version.
        node: OperatorVersion,
        /// The attribute.
        attribute: String,
    },
    /// An attribute has the wrong type.
    #[error("{node}: the attribute {attribute} must be {wanted}, got {found}", attribute = quoted(.attribute))]
    #[non_exhaustive]
    AttributeKind {
        /// The operator's version.
        node: OperatorVersion,
        /// The attribute.
        attribute: &'static str,
        /// The attribute type that the operator requires.
        wanted: &'static str,
        /// The attribute type that the node has.
        found: String,
    },
    /// An attribute has an invalid value.
    #[error("{node}: invalid value {value} for the attribute {attribute} (expected {allowed})", value = quoted(.value), attribute = quoted(.attribute))]
    #[non_exhaustive]
    AttributeValue {
        /// The operator's version.
        node: OperatorVersion,
        /// The attribute.
        attribute: &'static str,
        /// The value.
        value: String,
        /// The values that are valid.
        allowed: String,
    },
    /// The operator does not exist at this opset, or this crate does not know the opset.
    #[error("{operator} is not supported at opset {opset} (supported opsets: {first} to {newest})")]
    #[non_exhaustive]
    UnknownOpset {
        /// The operator.
        operator: Operator,
        /// The requested opset.
        opset: i64,
        /// The operator's first opset.
        first: u32,
        /// The newest opset that this crate knows.
        newest: i64,
    },
    /// There is no adapter, or it provides no device.
    #[error("no GPU adapter: {reason}")]
    #[non_exhaustive]
    NoAdapter {
        /// The reason that the backends gave.
        reason: String,
    },
    /// No adapter's name contains the requested text.
    #[error("no adapter's name contains {wanted:?} (available: {})", list(.available))]
    #[non_exhaustive]
    AdapterNotFound {
        /// The requested text.
        wanted: String,
        /// The names of the available adapters.
        available: Vec<String>,
    },
    /// The cast exceeds a limit: one of the device, or a smaller one that the caller has set, as by
    /// [`CasterDescriptor`](crate::CasterDescriptor).
    #[error("casting {from} to {to} exceeds the limit {limit}: {needed} needed, {allowed} allowed")]
    #[non_exhaustive]
    Limit {
        /// Source element type.
        from: ElementType,
        /// Destination element type.
        to: ElementType,
        /// WebGPU's name of the limit.
        limit: &'static str,
        /// The value that the cast needs.
        needed: u64,
        /// The value of the limit.
        allowed: u64,
    },
    /// The limits and the tuning divide the cast into more dispatches than a plan may have:
    /// [`Plan::MOST_DISPATCHES`](crate::Plan::MOST_DISPATCHES).
    #[error("casting {from} to {to} takes at least {needed} dispatches, a plan has at most {allowed}")]
    #[non_exhaustive]
    TooManyDispatches {
        /// Source element type.
        from: ElementType,
        /// Destination element type.
        to: ElementType,
        /// The dispatches that the cast takes; for a view, those that it takes at least.
        needed: u64,
        /// The most dispatches of a plan.
        allowed: u64,
    },
    /// A buffer lacks a usage that the cast needs.
    #[error("casting {from} to {to}: the {side} buffer lacks the usage {usage}")]
    #[non_exhaustive]
    MissingUsage {
        /// Source element type.
        from: ElementType,
        /// Destination element type.
        to: ElementType,
        /// The side of the cast.
        side: Side,
        /// The missing usage.
        usage: &'static str,
    },
    /// A buffer belongs to another device than the caster. wgpu does not recognise buffers of another `Instance`.
    #[error("casting {from} to {to}: the {side} buffer belongs to another device than the caster")]
    #[non_exhaustive]
    ForeignBuffer {
        /// Source element type.
        from: ElementType,
        /// Destination element type.
        to: ElementType,
        /// The side of the cast.
        side: Side,
    },
    /// A buffer was destroyed before it was bound.
    #[error("casting {from} to {to}: the {side} buffer was destroyed")]
    #[non_exhaustive]
    DestroyedBuffer {
        /// Source element type.
        from: ElementType,
        /// Destination element type.
        to: ElementType,
        /// The side of the cast.
        side: Side,
    },
    /// The elements in a slice, rounded up to whole 32-bit words, end beyond the buffer.
    #[error(
        "casting {from} to {to}: the elements in the {side} slice at byte {offset} end at byte {end} (in whole 32-bit \
         words), but the buffer has {size} bytes"
    )]
    #[non_exhaustive]
    SliceOutOfRange {
        /// Source element type.
        from: ElementType,
        /// Destination element type.
        to: ElementType,
        /// The side of the cast.
        side: Side,
        /// Start of the slice, in bytes.
        offset: u64,
        /// End of the last 32-bit word with elements, in bytes.
        end: u64,
        /// Size of the buffer in bytes.
        size: u64,
    },
    /// The length of a slice is not that of the cast's elements. [`Source::part`](crate::Source::part) and
    /// [`Destination::part`](crate::Destination::part) take slices that are longer.
    #[error("casting {from} to {to}: the {side} slice needs {} to hold the cast's elements, got {found}{}", counted(*.expected, "byte"), longer(*.side, *.to, *.expected < *.found))]
    #[non_exhaustive]
    SliceLength {
        /// Source element type.
        from: ElementType,
        /// Destination element type.
        to: ElementType,
        /// The side of the cast.
        side: Side,
        /// Bytes that the elements need; in a part of a larger tensor, those of the elements before them too. For a view,
        /// the bytes from the lowest to the highest element.
        expected: u64,
        /// Bytes of the slice.
        found: u64,
    },
    /// A slice does not start at a multiple of its element's size.
    #[error("casting {from} to {to}: the {side} slice starts at byte {offset}, which is not a multiple of {alignment}")]
    #[non_exhaustive]
    SliceAlignment {
        /// Source element type.
        from: ElementType,
        /// Destination element type.
        to: ElementType,
        /// The side of the cast.
        side: Side,
        /// Start of the slice, in bytes.
        offset: u64,
        /// The size of an element in bytes.
        alignment: u64,
    },
    /// Source and destination overlap in one buffer in a way that [`Placement::one_buffer`](crate::Placement::one_buffer)
    /// does not allow.
    #[error(
        "casting {from} to {to}: the source at bytes {}..{} and the destination at bytes {}..{} of one buffer overlap; {allowed}",
        source_bytes.start, source_bytes.end, destination_bytes.start, destination_bytes.end
    )]
    #[non_exhaustive]
    Overlap {
        /// Source element type.
        from: ElementType,
        /// Destination element type.
        to: ElementType,
        /// The bytes of the buffer with codes of the source.
        source_bytes: Range<u64>,
        /// The bytes of the buffer that the cast writes.
        destination_bytes: Range<u64>,
        /// The overlap that such a cast allows.
        allowed: AllowedOverlap,
    },
    /// An entry of a list of casts is invalid: see [`Caster::bind_many`](crate::Caster::bind_many).
    #[error("entry {index}: {error}")]
    #[non_exhaustive]
    Entry {
        /// Index of the entry in the list.
        index: usize,
        /// What is wrong.
        #[source]
        error: Box<Error>,
    },
    /// An entry of a list of casts writes what another one reads or writes: see
    /// [`Caster::bind_many`](crate::Caster::bind_many).
    #[error(
        "casting {from} to {to}: the destination of entry {writer} at bytes {}..{} and the {other_operand} of entry \
         {other} at bytes {}..{} of one buffer overlap; the casts of a list run in no order",
        writer_bytes.start, writer_bytes.end, other_bytes.start, other_bytes.end
    )]
    #[non_exhaustive]
    EntryOverlap {
        /// Source element type.
        from: ElementType,
        /// Destination element type.
        to: ElementType,
        /// Index of the entry that writes.
        writer: usize,
        /// The bytes of the buffer that it writes; for a view, from the lowest to the highest.
        writer_bytes: Range<u64>,
        /// Index of the other entry.
        other: usize,
        /// What of the other entry lies there.
        other_operand: Operand,
        /// Its bytes.
        other_bytes: Range<u64>,
    },
    /// The slice with the number of elements is invalid.
    #[error("casting {from} to {to}: invalid slice of the count at byte {offset}: {reason}")]
    #[non_exhaustive]
    CountSlice {
        /// Source element type.
        from: ElementType,
        /// Destination element type.
        to: ElementType,
        /// Start of the slice, in bytes.
        offset: u64,
        /// What is wrong.
        reason: &'static str,
    },
    /// Elements of a view's destination overlap, or its axes interleave.
    #[error("casting {from} to {to}: the elements of the destination overlap along axis {axis}")]
    #[non_exhaustive]
    DestinationOverlap {
        /// Source element type.
        from: ElementType,
        /// Destination element type.
        to: ElementType,
        /// An axis of more than one element whose stride is 0, or does not step over the elements of the axes with
        /// smaller strides.
        axis: usize,
    },
    /// A strided view is not supported.
    #[error("casting {from} to {to}: unsupported strided view: {reason}")]
    #[non_exhaustive]
    View {
        /// Source element type.
        from: ElementType,
        /// Destination element type.
        to: ElementType,
        /// Why it is not supported.
        reason: &'static str,
    },
    /// The device rejected the kernel: a driver bug, or a device without compute shaders.
    #[error("casting {from} to {to}: the device rejected the kernel: {message}")]
    #[non_exhaustive]
    Kernel {
        /// Source element type.
        from: ElementType,
        /// Destination element type.
        to: ElementType,
        /// The message of the device.
        message: String,
    },
    /// The device or the host has no memory left for a buffer or a result.
    #[error("casting {from} to {to}: out of memory{}", requested(*.bytes))]
    #[non_exhaustive]
    OutOfMemory {
        /// Source element type.
        from: ElementType,
        /// Destination element type.
        to: ElementType,
        /// Bytes that were requested; 0 if that is not known.
        bytes: u64,
    },
    /// The device was lost. Everything made on it is of no more use: an engine needs a new device, new buffers and a new
    /// [`Caster`](crate::Caster); casts of host tensors need a new [`Context`](crate::Context).
    #[error("casting {from} to {to}: the device was lost: {reason}")]
    #[non_exhaustive]
    DeviceLost {
        /// Source element type.
        from: ElementType,
        /// Destination element type.
        to: ElementType,
        /// The reason that the driver gave.
        reason: String,
    },
    /// The device did not answer in time. It may still be working.
    #[error("casting {from} to {to}: the device did not answer within {seconds} s")]
    #[non_exhaustive]
    Timeout {
        /// Source element type.
        from: ElementType,
        /// Destination element type.
        to: ElementType,
        /// The time limit.
        seconds: u64,
    },
    /// The device reported another error.
    #[error("casting {from} to {to}: {message}")]
    #[non_exhaustive]
    Device {
        /// Source element type.
        from: ElementType,
        /// Destination element type.
        to: ElementType,
        /// The message of the device.
        message: String,
    },
    /// The self-test found a wrong result.
    #[error(
        "casting {from} to {to}: self-test failed: the device converts {code:#x} to {got:#x}, expected {expected:#x}"
    )]
    #[non_exhaustive]
    SelfTest {
        /// Source element type.
        from: ElementType,
        /// Destination element type.
        to: ElementType,
        /// The source code.
        code: u64,
        /// The device's result.
        got: u64,
        /// The correct result.
        expected: u64,
    },
    /// The self-test found a write outside the destination.
    #[error(
        "casting {from} to {to}: self-test failed: the device changed byte {offset}, which is outside the destination"
    )]
    #[non_exhaustive]
    SelfTestOutside {
        /// Source element type.
        from: ElementType,
        /// Destination element type.
        to: ElementType,
        /// Offset of the byte in the destination's buffer.
        offset: u64,
    },
    /// The device reported success but did not write the cast's last value, a sentinel. The result is discarded.
    #[error("casting {from} to {to}: the device did not complete the work")]
    #[non_exhaustive]
    Incomplete {
        /// Source element type.
        from: ElementType,
        /// Destination element type.
        to: ElementType,
    },
}

fn added(since: Option<u32>) -> Option<String> {
    since.map(|since| format!(" (added in opset {since})"))
}

/// A number with its unit: `1 byte`, `2 bytes`.
pub(crate) fn counted(number: u64, unit: &str) -> String {
    format!("{number} {unit}{}", if number == 1 { "" } else { "s" })
}

/// How a slice that is longer than its elements is given, and what changes then.
fn longer(side: Side, to: ElementType, is_longer: bool) -> &'static str {
    match side {
        _ if !is_longer => "",
        Side::Source => "; a longer slice is given as Source::part(slice, 0)",
        Side::Destination if to.bits().is_some_and(|bits| bits < 8) => {
            "; a longer slice is given as Destination::part(slice, 0), which keeps the unused bits of the last byte \
             instead of zeroing them"
        }
        Side::Destination => "; a longer slice is given as Destination::part(slice, 0)",
    }
}

/// How much memory was requested, unless that is not known.
fn requested(bytes: u64) -> String {
    if bytes == 0 { String::new() } else { format!(" (requested {})", counted(bytes, "byte")) }
}

/// Untrusted text in quotes, at most 80 characters of it.
pub(crate) fn quoted(text: &str) -> String {
    format!("{:?}", cut(text, 80))
}

/// The text, or its first `characters` characters and `…` if it is longer.
pub(crate) fn cut(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_tell_sides_memory_and_names() {
        let (from, to) = (ElementType::FLOAT, ElementType::INT8);
        let memory = |bytes| Error::OutOfMemory { from, to, bytes }.to_string();
        for (bytes, end) in [(0, ""), (1, " (requested 1 byte)"), (2, " (requested 2 bytes)")] {
            assert_eq!(memory(bytes), format!("casting float to int8: out of memory{end}"));
        }
        for (side, name) in [(Side::Source, "source"), (Side::Destination, "destination")] {
            let text = Error::MissingUsage { from, to, side, usage: "STORAGE" }.to_string();
            assert_eq!(text, format!("casting float to int8: the {name} buffer lacks the usage STORAGE"));
        }
        let slice = |side, to, expected, found| Error::SliceLength { from, to, side, expected, found }.to_string();
        let (to_int8, to_int4) = ("casting float to int8: the ", "casting float to int4: the ");
        for (text, expected) in [
            (
                slice(Side::Source, to, 400, 512),
                format!(
                    "{to_int8}source slice needs 400 bytes to hold the cast's elements, got 512; a longer slice is given \
                     as Source::part(slice, 0)"
                ),
            ),
            (
                slice(Side::Destination, to, 1, 512),
                format!(
                    "{to_int8}destination slice needs 1 byte to hold the cast's elements, got 512; a longer slice is \
                     given as Destination::part(slice, 0)"
                ),
            ),
            (
                slice(Side::Destination, ElementType::INT4, 50, 512),
                format!(
                    "{to_int4}destination slice needs 50 bytes to hold the cast's elements, got 512; a longer slice is \
                     given as Destination::part(slice, 0), which keeps the unused bits of the last byte instead of \
                     zeroing them"
                ),
            ),
            (
                slice(Side::Source, to, 400, 8),
                format!("{to_int8}source slice needs 400 bytes to hold the cast's elements, got 8"),
            ),
        ] {
            assert_eq!(text, expected);
        }
        let text = |names: &[&str]| {
            let available = names.iter().map(|&name| name.to_owned()).collect();
            Error::AdapterNotFound { wanted: "x".to_owned(), available }.to_string()
        };
        assert!(text(&[]).ends_with("(available: none)") && text(&["a", "b"]).ends_with("(available: a, b)"));
    }
}
