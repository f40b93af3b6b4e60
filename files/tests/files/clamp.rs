//! Values beyond the range of FLOAT16, BFLOAT16 and FLOAT as the largest number.

use support::numeric;
use support::tier::Tier;
use support::{bits, cases};
use wgpu_cast::ElementType::{self, BFLOAT16, DOUBLE, FLOAT, FLOAT16, INT64};
use wgpu_cast::{CastOptions, CastSpec, cpu};
use wgpu_cast_files::{
    self as files, CastLoss, CodeStorage, FilePlan, Part, StreamSettings, TensorCast, TensorStorage,
};

fn plan(from: TensorStorage, to: TensorStorage, elements: u64) -> FilePlan {
    let (name, options) = ("a".to_owned(), CastOptions::default());
    let cast =
        TensorCast { name, elements, input: 0, offset: 0, from, to, options, column_major: Vec::new(), clamp: false };
    FilePlan { parts: vec![Part::Cast(cast)] }
}

/// The output of a plan, and what its casts lost.
fn make(plan: &FilePlan, input: &Vec<u8>) -> (Vec<u8>, CastLoss) {
    let (mut output, mut lost) = (Vec::new(), CastLoss::default());
    let mut settings = StreamSettings::default();
    (settings.memory, settings.relative_errors) = (1 << 20, true);
    files::write(plan, &[input], &settings, &cpu::cast_counted, &mut |piece| {
        output.extend(piece.bytes);
        piece.losses.iter().for_each(|(_, more)| lost += *more);
        Ok(())
    })
    .unwrap();
    (output, lost)
}

/// Every pair: the results are those of the cast, but for infinite ones of finite sources. Which sources are finite is what
/// their values as DOUBLE say.
#[test]
fn finite_values_become_the_largest_number() {
    let mut replaced = 0;
    for (from, to) in numeric().flat_map(|from| numeric().map(move |to| (from, to))) {
        let [from_storage, to_storage] = [from, to].map(TensorStorage::packed);
        let (from_width, to_width) = (from.bits().unwrap(), to.bits().unwrap());
        let mut codes = cases::codes_of(from, Tier::Emulator);
        codes.extend(cases::random(from, 1000, 3));
        let elements = codes.len() as u64;
        let plain = plan(from_storage, to_storage, elements);
        let mut clamped = plain.clone();
        let has_effect = clamped.clamp();
        assert_eq!(has_effect, from != to && [FLOAT16, BFLOAT16, FLOAT].contains(&to), "{from} to {to}");
        if !has_effect {
            assert_eq!(clamped, plain, "{from} to {to}");
            continue;
        }
        let mut source = vec![0; from.packed_bytes(elements).unwrap() as usize];
        for (index, code) in (0..).zip(&codes) {
            bits::set(&mut source, index * u64::from(from_width), from_width, *code);
        }
        let (mut expected, mut lost) = make(&plain, &source);
        let infinity = if to == FLOAT16 { 0x7c00 } else { 0x7f80_0000 >> (32 - to_width) };
        for (index, &code) in (0..).zip(&codes) {
            let at = index * u64::from(to_width);
            let result = bits::get(&expected, at, to_width);
            if result & !(1 << (to_width - 1)) == infinity && value(from, code).is_finite() {
                bits::set(&mut expected, at, to_width, result - 1);
                replaced += 1;
            }
        }
        lost.counts.saturated += std::mem::take(&mut lost.counts.infinite);
        let (found, found_lost) = make(&clamped, &source);
        assert!(found == expected, "{from} to {to}");
        assert_eq!(found_lost, lost, "{from} to {to}");
    }
    assert!(replaced > 1000, "{replaced}");
}

fn value(from: ElementType, code: u64) -> f64 {
    let mut result = [0; 8];
    cpu::cast_bytes(
        &CastSpec::new(from, DOUBLE),
        &code.to_le_bytes()[..from.bits().unwrap().div_ceil(8) as usize],
        1,
        &mut result,
    )
    .unwrap();
    f64::from_le_bytes(result)
}

#[test]
fn known_values() {
    let [inf, nan] = [f32::INFINITY, f32::NAN];
    let values = [1.0, 65504.0, 65519.99, 65520.0, -65520.0, f32::MIN, f32::MAX, inf, -inf, nan];
    let input: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let [float, half] = [FLOAT, FLOAT16].map(TensorStorage::packed);
    let mut to_half = plan(float, half, 10);
    assert!(to_half.clamp());
    let (output, lost) = make(&to_half, &input);
    let codes: Vec<u16> = output.as_chunks().0.iter().map(|code| u16::from_le_bytes(*code)).collect();
    let max = 0x7bff;
    assert_eq!(codes, [0x3c00, max, max, max, 0xfbff, 0xfbff, max, 0x7c00, 0xfc00, 0x7e00]);
    assert_eq!(lost.counts.iter().filter(|(_, count)| *count > 0).collect::<Vec<_>>(), [("saturated", 4)]);
    assert_eq!(lost.counts.overflowed(), 4);

    let input: Vec<u8> = [1e39, -1e300, f64::INFINITY].iter().flat_map(|value: &f64| value.to_le_bytes()).collect();
    let mut to_float = plan(TensorStorage::packed(DOUBLE), float, 3);
    to_float.clamp();
    let expected: Vec<u8> = [f32::MAX, f32::MIN, inf].iter().flat_map(|value| value.to_le_bytes()).collect();
    assert_eq!(make(&to_float, &input).0, expected);
}

/// Both sides big-endian, and the values in the last of several pieces.
#[test]
fn other_byte_orders_and_later_pieces() {
    let elements = 300_000;
    let mut values = vec![0i64; elements];
    values[elements - 2..].copy_from_slice(&[1 << 40, -65520]);
    let input: Vec<u8> = values.iter().flat_map(|value| value.to_be_bytes()).collect();
    let [from, to] = [INT64, FLOAT16].map(|element_type| TensorStorage { element_type, codes: CodeStorage::BigEndian });
    let mut clamped = plan(from, to, elements as u64);
    clamped.clamp();
    let (output, lost) = make(&clamped, &input);
    assert_eq!(output[output.len() - 4..], [0x7b, 0xff, 0xfb, 0xff]);
    assert_eq!((lost.counts.saturated, lost.counts.infinite), (2, 0));
}
