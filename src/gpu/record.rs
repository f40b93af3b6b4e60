//! Bind groups and the commands of a cast.

use crate::conversion::Conversion;
use crate::error::Error;
use crate::gpu::kernels::Kernels;
use crate::gpu::scope::{one_line, scoped};
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

impl<'a> From<wgpu::BufferSlice<'a>> for Place<'a> {
    fn from(slice: wgpu::BufferSlice<'a>) -> Self {
        Self { buffer: slice.buffer(), offset: slice.offset() }
    }
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
        let lost = |error: wgpu::MapRangeError| Error::DeviceLost { from, to, reason: one_line(&error) };
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
        error => Error::Device { from, to, message: one_line(&error) },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Context;
    use crate::element::ElementType;
    use crate::gpu::adapter::DeviceChoice;
    use crate::lanes;
    use crate::options::CastOptions;
    use crate::plan::Kind;

    const WORDS: u64 = 64;

    /// Runs the edge kernel on ranges that start anywhere: elements after the first, bytes inside a word, on both
    /// sides.
    #[test]
    fn the_edge_kernel_starts_at_any_element_and_byte() {
        let context = pollster::block_on(Context::open(DeviceChoice::Gpu)).expect("an adapter: see tests/adapter.sh");
        let numeric = || ElementType::ALL.iter().copied().filter(|t| t.is_numeric());
        for (from, to) in numeric().flat_map(|from| numeric().map(move |to| (from, to))) {
            let conversion = Conversion::new(from, to, &CastOptions::default()).unwrap();
            for (source_at, destination_at, first, count) in [(0, 0, 3, 1), (1, 3, 0, 5), (2, 1, 4, 7), (3, 2, 8, 2)] {
                // A tensor starts at a multiple of its element's size.
                let byte = |t: ElementType, at: u32| {
                    let size = (t.code_bits() / 8).clamp(1, 4);
                    at / size * size
                };
                let params = Params {
                    first,
                    count,
                    source_byte: byte(from, source_at),
                    destination_byte: byte(to, destination_at),
                    pitch: 1,
                    ..Params::default()
                };
                // An element after the first starts at a whole byte where the planner puts one; so here.
                if first * to.code_bits() % 8 == 0 && first * from.code_bits() % 8 == 0 {
                    check(&context, &conversion, params);
                }
            }
        }
    }

    fn check(context: &Context, conversion: &Conversion, params: Params) {
        let (device, queue) = (context.device().unwrap(), context.queue().unwrap());
        let kernels = Kernels::new(device, true);
        let buffer = |usage| {
            let size = WORDS * 4;
            device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
        };
        let source = buffer(wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST);
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC;
        let destination = buffer(usage);
        let staging = buffer(wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST);
        let given: Vec<u8> = (0..WORDS as u32 * 4).map(|i| (i * 151 + 43) as u8).collect();
        let mut expected = vec![0x5a; given.len()];
        queue.write_buffer(&source, 0, &given);
        queue.write_buffer(&destination, 0, &expected);

        let whole = Bytes { offset: 0, size: WORDS * 4 };
        let dispatch = Dispatch { kind: Kind::Edge, source: whole, destination: whole, params, workgroups: [1, 1] };
        let pipelines = [kernels.get(conversion, Kind::Edge).unwrap()];
        let place = |buffer| Place { buffer, offset: 0 };
        let commands =
            bind(&kernels, conversion, &[dispatch], &pipelines, place(&source), place(&destination)).unwrap();
        let mut encoder = device.create_command_encoder(&Default::default());
        commands[0].record(&mut encoder.begin_compute_pass(&Default::default()));
        encoder.copy_buffer_to_buffer(&destination, 0, &staging, 0, WORDS * 4);
        queue.submit([encoder.finish()]);
        staging.slice(..).map_async(wgpu::MapMode::Read, |result| result.unwrap());
        device.poll(wgpu::PollType::wait_indefinitely()).unwrap();

        let (from, to) = (conversion.from.code_bits(), conversion.to.code_bits());
        let codes = (0..params.count)
            .map(|i| lanes::read_code(&given[params.source_byte as usize..], from, (params.first + i) as usize));
        let (mut low, mut high): (Vec<u32>, Vec<u32>) = codes.map(|code| (code as u32, (code >> 32) as u32)).unzip();
        conversion.convert(&mut low, &mut high);
        let converted = low.iter().zip(&high).map(|(&low, &high)| u64::from(low) | u64::from(high) << 32);
        let packed = lanes::pack_codes(to, converted);
        let start = (params.destination_byte + params.first * to / 8) as usize;
        expected[start..start + packed.len()].copy_from_slice(&packed);
        let got = staging.slice(..).get_mapped_range().unwrap();
        assert_eq!(&got[..], &expected[..], "{} to {}, {params:?}", conversion.from, conversion.to);
    }
}
