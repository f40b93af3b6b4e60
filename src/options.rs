//! The options of a cast: ONNX's attributes, and the rules that changed between opsets.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;

/// ONNX attribute `round_mode` (Cast since opset 24): how a value between two powers of two becomes FLOAT8E8M0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RoundMode {
    /// To the next power of two above.
    #[default]
    Up,
    /// To the next power of two below.
    Down,
    /// To the nearer power of two; from 1.5 · 2^k on, up.
    Nearest,
}

impl RoundMode {
    /// Every mode.
    pub const ALL: [RoundMode; 3] = [RoundMode::Up, RoundMode::Down, RoundMode::Nearest];

    /// ONNX's word for it.
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

    /// Reads ONNX's words `up`, `down` and `nearest`, exactly.
    ///
    /// # Errors
    /// [`Error::UnknownRoundMode`] with the text as given.
    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|mode| mode.name() == text)
            .ok_or_else(|| Error::UnknownRoundMode { name: text.to_owned() })
    }
}

/// What INT4 and UINT4 get from a float that does not fit; ONNX leaves it undefined, its test data changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Int4Overflow {
    /// The low four bits of the truncated value, 0 beyond int32 and for NaN: test data since opset 24.
    #[default]
    Wrap,
    /// The nearest value of the type, 0 for NaN: test data of opsets 21 and 23.
    Clamp,
}

/// What FLOAT4E2M1, which has no NaN, gets from NaN; ONNX is silent, its test data changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Float4Nan {
    /// Zero with the inverted sign (+NaN gives −0): test data since opset 24.
    #[default]
    Zero,
    /// +6 for NaN of either sign: test data of opset 23.
    Max,
}

/// How to cast. The defaults are those of the newest opset.
///
/// An option that a destination does not look at changes nothing, and costs no further pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct CastOptions {
    /// ONNX attribute `saturate` (since opset 19, default true): FLOAT8* destinations get ±max instead of NaN or ±∞ for
    /// what is out of range.
    pub saturate: bool,
    /// ONNX attribute `round_mode` (since opset 24, default up): only FLOAT8E8M0 destinations look at it.
    pub round_mode: RoundMode,
    /// Only float to INT4 and UINT4 looks at it.
    pub int4_overflow: Int4Overflow,
    /// Only float to FLOAT4E2M1 looks at it.
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
    /// The same with another `saturate`.
    #[must_use]
    pub const fn with_saturate(self, saturate: bool) -> Self {
        Self { saturate, ..self }
    }

    /// The same with another `round_mode`.
    #[must_use]
    pub const fn with_round_mode(self, round_mode: RoundMode) -> Self {
        Self { round_mode, ..self }
    }

    /// The same with another rule for floats that do not fit INT4 and UINT4.
    #[must_use]
    pub const fn with_int4_overflow(self, int4_overflow: Int4Overflow) -> Self {
        Self { int4_overflow, ..self }
    }

    /// The same with another rule for NaN into FLOAT4E2M1.
    #[must_use]
    pub const fn with_float4_nan(self, float4_nan: Float4Nan) -> Self {
        Self { float4_nan, ..self }
    }
}
