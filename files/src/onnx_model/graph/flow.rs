//! What values come from: constants, integers or activations.
//!
//! Sizes, positions and sums of integers are exact in a wide float type, but not in a narrow one. Values that are computed
//! from them keep the old type until they are integers again, or are combined with an activation.

use wgpu_cast::{ElementType, Kind};

use super::Converter;
use super::values::Class;
use crate::onnx::ValueKind;

/// What a value comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Flow {
    /// Constants only.
    Constant,
    /// Constants only. At least one of them is a matrix with more than four rows and more than four columns.
    Matrix,
    /// Integers or booleans, and constants.
    Integers,
    /// Scales that dynamic quantization computes at run time, and constants.
    Scale,
    #[default]
    Activation,
}

/// The type in which a node computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Course {
    /// The new type, as far as the schema allows.
    Converts,
    /// The type in which the outputs are needed.
    Follows,
    /// The old type.
    Stays,
    /// The type that the input has: the node only looks at the shape.
    Looks,
}

/// The type in which a node computes, and what its outputs come from.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeFlow {
    pub course: Course,
    /// What outputs that are floats come from.
    pub floats: Flow,
    /// What outputs that are integers or booleans come from.
    pub integers: Flow,
}

/// Operators that make floats from integers without rounding, or that choose between constants by integers.
const MAKERS: [&str; 9] =
    ["Cast", "CastLike", "ConstantOfShape", "Expand", "EyeLike", "OneHot", "Range", "Tile", "Where"];

/// Operators that move numbers without changing them. A cast in front of such an operator has the same result as a cast
/// behind it.
const MOVERS: [&str; 19] = [
    "Compress",
    "Concat",
    "Expand",
    "Flatten",
    "Gather",
    "GatherElements",
    "GatherND",
    "Identity",
    "Pad",
    "Reshape",
    "ReverseSequence",
    "Slice",
    "Split",
    "Squeeze",
    "Tile",
    "Transpose",
    "Trilu",
    "Unsqueeze",
    "Where",
];

/// Operators that are layers of a network. Their outputs are activations even if their inputs come from integers, as images
/// do.
const LAYERS: [&str; 6] = ["Conv", "ConvTranspose", "DeformConv", "GRU", "LSTM", "RNN"];

/// Products. They are layers if an input is a [`Flow::Matrix`]. Products with smaller constants rotate coordinates, or
/// compute an angle for each position.
const PRODUCTS: [&str; 3] = ["Einsum", "Gemm", "MatMul"];

/// The most components that coordinates have.
const COMPONENTS: u64 = 4;

impl Flow {
    pub(super) fn is_constant(self) -> bool {
        self <= Flow::Matrix
    }

    /// Whether values keep the old type because of what they come from.
    pub(super) fn is_kept(self) -> bool {
        matches!(self, Flow::Integers | Flow::Scale)
    }

    /// What a value comes from if it is this in some branches or turns, and `other` in others.
    pub(super) fn or(self, other: Flow) -> Flow {
        let (low, high) = (self.min(other), self.max(other));
        if low == high || low.is_constant() { high } else { Flow::Activation }
    }

    /// What a value comes from if integers choose it among values that come from this.
    pub(super) fn chosen(self) -> Flow {
        self.max(Flow::Integers)
    }

    pub(super) fn of_shape(dims: &[u64]) -> Flow {
        match dims {
            [.., rows, columns] if rows.min(columns) > &COMPONENTS => Flow::Matrix,
            _ => Flow::Constant,
        }
    }

    /// What an input of a graph comes from, by its declared type.
    pub(super) fn of_input(kind: ValueKind) -> Flow {
        let ValueKind::Tensor(code) = kind else { return Flow::Activation };
        match ElementType::from_onnx_code(code).map(ElementType::kind) {
            Some(Kind::Bool | Kind::Int { .. }) => Flow::Integers,
            _ => Flow::Activation,
        }
    }
}

impl Converter<'_, '_> {
    /// How a node of a known schema is converted, if nothing else keeps it.
    pub(super) fn node_flow(&self, operator: &str, inputs: &[Option<usize>]) -> NodeFlow {
        let all = || inputs.iter().flatten().map(|&value| self.values.flow(value));
        if let "Shape" | "Size" = operator {
            let integers = if all().all(Flow::is_constant) { Flow::Constant } else { Flow::Integers };
            return NodeFlow { course: Course::Looks, floats: integers, integers };
        }
        let highest = all().max().unwrap_or(Flow::Constant);
        if all().all(Flow::is_constant) && !operator.starts_with("Random") {
            return NodeFlow { course: Course::Follows, floats: highest, integers: highest };
        }
        // The inputs whose numbers go into the outputs. The others give a type or a size.
        let counted = match operator {
            "CastLike" | "Resize" | "Upsample" => &inputs[..inputs.len().min(1)],
            _ => inputs,
        };
        let counted = || counted.iter().flatten().copied();
        let has = |wanted: Flow| {
            counted().any(|value| self.values.class(value) == Class::Old && self.values.flow(value) == wanted)
        };
        let is_made = MAKERS.contains(&operator) && !counted().any(|value| self.values.flow(value) == Flow::Activation);
        let (course, floats) = if has(Flow::Activation) || operator == "DequantizeLinear" {
            (Course::Converts, Flow::Activation)
        } else if has(Flow::Scale) && has(Flow::Integers) {
            // A scale times integers is an activation again. The factors may be beyond the range of the new type; their
            // product is not.
            (Course::Stays, Flow::Activation)
        } else if has(Flow::Scale) {
            (Course::Stays, Flow::Scale)
        } else if has(Flow::Integers) {
            let is_layer = LAYERS.contains(&operator) || (PRODUCTS.contains(&operator) && has(Flow::Matrix));
            match MOVERS.contains(&operator) {
                _ if is_layer => (Course::Converts, Flow::Activation),
                true => (Course::Follows, Flow::Integers),
                false => (Course::Stays, Flow::Integers),
            }
        } else if is_made {
            (Course::Follows, Flow::Integers)
        } else {
            (Course::Converts, Flow::Activation)
        };
        NodeFlow { course, floats, integers: Flow::Integers }
    }

    /// What the outputs of an unknown operator come from.
    pub(super) fn unknown_flow(&self, inputs: &[Option<usize>]) -> Flow {
        let all = || inputs.iter().flatten().filter(|&&value| self.values.class(value) != Class::Other);
        let is_of_integers = all().count() > 0 && all().all(|&value| self.values.flow(value) <= Flow::Integers);
        match is_of_integers && all().any(|&value| self.values.flow(value) == Flow::Integers) {
            true => Flow::Integers,
            false => Flow::Activation,
        }
    }
}
