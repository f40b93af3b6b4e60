// The first definition of a link counts: these replace the README's links to docs.rs, which the package's page needs.
//! [engine]: docs::engine
//! [semantics]: docs::semantics
//! [performance]: docs::performance
//!
#![doc = include_str!("../README.md")]
#![cfg_attr(
    not(feature = "wgpu"),
    allow(dead_code, unused_imports, reason = "some parts of modules serve casts on devices only")
)]
// Where the types of wgpu are sent to threads, they nest deeper than the default of 128. Rust 1.101 warns of that, and a later version
// is to refuse it.
#![recursion_limit = "256"]

#[cfg(feature = "wgpu")]
mod batch;
#[cfg(all(feature = "wgpu", not(target_family = "wasm")))]
pub mod blocking;
#[cfg(feature = "wgpu")]
mod caster;
#[cfg(feature = "wgpu")]
mod context;
mod conversion;
pub mod cpu;
pub mod docs;
mod element;
mod error;
mod float_env;
#[cfg(test)]
mod floors;
mod format;
#[cfg(feature = "wgpu")]
mod gpu;
mod kernel;
mod loss;
pub mod onnx;
mod options;
mod packed;
mod packing;
mod plan;
mod reference;
#[cfg(feature = "wgpu")]
mod self_test;
mod spec;
mod string_array;
mod strings;
mod tensor;
mod threads;
pub mod wgsl;

#[cfg(feature = "wgpu")]
pub use batch::{Batch, BatchDescriptor, BatchReport, BatchTensor};
#[cfg(feature = "wgpu")]
pub use caster::{Bound, BoundDispatch, Caster, CasterDescriptor, Destination, Many, Prepared, Source};
#[cfg(feature = "wgpu")]
pub use context::{CastReport, Context, Route};
pub use conversion::has_kernel;
pub use element::{ElementType, Kind, Operator};
pub use error::{AllowedOverlap, Error, Operand, OperatorVersion, Side};
pub use format::{FloatFormat, Specials};
#[cfg(feature = "wgpu")]
pub use gpu::adapter::{AdapterSummary, DeviceChoice, adapters};
pub use loss::LossCounts;
pub use options::{CastOptions, Float4Nan, Int4Overflow, RoundMode};
pub use packed::SharedBytes;
#[cfg(feature = "wgpu")]
pub use plan::Coverage;
pub use plan::{
    CodeLookup, Placement, Plan, PlanLimits, PlanSettings, PlanTuning, PlannedBinding, PlannedDispatch, Position, View,
};
pub use spec::CastSpec;
pub use tensor::{Element, Tensor};
#[cfg(feature = "wgpu")]
pub use wgpu;
