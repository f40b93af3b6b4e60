//! The CPU path against tables that ml_dtypes and numpy made (`golden/make.py`), without the oracle between.

use support::golden::{DECODE, ENCODE, Section, codes, sections};
use wgpu_cast::{CastOptions, ElementType, Tensor, cpu};

/// Casts the left column and compares with the right one; `is_nan` tells the target's NaN codes.
fn check(from: ElementType, to: ElementType, Section { rows, .. }: &Section, is_nan: impl Fn(u64) -> bool) {
    let tensor = Tensor::from_codes(from, [rows.len()], rows.iter().map(|row| row.0)).unwrap();
    let result = cpu::cast(&tensor, to, &CastOptions::default().with_saturate(false)).unwrap();
    for ((code, expected), got) in rows.iter().map(codes).zip(result.codes()) {
        let right = expected.map_or(is_nan(got), |expected| got == expected);
        assert!(right, "{from} {code:x} to {to}: {got:x}, expected {expected:x?}");
    }
}

#[test]
fn narrow_floats_decode_as_ml_dtypes_has_them() {
    let sections = sections(DECODE);
    let narrow = |t: &&ElementType| t.name().starts_with("float") && t.bits() <= Some(8);
    assert_eq!(sections.len(), ElementType::ALL.iter().filter(narrow).count(), "a table for every float of 8 bits");
    for section in &sections {
        let from: ElementType = section.name.parse().unwrap();
        assert_eq!(section.rows.len(), 1 << from.bits().unwrap());
        check(from, ElementType::FLOAT, section, |code| code & 0x7fff_ffff > 0x7f80_0000);
    }
}

#[test]
fn floats_encode_as_ml_dtypes_and_numpy_do() {
    let sections = sections(ENCODE);
    assert_eq!(sections.len(), 9);
    for section in &sections {
        let to: ElementType = section.name.parse().unwrap();
        assert!(section.rows.len() > 200, "{to}");
        let nan = |code: u64| {
            let tensor = Tensor::from_codes(to, [1], [code]).unwrap();
            let float = cpu::cast(&tensor, ElementType::FLOAT, &CastOptions::default()).unwrap();
            float.to_vec::<f32>().unwrap()[0].is_nan()
        };
        // Types without NaN have no NaN rows: what they give is ONNX's choice, not ml_dtypes'.
        check(ElementType::FLOAT, to, section, nan);
    }
}
