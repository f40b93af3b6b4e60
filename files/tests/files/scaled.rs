//! Codes with scales, in pieces: with the bits of one product for each element.

use support::random::Random;
use wgpu_cast::{CastOptions, ElementType, Tensor, cpu};
use wgpu_cast_files::{
    self as files, CastLoss, FileCause, FileError, FilePlan, Part, ReadAt, ScaleTensor, ScaledCast, SecondScale,
    StreamSettings, TensorCast, TensorStorage, ZeroPoints,
};

use crate::Unread;

/// The bytes before codes and scales in an input.
const OFFSET: usize = 3;

fn scaled(elements: u64, columns: u64, block: [u64; 2], [from, to]: [ElementType; 2]) -> ScaledCast {
    let [from, to] = [from, to].map(TensorStorage::packed);
    let (name, offset, options, column_major) = ("a".to_owned(), OFFSET as u64, CastOptions::default(), Vec::new());
    let cast = TensorCast { name, elements, input: 0, offset, from, to, options, column_major, clamp: false };
    let scales = tensor("s", 1, ElementType::FLOAT);
    ScaledCast { cast, columns, block, scales, second: None, zero_points: None, transposed: false }
}

fn tensor(name: &str, input: usize, element_type: ElementType) -> ScaleTensor {
    ScaleTensor { name: name.to_owned(), input, offset: OFFSET as u64, element_type }
}

/// The output from `start` on, its losses, and the ends of its pieces.
fn make(cast: &ScaledCast, inputs: &[&dyn ReadAt], start: u64) -> Result<(Vec<u8>, CastLoss, Vec<u64>), FileError> {
    let plan = FilePlan { parts: vec![Part::Bytes(vec![1; 7]), Part::Scaled(Box::new(cast.clone()))] };
    let (mut bytes, mut lost, mut ends) = (Vec::new(), CastLoss::default(), Vec::new());
    let mut settings = StreamSettings::default();
    (settings.memory, settings.start, settings.relative_errors) = (1 << 20, start, true);
    files::write_scaled(&plan, inputs, &settings, &cpu::cast_counted, &cpu::cast_scaled_counted, &mut |finished| {
        assert!(finished.bytes.len() <= 1 << 16, "a piece fits into its share of the memory");
        bytes.extend(finished.bytes);
        ends.push(finished.piece.output.end);
        finished.losses.iter().for_each(|(_, loss)| lost += *loss);
        Ok(())
    })?;
    Ok((bytes, lost, ends))
}

/// Random codes without NaN and infinity, packed.
fn codes(random: &mut Random, element_type: ElementType, len: u64) -> Vec<u8> {
    let bytes = element_type.packed_bytes(len).unwrap() as usize;
    let mut codes: Vec<u8> = (0..bytes).map(|_| random.below(256) as u8).collect();
    if element_type == ElementType::FLOAT8E4M3FN {
        codes.iter_mut().filter(|code| **code & 0x7f == 0x7f).for_each(|code| *code = 0x7e);
    }
    codes
}

fn floats(element_type: ElementType, bytes: &[u8], len: u64) -> Vec<f32> {
    let tensor = Tensor::from_bytes(element_type, [len as usize], bytes.to_vec()).unwrap();
    cpu::cast(&tensor, ElementType::FLOAT, &CastOptions::default()).unwrap().to_vec::<f32>().unwrap()
}

fn behind(bytes: &[u8]) -> Vec<u8> {
    [&[0x55; OFFSET], bytes].concat()
}

fn cast(products: &[f32], to: ElementType) -> Vec<u8> {
    let tensor = Tensor::from_slice([products.len()], products).unwrap();
    cpu::cast(&tensor, to, &CastOptions::default()).unwrap().into_bytes().unwrap()
}

/// Shapes and blocks that pieces divide everywhere: in a row, in a block, in a row of blocks.
#[test]
fn pieces_have_the_bits_of_products() {
    let mut random = Random::new(11);
    for (rows, columns, block, from) in [
        (400, 700, [128, 128], ElementType::FLOAT8E4M3FN),
        (3, 100_002, [2, 1000], ElementType::FLOAT8E4M3FN),
        (100_003, 2, [7, 1], ElementType::INT8),
        (1, 200_000, [1, 200_000], ElementType::FLOAT8E4M3FN),
        (500, 512, [1, 512], ElementType::FLOAT8E4M3FN),
        (500, 512, [1, 32], ElementType::FLOAT4E2M1),
        (20, 9_998, [3, 34], ElementType::UINT4),
        (200_000, 1, [1, 1], ElementType::INT8),
        (1, 1, [128, 128], ElementType::FLOAT8E4M3FN),
    ] {
        let (elements, to) = (rows * columns, ElementType::BFLOAT16);
        let input = codes(&mut random, from, elements);
        let of_row = columns.div_ceil(block[1]);
        let count = rows.div_ceil(block[0]) * of_row;
        let scales: Vec<f32> = (0..count).map(|_| random.below(1 << 20) as f32 * 2f32.powi(-30)).collect();
        let scale = |at: u64| scales[(at / columns / block[0] * of_row + at % columns / block[1]) as usize];
        let values = floats(from, &input, elements);
        let products: Vec<f32> = (0..elements).map(|at| values[at as usize] * scale(at)).collect();
        let expected = [&[1; 7], cast(&products, to).as_slice()].concat();
        let plan = scaled(elements, columns, block, [from, to]);
        let scales = behind(scales.iter().flat_map(|scale| scale.to_le_bytes()).collect::<Vec<_>>().as_slice());
        let inputs: [&dyn ReadAt; 2] = [&behind(&input), &scales];
        let (made, lost, ends) = make(&plan, &inputs, 0).unwrap();
        assert!(made == expected, "{rows} x {columns}, {block:?}");
        let spec = wgpu_cast::CastSpec::new(ElementType::FLOAT, to);
        let bytes: Vec<u8> = products.iter().flat_map(|product| product.to_le_bytes()).collect();
        let error = cpu::largest_relative_error(&spec, &bytes, elements as usize, &expected[7..]).unwrap();
        assert_eq!(
            (lost.counts, lost.relative_error),
            (cpu::count_losses(&spec, &bytes, elements as usize).unwrap(), error)
        );
        for &start in ends.iter().step_by(1 + ends.len() / 5) {
            let (rest, ..) = make(&plan, &inputs, start).unwrap();
            assert!(rest == expected[start as usize..], "{rows} x {columns}, {block:?} from {start} on");
        }
    }
}

/// Zero points in each form, and second scales.
#[test]
fn zero_points_and_second_scales() {
    let mut random = Random::new(12);
    let (rows, columns, group) = (41u64, 4_000u64, 32u64);
    let (elements, count) = (rows * columns, rows * columns / group);
    let input = codes(&mut random, ElementType::UINT4, elements);
    let values = floats(ElementType::UINT4, &input, elements);
    let scales: Vec<f32> = (0..count).map(|at| (at % 97) as f32 * 0.125).collect();
    let zeros: Vec<i32> = (0..count).map(|_| random.below(16) as i32).collect();
    // Eight rows in a word, low bits first.
    let of_row = (columns / group) as usize;
    let word = |at: usize| {
        let rows = zeros.chunks(of_row).skip(at / of_row * 8).take(8);
        rows.enumerate().fold(0u32, |word, (row, zeros)| word | (zeros[at % of_row] as u32) << (4 * row))
    };
    let words: Vec<u8> = (0..of_row * 6).flat_map(|at| word(at).to_le_bytes()).collect();
    let bytes: Vec<u8> = zeros.iter().map(|&zero| zero as u8).collect();
    let scale_bytes: Vec<u8> = scales.iter().flat_map(|scale| scale.to_le_bytes()).collect();
    let inputs: [&dyn ReadAt; 4] = [&behind(&input), &behind(&scale_bytes), &behind(&bytes), &behind(&words)];
    let each = Some(zeros.clone());
    for (zero_points, zeros, second) in [
        (Some(ZeroPoints::One(8)), Some(vec![8; count as usize]), None),
        (Some(ZeroPoints::EachScale(tensor("z", 2, ElementType::INT8))), each.clone(), None),
        (Some(ZeroPoints::PackedColumns(tensor("z", 3, ElementType::INT32), 4)), each, None),
        (None, None, Some(SecondScale::Multiply(0.3))),
        (None, None, Some(SecondScale::Divide(0.3))),
    ] {
        let mut plan = scaled(elements, columns, [1, group], [ElementType::UINT4, ElementType::FLOAT]);
        (plan.zero_points, plan.second) = (zero_points, second);
        let product = |(at, value): (usize, &f32)| {
            let block = at / group as usize;
            let scale = match second {
                Some(SecondScale::Multiply(second)) => scales[block] * second,
                Some(SecondScale::Divide(second)) => scales[block] / second,
                None => scales[block],
            };
            (value - zeros.as_ref().map_or(0.0, |zeros| zeros[block] as f32)) * scale
        };
        let products: Vec<f32> = values.iter().enumerate().map(product).collect();
        let expected = [&[1; 7], cast(&products, ElementType::FLOAT).as_slice()].concat();
        assert!(make(&plan, &inputs, 0).unwrap().0 == expected, "{plan:?}");
    }
}

/// Pairs of codes of the transposed matrix.
#[test]
fn transposed_matrices() {
    let mut random = Random::new(13);
    for (rows, columns) in [(64u64, 1_500u64), (96, 2), (32, 40_000), (256, 200), (64, 64), (1_024, 42)] {
        let (from, to, elements) = (ElementType::FLOAT4E2M1, ElementType::BFLOAT16, rows * columns);
        let input = codes(&mut random, from, elements);
        let scales: Vec<u8> = (0..elements / 32).map(|_| 100 + random.below(40) as u8).collect();
        let (values, powers) =
            (floats(from, &input, elements), floats(ElementType::FLOAT8E8M0, &scales, elements / 32));
        let product = |at: u64| {
            let stored = at % columns * rows + at / columns;
            values[stored as usize] * powers[(stored / 32) as usize]
        };
        let products: Vec<f32> = (0..elements).map(product).collect();
        let expected = [&[1; 7], cast(&products, to).as_slice()].concat();
        let mut plan = scaled(elements, columns, [32, 1], [from, to]);
        (plan.transposed, plan.scales) = (true, tensor("s", 1, ElementType::FLOAT8E8M0));
        let inputs: [&dyn ReadAt; 2] = [&behind(&input), &behind(&scales)];
        let (made, _, ends) = make(&plan, &inputs, 0).unwrap();
        assert!(made == expected, "{rows} x {columns}");
        for &start in ends.iter().step_by(1 + ends.len() / 5) {
            assert!(make(&plan, &inputs, start).unwrap().0 == expected[start as usize..], "{rows} from {start} on");
        }
    }
}

/// Scales that are no numbers, found where they are; a file that is too short.
#[test]
fn scales_that_are_no_numbers() {
    let input = behind(&[0x38; 200_000]);
    let plan = scaled(200_000, 1000, [1, 100], [ElementType::FLOAT8E4M3FN, ElementType::FLOAT]);
    let refused = |plan: &ScaledCast, scales: &[f32]| {
        let scales = behind(scales.iter().flat_map(|scale| scale.to_le_bytes()).collect::<Vec<_>>().as_slice());
        let error = make(plan, &[&input, &scales], 0).map(drop).unwrap_err();
        assert!(matches!(error.cause(), FileCause::Malformed(_) | FileCause::Read { .. }), "{error:?}");
        assert_eq!(error.input(), Some(1));
        error.to_string()
    };
    let mut scales = vec![1f32; 2000];
    scales[1777] = f32::NAN;
    assert_eq!(refused(&plan, &scales), "tensor \"a\": the scale \"s\" is NaN at index 1777");
    scales[3] = f32::NEG_INFINITY;
    assert_eq!(refused(&plan, &scales), "tensor \"a\": the scale \"s\" is -inf at index 3");
    // The scale is a number, and its product with the second one is none.
    let second = ScaledCast { second: Some(SecondScale::Multiply(f32::MAX)), ..plan.clone() };
    assert_eq!(refused(&second, &[2.0; 2000]), "tensor \"a\": the scale \"s\" is inf at index 0");
    let short = refused(&plan, &[1.0; 1999]);
    assert!(short.starts_with("tensor \"s\": cannot read ") && short.ends_with("unexpected end of file"), "{short}");
    let zero = make(&plan, &[&input, &behind(&[0; 8000])], 0).unwrap().0;
    assert!(zero[7..].iter().all(|byte| *byte == 0));
}

/// What cannot be done is refused before an input is read.
#[test]
fn plans_that_do_not_fit_are_refused() {
    type Change = fn(&mut ScaledCast);
    let storage = "scales need packed codes, with rows and blocks that start at a byte (transposed ones 4 bits and even \
                   rows)";
    let cases: [(Change, &str); 16] = [
        (|plan| plan.columns = 0, "6 elements in rows of 0 are no matrix with blocks of 1 x 2"),
        (|plan| plan.columns = 4, "6 elements in rows of 4 are no matrix with blocks of 1 x 2"),
        (|plan| plan.block[0] = 0, "6 elements in rows of 6 are no matrix with blocks of 0 x 2"),
        (|plan| plan.block[1] = 0, "6 elements in rows of 6 are no matrix with blocks of 1 x 0"),
        (|plan| plan.scales.input = 2, "the plan reads input 2, but there are 2 inputs"),
        (|plan| plan.scales.offset = u64::MAX - 2, "a size in bytes overflows"),
        (
            |plan| plan.scales.element_type = ElementType::DOUBLE,
            "scales are floats and zero points integers of 8, 16 or 32 bits, not double",
        ),
        (
            |plan| plan.scales.element_type = ElementType::UINT8,
            "scales are floats and zero points integers of 8, 16 or 32 bits, not uint8",
        ),
        (
            |plan| plan.scales.element_type = ElementType::FLOAT4E2M1,
            "scales are floats and zero points integers of 8, 16 or 32 bits, not float4e2m1",
        ),
        (
            |plan| plan.zero_points = Some(ZeroPoints::EachScale(tensor("z", 1, ElementType::FLOAT))),
            "scales are floats and zero points integers of 8, 16 or 32 bits, not float",
        ),
        (
            |plan| plan.zero_points = Some(ZeroPoints::PackedColumns(tensor("z", 1, ElementType::INT32), 3)),
            "scales are floats and zero points integers of 8, 16 or 32 bits, not int32",
        ),
        (
            |plan| plan.zero_points = Some(ZeroPoints::EachScale(tensor("z", 3, ElementType::INT8))),
            "the plan reads input 3, but there are 2 inputs",
        ),
        (|plan| plan.cast.column_major = vec![2, 3], ""),
        (
            |plan| {
                plan.cast.from = TensorStorage::packed(ElementType::UINT4);
                plan.block[1] = 3;
            },
            "",
        ),
        (
            |plan| {
                plan.cast.to = TensorStorage::packed(ElementType::UINT4);
                plan.columns = 3;
            },
            "",
        ),
        (|plan| plan.transposed = true, ""),
    ];
    for (change, message) in cases {
        let mut plan = scaled(6, 6, [1, 2], [ElementType::FLOAT8E4M3FN, ElementType::FLOAT]);
        change(&mut plan);
        let error = make(&plan, &[&Unread, &Unread], 0).map(drop).unwrap_err();
        assert!(matches!(error.cause(), FileCause::TooLarge(_) | FileCause::Request(_)), "{error:?}");
        let message = if message.is_empty() { storage } else { message };
        assert_eq!(error.to_string(), format!("tensor \"a\": {message}"));
    }
    let plan = FilePlan {
        parts: vec![Part::Scaled(Box::new(scaled(6, 6, [1, 2], [ElementType::FLOAT8E4M3FN, ElementType::FLOAT])))],
    };
    let inputs: [&dyn ReadAt; 2] = [&Unread, &Unread];
    let error = files::write(&plan, &inputs, &StreamSettings::default(), &cpu::cast_counted, &mut |_| Ok(()));
    let message = "tensor \"a\": codes with scales need a function that casts them (write_scaled)";
    assert_eq!(error.unwrap_err().to_string(), message);
    let empty = scaled(0, 0, [1, 2], [ElementType::FLOAT8E4M3FN, ElementType::FLOAT]);
    assert_eq!(make(&empty, &[&Unread, &Unread], 0).unwrap().0, [1; 7]);
}
