//! Plans as text.

use serde_json::json;
use wasm_bindgen::prelude::*;
use wgpu_cast::{CastSpec, Placement, Plan, PlanSettings, Position, Side};

use crate::options::{self, JsOptions};
use crate::{error, named};

/// The dispatches of a cast between two aligned buffers, as JSON, for programs that record them themselves.
///
/// # Errors
/// A type or an option is unknown, or a buffer would be too large.
#[wasm_bindgen]
pub fn plan(from: &str, to: &str, elements: f64, options: &JsOptions) -> Result<String, JsValue> {
    let spec = CastSpec::new(named(from)?, named(to)?).with_options(options::parse(options)?);
    let plan = Plan::new(
        &spec,
        elements as u64,
        &Placement::two_buffers(Position::whole(0), Position::whole(0)),
        &PlanSettings::default(),
    );
    let plan = plan.map_err(|e| error::cast(&e))?;
    let kernels: Vec<&str> = plan.kernels().iter().map(|kernel| kernel.wgsl()).collect();
    let dispatches: Vec<_> = plan
        .dispatches()
        .iter()
        .map(|dispatch| {
            let bindings: Vec<_> = dispatch
                .bindings()
                .map(|bound| {
                    let side = if bound.side == Side::Source { "source" } else { "destination" };
                    json!({ "binding": bound.binding, "side": side, "offset": bound.offset, "size": bound.size })
                })
                .collect();
            json!({
                "kernel": dispatch.kernel(), "workgroups": dispatch.workgroups(),
                "parameters": dispatch.parameters(),
                "bindings": bindings,
            })
        })
        .collect();
    Ok(json!({ "kernels": kernels, "dispatches": dispatches }).to_string())
}
