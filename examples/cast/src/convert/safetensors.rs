//! safetensors files.

use std::path::Path;

use wgpu_cast_files::SafetensorsFile;

use super::input_state::Source;
use super::inputs::{self, Pair};
use super::models::Models;
use super::plan::{Task, TaskOutput};
use super::report::TensorReport;
use super::scales::ScaleRole;
use crate::args::ConvertArgs;
use crate::failure::Failure;

impl Task {
    /// Plans a safetensors file. The rules choose tensors by name. Scales stay as they are unless a mapping names them.
    ///
    /// # Errors
    /// The file is invalid, or a tensor cannot be cast.
    pub fn safetensors(pair: Pair, args: &ConvertArgs, models: &mut Models) -> Result<Self, Failure> {
        if args.rules.dequantize {
            return Self::dequantized(pair, args, models);
        }
        if let Some(layout) = args.rules.quantize {
            return Self::quantized(pair, layout, args, models);
        }
        let source = Source::of(&pair.input);
        let input = inputs::open(&pair.input)?;
        let fail = |error| Failure::at(&pair.input, error);
        let file = SafetensorsFile::read(&input).map_err(fail)?;
        args.rules.check_complex(&file).map_err(|what| Failure::at(&pair.input, what))?;
        let scales = models.scales(&pair.input, &file);
        let mut refused = None;
        let mut tensors = Vec::new();
        let name_of_file = pair.input.display().to_string();
        let plan = file.plan(0, &mut |tensor| {
            let (name, from) = (&tensor.name, tensor.element_type);
            let role = scales.role(name, from);
            let is_scale = role.as_ref().is_some_and(ScaleRole::is_scale);
            let to = from.filter(|_| !is_scale || args.rules.maps(name)).and_then(|from| args.target(name, from));
            let options = from.zip(to).map(|(from, to)| (to, args.attributes.options(from, to)));
            let after = to.and_then(|to| to.packed_bytes(tensor.elements()));
            let mut report = TensorReport::of_stored(&name_of_file, tensor, role);
            report.to = to;
            report.bytes[1] = after.unwrap_or(tensor.bytes);
            tensors.push(report);
            match options {
                Some((to, Ok(options))) => Some((to, options)),
                Some((_, Err(failure))) => {
                    refused.get_or_insert(failure);
                    None
                }
                None => None,
            }
        });
        let plan = plan.map_err(fail)?;
        if let Some(failure) = refused {
            return Err(failure);
        }
        let output = TaskOutput::by_name(pair.output, plan, &tensors);
        Ok(Self::of_file(source, vec![Box::new(input)], output, tensors))
    }
}

/// The tensors of a file.
///
/// # Errors
/// The file is invalid.
pub fn tensors(path: &Path, models: &mut Models) -> Result<Vec<TensorReport>, Failure> {
    let input = inputs::open(path)?;
    let file = SafetensorsFile::read(&input).map_err(|error| Failure::at(path, error))?;
    let scales = models.scales(path, &file);
    let name = path.display().to_string();
    let tensors = file
        .tensors()
        .iter()
        .map(|tensor| TensorReport::of_stored(&name, tensor, scales.role(&tensor.name, tensor.element_type)));
    Ok(tensors.collect())
}
