//! The resident layer inside an application that has locks, a rayon pool, callbacks and limits of its own.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Duration;

use support::buffers::{buffer, own_device, read};
use support::{adapter, numeric};
use wgpu_cast::wgpu::{self, BufferUsages};
use wgpu_cast::{
    Bound, CastFault, CastOptions, CastSpec, Caster, CasterDescriptor, Coverage, Destination, ElementType, Error,
    PlanLimits, Source, Tensor, cpu,
};

const FLOAT: ElementType = ElementType::FLOAT;

/// Runs `work` on a thread. Fails if it has not ended after a minute, because then it hangs.
fn within_a_minute(what: &str, work: impl FnOnce() + Send + 'static) {
    let (sender, receiver) = mpsc::channel();
    let worker = std::thread::spawn(move || {
        work();
        sender.send(()).unwrap();
    });
    if let Err(mpsc::RecvTimeoutError::Timeout) = receiver.recv_timeout(Duration::from_secs(60)) {
        panic!("{what} hangs");
    }
    worker.join().unwrap();
}

/// Calls `work` while it holds a lock. A task on every thread of the rayon pool waits for that lock.
fn while_the_pool_waits(what: &str, work: impl FnOnce() + Send + 'static) {
    within_a_minute(what, || {
        let lock = Arc::new(Mutex::new(()));
        let held = lock.lock().unwrap();
        for _ in 0..rayon::current_num_threads() {
            let lock = lock.clone();
            rayon::spawn(move || drop(lock.lock()));
        }
        work();
        drop(held);
    });
}

#[test]
fn preparing_needs_no_thread_of_the_application_s_pool() {
    let (device, _) = own_device();
    let spec = CastSpec::new(FLOAT, ElementType::INT8);
    let caster = Caster::new(&device);
    // Two kernels: one for whole units, and one for the rest.
    while_the_pool_waits("prepare", move || drop(caster.prepare(&spec, 100_003).unwrap()));
    let caster = Caster::new(&device);
    while_the_pool_waits("prepare_strided", move || drop(caster.prepare_strided(&spec, &[30, 10], &[1, 30]).unwrap()));
    let caster = Caster::new(&device);
    while_the_pool_waits("warm_up", move || caster.warm_up(&[spec], Coverage::Views).unwrap());
}

#[test]
fn casts_on_this_thread_need_no_other() {
    let len = 1 << 20;
    let floats = Tensor::from_slice([len], &(0..len).map(|i| i as f32).collect::<Vec<_>>()).unwrap();
    for to in [ElementType::FLOAT16, ElementType::STRING] {
        let expected = cpu::cast(&floats, to, &CastOptions::default()).unwrap();
        let floats = floats.clone();
        while_the_pool_waits("a cast on this thread", move || {
            let cast = |tensor: &Tensor, to| cpu::cast(tensor, to, &CastOptions::default());
            let result = cpu::on_this_thread(|| cast(&floats, to)).unwrap();
            assert!(result == expected, "float to {to}");
            if to == ElementType::STRING {
                assert!(cpu::on_this_thread(|| cast(&result, FLOAT)).unwrap() == floats);
            }
        });
    }
}

/// The error names the limit that is too small.
#[test]
fn a_device_with_small_workgroups_is_an_error() {
    let (small, found) = (32, adapter::own());
    let limits = wgpu::Limits::downlevel_defaults();
    for (name, required_limits) in [
        (
            "max_compute_invocations_per_workgroup",
            wgpu::Limits { max_compute_invocations_per_workgroup: small, ..limits.clone() },
        ),
        ("max_compute_workgroup_size_x", wgpu::Limits { max_compute_workgroup_size_x: small, ..limits.clone() }),
    ] {
        let descriptor = wgpu::DeviceDescriptor { required_limits, ..Default::default() };
        let (device, _) = pollster::block_on(found.request_device(&descriptor)).unwrap();
        let spec = CastSpec::new(FLOAT, ElementType::FLOAT16);
        let error = Caster::new(&device).prepare(&spec, 5).map(drop).unwrap_err();
        let is_told = matches!(
            &error,
            Error::Cast { cause: CastFault::Limit { limit, needed: 256, allowed: 32, .. }, .. } if *limit == name
        );
        assert!(is_told, "{error}");
    }
}

#[test]
fn a_device_without_compute_shaders_is_an_error() {
    let found = adapter::own();
    let required_limits = wgpu::Limits::downlevel_webgl2_defaults();
    let descriptor = wgpu::DeviceDescriptor { required_limits, ..Default::default() };
    let (device, _) = pollster::block_on(found.request_device(&descriptor)).unwrap();
    for caster in [
        Caster::new(&device),
        Caster::with_descriptor(
            &device,
            &CasterDescriptor { limits: Some(PlanLimits::default()), ..Default::default() },
        ),
    ] {
        let spec = CastSpec::new(FLOAT, ElementType::FLOAT16);
        let strided = caster.prepare_strided(&spec, &[3, 2], &[1, 3]);
        for error in [caster.prepare(&spec, 5).map(drop).unwrap_err(), strided.map(drop).unwrap_err()] {
            assert!(matches!(&error, Error::Cast { cause: CastFault::Limit { allowed: 0, .. }, .. }), "{error}");
        }
    }
}

/// A callback that runs while a cast waits makes an error of its own. The error belongs to the application.
#[test]
fn callbacks_of_the_application_run_outside_the_crate_s_error_scopes() {
    let (device, queue) = own_device();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let handler = heard.clone();
    device.on_uncaptured_error(Arc::new(move |error| handler.lock().unwrap().push(error.to_string())));
    let caster = Caster::new(&device);
    let spec = CastSpec::new(FLOAT, ElementType::FLOAT16);
    caster.warm_up(&[spec], Coverage::Aligned).unwrap();
    queue.submit([device.create_command_encoder(&Default::default()).finish()]);
    let own = device.clone();
    queue.on_submitted_work_done(move || {
        // A buffer that the host maps for reading and for writing is invalid.
        let usage = BufferUsages::MAP_READ | BufferUsages::MAP_WRITE | BufferUsages::STORAGE;
        let descriptor = wgpu::BufferDescriptor { label: Some("mine"), size: 4, usage, mapped_at_creation: false };
        drop(own.create_buffer(&descriptor));
    });
    // The device has finished by now, but nothing has polled it.
    std::thread::sleep(Duration::from_millis(200));
    pollster::block_on(caster.self_test(&queue, &[spec], Coverage::Aligned)).unwrap().into_result().unwrap();
    let heard = heard.lock().unwrap();
    assert!(heard.len() == 1 && heard[0].contains("mine"), "{heard:?}");
}

#[test]
fn preparing_in_the_background_uses_few_threads_and_none_if_all_is_compiled() {
    let (device, _) = own_device();
    let caster = Caster::new(&device);
    let specs: Vec<_> = numeric().filter(|&to| to != FLOAT).map(|to| CastSpec::new(FLOAT, to)).collect();
    let mut waiting: Vec<Pin<Box<dyn Future<Output = _> + '_>>> = Vec::new();
    for spec in &specs {
        for len in 1..9 {
            waiting.push(Box::pin(caster.prepare_async(spec, 100_003 * len)));
        }
    }
    let mut context = TaskContext::from_waker(Waker::noop());
    let mut pending = Vec::new();
    for mut future in waiting {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(prepared) => drop(prepared.unwrap()),
            Poll::Pending => pending.push(future),
        }
    }
    assert!(!pending.is_empty(), "kernels are compiled on other threads");
    if cfg!(target_os = "linux") {
        let names = std::fs::read_dir("/proc/self/task").unwrap().filter_map(|task| {
            let name = task.ok()?.path().join("comm");
            std::fs::read_to_string(name).ok()
        });
        let compiling = names.filter(|name| name.trim_end() == "cast compile").count();
        assert!(compiling <= std::thread::available_parallelism().unwrap().get(), "{compiling} threads compile");
    }
    for future in pending {
        drop(pollster::block_on(future).unwrap());
    }
    for spec in &specs {
        let mut warm = pin!(caster.prepare_async(spec, 100_003));
        assert!(warm.as_mut().poll(&mut context).is_ready(), "{spec:?} is compiled");
    }
}

/// The compiling thread drops its device before it answers. Otherwise the thread could free the device while the
/// application ends.
#[test]
fn kernels_of_the_background_are_freed_with_the_caster() {
    let (device, queue) = own_device();
    let spec = CastSpec::new(FLOAT, ElementType::INT8);
    let pipelines = || device.get_internal_counters().hal.compute_pipelines.read();
    let own = pipelines();
    for _ in 0..200 {
        let caster = Caster::new(&device);
        drop(pollster::block_on(caster.prepare_async(&spec, 5)).unwrap());
        drop(caster);
        // Freed objects go with the next submission.
        queue.submit([]);
        device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
        assert_eq!(pipelines(), own);
    }
}

/// A test of many casts keeps no more memory than a test of one: pipelines are what takes memory.
#[test]
fn a_self_test_keeps_no_kernels_but_those_of_the_caster() {
    let (device, queue) = own_device();
    let compiled = || {
        // Freed objects go with the next submission.
        queue.submit([]);
        device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
        device.get_internal_counters().hal.compute_pipelines.read()
    };
    let own = compiled();
    let [first, second] = [ElementType::INT8, ElementType::FLOAT16].map(|to| CastSpec::new(FLOAT, to));
    let caster = Caster::new(&device);
    let test = || pollster::block_on(caster.self_test(&queue, &[first, second], Coverage::OneBuffer)).unwrap();
    assert_eq!(test().into_result(), Ok(()));
    assert_eq!(compiled(), own);
    caster.warm_up(&[first], Coverage::OneBuffer).unwrap();
    let warm = compiled();
    assert!(warm > own);
    assert_eq!(test().into_result(), Ok(()));
    assert_eq!(compiled(), warm);
}

/// Casts that no device does have an answer of their own. All other casts have theirs.
#[test]
fn a_self_test_has_a_result_for_each_cast() {
    let (device, queue) = own_device();
    let [number, string] = [ElementType::INT8, ElementType::STRING].map(|to| CastSpec::new(FLOAT, to));
    let (caster, specs) = (Caster::new(&device), [string, number, string]);
    let report = pollster::block_on(caster.self_test(&queue, &specs, Coverage::Aligned)).unwrap();
    let no_kernel = "casting float to string is supported only on the CPU: strings have no GPU kernel";
    let texts: Vec<_> = report.results().map(|(spec, result)| (*spec, result.map_err(ToString::to_string))).collect();
    let no_kernel = || Err(no_kernel.to_owned());
    assert_eq!(texts, [(string, no_kernel()), (number, Ok(())), (string, no_kernel())]);
    assert_eq!([report.passed(&number), report.passed(&string)], [true, false]);
}

/// Slices of one buffer that no binding can cover together.
#[test]
fn warm_up_and_self_test_include_slices_that_are_far_apart() {
    let (device, queue) = own_device();
    let own = *Caster::new(&device).limits();
    let mut limits = own;
    limits.binding_size = 1 << 20;
    let caster = Caster::with_descriptor(&device, &CasterDescriptor { limits: Some(limits), ..Default::default() });
    let spec = CastSpec::new(FLOAT, ElementType::INT8);
    pollster::block_on(caster.self_test(&queue, &[spec], Coverage::Views)).unwrap().into_result().unwrap();
    let caster = Caster::with_descriptor(&device, &CasterDescriptor { limits: Some(limits), ..Default::default() });
    caster.warm_up(&[spec], Coverage::Views).unwrap();
    let compiled = || device.get_internal_counters().hal.compute_pipelines.read();
    let warm = compiled();
    let memory = buffer(&device, 4 << 20);
    for (start, len) in [(0, 40_003), (4, 40_003), (8, 3)] {
        let prepared = caster.prepare(&spec, len).unwrap();
        let end = (3 << 20) + start;
        let source = memory.slice(start..start + prepared.source_bytes());
        let destination = memory.slice(end..end + prepared.destination_bytes());
        let bound = prepared.bind(Source::whole(source), Destination::whole(destination)).unwrap();
        assert_eq!(compiled(), warm, "{len} elements at {start}");
        drop(bound);
    }
    let view = caster.prepare_strided(&spec, &[30, 100], &[1, 30]).unwrap();
    let destination = memory.slice(3 << 20..(3 << 20) + view.destination_bytes());
    let bound = view.bind(Source::whole(memory.slice(..view.source_bytes())), Destination::whole(destination)).unwrap();
    assert_eq!(compiled(), warm, "a view");
    drop(bound);
}

/// Two casts into one buffer. The result must be that of the cast with the later pipeline.
#[test]
fn recording_many_casts_keeps_the_order_of_their_pipelines() {
    let (device, queue) = own_device();
    let caster = Caster::new(&device);
    let len = 64;
    let floats: Vec<f32> = (0..len).map(|i| i as f32).collect();
    let [source, shared, other] = [len * 4, len * 2, len * 2].map(|size| buffer(&device, size as u64));
    queue.write_buffer(&source, 0, bytemuck::cast_slice(&floats));
    let bind = |to, destination: &wgpu::Buffer| {
        let prepared = caster.prepare(&CastSpec::new(FLOAT, to), len as u64).unwrap();
        prepared.bind(Source::whole(source.slice(..)), Destination::whole(destination.slice(..))).unwrap()
    };
    let tensor = Tensor::from_slice([len], &floats).unwrap();
    for (first, last) in [(ElementType::FLOAT16, ElementType::INT16), (ElementType::BFLOAT16, ElementType::FLOAT16)] {
        let expected = cpu::cast(&tensor, last, &CastOptions::default()).unwrap().into_bytes().unwrap();
        // The pipeline that occurs first is recorded first, wherever its casts are.
        for bounds in [
            [bind(first, &shared), bind(last, &shared), bind(first, &other)],
            [bind(first, &other), bind(last, &shared), bind(first, &shared)],
        ] {
            for _ in 0..20 {
                let mut encoder = device.create_command_encoder(&Default::default());
                Bound::record_all(bounds.iter(), &mut encoder);
                assert_eq!(read(&device, &queue, encoder, &shared), expected, "{first}, then {last}");
            }
        }
    }
}

#[test]
fn forgotten_kernels_are_freed_when_nothing_uses_them() {
    let (device, queue) = own_device();
    let caster = Caster::new(&device);
    let [kept, dropped] = [ElementType::FLOAT16, ElementType::INT8].map(|to| CastSpec::new(FLOAT, to));
    let strings = CastSpec::new(FLOAT, ElementType::STRING);
    let held = || {
        // Freed objects go with the next submission.
        queue.submit([]);
        device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
        device.get_internal_counters().hal.compute_pipelines.read()
    };
    caster.warm_up(&[kept], Coverage::Aligned).unwrap();
    let before = held();
    let prepared = caster.prepare(&dropped, 100_003).unwrap();
    let all = held();
    caster.forget(&[dropped, strings]);
    assert_eq!(held(), all, "a prepared cast keeps its kernels");
    drop(prepared);
    assert!(before < all && held() == before, "{before}, {all}, {}", held());
    drop(caster.prepare(&dropped, 100_003).unwrap());
    assert_eq!(held(), all);
}

#[test]
fn recording_allocates_no_more_than_wgpu() {
    // Recording commands needs a queue that is alive.
    let (device, _queue) = own_device();
    let source = "@group(0) @binding(0) var<storage, read_write> word: u32; @compute @workgroup_size(1) fn main() { word = 1u; }";
    let source = wgpu::ShaderSource::Wgsl(source.into());
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor { label: None, source });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: None,
        layout: None,
        module: &module,
        entry_point: None,
        compilation_options: Default::default(),
        cache: None,
    });
    let word = buffer(&device, 4);
    let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &[wgpu::BindGroupEntry { binding: 0, resource: word.as_entire_binding() }],
    });
    let allocations = |record: &dyn Fn(&mut wgpu::CommandEncoder)| {
        let mut encoder = device.create_command_encoder(&Default::default());
        allocation_counter::measure(|| (0..64).for_each(|_| record(&mut encoder))).count_total
    };
    let by_hand = allocations(&|encoder| {
        let mut pass = encoder.begin_compute_pass(&Default::default());
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(1, 1, 1);
    });
    let memory = [buffer(&device, 16), buffer(&device, 8)];
    let prepared = Caster::new(&device).prepare(&CastSpec::new(FLOAT, ElementType::FLOAT16), 4).unwrap();
    let bound = prepared.bind(Source::whole(memory[0].slice(..)), Destination::whole(memory[1].slice(..))).unwrap();
    // The first recording unmaps the parameters, once.
    bound.record(&mut device.create_command_encoder(&Default::default()));
    let ours = allocations(&|encoder| bound.record(encoder));
    assert!(by_hand >= 64 && ours <= by_hand, "{ours} allocations, by hand {by_hand}");
}
