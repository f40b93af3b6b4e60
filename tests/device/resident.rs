//! The resident layer as an engine uses it: what recording costs, many casts at once, many threads, and the proof of a
//! device.

use support::buffers::{buffer, own_device, read, read_all};
use support::options::variants;
use support::{adapter, cases, numeric};
use wgpu_cast::wgpu::{self, BufferUsages};
use wgpu_cast::{
    Bound, CastFault, CastOptions, CastSpec, Caster, CasterDescriptor, Context, Coverage, Destination, ElementType,
    Error, PlanTuning, Route, Source, Tensor, cpu,
};

/// Buffers, bind groups and pipelines that the device holds.
fn held(device: &wgpu::Device) -> [isize; 4] {
    let hal = device.get_internal_counters().hal;
    [hal.buffers.read(), hal.bind_groups.read(), hal.compute_pipelines.read(), hal.shader_modules.read()]
}

fn pairs() -> Vec<(ElementType, ElementType)> {
    use ElementType::*;
    vec![(FLOAT, FLOAT8E4M3FN), (INT64, FLOAT16), (UINT4, FLOAT), (DOUBLE, INT4), (FLOAT6E2M3, BFLOAT16), (BOOL, INT2)]
}

/// Casts of all [`pairs`] at each length, bound to buffers of their own, with the expected bytes.
fn bound(
    caster: &Caster,
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    lens: &[usize],
) -> (Vec<Bound>, Vec<(wgpu::Buffer, Vec<u8>)>) {
    let (mut bounds, mut results) = (Vec::new(), Vec::new());
    for (from, to) in pairs() {
        for &len in lens {
            let tensor = Tensor::from_codes(from, [len], cases::random(from, len, len as u64)).unwrap();
            let expected = cpu::cast(&tensor, to, &CastOptions::default()).unwrap().into_bytes().unwrap();
            let bytes = tensor.bytes().unwrap();
            let (source, destination) = (buffer(device, bytes.len() as u64), buffer(device, expected.len() as u64));
            let mut words = bytes.to_vec();
            words.resize(bytes.len().next_multiple_of(4), 0);
            queue.write_buffer(&source, 0, &words);
            let prepared = caster.prepare(&CastSpec::new(from, to), len as u64).unwrap();
            bounds.push(
                prepared.bind(Source::whole(source.slice(..)), Destination::whole(destination.slice(..))).unwrap(),
            );
            results.push((destination, expected));
        }
    }
    (bounds, results)
}

/// Submits the recorded commands, and compares each destination with its expected bytes.
fn check(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    encoder: wgpu::CommandEncoder,
    results: &[(wgpu::Buffer, Vec<u8>)],
) {
    let destinations: Vec<_> = results.iter().map(|(destination, _)| destination).collect();
    let got = read_all(device, queue, encoder, &destinations);
    for (got, (_, expected)) in got.iter().zip(results) {
        assert_eq!(got[..expected.len()], *expected);
    }
}

#[test]
fn recording_makes_nothing() {
    let context = adapter::open();
    let (device, queue, caster) = (context.device().unwrap(), context.queue().unwrap(), context.caster().unwrap());
    let (bounds, results) = bound(caster, device, queue, &[5, 9001]);
    let mut encoder = device.create_command_encoder(&Default::default());
    let before = held(device);
    assert!(before[..3].iter().all(|&count| count > 0), "the counters count: {before:?}");
    for bound in &bounds {
        bound.record(&mut encoder);
        bound.record_in_pass(&mut encoder.begin_compute_pass(&Default::default()));
    }
    Bound::record_all(&bounds, &mut encoder);
    assert_eq!(held(device), before);
    check(device, queue, encoder, &results);
}

#[test]
fn many_casts_in_one_pass() {
    let context = adapter::open();
    let (device, queue, caster) = (context.device().unwrap(), context.queue().unwrap(), context.caster().unwrap());
    let lens: Vec<usize> = (1..40).chain([255, 256, 1000, 9001]).collect();
    let (bounds, results) = bound(caster, device, queue, &lens);
    let mut encoder = device.create_command_encoder(&Default::default());
    Bound::record_all(&bounds, &mut encoder);
    Bound::record_all(&[], &mut encoder);
    check(device, queue, encoder, &results);
}

/// Dropped handles do not free what a bound cast needs; only the bound casts do.
#[test]
fn a_bound_cast_keeps_its_buffers() {
    let context = adapter::open();
    let (device, queue) = (context.device().unwrap(), context.queue().unwrap());
    let caster = Caster::new(device);
    let values: Vec<f32> = (0..9001).map(|i| i as f32 * 0.25).collect();
    let (from, middle, to) = (ElementType::FLOAT, ElementType::FLOAT16, ElementType::INT16);
    let buffers = [36_004, 18_004, 18_004].map(|size| buffer(device, size));
    queue.write_buffer(&buffers[0], 0, bytemuck::cast_slice(&values));
    let [first, second] = [(from, middle), (middle, to)].map(|(from, to)| CastSpec::new(from, to));
    let [first, second] = [first, second].map(|spec| caster.prepare(&spec, 9001).unwrap());
    let [source, hidden, result] = buffers;
    let first = first.bind(Source::whole(source.slice(..)), Destination::whole(hidden.slice(..18_002))).unwrap();
    let second =
        second.bind(Source::whole(hidden.slice(..18_002)), Destination::whole(result.slice(..18_002))).unwrap();
    let before = held(device);
    drop((source, hidden, caster));
    device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
    assert_eq!(held(device), before, "the bound casts hold what the caller has dropped");
    let mut encoder = device.create_command_encoder(&Default::default());
    first.record(&mut encoder);
    second.record(&mut encoder);
    // Recorded commands no longer need the bound casts.
    drop((first, second));
    let got = read(device, queue, encoder, &result);
    let cpu = |tensor: &Tensor, to| cpu::cast(tensor, to, &CastOptions::default()).unwrap();
    let expected = cpu(&cpu(&Tensor::from_slice([9001], &values).unwrap(), middle), to);
    assert_eq!(Some(&got[..18_002]), expected.bytes());
    device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
    assert!(held(device)[0] + 2 <= before[0], "and free it when they are dropped");
}

/// A destroyed buffer is the caller's error, wherever it happens: recording does not panic, the submission reports it,
/// and nothing is written.
#[test]
fn a_destroyed_buffer_is_an_error_of_the_submission() {
    let context = adapter::open();
    let (device, queue) = (context.device().unwrap(), context.queue().unwrap());
    let caster = Caster::new(device);
    let prepared = caster.prepare(&CastSpec::new(ElementType::FLOAT, ElementType::FLOAT16), 1000).unwrap();
    for (destroyed, recorded_before) in [(0, false), (0, true), (1, false), (1, true)] {
        let buffers = [4000, 2000].map(|size| buffer(device, size));
        queue.write_buffer(&buffers[1], 0, &[0xa5; 2000]);
        let bound =
            prepared.bind(Source::whole(buffers[0].slice(..)), Destination::whole(buffers[1].slice(..))).unwrap();
        let scope = device.push_error_scope(wgpu::ErrorFilter::Validation);
        let mut encoder = device.create_command_encoder(&Default::default());
        if recorded_before {
            bound.record(&mut encoder);
        }
        buffers[destroyed].destroy();
        if !recorded_before {
            bound.record(&mut encoder);
        }
        queue.submit([encoder.finish()]);
        let error = pollster::block_on(scope.pop()).expect("the submission is refused");
        assert!(error.to_string().contains("destroyed"), "{error}");
        if destroyed == 0 {
            let encoder = device.create_command_encoder(&Default::default());
            assert!(read(device, queue, encoder, &buffers[1])[..2000].iter().all(|&byte| byte == 0xa5));
        }
    }
}

#[test]
fn warm_up_compiles_every_kernel_needed() {
    let context = adapter::open();
    let device = context.device().unwrap();
    let specs: Vec<_> = pairs().into_iter().map(|(from, to)| CastSpec::new(from, to)).collect();
    for (slices, offset, one_buffer) in
        [(Coverage::Aligned, 0, false), (Coverage::Anywhere, 8, false), (Coverage::OneBuffer, 8, true)]
    {
        let caster = Caster::new(device);
        caster.warm_up(&specs, slices).unwrap();
        let warm = held(device);
        for spec in &specs {
            let prepared = caster.prepare(spec, 9001).unwrap();
            let memory = [0, 1].map(|_| buffer(device, 200_000));
            let (from, to) = (prepared.source_bytes(), prepared.destination_bytes());
            let source = memory[0].slice(offset..offset + from);
            let destination =
                if one_buffer { memory[0].slice(100_000..100_000 + to) } else { memory[1].slice(offset..offset + to) };
            let bound = prepared.bind(Source::whole(source), Destination::whole(destination)).unwrap();
            assert_eq!(held(device)[2..], warm[2..], "{spec:?}, {slices:?}");
            drop(bound);
        }
    }
    let strings = CastSpec::new(ElementType::STRING, ElementType::FLOAT);
    let error = context.caster().unwrap().warm_up(&[specs[0], strings], Coverage::Aligned).unwrap_err();
    assert!(matches!(error, Error::Cast { cause: CastFault::NoKernel, .. }), "{error}");
}

#[test]
fn preparing_on_a_thread_of_its_own_gives_the_same() {
    let context = adapter::open();
    let caster = context.caster().unwrap();
    let spec = CastSpec::new(ElementType::UINT8, ElementType::FLOAT16);
    let prepared = pollster::block_on(caster.prepare_async(&spec, 9001)).unwrap();
    assert_eq!(prepared.dispatches(), caster.prepare(&spec, 9001).unwrap().dispatches());
    let error = pollster::block_on(caster.prepare_async(&spec, u64::MAX)).map(drop).unwrap_err();
    assert!(matches!(error, Error::Cast { cause: CastFault::Limit { .. }, .. }), "{error}");
}

#[test]
#[allow(unsafe_code, reason = "the empty cache is nobody's bytes")]
fn casts_compile_with_a_pipeline_cache() {
    let adapter = adapter::own();
    let required_features = adapter.features() & wgpu::Features::PIPELINE_CACHE;
    let descriptor = wgpu::DeviceDescriptor { required_features, ..Default::default() };
    let (device, _) = pollster::block_on(adapter.request_device(&descriptor)).unwrap();
    if required_features.is_empty() {
        support::not_tested("this adapter has no pipeline caches");
        return;
    }
    let descriptor = wgpu::PipelineCacheDescriptor { label: None, data: None, fallback: true };
    // SAFETY: there is no data.
    let cache = unsafe { device.create_pipeline_cache(&descriptor) };
    let caster =
        Caster::with_descriptor(&device, &CasterDescriptor { pipeline_cache: Some(cache), ..Default::default() });
    caster.prepare(&CastSpec::new(ElementType::FLOAT, ElementType::FLOAT16), 9001).unwrap();
}

#[test]
fn threads_share_a_caster() {
    let context = adapter::open();
    let (device, queue, caster) = (context.device().unwrap(), context.queue().unwrap(), context.caster().unwrap());
    std::thread::scope(|scope| {
        for thread in 0..8usize {
            scope.spawn(move || {
                let lens: Vec<usize> = (0..167).map(|i| 1 + (i * 37 + thread * 11) % 300).collect();
                let (bounds, results) = bound(caster, device, queue, &lens);
                assert!(bounds.len() >= 1000);
                let mut encoder = device.create_command_encoder(&Default::default());
                bounds.iter().for_each(|bound| bound.record(&mut encoder));
                check(device, queue, encoder, &results);
            });
        }
    });
}

#[test]
fn self_test_passes_here_and_fails_on_a_device_that_does_nothing() {
    let context = adapter::open();
    let (queue, caster) = (context.queue().unwrap(), context.caster().unwrap());
    let specs: Vec<CastSpec> = numeric()
        .flat_map(|to| variants(to).into_iter().map(move |o| CastSpec::new(ElementType::FLOAT, to).with_options(o)))
        .chain(numeric().map(|from| CastSpec::new(from, ElementType::BFLOAT16)))
        .collect();
    let tested = |specs: &[CastSpec], coverage| pollster::block_on(caster.self_test(queue, specs, coverage)).unwrap();
    assert_eq!(tested(&specs, Coverage::Aligned).into_result(), Ok(()));
    // All other kernels. Only a cast between two 6-bit types has all of them.
    use ElementType::{FLOAT6E2M3, FLOAT6E3M2};
    let few = pairs().into_iter().chain([(FLOAT6E2M3, FLOAT6E3M2)]).map(|(from, to)| CastSpec::new(from, to));
    assert_eq!(tested(&few.collect::<Vec<_>>(), Coverage::Views).into_result(), Ok(()));
    let (device, queue) = wgpu::Device::noop(&wgpu::DeviceDescriptor::default());
    let report = pollster::block_on(Caster::new(&device).self_test(&queue, &specs, Coverage::Aligned)).unwrap();
    for (&tested, (spec, result)) in specs.iter().zip(report.results()) {
        let error = result.unwrap_err();
        let is_named = matches!(error, Error::Cast { from, to, cause: CastFault::Incomplete, .. } if (*from, *to) == (spec.from, spec.to));
        assert!(is_named && tested == *spec && !report.passed(spec), "{spec:?}: {error}");
    }
    assert_eq!(report.results().len(), specs.len());
}

#[test]
fn a_context_on_the_application_s_own_device() {
    let (device, queue) = own_device();
    let context = Context::on_device(&device, &queue);
    let tensor = Tensor::from_slice([3], &[1.0f32, -2.5, 300.0]).unwrap();
    let cast = pollster::block_on(context.cast(&tensor, ElementType::INT8, &CastOptions::default()));
    let (result, report) = cast.unwrap();
    assert_eq!((result.bytes(), report.route), (Some(&[1, 0xfe, 44][..]), Route::Gpu));
    // The device still belongs to the application, and so do the errors that the application makes.
    let scope = device.push_error_scope(wgpu::ErrorFilter::Validation);
    let size = u64::MAX;
    let usage = BufferUsages::STORAGE;
    drop(device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false }));
    assert!(pollster::block_on(scope.pop()).is_some());
    device.destroy();
    let error = pollster::block_on(context.cast(&tensor, ElementType::INT8, &CastOptions::default())).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Cast { cause: CastFault::DeviceLost { .. } | CastFault::Device { .. } | CastFault::Incomplete, .. }
        ),
        "{error}"
    );
}

#[test]
fn what_is_prepared_says_what_it_is() {
    let (device, _queue) = own_device();
    let mut tuning = PlanTuning::default();
    tuning.dispatch_elements = 1000;
    let caster = Caster::with_descriptor(&device, &CasterDescriptor { tuning: Some(tuning), ..Default::default() });
    assert_eq!(caster.tuning(), &tuning);
    let options = CastOptions::default().with_saturate(false);
    let spec = CastSpec::new(ElementType::FLOAT, ElementType::FLOAT8E5M2).with_options(options);
    let prepared = caster.prepare(&spec, 4).unwrap();
    assert_eq!((prepared.spec(), prepared.is_empty()), (spec, false));
    assert!(caster.prepare(&spec, 0).unwrap().is_empty());
    let memory = [buffer(&device, 16), buffer(&device, 4)];
    let slices = (Source::whole(memory[0].slice(..)), Destination::whole(memory[1].slice(..)));
    let bound = prepared.with_label("weights").bind(slices.0, slices.1).unwrap();
    assert!(format!("{bound:?}").contains("Some(\"weights\")"));
}
