//! What casts lose, counted together with the cast.

use support::random::Random;
use support::tier::Tier;
use support::{bits, cases, numeric, options, oracle};
use wgpu_cast::{CastOptions, CastSpec, ElementType, Int4Overflow, Kind, LossCounts, cpu};

/// For every pair, the losses of random codes in one tensor are the sum of the losses of its codes, counted one by one.
/// The rule for one code is tested inside the crate, for every code of at most 16 bits.
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
                    let spec = CastSpec::new(from, to).with_options(options);
                    let mut result = vec![0; to.packed_bytes(len).unwrap() as usize];
                    let lost = cpu::cast_counted(&spec, &source, len as usize, &mut result).unwrap();
                    let mut alone = vec![0; result.len()];
                    cpu::cast_bytes(&spec, &source, len as usize, &mut alone).unwrap();
                    assert_eq!(result, alone, "{from} to {to}, {len} elements");
                    let mut expected = LossCounts::default();
                    for (code, uses) in codes.iter().zip(uses) {
                        let mut one = vec![0; width.div_ceil(8) as usize];
                        bits::set(&mut one, 0, width, *code);
                        let counts = cpu::count_losses(&spec, &one, 1).unwrap();
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
        let spec = CastSpec::new(ElementType::FLOAT, to.parse().unwrap()).with_options(*options);
        let lost = cpu::count_losses(&spec, &source, 10).unwrap();
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

/// The count that has the values beyond the range of a type, for every destination type and every set of options. It
/// depends on the type and the options only. docs/semantics.md has this table in words.
#[test]
fn each_type_has_one_count_for_values_beyond_its_range() {
    let floats: Vec<u8> = [1e300, -1e300, f64::INFINITY].iter().flat_map(|value: &f64| value.to_le_bytes()).collect();
    let integers: Vec<u8> = [1i64 << 40, -(1 << 40)].iter().flat_map(|value| value.to_le_bytes()).collect();
    let counted = |from, source: &[u8], len, to, options: CastOptions| {
        let lost = cpu::count_losses(&CastSpec::new(from, to).with_options(options), source, len).unwrap();
        lost.iter().filter(|(_, count)| *count > 0).collect::<Vec<_>>()
    };
    for to in numeric() {
        for options in options::variants(to) {
            let clamps = options.int4_overflow == Int4Overflow::Clamp;
            let (of_floats, of_integers) = match to.name() {
                "bool" | "double" => (vec![], vec![]),
                // ±∞ stays ±∞, and these integers are in range.
                "float" | "bfloat16" => (vec![("infinite", 2)], vec![]),
                "float16" => (vec![("infinite", 2)], vec![("infinite", 2)]),
                "float8e5m2" if !options.saturate => (vec![("infinite", 2)], vec![("infinite", 2)]),
                "float8e4m3fn" | "float8e4m3fnuz" | "float8e5m2fnuz" if !options.saturate => {
                    (vec![("nan", 3)], vec![("nan", 2)])
                }
                "float8e8m0" if !options.saturate => (vec![("nan", 3)], vec![("nan", 1)]),
                // 2^40 is in range, and no negative number is.
                "float8e8m0" => (vec![("saturated", 3)], vec![("saturated", 1)]),
                "float8e4m3fn" | "float8e4m3fnuz" | "float8e5m2" | "float8e5m2fnuz" | "float6e2m3" | "float6e3m2"
                | "float4e2m1" => (vec![("saturated", 3)], vec![("saturated", 2)]),
                // Only floats are clamped. Integers become their low bits.
                "int4" | "uint4" if clamps => (vec![("saturated", 3)], vec![("out_of_range", 2)]),
                "int64" => (vec![("out_of_range", 3)], vec![]),
                "uint64" => (vec![("out_of_range", 3)], vec![("out_of_range", 1)]),
                "int2" | "int4" | "int8" | "int16" | "int32" | "uint2" | "uint4" | "uint8" | "uint16" | "uint32" => {
                    (vec![("out_of_range", 3)], vec![("out_of_range", 2)])
                }
                other => panic!("{other} has no row"),
            };
            let found = counted(ElementType::DOUBLE, &floats, 3, to, options);
            assert_eq!(found, of_floats, "double to {to}, {options:?}");
            let found = counted(ElementType::INT64, &integers, 2, to, options);
            assert_eq!(found, of_integers, "int64 to {to}, {options:?}");
        }
    }
}

/// Every pair: the largest relative error of a tensor is the largest of its codes. The error of a code follows from its
/// values before and after the cast, which the independent oracle gives.
#[test]
fn the_largest_relative_error_is_that_of_the_values() {
    let mut rounded = 0;
    for (from, to) in numeric().flat_map(|from| numeric().map(move |to| (from, to))) {
        let all = cases::codes_of(from, Tier::Emulator);
        let mut codes: Vec<u64> = all.iter().copied().step_by(all.len().div_ceil(200)).collect();
        codes.extend(cases::random(from, 100, 7));
        let (width, result_width) = (from.bits().unwrap(), to.bits().unwrap());
        // More than one block.
        let len = codes.len().max(5000);
        let mut source = vec![0; from.packed_bytes(len as u64).unwrap() as usize];
        for index in 0..len {
            bits::set(&mut source, index as u64 * u64::from(width), width, codes[index % codes.len()]);
        }
        for options in options::pair_variants(from, to) {
            let spec = CastSpec::new(from, to).with_options(options);
            let mut largest = 0f64;
            for &code in &codes {
                let mut one = vec![0; width.div_ceil(8) as usize];
                bits::set(&mut one, 0, width, code);
                let mut result = vec![0; result_width.div_ceil(8) as usize];
                cpu::cast_bytes(&spec, &one, 1, &mut result).unwrap();
                let lost = cpu::count_losses(&spec, &one, 1).unwrap();
                let expected = match lost.saturated + lost.out_of_range {
                    0 => relative_error(from, code, to, bits::get(&result, 0, result_width)),
                    _ => 0.0,
                };
                let found = cpu::largest_relative_error(&spec, &one, 1, &result).unwrap();
                assert_eq!(
                    found.to_bits(),
                    expected.to_bits(),
                    "{from} {code:#x} to {to}: {found}, expected {expected}"
                );
                rounded += u32::from(found > 0.0);
                largest = largest.max(found);
            }
            let mut result = vec![0; to.packed_bytes(len as u64).unwrap() as usize];
            cpu::cast_bytes(&spec, &source, len, &mut result).unwrap();
            let found = cpu::largest_relative_error(&spec, &source, len, &result).unwrap();
            assert_eq!(found.to_bits(), largest.to_bits(), "{from} to {to}: {found}, expected {largest}");
        }
    }
    assert!(rounded > 10_000, "{rounded}");
}

/// |result − value| / |value|, or 0 where the value or the result is 0, infinite or NaN.
fn relative_error(from: ElementType, code: u64, to: ElementType, result: u64) -> f64 {
    let value = |element_type, code| {
        let double = oracle(element_type, ElementType::DOUBLE, &CastOptions::default());
        f64::from_bits(double.expected(code))
    };
    let (before, after) = (value(from, code), value(to, result));
    let is_number = |value: f64| value.is_finite() && value != 0.0;
    if !is_number(before) || !is_number(after) || to == ElementType::BOOL {
        return 0.0;
    }
    match (from.kind(), to.kind()) {
        (Kind::Int { .. }, Kind::Int { .. }) => 0.0,
        // DOUBLE does not hold all of these numbers. The results of their casts are integers.
        (Kind::Int { signed }, _) if from.bits() == Some(64) => {
            let exact = if signed { i128::from(code as i64) } else { code.into() };
            (after as i128 - exact).unsigned_abs() as f64 / exact.unsigned_abs() as f64
        }
        _ => ((after - before) / before).abs(),
    }
}

#[test]
fn known_counts_of_integers() {
    let values = [0, 1, 464, 465, 1 << 31, i64::MAX as u64, 1 << 63, (1 << 63) + 1, u64::MAX];
    let source: Vec<u8> = values.iter().flat_map(|value: &u64| value.to_le_bytes()).collect();
    let count = |from: &str, to: &str| {
        let spec = CastSpec::new(from.parse().unwrap(), to.parse().unwrap());
        let lost = cpu::count_losses(&spec, &source, values.len()).unwrap();
        lost.iter().filter(|(_, count)| *count > 0).collect::<Vec<_>>()
    };
    assert_eq!(count("uint64", "int64"), [("out_of_range", 3)]);
    assert_eq!(count("int64", "uint64"), [("out_of_range", 3)]);
    assert_eq!(count("int64", "int32"), [("out_of_range", 4)]);
    assert_eq!(count("uint64", "float8e4m3fn"), [("saturated", 6)]);
}

#[test]
fn known_relative_errors() {
    let error = |from: &str, source: &[u8], to: &str| {
        let (from, to): (ElementType, ElementType) = (from.parse().unwrap(), to.parse().unwrap());
        let len = source.len() * 8 / from.bits().unwrap() as usize;
        let spec = CastSpec::new(from, to);
        let mut result = vec![0; to.packed_bytes(len as u64).unwrap() as usize];
        cpu::cast_bytes(&spec, source, len, &mut result).unwrap();
        cpu::largest_relative_error(&spec, source, len, &result).unwrap()
    };
    let floats = |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>();
    // Half of a unit in the last place.
    assert_eq!(
        error("float", &floats(&[1.0, 1.0 + 2f32.powi(-11)]), "float16"),
        2f64.powi(-11) / (1.0 + 2f64.powi(-11))
    );
    // 1000 is saturated, 1e-9 becomes 0, -inf stays infinite in float16 and is out of range of int8.
    assert_eq!(error("float", &floats(&[1000.0, 1e-9, f32::NAN, f32::NEG_INFINITY, 17.0]), "float8e4m3fn"), 1.0 / 17.0);
    // Several chunks of a thread. The error is in the last one, which is not full.
    let mut many = vec![2.0f32; 3 * 65_536 + 1];
    many.push(17.0);
    assert_eq!(error("float", &floats(&many), "float8e4m3fn"), 1.0 / 17.0);
    assert_eq!(error("float", &floats(&[f32::NEG_INFINITY, 70000.0, 0.0, 2.0]), "float16"), 0.0);
    assert_eq!(error("float", &floats(&[1.75, -300.5, 0.5]), "int8"), 0.75 / 1.75);
    // A subnormal result: 2^-24 of 1.5 * 2^-25.
    assert_eq!(error("float", &floats(&[1.5 * 2f32.powi(-25)]), "float16"), 1.0 / 3.0);
    // 2^53 + 1, which a double does not hold.
    assert_eq!(error("int64", &(2i64.pow(53) + 1).to_le_bytes(), "double"), 1.0 / (2f64.powi(53)));
    assert_eq!(error("int64", &i64::MIN.to_le_bytes(), "float"), 0.0);
    assert_eq!(error("float8e8m0", &[0, 127, 254, 255], "float"), 0.0);
}
