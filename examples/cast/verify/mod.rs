//! `cast verify`: compares every cast on an adapter with the CPU implementation, bit by bit.

mod exhaustive;
mod record;
mod report;

use serde_json::json;
use support::cases;
use support::checksums::{self, Block};
use support::options::pair_variants;
use support::tier::Tier;
use wgpu_cast::wgsl::{self, Kernel, KernelVariant};
use wgpu_cast::{CastOptions, Context, ElementType, Error, Tensor, cpu};

use crate::args::{VerifyArgs, numeric};
use crate::failure::Failure;
use crate::output;
use crate::progress::Progress;

/// Mismatches printed before the command stops.
const SHOWN: usize = 8;

/// The maximum number of small tensors per source type.
const SMALL: usize = 16;

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
        let tensors = tensors(from, args)?;
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

/// The tensors that are cast from one type: a long one, which uses the main kernel for all but its end, and small ones,
/// which use the edge kernel.
fn tensors(from: ElementType, args: &VerifyArgs) -> Result<Vec<Tensor>, Error> {
    let mut codes = cases::codes_of(from, Tier::Full);
    if from.bits() > Some(16) {
        codes.extend(cases::random(from, args.random as usize, args.seed));
    }
    let elements = |kernel: Kernel| (kernel.elements_per_invocation() * kernel.workgroup_size()) as usize;
    let kernel = |to| wgsl::kernel(from, to, &CastOptions::default(), KernelVariant::Table);
    let workgroups = numeric().map(|to| kernel(to).map(elements));
    let workgroups: Vec<usize> = workgroups.collect::<Result<_, _>>()?;
    let (fewest, most) = (workgroups.iter().min().unwrap_or(&2), workgroups.iter().max().unwrap_or(&2));

    // Few codes are repeated, each time one place further on, so that each stands in every lane.
    let rounds = (2 * most).div_ceil(codes.len());
    let shifted = |round: usize| {
        let (end, begin) = codes.split_at(round % codes.len());
        begin.iter().chain(end)
    };
    let long = (0..rounds).flat_map(shifted).chain(&codes[..3]).copied().collect();
    let step = codes.len().div_ceil(fewest - 1);
    let small = (0..step.min(SMALL)).map(|first| codes.iter().skip(first).step_by(step).copied().collect());
    let tensor = |codes: Vec<u64>| Tensor::from_codes(from, [codes.len()], codes);
    std::iter::once(long).chain(small).map(tensor).collect()
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

/// Describes the first `most` elements that differ.
fn differences(source: &Tensor, found: &Tensor, expected: &Tensor, options: &CastOptions, most: usize) -> Vec<String> {
    if found == expected {
        return Vec::new();
    }
    let (from, to) = (source.element_type(), found.element_type());
    let digits = |t: ElementType| 2 + t.bits().unwrap_or(0).div_ceil(4) as usize;
    let (wide, narrow) = (digits(from), digits(to));
    let codes = source.codes().zip(found.codes().zip(expected.codes())).enumerate();
    let differing = codes.filter(|(_, (_, (found, expected)))| found != expected);
    let lines = differing.map(|(index, (code, (found, expected)))| {
        let told = format!("saturate={}, round_mode={}", options.saturate, options.round_mode);
        let rules = format!("int4_overflow={:?}, float4_nan={:?}", options.int4_overflow, options.float4_nan);
        format!(
            "{from} -> {to} ({told}, {rules}), element {index}: {code:#0wide$x} becomes {found:#0narrow$x}, \
             expected {expected:#0narrow$x}"
        )
    });
    lines.take(most).collect()
}
