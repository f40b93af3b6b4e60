//! Where casts keep their parameters on devices without immediates: in few buffers, whichever cast is recorded first.

use support::buffers::{buffer, own_device, read};
use wgpu_cast::wgpu::{self, PollType};
use wgpu_cast::{Bound, CastSpec, Caster, Destination, ElementType, Prepared, Source};

/// The most bytes of a buffer with the parameters of several dispatches.
const MOST_BYTES: u64 = 16 << 10;
/// The bytes of the parameters of a dispatch.
const BLOCK: u64 = 48;

fn spec() -> CastSpec {
    CastSpec::new(ElementType::INT32, ElementType::INT16)
}

/// The number of buffers that the device holds, its own included.
fn buffers(device: &wgpu::Device) -> u64 {
    u64::try_from(device.get_internal_counters().hal.buffers.read()).unwrap()
}

/// The bytes from the start of one block to that of the next.
fn stride(device: &wgpu::Device) -> u64 {
    BLOCK.next_multiple_of(device.limits().min_uniform_buffer_offset_alignment.into())
}

/// The number of buffers that `blocks` blocks take if nothing is recorded meanwhile: each has room for twice the blocks
/// of the one before, up to [`MOST_BYTES`].
fn buffers_for(blocks: u64, stride: u64) -> u64 {
    let (mut left, mut room, mut count) = (blocks, 1, 0);
    while left > 0 {
        left = left.saturating_sub(room);
        room = (2 * room).min(MOST_BYTES / stride);
        count += 1;
    }
    count
}

/// Casts of 1 to `count` elements, each into 256 bytes of its own. No two have the same parameters.
struct Casts {
    device: wgpu::Device,
    queue: wgpu::Queue,
    caster: Caster,
    pool: [wgpu::Buffer; 2],
}

impl Casts {
    fn new(count: u64) -> Self {
        assert!(count <= 128, "results have 256 bytes");
        let (device, queue) = own_device();
        let pool = [buffer(&device, 4 * count), buffer(&device, 256 * count)];
        let values: Vec<i32> = (1..=count as i32).map(|value| 3 - 2 * value).collect();
        queue.write_buffer(&pool[0], 0, bytemuck::cast_slice(&values));
        queue.submit([]);
        device.poll(PollType::wait_indefinitely()).unwrap();
        Self { caster: Caster::new(&device), device, queue, pool }
    }

    fn prepared(&self, elements: u64) -> Prepared {
        self.caster.prepare(&spec(), elements).unwrap()
    }

    fn bind(&self, elements: u64) -> Bound {
        let source = Source::whole(self.pool[0].slice(..4 * elements));
        let start = 256 * (elements - 1);
        let destination = Destination::whole(self.pool[1].slice(start..start + 2 * elements));
        self.prepared(elements).bind(source, destination).unwrap()
    }

    fn encoder(&self) -> wgpu::CommandEncoder {
        self.device.create_command_encoder(&Default::default())
    }

    /// Submits the recorded commands, and compares the results of the casts with these numbers of elements.
    fn check(&self, encoder: wgpu::CommandEncoder, casts: impl IntoIterator<Item = u64>) {
        let got = read(&self.device, &self.queue, encoder, &self.pool[1]);
        for elements in casts {
            let expected: Vec<u8> = (1..=elements as i16).flat_map(|value| (3 - 2 * value).to_le_bytes()).collect();
            let start = 256 * (elements as usize - 1);
            let mut whole = [0; 256];
            whole[..expected.len()].copy_from_slice(&expected);
            assert_eq!(got[start..start + 256], whole, "{elements} elements");
        }
    }
}

#[test]
fn casts_that_are_bound_before_any_is_recorded_share_buffers() {
    let casts = Casts::new(128);
    let before = buffers(&casts.device);
    let bounds: Vec<Bound> = (1..=128).map(|elements| casts.bind(elements)).collect();
    let again: Vec<Bound> = (1..=128).map(|elements| casts.bind(elements)).collect();
    let needed = buffers_for(128, stride(&casts.device));
    assert!(needed <= 8, "{needed}");
    // wgpu writes each buffer by way of another buffer, which the next submission frees.
    assert_eq!(buffers(&casts.device) - before, 2 * needed);
    let mut encoder = casts.encoder();
    Bound::record_all(&bounds, &mut encoder);
    casts.check(encoder, 1..=128);
    casts.device.poll(PollType::wait_indefinitely()).unwrap();
    assert_eq!(buffers(&casts.device) - before, needed);
    drop(bounds);
    assert_eq!(buffers(&casts.device) - before, needed, "the other casts hold the same");
    drop(again);
    casts.queue.submit([]);
    casts.device.poll(PollType::wait_indefinitely()).unwrap();
    assert_eq!(buffers(&casts.device), before);
}

/// A cast that is recorded directly after it is bound takes no room for many others.
#[test]
fn casts_that_are_recorded_at_once_take_little_memory() {
    let casts = Casts::new(128);
    let memory = || casts.device.get_internal_counters().hal.buffer_memory.read();
    // This compiles the kernel and makes the pool of commands.
    let mut encoder = casts.encoder();
    let mut bounds: Vec<Bound> = vec![casts.bind(128)];
    bounds[0].record(&mut encoder);
    let before = memory();
    for elements in 1..=100 {
        bounds.push(casts.bind(elements));
        bounds[elements as usize].record(&mut encoder);
    }
    let each = (memory() - before) / 100;
    // There is room for two blocks, on the device and in the buffer that wgpu writes them by.
    assert!(each > 0 && each as u64 <= 4 * stride(&casts.device), "{each} bytes");
    casts.check(encoder, (1..=100).chain([128]));
}

/// Each way of recording makes the parameters usable, also if casts are bound afterwards or not recorded.
#[test]
fn casts_are_right_in_any_order_of_binding_and_recording() {
    let casts = Casts::new(100);
    let first: Vec<Bound> = (1..=10).map(|elements| casts.bind(elements)).collect();
    drop(casts.bind(50));
    let mut encoder = casts.encoder();
    first[3].record(&mut encoder);
    let second: Vec<Bound> = (11..=20).map(|elements| casts.bind(elements)).collect();
    second[9].record_in_pass(&mut encoder.begin_compute_pass(&Default::default()));
    let third: Vec<Bound> = (21..=30).map(|elements| casts.bind(elements)).collect();
    for dispatch in third[0].dispatches() {
        let mut pass = encoder.begin_compute_pass(&Default::default());
        pass.set_pipeline(dispatch.pipeline);
        pass.set_bind_group(0, dispatch.bind_group, &[]);
        pass.dispatch_workgroups(dispatch.workgroups[0], dispatch.workgroups[1], dispatch.workgroups[2]);
    }
    let fourth: Vec<Bound> = (31..=40).map(|elements| casts.bind(elements)).collect();
    Bound::record_all_in_pass(&fourth[..2], &mut encoder.begin_compute_pass(&Default::default()));
    casts.check(encoder, [4, 20, 21, 31, 32]);
    // The arenas were submitted before these are recorded.
    let mut encoder = casts.encoder();
    let left = first.iter().chain(&second).chain(&third).chain(&fourth);
    left.for_each(|bound| bound.record(&mut encoder));
    casts.check(encoder, 1..=40);
}

/// Views have larger parameters, which share the same buffers.
#[test]
fn parameters_of_views_share_buffers_too() {
    let casts = Casts::new(128);
    let before = buffers(&casts.device);
    let mut bounds = Vec::new();
    for rows in 2..=11 {
        let (shape, strides) = ([rows, 3], [1, rows as i64]);
        let prepared = casts.caster.prepare_strided(&spec(), &shape, &strides).unwrap();
        let source = Source::whole(casts.pool[0].slice(..12 * rows));
        let start = 256 * (100 + rows);
        bounds.push(prepared.bind(source, Destination::whole(casts.pool[1].slice(start..start + 6 * rows))).unwrap());
        bounds.push(casts.bind(rows));
    }
    assert!(buffers(&casts.device) - before <= 2 * 7, "20 casts in at most 7 buffers");
    let mut encoder = casts.encoder();
    bounds.iter().for_each(|bound| bound.record(&mut encoder));
    let got = read(&casts.device, &casts.queue, encoder, &casts.pool[1]);
    for rows in 2..=11i16 {
        let value = |row: i16, column: i16| 3 - 2 * (row + rows * column + 1);
        let expected = (0..rows).flat_map(|row| (0..3).flat_map(move |column| value(row, column).to_le_bytes()));
        let start = 256 * (100 + rows as usize);
        assert_eq!(got[start..start + 6 * rows as usize], expected.collect::<Vec<u8>>(), "{rows} rows");
    }
}

/// Some threads bind casts while others record casts that share the buffers.
#[test]
fn threads_bind_and_record_side_by_side() {
    let casts = Casts::new(120);
    for _ in 0..20 {
        let commands: Vec<wgpu::CommandBuffer> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|thread| {
                    let casts = &casts;
                    scope.spawn(move || {
                        let mut encoder = casts.encoder();
                        let mut waiting: Vec<Bound> = Vec::new();
                        for elements in (1..=120).skip(thread).step_by(4) {
                            waiting.push(casts.bind(elements));
                            if elements % 3 == 0 {
                                waiting.drain(..).for_each(|bound| bound.record(&mut encoder));
                            }
                        }
                        waiting.iter().for_each(|bound| bound.record(&mut encoder));
                        encoder.finish()
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        casts.queue.submit(commands);
        casts.check(casts.encoder(), 1..=120);
    }
}

/// Recording on a device that was destroyed meanwhile reports nothing to the application's handler.
#[test]
fn recording_after_the_device_is_destroyed_reports_nothing() {
    let casts = Casts::new(4);
    casts.device.on_uncaptured_error(std::sync::Arc::new(|error| panic!("{error}")));
    let (bound, mut encoder) = (casts.bind(3), casts.encoder());
    casts.device.destroy();
    // wgpu now destroys the buffers.
    casts.device.poll(PollType::wait_indefinitely()).unwrap();
    bound.record(&mut encoder);
    assert_eq!(bound.dispatches().count(), 1);
}
