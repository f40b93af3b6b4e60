//! `wgpu-cast verify`: compares every cast on an adapter with the CPU implementation, bit by bit.

mod exhaustive;
mod record;
mod report;

use serde_json::json;
use wgpu_cast::{CastOptions, Context, ElementType, Error, Tensor, cpu};

use crate::args::VerifyArgs;
use crate::checks::checksums::{self, Block};
use crate::checks::numeric;
use crate::checks::options::pair_variants;
use crate::checks::verify::{differences, tensors};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::{output, session};

/// Mismatches printed before the command stops.
const SHOWN: usize = 8;

pub fn verify(args: &VerifyArgs) -> Result<(), Failure> {
    if args.exhaustive || args.checksums { exhaustive::verify(args) } else { difficult(args) }
}

/// What was cast before the command ended.
#[derive(Default)]
struct Seen {
    pairs: u64,
    casts: u64,
    elements: u64,
    mismatches: Vec<String>,
    checksum: Block,
    /// Why the device failed, if it did.
    failure: Option<Failure>,
}

/// Compares casts of difficult codes and of random codes.
fn difficult(args: &VerifyArgs) -> Result<(), Failure> {
    let context = pollster::block_on(session::open(args.device.adapter_choice()?))?;
    let casts: usize = pairs(args).map(|(from, to)| pair_variants(from, to).len()).sum();
    let mut progress = Progress::of_steps(casts as u64, args.print.is_silent());
    let mut seen = Seen::default();
    all(args, &context, &mut seen, &mut progress)?;
    let seconds = progress.stop();

    let Seen { pairs, casts, elements, mismatches, checksum, failure } = seen;
    let (adapter, equal) = (adapter_name(&context), mismatches.is_empty());
    let checksum = checksums::text(checksum.finish());
    if args.report {
        let counts = [("pairs", pairs), ("casts", casts), ("elements", elements)];
        let lines = [format!("checksum of all results: {checksum}")];
        report::print(Some(&context), &counts, seconds, &lines, &mismatches, failure.as_ref())?;
    } else if args.print.json {
        output::line(json!({
            "adapter": adapter, "pairs": pairs, "casts": casts, "elements": elements, "seconds": seconds,
            "equal": equal, "mismatches": mismatches, "checksum": checksum,
            "failure": failure.as_ref().map(ToString::to_string),
        }))?;
    } else if !equal {
        mismatches.iter().try_for_each(output::line)?;
    }
    if let Some(failure) = failure {
        return Err(failure);
    }
    if !equal {
        return Err(Failure::Work(format!("{adapter}: results differ from the CPU")));
    }
    if args.print.is_silent() || args.report {
        return Ok(());
    }
    let [pairs, casts, elements] =
        [(pairs, "pair"), (casts, "cast"), (elements, "element")].map(|(number, unit)| output::counted(number, unit));
    output::line(format_args!("{adapter}: {pairs}, {casts}, {elements}. OK: all results bit-identical to the CPU"))
}

/// The pairs that the arguments ask for.
fn pairs(args: &VerifyArgs) -> impl Iterator<Item = (ElementType, ElementType)> {
    let (only_from, only_to) = (args.from, args.to);
    let sources = numeric().filter(move |from| only_from.is_none_or(|only| only == *from));
    let targets = move || numeric().filter(move |to| only_to.is_none_or(|only| only == *to));
    sources.flat_map(move |from| targets().map(move |to| (from, to)))
}

/// Casts until the device fails or enough mismatches are found.
///
/// # Errors
/// Printing fails.
fn all(args: &VerifyArgs, context: &Context, seen: &mut Seen, progress: &mut Progress) -> Result<(), Failure> {
    let mut sources: Option<(ElementType, Vec<Tensor>)> = None;
    for (from, to) in pairs(args) {
        if sources.as_ref().is_none_or(|(of, _)| *of != from) {
            sources = Some((from, tensors(from, args.random, args.seed)?));
        }
        let (known, before) = (seen.mismatches.len(), seen.elements);
        for options in pair_variants(from, to) {
            for tensor in sources.iter().flat_map(|(_, tensors)| tensors) {
                if let Err(error) = compare(context, tensor, to, &options, &mut seen.mismatches, &mut seen.checksum) {
                    seen.failure = Some(error.into());
                    return Ok(());
                }
                seen.elements += tensor.len() as u64;
                if seen.mismatches.len() >= SHOWN {
                    return Ok(());
                }
            }
            seen.casts += 1;
            progress.advance(1, &format!("{from} -> {to}"));
        }
        seen.pairs += 1;
        if args.print.json {
            let (equal, elements) = (seen.mismatches.len() == known, seen.elements - before);
            output::line(json!({"from": from.name(), "to": to.name(), "elements": elements, "equal": equal}))?;
        }
    }
    Ok(())
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
