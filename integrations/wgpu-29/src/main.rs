//! Plans of wgpu-cast on wgpu 29: every pair of numeric types, compared with the CPU path. Fails if a bit differs.

mod engine;

use std::error::Error;
use std::process::ExitCode;

use support::numeric;
use support::planned::SourceCodes;

use engine::Engine;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut engine = Engine::open()?;
    let (mut pairs, mut casts, mut elements, mut wrong) = (0, 0, 0, 0);
    for from in numeric() {
        let codes = SourceCodes::new(from);
        for to in numeric() {
            for (variant, cast) in codes.casts(to) {
                let after = engine.run(&cast.plan, &cast.before)?;
                if after != cast.after {
                    let byte = (0..after.len()).find(|&i| after[i] != cast.after[i]);
                    eprintln!("{from} to {to}, {variant}: byte {byte:?} of {} differs", after.len());
                    wrong += 1;
                }
                casts += 1;
                elements += cast.elements;
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
