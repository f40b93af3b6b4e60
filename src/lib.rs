// The first definition of a link counts: these replace the README's links to docs.rs, which the package's page needs.
//! [engine]: docs::engine
//! [semantics]: docs::semantics
//! [performance]: docs::performance
//!
#![doc = include_str!("../README.md")]

#[cfg(not(target_family = "wasm"))]
pub mod blocking;
mod caster;
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
mod gpu;
#[cfg(feature = "onnx")]
mod graph;
mod kernel;
mod lanes;
pub mod onnx;
mod options;
mod plan;
mod reference;
mod self_test;
mod string_array;
mod strings;
mod tensor;
mod threads;
pub mod wgsl;

pub use caster::{Bound, CastSpec, Caster, Prepared};
pub use context::{CastReport, Context, Route};
pub use conversion::{can_cast, has_kernel};
pub use element::{ElementType, Kind, Operator};
pub use error::{Error, OperatorVersion, Side};
#[cfg(feature = "onnx")]
pub use error::{ModelFault, TensorFault};
pub use format::{FloatFormat, Specials};
pub use gpu::adapter::{AdapterSummary, DeviceChoice, adapters};
#[cfg(feature = "onnx")]
pub use graph::RunReport;
pub use options::{CastOptions, Float4Nan, Int4Overflow, RoundMode};
pub use plan::{CodeLookup, PlanLimits, PlanTuning, Slices};
pub use tensor::{Element, Tensor};
pub use wgpu;
