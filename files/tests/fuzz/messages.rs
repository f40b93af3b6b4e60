//! Tensors and models: what can be read can be written, and means the same again.

use std::fs;

use wgpu_cast::{Context, DeviceChoice, ElementType, Tensor};
use wgpu_cast_files::onnx::{self, Model, NamedTensor};

use crate::engine::{gist, within_memory};

thread_local! {
    /// A folder with data for tensors that have theirs in files.
    static FOLDER: tempfile::TempDir = {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join("data.bin"), [7; 64]).expect("a file in it");
        folder
    };
    static CONTEXT: Context = pollster::block_on(Context::open(DeviceChoice::Cpu)).expect("the CPU");
}

pub fn tensor(input: &[u8]) -> String {
    let read = |with_folder: bool| {
        FOLDER.with(|folder| {
            let (bytes, folder) = (input.to_vec(), with_folder.then(|| folder.path()));
            within_memory(input.len(), || NamedTensor::from_bytes(bytes, folder))
        })
    };
    let (alone, with_folder) = (read(false), read(true));
    if let Ok(alone) = &alone {
        assert_eq!(Some(alone), with_folder.as_ref().ok());
    }
    match with_folder {
        Ok(named) => {
            let tensor = &named.tensor;
            let (t, axes, elements) = (tensor.element_type(), tensor.shape().len(), tensor.len());
            let outcome = format!("{t} {} {} {}", axes.min(4), elements.min(4), alone.is_ok());
            assert_eq!(tensor.strings().map_or(tensor.codes().len(), |strings| strings.len()), elements);
            let bytes = named.clone().into_bytes().expect("a short message");
            assert_eq!(NamedTensor::from_bytes(bytes, None).ok(), Some(named));
            outcome
        }
        Err(error) => gist(&error.to_string()),
    }
}

/// An input of a model: three elements, the strings among them numbers.
fn any(t: ElementType) -> Tensor {
    let codes = [0x4210_9876_5432_1062, u64::MAX, 1];
    match t {
        ElementType::STRING => Tensor::from_strings([3], ["1.5", "-2e3", "7"]),
        t => Tensor::from_codes(t, [3], codes),
    }
    .expect("three elements")
}

pub fn model(input: &[u8]) -> String {
    let model = match within_memory(input.len(), || Model::from_bytes(input, None)) {
        Ok(model) => model,
        Err(error) => return gist(&error.to_string()),
    };
    let run = |model: &Model| -> Result<Vec<NamedTensor>, String> {
        let inputs = model.inputs().iter().map(|input| any(input.element_type)).collect();
        let (outputs, _) = CONTEXT
            .with(|context| pollster::block_on(onnx::run(context, model, inputs)))
            .map_err(|error| error.to_string())?;
        Ok(outputs)
    };
    let outputs = run(&model);
    let written = model.to_bytes().expect("a short message");
    let again = Model::from_bytes(&written, None).expect("what was written can be read");
    assert_eq!((again.opset(), again.inputs()), (model.opset(), model.inputs()));
    assert_eq!(again.to_bytes().expect("a short message"), written);
    assert_eq!(run(&again), outputs);
    let types: Vec<_> = model.outputs().iter().take(3).map(|output| output.element_type).collect();
    let inputs: Vec<_> = model.inputs().iter().take(2).map(|i| (i.element_type, i.has_default)).collect();
    format!("{} {inputs:?} {types:?} {:?}", model.opset(), outputs.map(drop).map_err(|error| gist(&error)))
}
