//! Plans as data, run by hand: this file uses no part of the crate that makes wgpu objects.

use support::buffers::{buffer, own_device, pipeline, read};
use support::planned::{Layout, PlannedCast, noise};
use support::random::Random;
use support::{cases, numeric, pairs_of_widths};
use wgpu_cast::wgpu::{self, util::DeviceExt};
use wgpu_cast::{
    CastFault, CastOptions, CastSpec, CodeLookup, ElementType, Error, Placement, Plan, PlanSettings, Position, Side,
    Tensor, View, cpu,
};

use support::shapes::{self, Shape};
use support::{slice_error, variant};

#[path = "../../examples/plan.rs"]
mod example;

/// Runs a plan between buffers of the source and of the destination, which may be the same. The plan's offsets count
/// from `starts`.
fn run(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    plan: &Plan,
    buffers: [&wgpu::Buffer; 2],
    starts: [u64; 2],
) -> Vec<u8> {
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
                let side = if bound.side == Side::Source { 0 } else { 1 };
                let (buffer, offset) = (buffers[side], starts[side] + bound.offset);
                let size = wgpu::BufferSize::new(bound.size);
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

/// Runs a plan on buffers with these bytes: the source's and the destination's, or one for both.
fn run_on(device: &wgpu::Device, queue: &wgpu::Queue, plan: &Plan, before: &[Vec<u8>]) -> Vec<u8> {
    let filled = |bytes: &Vec<u8>| {
        let buffer = buffer(device, bytes.len() as u64);
        queue.write_buffer(&buffer, 0, bytes);
        buffer
    };
    let buffers: Vec<_> = before.iter().map(filled).collect();
    run(device, queue, plan, [&buffers[0], &buffers[buffers.len() - 1]], [0, 0])
}

fn least_settings() -> PlanSettings {
    let least = wgpu::Limits::downlevel_defaults();
    let mut settings = PlanSettings::default();
    settings.limits.offset_alignment = least.min_storage_buffer_offset_alignment.into();
    settings.limits.workgroups = least.max_compute_workgroups_per_dimension;
    settings
}

#[test]
fn the_example_gives_the_bits_of_the_cpu() {
    // It compares the bits itself.
    example::main().unwrap();
}

/// Every pair, each in one of several layouts and lengths.
#[test]
fn plans_run_by_hand_give_the_bits_of_the_cpu() {
    let (device, queue) = own_device();
    let mut settings = least_settings();
    let pairs = numeric().flat_map(|from| numeric().map(move |to| (from, to)));
    for (i, (from, to)) in pairs.enumerate() {
        // Compiling the main kernels of all pairs would take minutes.
        settings.tuning.blocks_from = Some(if i % 11 == 0 { 0 } else { u64::MAX });
        settings.tuning.lookup = if i % 2 == 0 { CodeLookup::Table } else { CodeLookup::Computed };
        let (layout, len) = (Layout::TENSORS[i % 5], [1, 77, 1003, 4096][i % 4]);
        let cast = PlannedCast::new(&CastSpec::new(from, to), layout, &cases::random(from, len, 1), settings);
        let after = run_on(&device, &queue, &cast.plan, &cast.before);
        let wrong = (0..after.len()).find(|&i| after[i] != cast.after[i]);
        assert_eq!(wrong, None, "{from} to {to}, {len} elements, {layout:?}");
    }
}

/// The position of a tensor at a multiple of 8 bytes, or of a part after five of its elements, and the first bit.
fn position(is_part: bool, bytes: usize, bits: usize) -> (Position, usize) {
    let bytes = bytes.next_multiple_of(8);
    match is_part {
        true => (Position::part(bytes as u64, 5), 8 * bytes + 5 * bits),
        false => (Position::whole(bytes as u64), 8 * bytes),
    }
}

/// Both look-ups, positions inside bytes, one buffer and two, and bindings that hold all of a view or a part of it.
#[test]
fn views_run_by_hand_give_the_bits_of_the_cpu() {
    use ElementType::*;
    let (device, queue) = own_device();
    let types = [INT2, FLOAT4E2M1, FLOAT6E2M3, UINT8, FLOAT16, FLOAT, DOUBLE];
    let mut numbers = Random::new(3);
    for i in 0..42 {
        let (from, to) = (types[i % 7], types[(i / 7 + 2 * i) % 7]);
        let [from_bits, to_bits] = [from, to].map(|t| t.bits().unwrap() as usize);
        // Compiling the kernels of long rows is most of the work.
        let shape = match i % 6 {
            0 => Shape::new(&[3, 331], &[340, 1], &[-331 - i as i64, 1]),
            1 => Shape::new(&[3, 130], &[1, 3], &[130, 1]),
            2 => Shape::new(&[20, 64], &[1, 32], &[64, 1]),
            _ => shapes::random(&mut numbers),
        };
        let mut settings = least_settings();
        settings.tuning.lookup = if i / 4 % 2 == 0 { CodeLookup::Table } else { CodeLookup::Computed };
        settings.limits.binding_size = if i % 5 == 0 { 1 << 10 } else { settings.limits.binding_size };
        let (is_part, one_buffer) = (i % 3 == 0, i / 2 % 2 == 0);
        let read = shapes::places(&shape.sizes, &shape.source);
        let written = shapes::places(&shape.sizes, &shape.destination);
        let [extent, result] = [&read, &written].map(|places| places.iter().max().unwrap() + 1);
        let (source, source_bit) = position(is_part, 8, from_bits);
        let source_end = (source_bit + extent * from_bits).div_ceil(8);
        let (destination, bit) = position(is_part, if one_buffer { source_end } else { 16 }, to_bits);
        let end = (bit + result * to_bits).div_ceil(8);
        let (placement, ends) = match one_buffer {
            true => (Placement::one_buffer(source, destination), vec![end]),
            false => (Placement::two_buffers(source, destination), vec![source_end, end]),
        };
        let mut before: Vec<_> = (0..).zip(ends).map(|(seed, end)| noise(end + 64, seed)).collect();
        let codes = cases::random(from, extent, 9);
        let all: Vec<_> = (0..extent).collect();
        shapes::put(&mut before[0], source_bit, from_bits, &all, codes.iter().copied());
        let elements = Tensor::from_codes(from, [read.len()], read.iter().map(|&place| codes[place])).unwrap();
        let cast = cpu::cast(&elements, to, &CastOptions::default()).unwrap();
        let mut expected = before.last().unwrap().clone();
        shapes::put(&mut expected, bit, to_bits, &written, cast.codes());
        let plan = Plan::view(&CastSpec::new(from, to), &shape.view(), &placement, &settings).unwrap();
        let after = run_on(&device, &queue, &plan, &before);
        let wrong = (0..after.len()).find(|&i| after[i] != expected[i]);
        assert_eq!(wrong, None, "{from} to {to}, {shape:?}, {placement:?}, {settings:?}");
    }
}

#[test]
fn plans_of_dense_views_are_those_of_tensors() {
    let spec = CastSpec::new(ElementType::FLOAT, ElementType::INT8);
    let settings = PlanSettings::default();
    for (source, destination) in [(0, 0), (512, 256), (4, 3)] {
        let placement = Placement::two_buffers(Position::whole(source), Position::part(destination, 5));
        let plan = |view| Plan::view(&spec, &view, &placement, &settings).unwrap();
        let dense = Plan::new(&spec, 30_000, &placement, &settings).unwrap();
        assert_eq!(plan(View::new(&[6, 5000])), dense);
        let backwards = View::new(&[5000, 6]).with_source_strides(&[-1, -5000]);
        assert_eq!(plan(backwards.with_destination_strides(&[-1, -5000])), dense);
        assert_eq!(plan(View::new(&[5, 0, u64::MAX])).dispatches(), []);
        assert_ne!(plan(View::new(&[6, 5000]).with_source_strides(&[1, 6])), dense);
    }
    // In place, as a tensor.
    let placement = Placement::one_buffer(Position::whole(0), Position::whole(0));
    let view = View::new(&[6, 5000]);
    assert_eq!(Plan::view(&spec, &view, &placement, &settings), Plan::new(&spec, 30_000, &placement, &settings));
}

#[test]
fn views_that_cannot_be_planned_are_errors() {
    let spec = CastSpec::new(ElementType::FLOAT, ElementType::INT8);
    let apart = Placement::two_buffers(Position::whole(0), Position::whole(0));
    let plan = |view: View<'_>, placement| Plan::view(&spec, &view, placement, &PlanSettings::default()).unwrap_err();
    let transposed = View::new(&[3, 5]).with_source_strides(&[1, 3]);
    let overlapping = Placement::one_buffer(Position::whole(0), Position::whole(0));
    assert!(matches!(
        plan(transposed, &overlapping),
        Error::Cast { cause: CastFault::Overlap { is_view: true, .. }, .. }
    ));
    let inside = Placement::two_buffers(Position::whole(2), Position::whole(0));
    let fault = variant!(Alignment { alignment: 4 });
    let expected = slice_error([spec.from, spec.to], Some(Side::Source), 2, fault);
    assert_eq!(format!("{:?}", plan(transposed, &inside)), expected);
    let repeated = transposed.with_destination_strides(&[0, 1]);
    assert!(matches!(plan(repeated, &apart), Error::Cast { cause: CastFault::Strides { axis: Some(0), .. }, .. }));
    let unequal = View::new(&[3, 5]).with_source_strides(&[1]);
    assert!(matches!(plan(unequal, &apart), Error::Cast { cause: CastFault::Strides { axis: None, .. }, .. }));
    let long = View::new(&[3, 5]).with_source_strides(&[1 << 40, 1]);
    assert!(matches!(plan(long, &apart), Error::Cast { cause: CastFault::Limit { limit: "max_buffer_size", .. }, .. }));
    let far = Placement::two_buffers(Position::whole(256 << 20), Position::whole(0));
    assert!(matches!(
        plan(transposed, &far),
        Error::Cast { cause: CastFault::Limit { limit: "max_buffer_size", .. }, .. }
    ));
    let spec = CastSpec::new(ElementType::FLOAT, ElementType::STRING);
    let error = Plan::view(&spec, &transposed, &apart, &PlanSettings::default()).unwrap_err();
    assert!(matches!(error, Error::Cast { cause: CastFault::NoKernel, .. }));
}

/// Allocations that a scheduler binds: in two buffers, and in one buffer without the plan's knowledge.
#[test]
fn allocations_may_be_in_one_buffer() {
    let (device, queue) = own_device();
    for (i, (from, to)) in pairs_of_widths().into_iter().enumerate() {
        let mut settings = least_settings();
        settings.tuning.blocks_from = Some(0);
        settings.tuning.lookup = if i % 2 == 0 { CodeLookup::Table } else { CodeLookup::Computed };
        let len = [1003, 77, 4096][i % 3];
        let placement = Placement::two_allocations(Position::whole(0), Position::whole(0));
        let plan = Plan::new(&CastSpec::new(from, to), len, &placement, &settings).unwrap();
        let mut bindings = plan.dispatches().iter().flat_map(|dispatch| dispatch.bindings());
        assert!(bindings.all(|binding| !binding.read_only));
        let codes = cases::random(from, len as usize, 1);
        let tensor = Tensor::from_codes(from, [len as usize], codes).unwrap();
        let source = tensor.bytes().unwrap();
        let cast = cpu::cast(&tensor, to, &CastOptions::default()).unwrap().into_bytes().unwrap();
        // The destination before the source.
        let start = cast.len().next_multiple_of(256);
        let mut before = noise(start + source.len() + 64, i as u64);
        before[start..start + source.len()].copy_from_slice(source);
        let memory = buffer(&device, before.len() as u64);
        queue.write_buffer(&memory, 0, &before);
        let mut expected = before;
        expected[..cast.len()].copy_from_slice(&cast);
        let got = run(&device, &queue, &plan, [&memory, &memory], [start as u64, 0]);
        assert_eq!((0..got.len()).find(|&i| got[i] != expected[i]), None, "{from} to {to}, one buffer");

        let mut words = source.to_vec();
        words.resize(words.len().next_multiple_of(4), 0);
        let other = buffer(&device, words.len() as u64);
        queue.write_buffer(&other, 0, &words);
        let got = run(&device, &queue, &plan, [&other, &memory], [0, 0]);
        assert_eq!((0..got.len()).find(|&i| got[i] != expected[i]), None, "{from} to {to}, two buffers");
    }
}
