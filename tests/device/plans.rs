//! Plans as data, run by hand: this file uses nothing of the crate that makes a wgpu object.

use support::buffers::{buffer, own_device, read};
use support::{bits, cases, numeric};
use wgpu_cast::wgpu::{self, util::DeviceExt};
use wgpu_cast::{
    CastOptions, CastSpec, CodeLookup, ElementType, Placement, Plan, PlanSettings, Position, Side, Tensor, cpu,
};

/// Runs a plan between buffers of the source and of the destination, which may be the same.
fn run(device: &wgpu::Device, queue: &wgpu::Queue, plan: &Plan, buffers: [&wgpu::Buffer; 2]) -> Vec<u8> {
    let pipelines: Vec<_> = plan
        .kernels()
        .iter()
        .map(|kernel| {
            let source = wgpu::ShaderSource::Wgsl(kernel.wgsl().into());
            let module = device.create_shader_module(wgpu::ShaderModuleDescriptor { label: None, source });
            device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: None,
                layout: None,
                module: &module,
                entry_point: Some("main"),
                compilation_options: Default::default(),
                cache: None,
            })
        })
        .collect();
    let mut encoder = device.create_command_encoder(&Default::default());
    {
        let mut pass = encoder.begin_compute_pass(&Default::default());
        for dispatch in plan.dispatches() {
            let (contents, usage) = (dispatch.parameters(), wgpu::BufferUsages::UNIFORM);
            let descriptor = wgpu::util::BufferInitDescriptor { label: None, contents, usage };
            let parameters = device.create_buffer_init(&descriptor);
            let mut entries = vec![wgpu::BindGroupEntry { binding: 4, resource: parameters.as_entire_binding() }];
            entries.extend(dispatch.bindings().map(|bound| {
                let buffer = buffers[if bound.side == Side::Source { 0 } else { 1 }];
                let (offset, size) = (bound.offset, wgpu::BufferSize::new(bound.size));
                let resource = wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer, offset, size });
                wgpu::BindGroupEntry { binding: bound.binding, resource }
            }));
            let pipeline = &pipelines[dispatch.kernel()];
            let layout = pipeline.get_bind_group_layout(0);
            let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: None,
                layout: &layout,
                entries: &entries,
            });
            pass.set_pipeline(pipeline);
            pass.set_bind_group(0, &group, &[]);
            let [x, y, z] = dispatch.workgroups();
            pass.dispatch_workgroups(x, y, z);
        }
    }
    read(device, queue, encoder, buffers[1])
}

/// Every pair, each at one of several places and lengths.
#[test]
fn plans_run_by_hand_give_the_bits_of_the_cpu() {
    let (device, queue) = own_device();
    let least = wgpu::Limits::downlevel_defaults();
    let mut settings = PlanSettings::default();
    settings.limits.offset_alignment = least.min_storage_buffer_offset_alignment.into();
    settings.limits.workgroups = least.max_compute_workgroups_per_dimension;
    let pairs = numeric().flat_map(|from| numeric().map(move |to| (from, to)));
    for (i, (from, to)) in pairs.enumerate() {
        // Compiling the main kernels of all pairs would take minutes.
        settings.tuning.blocks_from = Some(if i % 11 == 0 { 0 } else { u64::MAX });
        settings.tuning.lookup = if i % 2 == 0 { CodeLookup::Table } else { CodeLookup::Computed };
        let len = [1, 77, 1003, 4096][i % 4];
        let widths = [from, to].map(|t| t.bits().unwrap());
        let bytes = [from, to].map(|t| t.packed_bytes(len + 9).unwrap().next_multiple_of(8));
        let (position, one_buffer) = match i % 3 {
            0 => ([Position::whole(0), Position::whole(256)], false),
            1 => ([Position::part(8, 3), Position::part(16, 5)], false),
            _ => ([Position::part(8, 1), Position::whole(8 + bytes[0])], true),
        };
        let starts = match i % 3 {
            0 => [0, 8 * 256],
            1 => [64 + 3 * u64::from(widths[0]), 128 + 5 * u64::from(widths[1])],
            _ => [64 + u64::from(widths[0]), 64 + 8 * bytes[0]],
        };
        let placement = match one_buffer {
            true => Placement::one_buffer(position[0], position[1]),
            false => Placement::two_buffers(position[0], position[1]),
        };
        let plan = Plan::new(&CastSpec::new(from, to), len, &placement, &settings).unwrap();
        let size = 512 + bytes[0] + bytes[1];
        let noise = |seed| cases::random(ElementType::UINT8, size as usize, seed).into_iter().map(|code| code as u8);
        let memory = [1, 2].map(|seed| noise(seed).collect::<Vec<u8>>());
        let buffers = memory.each_ref().map(|bytes| {
            let buffer = buffer(&device, bytes.len() as u64);
            queue.write_buffer(&buffer, 0, bytes);
            buffer
        });
        let target = if one_buffer { 0 } else { 1 };
        let mut expected = memory[target].clone();
        let codes = (0..len).map(|i| bits::get(&memory[0], starts[0] + i * u64::from(widths[0]), widths[0]));
        let tensor = Tensor::from_codes(from, [len as usize], codes).unwrap();
        for (i, code) in cpu::cast(&tensor, to, &CastOptions::default()).unwrap().codes().enumerate() {
            bits::set(&mut expected, starts[1] + i as u64 * u64::from(widths[1]), widths[1], code);
        }
        let end = starts[1] + len * u64::from(widths[1]);
        if i % 3 != 1 && end % 8 != 0 {
            // The rest of the last byte of a whole tensor.
            bits::set(&mut expected, end, (8 - end % 8) as u32, 0);
        }
        let got = run(&device, &queue, &plan, [&buffers[0], &buffers[target]]);
        let wrong = (0..got.len()).find(|&i| got[i] != expected[i]);
        assert_eq!(wrong, None, "{from} to {to}, {len} elements, {placement:?}");
    }
}
