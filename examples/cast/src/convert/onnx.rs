//! ONNX models.

use std::path::Path;

use wgpu_cast::ElementType;
use wgpu_cast_files::{
    CastLoss, GraphRules, KeptReason, ModelNote, ModelRules, ModelScan, ModelTensor, PlannedTensor, ReadAt,
};

use super::input::Input;
use super::input_state::Source;
use super::inputs::{self, Pair, Target};
use super::plan::{Task, TaskOutput};
use super::report::TensorReport;
use super::scales::ScaleRole;
use crate::args::ConvertArgs;
use crate::failure::Failure;
use crate::output::{note, warning};

/// The suffix that makes the name of the file of external data from the name of the model.
const DATA: &str = ".data";

impl Task {
    /// Plans a model: its initializers and constants, or with --graph the whole graph.
    pub fn onnx(pair: Pair, args: &ConvertArgs) -> Result<Self, Failure> {
        let path = &pair.input;
        let fail = |error| Failure::at(path, error);
        let mut sources = vec![Source::of(path)];
        let input = inputs::open(path)?;
        let scan = ModelScan::read(&input).map_err(fail)?;
        let tensors = scan.tensors().map(|tensor| (tensor.name, tensor.element_type));
        let checked = args.rules.check_types(tensors, "complex numbers and elements of unknown types are");
        checked.map_err(|what| Failure::at(path, what))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        sources.extend(scan.external_files().map(|name| Source::of(&folder.join(name))));
        // The files of external data are checked now, and opened again when they are read.
        scan.open_external(inputs::beside(path)).try_for_each(|file| file.map(drop)).map_err(fail)?;
        let mut inputs: Vec<Box<dyn ReadAt>> = vec![Box::new(input)];
        inputs.extend(sources[1..].iter().filter_map(Input::closed).map(|file| Box::new(file) as Box<dyn ReadAt>));

        let data_file = match &pair.output {
            Target::File(output) => {
                let name = output.file_name().map(|name| name.to_string_lossy().into_owned());
                name.unwrap_or_default() + DATA
            }
            Target::Stdout => format!("model.onnx{DATA}"),
        };
        // A graph is converted from one type only.
        let only_from = args.from.plain().or(args.graph.then_some(ElementType::FLOAT));
        let types = |name: &str, from: ElementType| args.rules.target(name, from, only_from);
        let kept =
            |operator: &str, name: &str| args.keep.iter().any(|keep| keep.matches(operator) || keep.matches(name));
        let nodes = scan.nodes().filter(|_| !args.keep.is_empty());
        let nodes = nodes.flat_map(|(operator, name)| [operator.to_owned(), name.to_owned()]).collect();
        let casts_parameter = |name: &str| args.rules.maps(name);
        let mut rules = ModelRules::new(&types, &data_file);
        rules.casts_parameter = &casts_parameter;
        (rules.options, rules.external_from) = (args.attributes.of_model()?, args.external_from);
        if args.graph {
            let to = args.rules.to.ok_or_else(|| Failure::Usage("--graph needs --to TYPE".to_owned()))?;
            let mut graph = GraphRules::new(only_from.unwrap_or(ElementType::FLOAT), to);
            (graph.keep_io_types, graph.keep) = (args.keep_io_types, &kept);
            rules.graph = Some(graph);
        }
        let read: Vec<&dyn ReadAt> = inputs.iter().map(|input| &**input).collect();
        let plan = scan.plan(&read, &rules).map_err(fail)?;
        for told in &plan.notes {
            let advice = if let ModelNote::ParametersLeft { .. } = told { " (--map casts them)" } else { "" };
            let told_of = format!("{}: {told}{advice}", path.display());
            if is_shortfall(told) { warning(told_of) } else { note(told_of) }
        }
        let file = path.display().to_string();
        let of_row = |row: &PlannedTensor| {
            let tensor = report(&file, (&row.name, &row.shape, row.elements), row.from, row.to);
            TensorReport { role: row.is_parameter.then_some(ScaleRole::Parameter), ..tensor }
        };
        let tensors = plan.tensors.iter().map(of_row).collect();
        if !plan.decoded.is_empty() {
            inputs.push(Box::new(plan.decoded));
        }
        let mut outputs = Vec::new();
        if let Some(external) = plan.external {
            let Target::File(output) = &pair.output else {
                let what = "the model has external data, which needs an output file";
                return Err(Failure::Usage(format!("{}: {what}", path.display())));
            };
            let target = Target::File(output.with_file_name(&data_file));
            outputs.push(TaskOutput { target, plan: external, rows: plan.external_rows });
        }
        // The model gets its name last, when its data has its name.
        outputs.push(TaskOutput { target: pair.output, plan: plan.model, rows: plan.model_rows });
        Ok(Self { name: file, inputs, sources, outputs, archive: None, tensors, nodes })
    }
}

/// Whether a note says that something was asked for but not done.
fn is_shortfall(note: &ModelNote) -> bool {
    match note {
        ModelNote::NothingCast { .. }
        | ModelNote::NoValues { .. }
        | ModelNote::MoreExternal { .. }
        | ModelNote::SparseLeft { .. }
        | ModelNote::DefaultsLeft { .. }
        | ModelNote::ParametersLeft { .. } => true,
        ModelNote::Kept { reason, .. } => !matches!(reason, KeptReason::Asked | KeptReason::InPart),
        _ => false,
    }
}

/// The initializers and constants of a model.
///
/// # Errors
/// The model is invalid.
pub fn tensors(path: &Path) -> Result<Vec<TensorReport>, Failure> {
    let input = inputs::open(path)?;
    let scan = ModelScan::read(&input).map_err(|error| Failure::at(path, error))?;
    let file = path.display().to_string();
    let tensors = scan.tensors();
    let report = |tensor: ModelTensor<'_>| {
        report(&file, (tensor.name, tensor.shape, tensor.elements), tensor.element_type, None)
    };
    Ok(tensors.map(report).collect())
}

/// The report of a tensor, from its name and its shape.
fn report(
    file: &str,
    (name, shape, elements): (&str, &[u64], u64),
    from: Option<ElementType>,
    to: Option<ElementType>,
) -> TensorReport {
    let bytes = |element_type: Option<ElementType>| element_type.and_then(|t| t.packed_bytes(elements)).unwrap_or(0);
    TensorReport {
        file: file.to_owned(),
        name: name.to_owned(),
        shape: shape.to_vec(),
        from,
        dtype: None,
        to,
        bytes: [bytes(from), bytes(to.or(from))],
        role: None,
        lost: CastLoss::default(),
    }
}
