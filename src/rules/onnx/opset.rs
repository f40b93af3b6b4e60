//! What the attributes of `Cast` and `CastLike` mean at an opset, by the rows of `table.rs`.

mod table;

pub use table::NEWEST_OPSET;

use crate::types::element::{ElementType, Operator};
use crate::types::error::{Error, OperatorVersion, quoted};
use crate::types::options::{CastOptions, RoundMode};
use table::{CastAttribute, Opset, Target, versions};

/// The oldest version of ONNX's file format (`ModelProto.ir_version`) for models of an opset; `None` for unknown
/// opsets.
pub fn ir_version(opset: i64) -> Option<i64> {
    table::at(opset).map(|row| row.ir_version)
}

/// The value of a node's attribute in a model.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Attribute<'a> {
    /// An attribute of type INT.
    Int(i64),
    /// An attribute of type STRING.
    String(&'a str),
    /// An attribute of another type, with the type's name in `AttributeProto.AttributeType`. A node with it is always
    /// an error.
    Other(&'a str),
}

impl Attribute<'_> {
    /// The type's name in `AttributeProto.AttributeType`.
    pub fn kind(&self) -> &str {
        match self {
            Attribute::Int(_) => "INT",
            Attribute::String(_) => "STRING",
            Attribute::Other(kind) => kind,
        }
    }
}

/// The target type and the options of a `Cast` node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CastNode {
    rules: NodeRules,
    to: ElementType,
}

impl CastNode {
    /// Reads a node's attributes by the rules of `Cast` at `opset`, the version of the default domain that the model
    /// imports.
    ///
    /// # Errors
    /// [`Error::UnknownOpset`] for an unsupported opset; [`Error::InvalidAttribute`] without `to`, and for an attribute
    /// that is given twice, has the wrong type or an invalid value; [`Error::UnknownAttribute`] for an attribute that
    /// the operator does not have; [`Error::TypeNotInOpset`] if the opset does not support the target.
    pub fn new<'a>(opset: i64, attributes: impl IntoIterator<Item = (&'a str, Attribute<'a>)>) -> Result<Self, Error> {
        let (rules, to) = NodeRules::new(Operator::Cast, opset, attributes)?;
        let to = to.ok_or_else(|| rules.invalid("to", rules.version.target.kind(), None))?;
        rules.check(to)?;
        Ok(Self { rules, to })
    }

    /// As [`new`](Self::new), from typed values. `None` stands for an attribute that is not given.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_target(
        opset: i64,
        to: ElementType,
        saturate: Option<bool>,
        round_mode: Option<RoundMode>,
    ) -> Result<Self, Error> {
        let saturate = saturate.map(|saturate| ("saturate", Attribute::Int(saturate.into())));
        let round_mode = round_mode.map(|mode| ("round_mode", Attribute::String(mode.name())));
        let (rules, _) = NodeRules::new(Operator::Cast, opset, saturate.into_iter().chain(round_mode))?;
        rules.check(to)?;
        Ok(Self { rules, to })
    }

    /// The element type to cast to.
    pub fn to(&self) -> ElementType {
        self.to
    }

    /// The options that follow from the attributes and the opset.
    pub fn options(&self) -> CastOptions {
        self.rules.options
    }

    /// The operator's version, which is the opset that introduced it.
    pub fn version(&self) -> u32 {
        self.rules.version.since
    }

    /// Gives each attribute of a node with this meaning, including `to`. [`new`](Self::new) makes the same node from
    /// them.
    pub fn visit_attributes(&self, mut visit: impl FnMut(&'static str, Attribute<'_>)) {
        match self.rules.version.target {
            Target::Name => visit("to", Attribute::String(&self.to.name().to_uppercase())),
            Target::Code => visit("to", Attribute::Int(self.to.onnx_code().into())),
        }
        self.rules.visit_attributes(visit);
    }

    /// The opset for which the node was made.
    pub fn opset(&self) -> i64 {
        self.rules.opset
    }

    /// Checks that the opset supports an input's element type.
    ///
    /// # Errors
    /// [`Error::TypeNotInOpset`].
    pub fn check(&self, from: ElementType) -> Result<(), Error> {
        self.rules.check(from)
    }
}

/// The options of a `CastLike` node. The target is the element type of the second input, whose shape and data are
/// ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CastLikeNode {
    rules: NodeRules,
}

impl CastLikeNode {
    /// Reads a node's attributes by the rules of `CastLike` at `opset`, the version of the default domain that the
    /// model imports. `round_mode` is applied, as the operator's text requires; the function body in ONNX's schema
    /// omits it.
    ///
    /// # Errors
    /// As [`CastNode::new`].
    pub fn new<'a>(opset: i64, attributes: impl IntoIterator<Item = (&'a str, Attribute<'a>)>) -> Result<Self, Error> {
        let (rules, _) = NodeRules::new(Operator::CastLike, opset, attributes)?;
        Ok(Self { rules })
    }

    /// The options that follow from the attributes and the opset.
    pub fn options(&self) -> CastOptions {
        self.rules.options
    }

    /// The operator's version, which is the opset that introduced it.
    pub fn version(&self) -> u32 {
        self.rules.version.since
    }

    /// Gives each attribute of a node with this meaning. [`new`](Self::new) makes the same node from them.
    pub fn visit_attributes(&self, visit: impl FnMut(&'static str, Attribute<'_>)) {
        self.rules.visit_attributes(visit);
    }

    /// Checks that the opset supports the element types of both inputs.
    ///
    /// # Errors
    /// [`Error::TypeNotInOpset`].
    pub fn check(&self, from: ElementType, like: ElementType) -> Result<(), Error> {
        self.rules.check(from)?;
        self.rules.check(like)
    }
}

/// A version of an operator, and the meaning of a node's attributes in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NodeRules {
    operator: Operator,
    version: &'static Opset,
    opset: i64,
    options: CastOptions,
}

impl NodeRules {
    /// The rules of a node, and the target that `to` names.
    fn new<'a>(
        operator: Operator,
        opset: i64,
        attributes: impl IntoIterator<Item = (&'a str, Attribute<'a>)>,
    ) -> Result<(Self, Option<ElementType>), Error> {
        let version = versions(operator).rfind(|version| i64::from(version.since) <= opset);
        let version = version.filter(|_| opset <= NEWEST_OPSET).ok_or_else(|| {
            let first = versions(operator).next().map(|version| version.since).unwrap_or_default();
            Error::UnknownOpset { operator, opset, first, newest: NEWEST_OPSET }
        })?;
        let options =
            CastOptions::default().with_int4_overflow(version.int4_overflow).with_float4_nan(version.float4_nan);
        let mut rules = Self { operator, version, opset, options };
        let mut to = None;
        let mut seen = Vec::new();
        for (name, value) in attributes {
            if seen.contains(&name) {
                // The first value was read, so this version has the attribute.
                let attribute = version.attribute(name).map_or("to", CastAttribute::name);
                return Err(rules.invalid(attribute, "one value", Some("two".to_owned())));
            }
            seen.push(name);
            if name == "to" && operator == Operator::Cast {
                to = Some(rules.target(value)?);
                continue;
            }
            match version.attribute(name).ok_or_else(|| rules.unknown(name))? {
                CastAttribute::Saturate => {
                    let saturate = rules.int("saturate", value)? != 0;
                    rules.options = rules.options.with_saturate(saturate);
                }
                CastAttribute::RoundMode => {
                    let mode = rules.string("round_mode", value)?;
                    let mode = mode.parse().map_err(|_| rules.refused("round_mode", mode, RoundMode::NAMES))?;
                    rules.options = rules.options.with_round_mode(mode);
                }
            }
        }
        Ok((rules, to))
    }

    /// Gives the attributes other than the target.
    fn visit_attributes(&self, mut visit: impl FnMut(&'static str, Attribute<'_>)) {
        for attribute in self.version.attributes {
            let value = match attribute {
                CastAttribute::Saturate => Attribute::Int(self.options.saturate.into()),
                CastAttribute::RoundMode => Attribute::String(self.options.round_mode.name()),
            };
            visit(attribute.name(), value);
        }
    }

    /// The version and the opset, for errors.
    fn version(&self) -> OperatorVersion {
        OperatorVersion { operator: self.operator, since: self.version.since, opset: self.opset }
    }

    fn check(&self, element_type: ElementType) -> Result<(), Error> {
        match element_type.since_opset(self.operator) {
            Some(since) if since <= self.version.since => Ok(()),
            _ => Err(Error::TypeNotInOpset { node: self.version(), element_type }),
        }
    }

    fn target(&self, value: Attribute<'_>) -> Result<ElementType, Error> {
        let all = ElementType::ALL.iter().copied();
        match self.version.target {
            Target::Name => {
                let name = self.string("to", value)?;
                let named = |t: &ElementType| t.name().to_uppercase() == name;
                all.clone().find(named).ok_or_else(|| self.refused("to", name, "an upper-case type name"))
            }
            Target::Code => {
                let code = self.int("to", value)?;
                let coded = |t: &ElementType| i64::from(t.onnx_code()) == code;
                all.clone()
                    .find(coded)
                    .ok_or_else(|| self.refused("to", &code.to_string(), "a supported TensorProto.DataType"))
            }
        }
    }

    fn int(&self, attribute: &'static str, value: Attribute<'_>) -> Result<i64, Error> {
        match value {
            Attribute::Int(value) => Ok(value),
            value => Err(self.invalid(attribute, "INT", Some(value.kind().to_owned()))),
        }
    }

    fn string<'a>(&self, attribute: &'static str, value: Attribute<'a>) -> Result<&'a str, Error> {
        match value {
            Attribute::String(value) => Ok(value),
            value => Err(self.invalid(attribute, "STRING", Some(value.kind().to_owned()))),
        }
    }

    /// The error for an attribute with an invalid value.
    fn refused(&self, attribute: &'static str, value: &str, expected: &'static str) -> Error {
        self.invalid(attribute, expected, Some(quoted(value)))
    }

    fn invalid(&self, attribute: &'static str, expected: &'static str, found: Option<String>) -> Error {
        Error::InvalidAttribute { node: self.version(), attribute, expected, found }
    }

    /// The error for an attribute that this version lacks. Another version may have it.
    fn unknown(&self, attribute: &str) -> Error {
        let has = |version: &&Opset| version.attribute(attribute).is_some();
        let since = versions(self.operator).find(has).map(|version| version.since);
        Error::UnknownAttribute { node: self.version(), attribute: attribute.to_owned(), since }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::options::{Float4Nan, Int4Overflow};
    use Attribute::{Int, Other, String};
    use ElementType::*;
    use Operator::{Cast, CastLike};

    fn cast(opset: i64, attributes: &[(&str, Attribute<'_>)]) -> Result<CastNode, Error> {
        CastNode::new(opset, attributes.iter().copied())
    }

    fn like(opset: i64, attributes: &[(&str, Attribute<'_>)]) -> Result<CastLikeNode, Error> {
        CastLikeNode::new(opset, attributes.iter().copied())
    }

    fn message<T: std::fmt::Debug>(result: Result<T, Error>) -> std::string::String {
        result.unwrap_err().to_string()
    }

    /// The opsets at which the schemas of onnx 1.23.2 changed. Between them, the older version is valid.
    #[test]
    fn the_newest_version_that_is_not_newer_than_the_opset_holds() {
        let cast_versions = [1, 6, 9, 13, 19, 21, 23, 24, 25, 28];
        let like_versions = [15, 19, 21, 23, 24, 25];
        for opset in 1..=NEWEST_OPSET {
            let newest = |versions: &[i64]| versions.iter().copied().filter(|&version| version <= opset).max();
            let to = if opset < 6 { String("FLOAT") } else { Int(1) };
            assert_eq!(Some(i64::from(cast(opset, &[("to", to)]).unwrap().version())), newest(&cast_versions));
            let version = like(opset, &[]).ok().map(|node| i64::from(node.version()));
            assert_eq!(version, newest(&like_versions), "CastLike at {opset}");
        }
    }

    #[test]
    fn opsets_that_nobody_knows() {
        for opset in [i64::MIN, -1, 0, NEWEST_OPSET + 1, i64::MAX] {
            let error = cast(opset, &[("to", Int(1))]).unwrap_err();
            assert_eq!(error, Error::UnknownOpset { operator: Cast, opset, first: 1, newest: NEWEST_OPSET });
        }
        let newest = NEWEST_OPSET;
        let unknown = format!("CastLike is not supported at opset 14 (supported opsets: 15 to {newest})");
        assert_eq!(message(like(14, &[])), unknown);
        let unknown = format!("Cast is not supported at opset {} (supported opsets: 1 to {newest})", newest + 1);
        assert_eq!(message(cast(newest + 1, &[])), unknown);
    }

    /// Every type at every opset, by the lists of the schemas (`element::tests` counts them).
    #[test]
    fn a_version_takes_the_types_it_lists() {
        for opset in 1..=NEWEST_OPSET {
            for &t in ElementType::ALL {
                let listed = |operator, version: u32| t.since_opset(operator).is_some_and(|since| since <= version);
                let node = CastNode::with_target(opset, FLOAT, None, None).unwrap();
                let as_target = CastNode::with_target(opset, t, None, None);
                assert_eq!(node.check(t).is_ok(), listed(Cast, node.version()), "{t} at {opset}");
                assert_eq!(as_target.is_ok(), listed(Cast, node.version()), "{t} at {opset}");
                if let Ok(node) = like(opset, &[]) {
                    assert_eq!(node.check(t, FLOAT).is_ok(), listed(CastLike, node.version()), "{t} at {opset}");
                    assert_eq!(node.check(FLOAT, t), node.check(t, FLOAT));
                }
            }
        }
        assert_eq!(
            message(cast(22, &[("to", Int(23))])),
            "Cast at opset 22 does not support float4e2m1 (added in opset 23)"
        );
        assert_eq!(message(cast(8, &[("to", Int(8))])), "Cast at opset 8 does not support string (added in opset 9)");
        assert_eq!(
            message(like(28, &[]).unwrap().check(FLOAT, FLOAT6E2M3)),
            "CastLike at opset 28 does not support float6e2m3 (no opset does)"
        );
    }

    #[test]
    fn targets() {
        assert_eq!(cast(1, &[("to", String("FLOAT16"))]).unwrap().to(), FLOAT16);
        assert_eq!(cast(5, &[("to", String("INT32"))]).unwrap().to(), INT32);
        for name in ["float16", "Float", "FLOAT32", "", "10"] {
            assert_eq!(
                message(cast(5, &[("to", String(name))])),
                format!("Cast at opset 5: the attribute \"to\" must be an upper-case type name, got {name:?}")
            );
        }
        assert!(message(cast(5, &[("to", String("BFLOAT16"))])).contains("does not support bfloat16"));
        assert_eq!(
            message(cast(5, &[("to", Int(1))])),
            "Cast at opset 5: the attribute \"to\" must be STRING, got INT"
        );
        assert_eq!(
            message(cast(13, &[("to", String("FLOAT"))])),
            "Cast at opset 13: the attribute \"to\" must be INT, got STRING"
        );
        for &t in ElementType::ALL {
            assert_eq!(cast(NEWEST_OPSET, &[("to", Int(t.onnx_code().into()))]).unwrap().to(), t);
        }
        let after_last = ElementType::ALL.iter().map(|t| i64::from(t.onnx_code())).max().unwrap() + 1;
        for code in [0, 14, 15, after_last, -1, i64::MAX, (1 << 32) + 1] {
            let expected = "the attribute \"to\" must be a supported TensorProto.DataType";
            assert_eq!(
                message(cast(NEWEST_OPSET, &[("to", Int(code))])),
                format!("Cast at opset {NEWEST_OPSET}: {expected}, got \"{code}\"")
            );
        }
        assert_eq!(message(cast(13, &[])), "Cast at opset 13: the required attribute \"to\" is missing");
    }

    #[test]
    fn attributes_by_version() {
        let to = ("to", Int(1));
        for opset in 6..=NEWEST_OPSET {
            let saturate = cast(opset, &[to, ("saturate", Int(0))]);
            assert_eq!(saturate.is_ok(), opset >= 19, "saturate at {opset}");
            let round_mode = cast(opset, &[("round_mode", String("down")), to]);
            assert_eq!(round_mode.is_ok(), opset >= 24, "round_mode at {opset}");
            if opset >= 15 {
                assert_eq!(like(opset, &[("saturate", Int(0))]).is_ok(), opset >= 19, "saturate at {opset}");
                assert_eq!(
                    like(opset, &[("round_mode", String("down"))]).is_ok(),
                    opset >= 24,
                    "round_mode at {opset}"
                );
            }
        }
        assert_eq!(
            message(cast(15, &[to, ("saturate", Int(1))])),
            "Cast at opset 15 has no attribute \"saturate\" (added in opset 19)"
        );
        assert_eq!(
            message(like(23, &[("round_mode", String("up"))])),
            "CastLike at opset 23 has no attribute \"round_mode\" (added in opset 24)"
        );
        assert_eq!(message(like(25, &[to])), "CastLike at opset 25 has no attribute \"to\"");
        assert_eq!(message(cast(25, &[to, ("axis", Int(1))])), "Cast at opset 25 has no attribute \"axis\"");
        assert_eq!(message(cast(25, &[to, to])), "Cast at opset 25: the attribute \"to\" must be one value, got two");
        assert_eq!(
            message(cast(25, &[to, ("saturate", Other("FLOATS"))])),
            "Cast at opset 25: the attribute \"saturate\" must be INT, got FLOATS"
        );
        // The value is checked also where the target is not FLOAT8E8M0 and does not use it.
        assert_eq!(
            message(cast(25, &[to, ("round_mode", String("Up"))])),
            "Cast at opset 25: the attribute \"round_mode\" must be up, down or nearest, got \"Up\""
        );
    }

    #[test]
    fn options() {
        assert_eq!(cast(24, &[("to", Int(24))]).unwrap().options(), CastOptions::default());
        assert_eq!(like(NEWEST_OPSET, &[]).unwrap().options(), CastOptions::default());
        for (value, saturate) in [(0, false), (1, true), (2, true), (-1, true)] {
            assert_eq!(cast(19, &[("to", Int(17)), ("saturate", Int(value))]).unwrap().options().saturate, saturate);
        }
        for mode in RoundMode::ALL {
            let attribute = [("round_mode", String(mode.name()))];
            assert_eq!(like(24, &attribute).unwrap().options().round_mode, mode);
            let typed = CastNode::with_target(25, FLOAT8E8M0, Some(false), Some(mode)).unwrap();
            let node = cast(25, &[("to", Int(24)), ("saturate", Int(0)), attribute[0]]).unwrap();
            assert_eq!(typed, node);
        }
        for opset in [19, 21, 22, 23, 24, 25, NEWEST_OPSET] {
            let (int4, float4) = if opset < 24 { (Int4Overflow::Clamp, Float4Nan::Max) } else { Default::default() };
            for options in [cast(opset, &[("to", Int(1))]).unwrap().options(), like(opset, &[]).unwrap().options()] {
                assert_eq!((options.int4_overflow, options.float4_nan), (int4, float4), "{opset}");
            }
        }
    }
}
