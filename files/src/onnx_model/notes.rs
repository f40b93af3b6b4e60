//! Notes about what a conversion did not convert, or changed unasked.

use std::fmt;

use wgpu_cast::ElementType;

use crate::text::{listed, quoted};

/// Something that a conversion did not convert, or that it changed although nobody asked for it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelNote {
    /// Nothing was cast, and no other note says why.
    NothingCast {
        /// The number of initializers and constants.
        tensors: usize,
        /// The number of those that were selected and have the wanted type already.
        same: usize,
        /// The number of other nodes with lists of floats as attributes, which are not converted.
        nodes: usize,
        /// The first of those nodes, with its operator.
        first: String,
    },
    /// A graph was to be converted, but it has no values of the old type.
    NoValues {
        /// The old type.
        element_type: ElementType,
    },
    /// Smaller tensors than the caller asked for are in the file of external data, because the model would exceed 2 GiB
    /// otherwise.
    MoreExternal {
        /// Tensors of at least this many bytes are in that file.
        from: u64,
    },
    /// Sparse initializers and constants are not converted.
    SparseLeft {
        /// The name of the first one.
        first: String,
        /// The number of sparse initializers and constants.
        count: usize,
    },
    /// Initializers that are the default values of graph inputs are not converted, because callers may give others. In a
    /// converted graph they have the types of the inputs.
    DefaultsLeft {
        /// The name of the first one.
        first: String,
        /// The number of such initializers.
        count: usize,
    },
    /// Initializers and constants that are parameters of operators, such as the scales of `Resize` and
    /// `DequantizeLinear`, are not converted. Rounding them would change shapes and the meaning of codes.
    ParametersLeft {
        /// The names of the first ones.
        tensors: Vec<String>,
        /// The number of further ones.
        more: usize,
    },
    /// Graph inputs with an initializer are left out. Before format version 4, they were constants; in the version of the
    /// result, they would be default values, which callers could replace.
    InputsLeftOut {
        /// The number of inputs that are left out.
        count: usize,
    },
    /// The imported opset was raised.
    OpsetRaised {
        /// The opset of the source.
        from: i64,
        /// The opset of the result.
        to: i64,
    },
    /// Nodes of an operator are kept in the old type.
    Kept {
        /// The operator, with its domain if that is not the default domain.
        operator: String,
        /// Why.
        reason: KeptReason,
        /// The first node: its name, or that of its first output.
        first: String,
        /// The number of nodes.
        count: usize,
    },
    /// Nodes are kept in the old type because their values come from integers, such as sizes and positions. A narrow type
    /// would round these.
    IntegersKept {
        /// The first nodes, with their operators.
        nodes: Vec<String>,
        /// The number of further such nodes.
        more: usize,
    },
}

/// Why nodes keep the old type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum KeptReason {
    /// The caller asked for it.
    Asked,
    /// The operator has no known schema at the model's opset: a custom operator, a function of the model, or an
    /// operator that is deprecated or newer.
    Unknown,
    /// The operator does not support the new type at this opset.
    NotSupported,
    /// ONNX defines the operator as a function, and the body of the function at this opset has constants of the old type.
    /// It does not work in the new type, even if the schema allows it.
    Body,
    /// Some inputs or outputs do not support the new type at this opset; the others are converted.
    InPart,
    /// The operator works on sequences, optionals or maps, or on values whose types cannot be found out.
    Untyped,
}

impl fmt::Display for ModelNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ModelNote::NothingCast { tensors, same, nodes, first } => {
                write!(f, "nothing was cast: ")?;
                match (tensors, same) {
                    (0, _) => write!(f, "the model has no initializers and no constants")?,
                    (_, 0) => write!(f, "{} selected", none_of(*tensors, "tensor"))?,
                    _ => write!(f, "what was selected has that type already ({})", counted(*same, "tensor"))?,
                }
                if *nodes > 0 {
                    let nodes = counted(*nodes, "node");
                    write!(f, "; floats that are attributes of {nodes} are not converted (first: {first})")?;
                }
                Ok(())
            }
            ModelNote::NoValues { element_type } => {
                write!(f, "nothing was converted: the graph has no values of {element_type}")
            }
            ModelNote::MoreExternal { from } => {
                write!(f, "tensors from {from} bytes on are in the file of external data: the model would exceed 2 GiB")
            }
            ModelNote::SparseLeft { first, count } => {
                let what = counted(*count, "sparse tensor");
                write!(f, "{what} left (first: {}): only dense tensors are cast", quoted(first))
            }
            ModelNote::DefaultsLeft { first, count } => {
                let what = counted(*count, "initializer");
                write!(f, "{what} left (first: {}): default values of graph inputs", quoted(first))
            }
            ModelNote::ParametersLeft { tensors, more } => {
                let what = counted(tensors.len() + more, "tensor");
                let tensors: Vec<_> = tensors.iter().map(|name| quoted(name)).collect();
                let list = listed(&tensors, *more);
                write!(f, "{what} left: parameters of operators, such as scales, which must not be rounded: {list}")
            }
            ModelNote::InputsLeftOut { count } => {
                let what = counted(*count, "graph input");
                write!(f, "{what} left out, because they only name initializers")
            }
            ModelNote::OpsetRaised { from, to } => write!(f, "opset raised from {from} to {to}"),
            ModelNote::Kept { operator, reason, first, count } => {
                let what = counted(*count, "node");
                let reason = match reason {
                    KeptReason::Asked => "kept in the old type as asked for",
                    KeptReason::Unknown => "kept in the old type: the operator has no known schema at this opset",
                    KeptReason::NotSupported => "kept in the old type: the operator does not support the new one here",
                    KeptReason::Body => {
                        "kept in the old type: the operator's body has constants of that type at this opset"
                    }
                    KeptReason::InPart => {
                        "kept in the old type in part: some inputs or outputs do not support the new one"
                    }
                    KeptReason::Untyped => "kept in the old type: not all values are tensors of known types",
                };
                write!(f, "{operator}: {what} {reason} (first: {})", quoted(first))
            }
            ModelNote::IntegersKept { nodes, more } => {
                let what = counted(nodes.len() + more, "node");
                let list = listed(nodes, *more);
                write!(f, "{what} kept in the old type, because their values come from integers: {list}")
            }
        }
    }
}

fn counted(count: usize, unit: &str) -> String {
    crate::text::counted(count as u64, unit)
}

fn none_of(count: usize, unit: &str) -> String {
    if count == 1 { format!("its only {unit} is not") } else { format!("none of its {count} {unit}s is") }
}
