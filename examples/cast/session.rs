//! A context with a pipeline cache on disk, where the driver supports one.

use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::PathBuf;

use wgpu_cast::wgpu::{self, PipelineCache};
use wgpu_cast::{Context, DeviceChoice};

use crate::atomic;
use crate::failure::Failure;

/// Bytes of the checksum before the driver's data.
const CHECKSUM: usize = 8;

/// A context and its pipeline cache.
pub struct Session {
    pub context: Context,
    kept: Option<Kept>,
}

struct Kept {
    cache: PipelineCache,
    path: PathBuf,
    /// The checksum of the file's data.
    checksum: [u8; CHECKSUM],
}

impl Session {
    /// Opens a context on the chosen device.
    ///
    /// # Errors
    /// As `Context::open`. A cache that cannot be read is ignored.
    pub async fn open(choice: DeviceChoice) -> Result<Self, Failure> {
        let context = Context::open(choice).await?;
        let Some(kept) = Kept::read(&context) else { return Ok(Self { context, kept: None }) };
        Ok(Self { context: context.with_pipeline_cache(kept.cache.clone()), kept: Some(kept) })
    }

    /// Writes the pipeline cache for the next run, if it has changed. The command succeeds even if it cannot be
    /// written.
    pub fn keep(&self) {
        let Some(Kept { cache, path, checksum: old }) = &self.kept else { return };
        let Some(data) = cache.get_data() else { return };
        let new = checksum(&data);
        if new == *old {
            return;
        }
        let written = match path.parent().map(fs::create_dir_all) {
            Some(Err(error)) => Err(Failure::at(path, error)),
            _ => atomic::write(path, &[&new, &data], atomic::Existing::default()),
        };
        if let Err(failure) = written {
            log::warn!("cannot write the pipeline cache: {failure}");
        }
    }
}

impl Kept {
    fn read(context: &Context) -> Option<Self> {
        let device = context.device()?;
        if !device.features().contains(wgpu::Features::PIPELINE_CACHE) {
            return None;
        }
        let name = wgpu::util::pipeline_cache_key(context.adapter_info()?)?;
        let path = dirs::cache_dir()?.join("wgpu-cast").join(name);
        let file = fs::read(&path).unwrap_or_default();
        // A damaged file is ignored, because a driver may trust the data that it is given.
        let whole = file.split_at_checked(CHECKSUM).filter(|(sum, data)| *sum == checksum(data));
        let data = whole.map(|(_, data)| data);
        let descriptor = wgpu::PipelineCacheDescriptor { label: Some("cast"), data, fallback: true };
        #[allow(unsafe_code, reason = "wgpu's pipeline caches are unsafe: see SAFETY")]
        // SAFETY: the data is what `PipelineCache::get_data` gave on this kind of adapter, in a file that only `keep`
        // writes, whole by its checksum; wgpu checks its header against the adapter and the driver.
        let cache = unsafe { device.create_pipeline_cache(&descriptor) };
        Some(Self { cache, path, checksum: data.map(checksum).unwrap_or_default() })
    }
}

fn checksum(data: &[u8]) -> [u8; CHECKSUM] {
    let mut hasher = DefaultHasher::new();
    hasher.write(data);
    hasher.finish().to_le_bytes()
}
