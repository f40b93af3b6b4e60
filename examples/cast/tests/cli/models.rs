//! Models as people have them, converted as they would.

use support::models::field;

use crate::tool::{Folder, floats};

/// 1, 2 and 0.1 in FLOAT16.
const HALVES: [u8; 6] = [0, 0x3c, 0, 0x40, 0x66, 0x2e];

/// A `TensorProto` of three FLOATs.
fn tensor(name: &str, data: &[u8]) -> Vec<u8> {
    [&[8, 3, 16, 1][..], &field(8, name.as_bytes()), data].concat()
}

/// One whose data is in a file.
fn external(name: &str, location: &str) -> Vec<u8> {
    let entry = [field(1, b"location"), field(2, location.as_bytes())].concat();
    tensor(name, &[field(13, &entry), vec![14 << 3, 1]].concat())
}

/// A `ModelProto` of a graph's fields that imports an opset.
fn model(opset: u8, graph: &[u8]) -> Vec<u8> {
    [vec![8, 8], field(7, graph), field(8, &[16, opset])].concat()
}

/// `snapshots/REVISION/onnx/model.onnx` and its data are links into `blobs`.
#[cfg(unix)]
#[test]
fn data_in_the_cache_of_hugging_face() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir_all(at("snapshots/r/onnx")).expect("a folder");
    std::fs::create_dir(at("blobs")).expect("a folder");
    folder.write("blobs/0123", model(17, &field(5, &external("w", "model.onnx_data"))));
    folder.write("blobs/4567", floats(&[1.0, 2.0, 0.1]));
    folder.write("secret", floats(&[1.0, 2.0, 0.1]));
    symlink("../../../blobs/0123", at("snapshots/r/onnx/model.onnx")).expect("a link");
    let data = at("snapshots/r/onnx/model.onnx_data");
    symlink("../../../blobs/4567", &data).expect("a link");
    folder.convert("snapshots/r/onnx/model.onnx out.onnx --to float16 --device cpu");
    assert_eq!(folder.read("out.onnx.data"), HALVES);
    // What leads elsewhere is refused, before there is an output.
    std::fs::remove_file(&data).expect("a link");
    symlink("../../../secret", &data).expect("a link");
    let outcome = folder.cast("convert snapshots/r/onnx/model.onnx no.onnx --to float16 --device cpu");
    let expected = "wgpu-cast: snapshots/r/onnx/model.onnx: tensor \"w\": external_data location \"model.onnx_data\" is a link \
                    that leads out of the model's folder";
    assert_eq!((outcome.status, outcome.line()), (Some(1), expected));
    assert_eq!(folder.names(), ["blobs", "out.onnx", "out.onnx.data", "secret", "snapshots"]);
}

/// What is piped in is in no folder: its data is in the current one.
#[test]
fn data_of_standard_input_is_in_the_current_folder() {
    let folder = Folder::new();
    folder.write("w.data", floats(&[1.0, 2.0, 0.1]));
    folder.write("m.onnx", model(17, &field(5, &external("w", "w.data"))));
    folder.write("t.pb", external("w", "w.data"));
    let from = |input: &str, format: &str, output: &str| {
        let line = format!("convert - {output} --in-format {format} --to float16 --device cpu");
        let outcome = folder.cast_from(input, &line);
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    };
    from("m.onnx", "onnx", "out.onnx");
    assert_eq!(folder.read("out.onnx.data"), HALVES);
    from("t.pb", "pb", "out.bin");
    assert_eq!(folder.read("out.bin"), HALVES);
    std::fs::remove_file(folder.path().join("w.data")).expect("a file");
    let outcome = folder.cast_from("t.pb", "convert - no.bin --in-format pb --to float16 --device cpu");
    let expected = "wgpu-cast: -: tensor \"w\": external_data location \"w.data\": ";
    assert!(outcome.line().starts_with(expected), "{outcome:?}");
    assert_eq!(folder.names(), ["m.onnx", "out.bin", "out.onnx", "out.onnx.data", "t.pb"]);
}

/// A `NodeProto` as a field of a graph.
fn node(operator: &str, inputs: &[&str], outputs: &[&str], attribute: &[u8]) -> Vec<u8> {
    let names = |number: u8, names: &[&str]| names.iter().flat_map(|name| field(number, name.as_bytes())).collect();
    let parts: [Vec<u8>; 4] = [names(1, inputs), names(2, outputs), field(4, operator.as_bytes()), attribute.to_vec()];
    field(1, &parts.concat())
}

/// A `Constant` of three FLOATs.
fn constant(output: &str) -> Vec<u8> {
    let value = tensor("", &field(9, &floats(&[1.0, 2.0, 0.1])));
    let attribute = field(5, &[field(1, b"value"), field(5, &value), vec![0xa0, 1, 4]].concat());
    node("Constant", &[], &[output], &attribute)
}

/// Some exporters write all weights as `Constant` nodes.
#[test]
fn weights_in_constant_nodes() {
    let folder = Folder::new();
    let graph = [constant("k"), constant("kept"), node("Add", &["k", "kept"], &["y"], &[])].concat();
    folder.write("m.onnx", model(17, &graph));
    let listed = folder.cast("info m.onnx");
    assert_eq!(listed.text(), "k [3]: float, 12 bytes\nkept [3]: float, 12 bytes\n");
    let outcome = folder.cast("convert m.onnx out.onnx --to float16 --except kept --json --device cpu");
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
    let lines: Vec<serde_json::Value> =
        outcome.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let told = |row: &serde_json::Value| (row["tensor"].clone(), row["to"].clone());
    assert_eq!(told(&lines[0]), ("k".into(), "float16".into()));
    assert_eq!(told(&lines[1]), ("kept".into(), "float".into()));
    assert_eq!((&lines[2]["tensors"], &lines[2]["cast"]), (&2.into(), &1.into()));
    assert_eq!(folder.cast("info out.onnx").text(), "k_float16 [3]: float16, 6 bytes\nkept [3]: float, 12 bytes\n");
    assert!(folder.read("out.onnx").windows(6).any(|bytes| bytes == HALVES));
}

/// A summary of nothing would look like success.
#[test]
fn a_model_of_which_nothing_is_cast_gives_a_warning() {
    let folder = Folder::new();
    let trees = [field(1, b"nodes_values"), field(7, &floats(&[1.0])), vec![0xa0, 1, 6]].concat();
    let trees = [field(5, &trees), field(7, b"ai.onnx.ml")].concat();
    folder.write("m.onnx", model(17, &node("TreeEnsembleRegressor", &["x"], &["y"], &trees)));
    let outcome = folder.cast("convert m.onnx out.onnx --to float16 --device cpu");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let expected = "warning: m.onnx: nothing was cast: the model has no initializers and no constants; floats that are \
                    attributes of 1 node are not converted (first: ai.onnx.ml.TreeEnsembleRegressor \"y\")";
    assert_eq!(outcome.stderr.lines().next(), Some(expected));
}

/// Types of 8 bits and less are newer than the opsets of most models.
#[test]
fn the_opset_is_raised_for_a_newer_type() {
    let folder = Folder::new();
    let with = |operator: &str| {
        let weight = field(5, &tensor("w", &field(9, &floats(&[1.0, 2.0, 0.1]))));
        model(13, &[node(operator, &["w", "s"], &["y"], &[]), weight].concat())
    };
    folder.write("reshape.onnx", with("Reshape"));
    let outcome = folder.cast("convert reshape.onnx out.onnx --to float8e4m3fn --device cpu");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_eq!(outcome.stderr.lines().next(), Some("reshape.onnx: opset raised from 13 to 19"));
    let written = folder.read("out.onnx");
    assert!(written.starts_with(&[8, 9]) && written.ends_with(&field(8, &[16, 19])), "{written:?}");
    folder.write("split.onnx", with("Split"));
    let outcome = folder.cast("convert split.onnx no.onnx --to float8e4m3fn --device cpu");
    let expected = "wgpu-cast: split.onnx: float8e4m3fn needs opset 19, and the model imports opset 13; the operators of these \
                    nodes changed in between: Split \"y\"; convert the model to opset 19 with onnx.version_converter first";
    assert_eq!((outcome.status, outcome.line()), (Some(1), expected));
    assert_eq!(folder.names(), ["out.onnx", "reshape.onnx", "split.onnx"]);
}

/// Rounded scales would change the shape that `Resize` makes.
#[test]
fn parameters_of_operators_stay_unless_mapped() {
    let folder = Folder::new();
    let initializer = |name: &str| field(5, &tensor(name, &field(9, &floats(&[1.0, 2.0, 0.1]))));
    let resize = node("Resize", &["x", "", "s"], &["y"], &[]);
    let add = node("Add", &["y", "w"], &["z"], &[]);
    folder.write("m.onnx", model(17, &[resize, add, initializer("s"), initializer("w")].concat()));
    let targets = |command: &str, expected: [&str; 2], warning: &str| {
        let outcome = folder.cast(&format!("{command} --json --device cpu"));
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), warning));
        let rows = outcome.text().lines().map(|line| serde_json::from_str(line).expect("JSON"));
        let found: Vec<_> = rows.take(2).map(|row: serde_json::Value| row["to"].clone()).collect();
        assert_eq!(found, expected);
    };
    let warning = "warning: m.onnx: 1 tensor left: parameters of operators, such as scales, which must not be rounded: \
                   \"s\" (--map casts them)\n";
    targets("convert m.onnx out.onnx --to float16", ["float", "float16"], warning);
    targets("convert m.onnx mapped.onnx --to float16 --map s=float16", ["float16", "float16"], "");
}

/// A scale that becomes 0 makes all that it scales 0, or NaN.
#[test]
fn scales_that_become_0_are_told() {
    let folder = Folder::new();
    let axis = field(5, &[field(1, b"axis"), vec![3 << 3, 0, 0xa0, 1, 2]].concat());
    let dequantize = node("DequantizeLinear", &["q", "s"], &["y"], &axis);
    let codes = field(5, &[&[8, 3, 16, 2][..], &field(8, b"q"), &field(9, &[1, 2, 3])].concat());
    let scales = field(5, &tensor("s", &field(9, &floats(&[1e-9, 1e-6, 0.1]))));
    folder.write("m.onnx", model(19, &[dequantize, codes, scales].concat()));
    let told = "1 value of scales or parameters became 0 in s";
    for how in ["--graph", "--map s=float16"] {
        let line = format!("convert m.onnx out.onnx --to float16 {how} --device cpu");
        let outcome = folder.cast(&line);
        let warning = format!("warning: {told} (--strict makes this an error, --stats lists all tensors)\n");
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
        assert!(outcome.stderr.ends_with(&warning), "{}", outcome.stderr);
        std::fs::remove_file(folder.path().join("out.onnx")).expect("a file");
        let outcome = folder.cast(&format!("{line} --strict"));
        let expected = format!("wgpu-cast: --strict: {told}; nothing was written (--stats lists all tensors)");
        assert_eq!((outcome.status, outcome.stderr.lines().last()), (Some(1), Some(expected.as_str())));
        assert_eq!(folder.names(), ["m.onnx"]);
        let outcome = folder.cast(&format!("{line} --json"));
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), warning.as_str()));
        let rows: Vec<serde_json::Value> =
            outcome.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let told = |row: &serde_json::Value| (row["tensor"].clone(), row["parameter"].clone());
        assert_eq!(told(&rows[0]), ("q".into(), serde_json::Value::Null));
        assert_eq!((told(&rows[1]), &rows[1]["lost"]["zero"]), (("s".into(), true.into()), &1.into()));
        std::fs::remove_file(folder.path().join("out.onnx")).expect("a file");
    }
    let outcome = folder.cast("convert m.onnx out.onnx --to float16 --graph --dry-run --device cpu");
    assert!(outcome.text().contains(", a parameter of an operator\n"), "{}", outcome.text());
}
