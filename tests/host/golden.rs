//! The CPU path against tables that ml_dtypes and numpy made (`golden/make.py`), without the oracle.

use support::golden::{DECODE, ENCODE, MAKE, Section, codes, sections};
use wgpu_cast::{CastOptions, ElementType, FloatFormat, Kind, Tensor, cpu};

/// The types that have a section, in the order of the element table.
fn types(sections: &[Section]) -> Vec<ElementType> {
    let mut types: Vec<ElementType> = sections.iter().map(|section| section.name.parse().unwrap()).collect();
    types.sort_unstable();
    types
}

/// The floats whose format suits, in the order of the element table.
fn floats(suits: impl Fn(&FloatFormat) -> bool) -> Vec<ElementType> {
    let suits = |t: &ElementType| matches!(t.kind(), Kind::Float(format) if suits(&format));
    ElementType::ALL.iter().copied().filter(suits).collect()
}

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
    assert_eq!(types(&sections), floats(|format| format.bits() <= 8), "a table for each such float: {MAKE}");
    for section in &sections {
        let from: ElementType = section.name.parse().unwrap();
        assert_eq!(section.rows.len(), 1 << from.bits().unwrap());
        check(from, ElementType::FLOAT, section, |code| code & 0x7fff_ffff > 0x7f80_0000);
    }
}

#[test]
fn floats_encode_as_ml_dtypes_and_numpy_do() {
    let sections = sections(ENCODE);
    let wanted = floats(|format| format.bits() <= 16 && format.is_signed());
    assert_eq!(types(&sections), wanted, "a table for each such float: {MAKE}");
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
