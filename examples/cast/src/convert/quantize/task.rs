//! The conversion of a safetensors file whose weights become codes with scales.

use wgpu_cast::{CastOptions, ElementType};
use wgpu_cast_files::{
    Part, SafetensorsEntry, SafetensorsFile, SafetensorsTensor, ScaleTensor, ScaledCast, SourceRange, TensorCast,
    TensorStorage,
};

use super::CODES;
use super::layout::Layout;
use super::weights::is_float;
use crate::args::ConvertArgs;
use crate::convert::dequantize::Located;
use crate::convert::input_state::Source;
use crate::convert::inputs::{self, Pair};
use crate::convert::models::Models;
use crate::convert::plan::{Task, TaskOutput};
use crate::convert::report::TensorReport;
use crate::convert::scales::{METADATA, ScaleRole, Scales, companions};
use crate::failure::Failure;
use crate::text::printable;

/// The input of the plan that has the scales. They are computed before the output is made.
const SCALES: usize = 1;

/// The end of an error about a model that has scales.
const ALREADY: &str = "the model is quantized already (--dequantize multiplies codes by their scales)";

/// What such a model may be if it is converted onto itself.
const INTERRUPTED: &str = "; if a run with --in-place was interrupted between two shards, give the files \
                           *.cast-partial their names";

impl Task {
    /// Plans a safetensors file. The output has the scales of its weights.
    ///
    /// # Errors
    /// The file is invalid, the model has scales already, or a tensor cannot be cast.
    pub fn quantized(pair: Pair, layout: Layout, args: &ConvertArgs, models: &mut Models) -> Result<Self, Failure> {
        let source = Source::of(&pair.input);
        let input = inputs::open(&pair.input)?;
        let fail = |error| Failure::at(&pair.input, error);
        let file = SafetensorsFile::read(&input).map_err(fail)?;
        args.rules.check_complex(&file).map_err(|what| Failure::at(&pair.input, what))?;
        let (scales, located) = (models.scales(&pair.input, &file), models.located(&pair.input, &file));
        let config = models.config(&pair.input)?;
        check_plain(&file, &scales, config.as_ref().as_ref().map(|config| config.told.as_str()))
            .map_err(|what| what + if args.in_place { INTERRUPTED } else { "" })
            .map_err(|what| Failure::at(&pair.input, what))?;
        let is_chosen = |tensor: &SafetensorsTensor| args.quantizes(&tensor.name, tensor.element_type, &tensor.shape);
        let chosen = file.tensors().iter().filter(|tensor| is_chosen(tensor)).map(|tensor| tensor.name.as_str());
        let mut metadata = file.metadata().clone();
        // An old text is about tensors that had scales.
        metadata.remove(METADATA);
        metadata.extend(layout.metadata(chosen).map(|text| (METADATA.to_owned(), text)));
        let name = pair.input.display().to_string();
        let (mut tensors, mut bytes_of_scales, mut refused) = (Vec::new(), 0, None);
        let plan = file.plan_entries(0, &metadata, Vec::new(), &mut |tensor| {
            let (mut report, mut report_of_scale) = (TensorReport::of_stored(&name, tensor, None), None);
            let made = match is_chosen(tensor) {
                true => args.attributes.options(ElementType::FLOAT, CODES).and_then(|options| {
                    let made = quantized(tensor, layout, &located, options, &mut bytes_of_scales);
                    let [codes, scale] = made.map_err(|what| {
                        Failure::at(&pair.input, format_args!("{}: {what}", printable(&tensor.name)))
                    })?;
                    (report.to, report.bytes[1]) = (Some(CODES), report.elements());
                    report.role = Some(ScaleRole::DividedBy(scale.name.clone()));
                    report_of_scale = Some(TensorReport::of_scale(&name, &scale, &codes.name));
                    Ok(Some(vec![codes, scale]))
                }),
                false => mapped(tensor, args, &mut report),
            };
            tensors.push(report);
            tensors.extend(report_of_scale);
            made.unwrap_or_else(|failure| {
                refused.get_or_insert(failure);
                None
            })
        });
        if let Some(failure) = refused {
            return Err(failure);
        }
        let output = TaskOutput::by_name(pair.output, plan.map_err(fail)?, &tensors);
        Ok(Self::of_file(source, vec![Box::new(input)], output, tensors))
    }
}

/// Refuses a model that has scales. `told` is its configuration of them.
fn check_plain(file: &SafetensorsFile, scales: &Scales, told: Option<&str>) -> Result<(), String> {
    if let Some(told) = told {
        return Err(format!("{told} says that {ALREADY}"));
    }
    let scaled = |tensor: &SafetensorsTensor| {
        let role = scales.role(&tensor.name, tensor.element_type)?;
        let stored = tensor.element_type.map_or("complex", |stored| stored.name());
        let comma = if role.is_scale() { "," } else { "" };
        Some(format!("{} is {stored}{comma} {}: {ALREADY}", printable(&tensor.name), role.text()))
    };
    file.tensors().iter().find_map(scaled).map_or(Ok(()), Err)
}

/// A tensor that gets no scale. It stays as it is unless a mapping gives its type.
fn mapped(
    tensor: &SafetensorsTensor,
    args: &ConvertArgs,
    report: &mut TensorReport,
) -> Result<Option<Vec<SafetensorsEntry>>, Failure> {
    let from = tensor.element_type;
    report.to = from.and_then(|from| args.target(&tensor.name, from));
    let Some((from, to)) = from.zip(report.to) else { return Ok(None) };
    let options = args.attributes.options(from, to)?;
    report.bytes[1] = to.packed_bytes(tensor.elements()).unwrap_or(tensor.bytes);
    Ok(tensor.cast(0, to, options).map(|entry| vec![entry]))
}

/// The codes and the scales of a weight. `offset` is where the scales lie in their input, and then where they end.
fn quantized(
    tensor: &SafetensorsTensor,
    layout: Layout,
    located: &Located,
    options: CastOptions,
    offset: &mut u64,
) -> Result<[SafetensorsEntry; 2], String> {
    let SafetensorsTensor { name, shape, .. } = tensor;
    let Some(from) = tensor.element_type.filter(|stored| is_float(Some(*stored))) else {
        let stored = tensor.element_type.map_or("complex", |stored| stored.name());
        return Err(format!("it is {stored}, and only float, float16 and bfloat16 get scales"));
    };
    let is_weight = shape.len() >= 2 && !shape.contains(&0);
    let Some((geometry, scale_shape)) = is_weight.then(|| layout.blocks(shape)).flatten() else {
        return Err(format!("it has the shape {shape:?}, and scales are for two axes or more with elements"));
    };
    let geometry = geometry.checked()?;
    let scale = layout.scale_name(name);
    if located.has(&scale) {
        return Err(format!("its scale would be {}, which the model has already", printable(&scale)));
    }
    if let Some(other) = companions(name).find(|companion| located.has(&companion.name)) {
        let what = "which the model has, would belong to its codes for readers";
        return Err(format!("{}, {what}", printable(&other.name)));
    }
    let [from, to] = [from, CODES].map(TensorStorage::packed);
    let (elements, input, column_major) = (geometry.rows * geometry.columns, 0, Vec::new());
    let cast = TensorCast {
        name: name.clone(),
        elements,
        input,
        offset: tensor.offset,
        from,
        to,
        options,
        column_major,
        clamp: false,
    };
    let scales = ScaleTensor { name: scale.clone(), input: SCALES, offset: *offset, element_type: ElementType::FLOAT };
    let (columns, block) = (geometry.columns, geometry.block);
    let first = ScaledCast { cast, columns, block, scales, second: None, zero_points: None, transposed: false };
    let codes = SafetensorsEntry {
        name: name.clone(),
        element_type: CODES,
        shape: shape.clone(),
        parts: geometry.parts(&first),
    };
    let bytes = 4 * geometry.matrices * geometry.scales();
    let range = SourceRange { input: SCALES, offset: *offset, bytes };
    *offset += bytes;
    let scales = SafetensorsEntry {
        name: scale,
        element_type: ElementType::FLOAT,
        shape: scale_shape,
        parts: vec![Part::Copy(range)],
    };
    Ok([codes, scales])
}
