//! Compares divisions with quotients in binary64. Such a quotient has so many bits that rounding it to FLOAT gives the bits of
//! the exact one.

use super::*;
use crate::cpu::cast_divided_counted;

/// The FLOAT of `x / scale`. `code` is that of `x` in binary64.
fn quotient(code: u64, scale: f32) -> u32 {
    let (x, sign) = (f64::from_bits(code), |is_negative: bool| if is_negative { 0xffc0_0000 } else { 0x7fc0_0000 });
    let quotient = x / f64::from(scale);
    match quotient.is_nan() {
        true if x.is_nan() => sign(code >> 63 == 1),
        true => sign(scale.is_nan() && scale.is_sign_negative()),
        false => (quotient as f32).to_bits(),
    }
}

#[test]
fn every_source_gives_the_bits_of_the_exact_quotient() {
    let mut random = Random::new(49);
    let to_double = oracle(ElementType::FLOAT, ElementType::DOUBLE);
    for from in types().filter(|&from| zero_points(from).is_some()) {
        let to_float = oracle(from, ElementType::FLOAT);
        for to in [ElementType::FLOAT8E4M3FN, ElementType::FLOAT8E5M2, ElementType::FLOAT4E2M1, ElementType::FLOAT] {
            let encoder = oracle(ElementType::FLOAT, to);
            let [shape, block] = random_shape(&mut random, support::tier::count(3000, 300));
            let elements: usize = shape.iter().product();
            let mask = u64::MAX >> (64 - from.code_bits());
            let codes: Vec<u64> = (0..elements).map(|_| random.next() & mask).collect();
            let values: Vec<f32> = (0..blocks(&shape, &block)).map(|_| random_scale(&mut random)).collect();
            let scales = Scales::new(&shape, &block, &values).unwrap();
            let floats: Vec<u32> = codes
                .iter()
                .zip(scale_indexes(&shape, &block))
                .map(|(&code, index)| quotient(to_double.expected(to_float.expected(code)), values[index]))
                .collect();
            let expected = floats.iter().map(|&float| encoder.expected(float.into()));
            let expected = Tensor::from_codes(to, [elements], expected).unwrap();
            let source = Tensor::from_codes(from, [elements], codes.iter().copied()).unwrap();
            let spec = CastSpec::new(from, to);
            let mut found = vec![0xa5; expected.bytes().unwrap().len()];
            let lost = cast_divided_counted(&spec, &scales, source.bytes().unwrap(), &mut found).unwrap();
            assert!(found == expected.bytes().unwrap(), "{from} to {to}, shape {shape:?}, block {block:?}");
            let floats: Vec<u8> = floats.iter().flat_map(|float| float.to_le_bytes()).collect();
            let cast = crate::cpu::count_losses(&CastSpec::new(ElementType::FLOAT, to), &floats, elements).unwrap();
            assert_eq!(lost, cast, "{from} to {to}, shape {shape:?}, block {block:?}");
        }
    }
}

/// More than two chunks of a thread, in blocks that end anywhere.
#[test]
fn each_element_is_divided_by_the_scale_of_its_block() {
    for (shape, block) in
        [([300, 300], [128, 128]), ([1000, 150], [1, 150]), ([3, CHUNK + 5], [2, 32]), ([3, 5], [3, 5])]
    {
        let values: Vec<f32> = (0..blocks(&shape, &block)).map(|i| (i + 1) as f32).collect();
        let scales = Scales::new(&shape, &block, &values).unwrap();
        let expected: Vec<u8> =
            scale_indexes(&shape, &block).into_iter().flat_map(|i| (1.0 / values[i]).to_le_bytes()).collect();
        let (ones, mut found) = (vec![1; shape[0] * shape[1]], vec![0xa5; expected.len()]);
        let spec = CastSpec::new(ElementType::UINT8, ElementType::FLOAT);
        cast_divided_counted(&spec, &scales, &ones, &mut found).unwrap();
        assert!(found == expected, "shape {shape:?}, block {block:?}");
    }
}

#[test]
fn zero_points_and_empty_tensors() {
    let spec = CastSpec::new(ElementType::UINT8, ElementType::FLOAT8E4M3FN);
    let scales = Scales::new(&[2], &[1], &[1.0, 1.0]).unwrap().with_zero_points(&[0, 3]).unwrap();
    let mut codes = [0xa5; 2];
    let refused = cast_divided_counted(&spec, &scales, &[1, 2], &mut codes).unwrap_err();
    let expected = "casting uint8 to float8e4m3fn: the zero point 3 of block 1 must be 0 in a division by scales";
    assert_eq!((refused.to_string(), codes), (expected.to_owned(), [0xa5; 2]));
    let empty = Scales::new(&[0, 3], &[1, 3], &[]).unwrap();
    assert_eq!(cast_divided_counted(&spec, &empty, &[], &mut []), Ok(LossCounts::default()));
}
