//! Casts beyond what a device allows: refused before wgpu sees them, or split so that wgpu has nothing to refuse.

use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering};

use support::buffers::{buffer, own_device, read};
use support::{adapter, cases};
use support::{assert_error, assert_fault, overlap_error, slice_error, variant};
use wgpu_cast::wgpu::{self, BufferUsages};
use wgpu_cast::{
    BatchDescriptor, CastFault, CastOptions, CastSpec, Caster, CasterDescriptor, Context, Destination, DeviceChoice,
    ElementType, Error, PlanLimits, PlanTuning, Route, Side, SliceFault, Source, Tensor, cpu,
};

const FROM: ElementType = ElementType::FLOAT;
const TO: ElementType = ElementType::INT8;

/// The test runs in a process of its own, where every driver is hidden.
#[test]
fn without_a_driver_the_gpu_is_a_typed_error_and_the_cpu_casts() {
    const CHILD: &str = "WGPU_CAST_TEST_NO_DRIVER";
    if std::env::var_os(CHILD).is_none() {
        if !cfg!(target_os = "linux") {
            support::not_tested("drivers are hidden by variables of Linux");
            return;
        }
        let nowhere = |name| (name, "/nonexistent");
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "refused::without_a_driver_the_gpu_is_a_typed_error_and_the_cpu_casts", "--nocapture"])
            .envs(["VK_DRIVER_FILES", "VK_ICD_FILENAMES", "__EGL_VENDOR_LIBRARY_FILENAMES"].map(nowhere))
            .env(CHILD, "1")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && text.contains("cast without a driver"), "{text}");
        return;
    }
    let open = |choice| pollster::block_on(Context::open(choice));
    let error = open(DeviceChoice::Gpu).map(drop).unwrap_err();
    assert_error!(error, NoAdapter { reason: "no backend found an adapter with compute shaders" });
    let error = open(DeviceChoice::Adapter("x".to_owned())).map(drop).unwrap_err();
    assert_error!(error, AdapterNotFound { wanted: "x", available: [""; 0] });
    let tensor = Tensor::from_slice([2], &[1.0f32, -2.0]).unwrap();
    for choice in [DeviceChoice::Auto, DeviceChoice::Cpu] {
        let context = open(choice).unwrap();
        let (result, report) = pollster::block_on(context.cast(&tensor, TO, &Default::default())).unwrap();
        assert_eq!((result.bytes(), report.route), (Some(&[1, 0xfe][..]), Route::Cpu));
    }
    println!("cast without a driver");
}

/// wgpu refuses the request and names the limit. The crate requests no more than the adapter has.
#[test]
fn a_context_requests_what_the_adapter_has() {
    adapter::open();
    let instance = wgpu::Instance::default();
    let found = pollster::block_on(instance.request_adapter(&Default::default())).unwrap();
    let most = found.limits().max_storage_buffer_binding_size;
    let required_limits = wgpu::Limits { max_storage_buffer_binding_size: most + 4, ..found.limits() };
    let descriptor = wgpu::DeviceDescriptor { required_limits, ..Default::default() };
    let error = pollster::block_on(found.request_device(&descriptor)).map(drop).unwrap_err();
    assert!(error.to_string().contains("max_storage_buffer_binding_size"), "{error}");
    let name = found.get_info().name;
    let context = pollster::block_on(Context::open(DeviceChoice::Adapter(name))).unwrap();
    let limits = context.caster().unwrap().limits();
    assert!(
        limits.binding_size > 0
            && limits.binding_size <= context.device().unwrap().limits().max_storage_buffer_binding_size
    );
    // Some drivers report a largest buffer that is not a whole number of words.
    assert_eq!((limits.binding_size % 4, limits.buffer_size % 4), (0, 0));
}

#[test]
fn a_tensor_larger_than_any_buffer_is_refused() {
    let (device, _) = own_device();
    let caster = Caster::new(&device);
    let allowed = caster.limits().buffer_size;
    for needed in [allowed + 1, u64::MAX / 8] {
        let error = caster.prepare(&CastSpec::new(TO, ElementType::UINT8), needed).map(drop).unwrap_err();
        let types = [TO, ElementType::UINT8];
        assert_fault!(error, types, Limit { limit: "max_buffer_size", needed, allowed });
        // wgpu itself refuses such a buffer with an error for the application, which panics without a scope.
        let scope = device.push_error_scope(wgpu::ErrorFilter::Validation);
        let size = device.limits().max_buffer_size.max(needed) + 1;
        let usage = BufferUsages::STORAGE;
        drop(device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false }));
        assert!(pollster::block_on(scope.pop()).is_some());
    }
    assert!(caster.prepare(&CastSpec::new(TO, ElementType::UINT8), 100).is_ok());
}

/// A device whose largest buffer is small. On it, small tensors need the steps that tensors of many GiB need on other
/// devices.
fn small_device(most: u64) -> (wgpu::Device, wgpu::Queue) {
    adapter::open();
    let instance = wgpu::Instance::default();
    let found = pollster::block_on(instance.request_adapter(&Default::default())).unwrap();
    let limits = wgpu::Limits::downlevel_defaults();
    let required_limits = wgpu::Limits {
        max_buffer_size: most,
        max_storage_buffer_binding_size: most,
        max_uniform_buffer_binding_size: 1 << 14,
        ..limits
    };
    let descriptor = wgpu::DeviceDescriptor { required_limits, ..Default::default() };
    pollster::block_on(found.request_device(&descriptor)).unwrap()
}

#[test]
fn a_host_tensor_larger_than_any_buffer_is_cast_in_pieces() {
    let (device, queue) = small_device(1 << 16);
    let context = Context::on_device(&device, &queue);
    let tensor = Tensor::from_codes(FROM, [100_003], cases::random(FROM, 100_003, 5)).unwrap();
    for to in [TO, ElementType::FLOAT6E2M3, ElementType::DOUBLE] {
        let (result, report) = pollster::block_on(context.cast(&tensor, to, &Default::default())).unwrap();
        assert!(report.dispatches >= 7, "{report:?}");
        assert_eq!(result, cpu::cast(&tensor, to, &Default::default()).unwrap());
    }
}

/// Tensors leave the device if a buffer does not hold them together with their proof.
#[test]
fn a_batch_s_tensors_larger_than_any_buffer_are_cast_in_pieces() {
    let (device, queue) = small_device(1 << 16);
    let context = Context::on_device(&device, &queue);
    let run = |types: &[ElementType], len| {
        let tensor = Tensor::from_codes(types[0], [len], cases::random(types[0], len, 5)).unwrap();
        let cast = |tensor: Tensor, &to: &ElementType| cpu::cast(&tensor, to, &Default::default()).unwrap();
        let expected = types[1..].iter().fold(tensor.clone(), cast);
        let (result, report) = crate::batches::chain(&context, tensor, &types[1..]).unwrap();
        assert!(result == expected, "{len}");
        (report.uploads, report.read_backs, report.dispatches)
    };
    // Only the result is too large.
    let (uploads, read_backs, dispatches) = run(&[FROM, ElementType::DOUBLE], 10_000);
    assert!((uploads, read_backs) == (1, 1) && dispatches >= 2, "{uploads} {read_backs} {dispatches}");
    let [e4m3, e5m2] = [ElementType::FLOAT8E4M3FN, ElementType::FLOAT8E5M2];
    for len in (65_480..=65_536).step_by(4) {
        run(&[e4m3, e5m2], len);
        run(&[e4m3, e5m2, e4m3, e5m2, e4m3, e5m2], len);
    }
}

/// Each result fits a buffer, but all together do not.
#[test]
fn results_that_fit_no_buffer_together_are_read_back_one_after_another() {
    let (device, queue) = small_device(1 << 16);
    let context = Context::on_device(&device, &queue);
    let wide = [ElementType::FLOAT, ElementType::INT32, ElementType::UINT32];
    let from = ElementType::UINT8;
    for len in [5_000, 8_180, 10_000] {
        let tensor = Tensor::from_codes(from, [len], cases::random(from, len, 5)).unwrap();
        let mut batch = context.batch(&BatchDescriptor { casts: wide.len(), ..BatchDescriptor::default() });
        let source = batch.insert(tensor.clone());
        let cast = |to| pollster::block_on(batch.cast(&source, to, &CastOptions::default())).unwrap();
        let results = wide.map(cast);
        let tensors = pollster::block_on(batch.read_back(&results.each_ref())).unwrap();
        for (result, to) in tensors.iter().zip(wide) {
            assert!(*result == cpu::cast(&tensor, to, &Default::default()).unwrap(), "{len} to {to}");
        }
        let report = batch.report();
        assert_eq!((report.uploads, report.read_backs), (1, 3));
    }
}

/// 65,536 workgroups of the edge kernel are more than one dimension of a dispatch has.
#[test]
fn more_workgroups_than_one_dimension_has() {
    let context = adapter::open();
    let (device, queue) = (context.device().unwrap(), context.queue().unwrap());
    let mut tuning = PlanTuning::default();
    tuning.blocks_from = Some(u64::MAX);
    let caster = Caster::with_descriptor(
        device,
        &CasterDescriptor { limits: Some(PlanLimits::default()), tuning: Some(tuning), ..Default::default() },
    );
    // Each of the 64 invocations of a workgroup converts one element.
    let (from, to) = (ElementType::INT8, ElementType::INT32);
    let codes = cases::random(from, 65_536 * 64 + 5, 3);
    let tensor = Tensor::from_codes(from, [codes.len()], codes).unwrap();
    let prepared = caster.prepare(&CastSpec::new(from, to), tensor.len() as u64).unwrap();
    let (source, destination) = (buffer(device, prepared.source_bytes()), buffer(device, prepared.destination_bytes()));
    let mut bytes = tensor.bytes().unwrap().to_vec();
    bytes.resize(source.size() as usize, 0xff);
    queue.write_buffer(&source, 0, &bytes);
    let bound = prepared.bind(Source::whole(source.slice(..)), Destination::whole(destination.slice(..))).unwrap();
    let workgroups = bound.dispatches().map(|dispatch| dispatch.workgroups).collect::<Vec<_>>();
    assert!(workgroups.iter().any(|[_, rows, ..]| *rows > 1), "{workgroups:?}");
    let mut encoder = device.create_command_encoder(&Default::default());
    bound.record(&mut encoder);
    let expected = cpu::cast(&tensor, to, &Default::default()).unwrap();
    assert!(read(device, queue, encoder, &destination) == expected.bytes().unwrap());
}

/// wgpu refuses to bind a buffer of no bytes.
#[test]
fn a_cast_of_no_elements_takes_any_slices_and_records_nothing() {
    let (device, queue) = own_device();
    let prepared = Caster::new(&device).prepare(&CastSpec::new(FROM, TO), 0).unwrap();
    let usage = BufferUsages::STORAGE;
    let nothing =
        device.create_buffer(&wgpu::BufferDescriptor { label: None, size: 0, usage, mapped_at_creation: false });
    let poison = buffer(&device, 8);
    queue.write_buffer(&poison, 0, &[0xa5; 8]);
    for (source, destination) in [(&nothing, &nothing), (&poison, &poison), (&nothing, &poison)] {
        let mut encoder = device.create_command_encoder(&Default::default());
        prepared
            .record(&mut encoder, Source::whole(source.slice(..)), Destination::whole(destination.slice(..)))
            .unwrap();
        assert_eq!(read(&device, &queue, encoder, &poison), [0xa5; 8]);
    }
}

/// wgpu would report errors of commands only when the caller finishes its encoder.
#[test]
fn a_refused_cast_leaves_the_caller_s_encoder_valid() {
    let (device, queue) = own_device();
    let prepared = Caster::new(&device).prepare(&CastSpec::new(FROM, TO), 5).unwrap();
    let (source, destination) = (buffer(&device, 40), buffer(&device, 16));
    queue.write_buffer(&source, 0, bytemuck::cast_slice(&[1.0f32, 2.0, 3.0, -1.0, 300.0]));
    queue.write_buffer(&destination, 0, &[0xa5; 16]);
    let plain = device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 16,
        usage: BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    let of_one_width = Caster::new(&device).prepare(&CastSpec::new(FROM, ElementType::INT32), 5).unwrap();
    let scope = device.push_error_scope(wgpu::ErrorFilter::Validation);
    let mut encoder = device.create_command_encoder(&Default::default());
    let slice = source.slice(..20);
    let error =
        of_one_width.record(&mut encoder, Source::whole(slice), Destination::whole(source.slice(4..24))).unwrap_err();
    let ranges = [(None, Some(Side::Source), 0..20), (None, Some(Side::Destination), 4..24)];
    assert_eq!(format!("{error:?}"), overlap_error([FROM, ElementType::INT32], ranges, false));
    let mut record = |from: wgpu::BufferSlice<'_>, to: wgpu::BufferSlice<'_>| {
        prepared.record(&mut encoder, Source::whole(from), Destination::whole(to))
    };
    let error = record(slice, plain.slice(..5)).unwrap_err();
    let missing = variant!(MissingUsage { usage: "STORAGE" });
    assert_eq!(format!("{error:?}"), slice_error([FROM, TO], Some(Side::Destination), 0, missing));
    let mut fault = |from, to| match record(from, to) {
        Err(Error::Cast { cause: CastFault::Slice { fault, .. }, .. }) => fault,
        other => panic!("{other:?}"),
    };
    assert!(matches!(fault(source.slice(2..22), destination.slice(..5)), SliceFault::Alignment { .. }));
    assert!(matches!(fault(slice, destination.slice(..6)), SliceFault::Length { .. }));
    record(slice, destination.slice(4..9)).unwrap();
    let got = read(&device, &queue, encoder, &destination);
    assert_eq!(pollster::block_on(scope.pop()).map(|error| error.to_string()), None);
    assert_eq!(got, [[0xa5; 4], [1, 2, 3, 0xff], [44, 0xa5, 0xa5, 0xa5], [0xa5; 4]].concat());
}

/// A pipeline cache of another device makes this device reject a pipeline.
#[test]
#[allow(unsafe_code, reason = "the empty cache is nobody's bytes")]
fn a_kernel_that_the_device_rejects_is_an_error_each_time() {
    adapter::open();
    let instance = wgpu::Instance::default();
    let found = pollster::block_on(instance.request_adapter(&Default::default())).unwrap();
    let required_features = found.features() & wgpu::Features::PIPELINE_CACHE;
    if required_features.is_empty() {
        support::not_tested("this adapter has no pipeline caches");
        return;
    }
    let descriptor = wgpu::DeviceDescriptor { required_features, ..Default::default() };
    let [(own, _queue), (other, _)] = [(); 2].map(|()| pollster::block_on(found.request_device(&descriptor)).unwrap());
    let descriptor = wgpu::PipelineCacheDescriptor { label: None, data: None, fallback: true };
    // SAFETY: there is no data.
    let foreign = unsafe { other.create_pipeline_cache(&descriptor) };
    let caster =
        Caster::with_descriptor(&own, &CasterDescriptor { pipeline_cache: Some(foreign), ..Default::default() });
    let spec = CastSpec::new(FROM, TO);
    let error = caster.prepare(&spec, 5).map(drop).unwrap_err();
    assert!(
        matches!(&error, Error::Cast { from: FROM, to: TO, cause: CastFault::Kernel { message, .. }, .. } if !message.contains('\n')),
        "{error}"
    );
    assert_eq!(caster.prepare(&spec, 5).map(drop), Err(error));
    assert!(Caster::new(&own).prepare(&spec, 5).is_ok(), "the device still works");
}

/// OpenGL does not report that memory is exhausted, so casts of host tensors must not need much of it.
#[test]
fn a_large_host_tensor_takes_little_memory_of_the_device() {
    let context = adapter::open();
    let device = context.device().unwrap();
    let held = || device.get_internal_counters().hal.buffers.read();
    let tensor = Tensor::from_bytes(FROM, [1 << 25], vec![0; 1 << 27]).unwrap();
    let (before, most, done) = (held(), AtomicIsize::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                most.fetch_max(held() - before, Ordering::Relaxed);
                std::thread::yield_now();
            }
        });
        let cast = pollster::block_on(context.cast(&tensor, TO, &Default::default()));
        done.store(true, Ordering::Relaxed);
        assert!(cast.unwrap().1.dispatches >= 32, "pieces have at most 4 MiB");
    });
    // Up to three pieces at a time, each with a source, a destination, a buffer that the host reads, and two buffers of
    // parameters.
    let most = most.into_inner();
    assert!((2..=3 * 5 + 4).contains(&most), "{most} buffers at a time");
}
