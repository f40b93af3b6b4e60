//! The inputs of exhaustive checks.

use half::f16;
use support::inputs::Inputs;
use wgpu_cast::ElementType;

fn all(from: ElementType) -> Vec<u64> {
    let inputs = Inputs::of(from);
    let mut codes: Vec<u64> = (0..inputs.count()).map(|index| inputs.code(index)).collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

#[test]
fn doubles_have_every_boundary_of_types_of_16_bits() {
    let codes = all(ElementType::DOUBLE);
    assert!(codes.len() > 30_000_000, "{}", codes.len());
    let has = |value: f64| assert!(codes.binary_search(&value.to_bits()).is_ok(), "{value:e}");
    for code in 0..0x7c00 {
        let [value, next] = [code, code + 1].map(|code| f16::from_bits(code).to_f64());
        let next = if next.is_finite() { next } else { 65536.0 };
        let half = (value + next) / 2.0;
        [value, half, half.next_up(), half.next_down(), -half].into_iter().for_each(has);
    }
    for code in 0..0x7f80u32 {
        let half = (f64::from(f32::from_bits(code << 16)) + f64::from(f32::from_bits((code + 1) << 16))) / 2.0;
        [half, half.next_up(), half.next_down()].into_iter().filter(|half| half.is_finite()).for_each(has);
    }
    [0.0, -0.0, 5e-324, f64::MAX, f64::INFINITY, 0.5, 127.5, 2f64.powi(31), -2f64.powi(63), 2f64.powi(64)]
        .into_iter()
        .for_each(has);
}

#[test]
fn integers_have_every_place_of_the_leading_bit() {
    for from in [ElementType::INT64, ElementType::UINT64] {
        let codes = all(from);
        assert!(codes.len() > 10_000_000, "{}", codes.len());
        let has = |value: u64| assert!(codes.binary_search(&value).is_ok(), "{value:#x}");
        [0, 1, u64::MAX, i64::MAX as u64, 1 << 63, (1 << 63) + 1].into_iter().for_each(has);
        for place in 12..63 {
            // The midpoint of two numbers of FLOAT16's significand, and its neighbours.
            let half = (1u64 << place) + (1 << (place - 11));
            [half, half + 1, half - 1, half.wrapping_neg()].into_iter().for_each(has);
        }
    }
}

#[test]
fn packed_inputs_are_their_codes() {
    for &from in ElementType::ALL.iter().filter(|t| t.is_numeric()) {
        let inputs = Inputs::of(from);
        let bits = from.bits().expect("numeric") as usize;
        let (start, end) =
            if bits > 4 { (inputs.count() / 2 - 24, inputs.count() / 2 + 24) } else { (0, inputs.count()) };
        let bytes = inputs.packed(start..end);
        assert_eq!(bytes.len(), (end - start) as usize * bits / 8, "{from}");
        for (i, index) in (start..end).enumerate() {
            let bit = |n: usize| u64::from(bytes[n / 8] >> (n % 8) & 1);
            let code = (0..bits).fold(0, |code, n| code | bit(i * bits + n) << n);
            assert_eq!(code, inputs.code(index), "{from} {index}");
        }
    }
}
