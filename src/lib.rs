// The first definition of a link counts. These definitions replace the README's links to docs.rs, which the package's
// page needs.
//! [engine]: docs::engine
//! [semantics]: docs::semantics
//! [performance]: docs::performance
//!
//! Casts between all element types of ONNX. The table has every public type by task; the README follows.
//!
//! | to | use |
//! |---|---|
//! | name a cast | [`CastSpec`]: two [`ElementType`]s and [`CastOptions`] ([`RoundMode`], [`Int4Overflow`], [`Float4Nan`]) |
//! | ask about a type | [`ElementType`], its [`Kind`], [`FloatFormat`] and [`Specials`]; [`has_kernel`] |
//! | hold a tensor in host memory | [`Tensor`] of [`Element`]s, or of [`Bytes`] that something else owns |
//! | cast it on the CPU | [`cpu::cast`], [`cpu::cast_into`]; [`cpu::cast_bytes`] from slices of bytes |
//! | cast arrays of one code per byte, as numpy has them | [`cpu::cast_codes`] with a [`CodeLayout`] of each side |
//! | learn what a cast loses | [`cpu::cast_counted`], [`cpu::count_losses`], and for one code per byte [`cpu::cast_codes_counted`], [`cpu::count_lost_codes`]: [`LossCounts`]; [`cpu::largest_relative_error`] |
//! | cast scaled elements, such as those of quantized checkpoints | [`cpu::cast_scaled`], [`cpu::cast_scaled_counted`] with [`cpu::Scales`]; for one code per byte [`cpu::cast_scaled_codes`], [`cpu::cast_scaled_codes_counted`] |
//! | divide by scales, which quantizes | [`cpu::cast_divided_counted`] |
//! | cast it on a GPU of your choice, or where it is faster | [`Context`] by a [`DeviceChoice`]; [`blocking::cast`]; [`adapters`]: [`AdapterSummary`]. [`CastReport`] has the [`Route`] |
//! | cast results again before they are read back | [`Context::batch`]: [`BatchDescriptor`], [`Batch`], [`BatchTensor`], [`BatchReport`] |
//! | record a cast between buffers | [`Caster`] (by a [`CasterDescriptor`]), [`Prepared`], [`Source`] and [`Destination`], [`Bound`] |
//! | cast a view with strides | [`Caster::prepare_view`]: [`View`] |
//! | cast many tensors in few dispatches | [`Caster::many`]: [`Many`] |
//! | record each dispatch yourself | [`Bound::dispatches`]: [`BoundDispatch`] |
//! | compile kernels ahead, or test a device | [`Caster::warm_up`], [`Caster::warm_up_counted`], [`Caster::warm_up_many`], [`Caster::self_test`]: [`Coverage`], [`SelfTestReport`] |
//! | make the objects of a device yourself | [`Plan`] for a [`Placement`] of two [`Position`]s: [`PlannedDispatch`], [`PlannedBinding`]; [`PlannedSlice`] checks a slice |
//! | bound or shape dispatches | [`PlanLimits`], [`PlanTuning`] with [`CodeLookup`]; both are [`PlanSettings`] |
//! | cast in a kernel of yours | [`wgsl::Functions`]: [`wgsl::Function`], [`wgsl::Type`], [`wgsl::ValueType`], [`wgsl::Array`], [`wgsl::Table`] |
//! | read a kernel | [`wgsl::kernel`]: [`wgsl::KernelVariant`], [`wgsl::Kernel`] |
//! | follow a node of ONNX | [`onnx::CastNode`], [`onnx::CastLikeNode`], [`onnx::Attribute`]; [`Operator`] |
//! | tell what failed | [`Error`], and what is wrong: with a cast [`CastFault`], with a slice of it [`SliceFault`], with scales [`ScalesFault`]; what they name: [`Side`], [`BufferRange`], [`OperatorVersion`] |
//!
#![doc = include_str!("../README.md")]
// Where wgpu's types are sent to threads, they nest deeper than the default limit of 128. Rust 1.101 warns of that, and
// a later version is to refuse it.
#![recursion_limit = "256"]
#![cfg_attr(not(feature = "cpu"), allow(dead_code, unused_imports, reason = "casts on the CPU use them"))]

#[cfg(all(test, not(feature = "cpu")))]
compile_error!("the tests need the feature `cpu`");

mod bits;
#[cfg(feature = "wgpu")]
mod caster;
#[cfg(feature = "cpu")]
pub mod cpu;
pub mod docs;
#[cfg(feature = "wgpu")]
mod gpu;
#[cfg(feature = "wgpu")]
mod host;
mod kernel;
#[cfg(test)]
mod layers;
mod plan;
mod rules;
mod types;
pub mod wgsl;

pub use bits::format::{FloatFormat, Specials};
pub use bytes::Bytes;
pub use plan::{
    CodeLookup, Placement, Plan, PlanLimits, PlanSettings, PlanTuning, PlannedBinding, PlannedDispatch, PlannedSlice,
    Position, View,
};
pub use rules::onnx;
pub use types::conversion::has_kernel;
pub use types::element::{ElementType, Kind, Operator};
pub use types::error::{BufferRange, CastFault, Error, OperatorVersion, ScalesFault, SliceFault};
pub use types::layout::CodeLayout;
pub use types::loss::LossCounts;
pub use types::options::{CastOptions, Float4Nan, Int4Overflow, RoundMode};
pub use types::side::Side;
pub use types::spec::CastSpec;
pub use types::tensor::{Element, Tensor};
#[cfg(feature = "wgpu")]
pub use with_wgpu::*;
#[cfg(all(feature = "cpu", feature = "wgpu"))]
pub use with_wgpu_and_cpu::*;

/// The items that the feature `wgpu` adds.
#[cfg(feature = "wgpu")]
mod with_wgpu {
    pub use crate::caster::{Bound, BoundDispatch, Caster, CasterDescriptor, Destination, Many, Prepared, Source};
    pub use crate::host::self_test::SelfTestReport;
    pub use crate::plan::Coverage;
    pub use wgpu;
}

/// The items that the features `cpu` and `wgpu` add together.
#[cfg(all(feature = "cpu", feature = "wgpu"))]
mod with_wgpu_and_cpu {
    pub use crate::host::adapter::{AdapterSummary, DeviceChoice, adapters};
    pub use crate::host::batch::{Batch, BatchDescriptor, BatchReport, BatchTensor};
    #[cfg(not(target_family = "wasm"))]
    pub use crate::host::blocking;
    pub use crate::host::context::{CastReport, Context, Route};
}

/// The version of this crate. Kernels and the answers of [`Caster::self_test`](crate::Caster::self_test) may change
/// with it, so keys of stored ones should contain it.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
