//! `wgpu-cast verify --exhaustive` and `--checksums`: casts all inputs, in blocks, and computes checksums of the results.

use std::error::Error;
use std::fmt;
use std::sync::Mutex;

use rayon::ThreadPoolBuilder;
use rayon::prelude::*;
use serde_json::json;
use wgpu_cast::{Context, DeviceChoice, Tensor, cpu};

use super::record::Record;
use super::{SHOWN, adapter_name, report};
use crate::args::VerifyArgs;
use crate::checks::checksums::{self, Block, Case};
use crate::checks::inputs::Inputs;
use crate::checks::verify::differences;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::{output, session};

/// The number of inputs that are cast at once on an adapter.
const ON_ADAPTER: u64 = 1 << 23;

/// Where the casts run.
struct Device {
    /// `None` on the CPU.
    context: Option<Context>,
    name: String,
    /// The first results that differ from those of the CPU.
    mismatches: Mutex<Vec<String>>,
}

/// A cast that is done.
struct Done {
    case: Case,
    checksum: u64,
}

impl Done {
    /// Whether the checksum is the recorded one, if there is one.
    fn is_equal(&self) -> Option<bool> {
        self.case.recorded.map(|recorded| recorded == self.checksum)
    }
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.case, checksums::text(self.checksum))
    }
}

pub fn verify(args: &VerifyArgs) -> Result<(), Failure> {
    let cases = checksums::cases(args.from, args.to, args.checksums);
    let device = Device::open(args)?;
    let blocks: u64 = cases.iter().map(Case::blocks).sum();
    let record = args.record.as_deref().map(|path| Record::open(path, &device.name)).transpose()?;
    let progress = Mutex::new(Progress::of_steps(blocks, args.print.is_silent()));

    let (mut all, mut failure) = (Vec::new(), None);
    for case in cases {
        let checksum = match device.checksum(&case, !args.checksums, record.as_ref(), &progress) {
            Ok(checksum) => checksum,
            Err(stopped) => {
                failure = Some(stopped);
                break;
            }
        };
        let done = Done { case, checksum };
        if args.print.json {
            let Case { from, to, .. } = done.case;
            output::line(json!({
                "from": from.name(), "to": to.name(), "options": done.case.options_text(),
                "elements": done.case.inputs(), "checksum": checksums::text(checksum), "equal": done.is_equal(),
            }))?;
        } else if !args.print.quiet && !args.report {
            let verdict = match done.is_equal() {
                Some(true) => "as recorded",
                Some(false) => "NOT AS RECORDED",
                None => "not recorded",
            };
            progress.lock().expect("no panic").suspend(|| output::line(format_args!("{done}, {verdict}")))?;
        }
        all.push(done);
    }
    let seconds = progress.into_inner().expect("no panic").stop();
    finish(args, &device, &all, seconds, failure)
}

/// Prints the summary of what was done. After a failure, this is what was done before it.
///
/// # Errors
/// The given failure, or a checksum that differs from the recorded one.
fn finish(
    args: &VerifyArgs,
    device: &Device,
    all: &[Done],
    seconds: f64,
    failure: Option<Failure>,
) -> Result<(), Failure> {
    let elements: u64 = all.iter().map(|done| done.case.inputs()).sum();
    let recorded = all.iter().filter(|done| done.is_equal().is_some()).count() as u64;
    let other: Vec<_> =
        all.iter().filter(|done| done.is_equal() == Some(false)).map(|done| done.case.to_string()).collect();
    let wrong = [&other[..], &device.mismatches.lock().expect("no panic")].concat();
    let compared = !args.checksums && device.context.is_some();
    if args.print.json {
        output::line(json!({
            "adapter": device.name, "casts": all.len(), "elements": elements, "seconds": seconds,
            "compared_with_cpu": compared, "recorded": recorded, "equal": wrong.is_empty(),
            "failure": failure.as_ref().map(ToString::to_string),
        }))?;
    } else if args.report {
        let counts = [("casts", all.len() as u64), ("elements", elements), ("recorded checksums compared", recorded)];
        let checksums: Vec<String> = all.iter().map(ToString::to_string).collect();
        report::print(device.context.as_ref(), &counts, seconds, &checksums, &wrong, failure.as_ref())?;
    } else if failure.is_some() && !wrong.is_empty() {
        wrong.iter().try_for_each(output::line)?;
    }
    if let Some(failure) = failure {
        return Err(failure);
    }
    if !other.is_empty() {
        let other = other.join(", ");
        return Err(Failure::Work(format!("{}: other checksums than recorded: {other}", device.name)));
    }
    if args.print.is_silent() || args.report {
        return Ok(());
    }
    let [casts, elements] =
        [(all.len() as u64, "cast"), (elements, "element")].map(|(number, unit)| output::counted(number, unit));
    let mut results = Vec::new();
    if compared {
        results.push("all results bit-identical to the CPU".to_owned());
    }
    if recorded > 0 {
        results.push(format!("{} as recorded", output::counted(recorded, "checksum")));
    }
    let results =
        if results.is_empty() { "no checksum is recorded".to_owned() } else { format!("OK: {}", results.join(", ")) };
    output::line(format_args!("{}: {casts}, {elements}, {seconds:.0} s. {results}", device.name))
}

impl Device {
    fn open(args: &VerifyArgs) -> Result<Self, Failure> {
        match args.device.choice()? {
            DeviceChoice::Cpu => {
                // Only a build with this cfg reads the variable.
                let isa = std::env::var("WGPU_CAST_ISA").ok().filter(|_| cfg!(wgpu_cast_isa));
                let isa = isa.map_or(String::new(), |isa| format!(" ({isa})"));
                Ok(Self { context: None, name: format!("CPU{isa}"), mismatches: Mutex::default() })
            }
            _ => {
                let context = pollster::block_on(session::open(args.device.adapter_choice()?))?;
                Ok(Self { name: adapter_name(&context), context: Some(context), mismatches: Mutex::default() })
            }
        }
    }

    /// The checksum of all results of a cast, made of the checksums of its blocks.
    ///
    /// # Errors
    /// A result differs from that of the CPU (if they are compared), or the device fails.
    fn checksum(
        &self,
        case: &Case,
        compare: bool,
        record: Option<&Record>,
        progress: &Mutex<Progress>,
    ) -> Result<u64, Failure> {
        let block = |number: u64| -> Result<u64, Failure> {
            let known = record.and_then(|record| record.block(case, number));
            let checksum = match (known, &self.context) {
                (Some(checksum), _) => checksum,
                (None, None) => case.on_cpu(number)?,
                (None, Some(context)) => self.on_adapter(context, case, number, compare)?,
            };
            if let (Some(record), None) = (record, known) {
                record.add(case, number, checksum)?;
            }
            progress.lock().expect("no panic").advance(1, &format!("{} -> {}", case.from, case.to));
            Ok(checksum)
        };
        let numbers = 0..case.blocks();
        let checksums: Vec<u64> = match &self.context {
            Some(_) => numbers.map(block).collect::<Result<_, _>>()?,
            None => {
                start_threads()?;
                numbers.into_par_iter().map(block).collect::<Result<_, _>>()?
            }
        };
        Ok(checksums::of_blocks(&checksums))
    }

    fn on_adapter(&self, context: &Context, case: &Case, number: u64, compare: bool) -> Result<u64, Failure> {
        let inputs = Inputs::of(case.from);
        let mut hash = Block::default();
        for piece in case.pieces(number, ON_ADAPTER) {
            let len = (piece.end - piece.start) as usize;
            let source = Tensor::from_bytes(case.from, [len], inputs.packed(piece))?;
            let (found, _) = pollster::block_on(context.cast(&source, case.to, &case.options))?;
            if compare {
                let expected = cpu::cast(&source, case.to, &case.options)?;
                let differing = differences(&source, &found, &expected, &case.options, SHOWN);
                if !differing.is_empty() {
                    *self.mismatches.lock().expect("no panic") = differing;
                    return Err(Failure::Work(format!("{}: results differ from the CPU", self.name)));
                }
            }
            hash.update(found.bytes().unwrap_or_default());
        }
        Ok(hash.finish())
    }
}

/// Starts the threads of rayon's global pool, unless it has them. Where the system starts none, rayon panics later.
///
/// # Errors
/// The system starts no threads.
fn start_threads() -> Result<(), Failure> {
    match ThreadPoolBuilder::new().build_global() {
        // Without a source, it is the error of a pool that exists: the first thread that is refused ends the program.
        Err(error) if error.source().is_some() => Err(Failure::Work(format!("no threads can be started: {error}"))),
        _ => Ok(()),
    }
}
