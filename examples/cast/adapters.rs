//! `cast adapters`: lists the adapters and the one that `--device auto` uses.

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
    let auto = match adapters.iter().any(|adapter| adapter.chosen) {
        true => "--device auto uses the adapter marked with *",
        false => "--device auto casts on the CPU",
    };
    output::line(auto)?;
    Ok(())
}
