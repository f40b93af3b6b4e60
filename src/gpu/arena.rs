//! A uniform buffer for the parameter blocks of many dispatches.
//!
//! A buffer can be written without a queue only while it is mapped, and used only while it is not. So an arena is
//! mapped when it is made. It takes blocks until a command that uses one of them is recorded. Then it is *sealed*: it
//! is unmapped, and never written again.

use std::sync::{Mutex, OnceLock, PoisonError};

use crate::gpu::error_scope::{scoped, scoped_for};
use crate::types::conversion::Conversion;
use crate::types::error::{CastFault, Error};

/// A mapped or sealed uniform buffer; see the module.
#[derive(Debug)]
pub(crate) struct Arena {
    device: wgpu::Device,
    buffer: wgpu::Buffer,
    /// Bytes in use, a multiple of the alignment of blocks; `None` once it is sealed.
    used: Mutex<Option<u64>>,
    /// Set when the arena is sealed, so that later recordings take no lock.
    sealed: OnceLock<()>,
}

impl Arena {
    /// An arena of `size` bytes whose first block is at offset 0.
    pub(crate) fn new(
        device: &wgpu::Device,
        conversion: &Conversion,
        size: u64,
        bytes: &[u8],
        alignment: u64,
    ) -> Result<Self, Error> {
        let buffer = mapped(device, conversion, size, wgpu::BufferUsages::UNIFORM)?;
        write(&buffer, conversion, 0, bytes)?;
        let used = Mutex::new(Some((bytes.len() as u64).next_multiple_of(alignment)));
        Ok(Self { device: device.clone(), buffer, used, sealed: OnceLock::new() })
    }

    pub(crate) fn buffer(&self) -> &wgpu::Buffer {
        &self.buffer
    }

    /// Writes a block and returns its offset, if the arena is not sealed and has room.
    pub(crate) fn add(&self, conversion: &Conversion, bytes: &[u8], alignment: u64) -> Result<Option<u64>, Error> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(offset) = *used else { return Ok(None) };
        let end = offset + bytes.len() as u64;
        if end > self.buffer.size() {
            return Ok(None);
        }
        write(&self.buffer, conversion, offset, bytes)?;
        *used = Some(end.next_multiple_of(alignment));
        Ok(Some(offset))
    }

    /// Makes the blocks usable: commands that use them may be submitted from now on.
    pub(crate) fn seal(&self) {
        self.sealed.get_or_init(|| {
            let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
            if used.take().is_some() {
                // Unmapping fails only on a destroyed device, which the submission reports.
                let _ = scoped(&self.device, || self.buffer.unmap());
            }
        });
    }
}

/// A buffer with bytes that never change.
pub(crate) fn filled(
    device: &wgpu::Device,
    conversion: &Conversion,
    bytes: &[u8],
    usage: wgpu::BufferUsages,
) -> Result<wgpu::Buffer, Error> {
    let buffer = mapped(device, conversion, bytes.len() as u64, usage)?;
    write(&buffer, conversion, 0, bytes)?;
    buffer.unmap();
    Ok(buffer)
}

/// A buffer that can be written until it is unmapped.
fn mapped(
    device: &wgpu::Device,
    conversion: &Conversion,
    size: u64,
    usage: wgpu::BufferUsages,
) -> Result<wgpu::Buffer, Error> {
    scoped_for(conversion, size, device, || {
        let label = Some("cast parameters");
        device.create_buffer(&wgpu::BufferDescriptor { label, size, usage, mapped_at_creation: true })
    })
}

fn write(buffer: &wgpu::Buffer, conversion: &Conversion, offset: u64, bytes: &[u8]) -> Result<(), Error> {
    // wgpu reports the loss of a device first here: the mapping fails. The message would name a buffer that the caller
    // does not know.
    let lost = |_: wgpu::MapRangeError| {
        conversion.error(CastFault::DeviceLost { reason: "its memory cannot be mapped".to_owned() })
    };
    let range = offset..offset + bytes.len() as u64;
    buffer.slice(range).get_mapped_range_mut().map_err(lost)?.copy_from_slice(bytes);
    Ok(())
}
