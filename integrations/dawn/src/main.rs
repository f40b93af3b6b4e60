//! Writes plans of every pair of numeric types into a folder: for each pair FROM-TO.json with the kernels and the
//! dispatches, and FROM-TO.bin with the bytes of the buffers before the casts and after them.

use std::error::Error;
use std::path::Path;

use serde_json::{Value, json};
use support::numeric;
use support::planned::SourceCodes;
use wgpu_cast::{Plan, Side};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).ok_or("the folder is missing")?;
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder)?;
    for from in numeric() {
        let codes = SourceCodes::new(from);
        for to in numeric() {
            let mut data = Vec::new();
            let casts: Vec<Value> = codes
                .casts(to)
                .map(|(variant, cast)| {
                    json!({
                        "variant": variant.to_string(),
                        "elements": cast.elements,
                        "plan": plan(&cast.plan),
                        "before": cast.before.iter().map(|bytes| range(&mut data, bytes)).collect::<Vec<_>>(),
                        "after": range(&mut data, &cast.after),
                    })
                })
                .collect();
            let path = folder.join(format!("{from}-{to}"));
            std::fs::write(path.with_extension("bin"), data)?;
            std::fs::write(path.with_extension("json"), serde_json::to_vec(&casts)?)?;
        }
    }
    Ok(())
}

/// All that a plan says.
fn plan(plan: &Plan) -> Value {
    let kernels: Vec<&str> = plan.kernels().iter().map(|kernel| kernel.wgsl()).collect();
    let dispatches: Vec<Value> = plan
        .dispatches()
        .iter()
        .map(|dispatch| {
            let bindings: Vec<Value> = dispatch
                .bindings()
                .map(|bound| {
                    let side = match bound.side {
                        Side::Source => "source",
                        Side::Destination => "destination",
                    };
                    json!({ "binding": bound.binding, "side": side, "offset": bound.offset, "size": bound.size })
                })
                .collect();
            json!({
                "kernel": dispatch.kernel(),
                "workgroups": dispatch.workgroups(),
                "parameters": dispatch.parameters(),
                "bindings": bindings,
            })
        })
        .collect();
    json!({ "kernels": kernels, "dispatches": dispatches })
}

/// Appends bytes to the data. Returns where they start and end.
fn range(data: &mut Vec<u8>, bytes: &[u8]) -> [usize; 2] {
    let start = data.len();
    data.extend_from_slice(bytes);
    [start, data.len()]
}
