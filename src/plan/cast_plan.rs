//! Whole casts as data, for engines that dispatch kernels themselves.

use super::dense::plan;
use super::dispatch::Dispatch;
use super::limits::MOST_DISPATCHES;
use super::limits::PlanSettings;
use super::pieces::plan_view;
use super::placement::Placement;
use super::sizes::check_sizes;
use super::view::{Strided, View};
use crate::kernel::Access;
use crate::kernel::{self, Kernel, ParameterSpace};
use crate::types::conversion::Conversion;
use crate::types::error::Error;
use crate::types::side::Side;
use crate::types::spec::CastSpec;

/// A cast as data: its kernels as WGSL text, and the dispatches that use them. Making a plan needs no device.
///
/// [`Plan::new`] plans casts of whole tensors and of parts of tensors, [`Plan::view`] casts of views with strides.
///
/// A plan is for engines that dispatch kernels themselves, on any API that compiles WGSL: another version of wgpu,
/// Dawn, a browser's WebGPU. On wgpu 30, [`Caster`](crate::Caster) does this work.
///
/// Each dispatch uses one kernel, with bind group 0:
///
/// | binding | type | bytes |
/// |---|---|---|
/// | 0, 1 | storage buffers | see [`PlannedDispatch::bindings`] |
/// | 4 | uniform buffer | [`PlannedDispatch::parameters`] |
///
/// The buffers of both tensors need the usage STORAGE. The device needs 256 invocations in a workgroup and 16 KiB of
/// workgroup memory, which every WebGPU device has.
///
/// The entry point is `main`. The dispatches must run in order, as in one compute pass: each reads the writes of those
/// before it. No value of `settings` changes the bits of a result. Texts and parameters may change between versions of
/// this crate; the statements on this page do not.
///
/// ```
/// use wgpu_cast::{CastSpec, ElementType, Placement, Plan, PlanSettings, Position};
///
/// let spec = CastSpec::new(ElementType::FLOAT, ElementType::FLOAT8E4M3FN);
/// let placement = Placement::two_buffers(Position::whole(0), Position::whole(256));
/// let plan = Plan::new(&spec, 1000, &placement, &PlanSettings::default())?;
/// for dispatch in plan.dispatches() {
///     let kernel = &plan.kernels()[dispatch.kernel()];
///     assert!(kernel.wgsl().contains("fn main("));
///     assert!(dispatch.bindings().len() <= 2);
/// }
/// # Ok::<(), wgpu_cast::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    kernels: Vec<Kernel>,
    dispatches: Vec<PlannedDispatch>,
}

/// One dispatch of a [`Plan`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedDispatch {
    kernel: usize,
    dispatch: Dispatch,
}

/// A range of a buffer that a dispatch binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct PlannedBinding {
    /// The number of the binding in bind group 0.
    pub binding: u32,
    /// The tensor whose buffer is bound. If source and destination are in one buffer, both sides mean that buffer.
    pub side: Side,
    /// Start of the range in bytes, a multiple of
    /// [`PlanLimits::offset_alignment`](crate::PlanLimits::offset_alignment).
    pub offset: u64,
    /// Bytes of the range, a multiple of 4. The range ends with the word that holds the last element. The buffer must
    /// contain that word.
    pub size: u64,
    /// Whether the binding is `storage, read`. Otherwise it is `storage, read_write`.
    pub read_only: bool,
}

impl Plan {
    /// The most dispatches of a plan, of a [`Prepared`](crate::Prepared) or of an entry of a list of casts: 65,536.
    ///
    /// A large cast takes about one dispatch for each storage binding that it fills; bindings of at least 128 MiB are
    /// allowed on every WebGPU device. With a [`PlanTuning::dispatch_elements`](crate::PlanTuning::dispatch_elements)
    /// of 65,536, a tensor of 2³² elements takes this number of dispatches. A plan of this length takes 10 to 30 MB of
    /// the host's memory. A longer plan would come from limits that no device has, and is an error:
    /// [`CastFault::Limit`](crate::CastFault::Limit).
    pub const MOST_DISPATCHES: u64 = MOST_DISPATCHES;

    /// Plans a cast of `len` elements.
    ///
    /// # Errors
    /// [`CastFault::NoKernel`](crate::CastFault::NoKernel) if [`has_kernel`](crate::has_kernel) is false;
    /// [`CastFault::Limit`](crate::CastFault::Limit) if a tensor or its position exceeds the largest buffer, if the
    /// limits are too small for a cast, or if the plan would be longer than
    /// [`MOST_DISPATCHES`](Self::MOST_DISPATCHES); [`CastFault::Slice`](crate::CastFault::Slice) and
    /// [`CastFault::Overlap`](crate::CastFault::Overlap) for an invalid placement. A cast of no elements checks no
    /// placement.
    pub fn new(spec: &CastSpec, len: u64, placement: &Placement, settings: &PlanSettings) -> Result<Self, Error> {
        let conversion = Conversion::new(spec.from, spec.to, &spec.options)?;
        let settings = &PlanSettings { limits: settings.limits.usable(), ..*settings };
        check_sizes(&conversion, [len, len], &settings.limits)?;
        if len == 0 {
            return Ok(Self { kernels: Vec::new(), dispatches: Vec::new() });
        }
        let offsets = placement.offsets(&conversion, [len, len], true, settings.limits.buffer_size)?;
        Ok(Self::from_dispatches(&conversion, plan(&conversion, len, offsets, settings, None)?, settings))
    }

    /// Plans a cast between two views, such as a transposed tensor or rows with padding between them. [`View`] says
    /// where their elements lie. The positions in `placement` are those of the lowest elements that are read and
    /// written.
    ///
    /// If the view is dense on both sides, the plan is that of [`new`](Self::new).
    ///
    /// ```
    /// use wgpu_cast::{CastSpec, ElementType, Placement, Plan, PlanSettings, Position, View};
    ///
    /// // A transposed matrix.
    /// let view = View::new(&[60, 100]).with_source_strides(&[1, 60]);
    /// let spec = CastSpec::new(ElementType::FLOAT, ElementType::FLOAT16);
    /// let placement = Placement::two_buffers(Position::whole(0), Position::whole(0));
    /// let plan = Plan::view(&spec, &view, &placement, &PlanSettings::default())?;
    /// assert!(!plan.dispatches().is_empty());
    /// # Ok::<(), wgpu_cast::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`CastFault::Strides`](crate::CastFault::Strides) if elements of the destination overlap, or if the numbers of
    /// strides and axes differ; [`CastFault::Limit`](crate::CastFault::Limit) beyond [`View::MOST_AXES`]. Other errors
    /// as [`new`](Self::new). Unless the view is dense, [`CastFault::Overlap`](crate::CastFault::Overlap) if the two
    /// sides overlap in one buffer, each taken from its lowest to its highest element.
    pub fn view(
        spec: &CastSpec,
        view: &View<'_>,
        placement: &Placement,
        settings: &PlanSettings,
    ) -> Result<Self, Error> {
        let conversion = Conversion::new(spec.from, spec.to, &spec.options)?;
        let (strided, len) = Strided::new(view, &conversion)?;
        if len == 0 || strided.is_dense(spec.to.code_bits()) {
            return Self::new(spec, len, placement, settings);
        }
        let settings = &PlanSettings { limits: settings.limits.usable(), ..*settings };
        let extents = [strided.source_extent, strided.destination_extent];
        check_sizes(&conversion, extents, &settings.limits)?;
        let offsets = placement.offsets(&conversion, extents, false, settings.limits.buffer_size)?;
        Ok(Self::from_dispatches(&conversion, plan_view(&conversion, &strided, offsets, settings)?, settings))
    }

    fn from_dispatches(conversion: &Conversion, planned: Vec<Dispatch>, settings: &PlanSettings) -> Self {
        let (mut kinds, mut dispatches) = (Vec::new(), Vec::new());
        for dispatch in planned {
            let kind = (dispatch.kind, dispatch.access);
            let kernel = kinds.iter().position(|known| *known == kind).unwrap_or(kinds.len());
            if kernel == kinds.len() {
                kinds.push(kind);
            }
            dispatches.push(PlannedDispatch { kernel, dispatch });
        }
        let compose =
            |(kind, access)| kernel::compose(conversion, kind, access, ParameterSpace::Uniform, settings.tuning.lookup);
        Self { kernels: kinds.into_iter().map(compose).collect(), dispatches }
    }

    /// The kernels, each once.
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// The dispatches. A cast of no elements has none.
    pub fn dispatches(&self) -> &[PlannedDispatch] {
        &self.dispatches
    }
}

impl PlannedDispatch {
    /// The index of the kernel in [`Plan::kernels`].
    pub fn kernel(&self) -> usize {
        self.kernel
    }

    /// Workgroups in each dimension.
    pub fn workgroups(&self) -> [u32; 3] {
        [self.dispatch.workgroups[0], self.dispatch.workgroups[1], 1]
    }

    /// The content of the uniform buffer at binding 4. Its length is a multiple of 16.
    pub fn parameters(&self) -> Vec<u8> {
        self.dispatch.uniform_block().bytes()
    }

    /// The storage bindings: two, or one if a single binding covers source and destination in one buffer.
    pub fn bindings(&self) -> impl ExactSizeIterator<Item = PlannedBinding> {
        let Dispatch { access, source, destination, .. } = self.dispatch;
        let read_only = access == Access::Separate;
        let source =
            PlannedBinding { binding: 0, side: Side::Source, offset: source.offset, size: source.size, read_only };
        let destination = PlannedBinding {
            binding: 1,
            side: Side::Destination,
            offset: destination.offset,
            size: destination.size,
            read_only: false,
        };
        let bindings = [source, destination];
        bindings.into_iter().skip(if access == Access::Shared { 1 } else { 0 })
    }
}
