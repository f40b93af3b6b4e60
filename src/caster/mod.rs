//! The resident layer: casts between buffers of the caller, recorded into the caller's commands.

mod bound;
mod counted;
mod entries;
mod many;
mod prepared;
mod slices;
mod views;

use std::sync::Arc;

pub use bound::{Bound, BoundDispatch};
pub use many::Many;
pub use prepared::Prepared;
pub use slices::{Destination, Source};

use crate::gpu::device::plan_settings;
use crate::gpu::kernels::{KernelKey, Kernels};
use crate::plan::{self, Coverage, Dispatch, Offsets, PlanLimits, PlanSettings, PlanTuning};
use crate::types::conversion::Conversion;
use crate::types::error::Error;
use crate::types::spec::CastSpec;
use prepared::ReadyDispatch;

/// How a [`Caster`] is made: [`Caster::with_descriptor`] takes it. The default is what [`Caster::new`] makes.
#[derive(Clone, Debug, Default)]
pub struct CasterDescriptor {
    /// Smaller limits than the device's. They are reduced to those of the device; `None` means the device's.
    pub limits: Option<PlanLimits>,
    /// Other tuning than suits the device, such as fewer elements per dispatch for a driver that stops long dispatches.
    /// `None` means what suits the device.
    pub tuning: Option<PlanTuning>,
    /// The application's pipeline cache, through which pipelines are compiled. It needs the device feature
    /// `PIPELINE_CACHE`.
    pub pipeline_cache: Option<wgpu::PipelineCache>,
}

/// Casts on one device. Cheap to clone; clones share the pipelines.
///
/// A caster needs no device feature and no limits beyond [`wgpu::Limits::downlevel_defaults`]. It never submits or
/// waits, and sets no handler of the device. Pipelines are compiled when they are first needed, and kept.
#[derive(Clone, Debug)]
pub struct Caster {
    kernels: Arc<Kernels>,
    settings: PlanSettings,
}

impl Caster {
    /// Creates a caster on a device, with the device's limits and the tuning that suits it: [`with_descriptor`](Self::with_descriptor)
    /// with the default of [`CasterDescriptor`].
    ///
    /// All buffers that it is given must belong to this device. A buffer of another device of the same
    /// [`wgpu::Instance`] is an error when it is bound. wgpu cannot detect a buffer of another instance.
    pub fn new(device: &wgpu::Device) -> Self {
        Self::with_descriptor(device, &CasterDescriptor::default())
    }

    /// Creates a caster as a descriptor says. Its buffers are those of [`new`](Self::new).
    pub fn with_descriptor(device: &wgpu::Device, descriptor: &CasterDescriptor) -> Self {
        let PlanSettings { limits: own, tuning } = plan_settings(device);
        let limits = descriptor.limits.unwrap_or(own);
        let limits = PlanLimits {
            binding_size: limits.binding_size.min(own.binding_size),
            buffer_size: limits.buffer_size.min(own.buffer_size),
            offset_alignment: limits.offset_alignment.max(own.offset_alignment),
            workgroups: limits.workgroups.max(1).min(own.workgroups),
        }
        .usable();
        let settings = PlanSettings { limits, tuning: descriptor.tuning.unwrap_or(tuning) };
        let kernels = Kernels::new(device, settings.tuning.lookup, descriptor.pipeline_cache.clone());
        Self { kernels: Arc::new(kernels), settings }
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
    /// [`CastFault::NoKernel`](crate::CastFault::NoKernel) if [`has_kernel`](crate::has_kernel) is false;
    /// [`CastFault::Limit`](crate::CastFault::Limit) if a tensor exceeds the largest buffer, if the device's limits
    /// are too small for a cast, or beyond [`Plan::MOST_DISPATCHES`](crate::Plan::MOST_DISPATCHES);
    /// [`CastFault::Kernel`](crate::CastFault::Kernel) if the driver rejects a kernel;
    /// [`CastFault::OutOfMemory`](crate::CastFault::OutOfMemory) if the driver has no memory to compile one.
    pub fn prepare(&self, spec: &CastSpec, len: u64) -> Result<Prepared, Error> {
        let conversion = Conversion::new(spec.from, spec.to, &spec.options)?;
        Ok(self.prepare_with_sentinel(conversion, len, None)?.with_options(spec.options))
    }

    /// Planned dispatches with their pipelines. Compiles the pipelines that do not exist yet on this thread.
    fn compile(&self, conversion: &Conversion, dispatches: &[Dispatch]) -> Result<Vec<ReadyDispatch>, Error> {
        let ready = |dispatch: &Dispatch| {
            Ok(ReadyDispatch {
                dispatch: dispatch.clone(),
                pipeline: self.kernels.get(&self.key(conversion, dispatch))?,
            })
        };
        dispatches.iter().map(ready).collect()
    }

    /// As [`prepare`](Self::prepare), but compiles on other threads. At most as many threads as there are processors
    /// compile at a time; further kernels wait for their turn. Kernels that are compiled already need no thread. In a
    /// browser, which has no threads, the browser compiles; only here, and not in [`prepare`](Self::prepare), are its
    /// errors known before the cast is used.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare).
    pub async fn prepare_async(&self, spec: &CastSpec, len: u64) -> Result<Prepared, Error> {
        let conversion = Conversion::new(spec.from, spec.to, &spec.options)?;
        let dispatches = self.plan(&conversion, len, None)?;
        self.compile_async(dispatches.iter().map(|dispatch| self.key(&conversion, dispatch))).await?;
        Ok(self.ready(conversion, len, &dispatches, None)?.with_options(spec.options))
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
        self.kernels.compile_watched(self.missing(kernels)).await
    }

    /// The kernels that are not compiled yet, each once.
    pub(crate) fn missing(&self, kernels: impl Iterator<Item = KernelKey>) -> Vec<KernelKey> {
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
    pub fn warm_up(&self, specs: &[CastSpec], coverage: Coverage) -> Result<(), Error> {
        let mut kernels = Vec::new();
        for spec in specs {
            let conversion = Conversion::new(spec.from, spec.to, &spec.options)?;
            kernels.extend(self.keys(&conversion, coverage));
        }
        self.kernels.compile_together(&kernels)
    }

    /// Drops the compiled kernels of some casts, for instance when a model is unloaded. Casts that are prepared or
    /// bound keep theirs; a cast that is prepared later compiles its kernels again. Casts without kernels are ignored.
    pub fn forget(&self, specs: &[CastSpec]) {
        let conversion = |spec: &CastSpec| Conversion::new(spec.from, spec.to, &spec.options).ok();
        let conversions: Vec<_> = specs.iter().filter_map(conversion).collect();
        self.kernels.retain(|(conversion, ..)| !conversions.contains(conversion));
    }

    /// Drops some compiled kernels.
    pub(crate) fn drop_kernels(&self, kernels: &[KernelKey]) {
        self.kernels.retain(|key| !kernels.contains(key));
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
    /// several threads at a time. The future is ready at once, except in a browser, where only it learns of errors.
    pub(crate) async fn prepare_host(
        &self,
        conversion: Conversion,
        len: u64,
        sentinel: u32,
    ) -> Result<Prepared, Error> {
        let dispatches = self.plan(&conversion, len, Some(sentinel))?;
        let missing = self.missing(dispatches.iter().map(|dispatch| self.key(&conversion, dispatch)));
        #[cfg(target_family = "wasm")]
        self.kernels.compile_watched(missing).await?;
        #[cfg(not(target_family = "wasm"))]
        self.kernels.compile_together(&missing)?;
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
        Ok(Prepared::new(self, conversion, (len, None), steps, sentinel))
    }

    /// This caster with the same pipelines and other limits.
    pub(crate) fn within(&self, limits: PlanLimits) -> Self {
        Self { kernels: self.kernels.clone(), settings: PlanSettings { limits, ..self.settings } }
    }

    fn plan(&self, conversion: &Conversion, len: u64, sentinel: Option<u32>) -> Result<Vec<Dispatch>, Error> {
        plan::check_sizes(conversion, [len, len], &self.settings.limits)?;
        plan::plan(conversion, len, Offsets::default(), &self.settings, sentinel)
    }

    /// The kernels that casts of any length may take.
    pub(crate) fn keys(&self, conversion: &Conversion, coverage: Coverage) -> impl Iterator<Item = KernelKey> {
        let kinds = plan::kernels(conversion, coverage, &self.settings);
        kinds.map(|(kind, access)| self.kernels.key(conversion, kind, access))
    }

    fn key(&self, conversion: &Conversion, dispatch: &Dispatch) -> KernelKey {
        self.kernels.key(conversion, dispatch.kind, dispatch.access)
    }
}
