//! What each opset changed. This is the only table of opset numbers, beside the first opset of each element type in
//! `element.rs`. A new opset is a new row; everything else about versions follows from the rows.

use crate::types::element::Operator;
use crate::types::options::{Float4Nan, Int4Overflow};

/// An opset that changed something that casts depend on, or the newest opset. The row is valid up to the next row.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::rules::onnx) struct Opset {
    pub since: u32,
    /// The oldest version of ONNX's file format for this opset (ONNX, `Versioning.md`).
    pub ir_version: i64,
    /// The operators that have a new version at this opset. The fields from `target` to `float4_nan` are those of these
    /// operators; other operators keep their last version. The types of a version follow from the table of element
    /// types.
    new_versions: &'static [Operator],
    /// How `Cast` names its target; `CastLike` has a second input instead.
    pub target: Target,
    /// The attributes of `Cast` and `CastLike` other than the target.
    pub attributes: &'static [CastAttribute],
    /// ONNX's text states neither this rule nor the next one. ONNX's test data changed at opset 24.
    pub int4_overflow: Int4Overflow,
    pub float4_nan: Float4Nan,
}

/// How the attribute `to` names the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::rules::onnx) enum Target {
    /// A STRING, the type's name in `TensorProto.DataType`.
    Name,
    /// An INT, the type's number in `TensorProto.DataType`.
    Code,
}

impl Target {
    /// The attribute's type.
    pub(in crate::rules::onnx) fn kind(self) -> &'static str {
        match self {
            Target::Name => "STRING",
            Target::Code => "INT",
        }
    }
}

/// An attribute of a cast other than its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::rules::onnx) enum CastAttribute {
    Saturate,
    RoundMode,
}

impl CastAttribute {
    /// ONNX's name.
    pub(in crate::rules::onnx) fn name(self) -> &'static str {
        match self {
            CastAttribute::Saturate => "saturate",
            CastAttribute::RoundMode => "round_mode",
        }
    }
}

#[rustfmt::skip]
const OPSETS: &[Opset] = &{
    use {CastAttribute::{RoundMode, Saturate}, Float4Nan::{Max, Zero}};
    use {Int4Overflow::{Clamp, Wrap}, Operator::{Cast, CastLike}, Target::{Code, Name}};
    const fn row(
        since: u32, ir_version: i64, new_versions: &'static [Operator], target: Target,
        attributes: &'static [CastAttribute], int4_overflow: Int4Overflow, float4_nan: Float4Nan,
    ) -> Opset {
        Opset { since, ir_version, new_versions, target, attributes, int4_overflow, float4_nan }
    }
    [
        // opset, IR, new versions, target, attributes, float to int4 out of range, NaN to float4
        row( 1,  3, &[Cast],           Name, &[],                    Clamp, Max),
        row( 6,  3, &[Cast],           Code, &[],                    Clamp, Max),
        row( 9,  4, &[Cast],           Code, &[],                    Clamp, Max),
        row(10,  5, &[],               Code, &[],                    Clamp, Max),
        row(11,  6, &[],               Code, &[],                    Clamp, Max),
        row(12,  7, &[],               Code, &[],                    Clamp, Max),
        row(13,  7, &[Cast],           Code, &[],                    Clamp, Max),
        row(15,  8, &[CastLike],       Code, &[],                    Clamp, Max),
        row(19,  9, &[Cast, CastLike], Code, &[Saturate],            Clamp, Max),
        row(21, 10, &[Cast, CastLike], Code, &[Saturate],            Clamp, Max),
        row(23, 11, &[Cast, CastLike], Code, &[Saturate],            Clamp, Max),
        row(24, 12, &[Cast, CastLike], Code, &[Saturate, RoundMode], Wrap,  Zero),
        row(25, 13, &[Cast, CastLike], Code, &[Saturate, RoundMode], Wrap,  Zero),
        row(28, 14, &[Cast],           Code, &[Saturate, RoundMode], Wrap,  Zero),
    ]
};

/// The newest supported opset of the ONNX standard.
pub const NEWEST_OPSET: i64 = OPSETS[OPSETS.len() - 1].since as i64;

/// The row that is valid at an opset; `None` for unknown opsets.
pub(in crate::rules::onnx) fn at(opset: i64) -> Option<&'static Opset> {
    OPSETS.iter().rfind(|row| i64::from(row.since) <= opset).filter(|_| opset <= NEWEST_OPSET)
}

/// The versions of an operator, oldest first.
pub(in crate::rules::onnx) fn versions(operator: Operator) -> impl DoubleEndedIterator<Item = &'static Opset> {
    OPSETS.iter().filter(move |row| row.new_versions.contains(&operator))
}

impl Opset {
    /// The attribute of this name.
    pub(in crate::rules::onnx) fn attribute(&self, name: &str) -> Option<CastAttribute> {
        self.attributes.iter().copied().find(|attribute| attribute.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fields of a row differ from those of the row before only if it has new versions.
    #[test]
    fn rows_are_in_order_and_versions_hold_between_them() {
        for pair in OPSETS.windows(2) {
            assert!(pair[0].since < pair[1].since && pair[0].ir_version <= pair[1].ir_version, "{pair:?}");
            let rules = |row: &Opset| (row.target, row.attributes, row.int4_overflow, row.float4_nan);
            assert!(rules(&pair[0]) == rules(&pair[1]) || !pair[1].new_versions.is_empty(), "{pair:?}");
        }
    }

    /// A new version adds a type. If its row did not list the operator, the operator's last version would refuse the
    /// type.
    #[test]
    fn types_are_added_by_new_versions() {
        for operator in [Operator::Cast, Operator::CastLike] {
            for t in crate::ElementType::ALL {
                let is_version = |since| versions(operator).any(|version| version.since == since);
                assert!(t.since_opset(operator).is_none_or(is_version), "{t} in {operator:?}");
            }
        }
    }

    /// The numbers are those of ONNX's `Versioning.md`.
    #[test]
    fn versions_of_the_file_format() {
        let expected = [
            (1, 3),
            (8, 3),
            (9, 4),
            (10, 5),
            (11, 6),
            (12, 7),
            (14, 7),
            (15, 8),
            (18, 8),
            (19, 9),
            (20, 9),
            (21, 10),
            (22, 10),
            (23, 11),
            (24, 12),
            (25, 13),
            (27, 13),
            (28, 14),
        ];
        for (opset, version) in expected {
            assert_eq!(at(opset).map(|row| row.ir_version), Some(version), "opset {opset}");
        }
        for opset in [i64::MIN, 0, NEWEST_OPSET + 1, i64::MAX] {
            assert_eq!(at(opset), None);
        }
    }
}
