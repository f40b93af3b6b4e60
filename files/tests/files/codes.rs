//! Codes that have their type already: in every format they stay as they are, whatever the options of a cast.

use support::bits;
use support::numeric;
use support::random::Random;
use wgpu_cast::{CastOptions, CastSpec, ElementType, Error, LossCounts, Tensor, cpu};
use wgpu_cast_files::onnx::NamedTensor;
use wgpu_cast_files::{
    self as files, CodeStorage, FilePlan, NpyArray, NpyOrder, Part, ReadAt, SafetensorsFile, SourceRange, StoredTensor,
    StreamSettings, TensorCodes, TensorData, TensorMessage, TensorStorage, npy_plan, raw_plan, raw_tensor,
    tensor_proto_plan,
};

use crate::npy::array;
use crate::plans::execute;

/// A cast that nobody may ask for.
fn no_cast(_: &CastSpec, _: &[u8], _: usize, _: &mut [u8]) -> Result<LossCounts, Error> {
    panic!("codes are cast")
}

/// What a plan without casts makes.
fn made(plan: &FilePlan, inputs: &[&dyn ReadAt]) -> Vec<u8> {
    assert_eq!(plan.casts().count(), 0, "{plan:?}");
    let mut settings = StreamSettings::default();
    (settings.memory, settings.relative_errors) = (1 << 20, true);
    let mut output = Vec::new();
    files::write(plan, inputs, &settings, &no_cast, &mut |piece| {
        assert_eq!(piece.losses, []);
        output.extend_from_slice(piece.bytes);
        Ok(())
    })
    .unwrap();
    assert_eq!(output, execute(plan, inputs));
    output
}

/// All codes of a type of 8 bits, of which Cast changes some: infinities of FLOAT8E5M2 with `saturate`, and bytes of BOOL
/// other than 0 and 1.
fn changed_by_cast() -> impl Iterator<Item = (ElementType, Vec<u8>)> {
    let codes: Vec<u8> = (0..=255).collect();
    [ElementType::BOOL, ElementType::FLOAT8E5M2].into_iter().map(move |element_type| {
        let tensor = Tensor::from_bytes(element_type, [256], codes.clone()).unwrap();
        let cast = cpu::cast(&tensor, element_type, &CastOptions::default()).unwrap();
        assert_ne!(cast.bytes(), Some(&codes[..]), "{element_type}");
        (element_type, codes.clone())
    })
}

#[test]
fn every_format_keeps_the_codes_of_the_type_that_they_have() {
    for (element_type, codes) in changed_by_cast() {
        for options in [CastOptions::default(), CastOptions::default().with_saturate(false)] {
            let raw = raw_tensor(&codes, 0, element_type, None).unwrap();
            assert_eq!(made(&raw_plan(&raw, element_type, &options).unwrap(), &[&codes]), codes, "{element_type}");

            let dtype = if element_type == ElementType::BOOL { "|b1" } else { "<V1" };
            let file = array(dtype, "(256,)", &codes);
            let stored = NpyArray::read(&file, Some(element_type)).unwrap().stored("", 0).unwrap();
            let plan = npy_plan(&stored, element_type, &options, NpyOrder::Keep).unwrap();
            assert!(made(&plan, &[&file]).ends_with(&codes), "{element_type}");

            let tensor = Tensor::from_bytes(element_type, [256], codes.clone()).unwrap();
            let message = NamedTensor { name: "t".to_owned(), tensor }.into_bytes().unwrap();
            let found = TensorMessage::read(&message).unwrap();
            let TensorData::Inline(offset) = found.data else { panic!("not inline: {found:?}") };
            let stored = found.stored(0, offset, None).unwrap();
            let plan = tensor_proto_plan(&stored, element_type, &options, &[]).unwrap();
            assert_eq!(made(&plan, &[&message]), message, "{element_type}");
            let read = found.read_tensor(&message, None).unwrap().tensor;
            assert_eq!(read.bytes(), Some(&codes[..]), "{element_type} in memory");

            let name = if element_type == ElementType::BOOL { "BOOL" } else { "F8_E5M2" };
            let header = format!("{{\"t\":{{\"dtype\":\"{name}\",\"shape\":[256],\"data_offsets\":[0,256]}}}}");
            let length = (header.len() as u64).to_le_bytes();
            let file = [&length, header.as_bytes(), &codes].concat();
            let read = SafetensorsFile::read(&file).unwrap();
            let plan = read.plan(0, &mut |_| Some((element_type, options))).unwrap();
            assert!(made(&plan, &[&file]).ends_with(&codes), "{element_type}");
        }
    }
}

/// The text of an infinity is that of an infinity.
#[test]
fn text_is_that_of_the_code_itself() {
    let tensor = Tensor::from_bytes(ElementType::FLOAT8E5M2, [4], vec![0x7c, 0xfc, 0x7b, 0x7f]).unwrap();
    let text = cpu::cast(&tensor, ElementType::STRING, &CastOptions::default()).unwrap();
    assert_eq!(text.strings().unwrap().collect::<Vec<_>>(), ["INF", "-INF", "57344.0", "NaN"]);
}

/// Every type, from and to every way to store its codes, in row-major and column-major order, next to a piece's end.
#[test]
fn codes_change_their_storage_and_nothing_else() {
    let mut random = Random::new(5);
    let storages = |t: ElementType| match t.bits().unwrap() {
        ..8 => vec![CodeStorage::Packed, CodeStorage::OnePerByte],
        8 => vec![CodeStorage::Packed],
        _ => vec![CodeStorage::Packed, CodeStorage::BigEndian],
    };
    for element_type in numeric() {
        let width = element_type.bits().unwrap();
        let (mut input, mut parts, mut expected) = (vec![0x55; 3], Vec::new(), Vec::new());
        for (from, to) in
            storages(element_type).iter().flat_map(|&f| storages(element_type).into_iter().map(move |t| (f, t)))
        {
            for shape in [vec![], vec![0], vec![67], vec![3, 5], vec![2, 20_000], vec![3, 1, 100]] {
                for column_major in [false, true] {
                    if column_major && from == CodeStorage::Packed && width < 8 {
                        continue;
                    }
                    let storage = TensorStorage { element_type, codes: from };
                    let elements: u64 = shape.iter().product();
                    let offset = input.len() as u64;
                    // Bits that belong to no code are set in the input.
                    input.extend((0..storage.bytes(elements).unwrap()).map(|_| random.next() as u8 | 0x80));
                    let shape = shape.clone();
                    let tensor = StoredTensor { name: "t".to_owned(), shape, input: 0, offset, storage, column_major };
                    let part = tensor.keep(to).unwrap();
                    let target = TensorStorage { element_type, codes: to };
                    assert_eq!(part.bytes(), target.bytes(elements));
                    assert_eq!(tensor.part(target, &CastOptions::default()).as_ref(), Some(&part));
                    let is_copy = matches!(part, Part::Copy(_));
                    let moves = column_major && tensor.shape.iter().filter(|&&axis| axis > 1).count() > 1;
                    let has_pad = from == CodeStorage::OnePerByte || !(elements * u64::from(width)).is_multiple_of(8);
                    assert_eq!(is_copy, from == to && !moves && !has_pad, "{element_type} {part:?}");
                    let stored = &input[offset as usize..];
                    let code = |index: u64| match from {
                        CodeStorage::OnePerByte => u64::from(stored[index as usize]) & ((1 << width) - 1),
                        CodeStorage::BigEndian => {
                            let size = u64::from(width / 8);
                            let bytes = &stored[(index * size) as usize..][..size as usize];
                            bytes.iter().fold(0, |code, &byte| code << 8 | u64::from(byte))
                        }
                        _ => bits::get(stored, index * u64::from(width), width),
                    };
                    let [rows, columns] = match tensor.shape[..] {
                        [rows, columns] | [rows, _, columns] => [rows, columns],
                        _ => [1, elements],
                    };
                    let mut result = vec![0; target.bytes(elements).unwrap() as usize];
                    for index in 0..elements {
                        let (row, column) = (index / columns, index % columns);
                        let code = code(if column_major { column * rows + row } else { index });
                        match to {
                            CodeStorage::OnePerByte => result[index as usize] = code as u8,
                            CodeStorage::BigEndian => {
                                let size = (width / 8) as usize;
                                let place = &mut result[index as usize * size..][..size];
                                place.copy_from_slice(&code.to_be_bytes()[8 - size..]);
                            }
                            _ => bits::set(&mut result, index * u64::from(width), width, code),
                        }
                    }
                    expected.extend(result);
                    parts.push(part);
                }
            }
        }
        assert!(made(&FilePlan { parts }, &[&input]) == expected, "{element_type}");
    }
}

/// ml_dtypes 0.2 wrote INT4 with the sign extended to the byte, and every version reads the low bits.
#[test]
fn higher_bits_of_a_byte_are_no_part_of_the_code() {
    for element_type in numeric().filter(|t| t.bits().unwrap() < 8) {
        let (width, name) = (element_type.bits().unwrap(), element_type.name());
        let bytes: Vec<u8> = (0..=255).collect();
        let file = array("<V1", "(256,)", &bytes);
        let stored = NpyArray::read(&file, Some(element_type)).unwrap().stored("", 0).unwrap();
        let mut packed = vec![0; element_type.packed_bytes(256).unwrap() as usize];
        bytes.iter().for_each(|&byte| {
            let place = u64::from(byte) * u64::from(width);
            bits::set(&mut packed, place, width, u64::from(byte) & ((1 << width) - 1));
        });
        let options = CastOptions::default();
        assert_eq!(made(&raw_plan(&stored, element_type, &options).unwrap(), &[&file]), packed, "{name}");
        let mut doubles = vec![0; 2048];
        cpu::cast_bytes(
            &CastSpec::new(element_type, ElementType::DOUBLE).with_options(options),
            &packed,
            256,
            &mut doubles,
        )
        .unwrap();
        let cast = execute(&raw_plan(&stored, ElementType::DOUBLE, &options).unwrap(), &[&file as &dyn ReadAt]);
        assert_eq!(cast, doubles, "{name}");
        // What is written has no such bits.
        let again = made(&npy_plan(&stored, element_type, &options, NpyOrder::Keep).unwrap(), &[&file]);
        let masked: Vec<u8> = bytes.iter().map(|byte| byte & ((1 << width) - 1)).collect();
        assert!(again.ends_with(&masked), "{name}");
    }
    let file = array("|V1", "(4,)", &[0xff, 0xf8, 0x07, 0x08]);
    let stored = NpyArray::read(&file, Some(ElementType::INT4)).unwrap().stored("", 0).unwrap();
    let plan = raw_plan(&stored, ElementType::INT8, &CastOptions::default()).unwrap();
    assert_eq!(execute(&plan, &[&file as &dyn ReadAt]), [0xff, 0xf8, 0x07, 0xf8]);
}

#[test]
fn codes_of_strings_or_beyond_an_input_are_refused() {
    let codes = |element_type, offset, elements| {
        let (from, to, name) = (CodeStorage::Packed, CodeStorage::Packed, "t".to_owned());
        let column_major = Vec::new();
        let part = Part::Codes(TensorCodes { name, elements, input: 0, offset, element_type, from, to, column_major });
        let plan = FilePlan { parts: vec![part] };
        let input = vec![0u8; 4];
        let made = files::write(&plan, &[&input], &StreamSettings::default(), &no_cast, &mut |_| Ok(()));
        made.unwrap_err().to_string()
    };
    assert_eq!(codes(ElementType::STRING, 0, 1), "tensor \"t\": expected numbers, got string");
    assert_eq!(codes(ElementType::INT8, u64::MAX, 1), "a size in bytes overflows");
    let beyond = "tensor \"t\": cannot read 5 bytes at offset 0: unexpected end of file";
    assert_eq!(codes(ElementType::INT8, 0, 5), beyond);
    let copy = Part::Copy(SourceRange { input: 0, offset: 0, bytes: 0 });
    assert_eq!(FilePlan { parts: vec![copy] }.casts().count(), 0);
}
