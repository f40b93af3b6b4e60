//! Opsets that are raised because a type needs it, where that changes no node.

use wgpu_cast::ElementType;

use super::build::*;

fn with(operator: &str, ir_version: i64, opset: i64) -> Message {
    // The weight comes first: what follows is a parameter of some operators.
    let fields = [(NODE, node(operator, &["w", "x"], &["y"])), (INITIALIZER, floats("w", &VALUES))];
    model(ir_version, opset, &graph(&fields))
}

/// The nodes of the error that names those that changed.
fn changed(source: &Message, to: ElementType) -> Vec<String> {
    let error = stored(source, &[], to).unwrap_err().to_string();
    let list = error.split_once("changed in between: ").and_then(|(_, rest)| rest.split_once("; convert the model"));
    list.expect("a list").0.split(", ").map(str::to_owned).collect()
}

#[test]
fn the_opset_is_raised_where_no_operator_changed() {
    // Add has the versions 1, 6, 7, 13 and 14.
    let written = stored(&with("Add", 8, 17), &[], ElementType::FLOAT8E4M3FN).unwrap();
    let expected = graph(&[
        (NODE, cast("w_float8e4m3fn", "w", FLOAT)),
        (NODE, node("Add", &["w", "x"], &["y"])),
        (INITIALIZER, raw("w_float8e4m3fn", FLOAT8E4M3FN, &[2], &codes(&VALUES, ElementType::FLOAT8E4M3FN))),
    ]);
    assert_model(&written.model, &model(9, 19, &expected));
    assert_eq!(written.notes, ["opset raised from 17 to 19"]);
    let import = |version| message().bytes(8, message().bytes(1, "ai.onnx").int(2, version));
    let both = stored(&with("Add", 9, 17).raw(import(17)), &[], ElementType::FLOAT8E4M3FN).unwrap().model;
    assert!(both.0.ends_with(&import(19).0));
    // Operators of other domains are not concerned.
    let custom = node("Mystery", &["w"], &["y"]).bytes(7, "custom");
    let source = model(8, 17, &graph(&[(NODE, custom), (INITIALIZER, floats("w", &VALUES))]));
    assert!(stored(&source, &[], ElementType::FLOAT8E4M3FN).is_ok());
}

/// Types and optional parts that a version adds change no node.
#[test]
fn the_opset_is_raised_where_operators_gained_something() {
    for (operator, opset, to, raised) in [
        ("Add", 12, ElementType::BFLOAT16, 13),
        ("Reshape", 13, ElementType::FLOAT8E4M3FN, 19),
        ("Resize", 13, ElementType::FLOAT8E5M2, 19),
        ("Pad", 11, ElementType::FLOAT8E4M3FN, 19),
        ("AveragePool", 11, ElementType::FLOAT8E4M3FN, 19),
        ("Cast", 9, ElementType::INT4, 21),
        ("DequantizeLinear", 13, ElementType::FLOAT4E2M1, 23),
    ] {
        let written = stored(&with(operator, 4, opset), &[], to).unwrap_or_else(|error| panic!("{operator}: {error}"));
        assert_eq!(written.notes, [format!("opset raised from {opset} to {raised}")], "{operator}");
        let import = message().bytes(8, message().int(2, raised)).0;
        assert!(written.model.0.ends_with(&import), "{operator}");
    }
}

#[test]
fn the_opset_is_not_raised_past_a_version_that_means_something_else() {
    let error = stored(&with("Softmax", 7, 12), &[], ElementType::BFLOAT16).unwrap_err();
    assert_eq!(
        error.to_string(),
        "bfloat16 needs opset 13, and the model imports opset 12; the operators of these nodes changed in between: \
         Softmax \"y\"; convert the model to opset 13 with onnx.version_converter first"
    );
    for (operator, opset) in [("Split", 13), ("ReduceMean", 17), ("RoiAlign", 15), ("Resize", 12), ("Squeeze", 11)] {
        assert_eq!(
            changed(&with(operator, 8, opset), ElementType::FLOAT8E4M3FN),
            [format!("{operator} \"y\"")],
            "{operator}"
        );
    }
    // Whether an unknown operator changed cannot be known.
    assert_eq!(changed(&with("NoSuchOperator", 8, 17), ElementType::FLOAT8E4M3FN), ["NoSuchOperator \"y\""]);
    // Without a new type the opset stays.
    assert!(stored(&with("Softmax", 7, 12), &[], ElementType::FLOAT16).unwrap().notes.is_empty());
    let many = (0..7).map(|index| (NODE, node("Split", &["x"], &[&format!("s{index}")])));
    let fields: Vec<_> = many.chain([(INITIALIZER, floats("w", &VALUES))]).collect();
    let error = stored(&model(8, 17, &graph(&fields)), &[], ElementType::FLOAT8E4M3FN).unwrap_err();
    let nodes = "Split \"s0\", Split \"s1\", Split \"s2\", Split \"s3\", Split \"s4\" and 2 more";
    let expected = format!(
        "float8e4m3fn needs opset 19, and the model imports opset 17; the operators of these nodes changed in between: \
         {nodes}; convert the model to opset 19 with onnx.version_converter first"
    );
    assert_eq!(error.to_string(), expected);
}

/// The nodes of a graph are converted by the schemas of the opset that is raised to.
#[test]
fn graphs_are_converted_at_the_raised_opset() {
    let whole = |ir_version: i64, opset: i64, code: i32| {
        let ends = [(INPUT, value("x", code)), (OUTPUT, value("y", code))];
        model(ir_version, opset, &graph(&[&[(NODE, node("Add", &["x", "x"], &["y"]))][..], &ends].concat()))
    };
    let written = converted(&whole(4, 9, FLOAT), ElementType::BFLOAT16, as_they_are).unwrap();
    assert_model(&written.model, &whole(7, 13, BFLOAT16));
    assert_eq!(written.notes, ["opset raised from 9 to 13"]);
}

/// Their operators must be of the same versions as in the model.
#[test]
fn functions_follow_the_opset_of_the_model() {
    let import = |opset: i64| message().bytes(9, message().int(2, opset));
    let operator = |name: &str| message().bytes(1, "f").bytes(10, "own").bytes(7, node(name, &["a"], &["b"]));
    let function = |name: &str, opset: i64| operator(name).raw(import(opset));
    let to = ElementType::FLOAT8E4M3FN;
    let raised = |functions: &[Message], expected: &[Message]| {
        let all = |source: Message, functions: &[Message]| functions.iter().fold(source, |all, f| all.bytes(25, f));
        let written = stored(&all(with("Add", 9, 17), functions), &[], to).unwrap();
        assert!(written.model.0.ends_with(&all(message(), expected).0), "{functions:?}");
    };
    // What did not change is copied, and what only gained something imports the new opset.
    raised(&[function("Add", 17)], &[function("Add", 17)]);
    raised(&[function("Cast", 18), function("Add", 18)], &[function("Cast", 19), function("Add", 18)]);
    raised(&[function("Cast", 19), operator("Add")], &[function("Cast", 19), operator("Add")]);
    let branch = graph(&[(NODE, node("Split", &["a"], &["t"]))]);
    let inner = node("If", &["c"], &["b"]).bytes(5, graph_attribute("then_branch", &branch));
    let nested = message().bytes(1, "f").bytes(10, "own").bytes(7, inner).raw(import(17));
    let split = "Split in the function \"f\"";
    assert_eq!(changed(&with("Add", 8, 17).bytes(25, nested), to), [split]);
    // Functions of one name that differ by their overload.
    let overloads = [function("Split", 17).bytes(13, "1"), function("Add", 17).bytes(13, "2")];
    for [first, second] in [[0, 1], [1, 0]] {
        let source = with("Add", 10, 17).bytes(25, &overloads[first]).bytes(25, &overloads[second]);
        assert_eq!(changed(&source, to), [split]);
    }
}
