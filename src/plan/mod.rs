//! The plan of a cast on a device: its dispatches and their byte ranges, as data. Planning needs no device.

mod cast_plan;
mod conflicts;
mod counted;
mod coverage;
mod dense;
mod dispatch;
mod divisor;
mod in_place;
mod limits;
mod measures;
mod merge;
mod params;
mod pieces;
mod placement;
mod places;
mod sizes;
#[cfg(test)]
mod tests;
mod view;

pub use cast_plan::{Plan, PlannedBinding, PlannedDispatch};
pub(crate) use conflicts::{Use, conflict};
pub(crate) use counted::{CountedDispatch, counted};
pub use coverage::Coverage;
pub(crate) use coverage::kernels;
pub(crate) use dense::{plan, plan_apart};
pub(crate) use dispatch::{ByteRange, Dispatch, Offsets};
pub use limits::{CodeLookup, PlanLimits, PlanSettings, PlanTuning};
pub(crate) use merge::{Merge, Merged, merge};
#[cfg(test)]
pub(crate) use params::{CountParams, MoreParams, ViewParams};
pub(crate) use params::{Params, UniformBlock};
pub(crate) use pieces::plan_view;
pub use placement::{Placement, Position};
pub(crate) use places::Places;
pub(crate) use sizes::{HOST_ELEMENTS, check_sizes, host_chunk};
pub(crate) use view::Strided;
pub use view::View;
