//! This crate's side of the comparison. Reads commands of the scripts from stdin and answers each line with a line.
//!
//! | line | answer |
//! |---|---|
//! | `load TYPE ELEMENTS FILE`, packed codes, repeated to that many | bytes of the source |
//! | `to TYPE THREADS`: what the next lines cast to | bytes of the destination |
//! | `into [TIMES]`: casts into preallocated memory | seconds of one |
//! | `new [TIMES]`: casts into new memory | seconds of one |
//! | `memcpy [TIMES]`: copies (source + destination) / 2 bytes | seconds of one |
//! | `save ELEMENTS FILE`: the first of what `into` made | bytes |
//! | `gpu [TIMES]`, `cpu [TIMES]`: casts by a `Context` on the best adapter, software or not; on none | seconds of one |
//! | `adapter`: the best one | its name |
//! | `resident [TIMES]`: casts between buffers on it, in one submission; `copies [TIMES]`: copies of the same number of bytes | seconds of all |
//! | `keep ELEMENTS FILE`: the first of what `resident` made | bytes |

#![allow(missing_docs, reason = "a program")]
// As in src/lib.rs: the types of wgpu nest deeply.
#![recursion_limit = "256"]

mod resident;

use std::error::Error;
use std::hint::black_box;
use std::io::{self, BufRead, IsTerminal, Write};
use std::time::Instant;

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use resident::{Adapter, Resident, Work};
use wgpu_cast::{CastOptions, Context, DeviceChoice, ElementType, Tensor, cpu};

type Result<T> = std::result::Result<T, Box<dyn Error>>;
/// The result of one cast or copy.
type Done = std::result::Result<(), wgpu_cast::Error>;

fn main() -> Result<()> {
    if io::stdin().is_terminal() {
        println!("This program is run by benches/peers/run.sh.");
        return Ok(());
    }
    let mut stage = Stage::default();
    for line in io::stdin().lock().lines() {
        let answer = stage.answer(line?.trim_end())?;
        let mut stdout = io::stdout().lock();
        writeln!(stdout, "{answer}")?;
        stdout.flush()?;
    }
    Ok(())
}

#[derive(Default)]
struct Stage {
    source: Option<Tensor>,
    target: Option<Target>,
    contexts: Vec<(DeviceChoice, Context)>,
    adapter: Option<Adapter>,
    resident: Option<Resident>,
}

struct Target {
    element_type: ElementType,
    destination: Vec<u8>,
    copied: [Vec<u8>; 2],
    pool: ThreadPool,
}

impl Stage {
    fn answer(&mut self, line: &str) -> Result<String> {
        let (command, words) = line.split_once(' ').unwrap_or((line, ""));
        let words: Vec<&str> = words.split(' ').filter(|word| !word.is_empty()).collect();
        let times = |words: &[&str]| words.first().map_or(Ok(1), |times| times.parse::<u32>());
        Ok(match (command, &words[..]) {
            ("load", [from, elements, path @ ..]) => self.load(from.parse()?, elements.parse()?, &path.join(" "))?,
            ("to", [to, threads]) => self.target(to.parse()?, threads.parse()?)?,
            ("into", words) => self.cast_into(times(words)?)?,
            ("new", words) => self.cast(times(words)?)?,
            ("memcpy", words) => self.memcpy(times(words)?)?,
            ("save", [elements, path @ ..]) => self.save(elements.parse()?, &path.join(" "))?,
            ("gpu", words) => self.host(&DeviceChoice::Gpu, times(words)?)?,
            ("cpu", words) => self.host(&DeviceChoice::Cpu, times(words)?)?,
            ("adapter", []) => self.adapter()?.name(),
            ("resident", words) => self.on_adapter(Work::Cast, times(words)?)?,
            ("copies", words) => self.on_adapter(Work::Copy, times(words)?)?,
            ("keep", [elements, path @ ..]) => self.keep(elements.parse()?, &path.join(" "))?,
            _ => return Err(format!("not understood: {line}").into()),
        })
    }

    fn load(&mut self, from: ElementType, elements: usize, path: &str) -> Result<String> {
        // The old tensors are freed before the next ones are made.
        (self.source, self.target, self.resident) = (None, None, None);
        let codes = std::fs::read(path)?;
        let bytes = packed_bytes(from, elements)?;
        let packed = codes.iter().copied().cycle().take(bytes).collect::<Vec<u8>>();
        self.source = Some(Tensor::from_bytes(from, [elements], packed)?);
        Ok(bytes.to_string())
    }

    fn target(&mut self, to: ElementType, threads: usize) -> Result<String> {
        (self.target, self.resident) = (None, None);
        let source = self.source()?;
        let bytes = packed_bytes(to, source.len())?;
        let copied = (source.bytes().map_or(0, <[u8]>::len) + bytes).div_ceil(2);
        // The memory is filled with ones, so that the system provides every page.
        self.target = Some(Target {
            element_type: to,
            destination: vec![1; bytes],
            copied: [vec![1; copied], vec![1; copied]],
            pool: ThreadPoolBuilder::new().num_threads(threads).start_handler(bind).build()?,
        });
        Ok(bytes.to_string())
    }

    fn cast_into(&mut self, times: u32) -> Result<String> {
        let (Some(source), Some(target)) = (&self.source, &mut self.target) else { return Err(NOTHING.into()) };
        let Target { element_type, destination, pool, .. } = target;
        seconds(pool, times, || cast_into(source, *element_type, destination))
    }

    fn cast(&self, times: u32) -> Result<String> {
        let (source, target) = self.ready()?;
        seconds(&target.pool, times, || {
            black_box(cpu::cast(source, target.element_type, &CastOptions::default())?);
            Ok(())
        })
    }

    fn memcpy(&mut self, times: u32) -> Result<String> {
        let target = self.target.as_mut().ok_or(NOTHING)?;
        let [source, destination] = &mut target.copied;
        let share = source.len().div_ceil(target.pool.current_num_threads()).max(1);
        seconds(&target.pool, times, || {
            let (source, destination) = (black_box(&*source), black_box(&mut *destination));
            let shares = source.par_chunks(share).zip(destination.par_chunks_mut(share));
            shares.for_each(|(source, destination)| destination.copy_from_slice(source));
            Ok(())
        })
    }

    fn save(&self, elements: usize, path: &str) -> Result<String> {
        let (_, target) = self.ready()?;
        let bytes = packed_bytes(target.element_type, elements)?.min(target.destination.len());
        std::fs::write(path, &target.destination[..bytes])?;
        Ok(bytes.to_string())
    }

    /// Host tensor to host tensor, by a context that is opened once.
    fn host(&mut self, device: &DeviceChoice, times: u32) -> Result<String> {
        if !self.contexts.iter().any(|(choice, _)| choice == device) {
            self.contexts.push((device.clone(), pollster::block_on(Context::open(device.clone()))?));
        }
        let (source, target) = self.ready()?;
        let context = self.contexts.iter().find_map(|(choice, context)| (choice == device).then_some(context));
        let context = context.ok_or(NOTHING)?;
        seconds(&target.pool, times, || {
            black_box(pollster::block_on(context.cast(source, target.element_type, &CastOptions::default()))?);
            Ok(())
        })
    }

    fn adapter(&mut self) -> Result<&Adapter> {
        if self.adapter.is_none() {
            self.adapter = Some(Adapter::open()?);
        }
        Ok(self.adapter.as_ref().ok_or(NOTHING)?)
    }

    /// Works on buffers of the device, which are made when they are first needed.
    fn on_adapter(&mut self, work: Work, times: u32) -> Result<String> {
        self.adapter()?;
        let adapter = self.adapter.as_ref().ok_or(NOTHING)?;
        if self.resident.is_none() {
            let (source, target) = self.ready()?;
            self.resident = Some(adapter.bind(source, target.element_type)?);
        }
        let resident = self.resident.as_ref().ok_or(NOTHING)?;
        Ok(adapter.seconds(resident, work, times as usize)?.to_string())
    }

    fn keep(&self, elements: usize, path: &str) -> Result<String> {
        let (_, target) = self.ready()?;
        let (adapter, resident) = self.adapter.as_ref().zip(self.resident.as_ref()).ok_or(NOTHING)?;
        let bytes = packed_bytes(target.element_type, elements)?;
        std::fs::write(path, adapter.read(resident, bytes)?)?;
        Ok(bytes.to_string())
    }

    fn source(&self) -> Result<&Tensor> {
        Ok(self.source.as_ref().ok_or(NOTHING)?)
    }

    fn ready(&self) -> Result<(&Tensor, &Target)> {
        Ok((self.source()?, self.target.as_ref().ok_or(NOTHING)?))
    }
}

/// Binds each thread of the pool to a core of its own if there are enough cores. Without this, a virtual machine often
/// ran both threads on one core for a whole cast or copy.
fn bind(thread: usize) {
    #[cfg(target_os = "linux")]
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    #[cfg(target_os = "linux")]
    if let Ok(allowed) = sched_getaffinity(None) {
        let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core)).collect();
        let mut own = CpuSet::new();
        own.set(cores[thread % cores.len()]);
        // If binding fails, the figures are less steady, but not wrong.
        let _ = sched_setaffinity(None, &own);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = thread;
}

const NOTHING: &str = "load and to come first";

fn packed_bytes(element_type: ElementType, elements: usize) -> Result<usize> {
    let bytes = element_type.packed_bytes(elements as u64).ok_or("too many elements, or strings")?;
    Ok(usize::try_from(bytes)?)
}

/// A cast into existing memory.
fn cast_into(source: &Tensor, to: ElementType, destination: &mut [u8]) -> Done {
    cpu::cast_into(source, to, &CastOptions::default(), destination)
}

/// The seconds of one `work`, from `times` repetitions on the pool's threads.
fn seconds(pool: &ThreadPool, times: u32, mut work: impl FnMut() -> Done + Send) -> Result<String> {
    let elapsed = pool.install(|| {
        let start = Instant::now();
        (0..times).try_for_each(|_| work())?;
        Ok::<_, wgpu_cast::Error>(start.elapsed())
    })?;
    Ok((elapsed.as_secs_f64() / f64::from(times)).to_string())
}
