//! Devices that are lost and memory that is refused while casts run.

use std::sync::atomic::{AtomicU32, Ordering};

use support::adapter;
use support::assert_error;
use support::buffers::buffer;
use wgpu_cast::onnx::{CastNode, Model};
use wgpu_cast::wgpu::{self, BufferUsages, MemoryBudgetThresholds};
use wgpu_cast::{CastSpec, Caster, Context, Destination, ElementType, Error, Slices, Source, Tensor, cpu};

const FROM: ElementType = ElementType::FLOAT;
const TO: ElementType = ElementType::INT8;

/// A device that wgpu declares lost, or refuses memory, when so many percent of the memory are in use.
fn device(
    for_resource_creation: Option<u8>,
    for_device_loss: Option<u8>,
) -> Result<(wgpu::Device, wgpu::Queue), wgpu::RequestDeviceError> {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle_from_env();
    descriptor.memory_budget_thresholds = MemoryBudgetThresholds { for_resource_creation, for_device_loss };
    let found = pollster::block_on(wgpu::Instance::new(descriptor).request_adapter(&Default::default())).unwrap();
    let descriptor = wgpu::DeviceDescriptor { required_limits: found.limits(), ..Default::default() };
    pollster::block_on(found.request_device(&descriptor))
}

fn small_cast_works(device: &wgpu::Device, queue: &wgpu::Queue) {
    let tensor = Tensor::from_slice([3], &[1.0f32, 2.0, -3.0]).unwrap();
    let context = Context::on_device(device, queue);
    let (result, _) = pollster::block_on(context.cast(&tensor, TO, &Default::default())).unwrap();
    assert_eq!(result.bytes(), Some(&[1, 2, 0xfd][..]));
}

/// wgpu reports the loss to the device's callback only; a call on a lost device makes dead objects without an error.
#[test]
fn a_device_that_the_driver_loses_is_an_error() {
    adapter::open();
    let Ok((device, queue)) = device(None, Some(0)) else {
        println!("NOT TESTED: the device is lost before it is open");
        return;
    };
    let lost = std::sync::Arc::new(AtomicU32::new(0));
    let seen = lost.clone();
    device.set_device_lost_callback(move |_, _| seen.store(1, Ordering::Relaxed));
    let caster = Caster::new(&device);
    let prepared = caster.prepare(&CastSpec::new(FROM, TO), 5).unwrap();
    let memory = [buffer(&device, 20), buffer(&device, 8)];
    queue.submit([]);
    let _ = device.poll(wgpu::PollType::Poll);
    if lost.load(Ordering::Relaxed) == 0 {
        println!("NOT TESTED: this driver does not tell how much memory is in use");
        return;
    }
    let is_loss = |error: &Error| {
        matches!(
            error,
            Error::DeviceLost { .. } | Error::Device { .. } | Error::Incomplete { .. } | Error::Kernel { .. }
        )
    };
    let bound = prepared.bind(Source::new(memory[0].slice(..)), Destination::new(memory[1].slice(..5)));
    if let Ok(bound) = &bound {
        let mut encoder = device.create_command_encoder(&Default::default());
        bound.record(&mut encoder);
        queue.submit([encoder.finish()]);
    }
    drop(caster.warm_up(&[CastSpec::new(FROM, ElementType::FLOAT16)], Slices::OneBuffer));
    let error = pollster::block_on(caster.self_test(&queue, &[CastSpec::new(FROM, TO)], Slices::Aligned)).unwrap_err();
    assert!(is_loss(&error), "{error}");
    let tensor = Tensor::from_slice([3], &[1.0f32, 2.0, 3.0]).unwrap();
    let context = Context::on_device(&device, &queue);
    let error = pollster::block_on(context.cast(&tensor, TO, &Default::default())).unwrap_err();
    assert!(is_loss(&error), "{error}");
    let (device, queue) = self::device(None, None).unwrap();
    small_cast_works(&device, &queue);
}

/// The size of a buffer that a driver is to refuse.
const REFUSED: u64 = 1792 << 20;

/// Whether a buffer of this size can be made.
fn has_memory(device: &wgpu::Device, size: u64) -> bool {
    let scope = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
    let usage = BufferUsages::STORAGE;
    drop(device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false }));
    pollster::block_on(scope.pop()).is_none()
}

/// A device that has memory for small buffers and none for that size.
fn nearly_full() -> Option<(wgpu::Device, wgpu::Queue)> {
    let suits = |percent: &u8| {
        device(Some(*percent), None)
            .is_ok_and(|(device, _)| has_memory(&device, 64 << 20) && !has_memory(&device, REFUSED))
    };
    // Other processes use memory too, so the limit is far from both sizes.
    let percents: Vec<u8> = if device(Some(0), None).is_ok() { Vec::new() } else { (1..100).filter(suits).collect() };
    device(Some(*percents.get(percents.len() / 2)?), None).ok()
}

#[test]
fn memory_that_the_driver_refuses_is_an_error_and_the_device_lives_on() {
    adapter::open();
    let Some((device, queue)) = nearly_full() else {
        println!("NOT TESTED: this driver does not tell how much memory is in use, or has too little");
        return;
    };
    let context = Context::on_device(&device, &queue);
    let (from, to, len) = (ElementType::UINT8, ElementType::DOUBLE, REFUSED as usize / 8);
    let tensor = Tensor::from_bytes(from, [len], vec![1; len]).unwrap();
    // A model's results stay on the device as a whole.
    let node = CastNode::with_target(25, to, None, None).unwrap();
    let model = Model::of_cast(&node, from, &[len]).unwrap();
    let error = pollster::block_on(context.run(&model, vec![tensor])).map(drop).unwrap_err();
    let inner = match &error {
        Error::Node { error, .. } => error,
        error => error,
    };
    assert_error!(inner, OutOfMemory { from, to, bytes: REFUSED + 4 });
    small_cast_works(&device, &queue);
}

/// Whenever the application destroys its device, each cast is right or an error.
#[test]
fn a_device_that_is_destroyed_during_casts_is_an_error() {
    let len = 1 << 20;
    let tensor = Tensor::from_slice([len], &(0..len).map(|i| (i % 100) as f32).collect::<Vec<_>>()).unwrap();
    let expected = cpu::cast(&tensor, TO, &Default::default()).unwrap();
    for milliseconds in [0, 1, 3, 10, 30] {
        let context = adapter::open();
        let cast = || pollster::block_on(context.cast(&tensor, TO, &Default::default()));
        assert!(cast().unwrap().0 == expected);
        let error = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(std::time::Duration::from_millis(milliseconds));
                context.device().unwrap().destroy();
            });
            loop {
                match cast() {
                    Ok((result, _)) => assert!(result == expected),
                    Err(error) => break error,
                }
            }
        });
        assert!(matches!(error, Error::DeviceLost { from: FROM, to: TO, .. }), "{error}");
        assert!(context.is_lost());
    }
    assert!(pollster::block_on(adapter::open().cast(&tensor, TO, &Default::default())).unwrap().0 == expected);
}
