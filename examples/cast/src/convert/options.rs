//! Options that have no effect on the given files. Each is an error, because the run would not do what the user asks
//! for.

use wgpu_cast::ElementType;

use super::inputs::Pair;
use super::plan::Task;
use super::quantize;
use crate::args::ConvertArgs;
use crate::failure::Failure;
use crate::files::FileFormat;
use crate::output::warning;

/// The inputs to which an option must apply.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inputs {
    All,
    Some,
}

/// An option, and the formats of inputs to which it applies.
struct Rule {
    option: &'static str,
    is_given: fn(&ConvertArgs) -> bool,
    is_for: fn(FileFormat) -> bool,
    inputs: Inputs,
    /// The text after the name of the option in the error.
    what: &'static str,
}

const BY_NAME: &str = "chooses among the tensors of .safetensors, .npz and .onnx files, and this format has one";
const FOR_MODELS: &str = "is for ONNX models";

const RULES: [Rule; 11] = [
    Rule::of_names("--only", |args| !args.rules.only.is_empty()),
    Rule::of_names("--except", |args| !args.rules.except.is_empty()),
    Rule::of_names("--map", |args| !args.rules.map.is_empty()),
    Rule {
        option: "--len",
        is_given: |args| args.len.is_some(),
        is_for: |format| matches!(format, FileFormat::Bin),
        inputs: Inputs::All,
        what: "is only for .bin files, other formats contain a shape",
    },
    Rule {
        option: "--opset",
        is_given: |args| args.attributes.opset.is_some(),
        is_for: |format| !matches!(format, FileFormat::Onnx),
        inputs: Inputs::All,
        what: "is not for ONNX models, which have an opset",
    },
    Rule {
        option: "--dequantize",
        is_given: |args| args.rules.dequantize,
        is_for: |format| matches!(format, FileFormat::Safetensors),
        inputs: Inputs::Some,
        what: "is for .safetensors files",
    },
    Rule {
        option: "--quantize",
        is_given: |args| args.rules.quantize.is_some(),
        is_for: |format| matches!(format, FileFormat::Safetensors),
        inputs: Inputs::All,
        what: "is for .safetensors files",
    },
    Rule::of_models("--graph", |args| args.graph),
    Rule::of_models("--keep-io-types", |args| args.keep_io_types),
    Rule::of_models("--keep", |args| !args.keep.is_empty()),
    Rule::of_models("--external-from", |args| args.external_from.is_some()),
];

impl Rule {
    const fn of_names(option: &'static str, is_given: fn(&ConvertArgs) -> bool) -> Self {
        Self { option, is_given, is_for: |format| !format.is_single(), inputs: Inputs::All, what: BY_NAME }
    }

    const fn of_models(option: &'static str, is_given: fn(&ConvertArgs) -> bool) -> Self {
        let is_for = |format: FileFormat| matches!(format, FileFormat::Onnx);
        Self { option, is_given, is_for, inputs: Inputs::Some, what: FOR_MODELS }
    }
}

/// Refuses options that do not apply to the formats of the inputs. `elsewhere` has the formats of the files that
/// another part converts.
///
/// # Errors
/// A usage error that names the option.
pub fn check_formats(pairs: &[Pair], elsewhere: &[FileFormat], args: &ConvertArgs) -> Result<(), Failure> {
    for Rule { option, is_for, inputs, what, .. } in RULES.iter().filter(|rule| (rule.is_given)(args)) {
        let other = pairs.iter().find(|pair| !is_for(pair.input_format));
        let mut formats = pairs.iter().map(|pair| pair.input_format).chain(elsewhere.iter().copied());
        let is_for_some = pairs.is_empty() || formats.any(is_for);
        match (inputs, other) {
            (Inputs::All, Some(other)) => {
                return Err(Failure::Usage(format!("{}: {option} {what}", other.input.display())));
            }
            (Inputs::Some, _) if !is_for_some => return Err(Failure::Usage(format!("{option} {what}"))),
            _ => {}
        }
    }
    let is_named_only = |format| matches!(format, FileFormat::Safetensors | FileFormat::Onnx);
    let chooses = pairs.iter().any(|pair| is_named_only(pair.input_format));
    let is_chosen_for = args.rules.to.is_some() || args.rules.quantize.is_some();
    if chooses && !is_chosen_for && args.from.plain().is_some() {
        return Err(Failure::Usage("--from chooses tensors for --to TYPE, which is not given".to_owned()));
    }
    if args.rules.dequantize && args.device.names_gpu() {
        return Err(Failure::Usage("--dequantize: scales are applied on the CPU, not on a GPU".to_owned()));
    }
    if args.rules.quantize.is_some() && args.device.names_gpu() {
        return Err(Failure::Usage("--quantize: scales are computed on the CPU, not on a GPU".to_owned()));
    }
    match args.rules.to {
        Some(to) if args.rules.quantize.is_some() && to != quantize::CODES => {
            let what = format!("readers expect codes of {}, not of {to}", quantize::CODES);
            return Err(Failure::Usage(format!("--quantize: {what} (--map GLOB=TYPE casts without scales)")));
        }
        _ => {}
    }
    for (is_given, option) in [(args.strict, "--strict"), (args.stats, "--stats")] {
        if args.dry_run && is_given {
            warning(format_args!("--dry-run casts nothing, so that {option} finds nothing"));
        }
    }
    Ok(())
}

/// Refuses options that do not apply to the tensors of the inputs.
///
/// # Errors
/// A usage error that names the option.
pub fn check_tensors(tasks: &[Task], args: &ConvertArgs) -> Result<(), Failure> {
    let tensors = || tasks.iter().flat_map(|task| &task.tensors);
    // Other parts of a model may have tensors of this type; so may a graph, in its nodes.
    if let Some(from) = args.from.plain().filter(|_| args.part.is_none() && !args.graph)
        && !tensors().any(|tensor| tensor.from == Some(from))
        && let Some(first) = tensors().next()
    {
        let is_code = |other: ElementType| {
            let is_unsigned = matches!(other.kind(), wgpu_cast::Kind::Int { signed: false });
            is_unsigned && other.bits() == from.bits().map(|bits| bits.next_multiple_of(8))
        };
        let codes = tasks.iter().filter(|task| task.archive.is_some()).flat_map(|task| &task.tensors);
        let help = match codes.filter(|tensor| tensor.from.is_some_and(is_code)).count() {
            0 => "",
            _ => " (--from GLOB=TYPE reads unsigned integers as codes)",
        };
        let what = format!("no tensor has this type; {} is {}", first.shown_name(), first.source_name());
        return Err(Failure::Usage(format!("--from {from}: {what}{help}")));
    }
    let read_from_text = tensors()
        .find(|tensor| tensor.from == Some(ElementType::STRING) && tensor.to.is_some_and(ElementType::is_numeric));
    let counted = [(args.strict, "--strict"), (args.stats, "--stats"), (args.plot.is_some(), "--plot")];
    match (read_from_text, counted.iter().find(|(is_given, _)| *is_given)) {
        (Some(tensor), Some((_, option))) => {
            let what = "what numbers lose is not counted if they are read from strings";
            Err(Failure::Usage(format!("{option}: {what}, as in {}", tensor.shown_name())))
        }
        _ => Ok(()),
    }
}
