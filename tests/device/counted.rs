//! Casts whose number of elements the device reads from a buffer. Up to that number, the results are those of the CPU
//! path. Every other bit is unchanged.

use support::buffers::{buffer, own_device, read_all};
use support::planned::noise;
use support::{bits, cast_error, overlap_error, pairs_of_widths, slice_error, variant};
use wgpu_cast::wgpu::{self, BufferUsages};
use wgpu_cast::{
    CastOptions, CastSpec, Caster, CasterDescriptor, CodeLookup, Coverage, Destination, ElementType, Side, Source,
    Tensor, View, cpu,
};

/// Where the tensors and the count lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// Three buffers.
    Apart,
    /// Tensors in two buffers, each after an odd number of elements. The count is in the buffer of the source.
    CountInSource,
    /// The same, with the count in the buffer of the destination.
    CountInDestination,
    /// All in one buffer.
    OneBuffer,
    /// The destination over the source. Only for types of one width, and for narrower ones.
    InPlace,
}

const LAYOUTS: [Layout; 5] =
    [Layout::Apart, Layout::CountInSource, Layout::CountInDestination, Layout::OneBuffer, Layout::InPlace];

/// Casts at most `most` elements, with each of the counts, and compares all bytes of all buffers.
fn check(
    (device, queue, caster): (&wgpu::Device, &wgpu::Queue, &Caster),
    (from, to): (ElementType, ElementType),
    most: usize,
    layout: Layout,
    counts: &[u32],
) {
    let [from_bits, to_bits] = [from, to].map(|t| u64::from(t.bits().unwrap()));
    let bytes = [from, to].map(|t| t.packed_bytes(most as u64 + 7).unwrap().next_multiple_of(8));
    // For each side: the buffer, the byte where the larger tensor starts, and the elements before the part.
    let (source, destination, count) = match layout {
        Layout::Apart => ((0, 0, 0), (1, 256, 0), (2, 8)),
        Layout::CountInSource => ((0, 8, 3), (1, 16, 5), (0, 4)),
        Layout::CountInDestination => ((0, 8, 3), (1, 512, 5), (1, 20)),
        Layout::OneBuffer => ((0, 512, 1), (0, 512 + bytes[0], 2), (0, 252)),
        Layout::InPlace => ((0, 512, 0), (0, 512, 0), (0, 0)),
    };
    let before: Vec<_> = (0..3).map(|seed| noise(1024 + (bytes[0] + bytes[1]) as usize, seed)).collect();
    let start = |(_, offset, first): (usize, u64, u64), bits| 8 * offset + first * bits;
    let starts = [start(source, from_bits), start(destination, to_bits)];
    let prepared = caster.prepare(&CastSpec::new(from, to), most as u64).unwrap();
    let buffers: Vec<_> = before.iter().map(|bytes| buffer(device, bytes.len() as u64)).collect();
    let part = |(buffer, offset, _): (usize, u64, u64)| buffers[buffer].slice(offset..);
    let (from_slice, to_slice) = (part(source), part(destination));
    let bound = prepared
        .bind_counted(
            Source::part(from_slice, source.2),
            Destination::part(to_slice, destination.2),
            buffers[count.0].slice(count.1..count.1 + 4),
        )
        .unwrap();
    for &elements in counts {
        let mut before = before.clone();
        before[count.0][count.1 as usize..][..4].copy_from_slice(&elements.to_le_bytes());
        buffers.iter().zip(&before).for_each(|(buffer, bytes)| queue.write_buffer(buffer, 0, bytes));
        let mut expected = before.clone();
        let done = most.min(elements as usize);
        let codes = (0..done as u64).map(|i| bits::get(&before[source.0], starts[0] + i * from_bits, from_bits as u32));
        let tensor = Tensor::from_codes(from, [done], codes).unwrap();
        let cast = cpu::cast(&tensor, to, &CastOptions::default()).unwrap();
        for (i, code) in cast.codes().enumerate() {
            bits::set(&mut expected[destination.0], starts[1] + i as u64 * to_bits, to_bits as u32, code);
        }
        let mut encoder = device.create_command_encoder(&Default::default());
        bound.record(&mut encoder);
        let got = read_all(device, queue, encoder, &buffers.iter().collect::<Vec<_>>());
        for (which, (got, expected)) in got.iter().zip(&expected).enumerate() {
            let wrong = (0..got.len()).find(|&i| got[i] != expected[i]);
            assert_eq!(wrong, None, "{from} to {to}, {layout:?}, {elements} of {most}, buffer {which}");
        }
    }
}

#[test]
fn as_many_elements_as_the_buffer_says() {
    let (device, queue) = own_device();
    let caster = Caster::new(&device);
    for (i, (from, to)) in pairs_of_widths().into_iter().enumerate() {
        let mut tuning = *caster.tuning();
        tuning.blocks_from = Some(0);
        tuning.lookup = if i % 2 == 0 { CodeLookup::Table } else { CodeLookup::Computed };
        let caster = Caster::with_descriptor(
            &device,
            &CasterDescriptor { limits: Some(*caster.limits()), tuning: Some(tuning), ..Default::default() },
        );
        let mut layout = LAYOUTS[i % 5];
        if layout == Layout::InPlace && from.bits() < to.bits() {
            layout = Layout::OneBuffer;
        }
        check((&device, &queue, &caster), (from, to), 1003, layout, &[0, 1, 500, 1003, u32::MAX]);
    }
}

/// After that, binding compiles nothing, wherever tensors and count lie.
#[test]
fn warm_up_compiles_the_kernels_of_counts() {
    let (device, _) = own_device();
    let pipelines = || device.get_internal_counters().hal.compute_pipelines.read();
    for (from, to) in pairs_of_widths().into_iter().step_by(3) {
        let spec = CastSpec::new(from, to);
        for (coverage, layouts) in
            [(Coverage::Aligned, &LAYOUTS[..1]), (Coverage::Anywhere, &LAYOUTS[..2]), (Coverage::Views, &LAYOUTS[..])]
        {
            let caster = Caster::new(&device);
            let before = pipelines();
            caster.warm_up_counted(&[spec], coverage).unwrap();
            assert!(pipelines() > before);
            for (&layout, most) in layouts.iter().flat_map(|layout| [1, 9001].map(|most| (layout, most))) {
                if layout == Layout::InPlace && from.bits() < to.bits() {
                    continue;
                }
                let prepared = caster.prepare(&spec, most).unwrap();
                let memory = [0, 1, 2].map(|_| buffer(&device, 1 << 18));
                // The buffer, the first byte and the elements before the part.
                let (source, destination, count) = match layout {
                    Layout::Apart => ((0, 0, 0), (1, 256, 0), (2, 0)),
                    Layout::CountInSource => ((0, 8, 3), (1, 16, 5), (0, 4)),
                    Layout::CountInDestination => ((0, 8, 3), (1, 512, 5), (1, 0)),
                    Layout::OneBuffer => ((0, 512, 1), (0, 1 << 17, 2), (0, 0)),
                    Layout::InPlace => ((0, 512, 0), (0, 512, 0), (0, 0)),
                };
                let warm = pipelines();
                let bound = prepared.bind_counted(
                    Source::part(memory[source.0].slice(source.1..), source.2),
                    Destination::part(memory[destination.0].slice(destination.1..), destination.2),
                    memory[count.0].slice(count.1..count.1 + 4),
                );
                bound.unwrap();
                assert_eq!(pipelines(), warm, "{spec:?}, {coverage:?}, {layout:?}, {most}");
            }
        }
    }
}

#[test]
fn every_count_around_units_and_dispatches() {
    use ElementType::*;
    let (device, queue) = own_device();
    let mut limits = *Caster::new(&device).limits();
    limits.offset_alignment = 32;
    let mut tuning = *Caster::new(&device).tuning();
    (tuning.blocks_from, tuning.dispatch_elements) = (Some(0), 128);
    let descriptor = CasterDescriptor { limits: Some(limits), tuning: Some(tuning), ..Default::default() };
    let several = Caster::with_descriptor(&device, &descriptor);
    let counts: Vec<u32> = (0..=333).collect();
    for (from, to) in [(FLOAT, FLOAT16), (INT4, FLOAT6E2M3), (DOUBLE, INT2), (FLOAT6E2M3, FLOAT6E3M2), (INT8, INT64)] {
        for layout in LAYOUTS {
            if layout != Layout::InPlace || from.bits() >= to.bits() {
                check((&device, &queue, &several), (from, to), 333, layout, &counts);
            }
        }
    }
    // Only because of the count, there are elements after whole units, in place and across words.
    let pair = (FLOAT6E2M3, FLOAT6E3M2);
    check((&device, &queue, &several), pair, 320, Layout::InPlace, &counts[..=320]);
}

#[test]
fn counts_that_no_kernel_can_read_are_refused() {
    let (device, _queue) = own_device();
    let caster = Caster::new(&device);
    let spec = CastSpec::new(ElementType::FLOAT, ElementType::FLOAT16);
    let prepared = caster.prepare(&spec, 256).unwrap();
    let [source, destination] = [buffer(&device, 4096), buffer(&device, 4096)];
    let usage = BufferUsages::COPY_DST;
    let other =
        device.create_buffer(&wgpu::BufferDescriptor { label: None, size: 8, usage, mapped_at_creation: false });
    let bind = |count| {
        let slices = (Source::whole(source.slice(0..1024)), Destination::whole(destination.slice(512..1024)));
        prepared.bind_counted(slices.0, slices.1, count)
    };
    let types = [spec.from, spec.to];
    for (count, offset, fault) in [
        (source.slice(0..8), 0, variant!(Length { expected: 4, found: 8 })),
        (source.slice(2..6), 2, variant!(Alignment { alignment: 4 })),
        (other.slice(0..4), 0, variant!(MissingUsage { usage: "STORAGE" })),
    ] {
        assert_eq!(format!("{:?}", bind(count).unwrap_err()), slice_error(types, None, offset, fault));
    }
    let overlap =
        |count, tensor| overlap_error(types, [(None, None, count), (None, Some(Side::Destination), tensor)], false);
    let error = bind(destination.slice(600..604)).unwrap_err();
    assert_eq!(format!("{error:?}"), overlap(512..604, 512..1024));
    assert_eq!(
        error.to_string(),
        "casting float to float16: the bindings of the count at bytes 512..604 and the destination at bytes 512..1024 of one \
         buffer overlap; a binding starts at the device's alignment, and one over both tensors has all that lies between \
         them"
    );
    // The count is between both tensors in one buffer, where one binding covers both.
    let slices = (Source::whole(source.slice(0..1024)), Destination::whole(source.slice(3584..4096)));
    let error = prepared.bind_counted(slices.0, slices.1, source.slice(2048..2052)).map(drop).unwrap_err();
    assert_eq!(format!("{error:?}"), overlap(2048..2052, 0..4096));
    // The count is directly before the destination, in a binding of its own; after the destination; and in the last
    // word of a buffer.
    bind(destination.slice(508..512)).unwrap();
    bind(destination.slice(2048..2052)).unwrap();
    bind(source.slice(4092..4096)).unwrap();
    let view = View::new(&[16, 16]).with_source_strides(&[1, 16]);
    let view = caster.prepare_view(&spec, &view).unwrap();
    let slices = (Source::whole(source.slice(0..1024)), Destination::whole(destination.slice(0..512)));
    let error = view.bind_counted(slices.0, slices.1, destination.slice(2048..2052)).unwrap_err();
    assert_eq!(format!("{error:?}"), cast_error(types, "NoKernel"));
    assert_eq!(
        error.to_string(),
        "casting float to float16: unsupported strided view: a count needs elements that follow one another"
    );
}
