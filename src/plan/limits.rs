//! What bounds dispatches, and what shapes them within those bounds.

pub use crate::kernel::CodeLookup;

/// The limits of dispatches. [`Caster::new`](crate::Caster::new) uses those of the device;
/// [`CasterDescriptor`](crate::CasterDescriptor) accepts smaller ones. Preferences are in [`PlanTuning`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlanLimits {
    /// The maximum size of a storage binding, in bytes.
    pub binding_size: u64,
    /// The maximum size of a buffer, in bytes. Larger host tensors are cast in chunks.
    pub buffer_size: u64,
    /// The alignment of a binding's start, in bytes.
    pub offset_alignment: u64,
    /// The maximum number of workgroups in one dimension of a dispatch.
    pub workgroups: u32,
}

impl PlanLimits {
    /// These limits, made such that planning can rely on them: sizes of whole words, words within a binding that are
    /// counted in 32 bits, and an alignment that is a power of two.
    pub(crate) fn usable(self) -> Self {
        Self {
            binding_size: self.binding_size.min(u32::MAX.into()) & !3,
            buffer_size: self.buffer_size & !3,
            offset_alignment: self.offset_alignment.clamp(4, 1 << 31).next_power_of_two(),
            workgroups: self.workgroups,
        }
    }
}

impl Default for PlanLimits {
    /// The default limits of WebGPU, which every WebGPU device supports.
    fn default() -> Self {
        Self { binding_size: 128 << 20, buffer_size: 256 << 20, offset_alignment: 256, workgroups: 65_535 }
    }
}

/// How casts are planned within a device's limits. No value changes the bits of a result.
/// [`Caster::new`](crate::Caster::new) uses what suits the device; [`CasterDescriptor`](crate::CasterDescriptor)
/// accepts other values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlanTuning {
    /// The maximum number of elements per dispatch, for drivers that stop long dispatches. Rounded down as alignment
    /// requires.
    pub dispatch_elements: u64,
    /// The number of elements from which the main kernel is used; smaller tensors use only the edge kernel, which saves
    /// the compilation of the main kernel. `None` means the elements of one workgroup.
    pub blocks_from: Option<u64>,
    /// Whether kernels look up or compute the codes of sources of at most 8 bits.
    pub lookup: CodeLookup,
}

impl Default for PlanTuning {
    /// What suits GPUs.
    fn default() -> Self {
        Self { dispatch_elements: u64::MAX, blocks_from: None, lookup: CodeLookup::Table }
    }
}

/// How a cast is planned: the limits, and the tuning within them. The default suits every WebGPU device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlanSettings {
    /// The limits of the device.
    pub limits: PlanLimits,
    /// What suits the device.
    pub tuning: PlanTuning,
}

impl PlanSettings {
    /// Limits and tuning.
    pub fn new(limits: PlanLimits, tuning: PlanTuning) -> Self {
        Self { limits, tuning }
    }
}
