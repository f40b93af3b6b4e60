//! The CPU path against the independent oracle: every pair, every option that matters, every hard code.

mod common;

use common::{all_options, cases, numeric, oracle, variants};
use wgpu_cast::{ElementType, Tensor, can_cast, cpu, has_kernel};

/// Casts `codes` on the CPU and lists what the oracle says otherwise.
fn judge(from: ElementType, to: ElementType, codes: &[u64], options: &wgpu_cast::CastOptions) -> Vec<String> {
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
                wrong.extend(judge(from, to, &codes, &options));
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

/// Few elements go without the table and the threads; many go with both. The codes come in another order each time.
#[test]
fn short_and_long_tensors_agree() {
    for from in numeric() {
        let codes: Vec<u64> = cases::random(from, 200_003, 7);
        for to in numeric() {
            let options = Default::default();
            let cast = |codes: &[u64]| {
                let tensor = Tensor::from_codes(from, [codes.len()], codes.iter().copied()).unwrap();
                cpu::cast(&tensor, to, &options).unwrap()
            };
            let long = cast(&codes);
            for (part, start) in [(1, 0), (3, 5), (7, 100), (13, 1000), (500, 1024), (1023, 60_000), (1025, 150_000)] {
                let short = cast(&codes[start..start + part]);
                let expected = long.codes().skip(start).take(part);
                assert!(short.codes().eq(expected), "{from} to {to}, {part} elements from {start}");
                assert_eq!(short.bytes().unwrap().len() as u64, to.packed_bytes(part as u64).unwrap());
            }
        }
    }
}

/// An option changes nothing where ONNX's text does not name the destination.
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
fn can_cast_says_what_cast_does() {
    for &from in ElementType::ALL {
        let tensor = match from {
            ElementType::STRING => Tensor::from_strings([2], ["0", "1"]).unwrap(),
            from => Tensor::from_codes(from, [2], [0, 1]).unwrap(),
        };
        for &to in ElementType::ALL {
            assert!(can_cast(from, to));
            let result = cpu::cast(&tensor, to, &Default::default());
            assert!(result.as_ref().is_ok_and(|result| result.element_type() == to), "{from} to {to}: {result:?}");
            let numeric = from != ElementType::STRING && to != ElementType::STRING;
            assert_eq!(has_kernel(from, to), numeric, "{from} to {to}");
            assert_eq!(wgpu_cast::kernel(from, to, &Default::default()).is_ok(), numeric, "{from} to {to}");
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
