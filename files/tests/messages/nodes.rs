//! What single nodes mean, and what is wrong with those that are refused.

use ElementType::*;
use wgpu_cast::{ElementType, Error};
use wgpu_cast_files::onnx;
use wgpu_cast_files::{FileCause, FileError};

use crate::models::*;
use crate::wire::*;

/// What is wrong with a node between the input x and the output y.
fn refused(opset: i64, node: Message) -> String {
    text(opset, &[input("x", FLOAT), node.part(), untyped_output("y")])
}

fn cast_node() -> Message {
    node("Cast", &["x"], &["y"])
}

fn to(code: i64) -> Message {
    int("to", code)
}

#[test]
fn other_operators_are_named_with_their_domain() {
    for (domain, operator, expected) in [
        ("", "Add", "Add"),
        ("ai.onnx", "Relu", "Relu"),
        ("", "cast", "cast"),
        ("", "", ""),
        ("com.microsoft", "Cast", "com.microsoft::Cast"),
        ("ai.onnx.ml", "CastMap", "ai.onnx.ml::CastMap"),
        ("AI.ONNX", "Identity", "AI.ONNX::Identity"),
    ] {
        let node = node(operator, &["x"], &["y"]).bytes(7, domain).named("n");
        let message = refused(13, node);
        let supported = "is not supported (supported: Cast, CastLike, Identity, Constant)";
        assert_eq!(message, format!("node \"n\": operator {expected:?} {supported}"));
    }
    let explicit = cast_node().with(to(10)).bytes(7, "ai.onnx").part();
    assert!(load(&model(13, &[input("x", FLOAT), explicit, output("y", FLOAT16)])).is_ok());
}

#[test]
fn errors_name_the_node_or_what_it_makes() {
    let name = |node: Message| fault(&[input("x", FLOAT), node.part()]).0.unwrap();
    assert_eq!(name(node("Add", &["x"], &["y", "z"]).named("the name")), "the name");
    assert_eq!(name(node("Add", &["x"], &["y", "z"])), "y");
    assert_eq!(name(node("Add", &["x"], &[])), "Add");
    assert_eq!(name(node("Add", &["x"], &[""])), "Add");
}

#[test]
fn inputs_and_outputs_as_the_operator_has_them() {
    let arity = |what: &str, expected, found| {
        let what = if expected == 1 { what.trim_end_matches('s') } else { what };
        format!("expected {expected} {what}, got {found}")
    };
    let of = |operator, inputs: &[&str], outputs: &[&str]| {
        let attributes = if operator == "Cast" { vec![to(1)] } else { vec![] };
        let node = attributes.into_iter().fold(node(operator, inputs, outputs), Message::with);
        fault(&[input("x", FLOAT), node.part()]).1
    };
    for (operator, expected) in [("Cast", 1), ("CastLike", 2), ("Identity", 1), ("Constant", 0)] {
        for found in (0..4).filter(|&found| found != expected) {
            assert_eq!(of(operator, &["x"; 3][..found], &["y"]), arity("inputs", expected, found), "{operator}");
        }
    }
    for (operator, inputs) in [("Cast", &["x"][..]), ("CastLike", &["x", "x"]), ("Identity", &["x"])] {
        assert_eq!(of(operator, inputs, &[]), arity("outputs", 1, 0));
        assert_eq!(of(operator, inputs, &["y", "z"]), arity("outputs", 1, 2));
    }
}

#[test]
fn attributes_that_a_version_lacks_or_that_are_of_another_kind() {
    let like = || node("CastLike", &["x", "x"], &["y"]);
    let reference = message().bytes(1, "to").int(20, 2).bytes(21, "outer");
    for (opset, node, expected) in [
        (13, cast_node(), "Cast at opset 13: the required attribute \"to\" is missing"),
        (
            13,
            cast_node().with(to(14)),
            "Cast at opset 13: the attribute \"to\" must be a supported TensorProto.DataType, got \"14\"",
        ),
        (13, cast_node().with(string("to", "FLOAT")), "Cast at opset 13: the attribute \"to\" must be INT, got STRING"),
        (5, cast_node().with(to(1)), "Cast at opset 5: the attribute \"to\" must be STRING, got INT"),
        (13, cast_node().with(to(1)).with(to(1)), "Cast at opset 13: the attribute \"to\" must be one value, got two"),
        (13, cast_node().with(to(1)).with(int("axis", 0)), "Cast at opset 13 has no attribute \"axis\""),
        (13, cast_node().with(to(1)).with(int("saturate", 0)), "Cast at opset 13 has no attribute \"saturate\" (added"),
        (
            19,
            cast_node().with(to(17)).with(attribute("saturate", 1)),
            "Cast at opset 19: the attribute \"saturate\" must ",
        ),
        (
            24,
            cast_node().with(to(24)).with(string("round_mode", "odd")),
            "Cast at opset 24: the attribute \"round_mode\" must be up, down or nearest, got \"odd\"",
        ),
        (13, cast_node().with(attribute("to", 7)), "Cast at opset 13: the attribute \"to\" must be INT, got INTS"),
        (13, cast_node().with(attribute("to", 0)), "Cast at opset 13: the attribute \"to\" must be INT, got UNDEFINED"),
        (13, cast_node().with(attribute("to", 99)), "Cast at opset 13: the attribute \"to\" must be INT, got unknown"),
        (13, cast_node().with(attribute("to", -1)), "Cast at opset 13: the attribute \"to\" must be INT, got unknown"),
        (13, cast_node().with(reference), "Cast at opset 13: the attribute \"to\" must be INT, got reference"),
        (5, cast_node().with(string("to", b"\xff")), "Cast at opset 5: the attribute \"to\" must be STRING, got bytes"),
        (25, like().with(to(1)), "CastLike at opset 25 has no attribute \"to\""),
        (14, like(), "CastLike is not supported at opset 14 (supported opsets: 15 to "),
        (13, node("Identity", &["x"], &["y"]).with(to(1)), "the attribute \"to\" of type INT is not supported"),
    ] {
        let message = refused(opset, node);
        assert!(message.starts_with(&format!("node \"y\": {expected}")), "{message}");
    }
}

#[test]
fn types_that_the_opset_does_not_list_are_refused_as_the_model_is_read() {
    let refuses = |opset, operator_and_version: &str, t: ElementType, nodes: &[Message]| {
        let parts = [&[input("x", t), input("f", FLOAT)], nodes, &[untyped_output("y")]].concat();
        let error = load(&model(opset, &parts)).expect_err("a type that the opset lacks");
        let FileCause::Cast(Error::TypeNotInOpset { node, element_type, .. }) = error.cause() else {
            panic!("{t} at opset {opset}: {error}")
        };
        assert_eq!((format!("{}-{}", node.operator, node.since), *element_type), (operator_and_version.to_owned(), t));
        let expected = format!("node \"y\": {} at opset {opset} does not support {t}", node.operator);
        assert!(text(opset, &parts).starts_with(&expected), "{}", text(opset, &parts));
    };
    refuses(12, "Cast-9", BFLOAT16, &[cast("x", "y", FLOAT)]);
    refuses(18, "Cast-13", FLOAT8E5M2, &[cast("x", "y", FLOAT)]);
    refuses(22, "Cast-21", FLOAT4E2M1, &[cast("x", "y", FLOAT)]);
    refuses(27, "Cast-25", FLOAT6E2M3, &[cast("x", "y", FLOAT)]);
    refuses(8, "Cast-6", STRING, &[cast("x", "y", FLOAT)]);
    refuses(20, "CastLike-19", INT4, &[cast_like("x", "f", "y")]);
    refuses(20, "CastLike-19", INT4, &[cast_like("f", "x", "y")]);
    refuses(28, "CastLike-25", FLOAT6E3M2, &[cast_like("f", "x", "y")]);
    // Through nodes before it, in whatever order.
    refuses(28, "CastLike-25", FLOAT6E3M2, &[cast_like("f", "z", "y"), identity("x", "z")]);
    refuses(20, "Cast-19", UINT4, &[identity("x", "z"), cast("z", "y", FLOAT)]);
}

/// A model of the constant y.
fn constant(opset: i64, attributes: &[Message]) -> Result<onnx::Model, FileError> {
    let node = attributes.iter().cloned().fold(node("Constant", &[], &["y"]), Message::with);
    load(&model(opset, &[node.part(), untyped_output("y")]))
}

#[test]
fn constants_of_every_kind_that_casts_take() {
    let values = || {
        let float = |message: Message, value: f32| message.fixed32(7, value.to_bits());
        let floats = [1.5, f32::MIN].into_iter().fold(attribute("value_floats", 6), float);
        let packed = attribute("value_ints", 7).packed(8, &[-1, 1 << 40]);
        let strings = attribute("value_strings", 8).bytes(9, "a").bytes(9, "");
        [
            (attribute("value_float", 1).fixed32(2, 0x3fc0_0000), FLOAT, vec![], "[1069547520]"),
            (floats, FLOAT, vec![2], "[1069547520, 4286578687]"),
            (attribute("value_floats", 6), FLOAT, vec![0], "[]"),
            (int("value_int", -2), INT64, vec![], "[18446744073709551614]"),
            (packed, INT64, vec![2], "[18446744073709551615, 1099511627776]"),
            (attribute("value_ints", 7).int(8, 5), INT64, vec![1], "[5]"),
            (string("value_string", "ä"), STRING, vec![], "[\"ä\"]"),
            (strings, STRING, vec![2], "[\"a\", \"\"]"),
            (attribute("value_strings", 8), STRING, vec![0], "[]"),
        ]
    };
    let given = tensor(INT4.onnx_code(), &[3]).bytes(RAW_DATA, [0x21, 0xf3]);
    let tensor = (attribute("value", 4).bytes(5, given), INT4, vec![3], "[1, 2, 3]");
    for opset in [1, 11, 12, 13, 28] {
        for (attribute, element_type, shape, expected) in values().into_iter().chain([tensor.clone()]) {
            let result = constant(opset, std::slice::from_ref(&attribute));
            if opset < 12 && attribute.0 != tensor.0.0 {
                let fault = result.unwrap_err().to_string();
                assert!(fault.starts_with("node \"y\": the attribute \"value_"), "{fault}");
                continue;
            }
            let (outputs, _) = pollster::block_on(onnx::run(&on_cpu(), &result.unwrap(), vec![])).unwrap();
            let tensor = &outputs[0].tensor;
            let found = match tensor.strings() {
                Some(strings) => format!("{:?}", strings.collect::<Vec<_>>()),
                None => format!("{:?}", tensor.codes().collect::<Vec<_>>()),
            };
            assert_eq!((tensor.element_type(), tensor.shape(), found.as_str()), (element_type, &shape[..], expected));
        }
    }
}

#[test]
fn constants_without_exactly_one_value_of_the_right_kind() {
    let one = || int("value_int", 1);
    let error = |attributes: &[Message]| constant(13, attributes).unwrap_err().to_string();
    assert_eq!(error(&[]), "node \"y\": Constant must have exactly one value, got 0");
    assert_eq!(error(&[one(), one()]), "node \"y\": Constant must have exactly one value, got 2");
    for (attribute, name, kind) in [
        (attribute("sparse_value", 11), "sparse_value", "SPARSE_TENSOR"),
        (attribute("value_int", 1), "value_int", "FLOAT"),
        (attribute("value", 2), "value", "INT"),
        (attribute("value_int", 77), "value_int", "unknown"),
        (int("x", 1), "x", "INT"),
        (int("value_int", 1).bytes(21, "outer"), "value_int", "reference"),
    ] {
        assert_eq!(error(&[attribute]), format!("node \"y\": the attribute {name:?} of type {kind} is not supported"));
    }
    let given = tensor(1, &[-1]);
    for (attribute, expected) in [
        (attribute("value", 4).bytes(5, given), "tensor \"t\": dimension 0 is negative: -1"),
        (attribute("value", 4), "data_type 0 is not supported by Cast"),
        (string("value_string", b"\xff"), "string_data[0] is not valid UTF-8"),
        (attribute("value_strings", 8).bytes(9, "ok").bytes(9, b"\xc3"), "string_data[1] is not valid UTF-8"),
    ] {
        assert_eq!(error(&[attribute]), format!("node \"y\": {expected}"));
    }
}

/// The first version of the format had no field for the kind.
#[test]
fn an_attribute_without_a_kind_is_of_the_kind_of_its_value() {
    let old = |attribute: Message| {
        let cast = node("Cast", &["x"], &["y"]).with(attribute).part();
        message().int(1, 1).raw(graph(&[input("x", FLOAT), cast, output("y", FLOAT16)]))
    };
    let name = || message().bytes(1, "to");
    let model = load(&old(name().bytes(4, "FLOAT16"))).unwrap();
    assert_eq!((model.opset(), model.outputs()[0].element_type), (1, FLOAT16));
    for (attribute, kind) in [
        (name().int(3, 10), "INT"),
        (name(), "UNDEFINED"),
        (name().int(3, 10).bytes(4, "FLOAT16"), "UNDEFINED"),
        (name().bytes(5, ""), "TENSOR"),
    ] {
        let error = load(&old(attribute)).unwrap_err().to_string();
        assert!(error.ends_with(&format!("the attribute \"to\" must be STRING, got {kind}")), "{error}");
    }
}
