//! The parameter blocks of dispatches, as uniform buffers that never change.
//!
//! Equal blocks share one buffer, because a device gets slower with every buffer that it holds: all casts of one length
//! between aligned slices have the same block.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::conversion::Conversion;
use crate::error::Error;
use crate::gpu::error_scope::scoped_for;
use crate::plan::UniformBlock;

/// The blocks that bound casts hold.
#[derive(Debug, Default)]
pub(crate) struct Parameters {
    alive: Mutex<Alive>,
}

#[derive(Debug, Default)]
struct Alive {
    buffers: HashMap<UniformBlock, Weak<wgpu::Buffer>>,
    /// The number of entries at which those of freed buffers are removed.
    full: usize,
}

/// The least number of entries at which freed buffers are searched for.
const LEAST_FULL: usize = 64;

impl Parameters {
    /// The buffer that holds a block.
    pub(crate) fn get(
        &self,
        device: &wgpu::Device,
        conversion: &Conversion,
        block: &UniformBlock,
    ) -> Result<Arc<wgpu::Buffer>, Error> {
        // A poisoned lock is safe to use: each entry is added and removed in one step.
        if let Some(buffer) = self.alive.lock().unwrap_or_else(PoisonError::into_inner).find(block) {
            return Ok(buffer);
        }
        // The buffer is made without the lock. Two threads may each make one; both buffers work, and later casts find
        // one of them.
        let usage = wgpu::BufferUsages::UNIFORM;
        let buffer = Arc::new(filled(device, conversion, &block.bytes(), usage)?);
        self.alive.lock().unwrap_or_else(PoisonError::into_inner).insert(block.clone(), &buffer);
        Ok(buffer)
    }
}

impl Alive {
    fn find(&self, block: &UniformBlock) -> Option<Arc<wgpu::Buffer>> {
        self.buffers.get(block)?.upgrade()
    }

    fn insert(&mut self, block: UniformBlock, buffer: &Arc<wgpu::Buffer>) {
        if self.buffers.len() >= self.full {
            self.buffers.retain(|_, buffer| buffer.strong_count() > 0);
            self.full = (2 * self.buffers.len()).max(LEAST_FULL);
        }
        self.buffers.insert(block, Arc::downgrade(buffer));
    }
}

/// A buffer of bytes that never change.
pub(crate) fn filled(
    device: &wgpu::Device,
    conversion: &Conversion,
    bytes: &[u8],
    usage: wgpu::BufferUsages,
) -> Result<wgpu::Buffer, Error> {
    let (from, to) = (conversion.from, conversion.to);
    let size = bytes.len() as u64;
    let buffer = scoped_for(conversion, size, device, || {
        device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("cast parameters"),
            size,
            usage,
            mapped_at_creation: true,
        })
    })?;
    // wgpu reports the loss of a device first here: the mapping fails. Its message names a buffer that the caller does
    // not know.
    let lost =
        |_: wgpu::MapRangeError| Error::DeviceLost { from, to, reason: "its memory cannot be mapped".to_owned() };
    buffer.slice(..).get_mapped_range_mut().map_err(lost)?.copy_from_slice(bytes);
    buffer.unmap();
    Ok(buffer)
}
