//! `.pb` files and models, run as a user runs them.

use support::models;
use wgpu_cast::onnx::CastNode;
use wgpu_cast::{ElementType, Tensor};
use wgpu_cast_files::onnx::{Model, NamedTensor};

use crate::tool::{Folder, INSTALL, floats, npy};

fn pb(name: &str, tensor: Tensor) -> Vec<u8> {
    NamedTensor { name: name.to_owned(), tensor }.into_bytes().expect("a message")
}

fn read(folder: &Folder, name: &str) -> NamedTensor {
    NamedTensor::from_bytes(folder.read(name), None).expect("a message")
}

/// A model of one Cast from float.
fn model(to: ElementType) -> Vec<u8> {
    let node = CastNode::with_target(25, to, None, None).expect("a node");
    Model::of_cast(&node, ElementType::FLOAT, &[3]).and_then(|model| model.to_bytes()).expect("a message")
}

#[test]
fn pb_keeps_name_and_shape() {
    let folder = Folder::new();
    folder.write("a.pb", pb("weights", Tensor::from_slice([2, 1, 2], &[1.0f32, -2.0, 0.1, 500.0]).unwrap()));
    folder.convert("a.pb out.pb --to float8e4m3fn --device cpu");
    let NamedTensor { name, tensor } = read(&folder, "out.pb");
    assert_eq!((name.as_str(), tensor.element_type()), ("weights", ElementType::FLOAT8E4M3FN));
    assert_eq!((tensor.shape(), tensor.bytes().unwrap()), (&[2, 1, 2][..], &[0x38, 0xc0, 0x1d, 0x7e][..]));

    folder.write("mid.pb", folder.read("out.pb"));
    let numbers = npy("<f4", false, "(2, 1, 2)", &floats(&[1.0, -2.0, 0.125, 448.0]));
    assert_eq!(
        folder.convert("mid.pb out.npy --to float --device cpu"),
        npy("<f4", false, "(2, 1, 2)", &floats(&[1.0, -2.0, 0.1015625, 448.0]))
    );
    folder.write("b.npy", numbers);
    folder.convert("b.npy out.pb --to string");
    let NamedTensor { name, tensor } = read(&folder, "out.pb");
    assert_eq!((name.as_str(), tensor.shape()), ("", &[2, 1, 2][..]));
    folder.write("mid.pb", folder.read("out.pb"));
    assert_eq!(tensor.strings().unwrap().collect::<Vec<_>>(), ["1.0", "-2.0", "0.125", "448.0"]);
    assert_eq!(folder.convert("mid.pb out.bin --to int8"), [1, 0xfe, 0, 0xc0]);
}

#[test]
fn pb_of_raw_codes() {
    let folder = Folder::new();
    folder.write("a.pb", pb("x", Tensor::from_slice([2], &[0x3f80u16, 0xc000]).unwrap()));
    assert_eq!(folder.convert("a.pb out.bin --from bfloat16 --to int8 --device cpu"), [1, 0xfe]);
    let outcome = folder.cast("convert a.pb out.bin --from float --to int8 --device cpu");
    assert_eq!(outcome.status, Some(1));
    assert_eq!(outcome.line(), "wgpu-cast: a.pb: contains uint16, which cannot be read as float");
}

#[test]
fn strings_that_are_no_numbers_and_devices_that_have_no_strings() {
    let folder = Folder::new();
    folder.write("a.pb", pb("x", Tensor::from_strings([2], ["1", "twelve"]).unwrap()));
    for (line, status, message) in [
        ("a.pb out.pb --to float", 1, "wgpu-cast: casting string to float: element 1 is not a number: \"twelve\""),
        ("a.pb out.pb --to bool --device gpu", 2, "wgpu-cast: string to bool: strings can only be cast on the CPU"),
        ("a.pb out.pb --to int8 --opset 8", 2, "Cast at opset 8 does not support string (added in opset 9)"),
        ("a.pb out.pb --to int8 --len 2", 2, "a.pb: --len is only for .bin files"),
        ("a.bin out.pb --from string --to int8", 2, "a.bin: string tensors are supported only in .npy and .pb files"),
    ] {
        let outcome = folder.cast(&format!("convert {line}"));
        assert_eq!(outcome.status, Some(status), "{line}: {}", outcome.stderr);
        assert!(outcome.line().contains(message), "{line}: {}", outcome.stderr);
    }
    assert_eq!(folder.names(), ["a.pb"]);
    let outcome = folder.cast_without_gpu("convert a.pb out.pb --to string");
    assert_eq!(outcome.line(), "string (unchanged), 2 elements, nothing was cast");
}

#[test]
fn a_model_runs_on_either_device() {
    let folder = Folder::new();
    folder.write("m.onnx", model(ElementType::FLOAT16));
    folder.write("x.pb", pb("whatever", Tensor::from_slice([3], &[1.0f32, 65520.0, -0.0]).unwrap()));
    folder.write("x.npy", npy("<f4", false, "(3,)", &floats(&[1.0, 65520.0, -0.0])));
    for (device, input) in [("cpu", "x.pb"), ("gpu", "x.pb"), ("gpu", "x.npy")] {
        let outcome = folder.cast(&format!("run m.onnx {input} -o out/{device} --device {device}"));
        assert_eq!(outcome.status, Some(0), "{INSTALL}; {}", outcome.stderr);
        let line = outcome.line();
        assert!(line.starts_with("float16 [3]; 1 node, on "), "{line}");
        assert!(line.ends_with(&format!("(--device {device})")), "{line}");
        let NamedTensor { name, tensor } = read(&folder, &format!("out/{device}/output_0.pb"));
        assert_eq!((name.as_str(), tensor.bytes().unwrap()), ("output", &[0, 0x3c, 0, 0x7c, 0, 0x80][..]));
    }
}

#[test]
fn runs_are_described_for_programs() {
    let folder = Folder::new();
    folder.write("m.onnx", model(ElementType::INT4));
    folder.write("x.npy", npy("<f4", false, "(3,)", &floats(&[1.0, 2.0, -0.0])));
    let outcome = folder.cast("run m.onnx x.npy -o out --device cpu --json");
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
    let lines: Vec<serde_json::Value> =
        outcome.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let output = std::path::Path::new("out").join("output_0.pb").display().to_string();
    let expected = serde_json::json!({"file": output, "tensor": "output", "shape": [3], "type": "int4", "bytes": 2});
    assert_eq!((lines.len(), &lines[0], &lines[1]["outputs"]), (2, &expected, &1.into()));
    let quiet = folder.cast("run m.onnx x.npy -o out --device cpu --quiet");
    assert_eq!((quiet.status, quiet.stderr.as_str(), quiet.text()), (Some(0), "", ""));
}

/// A model of so many outputs: casts of FLOAT to FLOAT16.
fn model_of(outputs: usize) -> Vec<u8> {
    let mut graph = models::field(11, &models::value("x", ElementType::FLOAT));
    for name in (0..outputs).map(|index| format!("y{index}")) {
        graph.extend(models::cast("x", &name, ElementType::FLOAT16));
        graph.extend(models::field(12, &models::value(&name, ElementType::FLOAT16)));
    }
    models::model(&graph)
}

#[test]
fn the_line_about_many_outputs_is_short() {
    let folder = Folder::new();
    folder.write("m.onnx", model_of(1000));
    folder.write("x.pb", pb("x", Tensor::from_slice([1; 64], &[1.0f32]).unwrap()));
    let outcome = folder.cast("run m.onnx x.pb -o out --device cpu");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let output = "float16 [1, 1, 1, 1, 1, 1, 1, 1, … and 56 more]";
    let outputs = [output; 8].join(", ");
    assert!(outcome.line().starts_with(&format!("{outputs}, … and 992 more; 1000 nodes, on the CPU (")), "{outcome:?}");
    assert_eq!(read(&folder, "out/output_999.pb").tensor.bytes(), Some(&[0, 0x3c][..]));
}

/// The last of three outputs cannot be written, or not be renamed.
#[test]
fn runs_that_fail_late_write_nothing_either() {
    let folder = Folder::new();
    folder.write("m.onnx", model_of(3));
    folder.write("x.pb", pb("x", Tensor::from_slice([1], &[1.0f32]).unwrap()));
    std::fs::create_dir_all(folder.path().join("out/output_2.pb")).expect("a folder");
    let outcome = folder.cast("run m.onnx x.pb -o out --device cpu");
    assert_eq!(outcome.status, Some(1), "{}", outcome.stderr);
    assert_eq!(outcome.line(), "wgpu-cast: out/output_2.pb: cannot write: it is a folder");
    let left: Vec<_> = std::fs::read_dir(folder.path().join("out")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["output_2.pb"]);

    std::fs::remove_dir(folder.path().join("out/output_2.pb")).expect("an empty folder");
    folder.write("out/output_0.pb", "older");
    let outcome = folder.cast("run m.onnx x.pb -o out --device cpu");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let mut left: Vec<_> =
        std::fs::read_dir(folder.path().join("out")).unwrap().map(|e| e.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["output_0.pb", "output_1.pb", "output_2.pb"]);
    assert_eq!(read(&folder, "out/output_0.pb").tensor.bytes(), Some(&[0, 0x3c][..]));
}

#[test]
fn runs_that_fail_write_nothing() {
    let folder = Folder::new();
    folder.write("m.onnx", model(ElementType::FLOAT16));
    folder.write("short.onnx", &model(ElementType::FLOAT16)[..40]);
    folder.write("x.pb", pb("x", Tensor::from_slice([1], &[1.0f32]).unwrap()));
    folder.write("i.pb", pb("x", Tensor::from_slice([1], &[1i32]).unwrap()));
    folder.write("x.bin", [0; 4]);
    for (line, status, message) in [
        ("run m.onnx -o out", 1, "wgpu-cast: expected 1 input, got 0"),
        ("run m.onnx x.pb x.pb -o out", 1, "expected 1 input, got 2"),
        ("run m.onnx i.pb -o out", 1, "the input \"input\" has type int32, expected float"),
        ("run m.onnx m.onnx -o out", 2, "m.onnx: model inputs must be .pb or .npy files"),
        ("run m.onnx x.bin -o out", 2, "x.bin: model inputs must be .pb or .npy files"),
        ("run m.onnx nothing.pb -o out", 1, "nothing.pb: "),
        ("run nothing.onnx x.pb -o out", 1, "nothing.onnx: "),
        ("run short.onnx x.pb -o out", 1, "short.onnx: invalid ModelProto: "),
        ("run m.onnx x.pb -o x.pb", 1, "x.pb: "),
        ("run m.onnx x.pb", 2, "--output <DIR>"),
    ] {
        let outcome = folder.cast(&format!("{line} --device cpu"));
        assert_eq!(outcome.status, Some(status), "{line}: {}", outcome.stderr);
        assert!(outcome.line().contains(message), "{line}: {}", outcome.stderr);
    }
    assert_eq!(folder.names(), ["i.pb", "m.onnx", "short.onnx", "x.bin", "x.pb"]);
}

/// Constants of nodes are no initializers, and initializers of different branches may have the same name.
#[test]
fn strict_conversions_of_models_look_at_all_that_is_cast() {
    let field = |number: u8, bytes: &[u8]| [&[number << 3 | 2, bytes.len() as u8][..], bytes].concat();
    let float = |value: f32| [&[8, 1, 16, 1][..], &field(9, &floats(&[value]))].concat();
    let node = |operator: &str, output: &str, attribute: &[u8]| {
        field(1, &[field(2, output.as_bytes()), field(4, operator.as_bytes()), attribute.to_vec()].concat())
    };
    let model = |nodes: &[u8]| [&[8, 8][..], &field(7, nodes), &field(8, &[16, 17])].concat();
    let folder = Folder::new();
    let value = field(5, &[field(1, b"value"), field(5, &float(1e6)), vec![0xa0, 1, 4]].concat());
    folder.write("constant.onnx", model(&node("Constant", "k", &value)));
    let branch = |name: &str, w: &[u8]| {
        let tensor = field(5, &[w, &field(8, b"w")].concat());
        field(5, &[field(1, name.as_bytes()), field(6, &tensor), vec![0xa0, 1, 5]].concat())
    };
    let integers = [&[8, 1, 16, 7][..], &field(9, &[0; 8])].concat();
    let branches = [branch("then_branch", &integers), branch("else_branch", &float(1e6))].concat();
    folder.write("branches.onnx", model(&node("If", "y", &branches)));
    for (line, tensors, rows) in [
        ("constant.onnx out.onnx --graph", 1, vec![("k", "float", 1)]),
        ("branches.onnx out.onnx --from float", 2, vec![("w", "int64", 0), ("w", "float", 1)]),
    ] {
        let outcome = folder.cast(&format!("convert {line} --to float16 --json --device cpu"));
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
        let lines: Vec<serde_json::Value> =
            outcome.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let last = &lines[lines.len() - 1];
        assert_eq!((&last["tensors"], &last["cast"]), (&tensors.into(), &1.into()), "{last}");
        for (row, (name, from, infinite)) in lines.iter().zip(rows) {
            assert_eq!((&row["tensor"], &row["from"]), (&name.into(), &from.into()), "{row}");
            assert_eq!(row["lost"]["infinite"].as_u64().unwrap_or(0), infinite, "{row}");
        }
        let strict = folder.cast(&format!("convert {line} --to float16 --strict --force --device cpu"));
        assert_eq!(strict.status, Some(1), "{}", strict.stderr);
    }
}
