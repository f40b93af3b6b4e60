//! A context with a pipeline cache on disk, if the driver supports one.

use std::path::{Path, PathBuf};

use wgpu_cast::wgpu::{self, ErrorFilter, PipelineCache};
use wgpu_cast::{Context, DeviceChoice};

use crate::failure::Failure;
use crate::{cache, output};

/// The smallest possible kernel.
const EMPTY: &str = "@compute @workgroup_size(1) fn main() {}";

/// Opens a context. Stderr says which better adapters do not work.
///
/// # Errors
/// As `Context::open`.
pub async fn open(choice: DeviceChoice) -> Result<Context, Failure> {
    let context = Context::open(choice).await?;
    if let (Some(skipped), Some(used)) = (context.skipped_adapters(), context.adapter_info()) {
        // The messages of drivers have several lines; a failure is printed as one line.
        let skipped = Failure::Work(skipped.to_owned());
        output::warning(format_args!(
            "{} ({}) is used, because another adapter does not work: {skipped}",
            used.name, used.backend
        ));
    }
    Ok(context)
}

/// A context and its pipeline cache.
pub struct Session {
    pub context: Context,
    kept: Option<Kept>,
}

struct Kept {
    cache: PipelineCache,
    path: PathBuf,
    /// The data that was read from the file.
    data: Option<Vec<u8>>,
}

impl Session {
    /// Opens a context on the chosen device. If the cache cannot be used, the run goes on without it, and stderr says
    /// why.
    ///
    /// # Errors
    /// As `Context::open`.
    pub async fn open(choice: DeviceChoice) -> Result<Self, Failure> {
        let context = open(choice).await?;
        let Some(kept) = Kept::open(&context).await else { return Ok(Self { context, kept: None }) };
        Ok(Self { context: context.with_pipeline_cache(kept.cache.clone()), kept: Some(kept) })
    }

    /// Writes the pipeline cache for the next run, if it has changed. The command succeeds even if the cache cannot be
    /// written.
    pub fn keep(&self) {
        let Some(Kept { cache, path, data: old }) = &self.kept else { return };
        let Some(new) = cache.get_data().filter(|new| Some(new) != old.as_ref()) else { return };
        if let Err(reason) = cache::write(path, &new) {
            log::warn!("cannot write the pipeline cache {}: {reason}", path.display());
        }
    }
}

impl Kept {
    async fn open(context: &Context) -> Option<Self> {
        let device = context.device()?;
        if !device.features().contains(wgpu::Features::PIPELINE_CACHE) {
            return None;
        }
        let name = wgpu::util::pipeline_cache_key(context.adapter_info()?)?;
        let path = dirs::cache_dir()?.join("wgpu-cast").join(name);
        let data = cache::read(&path).map_err(|reason| unused(&path, &reason)).ok()?;
        // If the device rejects the file, the pipelines that this run compiles replace it.
        match (create(device, data.as_deref()).await, &data) {
            (Ok(cache), _) => Some(Self { cache, path, data }),
            (Err(reason), Some(_)) => {
                unused(&path, &reason);
                let cache = create(device, None).await.ok()?;
                Some(Self { cache, path, data: None })
            }
            (Err(reason), None) => {
                unused(&path, &reason);
                None
            }
        }
    }
}

/// Says that the file is not used in this run.
fn unused(path: &Path, reason: &str) {
    output::warning(format_args!("the pipeline cache {} is not used: {reason}", path.display()));
}

/// A cache, if a pipeline can be made with it. Otherwise a file that the driver rejects would make every cast fail.
async fn create(device: &wgpu::Device, data: Option<&[u8]>) -> Result<PipelineCache, String> {
    let memory = device.push_error_scope(ErrorFilter::OutOfMemory);
    let internal = device.push_error_scope(ErrorFilter::Internal);
    let validation = device.push_error_scope(ErrorFilter::Validation);
    let descriptor = wgpu::PipelineCacheDescriptor { label: Some("cast"), data, fallback: true };
    #[allow(unsafe_code, reason = "wgpu's pipeline caches are unsafe: see SAFETY")]
    // SAFETY: `PipelineCache::get_data` gave the data on this kind of adapter. The file belongs to this user, only
    // `keep` writes it, and its checksum shows that it is whole. wgpu checks the header against the adapter and the
    // driver.
    let cache = unsafe { device.create_pipeline_cache(&descriptor) };
    let source = wgpu::ShaderSource::Wgsl(EMPTY.into());
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor { label: Some("empty"), source });
    let _ = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some("empty"),
        layout: None,
        module: &module,
        entry_point: None,
        compilation_options: wgpu::PipelineCompilationOptions::default(),
        cache: Some(&cache),
    });
    let (validation, internal, memory) = (validation.pop().await, internal.pop().await, memory.pop().await);
    match memory.or(validation).or(internal) {
        // The errors have several lines.
        Some(error) => Err(error.to_string().split_whitespace().collect::<Vec<_>>().join(" ")),
        None => Ok(cache),
    }
}
