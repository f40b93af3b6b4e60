//! `cast adapters`: what there is, what would be chosen, and why.

use crate::failure::Failure;

pub fn list() -> Result<(), Failure> {
    let adapters = pollster::block_on(wgpu_cast::adapters());
    for adapter in &adapters {
        let wgpu_cast::AdapterSummary { name, backend, device_type, driver, chosen, reason, .. } = adapter;
        let mark = if *chosen { "*" } else { " " };
        println!("{mark} {name} ({backend}, {device_type:?}, {driver}): {reason}");
    }
    if adapters.is_empty() {
        println!("no GPU adapter found");
    }
    if !adapters.iter().any(|adapter| adapter.chosen) {
        println!("--device auto casts on the CPU");
    }
    Ok(())
}
