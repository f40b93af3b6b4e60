//! The conversion of a safetensors file whose codes are multiplied by their scales.

use std::path::Path;

use wgpu_cast::{ElementType, Kind};
use wgpu_cast_files::{SafetensorsEntry, SafetensorsFile, SafetensorsTensor};

use super::input_files::InputFiles;
use super::{Config, Located, Scaled};
use crate::args::ConvertArgs;
use crate::convert::input_state::Source;
use crate::convert::inputs::{self, Pair};
use crate::convert::models::Models;
use crate::convert::plan::{Task, TaskOutput};
use crate::convert::report::TensorReport;
use crate::convert::scales::{METADATA, ScaleRole, Scales, plain_name};
use crate::failure::Failure;
use crate::text::printable;

/// What becomes of a tensor.
enum Fate {
    /// It is cast, or stays, as in any conversion.
    Ordinary(Option<ScaleRole>),
    Multiplied(ElementType),
    Dropped(String),
    /// Its scale is missing.
    Unscaled(String),
}

/// The model of a file, and the rules.
struct Rules<'a> {
    args: &'a ConvertArgs,
    scales: &'a Scales,
    /// Whether some codes of the model stay as they are.
    keeps_codes: bool,
}

impl Task {
    /// Plans a safetensors file. Codes are multiplied by their scales, which other files of the model may have. The output
    /// has no scales, except those of codes that the rules keep.
    ///
    /// # Errors
    /// The file is invalid, a scale is missing or does not fit, or a tensor cannot be cast.
    pub fn dequantized(pair: Pair, args: &ConvertArgs, models: &mut Models) -> Result<Self, Failure> {
        let source = Source::of(&pair.input);
        let input = inputs::open(&pair.input)?;
        let fail = |error| Failure::at(&pair.input, error);
        let file = SafetensorsFile::read(&input).map_err(fail)?;
        args.rules.check_complex(&file).map_err(|what| Failure::at(&pair.input, what))?;
        let (scales, located) = (models.scales(&pair.input, &file), models.located(&pair.input, &file));
        let config = models.config(&pair.input)?;
        let rules = Rules { args, scales: &scales, keeps_codes: keeps_codes(&scales, &located, args) };
        let mut files = InputFiles { inputs: vec![Box::new(input)], sources: vec![source] };
        let (mut tensors, mut refused) = (Vec::new(), None);
        let name = pair.input.display().to_string();
        let mut metadata = file.metadata().clone();
        let description = metadata.get(METADATA).cloned();
        let description = description.as_deref();
        if !rules.keeps_codes {
            metadata.remove(METADATA);
        }
        let plan = file.plan_entries(0, &metadata, Vec::new(), &mut |tensor| {
            let mut report = TensorReport::of_stored(&name, tensor, None);
            let made =
                plan_tensor(tensor, &mut report, &rules, (&located, (*config).as_ref(), description), &mut files);
            let made = made.unwrap_or_else(|failure| {
                refused.get_or_insert(failure);
                None
            });
            tensors.push(report);
            made
        });
        if let Some(failure) = refused {
            return Err(failure);
        }
        let output = TaskOutput::by_name(pair.output, plan.map_err(fail)?, &tensors);
        let mut sources = files.sources.into_iter();
        let first = sources.next().unwrap_or_else(|| Source::of(&pair.input));
        let mut task = Self::of_file(first, files.inputs, output, tensors);
        task.sources.extend(sources);
        Ok(task)
    }
}

/// Plans a tensor: what replaces it in the output, or `None` if it stays as it is. Completes its report.
fn plan_tensor(
    tensor: &SafetensorsTensor,
    report: &mut TensorReport,
    rules: &Rules<'_>,
    (located, config, description): (&Located, Option<&Config>, Option<&str>),
    files: &mut InputFiles,
) -> Result<Option<Vec<SafetensorsEntry>>, Failure> {
    let file = report.file.clone();
    let fail = |what: String| Failure::at(Path::new(&file), what);
    match rules.fate(tensor, config) {
        Fate::Unscaled(scale) => {
            let stored = tensor.element_type.map_or("complex", |stored| stored.name());
            let what = format!("{} is {stored}, and its scale {}", printable(&tensor.name), printable(&scale));
            Err(fail(format!("{what} is in no file of the model (--except GLOB leaves such tensors as they are)")))
        }
        Fate::Dropped(codes) => {
            report.role = Some(ScaleRole::Dropped(codes));
            report.bytes[1] = 0;
            Ok(Some(Vec::new()))
        }
        Fate::Multiplied(to) => {
            let scaled = Scaled::find(tensor, located, config, description).map_err(&fail)?;
            // The products are FLOAT.
            let options = rules.args.attributes.options(ElementType::FLOAT, to)?;
            let entry = scaled.entry(to, options, files).map_err(&fail)?;
            report.name.clone_from(&entry.name);
            report.shape = scaled.shape().to_vec();
            (report.from, report.to) = (Some(scaled.element_type), Some(to));
            report.bytes[1] = to.packed_bytes(report.elements()).unwrap_or(0);
            report.role = Some(ScaleRole::Applied(scaled.scale_name().to_owned()));
            Ok(Some(vec![entry]))
        }
        Fate::Ordinary(role) => {
            let is_scale = role.as_ref().is_some_and(ScaleRole::is_scale);
            // Codes that the rules keep are not cast.
            let is_codes = matches!(role, Some(ScaleRole::ScaledBy(_)));
            let from = tensor.element_type.filter(|_| !is_codes);
            let from = from.filter(|_| !is_scale || rules.args.rules.maps(&tensor.name));
            report.to = from.and_then(|from| rules.args.target(&tensor.name, from));
            report.role = role;
            let Some((from, to)) = from.zip(report.to) else { return Ok(None) };
            let options = rules.args.attributes.options(from, to)?;
            report.bytes[1] = to.packed_bytes(tensor.elements()).unwrap_or(tensor.bytes);
            Ok(tensor.cast(0, to, options).map(|entry| vec![entry]))
        }
    }
}

impl Rules<'_> {
    fn fate(&self, tensor: &SafetensorsTensor, config: Option<&Config>) -> Fate {
        let (name, stored) = (&tensor.name, tensor.element_type);
        match self.scales.role(name, stored) {
            Some(ScaleRole::ScaleOf(codes)) => {
                let kept = match self.scales.codes_type(&codes) {
                    // A marker belongs to all codes.
                    None => self.keeps_codes,
                    Some(stored) => self.args.product_target(&codes, stored).is_none(),
                };
                if kept { Fate::Ordinary(Some(ScaleRole::ScaleOf(codes))) } else { Fate::Dropped(codes) }
            }
            Some(role @ ScaleRole::ScaledBy(_)) => {
                self.args.product_target(name, stored).map_or(Fate::Ordinary(Some(role)), Fate::Multiplied)
            }
            role => {
                let is_float8 = stored.is_some_and(|stored| {
                    let is_narrow =
                        matches!(stored.kind(), Kind::Float(_)) && stored.bits().is_some_and(|bits| bits <= 8);
                    is_narrow && stored != ElementType::FLOAT8E8M0
                });
                let is_packed =
                    plain_name(name) != name && matches!(stored, Some(ElementType::UINT8 | ElementType::INT32));
                // A configuration tells of scales, or other codes have some.
                let lacks_scale = role.is_some() || (self.scales.exist() && (is_float8 || is_packed));
                let end = if config.is_some_and(|config| config.method() == "fp8") { "_scale_inv" } else { "_scale" };
                match lacks_scale && self.args.product_target(name, stored).is_some() {
                    true => Fate::Unscaled(self.scales.expected(name, end)),
                    false => Fate::Ordinary(role),
                }
            }
        }
    }
}

/// Whether the rules keep some codes of the model as they are.
fn keeps_codes(scales: &Scales, located: &Located, args: &ConvertArgs) -> bool {
    let is_kept =
        |name: &str| scales.codes_type(name).is_some_and(|stored| args.product_target(name, stored).is_none());
    located.names().any(is_kept)
}
