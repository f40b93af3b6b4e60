//! `cast adapters`: what there is, what would be chosen, and why.

use crate::failure::Failure;
use crate::output;

pub fn list() -> Result<(), Failure> {
    let adapters = pollster::block_on(wgpu_cast::adapters());
    for adapter in &adapters {
        let wgpu_cast::AdapterSummary { name, backend, device_type, driver, chosen, reason, .. } = adapter;
        let mark = if *chosen { "*" } else { " " };
        output::line(format_args!("{mark} {name} ({backend}, {device_type:?}, {driver}): {reason}"))?;
    }
    if adapters.is_empty() {
        output::line("no GPU adapter found")?;
    }
    if !adapters.iter().any(|adapter| adapter.chosen) {
        output::line("--device auto casts on the CPU")?;
    }
    Ok(())
}
