//! What values come from: constants, integers or activations.
//!
//! Sizes, positions and sums of integers are exact in a wide float type, and are not in a narrow one. What is computed
//! from them keeps the old type until it is an integer again or meets an activation.

use wgpu_cast::{ElementType, Kind};

use super::Converter;
use super::values::Class;
use crate::onnx::ValueKind;

/// What a value comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Flow {
    /// Constants only.
    Constant,
    /// Constants only, of which one is a matrix of more than four rows and columns.
    Matrix,
    /// Integers or booleans, and constants.
    Integers,
    /// The scales of integers that were found at run time, and constants.
    Scale,
    #[default]
    Activation,
}

/// In which type a node computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Course {
    /// In the new type, as far as its schema allows it.
    Converts,
    /// In the type in which its outputs are needed.
    Follows,
    /// In the old type.
    Stays,
    /// In the type that its input has.
    Looks,
}

/// In which type a node computes, and what its outputs come from.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeFlow {
    pub course: Course,
    /// Outputs that are tensors of floats.
    pub floats: Flow,
    /// Outputs that are integers or booleans.
    pub integers: Flow,
}

/// Operators that make floats of integers without rounding them, or choose between constants by integers.
const MAKERS: [&str; 9] =
    ["Cast", "CastLike", "ConstantOfShape", "Expand", "EyeLike", "OneHot", "Range", "Tile", "Where"];

/// Operators that move numbers without a change, so that a cast before them gives what a cast behind them gives.
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

/// Operators that are layers of a network: their outputs are activations even if they take integers, such as images.
const LAYERS: [&str; 6] = ["Conv", "ConvTranspose", "DeformConv", "GRU", "LSTM", "RNN"];

/// Products, which are layers if they take a matrix. Smaller ones turn coordinates, or give each position its angles.
const PRODUCTS: [&str; 3] = ["Einsum", "Gemm", "MatMul"];

/// Coordinates have at most four components.
const COMPONENTS: u64 = 4;

impl Flow {
    pub(super) fn is_constant(self) -> bool {
        self <= Flow::Matrix
    }

    /// Whether values keep the old type for what they come from.
    pub(super) fn is_kept(self) -> bool {
        matches!(self, Flow::Integers | Flow::Scale)
    }

    /// What a value comes from that is sometimes the one, sometimes the other.
    pub(super) fn or(self, other: Flow) -> Flow {
        let (low, high) = (self.min(other), self.max(other));
        if low == high || low.is_constant() { high } else { Flow::Activation }
    }

    /// What this becomes if integers decide which of several such values there is.
    pub(super) fn chosen(self) -> Flow {
        self.max(Flow::Integers)
    }

    pub(super) fn of_shape(dims: &[u64]) -> Flow {
        match dims {
            [.., rows, columns] if rows.min(columns) > &COMPONENTS => Flow::Matrix,
            _ => Flow::Constant,
        }
    }

    /// That of an input of a graph.
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
        // Those whose numbers the outputs have.
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
            // This is an activation again, but only the product is in the range of the new type.
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

    /// The flow of what an unknown operator makes.
    pub(super) fn unknown_flow(&self, inputs: &[Option<usize>]) -> Flow {
        let all = || inputs.iter().flatten().filter(|&&value| self.values.class(value) != Class::Other);
        let is_of_integers = all().count() > 0 && all().all(|&value| self.values.flow(value) <= Flow::Integers);
        match is_of_integers && all().any(|&value| self.values.flow(value) == Flow::Integers) {
            true => Flow::Integers,
            false => Flow::Activation,
        }
    }
}
