//! Bind groups and the commands of a cast.

use std::sync::Arc;

use crate::conversion::Conversion;
use crate::error::Error;
use crate::gpu::error_scope::scoped_for;
use crate::gpu::kernels::Kernels;
use crate::kernel::Access;
use crate::plan::{ByteRange, Dispatch};

/// One dispatch, ready to record.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    pub pipeline: wgpu::ComputePipeline,
    pub group: wgpu::BindGroup,
    pub workgroups: [u32; 2],
    /// The bind group keeps the buffer alive for wgpu; this handle keeps it in `Parameters`, where other casts find it.
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
    /// Makes the bind group of a planned dispatch.
    pub(crate) fn new(
        kernels: &Kernels,
        conversion: &Conversion,
        pipeline: wgpu::ComputePipeline,
        dispatch: &Dispatch,
        [source, destination]: [&wgpu::Buffer; 2],
        label: Option<&str>,
    ) -> Result<Self, Error> {
        let layout = kernels.group(conversion, dispatch.access)?;
        let parameters = kernels.parameters.get(&kernels.device, conversion, &dispatch.uniform_block())?;
        let whole = ByteRange { offset: 0, size: parameters.size() };
        let entries = [
            entry(0, source, dispatch.source),
            entry(1, destination, dispatch.destination),
            entry(4, &parameters, whole),
        ];
        let entries = if dispatch.access == Access::Shared { &entries[1..] } else { &entries };
        let group = scoped_for(conversion, whole.size, &kernels.device, || {
            kernels.device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: label.or(Some("cast")),
                layout,
                entries,
            })
        })?;
        Ok(Self { pipeline, group, workgroups: dispatch.workgroups, _parameters: parameters })
    }

    /// What the pass's immediates must be.
    pub(crate) fn immediates(&self) -> &[u8] {
        &[]
    }

    fn dispatch(&self, pass: &mut wgpu::ComputePass<'_>) {
        pass.set_bind_group(0, &self.group, &[]);
        pass.dispatch_workgroups(self.workgroups[0], self.workgroups[1], 1);
    }
}

fn entry(binding: u32, buffer: &wgpu::Buffer, bytes: ByteRange) -> wgpu::BindGroupEntry<'_> {
    let (offset, size) = (bytes.offset, wgpu::BufferSize::new(bytes.size));
    let resource = wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer, offset, size });
    wgpu::BindGroupEntry { binding, resource }
}
