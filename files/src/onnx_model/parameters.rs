//! Initializers and constants that are parameters of operators, not weights.

use std::collections::HashSet;

use super::reader::Name;
use super::structure::{GraphId, Node, Structure};

/// The inputs with scales, factors of sizes, limits of ranges, frequencies and thresholds, by operator. Rounding a weight
/// changes that weight only. Rounding one of these values changes the shape of a result, or the meaning of all codes of a
/// tensor, and a scale can even become zero.
const INPUTS: [(&str, &[usize]); 24] = [
    ("DequantizeLinear", &[1]),
    ("MelWeightMatrix", &[3, 4]),
    ("NonMaxSuppression", &[3, 4]),
    ("OneHot", &[1]),
    ("QLinearConv", &[1, 4, 6]),
    ("QLinearMatMul", &[1, 4, 6]),
    ("QuantizeLinear", &[1]),
    ("Range", &[0, 1, 2]),
    ("Resize", &[1, 2]),
    ("Upsample", &[1]),
    // These are operators of onnxruntime, in the domain com.microsoft. That domain also has a QuantizeLinear and a
    // DequantizeLinear, with the inputs above.
    ("DynamicQuantizeMatMul", &[2]),
    ("MatMulIntegerToFloat", &[2, 3]),
    ("MatMulNBits", &[2]),
    ("QAttention", &[3, 4]),
    ("QGemm", &[1, 4, 7]),
    ("QLinearAdd", &[1, 4, 6]),
    ("QLinearAveragePool", &[1, 3]),
    ("QLinearGlobalAveragePool", &[1, 3]),
    ("QLinearLeakyRelu", &[1, 3]),
    ("QLinearMul", &[1, 4, 6]),
    ("QLinearReduceMean", &[1, 3]),
    ("QLinearSigmoid", &[1, 3]),
    ("QLinearSoftmax", &[1, 3]),
    ("QLinearWhere", &[2, 5, 7]),
];

/// An operator of onnxruntime with any number of inputs: the scale and the zero point of its output, then each tensor with
/// its scale and its zero point.
const CONCAT: &str = "QLinearConcat";

/// Which values are parameters.
pub(super) struct Parameters {
    /// For each graph, the outermost graph around it: the model's graph, or the body of a function. A name means different
    /// values in different outermost graphs.
    roots: Vec<GraphId>,
    names: HashSet<(GraphId, Name)>,
}

impl Parameters {
    pub(super) fn new(structure: &Structure) -> Self {
        let mut roots = vec![0; structure.graphs.len()];
        for function in &structure.functions {
            let graphs = &function.graphs;
            roots[graphs.start as usize..graphs.end as usize].fill(graphs.start);
        }
        let mut names = HashSet::new();
        for (graph, &root) in structure.graphs.iter().zip(&roots) {
            let inputs = graph.nodes.iter().flat_map(|node| inputs(structure, node));
            names.extend(inputs.map(|name| (root, name)));
        }
        Self { roots, names }
    }

    /// Whether a node takes the value as a parameter. It may be any node within the same outermost graph as `graph`.
    pub(super) fn contain(&self, graph: GraphId, name: Name) -> bool {
        self.names.contains(&(self.roots[graph as usize], name))
    }
}

/// The inputs of a node that are parameters.
fn inputs<'a>(structure: &Structure, node: &'a Node) -> impl Iterator<Item = Name> + 'a {
    let operator = structure.text(node.operator);
    let is_known = matches!(structure.text(node.domain), "" | "com.microsoft")
        && !structure.function_names.contains(&(node.domain, node.operator));
    let listed: &[usize] = match INPUTS.iter().find(|(name, _)| is_known && *name == operator) {
        Some((_, inputs)) => inputs,
        None => &[],
    };
    let step = if is_known && operator == CONCAT { 3 } else { usize::MAX };
    let concatenated = (0..node.inputs.len()).step_by(step).filter(move |_| step == 3);
    listed.iter().copied().chain(concatenated).filter_map(|index| node.inputs.get(index).copied())
}
