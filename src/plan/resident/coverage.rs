//! Which kernels casts need, by the places that their tensors may have.

use crate::kernel::{Access, Block, KernelKind};
use crate::plan::limits::PlanSettings;
use crate::plan::measures::{crosses_words, wide_units_suit};
use crate::types::conversion::Conversion;

/// The kernels that [`Caster::warm_up`](crate::Caster::warm_up), [`warm_up_counted`](crate::Caster::warm_up_counted) and
/// [`warm_up_many`](crate::Caster::warm_up_many) compile or [`Caster::self_test`](crate::Caster::self_test) tests, by the
/// places that the tensors of later casts may have. Each variant includes the variants before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Coverage {
    /// In two buffers, each tensor at a multiple of the device's `min_storage_buffer_offset_alignment`.
    #[default]
    Aligned,
    /// In two buffers, starting at any element.
    Anywhere,
    /// In one buffer or in two, starting at any element.
    OneBuffer,
    /// As `OneBuffer`; source and destination may also have strides ([`View`](crate::View)).
    Views,
}

impl Coverage {
    pub(crate) fn includes(self, other: Self) -> bool {
        self as u8 >= other as u8
    }
}

/// The kernels that casts of any length can need.
pub(crate) fn kernels(
    conversion: &Conversion,
    coverage: Coverage,
    settings: &PlanSettings,
) -> impl Iterator<Item = (KernelKind, Access)> {
    let limits = settings.limits;
    let accesses: &[Access] = match coverage {
        Coverage::Aligned | Coverage::Anywhere => &[Access::Separate],
        // Two ranges of one buffer can be too far apart for one binding only if buffers are larger than bindings.
        _ if limits.buffer_size <= limits.binding_size => &[Access::Separate, Access::Shared],
        Coverage::OneBuffer | Coverage::Views => &[Access::Separate, Access::Shared, Access::Writable],
    };
    needed(conversion, coverage, settings, accesses)
}

/// The kernels that casts of any length can need whose number of elements is in a buffer. In the destination's buffer, it
/// makes the source writable, too.
pub(crate) fn counted_kernels(
    conversion: &Conversion,
    coverage: Coverage,
    settings: &PlanSettings,
) -> impl Iterator<Item = (KernelKind, Access)> {
    let accesses: &[Access] = match coverage {
        Coverage::Aligned | Coverage::Anywhere => &[Access::Separate],
        Coverage::OneBuffer | Coverage::Views => &[Access::Separate, Access::Shared, Access::Writable],
    };
    needed(conversion, coverage, settings, accesses).filter(|(kind, _)| !kind.is_of_views())
}

/// The kernels that casts of a list can need which share dispatches.
pub(crate) fn merged_kernels(
    conversion: &Conversion,
    coverage: Coverage,
    settings: &PlanSettings,
) -> impl Iterator<Item = (KernelKind, Access)> {
    kernels(conversion, coverage, settings).filter(|(kind, _)| kind.is_merged())
}

fn needed(
    conversion: &Conversion,
    coverage: Coverage,
    settings: &PlanSettings,
    accesses: &'static [Access],
) -> impl Iterator<Item = (KernelKind, Access)> {
    let [from, to] = [conversion.from, conversion.to].map(|t| u64::from(t.code_bits()));
    let transposes = Block::new(conversion, Access::Separate, settings.tuning.lookup).is_some();
    let needed = move |kind: &KernelKind, access: Access| match (kind, access) {
        (KernelKind::Together, Access::Shared) => from != to || crosses_words(to),
        (KernelKind::Together, _) => false,
        (KernelKind::Blocks, Access::Shared) => wide_units_suit(from, to),
        (KernelKind::Shifted, _) => coverage.includes(Coverage::Anywhere),
        (KernelKind::Transposed, _) => transposes && coverage.includes(Coverage::Views),
        (kind, _) => !kind.is_of_views() || coverage.includes(Coverage::Views),
    };
    let kinds = KernelKind::ALL;
    accesses
        .iter()
        .flat_map(move |&access| kinds.into_iter().map(move |kind| (kind, access)))
        .filter(move |(kind, access)| needed(kind, *access))
}
