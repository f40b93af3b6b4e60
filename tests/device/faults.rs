//! Errors of the GPU path. Each error is typed and, if possible, reported before any work. None is a panic or a wrong
//! result.

use std::sync::{Arc, Mutex};

use support::{adapter, buffers, cast_error, overlap_error, slice_error, variant};
use wgpu_cast::wgpu::{BufferDescriptor, BufferUsages};
use wgpu_cast::{
    Bound, CastFault, CastSpec, Caster, CasterDescriptor, Context, Coverage, Destination, DeviceChoice, ElementType,
    Error, PlanLimits, Route, Side, Source, Tensor, wgpu,
};

const FROM: ElementType = ElementType::FLOAT;
const TO: ElementType = ElementType::INT8;

fn buffer(device: &wgpu::Device, size: u64, usage: BufferUsages) -> wgpu::Buffer {
    device.create_buffer(&BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
}

#[test]
fn slices_are_checked_before_anything_is_recorded() {
    let context = adapter::open();
    let (device, caster) = (context.device().unwrap(), context.caster().unwrap());
    let prepared = caster.prepare(&CastSpec::new(FROM, TO), 5).unwrap();
    let storage = BufferUsages::STORAGE;
    let good = (buffer(device, 4096, storage), buffer(device, 4096, storage));
    let bind = |source: wgpu::BufferSlice<'_>, destination: wgpu::BufferSlice<'_>| {
        prepared.bind(Source::whole(source), Destination::whole(destination)).map(drop).unwrap_err()
    };
    let check = |error: Error, side, offset, fault: String| {
        assert_eq!(format!("{error:?}"), slice_error([FROM, TO], Some(side), offset, fault));
    };
    let (source, destination) = (Side::Source, Side::Destination);
    let length = |expected: u64, found: u64| variant!(Length { expected, found });
    check(bind(good.0.slice(0..16), good.1.slice(0..5)), source, 0, length(20, 16));
    check(bind(good.0.slice(0..20), good.1.slice(0..7)), destination, 0, length(5, 7));
    // The five bytes lie in the buffer, but their second word does not.
    let short = buffer(device, 1030, storage);
    let error = bind(good.0.slice(0..20), short.slice(1024..1029));
    check(error, destination, 1024, variant!(OutOfRange { end: 1032, size: 1030 }));
    let error = bind(good.0.slice(2..22), good.1.slice(0..5));
    check(error, source, 2, variant!(Alignment { alignment: 4 }));
    let plain = buffer(device, 4096, BufferUsages::COPY_DST);
    let error = bind(good.0.slice(0..20), plain.slice(0..5));
    check(error, destination, 0, variant!(MissingUsage { usage: "STORAGE" }));
    let to = ElementType::INT32;
    let of_one_width = Caster::new(device).prepare(&CastSpec::new(FROM, to), 5).unwrap();
    let overlapping = [good.0.slice(0..20), good.0.slice(8..28)];
    let error =
        of_one_width.bind(Source::whole(overlapping[0]), Destination::whole(overlapping[1])).map(drop).unwrap_err();
    let ranges = [(None, Some(source), 0..20), (None, Some(destination), 8..28)];
    assert_eq!(format!("{error:?}"), overlap_error([FROM, to], ranges, false));
    assert!(
        prepared.bind(Source::whole(good.0.slice(0..20)), Destination::whole(good.1.slice(0..8))).is_ok(),
        "whole words are welcome"
    );
}

type Heard = Arc<Mutex<Vec<String>>>;

/// An application's device, and what its handler of errors heard.
fn own_device() -> (wgpu::Device, wgpu::Queue, Heard) {
    let (device, queue) = buffers::own_device();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let handler = heard.clone();
    device.on_uncaptured_error(Arc::new(move |error| handler.lock().unwrap().push(error.to_string())));
    (device, queue, heard)
}

/// Error scopes belong to threads: an error outside the scope's thread would reach the application's handler.
#[test]
fn errors_reach_neither_the_application_s_scopes_nor_its_handler() {
    let (device, _, heard) = own_device();
    let caster = Caster::new(&device);
    let prepared = caster.prepare(&CastSpec::new(FROM, TO), 5).unwrap();
    let source = buffer(&device, 20, BufferUsages::STORAGE);
    let gone = buffer(&device, 8, BufferUsages::STORAGE);
    gone.destroy();
    let scopes = [wgpu::ErrorFilter::Validation, wgpu::ErrorFilter::Internal, wgpu::ErrorFilter::OutOfMemory]
        .map(|filter| device.push_error_scope(filter));
    let bind =
        || prepared.bind(Source::whole(source.slice(..)), Destination::whole(gone.slice(..))).map(drop).unwrap_err();
    let there = std::thread::scope(|scope| scope.spawn(bind).join().unwrap());
    for error in [bind(), there] {
        assert_eq!(format!("{error:?}"), slice_error([FROM, TO], Some(Side::Destination), 0, "DestroyedBuffer"));
    }
    for scope in scopes.into_iter().rev() {
        assert_eq!(pollster::block_on(scope.pop()).map(|error| error.to_string()), None);
    }
    assert_eq!(*heard.lock().unwrap(), [""; 0]);
}

#[test]
fn what_is_bound_to_a_device_that_is_destroyed_records_and_does_nothing() {
    let (device, queue, heard) = own_device();
    let caster = Caster::new(&device);
    let prepared = caster.prepare(&CastSpec::new(FROM, TO), 10_000).unwrap();
    let memory = buffer(&device, 1 << 17, BufferUsages::STORAGE);
    let bound = prepared
        .bind(Source::whole(memory.slice(0..40_000)), Destination::whole(memory.slice(40_000..50_000)))
        .unwrap();
    let mut before = device.create_command_encoder(&Default::default());
    bound.record(&mut before);
    device.destroy();
    let mut after = device.create_command_encoder(&Default::default());
    bound.record(&mut after);
    Bound::record_all(&[bound], &mut after);
    queue.submit([before.finish(), after.finish()]);
    // New work is an error, or makes dead objects as wgpu's own calls do. It is never a panic.
    let options =
        [(FROM, ElementType::FLOAT16), (FROM, TO)].map(|(from, to)| caster.prepare(&CastSpec::new(from, to), 10_000));
    for prepared in options.into_iter().flatten() {
        let bytes = 40_000 + prepared.destination_bytes();
        drop(prepared.bind(Source::whole(memory.slice(0..40_000)), Destination::whole(memory.slice(40_000..bytes))));
    }
    drop(caster.warm_up(&[CastSpec::new(FROM, ElementType::BFLOAT16)], Coverage::OneBuffer));
    let specs = [CastSpec::new(FROM, TO)];
    let error = pollster::block_on(caster.self_test(&queue, &specs, Coverage::Aligned)).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Cast { cause: CastFault::DeviceLost { .. } | CastFault::Device { .. } | CastFault::Incomplete, .. }
        ),
        "{error}"
    );
    assert_eq!(*heard.lock().unwrap(), [""; 0]);
}

/// With only what every device has, slices of one buffer that start anywhere are cast right.
#[test]
fn the_least_limits_are_enough() {
    let (device, queue, heard) = own_device();
    let caster = Caster::new(&device);
    let downlevel = wgpu::Limits::downlevel_defaults();
    assert_eq!(caster.limits().binding_size, downlevel.max_storage_buffer_binding_size);
    assert_eq!(caster.limits().offset_alignment, u64::from(downlevel.min_storage_buffer_offset_alignment));
    let specs =
        [(FROM, TO), (ElementType::INT4, ElementType::DOUBLE), (ElementType::FLOAT6E2M3, ElementType::FLOAT6E3M2)]
            .map(|(from, to)| CastSpec::new(from, to));
    pollster::block_on(caster.self_test(&queue, &specs, Coverage::Views)).unwrap().into_result().unwrap();
    assert_eq!(*heard.lock().unwrap(), [""; 0]);
}

#[test]
fn strings_on_a_device_and_tiny_limits_are_refused_before_any_work() {
    let context = adapter::open();
    let caster = context.caster().unwrap();
    let error = caster.prepare(&CastSpec::new(FROM, ElementType::STRING), 5).map(drop).unwrap_err();
    assert_eq!(format!("{error:?}"), cast_error([FROM, ElementType::STRING], "NoKernel"));
    for len in [u64::MAX, 1 << 62, 1 << 50] {
        let error = caster.prepare(&CastSpec::new(FROM, TO), len).map(drop).unwrap_err();
        assert!(
            matches!(error, Error::Cast { cause: CastFault::Limit { limit: "max_buffer_size", .. }, .. }),
            "{error}"
        );
    }
    let tensor = Tensor::from_slice([1], &[1.0f32]).unwrap();
    // Host tensors go to the CPU instead, and the report says so.
    let options = Default::default();
    let (strings, report) = pollster::block_on(context.cast(&tensor, ElementType::STRING, &options)).unwrap();
    assert_eq!(strings.strings().unwrap().len(), 1);
    assert_eq!((report.route, report.to_string().as_str()), (Route::Cpu, "on the CPU (strings have no GPU kernel)"));
    assert_eq!(report.bytes, 4 + strings.strings().unwrap().map(|text| text.len() as u64).sum::<u64>());
    let (_, report) = pollster::block_on(context.cast(&tensor, TO, &options)).unwrap();
    assert_eq!(report.to_string(), format!("on {} (requested)", report.adapter.as_deref().unwrap()));
    let mut huge = PlanLimits::default();
    (huge.binding_size, huge.buffer_size, huge.workgroups) = (u64::MAX, u64::MAX, u32::MAX);
    let cut = *Caster::with_descriptor(
        context.device().unwrap(),
        &CasterDescriptor { limits: Some(huge), ..Default::default() },
    )
    .limits();
    let own = *caster.limits();
    assert_eq!(
        (cut.binding_size, cut.buffer_size, cut.workgroups),
        (own.binding_size, own.buffer_size, own.workgroups)
    );
    huge.offset_alignment = u64::MAX;
    let coarse = Caster::with_descriptor(
        context.device().unwrap(),
        &CasterDescriptor { limits: Some(huge), ..Default::default() },
    );
    assert!(coarse.prepare(&CastSpec::new(FROM, TO), 5).is_ok());
    let mut limits = PlanLimits::default();
    limits.binding_size = 64;
    let caster = Caster::with_descriptor(
        context.device().unwrap(),
        &CasterDescriptor { limits: Some(limits), ..Default::default() },
    );
    let error = caster.prepare(&CastSpec::new(FROM, TO), 1000).map(drop).unwrap_err();
    assert!(
        matches!(error, Error::Cast { cause: CastFault::Limit { limit: "max_storage_buffer_binding_size", .. }, .. }),
        "{error}"
    );
}

#[test]
fn a_destroyed_device_is_an_error_and_a_new_context_works() {
    let context = adapter::open();
    let tensor = Tensor::from_slice([3], &[1.0f32, 2.0, 3.0]).unwrap();
    let cast = |context: &Context| pollster::block_on(context.cast(&tensor, TO, &Default::default()));
    assert!(cast(&context).is_ok() && !context.is_lost());
    context.device().unwrap().destroy();
    let error = cast(&context).unwrap_err();
    assert!(matches!(error, Error::Cast { from: FROM, to: TO, cause: CastFault::DeviceLost { .. }, .. }), "{error}");
    assert!(context.is_lost());
    assert_eq!(cast(&context).unwrap_err(), error, "and stays lost");
    // Binding what was prepared on this device is an error, too.
    let device = context.device().unwrap();
    if let Ok(prepared) = context.caster().unwrap().prepare(&CastSpec::new(FROM, TO), 3) {
        let buffers = [(); 2].map(|()| buffer(device, 16, BufferUsages::STORAGE));
        assert!(
            prepared.bind(Source::whole(buffers[0].slice(0..12)), Destination::whole(buffers[1].slice(0..3))).is_err()
        );
    }
    assert!(cast(&adapter::open()).is_ok());
}

#[test]
fn an_adapter_that_nobody_has_is_an_error_with_the_list() {
    adapter::open();
    let choice = DeviceChoice::Adapter("Voodoo 2".to_owned());
    match pollster::block_on(Context::open(choice)).map(drop).unwrap_err() {
        Error::AdapterNotFound { wanted, available, .. } => {
            assert_eq!(wanted, "Voodoo 2");
            assert!(!available.is_empty());
        }
        error => panic!("{error}"),
    }
}

#[test]
fn auto_never_takes_a_software_adapter_and_says_so() {
    let context = pollster::block_on(Context::open(DeviceChoice::Auto)).unwrap();
    let software = |info: &wgpu::AdapterInfo| info.device_type == wgpu::DeviceType::Cpu;
    assert!(!context.adapter_info().is_some_and(software));
    assert_eq!(context.skipped_adapters(), None);
    let tensor = Tensor::from_slice([3], &[1.0f32, 2.0, 3.0]).unwrap();
    let (_, report) = pollster::block_on(context.cast(&tensor, TO, &Default::default())).unwrap();
    assert_eq!(report.route, Route::Cpu, "three elements are too few for any GPU");
    let is_alone = report.reason.starts_with("no GPU found; the software adapter ");
    assert!(is_alone || context.adapter_info().is_some(), "{report}");
    assert!(report.to_string().starts_with("on the CPU ("), "{report}");
    let (same, report) = wgpu_cast::blocking::cast(&tensor, FROM, &Default::default()).unwrap();
    assert_eq!((same, report.route), (tensor, Route::Copy));
}

#[test]
fn adapters_are_listed_and_no_software_is_chosen() {
    adapter::open();
    let found = pollster::block_on(wgpu_cast::adapters());
    assert!(!found.is_empty() && found.iter().filter(|adapter| adapter.chosen).count() <= 1, "{found:?}");
    let is_software = |adapter: &wgpu_cast::AdapterSummary| adapter.device_type == wgpu::DeviceType::Cpu;
    assert!(!found.iter().any(|adapter| adapter.chosen && is_software(adapter)), "{found:?}");
}

/// The test runs in a process of its own, whose address space is smaller than the buffers.
#[test]
#[cfg(target_os = "linux")]
fn out_of_memory_is_an_error_and_the_device_lives_on() {
    use std::os::unix::process::ExitStatusExt;

    const CHILD: &str = "WGPU_CAST_TEST_OUT_OF_MEMORY";
    if std::env::var_os(CHILD).is_none() {
        let context = adapter::open();
        let info = context.adapter_info().unwrap();
        if info.backend == wgpu::Backend::Gl {
            support::not_tested("OpenGL does not report that memory is exhausted");
            return;
        }
        let limited = "ulimit -v 3500000; exec \"$0\" \"$@\"";
        let output = std::process::Command::new("sh")
            .args(["-c", limited])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "faults::out_of_memory_is_an_error_and_the_device_lives_on", "--nocapture"])
            .env(CHILD, "1")
            .output()
            .unwrap();
        // This driver reports the memory as allocated, but cannot map it. It then copies to the address -1, which is
        // how `mmap` reports an error.
        if info.driver_info.contains("Mesa 25.0")
            && output.status.signal() == Some(rustix::process::Signal::SEGV.as_raw())
        {
            support::not_tested(format!("{} crashes when memory is exhausted", info.driver_info));
            return;
        }
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && text.contains("lives on"), "{text}");
        return;
    }
    let context = adapter::open();
    let tensor = Tensor::from_bytes(ElementType::UINT8, [1 << 26], vec![1; 1 << 26]).unwrap();
    // 64 Mi of double are 512 MiB, on the device and again to read them back, beside the 512 MiB of the result.
    let mut held = Vec::new();
    let error = loop {
        match crate::batches::chain(&context, tensor.clone(), &[ElementType::DOUBLE]) {
            Ok((result, _)) => held.push(result),
            Err(error) => break error,
        }
        assert!(held.len() < 8, "the limit holds");
    };
    assert!(matches!(error, Error::Cast { cause: CastFault::OutOfMemory { .. }, .. }), "{error}");
    drop((held, tensor));
    let small = Tensor::from_slice([3], &[1.0f32, 2.0, 3.0]).unwrap();
    let (result, _) = pollster::block_on(context.cast(&small, TO, &Default::default())).unwrap();
    assert_eq!(result.bytes().unwrap(), [1, 2, 3]);
    println!("lives on");
}
