//! Plans as data, run by hand: this file uses nothing of the crate that makes a wgpu object.

use support::buffers::{buffer, own_device, pipeline, read};
use support::planned::{Layout, PlannedCast};
use support::{cases, numeric};
use wgpu_cast::wgpu::{self, util::DeviceExt};
use wgpu_cast::{CodeLookup, Plan, PlanSettings, Side};

/// Runs a plan between buffers of the source and of the destination, which may be the same.
fn run(device: &wgpu::Device, queue: &wgpu::Queue, plan: &Plan, buffers: [&wgpu::Buffer; 2]) -> Vec<u8> {
    let pipelines: Vec<_> = plan.kernels().iter().map(|kernel| pipeline(device, kernel.wgsl())).collect();
    let mut encoder = device.create_command_encoder(&Default::default());
    {
        let mut pass = encoder.begin_compute_pass(&Default::default());
        for dispatch in plan.dispatches() {
            let (contents, usage) = (dispatch.parameters(), wgpu::BufferUsages::UNIFORM);
            let descriptor = wgpu::util::BufferInitDescriptor { label: None, contents: &contents, usage };
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

/// Every pair, each in one of several layouts and lengths.
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
        let (layout, len) = (Layout::ALL[i % 5], [1, 77, 1003, 4096][i % 4]);
        let cast = PlannedCast::new(from, to, layout, &cases::random(from, len, 1), settings);
        let buffers: Vec<_> = cast
            .before
            .iter()
            .map(|bytes| {
                let buffer = buffer(&device, bytes.len() as u64);
                queue.write_buffer(&buffer, 0, bytes);
                buffer
            })
            .collect();
        let after = run(&device, &queue, &cast.plan, [&buffers[0], &buffers[buffers.len() - 1]]);
        let wrong = (0..after.len()).find(|&i| after[i] != cast.after[i]);
        assert_eq!(wrong, None, "{from} to {to}, {len} elements, {layout:?}");
    }
}
