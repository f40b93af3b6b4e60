//! The execution of plans in memory.

use wgpu_cast::{Tensor, cpu};
use wgpu_cast_files::{
    self as files, CodeStorage, FilePlan, Part, ReadAt, SourceRange, StreamSettings, TensorCast, TensorCodes,
    TensorStorage,
};

/// The output that a plan describes, which is also what the library writes.
pub fn execute(plan: &FilePlan, inputs: &[&dyn ReadAt]) -> Vec<u8> {
    let mut output = Vec::new();
    for part in &plan.parts {
        match part {
            Part::Bytes(bytes) => output.extend(bytes),
            Part::Copy(SourceRange { input, offset, bytes }) => output.extend(read(inputs[*input], *offset, *bytes)),
            Part::Cast(cast) => output.extend(cast_elements(cast, inputs[cast.input])),
            Part::Codes(codes) => output.extend(store_elements(codes, inputs[codes.input])),
            _ => unreachable!("a part of another kind"),
        }
    }
    assert_eq!(plan.bytes(), Some(output.len() as u64));
    let (mut settings, mut written) = (StreamSettings::default(), Vec::<u8>::new());
    settings.memory = 1 << 20;
    let mut keep = |piece: files::FinishedPiece<'_>| {
        written.extend(piece.bytes);
        Ok(())
    };
    files::write(plan, inputs, &settings, &cpu::cast_counted, &mut keep).unwrap();
    assert!(written == output);
    output
}

fn read(input: &dyn ReadAt, offset: u64, bytes: u64) -> Vec<u8> {
    let mut read = vec![0; bytes as usize];
    input.read_exact_at(offset, &mut read).unwrap();
    read
}

fn cast_elements(cast: &TensorCast, input: &dyn ReadAt) -> Vec<u8> {
    let bytes = read(input, cast.offset, cast.from.bytes(cast.elements).unwrap());
    let codes = row_major(&codes(&bytes, &cast.from, cast.elements), &cast.column_major);
    let shape = [cast.elements as usize];
    let tensor = Tensor::from_codes(cast.from.element_type, shape, codes).unwrap();
    stored(cpu::cast(&tensor, cast.to.element_type, &cast.options).unwrap(), &cast.to)
}

fn store_elements(kept: &TensorCodes, input: &dyn ReadAt) -> Vec<u8> {
    let [from, to] = [kept.from, kept.to].map(|codes| TensorStorage { element_type: kept.element_type, codes });
    let bytes = read(input, kept.offset, from.bytes(kept.elements).unwrap());
    let codes = row_major(&codes(&bytes, &from, kept.elements), &kept.column_major);
    stored(Tensor::from_codes(kept.element_type, [kept.elements as usize], codes).unwrap(), &to)
}

fn stored(tensor: Tensor, to: &TensorStorage) -> Vec<u8> {
    match to.codes {
        CodeStorage::Packed => tensor.into_bytes().unwrap(),
        _ => tensor.codes().flat_map(|code| store(code, to)).collect(),
    }
}

fn codes(bytes: &[u8], from: &TensorStorage, elements: u64) -> Vec<u64> {
    let size = from.bytes(1).unwrap() as usize;
    match from.codes {
        CodeStorage::Packed => {
            let tensor = Tensor::from_bytes(from.element_type, [elements as usize], bytes.to_vec());
            tensor.unwrap().codes().collect()
        }
        CodeStorage::BigEndian => {
            let code = |bytes: &[u8]| bytes.iter().fold(0, |code, &byte| code << 8 | u64::from(byte));
            bytes.chunks(size).map(code).collect()
        }
        _ => {
            let bits = from.element_type.bits().unwrap();
            bytes.iter().map(|&byte| u64::from(byte) & ((1 << bits) - 1)).collect()
        }
    }
}

fn store(code: u64, storage: &TensorStorage) -> Vec<u8> {
    let size = storage.bytes(1).unwrap() as usize;
    let mut bytes = code.to_le_bytes()[..size].to_vec();
    if storage.codes == CodeStorage::BigEndian {
        bytes.reverse();
    }
    bytes
}

fn row_major(codes: &[u64], axes: &[u64]) -> Vec<u64> {
    let mut order = vec![0];
    let mut stride = 1;
    for &axis in axes {
        order = order.iter().flat_map(|first| (0..axis).map(move |index| first + index * stride)).collect();
        stride *= axis;
    }
    if axes.is_empty() { codes.to_vec() } else { order.iter().map(|&index| codes[index as usize]).collect() }
}
