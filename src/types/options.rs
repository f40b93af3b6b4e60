//! The options of a cast. Rules that changed between opsets are options too.

use std::fmt;
use std::str::FromStr;

use crate::types::error::Error;

/// The ONNX attribute `round_mode` (since opset 24): how a value is rounded to a power of two for FLOAT8E8M0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RoundMode {
    /// To the next larger power of two; a power of two stays.
    #[default]
    Up,
    /// To the next smaller power of two; a power of two stays.
    Down,
    /// To the nearest power of two; the midpoint 1.5 · 2^k is rounded up.
    Nearest,
}

impl RoundMode {
    /// Every mode.
    pub const ALL: [RoundMode; 3] = [RoundMode::Up, RoundMode::Down, RoundMode::Nearest];

    /// The values of the ONNX attribute, for messages.
    pub(crate) const NAMES: &str = "up, down or nearest";

    /// The value of the ONNX attribute.
    pub const fn name(self) -> &'static str {
        match self {
            RoundMode::Up => "up",
            RoundMode::Down => "down",
            RoundMode::Nearest => "nearest",
        }
    }
}

impl fmt::Display for RoundMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for RoundMode {
    type Err = Error;

    /// Parses the values of the ONNX attribute: `up`, `down` and `nearest`, in lower case.
    ///
    /// # Errors
    /// [`Error::UnknownName`] for any other text.
    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|mode| mode.name() == text).ok_or_else(|| Error::UnknownName {
            kind: "round_mode",
            name: text.to_owned(),
            expected: Some(Self::NAMES),
        })
    }
}

/// The result of casting an out-of-range float to INT4 or UINT4. The ONNX text leaves it undefined, and ONNX's test
/// data changed at opset 24.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Int4Overflow {
    /// The low four bits of the truncated value; 0 if the truncated value does not fit in an int32, and for NaN. As in
    /// the test data since opset 24.
    #[default]
    Wrap,
    /// The nearest value of the type; 0 for NaN. As in the test data of opsets 21 and 23.
    Clamp,
}

/// The result of casting NaN to FLOAT4E2M1, which has no NaN. The ONNX text does not mention it, and ONNX's test data
/// changed at opset 24.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Float4Nan {
    /// Zero with the inverted sign: +NaN becomes −0. As in the test data since opset 24.
    #[default]
    Zero,
    /// +6 for NaN of either sign. As in the test data of opset 23.
    Max,
}

/// The options of a cast. The defaults are those of the newest opset.
///
/// An option that does not affect the pair is ignored; it does not create another pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct CastOptions {
    /// The ONNX attribute `saturate` (since opset 19, default true): for FLOAT8* destinations, out-of-range values
    /// become ±max instead of NaN or ±∞.
    pub saturate: bool,
    /// The ONNX attribute `round_mode` (since opset 24, default up). Affects only FLOAT8E8M0 destinations.
    pub round_mode: RoundMode,
    /// Out-of-range floats to INT4 and UINT4. Affects only those casts.
    pub int4_overflow: Int4Overflow,
    /// NaN to FLOAT4E2M1, the 4-bit float without NaN. Affects only that cast.
    pub float4_nan: Float4Nan,
}

impl Default for CastOptions {
    fn default() -> Self {
        Self {
            saturate: true,
            round_mode: RoundMode::default(),
            int4_overflow: Int4Overflow::default(),
            float4_nan: Float4Nan::default(),
        }
    }
}

impl CastOptions {
    /// These options with another `saturate`.
    #[must_use]
    pub const fn with_saturate(self, saturate: bool) -> Self {
        Self { saturate, ..self }
    }

    /// These options with another `round_mode`.
    #[must_use]
    pub const fn with_round_mode(self, round_mode: RoundMode) -> Self {
        Self { round_mode, ..self }
    }

    /// These options with another rule for out-of-range floats to INT4 and UINT4.
    #[must_use]
    pub const fn with_int4_overflow(self, int4_overflow: Int4Overflow) -> Self {
        Self { int4_overflow, ..self }
    }

    /// These options with another rule for NaN to FLOAT4E2M1.
    #[must_use]
    pub const fn with_float4_nan(self, float4_nan: Float4Nan) -> Self {
        Self { float4_nan, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_read_as_they_are_printed() {
        for mode in RoundMode::ALL {
            assert_eq!((mode.to_string(), mode.name().parse()), (mode.name().to_owned(), Ok(mode)));
        }
        assert!("Up".parse::<RoundMode>().is_err());
    }
}
