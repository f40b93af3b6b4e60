//! Bind groups and the commands of a cast.

use zerocopy::IntoBytes;

use crate::gpu::arena::filled;
use crate::gpu::binding_fault;
use crate::gpu::error_scope::{of_device, scoped};
use crate::gpu::kernels::Kernels;
use crate::gpu::parameters::Slot;
use crate::kernel::{Access, ParameterSpace};
use crate::plan::{ByteRange, CountedDispatch, Dispatch, Merged, Params, UniformBlock};
use crate::types::conversion::Conversion;
use crate::types::error::{CastFault, Error};
use crate::types::side::Side;

/// One dispatch, ready to record.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    pub pipeline: wgpu::ComputePipeline,
    pub group: wgpu::BindGroup,
    pub workgroups: [u32; 2],
    parameters: Parameters,
}

/// Where the parameters of a command are.
#[derive(Clone, Debug)]
enum Parameters {
    /// A block of a uniform buffer.
    Uniform(Slot),
    Immediate(Params),
    /// They are in the bind group, with those of other casts.
    Table,
}

/// Records commands. A pipeline is set only where it changes.
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

/// The common parts of a cast's commands.
pub(crate) struct Commands<'a> {
    pub kernels: &'a Kernels,
    pub conversion: &'a Conversion,
    pub source: &'a wgpu::Buffer,
    pub destination: &'a wgpu::Buffer,
    /// Where the two slices start, for errors.
    pub offsets: [u64; 2],
    pub label: Option<&'a str>,
}

impl Commands<'_> {
    /// The command of a planned dispatch.
    pub(crate) fn single(&self, pipeline: wgpu::ComputePipeline, dispatch: &Dispatch) -> Result<Command, Error> {
        let (_, _, access, space) = self.kernels.key(self.conversion, dispatch.kind, dispatch.access);
        let ranges = [dispatch.source, dispatch.destination];
        if space == ParameterSpace::Immediate {
            let group = self.group(access, space, ranges, &[], None)?;
            let parameters = Parameters::Immediate(dispatch.params);
            return Ok(Command { pipeline, group, workgroups: dispatch.workgroups, parameters });
        }
        let slot = self.slot(&dispatch.uniform_block())?;
        let group = self.group(access, space, ranges, &[entry(4, slot.arena.buffer(), slot.range)], None)?;
        let parameters = Parameters::Uniform(slot);
        Ok(Command { pipeline, group, workgroups: dispatch.workgroups, parameters })
    }

    /// The command of a dispatch that reads the number of elements from the last word of a range.
    pub(crate) fn counted(
        &self,
        planned: &CountedDispatch,
        count: wgpu::BufferSlice<'_>,
        range: ByteRange,
    ) -> Result<Command, Error> {
        let Dispatch { kind, access, source, destination, workgroups, .. } = planned.dispatch;
        let space = ParameterSpace::Counted;
        let pipeline = self.kernels.get(&(*self.conversion, kind, access, space))?;
        // The range begins at most one alignment before the word, so the index of the word fits in 32 bits.
        let slot = self.slot(&planned.uniform_block((range.size / 4 - 1) as u32))?;
        let further = [entry(2, count.buffer(), range), entry(4, slot.arena.buffer(), slot.range)];
        let group = self.group(access, space, [source, destination], &further, Some(count))?;
        Ok(Command { pipeline, group, workgroups, parameters: Parameters::Uniform(slot) })
    }

    /// The command of several dispatches that were merged.
    pub(crate) fn merged(&self, merged: &Merged, offset_alignment: u64) -> Result<Command, Error> {
        let space = ParameterSpace::Table;
        let pipeline = self.kernels.get(&(*self.conversion, merged.kind, merged.access, space))?;
        let (bytes, [params, casts]) = merged.table(offset_alignment);
        let usage = wgpu::BufferUsages::STORAGE;
        let table = filled(&self.kernels.device, self.conversion, &bytes, usage)?;
        let further = [entry(2, &table, params), entry(3, &table, casts)];
        let group = self.group(merged.access, space, [merged.source, merged.destination], &further, None)?;
        Ok(Command { pipeline, group, workgroups: [merged.workgroups, 1], parameters: Parameters::Table })
    }

    fn slot(&self, block: &UniformBlock) -> Result<Slot, Error> {
        self.kernels.parameters.get(&self.kernels.device, self.conversion, block)
    }

    fn group(
        &self,
        access: Access,
        space: ParameterSpace,
        [source, destination]: [ByteRange; 2],
        further: &[wgpu::BindGroupEntry<'_>],
        count: Option<wgpu::BufferSlice<'_>>,
    ) -> Result<wgpu::BindGroup, Error> {
        let layout = self.kernels.group(self.conversion, access, space)?;
        let sides = [entry(0, self.source, source), entry(1, self.destination, destination)];
        let sides = if access == Access::Shared { &sides[1..] } else { &sides };
        let entries = [sides, further].concat();
        let device = &self.kernels.device;
        scoped(device, || {
            device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: self.label.or(Some("cast")),
                layout,
                entries: &entries,
            })
        })
        .map_err(|error| self.refused(&error, count))
    }

    /// The error of the first of the caller's buffers that cannot be bound.
    fn refused(&self, error: &wgpu::Error, count: Option<wgpu::BufferSlice<'_>>) -> Error {
        let [source, destination] = self.offsets;
        let sides = [
            Some((Some(Side::Source), self.source, source)),
            Some((Some(Side::Destination), self.destination, destination)),
            count.map(|count| (None, count.buffer(), count.offset())),
        ];
        let fault = |(side, buffer, offset)| {
            let fault = binding_fault::of_buffer(&self.kernels.device, error, buffer)?;
            Some(self.conversion.error(CastFault::Slice { side, offset, fault }))
        };
        sides.into_iter().flatten().find_map(fault).unwrap_or_else(|| of_device(self.conversion, 0, error))
    }
}

impl Command {
    /// Makes the command usable in a submission. Before that, other commands may add to the buffer of its parameters.
    pub(crate) fn seal(&self) {
        if let Parameters::Uniform(slot) = &self.parameters {
            slot.arena.seal();
        }
    }

    /// The immediates that the pass needs for this command.
    pub(crate) fn immediates(&self) -> &[u8] {
        match &self.parameters {
            Parameters::Immediate(params) => params.as_bytes(),
            Parameters::Uniform(_) | Parameters::Table => &[],
        }
    }

    fn dispatch(&self, pass: &mut wgpu::ComputePass<'_>) {
        self.seal();
        pass.set_bind_group(0, &self.group, &[]);
        let immediates = self.immediates();
        if !immediates.is_empty() {
            pass.set_immediates(0, immediates);
        }
        pass.dispatch_workgroups(self.workgroups[0], self.workgroups[1], 1);
    }
}

fn entry(binding: u32, buffer: &wgpu::Buffer, bytes: ByteRange) -> wgpu::BindGroupEntry<'_> {
    let (offset, size) = (bytes.offset, wgpu::BufferSize::new(bytes.size));
    let resource = wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer, offset, size });
    wgpu::BindGroupEntry { binding, resource }
}
