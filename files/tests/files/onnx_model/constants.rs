//! Values of `Constant` nodes, which follow the rules of initializers.

use wgpu_cast::ElementType;
use wgpu_cast_files::{GraphRules, ModelData, ModelRules, ModelScan};

use super::build::*;

const INT32: i32 = 6;

fn constant(output: &str, attribute: &Message) -> Message {
    node("Constant", &[], &[output]).bytes(5, attribute)
}

/// A constant whose value is a tensor.
fn with_tensor(output: &str, code: i32, dims: &[i64], data: &[u8]) -> Message {
    let tensor = message().ints(DIMS, dims).int(DATA_TYPE, code.into()).bytes(RAW_DATA, data);
    constant(output, &tensor_attribute("value", &tensor))
}

/// An attribute of one number, and of lists that are packed or not.
fn float(value: f32) -> Message {
    message().bytes(1, "value_float").fixed32(2, value.to_bits()).int(20, 1)
}

fn list(values: &[f32]) -> Message {
    message().bytes(1, "value_floats").bytes(7, float_bytes(values)).int(20, 6)
}

/// FLOAT to FLOAT16, and INT64 to INT32.
fn narrower(_: &str, from: ElementType) -> Option<ElementType> {
    match from {
        ElementType::FLOAT => Some(ElementType::FLOAT16),
        ElementType::INT64 => Some(ElementType::INT32),
        _ => None,
    }
}

#[test]
fn constants_are_stored_in_another_type_with_a_cast_back() {
    let ints = message().bytes(1, "value_ints").packed(8, &[-1, 300]).int(20, 7);
    let one_by_one = message().bytes(1, "value_ints").ints(8, &[-1, 300]).int(20, 7);
    let two: Vec<u8> = [-1i32, 300].iter().flat_map(|int| int.to_le_bytes()).collect();
    let half = |dims: &[i64], values: &[f32]| (FLOAT16, dims.to_vec(), codes(values, ElementType::FLOAT16));
    let raw_tensor = message().ints(DIMS, &[2]).int(DATA_TYPE, FLOAT.into()).bytes(RAW_DATA, float_bytes(&VALUES));
    let typed = message().ints(DIMS, &[2]).int(DATA_TYPE, FLOAT.into()).bytes(FLOAT_DATA, float_bytes(&VALUES));
    for (before, (code, dims, data)) in [
        (tensor_attribute("value", &raw_tensor), half(&[2], &VALUES)),
        (tensor_attribute("value", &typed), half(&[2], &VALUES)),
        (list(&VALUES), half(&[2], &VALUES)),
        (float(0.1), half(&[], &[0.1])),
        (message().bytes(1, "value_float").int(20, 1), half(&[], &[0.0])),
        (ints, (INT32, vec![2], two.clone())),
        (one_by_one, (INT32, vec![2], two)),
        (int("value_int", -7), (INT32, vec![], (-7i32).to_le_bytes().to_vec())),
    ] {
        let old = if code == FLOAT16 { FLOAT } else { INT64 };
        let around = |nodes: &[(u64, Message)]| {
            let first = [(NODE, node("Shape", &["x"], &["s"]))];
            let last = [(NODE, node("Add", &["x", "k"], &["y"])), (OUTPUT, value("k", old))];
            of(&[&first[..], nodes, &last].concat())
        };
        let written =
            convert(&around(&[(NODE, constant("k", &before))]), &[], &ModelRules::new(&narrower, DATA_FILE)).unwrap();
        let suffix = if code == FLOAT16 { "float16" } else { "int32" };
        let name = format!("k_{suffix}");
        let scan = ModelScan::read(&written.model.0).unwrap();
        let tensor = scan.tensors().next().unwrap();
        let shape: Vec<u64> = dims.iter().map(|&dim| dim as u64).collect();
        assert_eq!((tensor.name, tensor.shape), (name.as_str(), &shape[..]), "{before:?}");
        let ModelData::Packed(range) = tensor.data else { panic!("{before:?}: {:?}", tensor.data) };
        let found = &written.model.0[range.offset as usize..(range.offset + range.bytes) as usize];
        assert_eq!(found, data, "{before:?}");
        let stored = with_tensor(&name, code, &dims, &data);
        assert_model(&written.model, &around(&[(NODE, stored), (NODE, cast(&name, "k", old))]));
        assert_eq!(written.notes, Vec::<String>::new());
    }
}

/// The whole model, where the constant's tensor keeps its other fields.
#[test]
fn a_constant_keeps_what_is_not_its_value() {
    let with = |output: &str, code: i32, data: &[u8]| {
        let tensor = message().bytes(NAME, "inner").ints(DIMS, &[2]).int(DATA_TYPE, code.into()).bytes(12, "doc");
        let attribute = tensor_attribute("value", &tensor.bytes(RAW_DATA, data)).bytes(13, "text");
        constant(output, &attribute).bytes(3, "node").bytes(900, "unknown")
    };
    let source = of(&[(NODE, with("k", FLOAT, &float_bytes(&VALUES))), (OUTPUT, value("k", FLOAT))]);
    let expected = of(&[
        (NODE, with("k_float16", FLOAT16, &float16())),
        (OUTPUT, value("k", FLOAT)),
        (NODE, cast("k_float16", "k", FLOAT)),
    ]);
    let written = stored(&source, &[], ElementType::FLOAT16).unwrap();
    assert_model(&written.model, &expected);
    let row = &written.tensors[0];
    assert_eq!((row.name.as_str(), row.shape.as_slice(), row.to), ("k", &[2][..], Some(ElementType::FLOAT16)));
}

/// In branches, and in functions, which then import the opset of the model.
#[test]
fn constants_of_nested_graphs_and_functions() {
    let body = |nodes: &[Message]| nodes.iter().fold(message(), |body, node| body.bytes(7, node));
    let whole = |opset: i64, k: &str, code: i32, data: &[u8], back: bool| {
        let with = |output: &str| with_tensor(output, code, &[2], data);
        let name = |base: &str| if back { format!("{base}_float8e4m3fn") } else { base.to_owned() };
        let nodes = |base: &str| {
            let casts = back.then(|| cast(&name(base), base, FLOAT));
            [Some(with(&name(base))), casts].into_iter().flatten().collect::<Vec<_>>()
        };
        // The cast behind the last node is at the end of the graph.
        let mut branch: Vec<_> = nodes("b").into_iter().map(|node| (NODE, node)).collect();
        branch.insert(1, (OUTPUT, value("b", FLOAT)));
        let branch = graph(&branch);
        let choice = node("If", &["c"], &["y"]).bytes(5, graph_attribute("then_branch", &branch));
        let call = node("f", &["y"], &["z"]).bytes(7, "own");
        let fields = [(NODE, choice), (NODE, call), (INPUT, value("c", 9)), (OUTPUT, value("z", FLOAT))];
        let nodes = [nodes(k), vec![node("Add", &["v", k], &["u"])]].concat();
        let function = message().bytes(1, "f").bytes(4, "v").bytes(5, "u").raw(body(&nodes));
        let function = function.bytes(9, message().int(2, opset)).bytes(9, message().bytes(1, "own").int(2, 1));
        model(if back { 9 } else { 8 }, opset, &graph(&fields)).bytes(25, function.bytes(10, "own"))
    };
    let source = whole(17, "k", FLOAT, &float_bytes(&VALUES), false);
    let names: Vec<_> = ModelScan::read(&source.0).unwrap().tensors().map(|tensor| tensor.name.to_owned()).collect();
    assert_eq!(names, ["b", "k"]);
    let written = stored(&source, &[], ElementType::FLOAT8E4M3FN).unwrap();
    let data = codes(&VALUES, ElementType::FLOAT8E4M3FN);
    assert_model(&written.model, &whole(19, "k", FLOAT8E4M3FN, &data, true));
    assert_eq!(written.notes, ["opset raised from 17 to 19"]);
    // With a graph the function keeps the old type, and so do its constants and what it takes.
    let kept = to_float16(&source, as_they_are);
    assert_eq!(kept.tensors.iter().map(|tensor| tensor.to).collect::<Vec<_>>(), [None, None]);
}

#[test]
fn rules_know_constants_by_what_their_nodes_make() {
    let fields = [
        (NODE, constant("first", &list(&VALUES)).bytes(3, "node")),
        (NODE, constant("second", &float(1.5))),
        (NODE, with_tensor("third", INT64, &[1], &[0; 8])),
        (NODE, node("Mul", &["first", "second"], &["y"])),
        (OUTPUT, value("y", FLOAT)),
    ];
    let source = of(&fields);
    let rule = |name: &str, from: ElementType| {
        assert_ne!(name, "node");
        narrower(name, from).filter(|_| name != "first")
    };
    let types = |written: Written| written.tensors.iter().map(|tensor| tensor.to).collect::<Vec<_>>();
    let mut rules = ModelRules::new(&rule, DATA_FILE);
    let expected = [None, Some(ElementType::FLOAT16), Some(ElementType::INT32)];
    assert_eq!(types(convert(&source, &[], &rules).unwrap()), expected);
    // With a graph, too: what is not selected is cast where it is used.
    rules.graph = Some(GraphRules::new(ElementType::FLOAT, ElementType::FLOAT16));
    let written = convert(&source, &[], &rules).unwrap();
    let half = codes(&[1.5], ElementType::FLOAT16);
    let expected_model = of(&[
        (NODE, constant("first", &list(&VALUES)).bytes(3, "node")),
        (NODE, cast("first", "first_float16", FLOAT16)),
        (NODE, with_tensor("second", FLOAT16, &[], &half)),
        (NODE, with_tensor("third_int32", INT32, &[1], &[0; 4])),
        (NODE, cast("third_int32", "third", INT64)),
        (NODE, node("Mul", &["first_float16", "second"], &["y"])),
        (OUTPUT, value("y", FLOAT16)),
    ]);
    assert_model(&written.model, &expected_model);
    assert_eq!(types(written), expected);
}

#[test]
fn constants_are_listed_behind_initializers() {
    let strings = message().bytes(1, "value_strings").bytes(9, "a").bytes(9, "b").int(20, 8);
    let sparse = message().bytes(1, floats("", &[0.1])).bytes(2, raw("", INT64, &[1], &[0; 8])).int(3, 2);
    let fields = [
        (NODE, with_tensor("t", FLOAT, &[2], &float_bytes(&VALUES))),
        (NODE, constant("f", &float(1.0))),
        (NODE, constant("l", &list(&VALUES))),
        (NODE, constant("i", &int("value_int", 1))),
        (NODE, constant("n", &message().bytes(1, "value_ints").ints(8, &[1, 2, 300]).int(20, 7))),
        (NODE, constant("s", &message().bytes(1, "value_string").bytes(4, "a").int(20, 3))),
        (NODE, constant("w", &strings)),
        (NODE, constant("sparse", &message().bytes(1, "sparse_value").bytes(22, sparse).int(20, 11))),
        (NODE, constant("other", &float(1.0)).bytes(7, "custom")),
        (NODE, node("ConstantOfShape", &["n"], &["o"]).bytes(5, tensor_attribute("value", &floats("", &[1.0])))),
        (INITIALIZER, floats("initializer", &[1.0])),
    ];
    let source = of(&fields);
    let scan = ModelScan::read(&source.0).unwrap();
    let found: Vec<_> = scan.tensors().map(|tensor| (tensor.name, tensor.shape, tensor.element_type)).collect();
    let [float, int, string] = [ElementType::FLOAT, ElementType::INT64, ElementType::STRING].map(Some);
    let expected = [
        ("initializer", &[1][..], float),
        ("t", &[2], float),
        ("f", &[], float),
        ("l", &[2], float),
        ("i", &[], int),
        ("n", &[3], int),
        ("s", &[], string),
        ("w", &[2], string),
    ];
    assert_eq!(found, expected);
    let written = stored(&source, &[], ElementType::FLOAT16).unwrap();
    let names: Vec<_> = written.tensors.iter().map(|tensor| tensor.name.as_str()).collect();
    assert_eq!(names, expected.map(|(name, ..)| name));
    assert_eq!(written.notes, ["1 sparse tensor left (first: \"sparse\"): only dense tensors are cast"]);
    let error = convert(&source, &[], &ModelRules::new(&|_, _| Some(ElementType::INT32), DATA_FILE)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "tensor \"s\": it cannot be stored as int32: casts from and to string are not supported"
    );
}

/// Before opset 9 a constant is FLOAT, FLOAT16 or DOUBLE.
#[test]
fn the_opset_is_raised_to_one_whose_constants_have_the_type() {
    let with = |ir_version, opset, nodes: &[Message]| {
        let nodes: Vec<_> = nodes.iter().map(|node| (NODE, node.clone())).collect();
        model(ir_version, opset, &graph(&nodes))
    };
    let source = with(8, 8, &[constant("k", &tensor_attribute("value", &floats("", &[1.0])))]);
    let new =
        |name: &str, code: i32, data: &[u8]| constant(name, &tensor_attribute("value", &raw("", code, &[1], data)));
    for (to, code, opset) in [(ElementType::INT8, 3, 9), (ElementType::FLOAT16, FLOAT16, 8)] {
        let name = format!("k_{to}");
        let expected = with(8, opset, &[new(&name, code, &codes(&[1.0], to)), cast(&name, "k", FLOAT)]);
        assert_model(&stored(&source, &[], to).unwrap().model, &expected);
    }
}

/// A summary of nothing would not tell the user why.
#[test]
fn a_note_says_why_nothing_was_cast() {
    let notes = |fields: &[(u64, Message)]| stored(&of(fields), &[], ElementType::FLOAT16).unwrap().notes;
    let add = (NODE, node("Add", &["x", "x"], &["y"]));
    let none = "nothing was cast: the model has no initializers and no constants";
    assert_eq!(notes(std::slice::from_ref(&add)), [none]);
    let trees = node("TreeEnsembleRegressor", &["x"], &["y"]).bytes(7, "ai.onnx.ml");
    let trees = trees.bytes(5, message().bytes(1, "nodes_values").bytes(7, [0; 8]).int(20, 6));
    let others =
        "; floats that are attributes of 1 node are not converted (first: ai.onnx.ml.TreeEnsembleRegressor \"y\")";
    assert_eq!(notes(&[(NODE, trees.clone())]), [format!("{none}{others}")]);
    let ints = [(INITIALIZER, raw("n", INT64, &[1], &[0; 8])), (NODE, constant("k", &int("value_int", 1)))];
    assert_eq!(notes(&ints), ["nothing was cast: none of its 2 tensors is selected"]);
    assert_eq!(notes(&ints[..1]), ["nothing was cast: its only tensor is not selected"]);
    let to_itself = stored(&of(&[(INITIALIZER, floats("w", &VALUES))]), &[], ElementType::FLOAT).unwrap();
    assert_eq!(to_itself.notes, ["nothing was cast: what was selected has that type already (1 tensor)"]);
    // No such note where something was cast, or another note says why not.
    assert_eq!(notes(&[(INITIALIZER, floats("w", &VALUES)), (NODE, trees)]), Vec::<String>::new());
    let default = [(INITIALIZER, floats("w", &VALUES)), (INPUT, value("w", FLOAT))];
    assert_eq!(notes(&default), ["1 initializer left (first: \"w\"): default values of graph inputs"]);
}
