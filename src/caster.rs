//! The resident layer: casts between buffers of the caller, recorded into the caller's commands.

mod bound;
mod views;

use std::sync::Arc;

pub use bound::Bound;

use crate::conversion::Conversion;
use crate::element::ElementType;
use crate::error::{Error, Side};
use crate::gpu::adapter::plan_settings;
use crate::gpu::kernels::{KernelKey, Kernels};
use crate::gpu::record::Command;
use crate::options::CastOptions;
use crate::plan::{self, Dispatch, Offsets, PlanLimits, PlanSettings, PlanTuning, Slices, Strided};

/// Casts on one device. Cheap to clone; clones share the pipelines.
///
/// A caster needs no device feature and no limits beyond [`wgpu::Limits::downlevel_defaults`]. It never submits or
/// waits, and sets no handler of the device. Pipelines are compiled when they are first needed, and kept.
#[derive(Clone, Debug)]
pub struct Caster {
    kernels: Arc<Kernels>,
    settings: PlanSettings,
}

/// The types and options of a cast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct CastSpec {
    /// Source element type.
    pub from: ElementType,
    /// Destination element type.
    pub to: ElementType,
    /// The options.
    pub options: CastOptions,
}

impl CastSpec {
    /// A cast with the default options.
    pub fn new(from: ElementType, to: ElementType) -> Self {
        Self { from, to, options: CastOptions::default() }
    }

    /// This cast with other options.
    #[must_use]
    pub fn with_options(self, options: CastOptions) -> Self {
        Self { options, ..self }
    }
}

impl Caster {
    /// Creates a caster on a device, with the device's limits.
    ///
    /// All buffers that it is given must belong to this device. A buffer of another device of the same
    /// [`wgpu::Instance`] is an error when it is bound. wgpu cannot detect a buffer of another instance.
    pub fn new(device: &wgpu::Device) -> Self {
        Self::with_settings(device, plan_settings(device), None)
    }

    /// Creates a caster with smaller limits than the device's. Limits are reduced to those of the device.
    pub fn with_limits(device: &wgpu::Device, limits: PlanLimits) -> Self {
        let PlanSettings { limits: own, tuning } = plan_settings(device);
        let limits = PlanLimits {
            binding_size: (limits.binding_size & !3).min(own.binding_size),
            buffer_size: (limits.buffer_size & !3).min(own.buffer_size),
            offset_alignment: limits.offset_alignment.clamp(own.offset_alignment, 1 << 31).next_power_of_two(),
            workgroups: limits.workgroups.max(1).min(own.workgroups),
        };
        Self::with_settings(device, PlanSettings { limits, tuning }, None)
    }

    fn with_settings(device: &wgpu::Device, settings: PlanSettings, cache: Option<wgpu::PipelineCache>) -> Self {
        Self { kernels: Arc::new(Kernels::new(device, settings.tuning.lookup, cache)), settings }
    }

    /// This caster with other tuning than suits the device, such as fewer elements per dispatch for a driver that stops
    /// long dispatches. Pipelines that are compiled already are dropped.
    #[must_use]
    pub fn with_tuning(self, tuning: PlanTuning) -> Self {
        let settings = PlanSettings { tuning, ..self.settings };
        Self::with_settings(&self.kernels.device, settings, self.kernels.cache.clone())
    }

    /// This caster with the application's pipeline cache, which needs the device feature `PIPELINE_CACHE`. Pipelines
    /// that are compiled already are dropped.
    #[must_use]
    pub fn with_pipeline_cache(self, cache: wgpu::PipelineCache) -> Self {
        Self::with_settings(&self.kernels.device, self.settings, Some(cache))
    }

    pub(crate) fn device(&self) -> &wgpu::Device {
        &self.kernels.device
    }

    /// The limits of planned casts.
    pub fn limits(&self) -> &PlanLimits {
        &self.settings.limits
    }

    /// The tuning of planned casts within the limits.
    pub fn tuning(&self) -> &PlanTuning {
        &self.settings.tuning
    }

    pub(crate) fn settings(&self) -> &PlanSettings {
        &self.settings
    }

    /// Plans a cast of `len` elements and compiles its kernels on the calling thread, unless they are compiled already.
    ///
    /// # Errors
    /// [`Error::NoKernel`] if [`has_kernel`](crate::has_kernel) is false; [`Error::Limit`] if a tensor exceeds the
    /// largest buffer, or if the device's limits are too small for a cast; [`Error::Kernel`] if the driver rejects a
    /// kernel; [`Error::OutOfMemory`] if the driver has no memory to compile one.
    pub fn prepare(&self, spec: &CastSpec, len: u64) -> Result<Prepared, Error> {
        let conversion = Conversion::new(spec.from, spec.to, &spec.options)?;
        self.prepare_with_sentinel(conversion, len, None)
    }

    /// Checks that the largest buffer holds so many elements of the source and of the destination.
    fn check_sizes(&self, conversion: &Conversion, lens: [u64; 2]) -> Result<(), Error> {
        let (from, to) = (conversion.from, conversion.to);
        for (element_type, len) in [from, to].into_iter().zip(lens) {
            // After this check, a tensor's bits are counted in 64 bits without overflow.
            let needed = element_type.packed_bytes(len).unwrap_or(u64::MAX);
            if needed > self.settings.limits.buffer_size {
                let (limit, allowed) = ("max_buffer_size", self.settings.limits.buffer_size);
                return Err(Error::Limit { from, to, limit, needed, allowed });
            }
        }
        Ok(())
    }

    /// Planned dispatches with their pipelines. Compiles the pipelines that do not exist yet on this thread.
    fn compile(&self, conversion: &Conversion, dispatches: &[Dispatch]) -> Result<Vec<ReadyDispatch>, Error> {
        let ready = |dispatch: &Dispatch| {
            Ok(ReadyDispatch { dispatch: *dispatch, pipeline: self.kernels.get(&key(conversion, dispatch))? })
        };
        dispatches.iter().map(ready).collect()
    }

    /// As [`prepare`](Self::prepare), but compiles on other threads. At most as many threads as there are processors
    /// compile at a time; further kernels wait for their turn. Kernels that are compiled already need no thread. In a
    /// browser, which has no threads, it compiles on the current one.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare).
    pub async fn prepare_async(&self, spec: &CastSpec, len: u64) -> Result<Prepared, Error> {
        let conversion = Conversion::new(spec.from, spec.to, &spec.options)?;
        let dispatches = self.plan(&conversion, len, None)?;
        self.compile_async(dispatches.iter().map(|dispatch| key(&conversion, dispatch))).await?;
        self.ready(conversion, len, &dispatches, None)
    }

    /// Compiles kernels on other threads. Where that is not possible they stay to be compiled when they are needed.
    pub(crate) async fn compile_async(&self, kernels: impl Iterator<Item = KernelKey>) -> Result<(), Error> {
        #[cfg(not(target_family = "wasm"))]
        {
            let jobs: Vec<_> = self.missing(kernels).into_iter().map(|key| self.kernels.compile_in_turn(key)).collect();
            let mut result = Ok(());
            for job in jobs {
                // A job whose sender is gone was not done.
                result = result.and(job.await.unwrap_or(Ok(())));
            }
            result
        }
        #[cfg(target_family = "wasm")]
        Ok(drop(kernels))
    }

    /// The kernels that are not compiled yet, each once.
    fn missing(&self, kernels: impl Iterator<Item = KernelKey>) -> Vec<KernelKey> {
        let mut missing = Vec::new();
        for kernel in kernels {
            if !missing.contains(&kernel) && self.kernels.find(&kernel).is_none() {
                missing.push(kernel);
            }
        }
        missing
    }

    /// Compiles the kernels of casts of any length on as many threads as there are processors, so that neither
    /// [`prepare`](Self::prepare) nor [`bind`](Prepared::bind) has to compile. Returns when all are compiled.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare): the first error in the order of `specs`. The other kernels are compiled
    /// nevertheless.
    pub fn warm_up(&self, specs: &[CastSpec], slices: Slices) -> Result<(), Error> {
        let mut kernels = Vec::new();
        for spec in specs {
            let conversion = Conversion::new(spec.from, spec.to, &spec.options)?;
            let kinds = plan::kernels(&conversion, slices, &self.settings);
            kernels.extend(kinds.map(|(kind, access)| (conversion, kind, access)));
        }
        self.kernels.compile_together(&kernels)
    }

    /// Drops the compiled kernels of some casts, for instance when a model is unloaded. Casts that are prepared or
    /// bound keep theirs; a cast that is prepared later compiles its kernels again. Casts without kernels are ignored.
    pub fn forget(&self, specs: &[CastSpec]) {
        let conversion = |spec: &CastSpec| Conversion::new(spec.from, spec.to, &spec.options).ok();
        self.kernels.forget(&specs.iter().filter_map(conversion).collect::<Vec<_>>());
    }

    /// As `prepare`; the last dispatch writes `sentinel` to the word after the destination's last.
    pub(crate) fn prepare_with_sentinel(
        &self,
        conversion: Conversion,
        len: u64,
        sentinel: Option<u32>,
    ) -> Result<Prepared, Error> {
        let dispatches = self.plan(&conversion, len, sentinel)?;
        self.ready(conversion, len, &dispatches, sentinel)
    }

    /// As [`prepare_with_sentinel`](Self::prepare_with_sentinel), for casts of host tensors: compiles the kernels on
    /// several threads at a time.
    pub(crate) fn prepare_host(&self, conversion: Conversion, len: u64, sentinel: u32) -> Result<Prepared, Error> {
        let dispatches = self.plan(&conversion, len, Some(sentinel))?;
        self.kernels.compile_together(&self.missing(dispatches.iter().map(|dispatch| key(&conversion, dispatch))))?;
        self.ready(conversion, len, &dispatches, Some(sentinel))
    }

    fn ready(
        &self,
        conversion: Conversion,
        len: u64,
        dispatches: &[Dispatch],
        sentinel: Option<u32>,
    ) -> Result<Prepared, Error> {
        let steps = self.compile(&conversion, dispatches)?;
        Ok(Prepared { caster: self.clone(), conversion, len, view: None, steps, sentinel })
    }

    /// This caster with the same pipelines and other limits.
    pub(crate) fn within(&self, limits: PlanLimits) -> Self {
        Self { kernels: self.kernels.clone(), settings: PlanSettings { limits, ..self.settings } }
    }

    fn plan(&self, conversion: &Conversion, len: u64, sentinel: Option<u32>) -> Result<Vec<Dispatch>, Error> {
        self.check_sizes(conversion, [len, len])?;
        plan::plan(conversion, len, Offsets::default(), &self.settings, sentinel)
    }
}

fn key(conversion: &Conversion, dispatch: &Dispatch) -> KernelKey {
    (*conversion, dispatch.kind, dispatch.access)
}

/// A planned and compiled cast of a given length. It can be bound to buffers any number of times.
#[derive(Clone, Debug)]
pub struct Prepared {
    caster: Caster,
    conversion: Conversion,
    len: u64,
    /// Where the elements lie, if not one after the other.
    view: Option<Strided>,
    /// For slices of two buffers; [`Dispatch::moved`] says for which.
    steps: Vec<ReadyDispatch>,
    sentinel: Option<u32>,
}

/// A planned dispatch and its pipeline.
#[derive(Clone, Debug)]
struct ReadyDispatch {
    dispatch: Dispatch,
    pipeline: wgpu::ComputePipeline,
}

impl Prepared {
    /// The number of dispatches, if both slices start at the device's offset alignment.
    pub fn dispatches(&self) -> u32 {
        self.steps.len() as u32
    }

    /// The number of elements.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The same cast, which writes another sentinel. Only for a cast that writes one.
    pub(crate) fn with_sentinel(&self, sentinel: u32) -> Self {
        debug_assert!(self.sentinel.is_some());
        let mut prepared = Self { sentinel: Some(sentinel), ..self.clone() };
        if let Some(last) = prepared.steps.last_mut() {
            last.dispatch.params.sentinel = sentinel;
        }
        prepared
    }

    /// The size of the source in packed bytes; for a view, from the lowest element to the highest that is read.
    pub fn source_bytes(&self) -> u64 {
        self.bytes(self.conversion.from, self.view.map_or(self.len, |view| view.source_extent))
    }

    /// The size of the destination in packed bytes; for a view, from the lowest element to the highest that is written.
    pub fn destination_bytes(&self) -> u64 {
        self.bytes(self.conversion.to, self.view.map_or(self.len, |view| view.destination_extent))
    }

    fn bytes(&self, element_type: ElementType, len: u64) -> u64 {
        // Planning has refused tensors whose bytes cannot be counted.
        element_type.packed_bytes(len).unwrap_or(u64::MAX)
    }

    /// Checks the slices and creates the bind groups and parameters. The result can be recorded any number of times.
    ///
    /// Each slice contains the packed bytes of its tensor, in the layout of [`Tensor`](crate::Tensor), optionally
    /// rounded up to whole 32-bit words. It starts at any multiple of the element's size; for types narrower than a
    /// byte, at any byte. The buffers need the usage STORAGE. No bit of the destination buffer outside the tensor's
    /// packed bytes changes, so other casts in the same pass can write next to it. Unused bits of the tensor's last
    /// byte become zero.
    ///
    /// Both slices may be in one buffer if they do not overlap, or if they are the same bytes and both element types
    /// have the same width.
    ///
    /// If the slices are in two buffers and start at multiples of 16 bytes, the plan and the pipelines of
    /// [`prepare`](Caster::prepare) are used. Other slices are planned here, and the first of them compile further
    /// kernels.
    ///
    /// # Errors
    /// [`Error::SliceLength`], [`Error::SliceOutOfRange`], [`Error::SliceAlignment`], [`Error::MissingUsage`] and
    /// [`Error::Overlap`] for invalid slices; [`Error::OutOfMemory`], [`Error::Kernel`], [`Error::DeviceLost`] and
    /// [`Error::Device`] from the device, for instance for a buffer of another device of the same instance. A cast of
    /// no elements checks nothing.
    pub fn bind(&self, source: wgpu::BufferSlice<'_>, destination: wgpu::BufferSlice<'_>) -> Result<Bound, Error> {
        if self.steps.is_empty() {
            return Ok(Bound { commands: Vec::new() });
        }
        self.check(Side::Source, source)?;
        self.check(Side::Destination, destination)?;
        let one_buffer = source.buffer() == destination.buffer();
        let offsets = Offsets { source: source.offset(), destination: destination.offset(), one_buffer };
        if one_buffer {
            self.check_overlap(offsets)?;
        }
        let limits = &self.caster.settings.limits;
        let moved = |step: &ReadyDispatch| {
            let dispatch = step.dispatch.moved(offsets, limits)?;
            Some(ReadyDispatch { dispatch, pipeline: step.pipeline.clone() })
        };
        let steps = match self.steps.iter().map(moved).collect() {
            Some(steps) => steps,
            // These slices need other kernels, or a dispatch before the first whole unit.
            None => self.ready_at(offsets)?,
        };
        let buffers = [source.buffer(), destination.buffer()];
        let command = |step: ReadyDispatch| {
            Command::new(&self.caster.kernels, &self.conversion, step.pipeline, &step.dispatch, buffers)
        };
        Ok(Bound { commands: steps.into_iter().map(command).collect::<Result<_, _>>()? })
    }

    /// Plans and compiles for slices that the steps of `prepare` do not suit.
    fn ready_at(&self, offsets: Offsets) -> Result<Vec<ReadyDispatch>, Error> {
        let settings = &self.caster.settings;
        let dispatches = match &self.view {
            Some(view) => plan::plan_view(&self.conversion, view, offsets, settings)?,
            None => plan::plan(&self.conversion, self.len, offsets, settings, self.sentinel)?,
        };
        self.caster.compile(&self.conversion, &dispatches)
    }

    /// Checks that two slices of one buffer do not overlap, or are the same bytes with codes of the same width.
    fn check_overlap(&self, offsets: Offsets) -> Result<(), Error> {
        let (from, to) = (self.conversion.from, self.conversion.to);
        let (source, destination) = (offsets.source, offsets.destination);
        let apart = source + self.source_bytes() <= destination || destination + self.destination_bytes() <= source;
        let in_place = source == destination && from.code_bits() == to.code_bits() && self.view.is_none();
        if apart || in_place {
            Ok(())
        } else {
            Err(Error::Overlap { from, to, source_offset: source, destination_offset: destination })
        }
    }

    /// [`bind`](Self::bind) followed by [`Bound::record`].
    ///
    /// # Errors
    /// As [`bind`](Self::bind); nothing is recorded then.
    pub fn record(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        source: wgpu::BufferSlice<'_>,
        destination: wgpu::BufferSlice<'_>,
    ) -> Result<(), Error> {
        self.bind(source, destination)?.record(encoder);
        Ok(())
    }

    fn check(&self, side: Side, slice: wgpu::BufferSlice<'_>) -> Result<(), Error> {
        let (from, to) = (self.conversion.from, self.conversion.to);
        let element_type = match side {
            Side::Source => from,
            Side::Destination => to,
        };
        let (expected, sentinel) = match side {
            Side::Source => (self.source_bytes(), 0),
            Side::Destination => (self.destination_bytes(), self.sentinel.map_or(0, |_| 4)),
        };
        let words = expected.next_multiple_of(4) + sentinel;
        let (offset, found, size) = (slice.offset(), slice.size(), slice.buffer().size());
        if found != words && found != expected {
            return Err(Error::SliceLength { from, to, side, expected, found });
        }
        let alignment = u64::from(element_type.code_bits() / 8).max(1);
        if offset % alignment != 0 {
            return Err(Error::SliceAlignment { from, to, side, offset, alignment });
        }
        // wgpu has checked that the slice lies in the buffer, but its last word may reach beyond the buffer's end.
        let end = offset.saturating_add(expected).next_multiple_of(4) + sentinel;
        if end > size {
            return Err(Error::SliceOutOfRange { from, to, side, offset, end, size });
        }
        if !slice.buffer().usage().contains(wgpu::BufferUsages::STORAGE) {
            return Err(Error::MissingUsage { from, to, side, usage: "STORAGE" });
        }
        Ok(())
    }
}
