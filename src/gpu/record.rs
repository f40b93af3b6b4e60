//! Bind groups and the commands of a cast.

use crate::conversion::Conversion;
use crate::error::Error;
use crate::gpu::kernels::Kernels;
use crate::gpu::scope::{one_line, scoped};
use crate::kernel::Access;
use crate::plan::{Bytes, Dispatch, Params};

/// One dispatch, ready to record.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    pipeline: wgpu::ComputePipeline,
    group: wgpu::BindGroup,
    workgroups: [u32; 2],
}

/// Records commands; a pipeline is set where it changes.
pub(crate) fn record<'a>(commands: impl IntoIterator<Item = &'a Command>, pass: &mut wgpu::ComputePass<'_>) {
    let mut set = None;
    for command in commands {
        if set != Some(&command.pipeline) {
            pass.set_pipeline(&command.pipeline);
            set = Some(&command.pipeline);
        }
        command.dispatch(pass);
    }
}

impl Command {
    pub(crate) fn pipeline(&self) -> &wgpu::ComputePipeline {
        &self.pipeline
    }

    fn dispatch(&self, pass: &mut wgpu::ComputePass<'_>) {
        pass.set_bind_group(0, &self.group, &[]);
        pass.dispatch_workgroups(self.workgroups[0], self.workgroups[1], 1);
    }
}

/// Makes the bind groups and the immutable parameters of planned dispatches.
pub(crate) fn bind(
    kernels: &Kernels,
    conversion: &Conversion,
    dispatches: &[Dispatch],
    source: &wgpu::Buffer,
    destination: &wgpu::Buffer,
) -> Result<Vec<Command>, Error> {
    let (from, to) = (conversion.from, conversion.to);
    let device = &kernels.device;
    let mut made = Vec::with_capacity(dispatches.len());
    for dispatch in dispatches {
        let pipeline = kernels.get(conversion, dispatch.kind, dispatch.access)?;
        made.push((dispatch, pipeline, kernels.group(conversion, dispatch.access)?));
    }
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
        let lost = |error: wgpu::MapRangeError| Error::DeviceLost { from, to, reason: one_line(&error) };
        let mut view = params.slice(..).get_mapped_range_mut().map_err(lost)?;
        for (i, dispatch) in dispatches.iter().enumerate() {
            let start = i * stride as usize;
            view.slice(start..start + size_of::<Params>()).copy_from_slice(bytemuck::bytes_of(&dispatch.params));
        }
    }
    params.unmap();
    let bound = scoped(device, || {
        let commands = made.into_iter().enumerate().map(|(i, (dispatch, pipeline, layout))| {
            let own = Bytes { offset: i as u64 * stride, size: size_of::<Params>() as u64 };
            let entries = [
                entry(0, source, dispatch.source),
                entry(1, destination, dispatch.destination),
                entry(4, &params, own),
            ];
            let entries = if dispatch.access == Access::Shared { &entries[1..] } else { &entries };
            let group = device.create_bind_group(&wgpu::BindGroupDescriptor { label: Some("cast"), layout, entries });
            Command { pipeline, group, workgroups: dispatch.workgroups }
        });
        commands.collect()
    });
    device_result(conversion, bytes, bound)
}

fn entry(binding: u32, buffer: &wgpu::Buffer, bytes: Bytes) -> wgpu::BindGroupEntry<'_> {
    let (offset, size) = (bytes.offset, wgpu::BufferSize::new(bytes.size));
    let resource = wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer, offset, size });
    wgpu::BindGroupEntry { binding, resource }
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
        error => Error::Device { from, to, message: one_line(&error) },
    })
}
