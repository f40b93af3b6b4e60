//! Operator versions that only extend the versions before them. A node that is valid for the older version is then valid for
//! the newer one, with the same meaning.

use std::collections::HashSet;
use std::sync::OnceLock;

use super::schema;

/// The table of such versions. `files/tests/onnx/extensions.py` makes it, and says what counts as an extension.
const TABLE: &str = include_str!("extensions.txt");

/// Whether each node of an operator that is valid at the opset `from` is valid at the opset `to`, and computes the same
/// there. `to` is not older than `from`.
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

    /// The expected values are from the texts of the operators and the lists of changes in ONNX's `Changelog.md`.
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
            // A newer version changed the axis, the meaning of absent sizes or the default of an attribute, or made an
            // attribute an input.
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
            // The operator is deprecated, or does not exist at the older opset.
            ("Upsample", 9, 10),
            ("Scatter", 10, 11),
            ("Gelu", 19, 20),
            ("NoSuchOperator", 17, 19),
        ] {
            assert!(!keeps_meaning(operator, from, to), "{operator} {from} {to}");
        }
    }
}
