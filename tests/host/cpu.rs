//! The CPU path against the independent oracle: every pair, every option that matters, every hard code.

use support::inputs::Inputs;
use support::options::{all_options, pair_variants, variants};
use support::tier::{Tier, count};
use support::{assert_error, assert_fault};
use support::{cases, numeric, oracle};
use wgpu_cast::{CastFault, CastOptions, CastSpec, ElementType, Error, Tensor, cpu, has_kernel, wgsl};

/// Casts `codes` on the CPU and lists the results that differ from the oracle's.
fn check_against_oracle(
    from: ElementType,
    to: ElementType,
    codes: &[u64],
    options: &wgpu_cast::CastOptions,
) -> Vec<String> {
    let tensor = Tensor::from_codes(from, [codes.len()], codes.iter().copied()).unwrap();
    let result = cpu::cast(&tensor, to, options).unwrap();
    let oracle = oracle(from, to, options);
    let wrong = codes.iter().zip(result.codes()).filter_map(|(&code, got)| {
        let expected = oracle.expected(code);
        (got != expected).then(|| format!("{from} {code:x} to {to} {options:?}: {got:x}, expected {expected:x}"))
    });
    wrong.take(5).collect()
}

fn judge_all(froms: &[ElementType]) {
    let mut wrong = Vec::new();
    for &from in froms {
        let codes = cases::codes(from);
        for to in numeric() {
            for options in variants(to) {
                wrong.extend(check_against_oracle(from, to, &codes, &options));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn sources_of_at_most_16_bits_give_what_the_oracle_says() {
    judge_all(&numeric().filter(|t| t.bits() <= Some(16)).collect::<Vec<_>>());
}

#[test]
fn float_gives_what_the_oracle_says() {
    judge_all(&[ElementType::FLOAT]);
}

#[test]
fn double_gives_what_the_oracle_says() {
    judge_all(&[ElementType::DOUBLE]);
}

#[test]
fn wide_integers_give_what_the_oracle_says() {
    use ElementType::*;
    judge_all(&[INT32, UINT32, INT64, UINT64]);
}

/// Inputs of the exhaustive checks at equal distances. With `WGPU_CAST_TESTS=exhaustive`, these are all inputs of 64
/// bits, which takes four minutes.
#[test]
fn inputs_of_exhaustive_checks_give_what_the_oracle_says() {
    for from in numeric().filter(|t| t.bits() > Some(16)) {
        let inputs = Inputs::of(from);
        let some = inputs.count() / count(100_000, 5_000) as u64;
        let all = Tier::chosen() == Tier::Exhaustive && from.bits() == Some(64);
        let step = if all { 1 } else { some | 1 };
        let mut indexes = (0..inputs.count()).step_by(step as usize).peekable();
        while indexes.peek().is_some() {
            let codes: Vec<u64> = indexes.by_ref().take(1 << 20).map(|index| inputs.code(index)).collect();
            for to in numeric() {
                for options in pair_variants(from, to) {
                    let wrong = check_against_oracle(from, to, &codes, &options);
                    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
                }
            }
        }
    }
}

/// Long tensors are cast on several threads, short ones on one thread, and from other places in the tensor.
#[test]
fn short_and_long_tensors_agree() {
    for from in numeric() {
        let codes: Vec<u64> = cases::random(from, count(200_003, 70_003), 7);
        for to in numeric() {
            let options = Default::default();
            let cast = |codes: &[u64]| {
                let tensor = Tensor::from_codes(from, [codes.len()], codes.iter().copied()).unwrap();
                cpu::cast(&tensor, to, &options).unwrap()
            };
            let long = cast(&codes);
            let last = codes.len() - 50_003;
            for (part, start) in [(1, 0), (3, 5), (7, 100), (13, 1000), (500, 1024), (1023, 60_000), (1025, last)] {
                let short = cast(&codes[start..start + part]);
                let expected = long.codes().skip(start).take(part);
                assert!(short.codes().eq(expected), "{from} to {to}, {part} elements from {start}");
                assert_eq!(short.bytes().unwrap().len() as u64, to.packed_bytes(part as u64).unwrap());
            }
        }
    }
}

/// An option changes nothing for a destination that ONNX's text about the option does not name.
#[test]
fn options_that_a_destination_does_not_look_at_change_nothing() {
    for from in numeric().filter(|t| t.bits() <= Some(16)) {
        let codes = cases::codes(from);
        let tensor = Tensor::from_codes(from, [codes.len()], codes).unwrap();
        for to in numeric() {
            let distinct = |options: &[wgpu_cast::CastOptions]| {
                let results = options.iter().map(|o| cpu::cast(&tensor, to, o).unwrap().into_bytes());
                results.collect::<std::collections::HashSet<_>>()
            };
            assert_eq!(distinct(&all_options()), distinct(&variants(to)), "{from} to {to}");
        }
    }
}

#[test]
fn every_pair_can_be_cast() {
    for &from in ElementType::ALL {
        let tensor = match from {
            ElementType::STRING => Tensor::from_strings([2], ["0", "1"]).unwrap(),
            from => Tensor::from_codes(from, [2], [0, 1]).unwrap(),
        };
        for &to in ElementType::ALL {
            let result = cpu::cast(&tensor, to, &Default::default());
            assert!(result.as_ref().is_ok_and(|result| result.element_type() == to), "{from} to {to}: {result:?}");
            let numeric = from != ElementType::STRING && to != ElementType::STRING;
            assert_eq!(has_kernel(from, to), numeric, "{from} to {to}");
            assert_eq!(
                wgsl::kernel(&CastSpec::new(from, to), wgsl::KernelVariant::Table).is_ok(),
                numeric,
                "{from} to {to}"
            );
        }
    }
}

#[test]
fn scalars_and_empty_tensors_keep_their_shape() {
    for from in numeric() {
        for to in numeric() {
            for (shape, count) in [(vec![], 1), (vec![0], 0), (vec![3, 0, usize::MAX], 0), (vec![1, 3], 3)] {
                let tensor = Tensor::from_codes(from, shape.clone(), vec![1; count]).unwrap();
                let result = cpu::cast(&tensor, to, &Default::default()).unwrap();
                assert_eq!(result.shape(), shape, "{from} to {to}");
                assert_eq!(result.len(), count);
                assert_eq!(result.element_type(), to);
            }
        }
    }
}

/// Bits after the last code in the caller's bytes may have any value.
#[test]
fn the_callers_bytes_give_what_a_tensor_gives() {
    for from in numeric() {
        for len in [0, 1, 3, 5, 1000, count(150_001, 66_001)] {
            let tensor = Tensor::from_codes(from, [len], cases::random(from, len, 5)).unwrap();
            let mut bytes = tensor.bytes().unwrap().to_vec();
            let used = len as u64 * u64::from(from.bits().unwrap()) % 8;
            if let Some(last) = bytes.last_mut().filter(|_| used > 0) {
                *last |= 0xff << used;
            }
            for to in numeric() {
                let expected = cpu::cast(&tensor, to, &CastOptions::default()).unwrap().into_bytes().unwrap();
                let mut destination = vec![0x5a; expected.len()];
                cpu::cast_bytes(&CastSpec::new(from, to), &bytes, len, &mut destination).unwrap();
                assert!(destination == expected, "{len} {from} to {to}");
            }
        }
    }
}

#[test]
fn bytes_of_another_length_are_an_error_and_nothing_is_written() {
    use ElementType::{FLOAT16, INT4, STRING};
    let mut destination = [0x5a; 8];
    for (from, source, len, to, written) in [
        (FLOAT16, 5, 3, INT4, 2),
        (FLOAT16, 7, 3, INT4, 2),
        (FLOAT16, 6, 3, INT4, 1),
        (FLOAT16, 6, 3, INT4, 3),
        (STRING, 6, 3, INT4, 2),
        (FLOAT16, 6, 3, STRING, 2),
        (FLOAT16, 6, usize::MAX, INT4, 2),
    ] {
        let destination = &mut destination[..written];
        let error = cpu::cast_bytes(&CastSpec::new(from, to), &vec![0; source], len, destination).unwrap_err();
        let is_right = match error {
            Error::Shape { element_type: FLOAT16, expected: Some(6), found, unit: "byte", .. } => {
                found == Some(source as u64) && written == 2
            }
            Error::Cast {
                from: FLOAT16,
                to: INT4,
                cause: CastFault::DestinationLength { expected: 2, found, .. },
                ..
            } => found == written as u64,
            Error::ElementWidth { element_type: STRING, .. } => [from, to].contains(&STRING),
            Error::Shape { element_type: FLOAT16, expected: None, .. } => len == usize::MAX,
            _ => false,
        };
        assert!(is_right, "{error}");
    }
    assert_eq!(destination, [0x5a; 8]);
}

/// `cast_into` writes what `cast` returns, whatever the memory held before. That includes the pad bits of the last
/// byte.
#[test]
fn the_callers_memory_gets_what_cast_returns() {
    for from in numeric() {
        for count in [0, 1, 3, 5, 1000, count(150_001, 66_001)] {
            let tensor = Tensor::from_codes(from, [count], cases::random(from, count, 3)).unwrap();
            for to in numeric() {
                let expected = cpu::cast(&tensor, to, &CastOptions::default()).unwrap().into_bytes().unwrap();
                let mut bytes = vec![0xff; expected.len()];
                cpu::cast_into(&tensor, to, &CastOptions::default(), &mut bytes).unwrap();
                assert!(bytes == expected, "{count} of {from} to {to}");
            }
        }
    }
}

/// The options also matter if both types are the same.
#[test]
fn the_callers_memory_gets_what_the_options_say() {
    let tensor = Tensor::from_slice([3], &[1e9f32, f32::NAN, -1.0]).unwrap();
    for saturate in [true, false] {
        let options = CastOptions::default().with_saturate(saturate);
        let mut bytes = [0x55; 3];
        cpu::cast_into(&tensor, ElementType::FLOAT8E5M2, &options, &mut bytes).unwrap();
        assert_eq!(bytes, [if saturate { 0x7b } else { 0x7c }, 0x7e, 0xbc]);
        let (e5m2, mut again) =
            (Tensor::from_bytes(ElementType::FLOAT8E5M2, [3], vec![0x7c, 0x7d, 0]).unwrap(), [0; 3]);
        cpu::cast_into(&e5m2, ElementType::FLOAT8E5M2, &options, &mut again).unwrap();
        assert_eq!(again, [if saturate { 0x7b } else { 0x7c }, 0x7d, 0]);
    }
}

#[test]
fn memory_of_another_length_is_left_alone() {
    let tensor = Tensor::from_slice([5], &[1.0f32; 5]).unwrap();
    for found in [0, 2, 4, 20] {
        let mut bytes = vec![0xaa; found];
        let error = cpu::cast_into(&tensor, ElementType::INT4, &CastOptions::default(), &mut bytes).unwrap_err();
        let types = [ElementType::FLOAT, ElementType::INT4];
        assert_fault!(error, types, DestinationLength { expected: 3, found: found as u64 });
        assert!(bytes.iter().all(|&byte| byte == 0xaa));
        assert_eq!(error.to_string(), format!("casting float to int4: the destination must have 3 bytes, got {found}"));
    }
}

#[test]
fn strings_are_not_cast_into_memory() {
    let (strings, numbers) = (Tensor::from_strings([1], ["1"]).unwrap(), Tensor::from_slice([1], &[1.0f32]).unwrap());
    let mut bytes = [0xaa; 4];
    for (tensor, to) in
        [(&strings, ElementType::FLOAT), (&numbers, ElementType::STRING), (&strings, ElementType::STRING)]
    {
        let error = cpu::cast_into(tensor, to, &CastOptions::default(), &mut bytes).unwrap_err();
        assert_error!(error, ElementWidth { element_type: ElementType::STRING, allowed: 64 });
        assert_eq!(bytes, [0xaa; 4]);
    }
}
