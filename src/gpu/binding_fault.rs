//! Finds out what is wrong with a buffer that wgpu refuses to bind.
//!
//! The type of wgpu's error tells the fault, but not the buffer. So each buffer is bound once more, alone.

use crate::types::error::SliceFault;

/// What is wrong with a buffer, after a bind group with it was refused with `error`. The buffer must have at least 4
/// bytes and the usage STORAGE. In a browser errors arrive later, and as texts.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn of_buffer(device: &wgpu::Device, error: &wgpu::Error, buffer: &wgpu::Buffer) -> Option<SliceFault> {
    fault(error)?;
    fault(&crate::gpu::error_scope::scoped(device, || bind_alone(device, buffer)).err()?)
}

#[cfg(target_family = "wasm")]
pub(crate) fn of_buffer(_: &wgpu::Device, _: &wgpu::Error, _: &wgpu::Buffer) -> Option<SliceFault> {
    None
}

/// The fault of a buffer that an error reports.
#[cfg(not(target_family = "wasm"))]
fn fault(error: &wgpu::Error) -> Option<SliceFault> {
    use wgpu::wgc::binding_model::{BindingError, CreateBindGroupError};
    use wgpu::wgc::device::DeviceError;
    use wgpu::wgc::error::ContextError;

    let wgpu::Error::Validation { source, .. } = error else { return None };
    match source.downcast_ref::<ContextError>()?.source.downcast_ref()? {
        CreateBindGroupError::Device(DeviceError::DeviceMismatch(_)) => Some(SliceFault::ForeignBuffer),
        CreateBindGroupError::DestroyedResource(_)
        | CreateBindGroupError::BindingError(BindingError::DestroyedResource(_)) => Some(SliceFault::DestroyedBuffer),
        _ => None,
    }
}

#[cfg(not(target_family = "wasm"))]
fn bind_alone(device: &wgpu::Device, buffer: &wgpu::Buffer) {
    let ty = wgpu::BufferBindingType::Storage { read_only: true };
    let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: None,
        entries: &[wgpu::BindGroupLayoutEntry {
            binding: 0,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None },
            count: None,
        }],
    });
    let resource =
        wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer, offset: 0, size: wgpu::BufferSize::new(4) });
    let entries = [wgpu::BindGroupEntry { binding: 0, resource }];
    drop(device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout: &layout, entries: &entries }));
}
