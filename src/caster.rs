//! The resident layer: casts between buffers of the caller, recorded into the caller's commands.

use std::collections::HashMap;
use std::sync::Arc;

#[cfg(not(target_family = "wasm"))]
use rayon::prelude::*;

use crate::conversion::Conversion;
use crate::element::ElementType;
use crate::error::{Error, Side};
use crate::gpu::adapter::plan_limits;
use crate::gpu::kernels::Kernels;
use crate::gpu::link::Link;
use crate::gpu::record::{self, Command};
use crate::kernel::{Access, Kind, VIEW_RANK};
use crate::options::CastOptions;
use crate::plan::{self, Dispatch, Places, PlanLimits, Slices, View};
use crate::self_test;

/// Casts on one device. Cheap to clone; clones share the pipelines.
///
/// A caster needs no device feature and no limits beyond [`wgpu::Limits::downlevel_defaults`]. It never submits or
/// waits, and sets no handler of the device. Pipelines are compiled when they are first needed, and kept.
#[derive(Clone, Debug)]
pub struct Caster {
    kernels: Arc<Kernels>,
    limits: PlanLimits,
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
        Self::with_limits(device, plan_limits(device))
    }

    /// Creates a caster with smaller limits, such as fewer elements per dispatch for a driver that stops long
    /// dispatches. Limits are reduced to those of the device.
    pub fn with_limits(device: &wgpu::Device, limits: PlanLimits) -> Self {
        let own = plan_limits(device);
        let limits = PlanLimits {
            binding_size: (limits.binding_size & !3).min(own.binding_size),
            buffer_size: (limits.buffer_size & !3).min(own.buffer_size),
            offset_alignment: limits.offset_alignment.clamp(own.offset_alignment, 1 << 31).next_power_of_two(),
            workgroups: limits.workgroups.clamp(1, own.workgroups),
            ..limits
        };
        Self { kernels: Arc::new(Kernels::new(device, limits.tables, None)), limits }
    }

    /// This caster with the application's pipeline cache, which needs the device feature `PIPELINE_CACHE`. Pipelines
    /// that are compiled already are dropped.
    #[must_use]
    pub fn with_pipeline_cache(self, cache: wgpu::PipelineCache) -> Self {
        let kernels = Kernels::new(&self.kernels.device, self.limits.tables, Some(cache));
        Self { kernels: Arc::new(kernels), limits: self.limits }
    }

    /// The limits of planned casts.
    pub fn limits(&self) -> &PlanLimits {
        &self.limits
    }

    /// Plans a cast of `len` elements and compiles its kernels.
    ///
    /// # Errors
    /// [`Error::NoKernel`] if [`has_kernel`](crate::has_kernel) is false; [`Error::Limit`] if a tensor exceeds the
    /// largest buffer, or if the device's limits are too small for a cast; [`Error::Kernel`] if the driver rejects a
    /// kernel; [`Error::OutOfMemory`] if the driver has no memory to compile one.
    pub fn prepare(&self, spec: &CastSpec, len: u64) -> Result<Prepared, Error> {
        let conversion = Conversion::new(spec.from, spec.to, &spec.options)?;
        self.prepare_with_sentinel(conversion, len, None)
    }

    /// Plans the cast of a strided view of the source, such as a transposed tensor, to a dense, row-major destination
    /// of the view's shape. Element `i, j, …` is read at `i * strides[0] + j * strides[1] + …`, in elements from the
    /// start of the slice. A stride of 0 repeats elements (broadcasting).
    ///
    /// A view has at most 8 axes, and its elements at least 8 bits. A dense view uses the kernels of
    /// [`prepare`](Self::prepare); other views are read one element at a time. The source slice extends from the first
    /// to the last element that is read: see [`Prepared::source_bytes`].
    ///
    /// # Errors
    /// [`Error::View`] for other shapes and types; [`Error::Limit`] if the source slice exceeds one binding; and as
    /// [`prepare`](Self::prepare).
    pub fn prepare_strided(&self, spec: &CastSpec, shape: &[u64], strides: &[u64]) -> Result<Prepared, Error> {
        let conversion = Conversion::new(spec.from, spec.to, &spec.options)?;
        let (from, to) = (spec.from, spec.to);
        let wrong = |reason| Error::View { from, to, reason };
        if shape.len() != strides.len() {
            return Err(wrong("the numbers of strides and axes differ"));
        }
        if shape.len() > VIEW_RANK {
            return Err(wrong("more than 8 axes"));
        }
        if from.code_bits() < 8 {
            return Err(wrong("elements narrower than 8 bits"));
        }
        if shape.contains(&0) {
            return self.prepare(spec, 0);
        }
        let (view, len) = View::new(shape, strides).ok_or(wrong("element offsets exceed 32 bits"))?;
        if view.is_dense() {
            return self.prepare(spec, len);
        }
        self.check_sizes(&conversion, [view.extent, len])?;
        let dispatches = plan::plan_view(&conversion, &view, len, Places::default(), &self.limits)?;
        self.compile(&conversion, &dispatches)?;
        Ok(Prepared { caster: self.clone(), conversion, len, view: Some(view), dispatches, sentinel: None })
    }

    /// Whether buffers hold so many elements of the source and of the destination.
    fn check_sizes(&self, conversion: &Conversion, lens: [u64; 2]) -> Result<(), Error> {
        let (from, to) = (conversion.from, conversion.to);
        for (element_type, len) in [from, to].into_iter().zip(lens) {
            // No buffer holds more; past this point bits are counted in 64 bits.
            let needed = element_type.packed_bytes(len).unwrap_or(u64::MAX);
            if needed > self.limits.buffer_size {
                let (limit, allowed) = ("max_buffer_size", self.limits.buffer_size);
                return Err(Error::Limit { from, to, limit, needed, allowed });
            }
        }
        Ok(())
    }

    /// Compiles what dispatches need and is not there.
    fn compile(&self, conversion: &Conversion, dispatches: &[Dispatch]) -> Result<(), Error> {
        let mut missing: Vec<(Conversion, Kind, Access)> = Vec::new();
        for kernel in dispatches.iter().map(|d| (*conversion, d.kind, d.access)) {
            if !missing.contains(&kernel) && !self.kernels.is_compiled(&kernel) {
                missing.push(kernel);
            }
        }
        self.compile_all(&missing)
    }

    /// Compiles kernels on all threads at once, where there are threads. The first error; all are tried.
    fn compile_all(&self, kernels: &[(Conversion, Kind, Access)]) -> Result<(), Error> {
        let compile = |(conversion, kind, access): &(Conversion, Kind, Access)| {
            self.kernels.get(conversion, *kind, *access).map(drop)
        };
        #[cfg(not(target_family = "wasm"))]
        let results: Vec<_> = match kernels {
            [] | [_] => kernels.iter().map(compile).collect(),
            _ => kernels.par_iter().map(compile).collect(),
        };
        #[cfg(target_family = "wasm")]
        let results: Vec<_> = kernels.iter().map(compile).collect();
        results.into_iter().collect()
    }

    /// As [`prepare`](Self::prepare), but compiles on another thread. In a browser, which has no threads, it compiles
    /// on the current one.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare).
    pub async fn prepare_async(&self, spec: &CastSpec, len: u64) -> Result<Prepared, Error> {
        #[cfg(not(target_family = "wasm"))]
        {
            let (sender, receiver) = futures_channel::oneshot::channel();
            let (caster, spec) = (self.clone(), *spec);
            let compile = move || drop(sender.send(caster.prepare(&spec, len)));
            // Without a thread to be had, or if it dies, this one does the work.
            if std::thread::Builder::new().name("cast compile".to_owned()).spawn(compile).is_ok() {
                if let Ok(prepared) = receiver.await {
                    return prepared;
                }
            }
        }
        self.prepare(spec, len)
    }

    /// Compiles the kernels of casts of any length on all threads, so that neither [`prepare`](Self::prepare) nor
    /// [`bind`](Prepared::bind) has to compile.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare): the first error in the order of `specs`. The other kernels are compiled
    /// nevertheless.
    pub fn warm_up(&self, specs: &[CastSpec], slices: Slices) -> Result<(), Error> {
        let mut kernels = Vec::new();
        for spec in specs {
            let conversion = Conversion::new(spec.from, spec.to, &spec.options)?;
            kernels.extend(plan::kernels(&conversion, slices).map(|(kind, access)| (conversion, kind, access)));
        }
        self.compile_all(&kernels)
    }

    /// Tests the kernels of some casts on this device: casts edge cases with every kernel that such slices can use, and
    /// compares the results bit by bit with those of the CPU. This takes a few milliseconds per kernel, in addition to
    /// its compilation.
    ///
    /// An engine can use this to reject a faulty driver. `queue` must be the device's queue. No handler is set.
    ///
    /// # Errors
    /// [`Error::SelfTest`] for the first wrong element; [`Error::SelfTestOutside`] if other bytes were changed;
    /// [`Error::Incomplete`] if the device did nothing; and as [`Context::cast`](crate::Context::cast).
    pub async fn self_test(&self, queue: &wgpu::Queue, specs: &[CastSpec], slices: Slices) -> Result<(), Error> {
        let link = Link::borrowed(&self.kernels.device, queue, self);
        for spec in specs {
            self_test::check(&link, spec, slices).await?;
        }
        Ok(())
    }

    /// As `prepare`; the last dispatch writes `sentinel` to the word after the destination's last.
    pub(crate) fn prepare_with_sentinel(
        &self,
        conversion: Conversion,
        len: u64,
        sentinel: Option<u32>,
    ) -> Result<Prepared, Error> {
        self.check_sizes(&conversion, [len, len])?;
        let dispatches = plan::plan(&conversion, len, Places::default(), &self.limits, sentinel)?;
        self.compile(&conversion, &dispatches)?;
        Ok(Prepared { caster: self.clone(), conversion, len, view: None, dispatches, sentinel })
    }
}

/// A planned and compiled cast of a given length. It can be bound to buffers any number of times.
#[derive(Clone, Debug)]
pub struct Prepared {
    caster: Caster,
    conversion: Conversion,
    len: u64,
    /// Of the source, where it is not dense.
    view: Option<View>,
    /// For slices that start at aligned places of two buffers.
    dispatches: Vec<Dispatch>,
    sentinel: Option<u32>,
}

impl Prepared {
    /// The number of dispatches, if both slices start at the device's offset alignment.
    pub fn dispatches(&self) -> u32 {
        self.dispatches.len() as u32
    }

    /// The size of the source in packed bytes; for a strided view, from the first to the last byte that is read.
    pub fn source_bytes(&self) -> u64 {
        self.bytes(self.conversion.from, self.view.map_or(self.len, |view| view.extent))
    }

    /// The size of the destination in packed bytes.
    pub fn destination_bytes(&self) -> u64 {
        self.bytes(self.conversion.to, self.len)
    }

    fn bytes(&self, element_type: ElementType, len: u64) -> u64 {
        // Planning has counted them.
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
    /// Further kernels are compiled for the first slices that do not start at the device's
    /// `min_storage_buffer_offset_alignment`, and for the first slices in one buffer.
    ///
    /// # Errors
    /// [`Error::SliceLength`], [`Error::SliceOutOfRange`], [`Error::SliceAlignment`], [`Error::MissingUsage`] and
    /// [`Error::Overlap`] for invalid slices; [`Error::OutOfMemory`], [`Error::Kernel`], [`Error::DeviceLost`] and
    /// [`Error::Device`] from the device, for instance for a buffer of another device of the same instance. A cast of
    /// no elements checks nothing.
    pub fn bind(&self, source: wgpu::BufferSlice<'_>, destination: wgpu::BufferSlice<'_>) -> Result<Bound, Error> {
        if self.dispatches.is_empty() {
            return Ok(Bound { commands: Vec::new() });
        }
        self.check(Side::Source, source)?;
        self.check(Side::Destination, destination)?;
        let one_buffer = source.buffer() == destination.buffer();
        let places = Places { source: source.offset(), destination: destination.offset(), one_buffer };
        if one_buffer {
            self.check_overlap(places)?;
        }
        let limits = &self.caster.limits;
        let aligned = [places.source, places.destination].iter().all(|place| place % limits.offset_alignment == 0);
        let dispatches = match &self.view {
            _ if aligned && !one_buffer => moved(&self.dispatches, places),
            Some(view) => plan::plan_view(&self.conversion, view, self.len, places, limits)?,
            None => plan::plan(&self.conversion, self.len, places, limits, self.sentinel)?,
        };
        let kernels = &self.caster.kernels;
        let commands = record::bind(kernels, &self.conversion, &dispatches, source.buffer(), destination.buffer())?;
        Ok(Bound { commands })
    }

    /// One buffer: the slices are apart, or in place.
    fn check_overlap(&self, places: Places) -> Result<(), Error> {
        let (from, to) = (self.conversion.from, self.conversion.to);
        let (source, destination) = (places.source, places.destination);
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
        // The slice itself lies in the buffer, wgpu saw to that; its last word may not.
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

/// The same dispatches on slices that start elsewhere.
fn moved(dispatches: &[Dispatch], places: Places) -> Vec<Dispatch> {
    let moved = |dispatch: &Dispatch| {
        let mut dispatch = *dispatch;
        dispatch.source.offset += places.source;
        dispatch.destination.offset += places.destination;
        dispatch
    };
    dispatches.iter().map(moved).collect()
}

/// A cast that is bound to its buffers. Recording it cannot fail, allocates nothing and can be repeated.
#[derive(Clone, Debug)]
pub struct Bound {
    commands: Vec<Command>,
}

impl Bound {
    /// Records the cast in a new compute pass.
    pub fn record(&self, encoder: &mut wgpu::CommandEncoder) {
        if !self.commands.is_empty() {
            let descriptor = wgpu::ComputePassDescriptor { label: Some("cast"), timestamp_writes: None };
            self.record_in_pass(&mut encoder.begin_compute_pass(&descriptor));
        }
    }

    /// Each dispatch as a cast of its own, with its share of `elements`.
    #[cfg(feature = "onnx")]
    pub(crate) fn parts(&self, elements: u64) -> impl Iterator<Item = (Bound, u64)> {
        let share = elements / self.commands.len().max(1) as u64;
        self.commands.iter().map(move |command| (Self { commands: vec![command.clone()] }, share))
    }

    /// Records the cast in the caller's compute pass. This changes the pipeline and bind group 0 of the pass.
    pub fn record_in_pass(&self, pass: &mut wgpu::ComputePass<'_>) {
        record::record(&self.commands, pass);
    }

    /// Records many casts in one compute pass and sets each pipeline once. The casts are recorded in any order, so no
    /// cast may read what another writes.
    pub fn record_all(bounds: &[Bound], encoder: &mut wgpu::CommandEncoder) {
        if bounds.iter().any(|bound| !bound.commands.is_empty()) {
            let descriptor = wgpu::ComputePassDescriptor { label: Some("casts"), timestamp_writes: None };
            Self::record_all_in_pass(bounds, &mut encoder.begin_compute_pass(&descriptor));
        }
    }

    /// As [`record_all`](Self::record_all), but in the caller's compute pass. This changes the pipeline and bind group
    /// 0 of the pass.
    pub fn record_all_in_pass(bounds: &[Bound], pass: &mut wgpu::ComputePass<'_>) {
        #[allow(clippy::mutable_key_type, reason = "pipelines are compared and hashed by which one they are")]
        let mut order: HashMap<&wgpu::ComputePipeline, Vec<&Command>> = HashMap::new();
        for command in bounds.iter().flat_map(|bound| &bound.commands) {
            order.entry(command.pipeline()).or_default().push(command);
        }
        record::record(order.into_values().flatten(), pass);
    }
}
