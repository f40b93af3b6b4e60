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
use crate::kernel::ParameterSpace;
use crate::plan::{self, Coverage, Dispatch, Offsets, PlanLimits, PlanSettings, PlanTuning};
use crate::types::conversion::Conversion;
use crate::types::error::Error;
use crate::types::spec::CastSpec;
use prepared::ReadyDispatch;

/// How [`Caster::with_descriptor`] makes a [`Caster`]. [`Caster::new`] uses the default.
#[derive(Clone, Debug, Default)]
pub struct CasterDescriptor {
    /// Limits that are smaller than the device's. Larger ones are reduced to the device's. `None` means the device's
    /// limits.
    pub limits: Option<PlanLimits>,
    /// Another tuning than the one that suits the device, such as fewer elements per dispatch for a driver that stops
    /// long dispatches. `None` means the tuning that suits the device.
    pub tuning: Option<PlanTuning>,
    /// The application's pipeline cache, through which pipelines are compiled. It needs the device feature
    /// `PIPELINE_CACHE`, and must be one of the same device. With one of another device of the same
    /// [`wgpu::Instance`], compiling a kernel is a [`CastFault::Kernel`](crate::CastFault::Kernel); wgpu panics at one of
    /// another instance.
    pub pipeline_cache: Option<wgpu::PipelineCache>,
}

/// Casts on one device. Cheap to clone; clones share the pipelines.
///
/// A caster needs no device feature, and no limits beyond [`wgpu::Limits::downlevel_defaults`]. It never submits or
/// waits, and sets no handler on the device. Pipelines are compiled when they are first needed, and kept.
#[derive(Clone, Debug)]
pub struct Caster {
    kernels: Arc<Kernels>,
    settings: PlanSettings,
}

impl Caster {
    /// Creates a caster on a device, with the device's limits and the tuning that suits it. This is
    /// [`with_descriptor`](Self::with_descriptor) with the default of [`CasterDescriptor`].
    ///
    /// All buffers that the caster is given must belong to this device. A buffer of another device of the same
    /// [`wgpu::Instance`] is an error when it is bound. wgpu cannot detect a buffer of another instance.
    pub fn new(device: &wgpu::Device) -> Self {
        Self::with_descriptor(device, &CasterDescriptor::default())
    }

    /// Creates a caster as `descriptor` says. Its buffers must belong to `device`, as for [`new`](Self::new).
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

    /// The limits within which casts are planned.
    pub fn limits(&self) -> &PlanLimits {
        &self.settings.limits
    }

    /// The tuning with which casts are planned.
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
    /// [`CastFault::Limit`](crate::CastFault::Limit) if a tensor exceeds the largest buffer, if the device's limits are
    /// too small for a cast, or if it takes more than [`Plan::MOST_DISPATCHES`](crate::Plan::MOST_DISPATCHES)
    /// dispatches; [`CastFault::Kernel`](crate::CastFault::Kernel) if the driver rejects a kernel;
    /// [`CastFault::OutOfMemory`](crate::CastFault::OutOfMemory) if the driver has no memory to compile one.
    pub fn prepare(&self, spec: &CastSpec, len: u64) -> Result<Prepared, Error> {
        let conversion = Conversion::new(spec.from, spec.to, &spec.options)?;
        Ok(self.prepare_with_sentinel(conversion, len, None)?.with_options(spec.options))
    }

    /// The planned dispatches with their pipelines. Pipelines that do not exist yet are compiled on this thread.
    fn compile(&self, conversion: &Conversion, dispatches: &[Dispatch]) -> Result<Vec<ReadyDispatch>, Error> {
        let ready = |dispatch: &Dispatch| {
            Ok(ReadyDispatch {
                dispatch: dispatch.clone(),
                pipeline: self.kernels.get(&self.key(conversion, dispatch))?,
            })
        };
        dispatches.iter().map(ready).collect()
    }

    /// As [`prepare`](Self::prepare), but compiles on other threads. The number of threads that compile at a time is at
    /// most that of processors; further kernels wait for their turn. Kernels that are compiled already need no thread.
    ///
    /// A browser has no threads and compiles by itself. There, this function reports compilation errors before the cast
    /// is used, and [`prepare`](Self::prepare) does not.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare).
    pub async fn prepare_async(&self, spec: &CastSpec, len: u64) -> Result<Prepared, Error> {
        let conversion = Conversion::new(spec.from, spec.to, &spec.options)?;
        let dispatches = self.plan(&conversion, len, None)?;
        self.compile_async(dispatches.iter().map(|dispatch| self.key(&conversion, dispatch))).await?;
        Ok(self.ready(conversion, len, &dispatches, None)?.with_options(spec.options))
    }

    /// Compiles kernels on other threads. If no thread can be started, the kernels are compiled later, when they are
    /// needed.
    pub(crate) async fn compile_async(&self, kernels: impl Iterator<Item = KernelKey>) -> Result<(), Error> {
        #[cfg(not(target_family = "wasm"))]
        {
            let jobs: Vec<_> = self.missing(kernels).into_iter().map(|key| self.kernels.compile_in_turn(key)).collect();
            let mut result = Ok(());
            for job in jobs {
                // If the sender is gone, the job was not done.
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

    /// Compiles the kernels for casts of any length, on as many threads as there are processors. Then neither
    /// [`prepare`](Self::prepare) nor [`bind`](Prepared::bind) has to compile. Returns when all kernels are compiled.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare): the first error in the order of `specs`. The other kernels are compiled
    /// nevertheless.
    pub fn warm_up(&self, specs: &[CastSpec], coverage: Coverage) -> Result<(), Error> {
        self.compile_all(specs, |conversion, kernels| kernels.extend(self.keys(conversion, coverage)))
    }

    /// As [`warm_up`](Self::warm_up), for casts whose number of elements is in a buffer: neither
    /// [`bind_counted`](Prepared::bind_counted) nor [`Many::add_counted`] has to compile then. `coverage` also says where
    /// that number lies: from [`Coverage::OneBuffer`] on, it may be in the destination's buffer. Views have no such kernels.
    ///
    /// # Errors
    /// As [`warm_up`](Self::warm_up).
    pub fn warm_up_counted(&self, specs: &[CastSpec], coverage: Coverage) -> Result<(), Error> {
        self.compile_all(specs, |conversion, kernels| {
            let kinds = plan::counted_kernels(conversion, coverage, &self.settings);
            kernels.extend(kinds.map(|(kind, access)| (*conversion, kind, access, ParameterSpace::Counted)));
        })
    }

    /// As [`warm_up`](Self::warm_up), for casts of a list: neither [`bind_many`](Self::bind_many) nor [`Many::bind`] has to
    /// compile then, but for counts, which [`warm_up_counted`](Self::warm_up_counted) is for. This includes the kernels of
    /// `warm_up`, because a dispatch that a cast of the list shares with no other takes those.
    ///
    /// # Errors
    /// As [`warm_up`](Self::warm_up).
    pub fn warm_up_many(&self, specs: &[CastSpec], coverage: Coverage) -> Result<(), Error> {
        self.compile_all(specs, |conversion, kernels| {
            kernels.extend(self.keys(conversion, coverage));
            let kinds = plan::merged_kernels(conversion, coverage, &self.settings);
            kernels.extend(kinds.map(|(kind, access)| (*conversion, kind, access, ParameterSpace::Table)));
        })
    }

    /// Compiles the kernels that `add` adds for each spec.
    fn compile_all(&self, specs: &[CastSpec], add: impl Fn(&Conversion, &mut Vec<KernelKey>)) -> Result<(), Error> {
        let mut kernels = Vec::new();
        for spec in specs {
            add(&Conversion::new(spec.from, spec.to, &spec.options)?, &mut kernels);
        }
        self.kernels.compile_together(&kernels)
    }

    /// Drops the compiled kernels of some casts, for instance when a model is unloaded. Casts that are prepared or
    /// bound keep their kernels. A cast that is prepared later compiles its kernels again. Casts without kernels are
    /// ignored.
    pub fn forget(&self, specs: &[CastSpec]) {
        let conversion = |spec: &CastSpec| Conversion::new(spec.from, spec.to, &spec.options).ok();
        let conversions: Vec<_> = specs.iter().filter_map(conversion).collect();
        self.kernels.retain(|(conversion, ..)| !conversions.contains(conversion));
    }

    /// Drops some compiled kernels.
    pub(crate) fn drop_kernels(&self, kernels: &[KernelKey]) {
        self.kernels.retain(|key| !kernels.contains(key));
    }

    /// As `prepare`. In addition, the last dispatch writes `sentinel` to the word after the destination's last word.
    pub(crate) fn prepare_with_sentinel(
        &self,
        conversion: Conversion,
        len: u64,
        sentinel: Option<u32>,
    ) -> Result<Prepared, Error> {
        let dispatches = self.plan(&conversion, len, sentinel)?;
        self.ready(conversion, len, &dispatches, sentinel)
    }

    /// As [`prepare_with_sentinel`](Self::prepare_with_sentinel), for casts of host tensors: several threads compile
    /// the kernels. The future is ready at once, except in a browser, where it waits for the browser's compilation
    /// errors.
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

    /// A caster with the same pipelines and other limits.
    pub(crate) fn within(&self, limits: PlanLimits) -> Self {
        Self { kernels: self.kernels.clone(), settings: PlanSettings { limits, ..self.settings } }
    }

    fn plan(&self, conversion: &Conversion, len: u64, sentinel: Option<u32>) -> Result<Vec<Dispatch>, Error> {
        plan::check_sizes(conversion, [len, len], &self.settings.limits)?;
        plan::plan(conversion, len, Offsets::default(), &self.settings, sentinel)
    }

    /// The kernels that casts of any length can need.
    pub(crate) fn keys(&self, conversion: &Conversion, coverage: Coverage) -> impl Iterator<Item = KernelKey> {
        let kinds = plan::kernels(conversion, coverage, &self.settings);
        kinds.map(|(kind, access)| self.kernels.key(conversion, kind, access))
    }

    fn key(&self, conversion: &Conversion, dispatch: &Dispatch) -> KernelKey {
        self.kernels.key(conversion, dispatch.kind, dispatch.access)
    }
}
