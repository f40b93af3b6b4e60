//! The guides of this crate, which are also files in its folder `docs/`.

// The first definition of a link counts: the definitions above each page replace its links to files and to docs.rs.

/// [`CastOptions`]: crate::CastOptions
/// [`CastOptions::int4_overflow`]: crate::CastOptions::int4_overflow
/// [`CastOptions::float4_nan`]: crate::CastOptions::float4_nan
/// [`Int4Overflow::Clamp`]: crate::Int4Overflow::Clamp
/// [`LossCounts`]: crate::LossCounts
/// [`onnx::CastNode`]: crate::onnx::CastNode
/// [`onnx::CastLikeNode`]: crate::onnx::CastLikeNode
///
#[doc = include_str!("../docs/semantics.md")]
pub mod semantics {}

/// [performance]: performance
///
#[doc = include_str!("../docs/engine.md")]
pub mod engine {}

/// [design-log]: design_log
///
#[doc = include_str!("../docs/performance.md")]
pub mod performance {}

/// [performance]: performance
///
#[doc = include_str!("../docs/design-log.md")]
pub mod design_log {}
