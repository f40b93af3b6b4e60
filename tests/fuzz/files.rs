//! Files of arrays: headers are right or refused, and a plan that is made from one can be executed, in as many bytes as it says.

use wgpu_cast::files::{FilePlan, NpyArray, NpyOrder, ReadAt, SafetensorsFile, StreamSettings, npy_plan, write};
use wgpu_cast::{CastOptions, ElementType, cpu};

use crate::engine::{gist, within_memory};

/// A numeric type of a file's length, so that mutations meet all of them.
fn target(input: &[u8]) -> ElementType {
    let numeric: Vec<_> = support::numeric().collect();
    numeric[input.len() % numeric.len()]
}

/// Makes the output of a plan, or says why that is not possible.
fn execute(plan: &FilePlan, input: &dyn ReadAt) -> Result<Vec<u8>, String> {
    let expected = plan.bytes().expect("a size, as the input is short");
    let size = input.size().expect("a size, as it is memory");
    assert!(expected <= 64 * size + 4096, "{expected} bytes from an input of {size}");
    let mut output = Vec::new();
    let mut sink = |finished: wgpu_cast::files::FinishedPiece<'_>| {
        output.extend(finished.bytes);
        Ok(())
    };
    write(plan, &[input], &StreamSettings::default(), &cpu::cast_counted, &mut sink)
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
    let output = match plan.and_then(|plan| execute(&plan, &input)) {
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
    let output = match plan.map_err(|error| gist(&error.to_string())).and_then(|plan| execute(&plan, &input)) {
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
