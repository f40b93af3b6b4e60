//! Which operator versions only extend the ones before, so that a node of the older version is one of the newer.

use std::collections::HashSet;
use std::sync::OnceLock;

use super::schema;

/// Made by `files/tests/onnx/extensions.py`, which says what counts.
const TABLE: &str = include_str!("extensions.txt");

/// Whether a node of an operator that is valid at the first opset is valid at the second, which is not older, and
/// computes the same there.
pub(super) fn keeps_meaning(operator: &str, from: i64, to: i64) -> bool {
    let mut versions = (from + 1..=to).map(|opset| schema::since(operator, opset));
    match schema::since(operator, from) {
        None => false,
        Some(mut last) => versions.all(|version| {
            let version = version.unwrap_or(last);
            let is_same = version == std::mem::replace(&mut last, version);
            is_same || extensions().contains(&(operator, version))
        }),
    }
}

fn extensions() -> &'static HashSet<(&'static str, i64)> {
    static EXTENSIONS: OnceLock<HashSet<(&'static str, i64)>> = OnceLock::new();
    EXTENSIONS.get_or_init(|| {
        let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
        lines
            .filter_map(|line| line.split_once(' '))
            .filter_map(|(name, opset)| Some((name, opset.parse().ok()?)))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_a_version_that_has_one_before() {
        let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
        for line in lines.clone() {
            let (name, opset) = line.split_once(' ').unwrap();
            let opset: i64 = opset.parse().unwrap();
            assert_eq!(schema::since(name, opset), Some(opset), "{line}");
            assert!(schema::since(name, opset - 1).is_some(), "{line}");
        }
        assert_eq!(lines.count(), extensions().len());
    }

    /// By the texts of the operators and the lists of changes in ONNX's `Changelog.md`.
    #[test]
    fn operators_that_keep_their_meaning() {
        for (operator, from, to) in [
            ("Reshape", 13, 19),
            ("Resize", 13, 19),
            ("Conv", 11, 19),
            ("Cast", 9, 23),
            ("Identity", 1, 28),
            ("Pad", 11, 19),
            ("MaxPool", 8, 19),
            ("MatMul", 13, 13),
        ] {
            assert!(keeps_meaning(operator, from, to), "{operator} {from} {to}");
        }
        for (operator, from, to) in [
            // The axis, the meaning of no sizes, the default of an attribute, an attribute that is an input now.
            ("Softmax", 12, 13),
            ("Split", 13, 19),
            ("RoiAlign", 10, 16),
            ("ReduceMean", 13, 18),
            ("Squeeze", 12, 13),
            ("Resize", 12, 19),
            ("BatchNormalization", 9, 14),
            ("GridSample", 16, 20),
            ("MeanVarianceNormalization", 9, 13),
            ("Cast", 23, 24),
            // It is gone, and there are none.
            ("Upsample", 9, 10),
            ("Scatter", 10, 11),
            ("Gelu", 19, 20),
            ("NoSuchOperator", 17, 19),
        ] {
            assert!(!keeps_meaning(operator, from, to), "{operator} {from} {to}");
        }
    }
}
