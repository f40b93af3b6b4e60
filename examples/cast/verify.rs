//! `cast verify`: an adapter against the CPU path, bit for bit.

use indicatif::{ProgressBar, ProgressStyle};
use wgpu_cast::{CastOptions, Context, ElementType, Error, Tensor, cpu};

use crate::args::{VerifyArgs, numeric};
use crate::cases;
use crate::failure::Failure;

/// Mismatches printed before giving up.
const SHOWN: usize = 8;

/// Codes of narrow sources are repeated up to this many elements, so that the kernel for whole blocks is reached and
/// every code stands in every lane.
const LEAST: usize = 1 << 14;

pub fn verify(args: &VerifyArgs) -> Result<(), Failure> {
    let context = pollster::block_on(Context::open(args.device.adapter_choice()?))?;
    let sources = || numeric().filter(|from| args.from.is_none_or(|only| only == *from));
    let targets = || numeric().filter(|to| args.to.is_none_or(|only| only == *to));
    let pairs = sources().count() * targets().count();
    let casts: usize = sources().flat_map(|from| targets().map(move |to| cases::variants(from, to).len())).sum();
    let bar = progress_bar(casts);

    let mut elements = 0;
    let mut mismatches = Vec::new();
    for from in sources() {
        let source = source(from, args)?;
        for to in targets() {
            bar.set_message(format!("{from} -> {to}"));
            for options in cases::variants(from, to) {
                compare(&context, &source, to, &options, &mut mismatches)?;
                elements += source.len();
                bar.inc(1);
                if mismatches.len() >= SHOWN {
                    return Err(failed(&bar, &context, &mismatches));
                }
            }
        }
    }
    if !mismatches.is_empty() {
        return Err(failed(&bar, &context, &mismatches));
    }
    bar.finish_and_clear();
    println!("{}: {pairs} pairs, {casts} casts, {elements} elements, each as on the CPU", adapter_name(&context));
    Ok(())
}

fn failed(bar: &ProgressBar, context: &Context, mismatches: &[String]) -> Failure {
    bar.finish_and_clear();
    mismatches.iter().for_each(|line| println!("{line}"));
    Failure::Work(format!("{} differs from the CPU path", adapter_name(context)))
}

/// Name and backend of the adapter in use.
pub fn adapter_name(context: &Context) -> String {
    context.adapter_info().map_or("no adapter".to_owned(), |info| format!("{} ({})", info.name, info.backend))
}

/// A progress bar on stderr; nothing where that is no terminal.
pub fn progress_bar(steps: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} {msg} {eta}").expect("the template is right");
    ProgressBar::new(steps as u64).with_style(style)
}

fn source(from: ElementType, args: &VerifyArgs) -> Result<Tensor, Error> {
    let mut codes = cases::codes(from);
    if from.bits() > Some(16) {
        codes.extend(cases::random(from, args.random as usize, args.seed));
    }
    let rounds = LEAST.div_ceil(codes.len());
    let shifted = |round: usize| codes[round % codes.len()..].iter().chain(&codes[..round % codes.len()]);
    // A few more make whole blocks impossible: the last elements are another kernel's.
    let all: Vec<u64> = (0..rounds).flat_map(shifted).chain(&codes[..3]).copied().collect();
    Tensor::from_codes(from, [all.len()], all)
}

/// Casts on both, and describes the first elements that differ.
fn compare(
    context: &Context,
    source: &Tensor,
    to: ElementType,
    options: &CastOptions,
    mismatches: &mut Vec<String>,
) -> Result<(), Error> {
    let (found, _) = pollster::block_on(context.cast(source, to, options))?;
    let expected = cpu::cast(source, to, options)?;
    if found == expected {
        return Ok(());
    }
    let from = source.element_type();
    let digits = |t: ElementType| 2 + t.bits().unwrap_or(0).div_ceil(4) as usize;
    let (wide, narrow) = (digits(from), digits(to));
    let codes = source.codes().zip(found.codes().zip(expected.codes())).enumerate();
    let differing = codes.filter(|(_, (_, (found, expected)))| found != expected);
    let lines = differing.map(|(index, (code, (found, expected)))| {
        let told = format!("saturate {}, {:?}", options.saturate, options.round_mode);
        let rules = format!("{:?}, {:?}", options.int4_overflow, options.float4_nan);
        format!(
            "{from} -> {to} ({told}, {rules}), element {index}: {code:#0wide$x} gives {found:#0narrow$x} on the adapter, \
             {expected:#0narrow$x} on the CPU"
        )
    });
    mismatches.extend(lines.take(SHOWN - mismatches.len()));
    Ok(())
}
