//! `cast adapters`: lists the adapters and the one that `--device auto` uses.

use wgpu_cast::wgpu;

use crate::failure::Failure;
use crate::output;

pub fn list() -> Result<(), Failure> {
    let adapters = pollster::block_on(wgpu_cast::adapters());
    for adapter in &adapters {
        let wgpu_cast::AdapterSummary { name, backend, device_type, driver, chosen, reason, .. } = adapter;
        let mark = if *chosen { "*" } else { " " };
        let kind = kind(*device_type);
        output::line(format_args!("{mark} {name} ({backend}, {kind}, {driver}): {reason}"))?;
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

fn kind(device_type: wgpu::DeviceType) -> &'static str {
    match device_type {
        wgpu::DeviceType::DiscreteGpu => "discrete GPU",
        wgpu::DeviceType::IntegratedGpu => "integrated GPU",
        wgpu::DeviceType::VirtualGpu => "virtual GPU",
        wgpu::DeviceType::Cpu => "software",
        wgpu::DeviceType::Other => "unknown type",
    }
}
