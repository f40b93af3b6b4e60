//! Which opset means which rules: the only place that knows opset numbers besides the rows' since-opset.

use crate::element::{ElementType, Operator};
use crate::error::Error;
use crate::options::{CastOptions, Float4Nan, Int4Overflow, RoundMode};

/// The newest opset of the ONNX standard that this crate knows.
pub const NEWEST_OPSET: u32 = 28;

/// The first opset with `saturate`, and with `round_mode`.
const SATURATE_SINCE: u32 = 19;
const ROUND_MODE_SINCE: u32 = 24;

/// Checks that `operator` at `opset` lists both types and has the attributes given, and gives the options that it
/// means; `None` is an attribute that the node does not set.
///
/// # Errors
/// [`Error::UnknownOpset`], [`Error::TypeNotInOpset`], [`Error::AttributeNotInOpset`].
pub fn options_at(
    operator: Operator,
    opset: u32,
    from: ElementType,
    to: ElementType,
    saturate: Option<bool>,
    round_mode: Option<RoundMode>,
) -> Result<CastOptions, Error> {
    let first = match operator {
        Operator::Cast => 1,
        Operator::CastLike => 15,
    };
    if opset < first || opset > NEWEST_OPSET {
        return Err(Error::UnknownOpset { operator, opset, first, newest: NEWEST_OPSET });
    }
    for element_type in [from, to] {
        if element_type.since_opset(operator).is_none_or(|since| opset < since) {
            return Err(Error::TypeNotInOpset { operator, element_type, opset });
        }
    }
    for (given, attribute, since) in
        [(saturate.is_some(), "saturate", SATURATE_SINCE), (round_mode.is_some(), "round_mode", ROUND_MODE_SINCE)]
    {
        if given && opset < since {
            return Err(Error::AttributeNotInOpset { operator, attribute, since, opset });
        }
    }
    // ONNX never worded these two; its own test data changed with opset 24.
    let newest = opset >= 24;
    Ok(CastOptions::default()
        .with_saturate(saturate.unwrap_or(true))
        .with_round_mode(round_mode.unwrap_or_default())
        .with_int4_overflow(if newest { Int4Overflow::Wrap } else { Int4Overflow::Clamp })
        .with_float4_nan(if newest { Float4Nan::Zero } else { Float4Nan::Max }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ElementType::*;

    #[test]
    fn rules_by_opset() {
        let cast = |opset, to| options_at(Operator::Cast, opset, FLOAT, to, None, None);
        assert_eq!(cast(28, INT4).unwrap(), CastOptions::default());
        assert_eq!(cast(24, INT4).unwrap(), CastOptions::default());
        assert_eq!(cast(23, INT4).unwrap().int4_overflow, Int4Overflow::Clamp);
        assert_eq!(cast(23, FLOAT4E2M1).unwrap().float4_nan, Float4Nan::Max);
        assert_eq!(
            cast(22, FLOAT4E2M1),
            Err(Error::TypeNotInOpset { operator: Operator::Cast, element_type: FLOAT4E2M1, opset: 22 })
        );
        assert!(matches!(cast(29, INT8), Err(Error::UnknownOpset { newest: 28, .. })));
        assert!(matches!(cast(0, INT8), Err(Error::UnknownOpset { .. })));
        let like = options_at(Operator::CastLike, 28, FLOAT, FLOAT6E2M3, None, None);
        assert_eq!(like.unwrap_err().to_string(), "CastLike lists float6e2m3 at no opset, not at opset 28");
        let early = options_at(Operator::Cast, 23, FLOAT, FLOAT8E5M2, Some(false), Some(RoundMode::Up));
        assert_eq!(early.unwrap_err().to_string(), "Cast has the attribute round_mode since opset 24, not at opset 23");
    }
}
