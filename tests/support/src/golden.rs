//! The tables of `tests/golden`, which other programs made: sections of two columns.

/// Codes of narrow floats and the codes of their values in FLOAT.
pub const DECODE: &str = include_str!("../../golden/decode.txt");

/// Codes of FLOAT and the codes that narrow floats round them to.
pub const ENCODE: &str = include_str!("../../golden/encode.txt");

/// What to do where [`DECODE`] or [`ENCODE`] lacks a type.
pub const MAKE: &str = "run tests/golden/make.py, which reads the element table";

/// Codes and their texts.
pub const STRINGS: &str = include_str!("../../golden/strings.txt");

/// The rows under one heading.
pub struct Section {
    /// The name of an element type.
    pub name: &'static str,
    /// The code on the left, and the text on the right.
    pub rows: Vec<(u64, &'static str)>,
}

/// All sections of a table.
pub fn sections(table: &'static str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for line in table.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            sections.push(Section { name, rows: Vec::new() });
            continue;
        }
        let (left, right) = line.split_once(' ').expect("two columns");
        let section = sections.last_mut().expect("rows follow a heading");
        section.rows.push((hexadecimal(left), right));
    }
    sections
}

/// The codes on both sides of a row of [`DECODE`] or [`ENCODE`]; `None` on the right is any NaN.
pub fn codes(&(left, right): &(u64, &str)) -> (u64, Option<u64>) {
    (left, (right != "nan").then(|| hexadecimal(right)))
}

fn hexadecimal(text: &str) -> u64 {
    u64::from_str_radix(text, 16).expect("a hexadecimal number")
}
