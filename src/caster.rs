//! The resident layer: casts between buffers that the caller owns, recorded into the caller's commands.

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
/// Needs no feature and no limits beyond [`wgpu::Limits::downlevel_defaults`]. It never submits, never waits, and sets
/// none of the device's handlers. Pipelines are compiled when first needed and kept.
#[derive(Clone, Debug)]
pub struct Caster {
    kernels: Arc<Kernels>,
    limits: PlanLimits,
}

/// What to cast to what, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct CastSpec {
    /// Source element type.
    pub from: ElementType,
    /// Destination element type.
    pub to: ElementType,
    /// Options.
    pub options: CastOptions,
}

impl CastSpec {
    /// A cast with the default options.
    pub fn new(from: ElementType, to: ElementType) -> Self {
        Self { from, to, options: CastOptions::default() }
    }

    /// The same with other options.
    #[must_use]
    pub fn with_options(self, options: CastOptions) -> Self {
        Self { options, ..self }
    }
}

impl Caster {
    /// A caster on a device, within the device's own limits.
    ///
    /// All buffers that it is given must come from this device. wgpu knows the buffers of other devices of the same
    /// [`wgpu::Instance`], and binding one is an error; a buffer of another instance it can take for one of this
    /// device's.
    pub fn new(device: &wgpu::Device) -> Self {
        Self::with_limits(device, plan_limits(device))
    }

    /// A caster within smaller limits, such as a cap of elements per dispatch for a driver with a watchdog. Limits
    /// beyond the device's own are cut to them.
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

    /// The same caster, compiling through the application's pipeline cache, which needs the device's feature
    /// `PIPELINE_CACHE`. Pipelines that are compiled already are not kept.
    #[must_use]
    pub fn with_pipeline_cache(self, cache: wgpu::PipelineCache) -> Self {
        let kernels = Kernels::new(&self.kernels.device, self.limits.tables, Some(cache));
        Self { kernels: Arc::new(kernels), limits: self.limits }
    }

    /// The limits that casts are planned within.
    pub fn limits(&self) -> &PlanLimits {
        &self.limits
    }

    /// Plans a cast of `len` elements and compiles what it needs.
    ///
    /// # Errors
    /// [`Error::NoKernel`] where [`has_kernel`](crate::has_kernel) is false, [`Error::Limit`] where a tensor passes
    /// the largest buffer or the device's limits are below the least that a cast needs, [`Error::Kernel`] where the
    /// driver refuses a kernel, [`Error::OutOfMemory`] where it has no memory to compile one.
    pub fn prepare(&self, spec: &CastSpec, len: u64) -> Result<Prepared, Error> {
        let conversion = Conversion::new(spec.from, spec.to, &spec.options)?;
        self.prepare_with_sentinel(conversion, len, None)
    }

    /// Plans the cast of a view of the source, such as a transposed tensor, to a dense destination of the view's shape in
    /// row-major order. The element at `i, j, …` is the source's at `i * strides[0] + j * strides[1] + …`, counted in
    /// elements from the start of the slice; a stride of 0 repeats (broadcasting).
    ///
    /// At most 8 axes, and source types of at least a byte. A view that is dense takes the kernels of
    /// [`prepare`](Self::prepare); others read an element at a time. The source slice is as long as from the first to the
    /// last element that is read, [`Prepared::source_bytes`] says how long.
    ///
    /// # Errors
    /// [`Error::View`] for other shapes and types; [`Error::Limit`] where what is read passes one binding; and as
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

    /// As [`prepare`](Self::prepare), compiling on a thread of its own. In a browser, which has none, on this one.
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

    /// Compiles what casts of any length need, so that neither [`prepare`](Self::prepare) nor
    /// [`bind`](Prepared::bind) has to: on all threads at once, where there are threads.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare), the first in the order of `specs`. The others are compiled all the same.
    pub fn warm_up(&self, specs: &[CastSpec], slices: Slices) -> Result<(), Error> {
        let mut kernels = Vec::new();
        for spec in specs {
            let conversion = Conversion::new(spec.from, spec.to, &spec.options)?;
            kernels.extend(plan::kernels(&conversion, slices).map(|(kind, access)| (conversion, kind, access)));
        }
        self.compile_all(&kernels)
    }

    /// Proves the kernels of some casts on this device: known answers, each compared with the CPU path on bits, by every
    /// kernel that casts between such slices take. Takes some milliseconds a kernel, and its compilation if it is not
    /// compiled yet.
    ///
    /// An engine can so refuse a broken driver. `queue` is the device's own; nothing is set on either.
    ///
    /// # Errors
    /// [`Error::SelfTest`] with the first element that came out wrong, [`Error::SelfTestOutside`] where other bytes did
    /// not stay as they were, [`Error::Incomplete`] where the device did nothing; and as
    /// [`Context::cast`](crate::Context::cast).
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

/// A planned and compiled cast of a given length, to be bound to buffers any number of times.
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
    /// Dispatches that a record takes, where both slices start at the device's offset alignment.
    pub fn dispatches(&self) -> u32 {
        self.dispatches.len() as u32
    }

    /// The source's packed bytes; of a strided view, those from the first to the last that it reads.
    pub fn source_bytes(&self) -> u64 {
        self.bytes(self.conversion.from, self.view.map_or(self.len, |view| view.extent))
    }

    /// The destination's packed bytes.
    pub fn destination_bytes(&self) -> u64 {
        self.bytes(self.conversion.to, self.len)
    }

    fn bytes(&self, element_type: ElementType, len: u64) -> u64 {
        // Planning has counted them.
        element_type.packed_bytes(len).unwrap_or(u64::MAX)
    }

    /// Checks the slices and makes the bind groups and parameters, once for any number of records.
    ///
    /// Each slice holds its tensor's packed bytes ([`Tensor`](crate::Tensor) says how), or those rounded up to whole
    /// 32-bit words, and starts at any multiple of its element's size, for types of less than a byte at any byte. The
    /// buffers need the usage STORAGE. All bits of the destination buffer outside the tensor's packed bytes are kept,
    /// also those of other casts in the same pass; those of its last byte beyond the last element become zero.
    ///
    /// Both slices may lie in one buffer where they have no byte in common, or where they are the same bytes and both
    /// element types have the same width.
    ///
    /// The first slices that do not start at the device's `min_storage_buffer_offset_alignment`, and the first of one
    /// buffer, compile kernels of their own.
    ///
    /// # Errors
    /// [`Error::SliceLength`], [`Error::SliceOutOfRange`], [`Error::SliceAlignment`], [`Error::MissingUsage`],
    /// [`Error::Overlap`]; [`Error::OutOfMemory`], [`Error::Kernel`], [`Error::DeviceLost`] and [`Error::Device`] from
    /// the device, such as for a buffer of another device of the same instance. An empty cast checks nothing.
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

    /// [`bind`](Self::bind) and [`Bound::record`] in one.
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

/// A cast bound to its buffers. Recording it cannot fail, allocates nothing and may be repeated.
#[derive(Clone, Debug)]
pub struct Bound {
    commands: Vec<Command>,
}

impl Bound {
    /// Records the cast as a compute pass of its own.
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

    /// Records the cast into the caller's compute pass, which loses its pipeline and bind group 0.
    pub fn record_in_pass(&self, pass: &mut wgpu::ComputePass<'_>) {
        record::record(&self.commands, pass);
    }

    /// Records many casts as one compute pass, setting each pipeline once. None may read what another writes: they are
    /// recorded in any order.
    pub fn record_all(bounds: &[Bound], encoder: &mut wgpu::CommandEncoder) {
        if bounds.iter().any(|bound| !bound.commands.is_empty()) {
            let descriptor = wgpu::ComputePassDescriptor { label: Some("casts"), timestamp_writes: None };
            Self::record_all_in_pass(bounds, &mut encoder.begin_compute_pass(&descriptor));
        }
    }

    /// As [`record_all`](Self::record_all), into the caller's compute pass, which loses its pipeline and bind group 0.
    pub fn record_all_in_pass(bounds: &[Bound], pass: &mut wgpu::ComputePass<'_>) {
        #[allow(clippy::mutable_key_type, reason = "pipelines are compared and hashed by which one they are")]
        let mut order: HashMap<&wgpu::ComputePipeline, Vec<&Command>> = HashMap::new();
        for command in bounds.iter().flat_map(|bound| &bound.commands) {
            order.entry(command.pipeline()).or_default().push(command);
        }
        record::record(order.into_values().flatten(), pass);
    }
}
