//! Sixteen threads that cast on one device for long: no bit is wrong, no round leaves more objects than the first, and
//! memory stays below what the first rounds took.
//!
//! A normal run is short. To go on for ten minutes, with tensors of up to 64 MiB:
//!
//! ```sh
//! CAST_SOAK_SECONDS=600 cargo nextest run --release --test device --no-capture soak
//! ```

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use support::buffers::{buffer, read};
use support::random::Random;
use support::{adapter, cases, numeric};
use wgpu_cast::{CastOptions, CastSpec, Context, Coverage, Destination, ElementType, Source, Tensor, cpu, wgpu};

const THREADS: usize = 16;

/// Casts of a thread in a round.
const CASTS: usize = 6;

/// The rounds after which the allocators of 16 threads and of the driver take no more memory.
const SETTLED: usize = 64;

/// The live objects of a device that casts make and drop.
#[derive(Debug, PartialEq)]
struct Live {
    buffers: isize,
    bind_groups: isize,
}

impl Live {
    fn of(context: &Context) -> Self {
        let hal = context.device().unwrap().get_internal_counters().hal;
        Self { buffers: hal.buffers.read(), bind_groups: hal.bind_groups.read() }
    }
}

/// The memory of the process, if the system tells it.
fn resident_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
}

/// A random tensor. It and its result have at most `most` bytes together. Short tensors are as likely as long ones.
fn tensor(random: &mut Random, from: ElementType, to: ElementType, most: u64) -> Tensor {
    let bits = u64::from(from.bits().unwrap() + to.bits().unwrap());
    let power = random.below((8 * most / bits).ilog2() as usize);
    let len = random.below(2 << power);
    let codes = cases::random(from, len.min(4096), random.next());
    Tensor::from_codes(from, [len], codes.iter().copied().cycle().take(len)).unwrap()
}

/// Casts between buffers, as an engine does.
fn resident(context: &Context, source: &Tensor, to: ElementType) -> Vec<u8> {
    let (device, queue, caster) = (context.device().unwrap(), context.queue().unwrap(), context.caster().unwrap());
    let prepared = caster.prepare(&CastSpec::new(source.element_type(), to), source.len() as u64).unwrap();
    let mut bytes = source.bytes().unwrap().to_vec();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    let [input, output] = [prepared.source_bytes(), prepared.destination_bytes()].map(|size| buffer(device, size));
    queue.write_buffer(&input, 0, &bytes);
    let mut encoder = device.create_command_encoder(&Default::default());
    prepared.record(&mut encoder, Source::whole(input.slice(..)), Destination::whole(output.slice(..))).unwrap();
    let mut result = read(device, queue, encoder, &output);
    result.truncate(prepared.destination_bytes() as usize);
    result
}

/// A cast on the device and on the CPU.
fn cast(context: &Context, random: &mut Random, pairs: &[(ElementType, ElementType)], most: u64) {
    let (from, to) = pairs[random.below(pairs.len())];
    let source = tensor(random, from, to, most);
    let options = CastOptions::default();
    let expected = cpu::cast(&source, to, &options).unwrap().into_bytes().unwrap();
    let got = if source.is_empty() || random.below(2) == 0 {
        let (result, _) = pollster::block_on(context.cast(&source, to, &options)).unwrap();
        result.into_bytes().unwrap()
    } else {
        resident(context, &source, to)
    };
    assert!(got == expected, "{from} to {to}, {} elements", source.len());
}

#[test]
fn threads_cast_for_long_in_the_same_memory() {
    let seconds = std::env::var("CAST_SOAK_SECONDS").ok().map(|text| text.parse().expect("a number of seconds"));
    let most: u64 = if seconds.is_some() { 64 << 20 } else { 1 << 16 };
    let context = adapter::open();
    // Only some pairs, with each type among them, so that kernels are compiled in the first rounds.
    let types: Vec<_> = numeric().collect();
    let pairs: Vec<_> = (0..types.len()).map(|i| (types[i], types[(7 * i + 3) % types.len()])).collect();
    let specs: Vec<_> = pairs.iter().map(|&(from, to)| CastSpec::new(from, to)).collect();
    context.caster().unwrap().warm_up(&specs, Coverage::Aligned).unwrap();

    let (start, mut first, mut most_memory) = (Instant::now(), None, 0);
    for round in 0.. {
        thread::scope(|scope| {
            for number in 0..THREADS {
                let (context, pairs) = (&context, &pairs);
                scope.spawn(move || {
                    let mut random = Random::new((1 + round * THREADS + number) as u64);
                    (0..CASTS).for_each(|_| cast(context, &mut random, pairs, most));
                });
            }
        });
        context.device().unwrap().poll(wgpu::PollType::wait_indefinitely()).unwrap();
        let live = first.get_or_insert_with(|| Live::of(&context));
        assert_eq!(Live::of(&context), *live, "after round {round}");
        let memory = resident_bytes().unwrap_or_default();
        assert!(
            round < SETTLED || memory <= most_memory / 4 * 5,
            "{memory} bytes after round {round}, {most_memory} before"
        );
        if round < SETTLED {
            most_memory = most_memory.max(memory);
        }
        let elapsed = start.elapsed();
        if seconds.is_none_or(|seconds| elapsed >= Duration::from_secs(seconds)) && round > 0 {
            println!(
                "{} casts in {} s: {live:?}, {} MiB; at most {} in the first {SETTLED} rounds",
                (round + 1) * THREADS * CASTS,
                elapsed.as_secs(),
                memory >> 20,
                most_memory >> 20,
            );
            break;
        }
    }
}
