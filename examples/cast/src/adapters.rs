//! `wgpu-cast adapters`: lists the adapters and the one that `--device auto` uses.

use serde_json::json;
use wgpu_cast::{AdapterSummary, Context, DeviceChoice, Error, wgpu};

use crate::args::AdaptersArgs;
use crate::failure::Failure;
use crate::output;

pub fn list(args: &AdaptersArgs) -> Result<(), Failure> {
    let adapters = pollster::block_on(wgpu_cast::adapters());
    if args.print.json {
        return print_json(&adapters);
    }
    if args.print.quiet {
        return Ok(());
    }
    for adapter in &adapters {
        let AdapterSummary { name, backend, device_type, driver, chosen, reason, .. } = adapter;
        let mark = if *chosen { "*" } else { " " };
        let kind = kind(*device_type);
        output::line(format_args!("{mark} {name} ({backend}, {kind}, {driver}): {reason}"))?;
    }
    if adapters.is_empty() {
        // Looking for an adapter gives the reason, such as an unknown backend in WGPU_BACKEND.
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

fn print_json(adapters: &[AdapterSummary]) -> Result<(), Failure> {
    for adapter in adapters {
        let AdapterSummary { name, backend, device_type, driver, chosen, reason, .. } = adapter;
        let (backend, kind) = (backend.to_string(), kind(*device_type));
        output::line(json!({
            "adapter": name, "backend": backend, "type": kind, "driver": driver, "chosen": chosen, "reason": reason,
        }))?;
    }
    let chosen = adapters.iter().find(|adapter| adapter.chosen).map(|adapter| &adapter.name);
    output::line(json!({"adapters": adapters.len(), "auto": chosen}))
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
