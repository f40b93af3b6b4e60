//! Views of the source: transposed, broadcast and stepped tensors, cast to dense ones.

use support::buffers::{buffer, read};
use support::{adapter, cases, numeric};
use wgpu_cast::{
    CastSpec, Caster, Context, Destination, ElementType, Error, PlanLimits, PlanTuning, Source, Tensor, cpu,
};

/// The places of a view's elements in the source.
fn places(shape: &[u64], strides: &[u64]) -> Vec<usize> {
    let mut places = vec![0];
    for (&size, &stride) in shape.iter().zip(strides) {
        places = places.iter().flat_map(|place| (0..size).map(move |i| place + (i * stride) as usize)).collect();
    }
    places
}

/// Casts a view at odd places of one buffer or of two, and compares everything in the destination's buffer.
fn check(context: &Context, caster: &Caster, spec: CastSpec, shape: &[u64], strides: &[u64], one_buffer: bool) {
    let (device, queue) = (context.device().unwrap(), context.queue().unwrap());
    let CastSpec { from, to, options, .. } = spec;
    let places = places(shape, strides);
    let extent = places.iter().max().unwrap() + 1;
    let prepared = caster.prepare_strided(&spec, shape, strides).unwrap();
    let (bytes, result) = (prepared.source_bytes(), prepared.destination_bytes());
    let source = Tensor::from_codes(from, [extent], cases::random(from, extent, 9)).unwrap();
    assert_eq!(bytes, source.bytes().unwrap().len() as u64);
    // An element or a byte after whole words.
    let start = 64 + u64::from(from.bits().unwrap() / 8);
    let at =
        if one_buffer { (start + bytes).next_multiple_of(8) } else { 64 } + u64::from(to.bits().unwrap() / 8).max(1);
    let memory = [0, 1].map(|_| buffer(device, start + at + bytes + result + 64));
    let destination = if one_buffer { &memory[0] } else { &memory[1] };
    let mut expected = vec![0xa5; destination.size() as usize];
    queue.write_buffer(destination, 0, &expected);
    let mut padded = vec![0xa5; (start % 4) as usize];
    padded.extend(source.bytes().unwrap());
    padded.resize(padded.len().next_multiple_of(4), 0xa5);
    queue.write_buffer(&memory[0], start / 4 * 4, &padded);
    if one_buffer {
        expected[start as usize..][..bytes as usize].copy_from_slice(source.bytes().unwrap());
    }
    let mut encoder = device.create_command_encoder(&Default::default());
    let slices = (memory[0].slice(start..start + bytes), destination.slice(at..at + result));
    prepared.record(&mut encoder, Source::new(slices.0), Destination::new(slices.1)).unwrap();
    let got = read(device, queue, encoder, destination);
    let codes: Vec<u64> = source.codes().collect();
    let view = Tensor::from_codes(from, [places.len()], places.iter().map(|&place| codes[place])).unwrap();
    let cast = cpu::cast(&view, to, &options).unwrap();
    expected[at as usize..][..result as usize].copy_from_slice(cast.bytes().unwrap());
    let wrong = (0..got.len()).find(|&i| got[i] != expected[i]);
    assert_eq!(wrong, None, "{from} to {to}, shape {shape:?}, strides {strides:?}, destination at {at}");
}

#[test]
fn views_of_every_pair() {
    let context = adapter::open();
    let caster = context.caster().unwrap();
    for from in numeric().filter(|from| from.bits() >= Some(8)) {
        for (i, to) in numeric().enumerate() {
            let spec = CastSpec::new(from, to);
            // Transposed; and every second of a row, each three times.
            check(&context, caster, spec, &[7, 5], &[1, 7], i % 2 == 0);
            check(&context, caster, spec, &[3, 9], &[0, 2], i % 2 == 1);
        }
    }
}

#[test]
fn views_of_every_shape() {
    use ElementType::*;
    let context = adapter::open();
    // Also in several dispatches.
    let (mut limits, mut tuning) = (PlanLimits::default(), PlanTuning::default());
    (limits.offset_alignment, tuning.dispatch_elements) = (32, 2048);
    let several = Caster::with_limits(context.device().unwrap(), limits).with_tuning(tuning);
    let casters = [context.caster().unwrap().clone(), several];
    for (from, to) in [(FLOAT, FLOAT16), (DOUBLE, INT4), (INT8, FLOAT6E2M3), (FLOAT16, INT64)] {
        for (shape, strides) in [
            (&[64, 100][..], &[1, 64][..]),
            (&[1000, 33], &[1, 1000]),
            (&[2, 3, 4, 5, 6], &[360, 1, 3, 12, 60]),
            (&[2, 1, 2, 3, 1, 2, 2, 5], &[1, 77, 2, 4, 99, 12, 24, 48]),
            (&[5000], &[3]),
            (&[5000], &[0]),
            (&[50, 60], &[1, 1]),
        ] {
            for caster in &casters {
                check(&context, caster, CastSpec::new(from, to), shape, strides, shape.len() % 2 == 0);
            }
        }
    }
}

#[test]
fn dense_views_take_the_kernels_of_dense_tensors() {
    let context = adapter::open();
    let caster = context.caster().unwrap();
    let spec = CastSpec::new(ElementType::FLOAT, ElementType::INT8);
    let dense = caster.prepare(&spec, 6 * 5000).unwrap().dispatches();
    for (shape, strides) in [(&[6, 5000][..], &[5000, 1][..]), (&[30_000], &[1]), (&[1, 6, 1, 5000], &[9, 5000, 3, 1])]
    {
        let prepared = caster.prepare_strided(&spec, shape, strides).unwrap();
        assert_eq!((prepared.dispatches(), prepared.source_bytes()), (dense, 120_000), "{shape:?}");
    }
    let empty = caster.prepare_strided(&spec, &[5, 0, u64::MAX], &[1, 2, 3]).unwrap();
    assert_eq!((empty.dispatches(), empty.source_bytes()), (0, 0));
    let scalar = caster.prepare_strided(&spec, &[], &[]).unwrap();
    assert_eq!((scalar.dispatches(), scalar.source_bytes(), scalar.destination_bytes()), (1, 4, 1));
}

#[test]
fn views_that_no_kernel_reads_are_refused() {
    let context = adapter::open();
    let (device, caster) = (context.device().unwrap(), context.caster().unwrap());
    let refused = |from, shape: &[u64], strides: &[u64]| {
        let spec = CastSpec::new(from, ElementType::INT8);
        caster.prepare_strided(&spec, shape, strides).map(drop).unwrap_err().to_string()
    };
    use ElementType::*;
    for (from, shape, strides, reason) in [
        (INT4, &[2, 2][..], &[1, 2][..], "elements narrower than 8 bits"),
        (FLOAT, &[2, 2], &[1], "the numbers of strides and axes differ"),
        (FLOAT, &[1; 9], &[1; 9], "more than 8 axes"),
        (FLOAT, &[1 << 33, 2], &[0, 1], "element offsets exceed 32 bits"),
        (FLOAT, &[2, 2], &[u64::MAX, 1], "element offsets exceed 32 bits"),
        (FLOAT, &[1 << 20, 2], &[1 << 13, 1], "element offsets exceed 32 bits"),
    ] {
        let error = refused(from, shape, strides);
        assert_eq!(error, format!("casting {from} to int8: unsupported strided view: {reason}"));
    }
    let mut limits = PlanLimits::default();
    limits.binding_size = 1 << 16;
    let small = Caster::with_limits(device, limits);
    let spec = CastSpec::new(FLOAT, INT8);
    let error = small.prepare_strided(&spec, &[2, 1 << 15], &[1, 2]).map(drop).unwrap_err();
    assert!(matches!(error, Error::Limit { limit: "max_storage_buffer_binding_size", .. }), "{error}");
    // In place an element would be read after another took its place.
    let prepared = caster.prepare_strided(&CastSpec::new(FLOAT, INT32), &[3, 5], &[1, 3]).unwrap();
    let memory = buffer(device, 256);
    let error =
        prepared.bind(Source::new(memory.slice(..60)), Destination::new(memory.slice(..60))).map(drop).unwrap_err();
    assert!(matches!(error, Error::Overlap { .. }), "{error}");
}
