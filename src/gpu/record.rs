//! Bind groups and the commands of a cast.

use std::sync::Arc;

use crate::conversion::Conversion;
use crate::error::Error;
use crate::gpu::error_scope::{one_line, scoped};
use crate::gpu::kernels::Kernels;
use crate::kernel::Access;
use crate::plan::{ByteRange, Dispatch};

/// One dispatch, ready to record.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    pipeline: wgpu::ComputePipeline,
    group: wgpu::BindGroup,
    workgroups: [u32; 2],
    /// Held so that other casts find it.
    _parameters: Arc<wgpu::Buffer>,
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

/// Makes the bind groups of planned dispatches.
pub(crate) fn bind(
    kernels: &Kernels,
    conversion: &Conversion,
    dispatches: &[Dispatch],
    source: &wgpu::Buffer,
    destination: &wgpu::Buffer,
) -> Result<Vec<Command>, Error> {
    let command = |dispatch: &Dispatch| {
        let pipeline = kernels.get(conversion, dispatch.kind, dispatch.access)?;
        let layout = kernels.group(conversion, dispatch.access)?;
        let parameters = kernels.parameters.get(&kernels.device, conversion, &dispatch.params)?;
        let own = ByteRange { offset: 0, size: parameters.size() };
        let entries = [
            entry(0, source, dispatch.source),
            entry(1, destination, dispatch.destination),
            entry(4, &parameters, own),
        ];
        let entries = if dispatch.access == Access::Shared { &entries[1..] } else { &entries };
        let group = scoped(&kernels.device, || {
            kernels.device.create_bind_group(&wgpu::BindGroupDescriptor { label: Some("cast"), layout, entries })
        });
        let group = device_result(conversion, own.size, group)?;
        Ok(Command { pipeline, group, workgroups: dispatch.workgroups, _parameters: parameters })
    };
    dispatches.iter().map(command).collect()
}

fn entry(binding: u32, buffer: &wgpu::Buffer, bytes: ByteRange) -> wgpu::BindGroupEntry<'_> {
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
