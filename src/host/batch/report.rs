//! What a batch has done.

use std::fmt;

use crate::host::context::Route;

/// Where and why the casts of a batch were done, and how much they moved.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BatchReport {
    /// Where the casts were done: on a device if it did any of them, on the CPU if it did all of them, a copy if
    /// nothing was converted.
    pub route: Route,
    /// Why they were done there.
    pub reason: String,
    /// The adapter's name, if a device did any of the casts.
    pub adapter: Option<String>,
    /// Dispatches that were submitted, or are recorded for the next submission.
    pub dispatches: u32,
    /// Tensors copied to the device.
    pub uploads: u32,
    /// Tensors copied from the device: those that were read back, and sources of casts to strings.
    pub read_backs: u32,
}

impl fmt::Display for BatchReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.route.describe(self.adapter.as_deref(), &self.reason))
    }
}
