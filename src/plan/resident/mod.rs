//! What the resident layer needs in addition to the plan of one cast: lists of casts, counts, and the kernels to
//! compile.

mod conflicts;
mod counted;
mod coverage;
mod host_pieces;
mod merge;
mod moved;
mod places;

pub(crate) use super::dense::{plan, plan_apart};
pub(crate) use super::dispatch::{ByteRange, Dispatch, Offsets};
#[cfg(test)]
pub(crate) use super::params::{CountParams, MoreParams, ViewParams};
pub(crate) use super::params::{Params, UniformBlock};
pub(crate) use super::pieces::plan_view;
pub(crate) use super::sizes::check_sizes;
pub(crate) use super::view::Strided;
pub(crate) use conflicts::{Use, conflict};
pub(crate) use counted::{CountedDispatch, counted};
pub use coverage::Coverage;
pub(crate) use coverage::{counted_kernels, kernels, merged_kernels};
pub(crate) use host_pieces::{HOST_ELEMENTS, host_chunk};
pub(crate) use merge::{Merge, Merged, merge};
pub(crate) use places::Places;
