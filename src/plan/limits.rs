//! What bounds dispatches, and what shapes them within those bounds.

pub use crate::kernel::CodeLookup;

/// What a device allows. [`Caster::new`](crate::Caster::new) takes the device's own limits;
/// [`Caster::with_limits`](crate::Caster::with_limits) takes smaller ones. What is a matter of preference is in [`PlanTuning`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlanLimits {
    /// Most bytes of one storage binding.
    pub binding_size: u64,
    /// Most bytes of one buffer. Host tensors are cast in chunks beyond it.
    pub buffer_size: u64,
    /// A binding starts at a multiple of this many bytes.
    pub offset_alignment: u64,
    /// Most workgroups along one dimension of a dispatch.
    pub workgroups: u32,
}

impl Default for PlanLimits {
    /// WebGPU's default limits, which every WebGPU device has.
    fn default() -> Self {
        Self { binding_size: 128 << 20, buffer_size: 256 << 20, offset_alignment: 256, workgroups: 65_535 }
    }
}

/// How casts are planned within a device's limits. No value changes a result's bits.
/// [`Caster::new`](crate::Caster::new) takes what suits the device; [`Caster::with_tuning`](crate::Caster::with_tuning) takes
/// other values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlanTuning {
    /// Most elements of one dispatch, for drivers that stop long ones. Rounded down to what alignment allows.
    pub dispatch_elements: u64,
    /// Fewest elements for which the kernel for whole blocks is worth its compilation; `None` is a workgroup's worth of them.
    pub blocks_from: Option<u64>,
    /// Whether kernels look up or compute the codes of small sources.
    pub lookup: CodeLookup,
}

impl Default for PlanTuning {
    /// What suits GPUs.
    fn default() -> Self {
        Self { dispatch_elements: u64::MAX, blocks_from: None, lookup: CodeLookup::Table }
    }
}

/// Everything that planning a cast depends on beside the cast.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PlanSettings {
    pub limits: PlanLimits,
    pub tuning: PlanTuning,
}
