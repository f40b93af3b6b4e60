//! The report of `wgpu-cast verify --report`: Markdown to paste into an issue.

use wgpu_cast::Context;

use crate::failure::Failure;
use crate::output;
use crate::text::printable;

/// Prints the report. `counts` are the numbers of what was done, `lines` the checksums, `wrong` the unexpected results,
/// and `failure` the reason for an early end.
///
/// # Errors
/// Writing to stdout fails.
pub fn print(
    context: Option<&Context>,
    counts: &[(&str, u64)],
    seconds: f64,
    lines: &[String],
    wrong: &[String],
    failure: Option<&Failure>,
) -> Result<(), Failure> {
    let mut rows = vec![
        ("wgpu-cast".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        ("system".to_owned(), format!("{} {}", std::env::consts::OS, std::env::consts::ARCH)),
    ];
    rows.extend(device(context));
    rows.extend(counts.iter().map(|(what, number)| ((*what).to_owned(), number.to_string())));
    rows.push(("seconds".to_owned(), format!("{seconds:.1}")));
    let result = match (wrong, failure) {
        ([], None) => "all results as expected",
        ([], Some(_)) => "FAILED, see below",
        _ => "WRONG RESULTS, see below",
    };
    rows.push(("result".to_owned(), result.to_owned()));

    let mut text = String::from("| `wgpu-cast verify` | |\n|---|---|\n");
    for (name, value) in &rows {
        text += &format!("| {name} | {} |\n", printable(value).replace('|', "\\|"));
    }
    let wrong: Vec<_> = wrong.iter().cloned().chain(failure.map(ToString::to_string)).collect();
    for block in [&wrong[..], lines] {
        if !block.is_empty() {
            text += &format!("\n```text\n{}\n```\n", block.join("\n"));
        }
    }
    text.lines().try_for_each(output::line)
}

/// The adapter, its driver and its limits.
fn device(context: Option<&Context>) -> Vec<(String, String)> {
    let (Some(info), Some(device)) = (context.and_then(Context::adapter_info), context.and_then(Context::device))
    else {
        return vec![("device".to_owned(), "CPU".to_owned())];
    };
    let limits = device.limits();
    let numbers = [
        ("largest buffer", limits.max_buffer_size),
        ("largest storage binding", limits.max_storage_buffer_binding_size),
        ("alignment of storage bindings", u64::from(limits.min_storage_buffer_offset_alignment)),
        ("workgroups in a dimension", u64::from(limits.max_compute_workgroups_per_dimension)),
        ("invocations in a workgroup", u64::from(limits.max_compute_invocations_per_workgroup)),
        ("bytes of immediates", u64::from(limits.max_immediate_size)),
    ];
    let texts = [
        (
            "adapter",
            format!("{} ({:?}, vendor {:#06x}, device {:#06x})", info.name, info.device_type, info.vendor, info.device),
        ),
        ("backend", info.backend.to_string()),
        ("driver", format!("{} {}", info.driver, info.driver_info)),
    ];
    let numbers = numbers.map(|(name, value)| (name.to_owned(), value.to_string()));
    let skipped = context.and_then(Context::skipped_adapters).map(|why| ("adapters that do not work", why.to_owned()));
    let texts = texts.into_iter().chain(skipped).map(|(name, value)| (name.to_owned(), value));
    texts.chain(numbers).collect()
}
