//! Pipelines. They are compiled when they are first needed, and kept for the life of their `Caster`.

use std::collections::HashMap;
#[cfg(not(target_family = "wasm"))]
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
#[cfg(not(target_family = "wasm"))]
use std::thread;

#[cfg(not(target_family = "wasm"))]
use futures_channel::oneshot;

#[cfg(not(target_family = "wasm"))]
use crate::gpu::compile_queue::{CompileQueue, most_threads};
#[cfg(target_family = "wasm")]
use crate::gpu::error_scope::watched;
use crate::gpu::error_scope::{one_line, scoped};
use crate::gpu::parameters::Parameters;
use crate::kernel::{self, Access, CodeLookup, Kernel, KernelKind, ParameterSpace};
use crate::plan::Params;
use crate::types::conversion::Conversion;
use crate::types::error::{CastFault, Error};

/// A pipeline, or why the device refused it. A refusal is kept too, because compiling the same text again would fail
/// again.
type PipelineCell = Arc<OnceLock<Result<wgpu::ComputePipeline, Error>>>;

#[derive(Debug)]
pub(crate) struct Kernels {
    pub device: wgpu::Device,
    lookup: CodeLookup,
    /// The application's cache of compiled pipelines, if it has one.
    pub cache: Option<wgpu::PipelineCache>,
    /// Whether parameters can be immediates.
    immediates: bool,
    /// The layouts of each access and parameter space, or why the device refused them. They are made when first needed.
    layouts: [OnceLock<Result<Layouts, String>>; 12],
    pipelines: Mutex<HashMap<KernelKey, PipelineCell>>,
    pub parameters: Parameters,
    #[cfg(not(target_family = "wasm"))]
    queue: Arc<CompileQueue>,
}

/// The properties that distinguish the kernels of a device.
pub(crate) type KernelKey = (Conversion, KernelKind, Access, ParameterSpace);

#[derive(Debug)]
struct Layouts {
    group: wgpu::BindGroupLayout,
    pipeline: wgpu::PipelineLayout,
}

impl Kernels {
    pub(crate) fn new(device: &wgpu::Device, lookup: CodeLookup, cache: Option<wgpu::PipelineCache>) -> Self {
        let needed = size_of::<Params>() as u32;
        Self {
            device: device.clone(),
            lookup,
            cache,
            immediates: device.features().contains(wgpu::Features::IMMEDIATES)
                && device.limits().max_immediate_size >= needed,
            layouts: Default::default(),
            pipelines: Mutex::default(),
            parameters: Parameters::default(),
            #[cfg(not(target_family = "wasm"))]
            queue: Arc::default(),
        }
    }

    /// The kernel of a dispatch that is not merged with others and has no count on the device.
    pub(crate) fn key(&self, conversion: &Conversion, kind: KernelKind, access: Access) -> KernelKey {
        let immediate = self.immediates && !kind.is_of_views();
        let space = if immediate { ParameterSpace::Immediate } else { ParameterSpace::Uniform };
        (*conversion, kind, access, space)
    }

    /// The layout of bind group 0.
    pub(crate) fn group(
        &self,
        conversion: &Conversion,
        access: Access,
        space: ParameterSpace,
    ) -> Result<&wgpu::BindGroupLayout, Error> {
        Ok(&self.layouts(conversion, access, space)?.group)
    }

    fn layouts(&self, conversion: &Conversion, access: Access, space: ParameterSpace) -> Result<&Layouts, Error> {
        let layouts = self.layouts[4 * access as usize + space as usize].get_or_init(|| {
            scoped(&self.device, || Layouts::new(&self.device, access, space)).map_err(|error| one_line(&error))
        });
        layouts.as_ref().map_err(|message| conversion.error(CastFault::Kernel { message: message.clone() }))
    }

    /// The pipeline of a kernel, if it is compiled already.
    pub(crate) fn find(&self, key: &KernelKey) -> Option<wgpu::ComputePipeline> {
        let pipelines = self.pipelines.lock().unwrap_or_else(PoisonError::into_inner);
        pipelines.get(key)?.get()?.as_ref().ok().cloned()
    }

    /// Drops the pipelines of the kernels for which `is_kept` is false.
    pub(crate) fn retain(&self, is_kept: impl Fn(&KernelKey) -> bool) {
        self.pipelines.lock().unwrap_or_else(PoisonError::into_inner).retain(|key, _| is_kept(key));
    }

    /// The pipeline of a kernel. It is compiled at most once, on this thread; other threads that need it wait.
    pub(crate) fn get(&self, key: &KernelKey) -> Result<wgpu::ComputePipeline, Error> {
        let pipeline = self.cell(key).get_or_init(|| self.compile(key)).clone();
        if matches!(pipeline, Err(Error::Cast { cause: CastFault::OutOfMemory { .. }, .. })) {
            // The refusal is not kept: the next attempt may find memory.
            self.pipelines.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
        }
        pipeline
    }

    fn cell(&self, key: &KernelKey) -> PipelineCell {
        // A poisoned lock is safe to use: cells are added and removed in one step.
        self.pipelines.lock().unwrap_or_else(PoisonError::into_inner).entry(*key).or_default().clone()
    }

    /// Compiles kernels, and keeps those that the device accepts. All kernels are requested before the first answer is
    /// awaited, so that the device compiles them side by side. Returns the first error, after all were tried.
    #[cfg(target_family = "wasm")]
    pub(crate) async fn compile_watched(&self, keys: Vec<KernelKey>) -> Result<(), Error> {
        let compile = |key| (key, watched(&self.device, || self.compile(&key)));
        let asked: Vec<_> = keys.into_iter().map(compile).collect();
        let mut result = Ok(());
        for (key, (pipeline, verdict)) in asked {
            let pipeline = match verdict.error().await {
                Some(error) => Err(refused(&key.0, &error)),
                None => pipeline,
            };
            result = result.and(pipeline.as_ref().map(drop).map_err(Clone::clone));
            if !matches!(pipeline, Err(Error::Cast { cause: CastFault::OutOfMemory { .. }, .. })) {
                // Another cast may have compiled the kernel meanwhile; both pipelines work.
                let _ = self.cell(&key).set(pipeline);
            }
        }
        result
    }

    /// Compiles a kernel on a thread of the queue. If no thread can be started, the receiver is closed.
    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn compile_in_turn(self: &Arc<Self>, key: KernelKey) -> oneshot::Receiver<Result<(), Error>> {
        let (sender, receiver) = oneshot::channel();
        let kernels = self.clone();
        self.queue.push(Box::new(move || {
            let result = kernels.get(&key).map(drop);
            // After the answer the caller may free the device and end the process, so the pipelines are dropped first.
            drop(kernels);
            let _ = sender.send(result);
        }));
        receiver
    }

    /// Compiles kernels on this thread. A browser has no threads, and reports no errors before the caller returns.
    #[cfg(target_family = "wasm")]
    pub(crate) fn compile_together(&self, keys: &[KernelKey]) -> Result<(), Error> {
        let results: Vec<_> = keys.iter().map(|key| self.get(key).map(drop)).collect();
        results.into_iter().collect()
    }

    /// Compiles kernels on the calling thread and on new ones. Returns the first error in the order of the kernels,
    /// after all were tried.
    ///
    /// The threads of rayon's pool are not used. Tasks of the application may occupy them, and may wait for a lock that
    /// the caller holds.
    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn compile_together(&self, keys: &[KernelKey]) -> Result<(), Error> {
        if keys.is_empty() {
            return Ok(());
        }
        let next = AtomicUsize::new(0);
        let results: Vec<OnceLock<Result<(), Error>>> = keys.iter().map(|_| OnceLock::new()).collect();
        let work = || {
            while let Some((key, result)) =
                Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|index| Some((keys.get(index)?, &results[index])))
            {
                result.get_or_init(|| self.get(key).map(drop));
            }
        };
        thread::scope(|scope| {
            for _ in 1..most_threads().min(keys.len()) {
                // If no further thread can be started, this one does the work.
                if thread::Builder::new().name("cast compile".to_owned()).spawn_scoped(scope, work).is_err() {
                    break;
                }
            }
            work();
        });
        results.into_iter().filter_map(OnceLock::into_inner).collect()
    }

    fn compile(&self, (conversion, kind, access, space): &KernelKey) -> Result<wgpu::ComputePipeline, Error> {
        let (kind, access, space) = (*kind, *access, *space);
        let (from, to) = (conversion.from, conversion.to);
        let layout = &self.layouts(conversion, access, space)?.pipeline;
        let limits = self.device.limits();
        for (limit, allowed) in [
            ("max_compute_invocations_per_workgroup", limits.max_compute_invocations_per_workgroup),
            ("max_compute_workgroup_size_x", limits.max_compute_workgroup_size_x),
        ] {
            if allowed < Kernel::MOST_INVOCATIONS {
                let (needed, allowed) = (Kernel::MOST_INVOCATIONS.into(), allowed.into());
                return Err(conversion.error(CastFault::Limit { limit, needed, allowed }));
            }
        }
        let kernel = kernel::compose(conversion, kind, access, space, self.lookup);
        let label = format!("cast {from}→{to}");
        let compiled = scoped(&self.device, || {
            let module = module(&self.device, &label, kernel.wgsl());
            self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(&label),
                layout: Some(layout),
                module: &module,
                entry_point: Some("main"),
                compilation_options: wgpu::PipelineCompilationOptions {
                    // Kernels write every table entry before they read it, so zeros are not needed.
                    zero_initialize_workgroup_memory: false,
                    ..Default::default()
                },
                cache: self.cache.as_ref(),
            })
        });
        compiled.map_err(|error| refused(conversion, &error))
    }
}

/// Makes a device's error about a kernel an error of the cast.
fn refused(conversion: &Conversion, error: &wgpu::Error) -> Error {
    conversion.error(match error {
        wgpu::Error::OutOfMemory { .. } => CastFault::OutOfMemory { bytes: 0 },
        error => CastFault::Kernel { message: one_line(error) },
    })
}

impl Layouts {
    fn new(device: &wgpu::Device, access: Access, space: ParameterSpace) -> Self {
        let entry = |binding, ty| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None },
            count: None,
        };
        let storage = |binding, read_only| entry(binding, wgpu::BufferBindingType::Storage { read_only });
        let uniform = entry(4, wgpu::BufferBindingType::Uniform);
        let separate = access == Access::Separate;
        let mut entries = vec![storage(1, false)];
        if access != Access::Shared {
            entries.push(storage(0, separate));
        }
        match space {
            ParameterSpace::Uniform => entries.push(uniform),
            ParameterSpace::Immediate => {}
            ParameterSpace::Table => entries.extend([storage(2, true), storage(3, true)]),
            ParameterSpace::Counted => entries.extend([storage(2, separate), uniform]),
        }
        let label = Some("cast");
        let group = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label, entries: &entries });
        let immediate_size = if space == ParameterSpace::Immediate { size_of::<Params>() as u32 } else { 0 };
        let bind_group_layouts = &[Some(&group)];
        let descriptor = wgpu::PipelineLayoutDescriptor { label, bind_group_layouts, immediate_size };
        let pipeline = device.create_pipeline_layout(&descriptor);
        Self { group, pipeline }
    }
}

/// A module without run-time checks. The planner's tests, and the argument below, replace them.
#[allow(unsafe_code, reason = "wgpu's trusted shader modules are unsafe: see SAFETY")]
fn module(device: &wgpu::Device, label: &str, wgsl: &str) -> wgpu::ShaderModule {
    let descriptor = wgpu::ShaderModuleDescriptor { label: Some(label), source: wgpu::ShaderSource::Wgsl(wgsl.into()) };
    // SAFETY: the text is this crate's own. Each index follows from one below the dispatch's count, and the planner
    // keeps that range inside both bindings (`plan::tests` checks it for all pairs, for plans that are moved, for casts
    // in place, for many casts in one dispatch and for views). A count on the device only makes that range smaller. A
    // kernel that reads one word ahead stops at the binding's last word, which the planner gives. Every loop has a
    // fixed or a counted end: the codes of one word or of a tile, or the axes of a view. The divisors are the widths of
    // codes and of cells, which are at least 1.
    unsafe { device.create_shader_module_trusted(descriptor, wgpu::ShaderRuntimeChecks::unchecked()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::element::ElementType;
    use crate::types::options::CastOptions;

    /// A kernel that a device has refused stays refused; other kernels work.
    #[test]
    fn a_refused_kernel_is_kept_and_not_tried_again() {
        let (device, _queue) = wgpu::Device::noop(&wgpu::DeviceDescriptor::default());
        assert!(scoped(&device, || module(&device, "bad", "fn main( {")).is_err());
        let (from, to) = (ElementType::FLOAT, ElementType::INT8);
        let conversion = Conversion::new(from, to, &CastOptions::default()).unwrap();
        let mut kernels = Kernels::new(&device, CodeLookup::Computed, None);
        let [refused, other] = [KernelKind::Edge, KernelKind::Blocks]
            .map(|kind| (conversion, kind, Access::Separate, ParameterSpace::Uniform));
        // The kernel binds parameters that the layout of this pipeline lacks.
        let wrong = scoped(&device, || Layouts::new(&device, Access::Shared, ParameterSpace::Immediate));
        kernels.layouts[4 * Access::Separate as usize + ParameterSpace::Uniform as usize] =
            OnceLock::from(wrong.map_err(|error| one_line(&error)));
        let error = kernels.get(&refused).unwrap_err();
        let Error::Cast { from: f, to: t, cause: CastFault::Kernel { .. }, .. } = error else { panic!("{error}") };
        assert_eq!((f, t), (from, to));
        kernels.layouts = Default::default();
        assert_eq!(kernels.get(&refused).map(drop), Err(error));
        assert!(kernels.find(&refused).is_none() && kernels.get(&other).is_ok());
        kernels.retain(|key| key.0 != conversion);
        assert!(kernels.get(&refused).is_ok(), "only after it was forgotten is it compiled again");
    }
}
