//! Plans of wgpu-cast on wgpu 29: every pair of numeric types, compared with the CPU path. Fails if a bit differs.

mod engine;

use std::error::Error;
use std::process::ExitCode;

use support::numeric;
use support::planned::{Layout, PlannedCast, codes};
use wgpu_cast::PlanSettings;

use engine::Engine;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut engine = Engine::open()?;
    let mut settings = PlanSettings::default();
    // The main kernels for short tensors too.
    settings.tuning.blocks_from = Some(0);
    let (mut pairs, mut casts, mut elements, mut wrong) = (0, 0, 0, 0);
    for from in numeric() {
        let codes: Vec<_> = Layout::all().map(|layout| (layout, codes(from, layout))).collect();
        for to in numeric() {
            for (layout, codes) in &codes {
                let cast = PlannedCast::new(from, to, *layout, codes, settings);
                let after = engine.run(&cast.plan, &cast.before)?;
                if after != cast.after {
                    let byte = (0..after.len()).find(|&i| after[i] != cast.after[i]);
                    eprintln!("{from} to {to}, {layout:?}: byte {byte:?} of {} differs", after.len());
                    wrong += 1;
                }
                casts += 1;
                elements += codes.len();
            }
            pairs += 1;
            engine.forget();
        }
    }
    let adapter = &engine.adapter;
    println!(
        "wgpu 29, {} ({}): {pairs} pairs, {casts} casts of {elements} elements, {wrong} differ from the CPU path",
        adapter.name, adapter.backend
    );
    Ok(if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
