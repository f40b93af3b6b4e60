//! `ModelProto`s by parts: each part is some fields of a `GraphProto`.

use support::adapter;
use wgpu_cast::{Context, DeviceChoice, ElementType, Route, Tensor};
use wgpu_cast_files::FileError;
use wgpu_cast_files::onnx::{self, Model, NamedTensor, RunReport};

use crate::wire::*;

/// A `NodeProto`.
pub fn node(operator: &str, inputs: &[&str], outputs: &[&str]) -> Message {
    let node = inputs.iter().fold(message(), |node, input| node.bytes(1, input));
    outputs.iter().fold(node, |node, output| node.bytes(2, output)).bytes(4, operator)
}

/// An `AttributeProto` of a kind, whose value is still to come.
pub fn attribute(name: &str, kind: i64) -> Message {
    message().bytes(1, name).int(20, kind)
}

pub fn int(name: &str, value: i64) -> Message {
    attribute(name, 2).int(3, value)
}

pub fn string(name: &str, value: impl AsRef<[u8]>) -> Message {
    attribute(name, 3).bytes(4, value)
}

impl Message {
    /// A `NodeProto` with one more attribute.
    pub fn with(self, attribute: Message) -> Self {
        self.bytes(5, attribute)
    }

    /// A `NodeProto` with a name.
    pub fn named(self, name: &str) -> Self {
        self.bytes(3, name)
    }

    /// A `NodeProto` as a part of a graph.
    pub fn part(self) -> Self {
        message().bytes(1, self)
    }
}

pub fn cast(input: &str, output: &str, to: ElementType) -> Message {
    node("Cast", &[input], &[output]).with(int("to", to.onnx_code().into())).part()
}

pub fn cast_like(input: &str, like: &str, output: &str) -> Message {
    node("CastLike", &[input, like], &[output]).part()
}

pub fn identity(input: &str, output: &str) -> Message {
    node("Identity", &[input], &[output]).part()
}

/// A `ValueInfoProto` of a tensor of some type and unknown shape.
pub fn value_info(name: &str, code: i32) -> Message {
    message().bytes(1, name).bytes(2, message().bytes(1, message().int(1, code.into())))
}

pub fn input(name: &str, t: ElementType) -> Message {
    message().bytes(11, value_info(name, t.onnx_code()))
}

pub fn output(name: &str, t: ElementType) -> Message {
    message().bytes(12, value_info(name, t.onnx_code()))
}

/// An output whose type the graph does not say.
pub fn untyped_output(name: &str) -> Message {
    message().bytes(12, message().bytes(1, name))
}

pub fn initializer(name: &str, tensor: &Tensor) -> Message {
    let named = NamedTensor { name: name.to_owned(), tensor: tensor.clone() };
    message().bytes(5, named.into_bytes().unwrap())
}

/// An `OperatorSetIdProto` as a field of a `ModelProto`.
pub fn opset_import(domain: &str, version: i64) -> Message {
    message().bytes(8, message().bytes(1, domain).int(2, version))
}

pub fn graph(parts: &[Message]) -> Message {
    message().bytes(7, parts.iter().fold(message(), |graph, part| graph.raw(part)))
}

/// A `ModelProto`.
pub fn model(opset: i64, parts: &[Message]) -> Message {
    message().int(1, 8).raw(opset_import("", opset)).raw(graph(parts))
}

pub fn load(message: &Message) -> Result<Model, FileError> {
    Model::from_bytes(&message.0, None)
}

/// A model of the newest opset.
pub fn newest(parts: &[Message]) -> Model {
    load(&model(28, parts)).unwrap_or_else(|error| panic!("{error}"))
}

/// What is wrong with a model of the newest opset; for a node, its name too.
pub fn fault(parts: &[Message]) -> (Option<String>, String) {
    let error = load(&model(28, parts)).unwrap_err();
    let node = error.element().map(|node| node.strip_prefix("node \"").and_then(|name| name.strip_suffix('"')));
    (node.map(|name| name.expect("a node's name").to_owned()), error.cause().to_string())
}

/// What is wrong with the graph.
pub fn graph_fault(parts: &[Message]) -> String {
    let (node, fault) = fault(parts);
    assert_eq!(node, None, "{fault}");
    fault
}

/// The message of an error of a model.
pub fn text(opset: i64, parts: &[Message]) -> String {
    load(&model(opset, parts)).unwrap_err().to_string()
}

/// The CPU, and the best adapter there is.
pub struct Contexts {
    cpu: Context,
    gpu: Context,
}

pub fn on_cpu() -> Context {
    pollster::block_on(Context::open(DeviceChoice::Cpu)).unwrap()
}

impl Contexts {
    pub fn open() -> Self {
        Self { cpu: on_cpu(), gpu: adapter::open() }
    }

    /// The outputs, which are the same on the CPU and on the device, and what the device did.
    pub fn run(&self, model: &Model, inputs: &[Tensor]) -> (Vec<Tensor>, RunReport) {
        let run = |context: &Context| pollster::block_on(onnx::run(context, model, inputs.to_vec()));
        let (outputs, report) = run(&self.cpu).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(
            (&report.casts.adapter, report.casts.dispatches, report.casts.uploads, report.casts.read_backs),
            (&None, 0, 0, 0)
        );
        let without_device = report.casts.route;
        assert_ne!(without_device, Route::Gpu);
        let (on_device, report) = run(&self.gpu).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(on_device, outputs);
        // The report does not name a device that did nothing.
        let route = if report.casts.dispatches > 0 { Route::Gpu } else { without_device };
        assert_eq!((report.casts.route, report.casts.adapter.is_some()), (route, report.casts.dispatches > 0));
        assert!(outputs.iter().map(|output| &output.name).eq(model.outputs().iter().map(|output| &output.name)));
        (outputs.into_iter().map(|output| output.tensor).collect(), report)
    }

    /// The error, which is the same on the CPU and on the device.
    pub fn error(&self, model: &Model, inputs: &[Tensor]) -> String {
        let run = |context: &Context| {
            let result = pollster::block_on(onnx::run(context, model, inputs.to_vec()));
            result.map(drop).unwrap_err().to_string()
        };
        let error = run(&self.cpu);
        assert_eq!(run(&self.gpu), error);
        error
    }
}
