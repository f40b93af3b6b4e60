//! Files of arrays: headers are right or refused, and a plan that is made from one can be executed, in as many bytes as it says.

use std::io::{self, Write};

use wgpu_cast::{CastOptions, ElementType, cpu};
use wgpu_cast_files::onnx::NamedTensor;
use wgpu_cast_files::{
    FilePlan, GraphRules, ModelPlan, ModelRules, ModelScan, NpyArray, NpyOrder, NpzArchive, ReadAt, SafetensorsFile,
    SourceRange, StreamSettings, TensorData, TensorMessage, npy_plan, tensor_proto_plan, write,
};

use crate::engine::{gist, within_memory};

/// A numeric type of a file's length, so that mutations meet all of them.
fn target(input: &[u8]) -> ElementType {
    let numeric: Vec<_> = support::numeric().collect();
    numeric[input.len() % numeric.len()]
}

/// Makes the output of a plan, or says why that is not possible.
fn execute(plan: &FilePlan, inputs: &[&dyn ReadAt]) -> Result<Vec<u8>, String> {
    let expected = plan.bytes().expect("a size, as the input is short");
    let size: u64 = inputs.iter().map(|input| input.size().expect("a size, as it is memory")).sum();
    assert!(expected <= 64 * size + 4096, "{expected} bytes from an input of {size}");
    let mut output = Vec::new();
    let mut sink = |finished: wgpu_cast_files::FinishedPiece<'_>| {
        output.extend(finished.bytes);
        Ok(())
    };
    write(plan, inputs, &StreamSettings::default(), &cpu::cast_counted, &mut sink)
        .map_err(|error| gist(&error.to_string()))?;
    assert_eq!(output.len() as u64, expected);
    Ok(output)
}

pub fn npy(input: &[u8]) -> String {
    let input = input.to_vec();
    let from = (!input.len().is_multiple_of(3)).then(|| target(&input[1..]));
    let array = match within_memory(input.len(), || NpyArray::read(&input, from)) {
        Ok(array) => array,
        Err(error) => return gist(&error.to_string()),
    };
    let order = if input.len().is_multiple_of(2) { NpyOrder::Keep } else { NpyOrder::RowMajor };
    let plan = array.stored("", 0).map_err(|error| gist(&error.to_string())).and_then(|tensor| {
        npy_plan(&tensor, target(&input), &CastOptions::default(), order).map_err(|e| gist(&e.to_string()))
    });
    let output = match plan.and_then(|plan| execute(&plan, &[&input])) {
        Ok(output) => output,
        Err(refused) => return refused,
    };
    let again = NpyArray::read(&output, Some(target(&input))).expect("what was written can be read");
    assert_eq!(again.stored("", 0).expect("numbers").shape, array.stored("", 0).expect("numbers").shape);
    format!("{from:?} {:?}", target(&input))
}

pub fn safetensors(input: &[u8]) -> String {
    let input = input.to_vec();
    let file = match within_memory(input.len(), || SafetensorsFile::read(&input)) {
        Ok(file) => file,
        Err(error) => return gist(&error.to_string()),
    };
    let to = target(&input);
    let plan = file.plan(0, &mut |tensor| tensor.element_type.map(|_| (to, CastOptions::default())));
    let output = match plan.map_err(|error| gist(&error.to_string())).and_then(|plan| execute(&plan, &[&input])) {
        Ok(output) => output,
        Err(refused) => return refused,
    };
    let again = SafetensorsFile::read(&output).expect("what was written can be read");
    let shapes = |file: &SafetensorsFile| {
        let mut shapes: Vec<_> = file.tensors().iter().map(|t| (t.name.clone(), t.shape.clone())).collect();
        shapes.sort();
        shapes
    };
    assert_eq!((shapes(&again), again.metadata()), (shapes(&file), file.metadata()));
    format!("{} {to}", file.tensors().len().min(4))
}

/// Counts bytes, which may be many more than the archive has.
struct Counted(u64);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub fn npz(input: &[u8]) -> String {
    let input = input.to_vec();
    let mut archive = match within_memory(input.len(), || NpzArchive::open(&input).map_err(Box::new)) {
        Ok(archive) => archive,
        Err(error) => return gist(&error.to_string()),
    };
    let mut outcome = archive.members().len().min(4).to_string();
    for member in archive.members().to_vec() {
        let mut copied = Counted(0);
        let copy = archive.copy(&member, &mut copied);
        assert!(copied.0 <= member.bytes && (copy.is_err() || copied.0 == member.bytes), "{}", copied.0);
        // A header may have as many bytes as a header can.
        let array = within_memory(input.len() + (1 << 16), || archive.array(&member, None).map_err(Box::new));
        let header = within_memory(input.len() + (1 << 16), || archive.header(&member).map_err(Box::new));
        assert!(array.is_err() || header.is_ok(), "an array has a header");
        outcome += &copy.map_or_else(|error| gist(&error.to_string()), |()| " copied".to_owned());
        outcome += &array.map_or_else(|error| gist(&error.to_string()), |_| " read".to_owned());
    }
    outcome
}

/// A file of one tensor, cast where it is.
pub fn stored_tensor(input: &[u8]) -> String {
    let input = input.to_vec();
    let message = match within_memory(input.len(), || TensorMessage::read(&input)) {
        Ok(message) => message,
        Err(error) => return gist(&error.to_string()),
    };
    let whole = match message.read_tensor(&input, None) {
        Ok(whole) => whole,
        Err(error) => return gist(&error.to_string()),
    };
    let TensorData::Inline(offset) = message.data else { return format!("{:?}", message.data) };
    let to = target(&input);
    let range =
        |range: &std::ops::Range<u64>| SourceRange { input: 0, offset: range.start, bytes: range.end - range.start };
    let kept: Vec<_> = message.kept.iter().map(range).collect();
    let stored = message.stored(0, offset, None).expect("its own type");
    let plan = tensor_proto_plan(&stored, to, &CastOptions::default(), &kept).expect("a short message");
    let output = execute(&plan, &[&input]).expect("codes of a tensor that was read");
    let again = NamedTensor::from_bytes(output, None).expect("what was written can be read");
    let expected = match to == message.element_type {
        // Codes that have the type already are copied.
        true => whole.tensor,
        false => cpu::cast(&whole.tensor, to, &CastOptions::default()).expect("numbers"),
    };
    assert_eq!((again.name, again.tensor), (whole.name, expected));
    format!("{} {to}", message.element_type)
}

/// A model whose initializers or whose graph is converted.
pub fn onnx_model(input: &[u8]) -> String {
    const FROM: ElementType = ElementType::FLOAT;
    let input = input.to_vec();
    let scan = match within_memory(4 * input.len(), || ModelScan::read(&input)) {
        Ok(scan) => scan,
        Err(error) => return gist(&error.to_string()),
    };
    let files = vec![vec![7u8; 64]; scan.external_files().len()];
    let mut inputs: Vec<&dyn ReadAt> = vec![&input];
    inputs.extend(files.iter().map(|file| file as &dyn ReadAt));
    let of_graph = !input.len().is_multiple_of(3);
    let to = match of_graph {
        true => [ElementType::FLOAT16, ElementType::BFLOAT16, ElementType::DOUBLE][input.len() / 3 % 3],
        false => target(&input),
    };
    let types = |_: &str, from: ElementType| (from == FROM).then_some(to);
    let mut rules = ModelRules::new(&types, "data.bin");
    rules.external_from = input.len().is_multiple_of(2).then_some(16);
    if of_graph {
        let mut graph = GraphRules::new(FROM, to);
        graph.keep_io_types = input.len().is_multiple_of(5);
        rules.graph = Some(graph);
    }
    let ModelPlan { model, external, decoded, notes, .. } = match scan.plan(&inputs, &rules) {
        Ok(plan) => plan,
        Err(error) => return gist(&error.to_string()),
    };
    inputs.push(&decoded);
    let outputs = execute(&model, &inputs).and_then(|model| {
        let data = external.as_ref().map(|plan| execute(plan, &inputs)).transpose()?;
        Ok((model, data))
    });
    let (written, data) = match outputs {
        Ok(outputs) => outputs,
        Err(refused) => return refused,
    };
    let again = ModelScan::read(&written).expect("what was written can be read");
    assert!(again.opset() >= scan.opset(), "{:?} after {:?}", again.opset(), scan.opset());
    let kinds: String = notes.iter().map(|note| gist(&note.to_string())).collect();
    format!("{to} {of_graph} {} {} {kinds}", again.tensors().count().min(4), data.is_some())
}
