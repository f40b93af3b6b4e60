//! What limits dispatches, and what shapes them within the limits.

pub use crate::kernel::CodeLookup;
use crate::types::conversion::Conversion;
use crate::types::error::{CastFault, Error};

/// A binding starts at a multiple of this many bytes at least, so that the vectors of a buffer are vectors of the
/// binding.
pub(super) const LEAST_ALIGNMENT: u64 = 16;

/// The most dispatches of a plan: see [`Plan::MOST_DISPATCHES`](super::Plan::MOST_DISPATCHES).
pub(super) const MOST_DISPATCHES: u64 = 1 << 16;

/// Refuses a plan that needs at least `needed` dispatches, if that is too many.
pub(super) fn check_dispatches(conversion: &Conversion, needed: u64) -> Result<(), Error> {
    let (limit, allowed) = ("Plan::MOST_DISPATCHES", MOST_DISPATCHES);
    if needed > allowed { Err(conversion.error(CastFault::Limit { limit, needed, allowed })) } else { Ok(()) }
}

/// The limits of dispatches. [`Caster::new`](crate::Caster::new) uses those of the device;
/// [`CasterDescriptor`](crate::CasterDescriptor) accepts smaller ones. Preferences are in [`PlanTuning`].
///
/// For a [`Plan`](crate::Plan), an engine takes the numbers from its own device, on any version of wgpu or other API:
///
/// | method | limit of WebGPU | field of `wgpu::Limits` |
/// |---|---|---|
/// | [`with_buffer_size`](Self::with_buffer_size) | `maxBufferSize` | `max_buffer_size` |
/// | [`with_binding_size`](Self::with_binding_size) | `maxStorageBufferBindingSize` | `max_storage_buffer_binding_size` |
/// | [`with_offset_alignment`](Self::with_offset_alignment) | `minStorageBufferOffsetAlignment` | `min_storage_buffer_offset_alignment` |
/// | [`with_workgroups`](Self::with_workgroups) | `maxComputeWorkgroupsPerDimension` | `max_compute_workgroups_per_dimension` |
///
/// ```
/// use wgpu_cast::{CastSpec, ElementType, Placement, Plan, PlanLimits, PlanSettings, PlanTuning, Position};
///
/// // What `device.limits` has in JavaScript, `device.limits()` in another wgpu, or `wgpuDeviceGetLimits` in Dawn.
/// let limits = PlanLimits::default()
///     .with_buffer_size(4 << 30)
///     .with_binding_size((2 << 30) - 4)
///     .with_offset_alignment(64)
///     .with_workgroups(65_535);
/// let settings = PlanSettings::new(limits, PlanTuning::default().with_dispatch_elements(1 << 26));
/// let spec = CastSpec::new(ElementType::FLOAT, ElementType::FLOAT16);
/// let placement = Placement::two_buffers(Position::whole(64), Position::whole(0));
/// let plan = Plan::new(&spec, 1 << 27, &placement, &settings)?;
/// assert_eq!(plan.dispatches().len(), 2);
/// # Ok::<(), wgpu_cast::Error>(())
/// ```
///
/// A limit that is not given has WebGPU's default value, which every WebGPU device supports. If a device was opened
/// with smaller limits, give all four. Any numbers are accepted. Numbers that no device has are brought into range as
/// the methods say. If the numbers are too small for a cast, planning it is an [`Error`].
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
    /// These limits with another maximum size of a buffer, in bytes. Plans use whole words, and at most 2⁵⁹ bytes.
    #[must_use]
    pub const fn with_buffer_size(self, buffer_size: u64) -> Self {
        Self { buffer_size, ..self }
    }

    /// These limits with another maximum size of a storage binding, in bytes. Plans use whole words, and at most
    /// 2³² − 4 bytes.
    #[must_use]
    pub const fn with_binding_size(self, binding_size: u64) -> Self {
        Self { binding_size, ..self }
    }

    /// These limits with another alignment of a binding's start, in bytes. Plans use the next power of two, at least 16
    /// and at most 2³¹. WebGPU's alignments are powers of two.
    #[must_use]
    pub const fn with_offset_alignment(self, offset_alignment: u64) -> Self {
        Self { offset_alignment, ..self }
    }

    /// These limits with another maximum number of workgroups in one dimension of a dispatch. A
    /// [`Caster`](crate::Caster) uses at least 1. With 0, every [`Plan`](crate::Plan) with elements is an error.
    #[must_use]
    pub const fn with_workgroups(self, workgroups: u32) -> Self {
        Self { workgroups, ..self }
    }

    /// These limits in a form on which planning can rely: sizes are whole words, the bits of a buffer can be counted in
    /// 64 bits and the words of a binding in 32 bits, and the alignment is a power of two.
    pub(crate) fn usable(self) -> Self {
        Self {
            binding_size: self.binding_size.min(u32::MAX.into()) & !3,
            buffer_size: self.buffer_size.min(MOST_BYTES) & !3,
            offset_alignment: self.offset_alignment.clamp(4, 1 << 31).next_power_of_two(),
            workgroups: self.workgroups,
        }
    }
}

/// The most bytes of a buffer that plans use. The bits of twice this size can be counted in 64 bits.
pub(super) const MOST_BYTES: u64 = 1 << 59;

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
    /// The maximum number of elements per dispatch, for drivers that stop long dispatches. It is rounded down as
    /// alignment requires.
    pub dispatch_elements: u64,
    /// The number of elements from which the main kernel is used. Smaller tensors use only the edge kernel, which saves
    /// the compilation of the main kernel. `None` means the number of elements of one workgroup.
    pub blocks_from: Option<u64>,
    /// Whether kernels look up or compute the codes of sources of at most 8 bits.
    pub lookup: CodeLookup,
}

impl PlanTuning {
    /// This tuning with another maximum number of elements per dispatch. A dispatch that cannot be split further has
    /// more.
    #[must_use]
    pub const fn with_dispatch_elements(self, dispatch_elements: u64) -> Self {
        Self { dispatch_elements, ..self }
    }

    /// This tuning with another number of elements from which the main kernel is used.
    #[must_use]
    pub const fn with_blocks_from(self, blocks_from: Option<u64>) -> Self {
        Self { blocks_from, ..self }
    }

    /// This tuning with another way to convert the codes of sources of at most 8 bits.
    #[must_use]
    pub const fn with_lookup(self, lookup: CodeLookup) -> Self {
        Self { lookup, ..self }
    }
}

impl Default for PlanTuning {
    /// The tuning that suits GPUs.
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
    /// The tuning that suits the device.
    pub tuning: PlanTuning,
}

impl PlanSettings {
    /// Settings with these limits and this tuning.
    pub const fn new(limits: PlanLimits, tuning: PlanTuning) -> Self {
        Self { limits, tuning }
    }
}
