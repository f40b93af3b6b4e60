//! `cast adapters`: lists the adapters and the one that `--device auto` uses.

use wgpu_cast::{Context, DeviceChoice, Error, wgpu};

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
        // Looking for one gives the reason, such as an unknown backend in WGPU_BACKEND.
        let reason = match pollster::block_on(Context::open(DeviceChoice::Gpu)) {
            Err(Error::NoAdapter { reason, .. }) => format!(": {reason}"),
            _ => String::new(),
        };
        output::line(format_args!("no GPU adapter found{reason}"))?;
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
