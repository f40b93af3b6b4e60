//! What casts lose, counted beside the cast.

use support::random::Random;
use support::{bits, numeric, options};
use wgpu_cast::{CastOptions, LossCounts, cpu};

/// Every pair: random codes, counted in one tensor, are what the codes are counted one by one. The rule for one code is
/// tested inside the crate, for every code of at most 16 bits.
#[test]
fn counts_of_a_tensor_are_those_of_its_codes() {
    let mut random = Random::new(1);
    for from in numeric() {
        let width = from.bits().unwrap();
        // More than two chunks of a thread, and not a whole number of vectors.
        for len in [1, 7, 1003, 200_001] {
            let mut source = vec![0; from.packed_bytes(len).unwrap() as usize];
            // A few different codes, so that each is counted once by itself.
            let codes: Vec<u64> = (0..61).map(|_| random.next() & (u64::MAX >> (64 - width))).collect();
            let mut uses = [0u64; 61];
            for index in 0..len {
                let choice = random.below(codes.len());
                uses[choice] += 1;
                bits::set(&mut source, index * u64::from(width), width, codes[choice]);
            }
            for to in numeric() {
                for options in options::variants(to) {
                    let mut result = vec![0; to.packed_bytes(len).unwrap() as usize];
                    let lost = cpu::cast_counted(from, &source, len as usize, to, &options, &mut result).unwrap();
                    let mut alone = vec![0; result.len()];
                    cpu::cast_bytes(from, &source, len as usize, to, &options, &mut alone).unwrap();
                    assert_eq!(result, alone, "{from} to {to}, {len} elements");
                    let mut expected = LossCounts::default();
                    for (code, uses) in codes.iter().zip(uses) {
                        let mut one = vec![0; width.div_ceil(8) as usize];
                        bits::set(&mut one, 0, width, *code);
                        let counts = cpu::count_losses(from, &one, 1, to, &options).unwrap();
                        expected.iter_mut().zip(counts.iter()).for_each(|((_, sum), (_, count))| *sum += uses * count);
                    }
                    assert_eq!(lost, expected, "{from} to {to}, {len} elements, {options:?}");
                }
            }
        }
    }
}

#[test]
fn counts_of_known_values() {
    let source: Vec<u8> = [1.0f32, 1e9, -1e9, f32::INFINITY, f32::NAN, 1e-9, 0.0, -0.0, 0.001, 300.0]
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    let count = |to: &str, options: &CastOptions| {
        let from = wgpu_cast::ElementType::FLOAT;
        let lost = cpu::count_losses(from, &source, 10, to.parse().unwrap(), options).unwrap();
        lost.iter().filter(|(_, count)| *count > 0).collect::<Vec<_>>()
    };
    let plain = CastOptions::default();
    assert_eq!(count("float16", &plain), [("infinite", 2), ("zero", 1)]);
    assert_eq!(count("bfloat16", &plain), []);
    assert_eq!(count("float8e4m3fn", &plain), [("saturated", 3), ("zero", 1), ("subnormal", 1)]);
    assert_eq!(count("float8e4m3fn", &plain.with_saturate(false)), [("nan", 3), ("zero", 1), ("subnormal", 1)]);
    assert_eq!(count("float8e5m2", &plain), [("saturated", 3), ("zero", 1)]);
    assert_eq!(count("float4e2m1", &plain), [("saturated", 4), ("zero", 2), ("nan_to_number", 1)]);
    assert_eq!(count("int8", &plain), [("out_of_range", 4), ("zero", 2), ("nan_to_number", 1)]);
    assert_eq!(count("bool", &plain), []);
    assert_eq!(count("double", &plain), []);
}
