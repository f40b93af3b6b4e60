//! Builds models, converts them, and carries out plans in memory.

use wgpu_cast::{ElementType, cpu};
use wgpu_cast_files::{FileError, GraphRules, ModelPlan, ModelRules, ModelScan, PlannedTensor, ReadAt};

use crate::plans::execute;
pub use crate::wire::*;

pub const FLOAT: i32 = 1;
pub const INT64: i32 = 7;
pub const FLOAT16: i32 = 10;
pub const DOUBLE: i32 = 11;
pub const BFLOAT16: i32 = 16;
pub const FLOAT8E4M3FN: i32 = 17;

/// The name of the data file in these tests.
pub const DATA_FILE: &str = "out.data";

/// The values of most initializers, of which one is not exact in narrower types.
pub const VALUES: [f32; 2] = [1.0, 0.1];

/// The field numbers of `GraphProto`.
pub const NODE: u64 = 1;
pub const INITIALIZER: u64 = 5;
pub const INPUT: u64 = 11;
pub const OUTPUT: u64 = 12;
pub const VALUE_INFO: u64 = 13;

/// A `NodeProto`.
pub fn node(operator: &str, inputs: &[&str], outputs: &[&str]) -> Message {
    let node = inputs.iter().fold(message(), |node, input| node.bytes(1, input));
    outputs.iter().fold(node, |node, output| node.bytes(2, output)).bytes(4, operator)
}

/// An attribute of type INT.
pub fn int(name: &str, value: i64) -> Message {
    message().bytes(1, name).int(3, value).int(20, 2)
}

/// An attribute of type TENSOR.
pub fn tensor_attribute(name: &str, tensor: &Message) -> Message {
    message().bytes(1, name).bytes(5, tensor).int(20, 4)
}

/// An attribute of type GRAPH.
pub fn graph_attribute(name: &str, graph: &Message) -> Message {
    message().bytes(1, name).bytes(6, graph).int(20, 5)
}

/// A `Cast` as conversions insert it.
pub fn cast(input: &str, output: &str, to: i32) -> Message {
    node("Cast", &[input], &[output]).bytes(5, int("to", to.into()))
}

/// A `ValueInfoProto` of a vector.
pub fn value(name: &str, code: i32) -> Message {
    let shape = message().bytes(1, message().int(1, 2));
    let tensor = message().int(1, code.into()).bytes(2, shape);
    message().bytes(1, name).bytes(2, message().bytes(1, tensor))
}

/// An initializer with raw data.
pub fn raw(name: &str, code: i32, dims: &[i64], data: &[u8]) -> Message {
    head(name, code, dims).bytes(RAW_DATA, data)
}

/// An initializer without data.
pub fn head(name: &str, code: i32, dims: &[i64]) -> Message {
    message().ints(DIMS, dims).int(DATA_TYPE, code.into()).bytes(NAME, name)
}

/// An initializer of floats.
pub fn floats(name: &str, values: &[f32]) -> Message {
    raw(name, FLOAT, &[values.len() as i64], &float_bytes(values))
}

pub fn float_bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Values in another type, packed.
pub fn codes(values: &[f32], to: ElementType) -> Vec<u8> {
    let tensor = wgpu_cast::Tensor::from_slice([values.len()], values).unwrap();
    cpu::cast(&tensor, to, &Default::default()).unwrap().bytes().unwrap().to_vec()
}

/// [`VALUES`] in FLOAT16.
pub fn float16() -> Vec<u8> {
    codes(&VALUES, ElementType::FLOAT16)
}

/// A `ModelProto` of a format version, that imports an opset.
pub fn model(ir_version: i64, opset: i64, graph: &Message) -> Message {
    message().int(1, ir_version).bytes(7, graph).bytes(8, message().int(2, opset))
}

/// A `GraphProto` of fields and their messages.
pub fn graph(fields: &[(u64, Message)]) -> Message {
    fields.iter().fold(message().bytes(2, "g"), |graph, (field, content)| graph.bytes(*field, content))
}

/// A model of a graph of these fields.
pub fn of(fields: &[(u64, Message)]) -> Message {
    model(8, 17, &graph(fields))
}

/// The files that a plan writes.
#[derive(Debug)]
pub struct Written {
    pub model: Message,
    pub external: Option<Vec<u8>>,
    pub notes: Vec<String>,
    pub tensors: Vec<PlannedTensor>,
    /// The rows of the casts of the model and of the external data.
    pub rows: [Vec<usize>; 2],
}

/// Converts a model with its external files.
pub fn convert(model: &Message, files: &[&[u8]], rules: &ModelRules<'_>) -> Result<Written, FileError> {
    let files: Vec<Vec<u8>> = files.iter().map(|file| file.to_vec()).collect();
    let mut inputs: Vec<&dyn ReadAt> = vec![&model.0];
    inputs.extend(files.iter().map(|file| file as &dyn ReadAt));
    let plan = ModelScan::read(&model.0)?.plan(&inputs, rules)?;
    let ModelPlan { model, external, tensors, model_rows, external_rows, decoded, notes, .. } = plan;
    let rows = [model_rows, external_rows];
    for (plan, rows) in [Some(&model), external.as_ref()].into_iter().zip(&rows) {
        let casts: Vec<_> = plan.into_iter().flat_map(|plan| plan.casts()).collect();
        assert_eq!(casts.len(), rows.len());
        for (cast, &row) in casts.iter().zip(rows) {
            let PlannedTensor { name, elements, from, to, .. } = &tensors[row];
            let found = (&cast.name, &cast.elements, Some(cast.from.element_type), Some(cast.to.element_type));
            assert_eq!(found, (name, elements, *from, *to));
        }
    }
    inputs.push(&decoded);
    let external = external.map(|plan| execute(&plan, &inputs));
    let notes = notes.iter().map(ToString::to_string).collect();
    Ok(Written { model: Message(execute(&model, &inputs)), external, notes, tensors, rows })
}

/// Stores all FLOAT initializers in a type.
pub fn stored(model: &Message, files: &[&[u8]], to: ElementType) -> Result<Written, FileError> {
    let types = |_: &str, from: ElementType| (from == ElementType::FLOAT).then_some(to);
    convert(model, files, &ModelRules::new(&types, DATA_FILE))
}

/// Asserts that two models are equal, byte by byte, with a text of the first difference.
#[track_caller]
pub fn assert_model(found: &Message, expected: &Message) {
    if found.0 != expected.0 {
        let at =
            found.0.iter().zip(&expected.0).position(|(a, b)| a != b).unwrap_or(found.0.len().min(expected.0.len()));
        let text = |message: &Message| String::from_utf8_lossy(&message.0).into_owned();
        panic!("the models differ from byte {at} on\n   found {:?}\nexpected {:?}", text(found), text(expected));
    }
}

/// Rules of graphs that are not changed.
pub fn as_they_are(_: &mut GraphRules<'_>) {}

pub fn keep_io_types(rules: &mut GraphRules<'_>) {
    rules.keep_io_types = true;
}

/// Converts the graph from FLOAT to a type; initializers of FLOAT follow.
pub fn converted(model: &Message, to: ElementType, change: fn(&mut GraphRules<'_>)) -> Result<Written, FileError> {
    let types = |_: &str, from: ElementType| (from == ElementType::FLOAT).then_some(to);
    let mut rules = ModelRules::new(&types, DATA_FILE);
    let mut graph = GraphRules::new(ElementType::FLOAT, to);
    change(&mut graph);
    rules.graph = Some(graph);
    convert(model, &[], &rules)
}

/// Converts the graph from FLOAT to FLOAT16.
pub fn to_float16(model: &Message, change: fn(&mut GraphRules<'_>)) -> Written {
    converted(model, ElementType::FLOAT16, change).unwrap()
}
