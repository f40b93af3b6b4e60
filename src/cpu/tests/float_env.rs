//! Compares casts in each floating-point mode that a host may set with casts in the default modes.

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::{CodeBits, numeric};
use crate::bits::float_env::{control, not_inlined};
use crate::cpu::convert::{CHUNK, convert};
use crate::cpu::isa::Isa;
use crate::cpu::loops::loop_of;
use crate::cpu::{Scales, cast, cast_counted, cast_into, cast_scaled, count_losses, largest_relative_error};
use crate::types::conversion::Conversion;
use crate::types::element::{ElementType, Kind};
use crate::types::options::CastOptions;
use crate::types::spec::CastSpec;
use crate::types::string_array::CHUNK_LEN;
use crate::types::tensor::Tensor;

/// The control words of flush-to-zero with denormals-are-zero, and of rounding down, up and toward zero.
#[cfg(target_arch = "x86_64")]
const MODES: [(&str, control::Word); 4] =
    [("flush", 0x9fc0), ("down", 0x3f80), ("up", 0x5f80), ("toward zero", 0x7f80)];
#[cfg(target_arch = "aarch64")]
const MODES: [(&str, control::Word); 4] =
    [("flush", 1 << 24 | 1 << 19), ("up", 1 << 22), ("down", 2 << 22), ("toward zero", 3 << 22)];

/// Runs `work` in a mode, and checks that the mode is unchanged after it.
fn under<R>(word: control::Word, work: impl FnOnce() -> R) -> R {
    let before = control::read();
    control::write(word);
    let result = not_inlined(work);
    let after = control::read();
    control::write(before);
    assert_eq!(after & control::MODES, word, "the modes after the work");
    result
}

/// Random codes. Those of wide floats include numbers near the ends of narrower floats' ranges.
fn tensor(from: ElementType, elements: usize) -> Tensor {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let codes = (0..elements).map(|i| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        match (from, i % 4) {
            // Subnormals of FLOAT, and numbers whose results are subnormals of FLOAT or half of the least one.
            (ElementType::FLOAT, 0) => state & 0x80ff_ffff,
            (ElementType::DOUBLE, 0) => state & 0x800f_ffff_ffff_ffff | (0x370 + (state >> 32) % 0x40) << 52,
            (ElementType::DOUBLE, 1) => state & 0x800f_ffff_ffff_ffff,
            // Integers that FLOAT holds exactly, that only DOUBLE holds exactly, and others.
            (ElementType::INT64 | ElementType::UINT64, _) => (state as i64 >> (state % 64)) as u64,
            _ => state,
        }
    });
    Tensor::from_codes(from, [elements], codes).unwrap()
}

type Cast<'a> = &'a (dyn Fn() -> Vec<u8> + Sync);

/// Tries every pair on every instruction set of this processor. Returns the casts that give other bits `under` the
/// modes.
fn wrong(elements: usize, under: impl Fn(Cast<'_>) -> Vec<u8>) -> Vec<String> {
    let mut wrong = Vec::new();
    for from in numeric() {
        let tensor = tensor(from, elements);
        for to in numeric() {
            let conversion = Conversion::new(from, to, &CastOptions::default()).unwrap();
            for isa in Isa::all().flatten() {
                let cast = || {
                    let mut bytes = vec![0xff; to.packed_bytes(elements as u64).unwrap() as usize];
                    let bits = CodeBits::packed(&conversion);
                    let cast_loop = loop_of(&conversion, bits, isa);
                    convert(cast_loop, bits, elements, tensor.bytes().unwrap(), &mut bytes);
                    bytes
                };
                if under(&cast) != cast() {
                    wrong.push(format!("{from} to {to}, {elements} elements, {isa:?}"));
                }
            }
        }
    }
    wrong
}

/// Few elements, and so many that the destination is aligned first.
#[test]
fn the_callers_float_modes_change_no_bit() {
    for (name, word) in MODES {
        for elements in [16, 5000] {
            let wrong = wrong(elements, |cast| under(word, cast));
            assert!(wrong.is_empty(), "{name}: {} wrong:\n{}", wrong.len(), wrong.join("\n"));
        }
    }
}

/// A pool of two threads that start in a mode.
fn pool(word: control::Word) -> ThreadPool {
    let pool = ThreadPoolBuilder::new().num_threads(2).start_handler(move |_| control::write(word));
    pool.build().unwrap()
}

fn check_modes(pool: &ThreadPool, word: control::Word) {
    let modes = pool.broadcast(|_| control::read() & control::MODES);
    assert_eq!(modes, [word; 2], "the modes of the threads after the work");
}

#[test]
fn the_float_modes_of_pool_threads_change_no_bit() {
    for (name, word) in MODES {
        let pool = pool(word);
        let wrong = wrong(2 * CHUNK + 77, |cast| pool.install(cast));
        assert!(wrong.is_empty(), "{name}: {} wrong:\n{}", wrong.len(), wrong.join("\n"));
        check_modes(&pool, word);
    }
}

/// Decimals between two floats, and decimals that are read by one multiplication or division of floats.
fn decimals() -> Tensor {
    let numbers = (0..2 * CHUNK_LEN + 5).map(|i| {
        let digits = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (11 + i % 50);
        format!("{}{digits}e{}", ["", "-"][i % 2], (i / 7 % 100) as i32 - [50, 80, 330, 100][i / 2 % 4])
    });
    let numbers: Vec<String> = numbers.collect();
    Tensor::from_strings([numbers.len()], &numbers).unwrap()
}

/// Few strings are cast on the calling thread, many on the threads of a pool.
#[test]
fn float_modes_change_no_string_cast() {
    let options = CastOptions::default();
    let cast = |tensor: &Tensor, to| cast(tensor, to, &options).unwrap();
    let decimals = decimals();
    let few = Tensor::from_strings([999], decimals.strings().unwrap().take(999)).unwrap();
    for float in numeric().filter(|t| matches!(t.kind(), Kind::Float(_))) {
        let numbers = [tensor(float, 999), tensor(float, 2 * CHUNK_LEN + 5)];
        let casts = [(&few, &decimals, float), (&numbers[0], &numbers[1], ElementType::STRING)];
        for (few, many, to) in casts {
            let expected = [few, many].map(|tensor| cast(tensor, to));
            for (name, word) in MODES {
                let pool = pool(word);
                let got = [under(word, || cast(few, to)), pool.install(|| cast(many, to))];
                for (got, expected) in got.iter().zip(&expected) {
                    assert!(got == expected, "{name}: {} {} to {to}", got.len(), many.element_type());
                }
                check_modes(&pool, word);
            }
        }
    }
}

#[test]
fn the_public_functions_keep_the_modes_out() {
    let options = CastOptions::default();
    let tensor = tensor(ElementType::DOUBLE, 1000);
    let expected = cast(&tensor, ElementType::FLOAT, &options).unwrap();
    for (name, word) in MODES {
        assert!(under(word, || cast(&tensor, ElementType::FLOAT, &options)).unwrap() == expected, "{name}: cast");
        let mut bytes = vec![0; 4000];
        under(word, || cast_into(&tensor, ElementType::FLOAT, &options, &mut bytes)).unwrap();
        assert!(Some(&bytes[..]) == expected.bytes(), "{name}: cast_into");
    }
}

/// Products of few and of many elements, with subnormals and halves of them.
#[test]
fn float_modes_change_no_product() {
    for elements in [999, 2 * CHUNK + 77] {
        let (shape, block) = ([elements], [32]);
        let values: Vec<f32> = (0..elements.div_ceil(32)).map(|i| 1.1 * f32::powi(2.0, -(i as i32 % 149))).collect();
        let scales = Scales::new(&shape, &block, &values).unwrap();
        for from in [ElementType::FLOAT8E4M3FN, ElementType::BFLOAT16, ElementType::INT32] {
            let tensor = tensor(from, elements);
            let cast = || {
                let mut result = vec![0; 4 * elements];
                let spec = CastSpec::new(from, ElementType::FLOAT);
                cast_scaled(&spec, &scales, tensor.bytes().unwrap(), &mut result).unwrap();
                result
            };
            let expected = cast();
            for (name, word) in MODES {
                let pool = pool(word);
                assert!(under(word, cast) == expected && pool.install(cast) == expected, "{name}: {from}");
                check_modes(&pool, word);
            }
        }
    }
}

/// What a cast loses of every type is the same, and so is its largest relative error.
#[test]
fn float_modes_change_no_loss() {
    for from in numeric() {
        let tensor = tensor(from, 5000);
        let source = tensor.bytes().unwrap();
        for to in numeric() {
            let spec = CastSpec::new(from, to);
            let cast = || {
                let mut result = vec![0; to.packed_bytes(5000).unwrap() as usize];
                let beside = cast_counted(&spec, source, 5000, &mut result).unwrap();
                let alone = count_losses(&spec, source, 5000).unwrap();
                let error = largest_relative_error(&spec, source, 5000, &result).unwrap();
                (result, beside, alone, error.to_bits())
            };
            let expected = cast();
            for (name, word) in MODES {
                let found = under(word, cast);
                assert!(found == expected, "{name}: {from} to {to}: {:?}, {:?}", &found.1, &expected.1);
            }
        }
    }
}
