//! Converts a model by the rules in the environment, for `tests/onnx/models.py`.

use std::env::var;
use std::path::Path;

use wgpu_cast::ElementType;
use wgpu_cast::files::{GraphRules, InputFile, ModelPlan, ModelRules, ModelScan, ReadAt};

use super::build::carried_out;

/// `ONNX_MODEL` and `ONNX_RESULT` are paths. `ONNX_RULES` are words: `from=TYPE` and `to=TYPE`, then `graph`,
/// `keep_io_types`, `keep=OPERATOR` and `external=BYTES`.
#[test]
#[ignore = "tests/onnx/models.sh runs it"]
fn convert() {
    let [model, result, rules] = ["ONNX_MODEL", "ONNX_RESULT", "ONNX_RULES"].map(|name| var(name).unwrap());
    let option = |name: &str| rules.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    let has = |name: &str| rules.split(' ').any(|word| word == name);
    let [from, to] = ["from", "to"].map(|name| option(name).unwrap().parse::<ElementType>().unwrap());
    let keep = |operator: &str, _: &str| option("keep") == Some(operator);
    let types = |_: &str, element_type: ElementType| (element_type == from).then_some(to);
    let data_file = format!("{}.data", Path::new(&result).file_name().unwrap().to_str().unwrap());
    let mut model_rules = ModelRules::new(&types, &data_file);
    model_rules.external_from = option("external").map(|bytes| bytes.parse().unwrap());
    if has("graph") {
        let mut graph = GraphRules::new(from, to);
        graph.keep_io_types = has("keep_io_types");
        graph.keep = &keep;
        model_rules.graph = Some(graph);
    }
    let source = InputFile::new(std::fs::File::open(&model).unwrap());
    let scan = ModelScan::read(&source).unwrap_or_else(|error| panic!("{error}"));
    let files = scan.open_external(Path::new(&model).parent().unwrap()).unwrap_or_else(|error| panic!("{error}"));
    let mut inputs: Vec<&dyn ReadAt> = vec![&source];
    inputs.extend(files.iter().map(|file| file as &dyn ReadAt));
    let plan = scan.plan(&inputs, &model_rules).unwrap_or_else(|error| panic!("{error}"));
    let ModelPlan { model, external, decoded, notes, .. } = plan;
    inputs.push(&decoded);
    std::fs::write(&result, carried_out(&model, &inputs)).unwrap();
    if let Some(external) = external {
        std::fs::write(Path::new(&result).with_file_name(data_file), carried_out(&external, &inputs)).unwrap();
    }
    notes.iter().for_each(|note| println!("note: {note}"));
}
