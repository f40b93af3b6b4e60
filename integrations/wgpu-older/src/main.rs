//! Plans of wgpu-cast on older versions of wgpu: every pair of numeric types, compared with the CPU path. Fails if a bit differs.
//!
//!     wgpu-cast-wgpu-older [VERSION...]     by default all versions

mod on_27;
mod on_29;

use std::error::Error;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use support::numeric;
use support::planned::SourceCodes;
use wgpu_cast::{ElementType, Plan};

type Failure = Box<dyn Error + Send + Sync>;

/// A version of wgpu with a device.
trait Runner {
    /// The adapter.
    fn name(&self) -> String;

    /// Drops all pipelines.
    fn forget(&mut self);

    /// Runs a plan on buffers with these bytes, the source's and the destination's or one for both. Returns the bytes of the last
    /// one.
    fn run(&mut self, plan: &Plan, before: &[Vec<u8>]) -> Result<Vec<u8>, Failure>;
}

/// Opens the default device of a version.
type Open = fn() -> Result<Box<dyn Runner>, Failure>;

const VERSIONS: [(&str, Open); 2] =
    [("27", || Ok(Box::new(on_27::engine::Engine::open()?))), ("29", || Ok(Box::new(on_29::engine::Engine::open()?)))];

fn main() -> Result<ExitCode, Failure> {
    let chosen: Vec<_> = std::env::args().skip(1).collect();
    if let Some(unknown) = chosen.iter().find(|name| VERSIONS.iter().all(|(version, _)| version != name)) {
        return Err(
            format!("{unknown}: this program has wgpu {}", VERSIONS.map(|(version, _)| version).join(" and ")).into()
        );
    }
    let mut wrong = 0;
    for (version, open) in VERSIONS {
        if chosen.is_empty() || chosen.iter().any(|name| name == version) {
            wrong += compare(version, open)?;
        }
    }
    Ok(if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What was compared.
#[derive(Default)]
struct Tally {
    adapter: String,
    pairs: usize,
    casts: usize,
    elements: usize,
    wrong: usize,
}

/// Runs all casts, on as many devices at once as there are processors: most of the time, a driver compiles kernels on the thread that
/// waits for them. Returns the number of casts that differ from the CPU path.
fn compare(version: &str, open: Open) -> Result<usize, Failure> {
    let sources: Vec<_> = numeric().collect();
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut runner = open()?;
        let mut tally = Tally { adapter: runner.name(), ..Default::default() };
        while let Some(&from) = sources.get(next.fetch_add(1, Ordering::Relaxed)) {
            compare_from(version, from, &mut *runner, &mut tally)?;
        }
        Ok::<_, Failure>(tally)
    };
    let tallies: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> = (0..thread::available_parallelism()?.get()).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().map(|worker| worker.join().expect("no worker panics")).collect::<Result<_, Failure>>()
    })?;
    let sum = |count: fn(&Tally) -> usize| tallies.iter().map(count).sum::<usize>();
    let wrong = sum(|tally| tally.wrong);
    println!(
        "wgpu {version}, {}: {} pairs, {} casts of {} elements, {wrong} differ from the CPU path",
        tallies[0].adapter,
        sum(|tally| tally.pairs),
        sum(|tally| tally.casts),
        sum(|tally| tally.elements),
    );
    Ok(wrong)
}

/// Runs all casts from a type.
fn compare_from(version: &str, from: ElementType, runner: &mut dyn Runner, tally: &mut Tally) -> Result<(), Failure> {
    let codes = SourceCodes::new(from);
    for to in numeric() {
        for (variant, cast) in codes.casts(to) {
            let after = runner.run(&cast.plan, &cast.before)?;
            if after != cast.after {
                let byte = (0..after.len()).find(|&i| after[i] != cast.after[i]);
                eprintln!("wgpu {version}: {from} to {to}, {variant}: byte {byte:?} of {} differs", after.len());
                tally.wrong += 1;
            }
            tally.casts += 1;
            tally.elements += cast.elements;
        }
        tally.pairs += 1;
        runner.forget();
    }
    Ok(())
}
