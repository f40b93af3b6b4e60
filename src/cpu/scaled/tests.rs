//! Compares scaled casts with products in binary64, which holds the product of two FLOATs exactly, bit for bit, on every
//! instruction set of the processor.

mod divide;

use support::oracle::{Oracle, Round, Rules};
use support::random::Random;

use super::pieces::REGISTER_PIECE;
use super::*;
use crate::cpu::convert::CHUNK;
use crate::cpu::isa::IsaName;
use crate::cpu::non_temporal::LINE;
use crate::types::error::Error;
use crate::types::tensor::Tensor;

/// The rules of the default options.
const RULES: Rules = Rules { saturate: true, round_mode: Round::Up, int4_clamp: false, float4_nan_max: false };

fn types() -> impl Iterator<Item = ElementType> {
    ElementType::ALL.iter().copied().filter(|t| t.is_numeric())
}

fn oracle(from: ElementType, to: ElementType) -> Oracle {
    Oracle::new(from.name(), to.name(), RULES)
}

/// The index of the scale of each element, by definition.
fn scale_indexes(shape: &[usize], block: &[usize]) -> Vec<usize> {
    let elements = shape.iter().product();
    let index_of = |element: usize| {
        let (mut rest, mut index, mut step) = (element, 0, 1);
        for (&len, &block) in shape.iter().zip(block).rev() {
            index += rest % len / block * step;
            step *= len.div_ceil(block);
            rest /= len;
        }
        index
    };
    (0..elements).map(index_of).collect()
}

/// The number of blocks.
fn blocks(shape: &[usize], block: &[usize]) -> usize {
    shape.iter().zip(block).map(|(&len, &block)| len.div_ceil(block)).product()
}

/// Up to four axes, and blocks that often divide them or cover them.
fn random_shape(random: &mut Random, most: usize) -> [Vec<usize>; 2] {
    let mut left = most;
    let mut shape: Vec<usize> = Vec::new();
    for _ in 0..random.below(5) {
        let len = 1 + if random.one_in(3) { random.below(left.min(4)) } else { random.below(left) };
        left /= len;
        shape.push(len);
    }
    let block = shape.iter().map(|&len| match random.below(5) {
        0 => 1,
        1 => len,
        2 => *random.pick(&[2, 3, 16, 32, 128]),
        3 => len + random.below(3),
        _ => 1 + random.below(len),
    });
    [shape.clone(), block.collect()]
}

/// Any FLOAT: common ones, powers of two, and hostile ones.
fn random_scale(random: &mut Random) -> f32 {
    let special =
        [0.0, -0.0, 1.0, -1.0, f32::INFINITY, -f32::INFINITY, f32::NAN, -f32::NAN, f32::MAX, f32::from_bits(1)];
    match random.below(8) {
        0 => *random.pick(&special),
        1 => f32::from_bits(random.next() as u32),
        2 => f32::from_bits(0xff80_0001),
        3 => f32::from_bits((random.next() as u32 % 255) << 23),
        4 => f32::from_bits(random.next() as u32 & 0x80ff_ffff),
        _ => f32::from_bits(0x3a00_0000 + random.next() as u32 % 0x0800_0000),
    }
}

/// The FLOAT of `(x − zero point) · scale`, by exact arithmetic. `code` is that of `x` in binary64.
fn product(code: u64, zero_point: i32, scale: f32) -> u32 {
    let x = f64::from_bits(code) - f64::from(zero_point);
    let exact = x * f64::from(scale);
    let sign = |is_negative: bool| if is_negative { 0xffc0_0000 } else { 0x7fc0_0000 };
    match exact.is_nan() {
        true if f64::from_bits(code).is_nan() => sign(code >> 63 == 1),
        true => sign(scale.is_nan() && scale.is_sign_negative()),
        false => (exact as f32).to_bits(),
    }
}

/// The result of a cast on an instruction set.
fn cast_on(isa: Isa, spec: &CastSpec, scales: &Scales<'_>, source: &[u8]) -> Vec<u8> {
    let bytes = spec.to.packed_bytes(scales.elements().unwrap() as u64).unwrap() as usize;
    let mut destination = vec![0xa5; bytes];
    let scaled = ScaledCast::new(spec, scales, [CodeLayout::Packed; 2], [source.len(), bytes]).unwrap();
    scaled.convert(isa, scales, source, &mut destination, None);
    destination
}

fn random_zero_points(random: &mut Random, from: ElementType, len: usize) -> Vec<i32> {
    let range = zero_points(from).unwrap();
    let span = (range.end() - range.start()) as usize + 1;
    (0..len).map(|_| range.start() + random.below(span) as i32).collect()
}

#[test]
fn every_source_gives_the_bits_of_the_exact_product() {
    let mut random = Random::new(48);
    let encoders: Vec<_> = types().map(|to| (to, oracle(ElementType::FLOAT, to))).collect();
    let mut sources = 0;
    for from in types().filter(|&from| zero_points(from).is_some()) {
        sources += 1;
        // INT32 is rounded to FLOAT first.
        let to_float = oracle(from, ElementType::FLOAT);
        let to_double = oracle(ElementType::FLOAT, ElementType::DOUBLE);
        for (to, encoder) in &encoders {
            let [shape, block] = random_shape(&mut random, support::tier::count(3000, 300));
            let elements: usize = shape.iter().product();
            let mask = u64::MAX >> (64 - from.code_bits());
            let codes: Vec<u64> = (0..elements).map(|_| random.next() & mask).collect();
            let values: Vec<f32> = (0..blocks(&shape, &block)).map(|_| random_scale(&mut random)).collect();
            let mut scales = Scales::new(&shape, &block, &values).unwrap();
            let points = random_zero_points(&mut random, from, values.len());
            if random.one_in(2) {
                scales = scales.with_zero_points(&points).unwrap();
            }
            let expected = codes.iter().zip(scale_indexes(&shape, &block)).map(|(&code, index)| {
                let point = scales.zero_points.get(index).copied().unwrap_or(0);
                let float = product(to_double.expected(to_float.expected(code)), point, values[index]);
                encoder.expected(float.into())
            });
            let expected = Tensor::from_codes(*to, [elements], expected).unwrap();
            let source = Tensor::from_codes(from, [elements], codes.iter().copied()).unwrap();
            for isa in Isa::all().flatten() {
                let found = cast_on(isa, &CastSpec::new(from, *to), &scales, source.bytes().unwrap());
                let wrong = found.iter().zip(expected.bytes().unwrap()).position(|(found, expected)| found != expected);
                assert_eq!(wrong, None, "{from} to {to} on {isa:?}, shape {shape:?}, block {block:?}");
            }
        }
    }
    assert_eq!(sources, 20);
}

/// A source of ones gives the scales.
fn assert_scales_apply(shape: &[usize], block: &[usize]) {
    let values: Vec<f32> = (0..blocks(shape, block)).map(|i| i as f32).collect();
    let scales = Scales::new(shape, block, &values).unwrap();
    let expected: Vec<u8> =
        scale_indexes(shape, block).into_iter().flat_map(|index| (index as f32).to_le_bytes()).collect();
    let ones = vec![1; scales.elements().unwrap()];
    for isa in Isa::all().flatten() {
        let found = cast_on(isa, &CastSpec::new(ElementType::UINT8, ElementType::FLOAT), &scales, &ones);
        assert!(found == expected, "shape {shape:?}, block {block:?} on {isa:?}");
    }
}

#[test]
fn each_element_has_the_scale_of_its_block() {
    for (shape, block) in [
        (&[][..], &[][..]),
        (&[1], &[1]),
        (&[7], &[3]),
        (&[4, 6], &[1, 2]),
        (&[4, 7], &[1, 2]),
        (&[5, 7], &[2, 7]),
        (&[1, 7], &[1, 4]),
        (&[3, 1, 7], &[1, 1, 3]),
        (&[3, 1, 8], &[2, 1, 4]),
        (&[4, 3, 6], &[1, 2, 3]),
        (&[300, 300], &[128, 128]),
        // More than two chunks of a thread.
        (&[1000, 150], &[128, 128]),
        (&[3, CHUNK + 5], &[2, 32]),
    ] {
        assert_scales_apply(shape, block);
    }
    let mut random = Random::new(7);
    for _ in 0..support::tier::count(300, 30) {
        let [shape, block] = random_shape(&mut random, 6000);
        assert_scales_apply(&shape, &block);
    }
}

/// With codes of fewer than 8 bits one in each byte, whose other bits are ignored and become zero.
#[test]
fn codes_lie_one_in_each_byte() {
    use CodeLayout::{OnePerByte, Packed};
    let (shape, block) = ([5, 7], [2, 3]);
    let values: Vec<f32> = (0..9).map(|i| 0.25 * i as f32).collect();
    let scales = Scales::new(&shape, &block, &values).unwrap().with_zero_points(&[3; 9]).unwrap();
    let codes: Vec<u8> = (0..35u8).map(|i| i.wrapping_mul(77)).collect();
    let mut packed = [0; 18];
    crate::cpu::pack_codes(ElementType::INT4, &codes, &mut packed).unwrap();
    let spec = CastSpec::new(ElementType::INT4, ElementType::FLOAT6E2M3);
    let mut expected = [0; 27];
    let lost = cast_scaled_counted(&spec, &scales, &packed, &mut expected).unwrap();
    assert_eq!((lost.saturated, lost.total()), (6, 9));
    let mut in_bytes = [0; 35];
    crate::cpu::unpack_codes(spec.to, &expected, &mut in_bytes).unwrap();
    for (from, source) in [(Packed, &packed[..]), (OnePerByte, &codes)] {
        for (to, expected) in [(Packed, &expected[..]), (OnePerByte, &in_bytes)] {
            let mut found = vec![0xa5; expected.len()];
            cast_scaled_codes(&spec, &scales, [from, to], source, &mut found).unwrap();
            assert_eq!(found, expected);
            found.fill(0xa5);
            let counts = cast_scaled_codes_counted(&spec, &scales, [from, to], source, &mut found);
            assert_eq!((counts, found.as_slice()), (Ok(lost), expected));
        }
    }
    let error = cast_scaled_codes(&spec, &scales, [OnePerByte, Packed], &packed, &mut [0; 27]).unwrap_err();
    assert_eq!(error.to_string(), "shape [5, 7] of int4 needs 35 bytes, got 18");
}

#[test]
fn empty_tensors_may_have_one_scale_or_none() {
    for (shape, block, values) in [
        (&[0][..], &[0][..], &[1.0][..]),
        (&[0, 5], &[0, 5], &[1.0]),
        (&[0, 5], &[1, 5], &[]),
        (&[5, 0], &[1, 0], &[1.0; 5]),
        (&[usize::MAX, 0, usize::MAX], &[1, 1, 1], &[]),
    ] {
        let scales = Scales::new(shape, block, values).unwrap();
        let spec = CastSpec::new(ElementType::INT4, ElementType::FLOAT16);
        assert_eq!(cast_scaled(&spec, &scales, &[], &mut []), Ok(()));
        assert_eq!(cast_scaled_counted(&spec, &scales, &[], &mut []), Ok(LossCounts::default()));
    }
}

/// The result and the losses of a cast with non-temporal stores. It begins `offset` bytes after a line.
fn past_caches_on(
    isa: Isa,
    spec: &CastSpec,
    scales: &Scales<'_>,
    source: &[u8],
    offset: usize,
    counts: bool,
) -> (Vec<u8>, Option<LossCounts>) {
    let bytes = spec.to.packed_bytes(scales.elements().unwrap() as u64).unwrap() as usize;
    let mut memory = vec![0xa5; bytes + 2 * LINE];
    let start = memory.as_ptr().align_offset(LINE) + offset;
    let mut scaled = ScaledCast::new(spec, scales, [CodeLayout::Packed; 2], [source.len(), bytes]).unwrap();
    scaled.past_caches = true;
    let counted = counts.then(|| Counted::new(&scaled, scales, isa));
    scaled.convert(isa, scales, source, &mut memory[start..start + bytes], counted.as_ref());
    let result = memory[start..start + bytes].to_vec();
    memory.drain(start..start + bytes);
    assert!(memory.iter().all(|&byte| byte == 0xa5), "bytes beside the result");
    (result, counted.map(|counted| counted.lost.into_inner().unwrap()))
}

/// The results and the losses of a cast on an instruction set.
fn counted_on(isa: Isa, spec: &CastSpec, scales: &Scales<'_>, source: &[u8]) -> (Vec<u8>, LossCounts) {
    let bytes = spec.to.packed_bytes(scales.elements().unwrap() as u64).unwrap() as usize;
    let mut destination = vec![0xa5; bytes];
    let scaled = ScaledCast::new(spec, scales, [CodeLayout::Packed; 2], [source.len(), bytes]).unwrap();
    let counted = Counted::new(&scaled, scales, isa);
    scaled.convert(isa, scales, source, &mut destination, Some(&counted));
    (destination, counted.lost.into_inner().unwrap())
}

/// The sources that have loops in registers, with AVX2 and AVX-512.
const IN_REGISTERS: [ElementType; 6] = {
    use ElementType::{FLOAT4E2M1, FLOAT8E4M3FN, INT4, INT8, UINT4, UINT8};
    [FLOAT8E4M3FN, INT8, UINT8, INT4, UINT4, FLOAT4E2M1]
};

/// Portable code has no such loops. The scales that give NaN are in some blocks only, and there are none in most casts.
#[test]
fn loops_in_registers_give_the_bits_and_losses_of_portable_code() {
    let mut random = Random::new(9);
    for from in IN_REGISTERS {
        for (shape, block) in [
            (&[1][..], &[1][..]),
            (&[5003], &[5003]),
            (&[2 * REGISTER_PIECE + 16], &[16]),
            (&[3, 2096], &[1, 32]),
            (&[2, 32, 80], &[1, 16, 48]),
            (&[140, 272], &[128, 128]),
            (&[7, 2064], &[1, 4000]),
            (&[3, CHUNK + 16], &[2, 64]),
            (&[9, 2080], &[1, 128]),
            (&[5, 4128], &[2, 512]),
            (&[5 * REGISTER_PIECE + 3], &[4096]),
            (&[11, 96], &[1, 64]),
        ] {
            let elements: usize = shape.iter().product();
            let source: Vec<u8> =
                (0..from.packed_bytes(elements as u64).unwrap()).map(|_| random.next() as u8).collect();
            for to in [ElementType::FLOAT, ElementType::FLOAT16, ElementType::BFLOAT16] {
                let any = random.one_in(3);
                // Most products are numbers of FLOAT16, or many become 0, subnormal or infinite.
                let exponents = if random.one_in(2) { 0x74..0x84 } else { 0x60..0x98 };
                let values: Vec<f32> = (0..blocks(shape, block))
                    .map(|_| match any && random.one_in(20) {
                        true => random_scale(&mut random),
                        false => {
                            let exponent = exponents.start + random.next() as u32 % exponents.len() as u32;
                            f32::from_bits(exponent << 23 | random.next() as u32 >> 9)
                        }
                    })
                    .collect();
                let points = random_zero_points(&mut random, from, values.len());
                let mut scales = Scales::new(shape, block, &values).unwrap();
                if random.one_in(2) {
                    scales = scales.with_zero_points(&points).unwrap();
                }
                let spec = CastSpec::new(from, to);
                let expected = counted_on(Isa::Portable, &spec, &scales, &source);
                for isa in Isa::all().flatten() {
                    let case = || format!("{from} to {to} on {isa:?}, shape {shape:?}, block {block:?}");
                    assert!(cast_on(isa, &spec, &scales, &source) == expected.0, "{}", case());
                    assert!(counted_on(isa, &spec, &scales, &source) == expected, "counted {}", case());
                    for offset in [0, random.below(LINE), random.below(LINE / 4) * 4] {
                        let counts = random.one_in(2);
                        let found = past_caches_on(isa, &spec, &scales, &source, offset, counts);
                        let expected = (expected.0.clone(), counts.then_some(expected.1));
                        assert!(found == expected, "past the caches, {offset} after a line: {}", case());
                    }
                    let scaled =
                        ScaledCast::new(&spec, &scales, [CodeLayout::Packed; 2], [source.len(), expected.0.len()]);
                    let ScaledCast { decode, encode, .. } = scaled.unwrap();
                    let found = product_loop(isa, &scales, &scales.rows(), [&decode, &encode]);
                    assert_eq!(found.is_some(), matches!(isa.name(), IsaName::Avx2 | IsaName::Avx512), "{}", case());
                }
            }
        }
    }
}

/// The bits after the last code are no element.
#[test]
fn losses_do_not_have_the_bits_after_the_last_code() {
    for from in [ElementType::INT4, ElementType::FLOAT4E2M1] {
        for (code, zeros) in [(0x00, 2047), (0x11, 0)] {
            let mut source = vec![code; 1024];
            source[1023] &= 0x0f;
            let values = [1e-9];
            let scales = Scales::new(&[2047], &[2047], &values).unwrap();
            for isa in Isa::all().flatten() {
                let (_, lost) = counted_on(isa, &CastSpec::new(from, ElementType::FLOAT16), &scales, &source);
                assert_eq!([lost.zero, lost.total()], [2047 - zeros; 2], "{from} on {isa:?}");
            }
        }
    }
}

/// Losses that the results tell do not need the products.
#[test]
fn results_tell_common_losses() {
    use ElementType::{BFLOAT16, FLOAT16, INT8, UINT4};
    let known = |from, to, scale: f32, zero_points: &[i32]| {
        let values = [scale; 2];
        let mut scales = Scales::new(&[64], &[32], &values).unwrap();
        if !zero_points.is_empty() {
            scales = scales.with_zero_points(zero_points).unwrap();
        }
        let bytes = [from, to].map(|of: ElementType| of.packed_bytes(64).unwrap() as usize);
        let scaled = ScaledCast::new(&CastSpec::new(from, to), &scales, [CodeLayout::Packed; 2], bytes).unwrap();
        Counted::new(&scaled, &scales, Isa::best()).losses_of([scale; 2])
    };
    let f8 = ElementType::FLOAT8E4M3FN;
    assert_eq!(known(f8, BFLOAT16, 0.0021, &[]), Losses::None);
    assert_eq!(known(f8, FLOAT16, 1.0, &[]), Losses::None);
    assert_eq!(known(f8, ElementType::FLOAT, 0.0, &[]), Losses::None);
    // Some products become subnormal, 0 or infinite.
    let range = |scale| Losses::InResults([scale * 2f32.powi(-9), scale * 512.0]);
    for scale in [0.0021, 1e-6, 1000.0] {
        assert_eq!(known(f8, FLOAT16, scale, &[]), range(scale));
    }
    // Elements that are not 0 may become the FLOAT 0, or ∞.
    assert_eq!(known(f8, FLOAT16, 1e-44, &[]), Losses::Unknown);
    assert_eq!(known(f8, FLOAT16, 1e37, &[]), Losses::Unknown);
    // A result that is 0 can have a product or an element that is 0.
    assert_eq!(known(UINT4, FLOAT16, 1e-8, &[8, 8]), Losses::Unknown);
    assert_eq!(known(INT8, FLOAT16, 1e-8, &[]), Losses::InResults([1e-8, 256.0 * 1e-8]));
}

/// Every code with scales of many exponents, of which the largest and the smallest leave FLOAT's range. A tensor has one
/// scale, so that none keeps another one from a loop in registers.
#[test]
fn every_code_has_the_exact_product_with_any_scale() {
    let mut random = Random::new(11);
    let to_double = oracle(ElementType::FLOAT, ElementType::DOUBLE);
    let encoders = [ElementType::FLOAT, ElementType::FLOAT16, ElementType::BFLOAT16]
        .map(|to| (to, oracle(ElementType::FLOAT, to)));
    let regular = (0..64).map(|i| f32::from_bits((i << 25) | (i * 0x1_5551)));
    let scales: Vec<f32> =
        regular.chain((0..support::tier::count(300, 30)).map(|_| random_scale(&mut random))).collect();
    for from in IN_REGISTERS {
        // Enough for whole steps of a loop.
        let shape = [256 + 5];
        let codes = (0..shape[0] as u64).map(|i| i & ((1 << from.code_bits()) - 1));
        let to_float = oracle(from, ElementType::FLOAT);
        let numbers: Vec<u64> = codes.clone().map(|code| to_double.expected(to_float.expected(code))).collect();
        let source = Tensor::from_codes(from, shape, codes).unwrap();
        for &scale in &scales {
            let (values, point) = ([scale], random_zero_points(&mut random, from, 1));
            let scales = Scales::new(&shape, &shape, &values).unwrap().with_zero_points(&point).unwrap();
            let products: Vec<u64> = numbers.iter().map(|&number| product(number, point[0], scale).into()).collect();
            for (to, encoder) in &encoders {
                let expected = products.iter().map(|&float| encoder.expected(float));
                let expected = Tensor::from_codes(*to, shape, expected).unwrap();
                for isa in Isa::all().flatten() {
                    let found = cast_on(isa, &CastSpec::new(from, *to), &scales, source.bytes().unwrap());
                    assert!(found == expected.bytes().unwrap(), "{from} to {to} on {isa:?}, {scale:?}, {point:?}");
                }
            }
        }
    }
}

#[test]
fn losses_are_those_of_the_cast_from_float() {
    let mut random = Random::new(3);
    let shape = [3, 2 * CHUNK - 77];
    let values: Vec<f32> = (0..3).map(|i| [1.0, 1e6, 1e-9][i]).collect();
    let scales = Scales::new(&shape, &[1, usize::MAX], &values).unwrap();
    let source: Vec<u8> = (0..shape[0] * shape[1]).map(|_| random.next() as u8).collect();
    for to in [ElementType::FLOAT16, ElementType::FLOAT, ElementType::UINT4, ElementType::FLOAT8E4M3FN] {
        let floats = cast_on(Isa::best(), &CastSpec::new(ElementType::INT8, ElementType::FLOAT), &scales, &source);
        let spec = CastSpec::new(ElementType::FLOAT, to);
        let mut expected = vec![0; to.packed_bytes(source.len() as u64).unwrap() as usize];
        let lost = crate::cpu::cast_counted(&spec, &floats, source.len(), &mut expected).unwrap();
        let mut found = vec![0; expected.len()];
        let spec = CastSpec::new(ElementType::INT8, to);
        assert_eq!(cast_scaled_counted(&spec, &scales, &source, &mut found), Ok(lost), "{to}");
        assert!(found == expected, "{to}");
        assert_eq!(lost.total() == 0, to == ElementType::FLOAT, "{to}");
    }
}

#[test]
fn scales_that_do_not_fit_are_errors() {
    let text = |shape: &[usize], block: &[usize], values: usize| {
        Scales::new(shape, block, &vec![1.0; values]).unwrap_err().to_string()
    };
    assert_eq!(text(&[4, 8], &[8], 4), "scales of shape [4, 8] in blocks [8]: the numbers of axes differ");
    assert_eq!(
        text(&[4, 8], &[1, 0], 4),
        "scales of shape [4, 8] in blocks [1, 0]: the block has no elements along axis 1"
    );
    assert_eq!(text(&[4, 9], &[2, 8], 3), "scales of shape [4, 9] in blocks [2, 8]: 4 scales needed, got 3");
    assert_eq!(text(&[2], &[2], 0), "scales of shape [2] in blocks [2]: 1 scale needed, got 0");
    assert_eq!(
        text(&[usize::MAX, 2], &[1, 1], 3),
        format!("scales of shape [{}, 2] in blocks [1, 1]: {} scales needed, got 3", usize::MAX, u64::MAX)
    );
    let scales = Scales::new(&[4, 9], &[2, 8], &[1.0; 4]).unwrap();
    assert_eq!(
        scales.with_zero_points(&[0; 5]).unwrap_err().to_string(),
        "scales of shape [4, 9] in blocks [2, 8]: 4 zero points needed, got 5"
    );
}

#[test]
fn casts_that_do_not_fit_are_errors() {
    use ElementType::{BOOL, DOUBLE, FLOAT, FLOAT16, INT4, INT32, INT64, STRING, UINT8, UINT32};
    let text = |from, to, points: &[i32], source: usize, destination: usize| {
        let mut scales = Scales::new(&[3], &[2], &[1.0; 2]).unwrap();
        if !points.is_empty() {
            scales = scales.with_zero_points(points).unwrap();
        }
        let mut result = vec![0xa5; destination];
        let spec = CastSpec::new(from, to);
        let error = cast_scaled(&spec, &scales, &vec![0; source], &mut result).unwrap_err();
        assert_eq!(cast_scaled_counted(&spec, &scales, &vec![0; source], &mut result), Err(error.clone()));
        assert_eq!(result, vec![0xa5; destination]);
        error.to_string()
    };
    let types = "scales apply to floats of at most 32 bits, to integers of at most 16 bits and to int32";
    for from in [BOOL, DOUBLE, INT64, UINT32] {
        assert_eq!(text(from, FLOAT, &[], 0, 0), format!("casting {from} to float: {types}"));
    }
    assert_eq!(text(INT4, STRING, &[], 2, 0), "string elements have no fixed width");
    assert_eq!(text(STRING, INT4, &[], 0, 2), "string elements have no fixed width");
    assert_eq!(text(INT4, FLOAT, &[], 3, 12), "shape [3] of int4 needs 2 bytes, got 3");
    assert_eq!(text(INT4, FLOAT, &[], 2, 11), "casting int4 to float: the destination must have 12 bytes, got 11");
    let point = |from, points, bytes, rest: &str| {
        assert_eq!(text(from, FLOAT, points, bytes, 12), format!("casting {from} to float: the zero point {rest}"));
    };
    point(INT4, &[7, 8], 2, "8 of block 1 is out of range for int4");
    point(INT4, &[-9, 8], 2, "-9 of block 0 is out of range for int4");
    point(UINT8, &[255, -1], 3, "-1 of block 1 is out of range for uint8");
    point(INT32, &[0, 1], 12, "1 of block 1 must be 0 for int32");
    point(FLOAT16, &[0, -1], 6, "-1 of block 1 must be 0 for float16");
    let scales = Scales::new(&[usize::MAX, 2], &[usize::MAX, 2], &[1.0]).unwrap();
    assert_eq!(
        cast_scaled(&CastSpec::new(UINT8, FLOAT), &scales, &[], &mut []).map_err(|error: Error| error.to_string()),
        Err(format!("shape [{}, 2] of uint8 is too large: its size overflows", usize::MAX))
    );
}
