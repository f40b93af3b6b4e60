//! wgpu-cast on the tensors, device and queue of the deep-learning framework Burn: whether the bits are right, and what
//! it costs beside burn's own casts. Fails where a bit differs. With `serve` it answers benches/peers/llvmpipe.py instead.

mod compare;
mod device;
mod extension;
mod serve;
mod timing;

use std::process::ExitCode;

use device::{Burn, Result};

fn main() -> Result<ExitCode> {
    let burn = Burn::start()?;
    if std::env::args().nth(1).is_some_and(|argument| argument == "serve") {
        serve::run(&burn)?;
        return Ok(ExitCode::SUCCESS);
    }
    let adapter = burn.setup.adapter.get_info();
    println!(
        "{} ({:?}, {}), opened by burn: {}\n",
        adapter.name,
        adapter.backend,
        adapter.driver_info,
        burn.client.name()
    );
    let equal = compare::run(&burn)?;
    println!();
    timing::casts(&burn)?;
    println!();
    timing::host(&burn)?;
    Ok(if equal { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
