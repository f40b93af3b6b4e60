//! The plan of a cast on a device: its dispatches and their byte ranges, as data. Planning needs no device.

mod cast_plan;
mod dense;
mod dispatch;
mod divisor;
mod in_place;
mod limits;
mod measures;
mod params;
mod pieces;
mod placement;
#[cfg(feature = "wgpu")]
mod resident;
mod sizes;
mod slice;
#[cfg(all(test, feature = "wgpu"))]
mod tests;
mod view;

pub use cast_plan::{Plan, PlannedBinding, PlannedDispatch};
pub use limits::{CodeLookup, PlanLimits, PlanSettings, PlanTuning};
pub use placement::{Placement, Position};
#[cfg(feature = "wgpu")]
pub use resident::*;
pub use slice::PlannedSlice;
pub use view::View;
