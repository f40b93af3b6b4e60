//! Runs models of casts. On a device, tensors stay there between nodes.

use std::fmt;

use wgpu_cast::{Batch, BatchDescriptor, BatchReport, BatchTensor, CastOptions, Context, ElementType, Error, Tensor};

use super::model::needed;
use super::node::Operation;
use super::tensor::retyped;
use crate::error::{FileError, ModelFault};
use crate::onnx::{Model, NamedTensor, Output};
use crate::text::counted;

/// How a model was run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunReport {
    /// The number of nodes that were run: those on which an output depends.
    pub nodes: u32,
    /// Where the casts were done and why there, and how many tensors were copied to and from a device.
    pub casts: BatchReport,
}

impl fmt::Display for RunReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", counted(self.nodes.into(), "node"), self.casts)
    }
}

/// Runs a model of casts on host tensors. `inputs` has one tensor for each input of the graph, in the graph's order, or one
/// for each input without a default. Nodes on which no output depends are not run.
///
/// The casts are a [`Batch`]: on a device, tensors stay there between nodes, and only outputs are copied back. Strings are
/// cast on the CPU. A UINT16 tensor is accepted for a BFLOAT16 input, because ONNX's older test data stores the codes of
/// BFLOAT16 as UINT16.
///
/// # Errors
/// [`FileCause::Request`](crate::FileCause::Request) if the inputs do not match the graph, before any work;
/// [`FileCause::Cast`](crate::FileCause::Cast) with an error of [`Batch::cast`] and the node, or one of
/// [`Batch::read_back`].
pub async fn run(
    context: &Context,
    model: &Model,
    inputs: Vec<Tensor>,
) -> Result<(Vec<NamedTensor>, RunReport), FileError> {
    let inputs = check_inputs(model, inputs)?;
    let needed = needed(model.values.len(), model.outputs.iter().map(|output| output.value), &model.nodes);
    let mut run = Run::new(context, model, inputs, &needed);
    let nodes = || model.nodes.iter().filter(|node| needed[node.output]);
    for node in nodes() {
        if let Some(options) = node.operation.options() {
            let in_node = |error: FileError| error.in_node(&node.name);
            let input = run.origins[node.input];
            let source = run.value(input).map_err(in_node)?;
            let result = run.batch.cast(&source, model.types[node.output], &options).await;
            let result = result.map_err(|error: Error| in_node(error.into()))?;
            run.values[node.output] = Some(result);
            run.release(input);
        }
    }
    let values = model.outputs().iter().map(|output| run.value(run.origins[output.value]));
    let values = values.collect::<Result<Vec<_>, _>>()?;
    let tensors = run.batch.read_back(&values.iter().collect::<Vec<_>>()).await?;
    let named = |(output, tensor): (&Output, Tensor)| NamedTensor { name: output.name.clone(), tensor };
    let outputs = model.outputs().iter().zip(tensors).map(named).collect();
    Ok((outputs, RunReport { nodes: nodes().count() as u32, casts: run.batch.report() }))
}

impl Operation {
    /// The options of a cast; `None` for an operator that passes its input on.
    fn options(&self) -> Option<CastOptions> {
        match self {
            Operation::Cast(node) => Some(node.options()),
            Operation::CastLike(node) => Some(node.options()),
            Operation::Identity => None,
        }
    }
}

/// The index of the value and the tensor of each given input. Each tensor must have the type that the graph declares.
fn check_inputs(model: &Model, inputs: Vec<Tensor>) -> Result<Vec<(usize, Tensor)>, FileError> {
    let all = model.inputs().len();
    let required = model.inputs().iter().filter(|input| !input.has_default).count();
    let found = inputs.len();
    if found != all && found != required {
        return Err(ModelFault::InputCount { required, all, found }.into());
    }
    let given = model.inputs().iter().filter(|input| found == all || !input.has_default);
    let mut values: Vec<(usize, Tensor)> = Vec::new();
    for (input, tensor) in given.zip(inputs) {
        let (expected, found) = (input.element_type, tensor.element_type());
        let tensor = if (expected, found) == (ElementType::BFLOAT16, ElementType::UINT16) {
            retyped(tensor, expected)?
        } else {
            tensor
        };
        if tensor.element_type() != expected {
            let name = input.name.clone();
            return Err(ModelFault::ValueType { what: "input", name, expected, found }.into());
        }
        values.push((input.value, tensor));
    }
    Ok(values)
}

struct Run<'a> {
    batch: Batch<'a>,
    /// For each value, the index of the value that it is a copy of, or its own index. `Identity` makes such copies.
    origins: Vec<usize>,
    /// The values that are computed and still needed. These may be much fewer than all values of the model.
    values: Vec<Option<BatchTensor>>,
    /// The number of nodes and outputs that still need each value.
    uses: Vec<usize>,
}

impl<'a> Run<'a> {
    fn new(context: &'a Context, model: &Model, inputs: Vec<(usize, Tensor)>, needed: &[bool]) -> Self {
        let nodes = || model.nodes.iter().filter(|node| needed[node.output]);
        let mut origins: Vec<usize> = (0..model.values.len()).collect();
        for node in nodes().filter(|node| node.operation.options().is_none()) {
            origins[node.output] = origins[node.input];
        }
        let mut uses = vec![0; model.values.len()];
        let casts = || nodes().filter(|node| node.operation.options().is_some());
        let wanted = casts().map(|node| node.input).chain(model.outputs().iter().map(|output| output.value));
        wanted.for_each(|value| uses[origins[value]] += 1);
        let constants = model.constants.iter().map(|(value, tensor)| (*value, tensor.clone()));
        let given: Vec<_> = constants.chain(inputs).filter(|(value, _)| uses[*value] > 0).collect();
        // This counts the bytes that the casts read and write. A cast's result has as many elements as its input.
        let mut elements: Vec<Option<u64>> = vec![None; model.values.len()];
        given.iter().for_each(|(value, tensor)| elements[*value] = Some(tensor.len() as u64));
        let is_given = elements.clone();
        let mut descriptor = BatchDescriptor { casts: casts().count(), bytes: 0, is_chain: false };
        for node in casts() {
            let input = origins[node.input];
            descriptor.is_chain |= is_given[input].is_none();
            elements[node.output] = elements[input];
            let packed = |value: usize| model.types[value].packed_bytes(elements[value]?);
            let bytes = packed(input).unwrap_or(0).saturating_add(packed(node.output).unwrap_or(0));
            descriptor.bytes = descriptor.bytes.saturating_add(bytes);
        }
        let batch = context.batch(&descriptor);
        let mut values: Vec<Option<BatchTensor>> = vec![None; model.values.len()];
        given.into_iter().for_each(|(value, tensor)| values[value] = Some(batch.insert(tensor)));
        Self { batch, origins, values, uses }
    }

    fn value(&self, value: usize) -> Result<BatchTensor, FileError> {
        // Reading the model has checked that every value is made before it is used.
        let unknown = || ModelFault::Unknown { value: value.to_string() };
        self.values[value].clone().ok_or_else(|| unknown().into())
    }

    /// Drops a value that is no longer needed.
    fn release(&mut self, value: usize) {
        self.uses[value] -= 1;
        if self.uses[value] == 0 {
            self.values[value] = None;
        }
    }
}
