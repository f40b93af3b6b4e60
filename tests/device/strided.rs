//! Views: transposed, broadcast, stepped and padded tensors, on both sides, against a loop over their elements.

use support::buffers::{buffer, read};
use support::random::Random;
use support::tier::Tier;
use support::unrolled::is_chosen;
use support::{adapter, assert_fault, cases, numeric};
use wgpu_cast::{
    CastFault, CastSpec, Caster, CasterDescriptor, Context, Destination, ElementType, Error, PlanLimits, PlanTuning,
    Source, Tensor, View, cpu,
};

use support::shapes::{Shape, places, put, random};

/// Casts a view at odd places of one buffer or of two, and compares all bytes of the destination's buffer.
fn check(context: &Context, caster: &Caster, spec: CastSpec, shape: &Shape, one_buffer: bool) {
    let (device, queue) = (context.device().unwrap(), context.queue().unwrap());
    let CastSpec { from, to, options, .. } = spec;
    let [from_bits, to_bits] = [from, to].map(|t| t.bits().unwrap() as usize);
    let prepared = caster.prepare_view(&spec, &shape.view()).unwrap();
    let (bytes, result) = (prepared.source_bytes(), prepared.destination_bytes());
    let read_places = places(&shape.sizes, &shape.source);
    let written = places(&shape.sizes, &shape.destination);
    let extent = read_places.iter().max().unwrap() + 1;
    let source = Tensor::from_codes(from, [extent], cases::random(from, extent, 9)).unwrap();
    assert_eq!(bytes, source.bytes().unwrap().len() as u64, "{shape:?}");
    assert_eq!(result, to.packed_bytes(*written.iter().max().unwrap() as u64 + 1).unwrap(), "{shape:?}");
    // An element or a byte after whole words.
    let start = 64 + (from_bits as u64 / 8).max(1);
    let at = if one_buffer { (start + bytes).next_multiple_of(8) } else { 64 } + (to_bits as u64 / 8).max(1);
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
    prepared.record(&mut encoder, Source::whole(slices.0), Destination::whole(slices.1)).unwrap();
    let got = read(device, queue, encoder, destination);
    let codes: Vec<u64> = source.codes().collect();
    let view = Tensor::from_codes(from, [read_places.len()], read_places.iter().map(|&place| codes[place])).unwrap();
    let cast = cpu::cast(&view, to, &options).unwrap();
    put(&mut expected, 8 * at as usize, to_bits, &written, cast.codes());
    let wrong = (0..got.len()).find(|&i| got[i] != expected[i]);
    assert_eq!(wrong, None, "{from} to {to}, {shape:?}, destination at {at}");
}

/// A caster that takes the kernels of GPUs, whatever the adapter is.
fn gpu_caster(context: &Context) -> Caster {
    let descriptor = CasterDescriptor { tuning: Some(PlanTuning::default()), ..Default::default() };
    Caster::with_descriptor(context.device().unwrap(), &descriptor)
}

/// Compiling kernels of views takes long. So only pairs and look-ups that `support::unrolled` chooses take them: each
/// takes one of the kernels of long rows, or a random view, and the next pairs take others. With
/// `WGPU_CAST_TESTS=exhaustive`, every pair does so for one look-up.
#[test]
fn views_of_every_class_of_pairs() {
    let context = adapter::open();
    // The kernels of software adapters, and those of GPUs.
    let own = context.caster().unwrap();
    let casters = [own.clone(), gpu_caster(&context)];
    let exhaustive = Tier::chosen() == Tier::Exhaustive;
    let (mut numbers, mut turn) = (Random::new(5), 0);
    for (i, from) in numeric().enumerate() {
        for (j, to) in numeric().enumerate() {
            for (which, caster) in casters.iter().enumerate() {
                let takes = if exhaustive { which == j % 2 } else { is_chosen(from, to, caster.tuning().lookup) };
                if !takes {
                    continue;
                }
                let shape = match turn % 4 {
                    0 => Shape::new(&[3, 331], &[340, 1], &[-331 - j as i64, 1]),
                    1 => Shape::new(&[3, 130], &[1, 3], &[130, 1]),
                    2 => Shape::new(&[20, 64], &[1, 32], &[64, 1]),
                    _ => random(&mut numbers),
                };
                check(&context, caster, CastSpec::new(from, to), &shape, (i + j / 8).is_multiple_of(2));
                turn += 1;
            }
        }
    }
}

#[test]
fn random_views() {
    use ElementType::*;
    let context = adapter::open();
    let mut numbers = Random::new(1);
    let (mut limits, mut tuning) = (PlanLimits::default(), *context.caster().unwrap().tuning());
    (limits.offset_alignment, tuning.dispatch_elements) = (32, 700);
    let several = Caster::with_descriptor(
        context.device().unwrap(),
        &CasterDescriptor { limits: Some(limits), tuning: Some(tuning), ..Default::default() },
    );
    let casters = [context.caster().unwrap().clone(), several, gpu_caster(&context)];
    let pairs = [
        (FLOAT, FLOAT16),
        (FLOAT16, FLOAT),
        (INT4, UINT8),
        (UINT8, INT4),
        (FLOAT6E2M3, FLOAT6E3M2),
        (FLOAT, INT2),
        (INT2, FLOAT8E5M2),
        (DOUBLE, INT64),
        (FLOAT6E2M3, BFLOAT16),
        (INT16, FLOAT6E3M2),
    ];
    for (from, to) in pairs {
        for index in 0..40 {
            let shape = random(&mut numbers);
            check(&context, numbers.pick(&casters), CastSpec::new(from, to), &shape, index % 2 == 0);
        }
    }
}

#[test]
fn views_of_every_shape() {
    use ElementType::*;
    let context = adapter::open();
    // Casts in several dispatches.
    let (mut limits, mut tuning) = (PlanLimits::default(), PlanTuning::default());
    (limits.offset_alignment, tuning.dispatch_elements) = (32, 2048);
    let several = Caster::with_descriptor(
        context.device().unwrap(),
        &CasterDescriptor { limits: Some(limits), tuning: Some(tuning), ..Default::default() },
    );
    // Bindings that hold only a part of the view.
    (limits.binding_size, tuning.dispatch_elements) = (4096, u64::MAX);
    let small = Caster::with_descriptor(
        context.device().unwrap(),
        &CasterDescriptor { limits: Some(limits), tuning: Some(tuning), ..Default::default() },
    );
    let casters = [context.caster().unwrap().clone(), several, small];
    for (from, to) in [(FLOAT, FLOAT16), (DOUBLE, INT4), (INT8, FLOAT6E2M3), (FLOAT16, INT64)] {
        for (shape, strides) in [
            (&[64, 100][..], &[1, 64][..]),
            (&[1000, 33], &[1, 1000]),
            (&[2, 3, 4, 5, 6], &[360, 1, 3, 12, 60]),
            (&[2, 1, 2, 3, 1, 2, 2, 5], &[1, 77, 2, 4, 99, 12, 24, 48]),
            (&[5000], &[3]),
            (&[5000], &[0]),
            (&[5000], &[-1]),
            (&[50, 60], &[1, 1]),
            (&[20, 257], &[300, 1]),
            (&[20, 256], &[-256, 1]),
        ] {
            for caster in &casters {
                let shape = Shape::gathered(shape, strides);
                check(&context, caster, CastSpec::new(from, to), &shape, shape.sizes.len().is_multiple_of(2));
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
    // The same elements in another order on both sides.
    let view = View::new(&[5000, 6]).with_source_strides(&[-1, -5000]).with_destination_strides(&[-1, -5000]);
    let prepared = caster.prepare_view(&spec, &view).unwrap();
    assert_eq!((prepared.dispatches(), prepared.source_bytes()), (dense, 120_000));
    // Only views that are dense cast in place.
    let memory = buffer(context.device().unwrap(), 120_000);
    prepared.bind(Source::whole(memory.slice(..)), Destination::whole(memory.slice(..30_000))).unwrap();
    assert_eq!((view.source_first(), view.destination_first()), (29_999, 29_999));
    let empty = caster.prepare_strided(&spec, &[5, 0, u64::MAX], &[1, 2, 3]).unwrap();
    assert_eq!((empty.dispatches(), empty.source_bytes()), (0, 0));
    let scalar = caster.prepare_strided(&spec, &[], &[]).unwrap();
    assert_eq!((scalar.dispatches(), scalar.source_bytes(), scalar.destination_bytes()), (1, 4, 1));
}

/// A dense destination ends with zeros. A destination with strides keeps the bits after its last element.
#[test]
fn only_dense_destinations_pad_their_last_byte() {
    let context = adapter::open();
    let (caster, device, queue) = (context.caster().unwrap(), context.device().unwrap(), context.queue().unwrap());
    let spec = CastSpec::new(ElementType::UINT8, ElementType::UINT4);
    for (strides, expected) in [(None, 0x06), (Some(&[3i64, 1][..]), 0xa6)] {
        let view = View::new(&[3, 3]).with_source_strides(&[1, 3]);
        let view = strides.map_or(view, |strides| view.with_destination_strides(strides));
        let memory = [buffer(device, 12), buffer(device, 8)];
        queue.write_buffer(&memory[0], 0, &[1, 2, 6, 4, 5, 6, 7, 8, 6, 0, 0, 0]);
        queue.write_buffer(&memory[1], 0, &[0xa5; 8]);
        let mut encoder = device.create_command_encoder(&Default::default());
        let prepared = caster.prepare_view(&spec, &view).unwrap();
        let slices = (Source::whole(memory[0].slice(..9)), Destination::whole(memory[1].slice(..5)));
        prepared.record(&mut encoder, slices.0, slices.1).unwrap();
        let got = read(device, queue, encoder, &memory[1]);
        assert_eq!(got, [0x41, 0x27, 0x85, 0x66, expected, 0xa5, 0xa5, 0xa5]);
    }
}

#[test]
fn views_that_no_kernel_takes_are_refused() {
    use ElementType::*;
    let context = adapter::open();
    let (device, caster) = (context.device().unwrap(), context.caster().unwrap());
    let spec = CastSpec::new(FLOAT, INT8);
    let many: Vec<i64> = (0..9).map(|axis| 3i64.pow(axis)).collect();
    let uncounted = "max_buffer_size: 18446744073709551615 needed, 576460752303423488 allowed";
    for (shape, strides, limit) in [
        (&[2, 2][..], &[1][..], ""),
        (&[2; 9], &many, "View::MOST_AXES: 9 needed, 8 allowed"),
        (&[1 << 33, 1 << 33], &[0, 1], uncounted),
        (&[2, 2], &[i64::MAX, 1], uncounted),
        (&[3, 2], &[i64::MIN, 1], uncounted),
    ] {
        let error = caster.prepare_strided(&spec, shape, strides).map(drop).unwrap_err().to_string();
        let expected = match limit {
            "" => ": unsupported strided view: the numbers of strides and axes differ".to_owned(),
            limit => format!(" exceeds the limit {limit}"),
        };
        assert_eq!(error, format!("casting float to int8{expected}"));
    }
    let error = caster.prepare_strided(&spec, &[1 << 40, 2], &[0, 1]).map(drop).unwrap_err();
    assert!(matches!(error, Error::Cast { cause: CastFault::Limit { limit: "max_buffer_size", .. }, .. }), "{error}");
    // Axes of one element do not count, and axes that together are one axis count once.
    caster.prepare_strided(&spec, &[1; 30], &[7; 30]).unwrap();
    caster.prepare_strided(&spec, &[2; 10], &[1024, 512, 256, 128, 64, 32, 16, 8, 4, 2]).unwrap();
    for (strides, wrong) in [([0, 1], 0), ([1, 1], 0), ([2, 1], 0), ([1, -2], 1), ([3, 0], 1), ([-2, 1], 0)] {
        let view = View::new(&[3, 3]).with_destination_strides(&strides);
        let error = caster.prepare_view(&spec, &view).map(drop).unwrap_err();
        assert_fault!(error, [FLOAT, INT8], Strides { axis: Some(wrong) }, "{strides:?}");
    }
    // In place, an element would be read after another element was written there.
    let prepared = caster.prepare_strided(&CastSpec::new(FLOAT, INT32), &[3, 5], &[1, 3]).unwrap();
    let memory = buffer(device, 256);
    let (source, destination) = (Source::whole(memory.slice(..60)), Destination::whole(memory.slice(..60)));
    let error = prepared.bind(source, destination).map(drop).unwrap_err();
    assert!(matches!(error, Error::Cast { cause: CastFault::Overlap { is_view: true, .. }, .. }), "{error}");
}
