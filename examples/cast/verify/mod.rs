//! `cast verify`: compares every cast on an adapter with the CPU implementation, bit by bit.

mod exhaustive;
mod record;
mod report;

use serde_json::json;
use support::checksums::{self, Block};
use support::options::pair_variants;
use support::verify::{differences, tensors};
use wgpu_cast::{CastOptions, Context, ElementType, Error, Tensor, cpu};

use crate::args::{VerifyArgs, numeric};
use crate::failure::Failure;
use crate::output;
use crate::progress::Progress;

/// Mismatches printed before the command stops.
const SHOWN: usize = 8;

pub fn verify(args: &VerifyArgs) -> Result<(), Failure> {
    if args.exhaustive || args.checksums { exhaustive::verify(args) } else { difficult(args) }
}

/// Compares casts of difficult and of random codes.
fn difficult(args: &VerifyArgs) -> Result<(), Failure> {
    let context = pollster::block_on(Context::open(args.device.adapter_choice()?))?;
    let sources = || numeric().filter(|from| args.from.is_none_or(|only| only == *from));
    let targets = || numeric().filter(|to| args.to.is_none_or(|only| only == *to));
    let pairs = sources().count() * targets().count();
    let casts: usize = sources().flat_map(|from| targets().map(move |to| pair_variants(from, to).len())).sum();
    let mut progress = Progress::of_steps(casts as u64, args.print.is_silent());

    let mut elements = 0;
    let mut mismatches = Vec::new();
    let mut checksum = Block::default();
    'all: for from in sources() {
        let tensors = tensors(from, args.random, args.seed)?;
        for to in targets() {
            let (known, before) = (mismatches.len(), elements);
            for options in pair_variants(from, to) {
                for tensor in &tensors {
                    compare(&context, tensor, to, &options, &mut mismatches, &mut checksum)?;
                    elements += tensor.len();
                    if mismatches.len() >= SHOWN {
                        break 'all;
                    }
                }
                progress.advance(1, &format!("{from} -> {to}"));
            }
            if args.print.json {
                let (equal, elements) = (mismatches.len() == known, elements - before);
                output::line(json!({"from": from.name(), "to": to.name(), "elements": elements, "equal": equal}))?;
            }
        }
    }
    let seconds = progress.stop();
    let (adapter, equal) = (adapter_name(&context), mismatches.is_empty());
    if args.print.json {
        output::line(json!({
            "adapter": adapter, "pairs": pairs, "casts": casts, "elements": elements, "seconds": seconds,
            "equal": equal, "mismatches": mismatches, "checksum": checksums::text(checksum.finish()),
        }))?;
    } else if args.report {
        let counts = [("pairs", pairs as u64), ("casts", casts as u64), ("elements", elements as u64)];
        let checksum = format!("checksum of all results: {}", checksums::text(checksum.finish()));
        report::print(Some(&context), &counts, seconds, &[checksum], &mismatches)?;
    } else if !equal {
        output::line(mismatches.join("\n"))?;
    }
    if !equal {
        return Err(Failure::Work(format!("{adapter}: results differ from the CPU")));
    }
    if args.print.is_silent() || args.report {
        return Ok(());
    }
    let [pairs, casts, elements] = [(pairs, "pair"), (casts, "cast"), (elements, "element")]
        .map(|(number, unit)| output::counted(number as u64, unit));
    let done = format!("{adapter}: {pairs}, {casts}, {elements}");
    output::line(format_args!("{done}. OK: all results bit-identical to the CPU"))
}

/// Name and backend of the adapter in use.
pub fn adapter_name(context: &Context) -> String {
    context.adapter_info().map_or("no adapter".to_owned(), |info| format!("{} ({})", info.name, info.backend))
}

/// Casts on the adapter and on the CPU, and describes the first elements that differ.
fn compare(
    context: &Context,
    source: &Tensor,
    to: ElementType,
    options: &CastOptions,
    mismatches: &mut Vec<String>,
    checksum: &mut Block,
) -> Result<(), Error> {
    let (found, _) = pollster::block_on(context.cast(source, to, options))?;
    let expected = cpu::cast(source, to, options)?;
    checksum.update(found.bytes().unwrap_or_default());
    mismatches.extend(differences(source, &found, &expected, options, SHOWN - mismatches.len()));
    Ok(())
}
