//! Bind groups and the commands of a cast.

use crate::conversion::Conversion;
use crate::error::Error;
use crate::gpu::kernels::Kernels;
use crate::gpu::scope::{message, scoped};
use crate::plan::{Bytes, Dispatch, Params};

/// One dispatch, ready to record.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    pipeline: wgpu::ComputePipeline,
    group: wgpu::BindGroup,
    workgroups: [u32; 2],
}

impl Command {
    pub(crate) fn record(&self, pass: &mut wgpu::ComputePass<'_>) {
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.group, &[]);
        pass.dispatch_workgroups(self.workgroups[0], self.workgroups[1], 1);
    }
}

/// Where a tensor starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    pub buffer: &'a wgpu::Buffer,
    pub offset: u64,
}

impl Place<'_> {
    fn binding(&self, binding: u32, bytes: Bytes) -> wgpu::BindGroupEntry<'_> {
        let resource = wgpu::BindingResource::Buffer(wgpu::BufferBinding {
            buffer: self.buffer,
            offset: self.offset + bytes.offset,
            size: wgpu::BufferSize::new(bytes.size),
        });
        wgpu::BindGroupEntry { binding, resource }
    }
}

/// Makes the bind groups and the immutable parameters of planned dispatches. `pipelines` has one for each.
pub(crate) fn bind(
    kernels: &Kernels,
    conversion: &Conversion,
    dispatches: &[Dispatch],
    pipelines: &[wgpu::ComputePipeline],
    source: Place<'_>,
    destination: Place<'_>,
) -> Result<Vec<Command>, Error> {
    let (from, to) = (conversion.from, conversion.to);
    let device = &kernels.device;
    let layout = kernels.group(conversion)?;
    let limits = device.limits();
    let stride = (size_of::<Params>() as u64).next_multiple_of(limits.min_uniform_buffer_offset_alignment.into());
    let bytes = stride * dispatches.len() as u64;
    let params = device_result(
        conversion,
        bytes,
        scoped(device, || {
            device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("cast parameters"),
                size: bytes,
                usage: wgpu::BufferUsages::UNIFORM,
                mapped_at_creation: true,
            })
        }),
    )?;
    {
        // The mapping of a buffer made on a lost device fails.
        let lost = |error: wgpu::MapRangeError| Error::DeviceLost { from, to, reason: error.to_string() };
        let mut view = params.slice(..).get_mapped_range_mut().map_err(lost)?;
        for (i, dispatch) in dispatches.iter().enumerate() {
            let start = i * stride as usize;
            view.slice(start..start + size_of::<Params>()).copy_from_slice(bytemuck::bytes_of(&dispatch.params));
        }
    }
    params.unmap();
    let bound = scoped(device, || {
        let commands = dispatches.iter().zip(pipelines).enumerate().map(|(i, (dispatch, pipeline))| {
            let params = wgpu::BufferBinding {
                buffer: &params,
                offset: i as u64 * stride,
                size: wgpu::BufferSize::new(size_of::<Params>() as u64),
            };
            let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some("cast"),
                layout,
                entries: &[
                    source.binding(0, dispatch.source),
                    destination.binding(1, dispatch.destination),
                    wgpu::BindGroupEntry { binding: 4, resource: wgpu::BindingResource::Buffer(params) },
                ],
            });
            Command { pipeline: pipeline.clone(), group, workgroups: dispatch.workgroups }
        });
        commands.collect()
    });
    device_result(conversion, bytes, bound)
}

/// A device's error as this crate's; `bytes` is what was asked for.
pub(crate) fn device_result<T>(
    conversion: &Conversion,
    bytes: u64,
    result: Result<T, wgpu::Error>,
) -> Result<T, Error> {
    let (from, to) = (conversion.from, conversion.to);
    result.map_err(|error| match error {
        wgpu::Error::OutOfMemory { .. } => Error::OutOfMemory { from, to, bytes },
        error => Error::Device { from, to, message: message(&error) },
    })
}
