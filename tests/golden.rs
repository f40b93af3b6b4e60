//! The CPU path against tables that ml_dtypes and numpy made (`golden/make.py`), without the oracle between.

use wgpu_cast::{CastOptions, ElementType, FloatFormat, Kind, Tensor, cpu};

/// A section's rows: two codes, `None` for NaN on the right.
type Rows = Vec<(u64, Option<u64>)>;

fn sections(table: &str) -> Vec<(ElementType, Rows)> {
    let mut sections: Vec<(ElementType, Rows)> = Vec::new();
    for line in table.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            sections.push((name.parse().unwrap(), Vec::new()));
            continue;
        }
        let (left, right) = line.split_once(' ').unwrap();
        let code = |text| u64::from_str_radix(text, 16).unwrap();
        let right = (right != "nan").then(|| code(right));
        sections.last_mut().unwrap().1.push((code(left), right));
    }
    sections
}

/// What to do where a table is missing.
const MAKE: &str = "a table for every such float: run tests/golden/make.py";

/// The types that have a section, sorted.
fn names(sections: &[(ElementType, Rows)]) -> Vec<ElementType> {
    let mut types: Vec<_> = sections.iter().map(|section| section.0).collect();
    types.sort_unstable();
    types
}

/// The floats of such a format, sorted.
fn floats(suits: impl Fn(&FloatFormat) -> bool) -> Vec<ElementType> {
    let suits = |t: &ElementType| matches!(t.kind(), Kind::Float(format) if suits(&format));
    ElementType::ALL.iter().copied().filter(suits).collect()
}

/// Casts the left column and compares with the right one; `is_nan` tells the target's NaN codes.
fn check(from: ElementType, to: ElementType, rows: &Rows, is_nan: impl Fn(u64) -> bool) {
    let tensor = Tensor::from_codes(from, [rows.len()], rows.iter().map(|row| row.0)).unwrap();
    let result = cpu::cast(&tensor, to, &CastOptions::default().with_saturate(false)).unwrap();
    for (&(code, expected), got) in rows.iter().zip(result.codes()) {
        let right = expected.map_or(is_nan(got), |expected| got == expected);
        assert!(right, "{from} {code:x} to {to}: {got:x}, expected {expected:x?}");
    }
}

#[test]
fn narrow_floats_decode_as_ml_dtypes_has_them() {
    let sections = sections(include_str!("golden/decode.txt"));
    assert_eq!(names(&sections), floats(|format| format.bits() <= 8), "{MAKE}");
    for (from, rows) in &sections {
        assert_eq!(rows.len(), 1 << from.bits().unwrap());
        check(*from, ElementType::FLOAT, rows, |code| code & 0x7fff_ffff > 0x7f80_0000);
    }
}

#[test]
fn floats_encode_as_ml_dtypes_and_numpy_do() {
    let sections = sections(include_str!("golden/encode.txt"));
    assert_eq!(names(&sections), floats(|format| format.bits() <= 16 && format.is_signed()), "{MAKE}");
    for (to, rows) in &sections {
        assert!(rows.len() > 200, "{to}");
        let nan = |code: u64| {
            let tensor = Tensor::from_codes(*to, [1], [code]).unwrap();
            let float = cpu::cast(&tensor, ElementType::FLOAT, &CastOptions::default()).unwrap();
            float.to_vec::<f32>().unwrap()[0].is_nan()
        };
        // Types without NaN have no NaN rows: what they give is ONNX's choice, not ml_dtypes'.
        check(ElementType::FLOAT, *to, rows, nan);
    }
}
