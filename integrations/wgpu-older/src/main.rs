//! Plans of wgpu-cast on older versions of wgpu: every pair of numeric types, compared with the CPU path. Fails if a bit differs.
//!
//!     wgpu-cast-wgpu-older [VERSION...]     by default all versions

mod on_27;
mod on_29;

use std::error::Error;
use std::process::ExitCode;

use support::numeric;
use support::planned::SourceCodes;
use wgpu_cast::Plan;

/// A version of wgpu with a device.
trait Runner {
    /// The adapter.
    fn name(&self) -> String;

    /// Drops all pipelines.
    fn forget(&mut self);

    /// Runs a plan on buffers with these bytes, the source's and the destination's or one for both. Returns the bytes of the last
    /// one.
    fn run(&mut self, plan: &Plan, before: &[Vec<u8>]) -> Result<Vec<u8>, Box<dyn Error>>;
}

/// Opens the default device of a version.
type Open = fn() -> Result<Box<dyn Runner>, Box<dyn Error>>;

const VERSIONS: [(&str, Open); 2] =
    [("27", || Ok(Box::new(on_27::engine::Engine::open()?))), ("29", || Ok(Box::new(on_29::engine::Engine::open()?)))];

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let chosen: Vec<_> = std::env::args().skip(1).collect();
    if let Some(unknown) = chosen.iter().find(|name| VERSIONS.iter().all(|(version, _)| version != name)) {
        return Err(
            format!("{unknown}: this program has wgpu {}", VERSIONS.map(|(version, _)| version).join(" and ")).into()
        );
    }
    let mut wrong = 0;
    for (version, open) in VERSIONS {
        if chosen.is_empty() || chosen.iter().any(|name| name == version) {
            wrong += compare(version, &mut *open()?)?;
        }
    }
    Ok(if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs all casts. Returns the number of those that differ from the CPU path.
fn compare(version: &str, runner: &mut dyn Runner) -> Result<u32, Box<dyn Error>> {
    let (mut pairs, mut casts, mut elements, mut wrong) = (0, 0, 0, 0);
    for from in numeric() {
        let codes = SourceCodes::new(from);
        for to in numeric() {
            for (variant, cast) in codes.casts(to) {
                let after = runner.run(&cast.plan, &cast.before)?;
                if after != cast.after {
                    let byte = (0..after.len()).find(|&i| after[i] != cast.after[i]);
                    eprintln!("wgpu {version}: {from} to {to}, {variant}: byte {byte:?} of {} differs", after.len());
                    wrong += 1;
                }
                casts += 1;
                elements += cast.elements;
            }
            pairs += 1;
            runner.forget();
        }
    }
    let adapter = runner.name();
    println!(
        "wgpu {version}, {adapter}: {pairs} pairs, {casts} casts of {elements} elements, {wrong} differ from the CPU path"
    );
    Ok(wrong)
}
