//! The errors of this crate. Each variant carries its details as fields.

mod cast_fault;
mod overlap;
mod scales_fault;
mod slice_fault;
#[cfg(test)]
mod tests;
mod text;
mod wgsl_name;

pub use cast_fault::CastFault;
pub use overlap::BufferRange;
pub use scales_fault::ScalesFault;
pub use slice_fault::SliceFault;
pub(crate) use text::{counted, cut, quoted};
pub(crate) use wgsl_name::fault_of_name;

use crate::types::element::{ElementType, Operator};
use cast_fault::CastText;
use text::{added, escaped, list, numbers, out_of_memory};

/// A version of an operator, and the opset for which it was looked up.
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
    /// A cast failed, or cannot be done.
    #[error("{}", CastText::new([*.from, *.to], *.entry, .cause))]
    #[non_exhaustive]
    Cast {
        /// Source element type.
        from: ElementType,
        /// Destination element type.
        to: ElementType,
        /// Index of the cast in a list of casts, if exactly one of them is at fault: see
        /// [`Caster::bind_many`](crate::Caster::bind_many).
        entry: Option<usize>,
        /// What is wrong.
        cause: CastFault,
    },
    /// The host has no memory left for a tensor that is made or read. A cast without memory is
    /// [`CastFault::OutOfMemory`].
    #[error("{}", out_of_memory(*.bytes))]
    #[non_exhaustive]
    OutOfMemory {
        /// Bytes that were requested; 0 if that is not known.
        bytes: u64,
    },
    /// No element type, or no `round_mode`, has this name.
    #[error("unknown {kind} {}{}", quoted(.name), .expected.map(|names| format!(" (expected {names})")).unwrap_or_default())]
    #[non_exhaustive]
    UnknownName {
        /// What the name should be: `element type` or `round_mode`.
        kind: &'static str,
        /// The name as given.
        name: String,
        /// The valid names, if they are few.
        expected: Option<&'static str>,
    },
    /// The shape does not fit the data of the tensor.
    #[error("shape {} of {element_type} {}", numbers(.shape), fit(*.expected, *.found, .unit))]
    #[non_exhaustive]
    Shape {
        /// The element type.
        element_type: ElementType,
        /// Elements along each axis.
        shape: Vec<usize>,
        /// Bytes or elements that the shape needs; `None` if their number overflows.
        expected: Option<u64>,
        /// Bytes or elements that were given. `None` if there were more elements than needed, which are not counted, or
        /// if `expected` is `None`.
        found: Option<u64>,
        /// What is counted: `byte` or `element`.
        unit: &'static str,
    },
    /// The scales do not fit the tensor's shape: see [`cpu::Scales`](crate::cpu::Scales).
    #[error("scales of shape {} in blocks {}: {fault}", numbers(.shape), numbers(.block))]
    #[non_exhaustive]
    Scales {
        /// The tensor's elements along each axis.
        shape: Vec<usize>,
        /// The elements along each axis that share a scale.
        block: Vec<usize>,
        /// What is wrong.
        fault: ScalesFault,
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
    /// The elements of the type are too wide for the function, or have no fixed width. The functions with such a limit
    /// pack elements, access elements in a 32-bit word, or look their codes up in a table.
    #[error("{element_type} elements have {}", width(*.element_type, *.allowed))]
    #[non_exhaustive]
    ElementWidth {
        /// The element type.
        element_type: ElementType,
        /// The most bits of an element.
        allowed: u32,
    },
    /// The tensor belongs to another batch, which may use another device.
    #[error("the tensor of {element_type} belongs to another batch")]
    #[non_exhaustive]
    OtherBatch {
        /// The tensor's element type.
        element_type: ElementType,
    },
    /// The text cannot be a name, or the first part of names, in WGSL.
    #[error("{} cannot be used in names of WGSL: {}", quoted(.name), wgsl_name::reason(.name, *.taken))]
    #[non_exhaustive]
    WgslName {
        /// The text as given.
        name: String,
        /// True if the text is a valid name, but an earlier function takes the array of this name for an array of other
        /// elements, or has the name that the function of this array would have.
        taken: bool,
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
    #[error("{node} has no attribute {}{}", quoted(.attribute), added(*.since).unwrap_or_default())]
    #[non_exhaustive]
    UnknownAttribute {
        /// The operator's version.
        node: OperatorVersion,
        /// The attribute.
        attribute: String,
        /// The opset that introduced the attribute, if one did.
        since: Option<u32>,
    },
    /// An attribute is missing, is given twice, has the wrong type or an invalid value.
    #[error("{node}: {}", attribute_text(.attribute, .expected, .found.as_deref()))]
    #[non_exhaustive]
    InvalidAttribute {
        /// The operator's version.
        node: OperatorVersion,
        /// The attribute.
        attribute: &'static str,
        /// What the operator requires: an attribute type, or the valid values.
        expected: &'static str,
        /// What the node has instead: another type, or a value in quotes. `None` if the attribute is missing.
        found: Option<String>,
    },
    /// There is no adapter, or it provides no device.
    #[error("no GPU adapter: {reason}")]
    #[non_exhaustive]
    NoAdapter {
        /// The reason that the backends gave.
        reason: String,
    },
    /// No adapter's name contains the requested text.
    #[error("no adapter's name contains {} (available: {})", escaped(.wanted), list(.available))]
    #[non_exhaustive]
    AdapterNotFound {
        /// The requested text.
        wanted: String,
        /// The names of the available adapters.
        available: Vec<String>,
    },
}

impl Error {
    /// An error of a cast that is not in a list.
    pub(crate) fn cast(from: ElementType, to: ElementType, cause: CastFault) -> Self {
        Self::Cast { from, to, entry: None, cause }
    }

    /// The error for a shape whose number of elements, or size in bytes, overflows.
    pub(crate) fn shape_overflow(element_type: ElementType, shape: &[usize]) -> Self {
        Self::Shape { element_type, shape: shape.to_vec(), expected: None, found: None, unit: "element" }
    }

    /// The error for bytes of another length than the shape needs.
    pub(crate) fn byte_length(element_type: ElementType, shape: Vec<usize>, expected: u64, found: u64) -> Self {
        Self::Shape { element_type, shape, expected: Some(expected), found: Some(found), unit: "byte" }
    }

    /// The error for strings, which have no codes.
    pub(crate) fn no_codes(element_type: ElementType) -> Self {
        Self::ElementWidth { element_type, allowed: 64 }
    }
}

/// Says how a shape and its data differ.
fn fit(expected: Option<u64>, found: Option<u64>, unit: &str) -> String {
    match expected {
        None => "is too large: its size overflows".to_owned(),
        Some(expected) => {
            let found = found.map_or("more".to_owned(), |found| found.to_string());
            format!("needs {}, got {found}", counted(expected, unit))
        }
    }
}

fn width(element_type: ElementType, allowed: u32) -> String {
    match element_type.bits() {
        None => "no fixed width".to_owned(),
        Some(bits) => format!("{bits} bits, at most {allowed} are allowed"),
    }
}

fn attribute_text(attribute: &str, expected: &str, found: Option<&str>) -> String {
    let attribute = quoted(attribute);
    match found {
        None => format!("the required attribute {attribute} is missing"),
        Some(found) => format!("the attribute {attribute} must be {expected}, got {found}"),
    }
}
