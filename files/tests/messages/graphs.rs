//! Reading models: opsets, inputs and outputs, and the errors of invalid graphs.

use ElementType::*;
use wgpu_cast::onnx::NEWEST_OPSET;
use wgpu_cast::{ElementType, Route, Tensor};
use wgpu_cast_files::FileCause;
use wgpu_cast_files::onnx::{self, Model};

use crate::models::*;
use crate::wire::*;

/// x, cast to y.
fn plain() -> Vec<Message> {
    vec![input("x", FLOAT), cast("x", "y", FLOAT16), output("y", FLOAT16)]
}

fn floats(shape: &[usize]) -> Tensor {
    Tensor::from_slice(shape, &vec![1.5f32; shape.iter().product()]).unwrap()
}

#[test]
fn inputs_and_outputs_by_name_and_type() {
    let default = initializer("b", &Tensor::from_slice([2], &[1u8, 2]).unwrap());
    let model = newest(&[
        input("a", FLOAT),
        input("b", UINT8),
        default,
        cast("b", "c", BOOL),
        output("c", BOOL),
        untyped_output("a"),
    ]);
    assert_eq!(model.opset(), 28);
    let inputs: Vec<_> = model.inputs().iter().map(|i| (i.name.as_str(), i.element_type, i.has_default)).collect();
    assert_eq!(inputs, [("a", FLOAT, false), ("b", UINT8, true)]);
    let outputs: Vec<_> = model.outputs().iter().map(|o| (o.name.as_str(), o.element_type)).collect();
    assert_eq!(outputs, [("c", BOOL), ("a", FLOAT)]);
}

#[test]
fn opsets_of_the_default_domain_under_both_its_names() {
    let start = || message().int(1, 8).raw(graph(&plain()));
    let both = |first: i64, second: i64| start().raw(opset_import("ai.onnx", first)).raw(opset_import("", second));
    let foreign = opset_import("ai.onnx.ml", 3);
    for (message, opset) in [
        (start().raw(opset_import("", 13)), 13),
        (start().raw(opset_import("ai.onnx", 14)), 14),
        (start().raw(foreign.clone()).raw(opset_import("", 21)).raw(foreign.clone()), 21),
        (both(22, 22), 22),
        // The domain may be left out, and come before or after the graph.
        (message().bytes(8, message().int(2, 15)).raw(graph(&plain())), 15),
    ] {
        assert_eq!(load(&message).unwrap().opset(), opset);
    }
    for (message, fault) in [
        (start(), "the model imports no opset of the default domain"),
        (start().raw(foreign), "the model imports no opset of the default domain"),
        (start().raw(opset_import("com.microsoft", 1)), "the model imports no opset of the default domain"),
        (message().raw(graph(&plain())), "the model imports no opset of the default domain"),
        (message().int(1, 0).raw(graph(&plain())), "the model imports no opset of the default domain"),
        (both(13, 14), "two opsets of the default domain are imported: 13 and 14"),
        (
            start().raw(opset_import("", 13)).raw(opset_import("", 9)),
            "two opsets of the default domain are imported: 13 and 9",
        ),
        (opset_import("", 13), "the model has no graph"),
    ] {
        assert_eq!(load(&message).unwrap_err().to_string(), fault);
    }
    for (opset, parts) in [(0, &plain()[..]), (-1, &plain()), (99, &[input("x", FLOAT), output("x", FLOAT)])] {
        let error = load(&model(opset, parts)).unwrap_err().to_string();
        assert_eq!(error, format!("the model imports opset {opset} (supported opsets: 1 to {NEWEST_OPSET})"));
    }
}

#[test]
fn the_first_two_formats_imply_opset_1_whose_targets_are_names() {
    let named = node("Cast", &["x"], &["y"]).with(string("to", "INT32")).part();
    let parts = [input("x", FLOAT), named, output("y", INT32)];
    for ir_version in [1, 2] {
        let model = load(&message().int(1, ir_version).raw(graph(&parts))).unwrap();
        assert_eq!((model.opset(), model.outputs()[0].element_type), (1, INT32));
    }
    let error = load(&message().int(1, 3).raw(graph(&parts))).unwrap_err();
    assert_eq!(error.to_string(), "the model imports no opset of the default domain");
    assert_eq!(text(6, &parts), "node \"y\": Cast at opset 6: the attribute \"to\" must be INT, got STRING");
}

const NO_NAME: &str = "an input, an initializer or a node's output has no name";

#[test]
fn values_that_nothing_makes() {
    let unknown = |value: &str| format!("the value {value:?} is not defined");
    let at = |node: &str, value: &str| (Some(node.to_owned()), unknown(value));
    assert_eq!(fault(&[cast("x", "y", INT8), output("y", INT8)]), at("y", "x"));
    assert_eq!(fault(&[input("x", FLOAT), cast_like("x", "z", "y"), output("y", INT8)]), at("y", "z"));
    // Even where no output needs the node.
    assert_eq!(fault(&[input("x", FLOAT), cast("z", "y", INT8), output("x", FLOAT)]), at("y", "z"));
    // An input that is left out.
    assert_eq!(fault(&[cast("", "y", INT8), output("y", INT8)]), at("y", ""));
    assert_eq!(graph_fault(&[input("x", FLOAT), output("y", FLOAT)]), unknown("y"));
    // The empty name stands for what is left out, and nothing has it.
    assert_eq!(graph_fault(&[output("", FLOAT)]), unknown(""));
    assert_eq!(graph_fault(&[input("", FLOAT), output("", FLOAT)]), NO_NAME);
    assert_eq!(graph_fault(&[initializer("", &floats(&[1])), output("", FLOAT)]), NO_NAME);
    let unnamed = [input("x", FLOAT), cast("x", "", INT8), cast("", "y", INT8)];
    assert_eq!(fault(&unnamed), (Some("Cast".to_owned()), NO_NAME.to_owned()));
}

#[test]
fn values_made_twice() {
    let repeated = |value: &str| format!("the value {value:?} is defined twice");
    let constant = initializer("x", &floats(&[1]));
    let at_y = (Some("y".to_owned()), repeated("y"));
    let x = || input("x", FLOAT);
    assert_eq!(graph_fault(&[x(), x(), output("x", FLOAT)]), repeated("x"));
    assert_eq!(graph_fault(&[constant.clone(), constant.clone(), output("x", FLOAT)]), repeated("x"));
    assert_eq!(graph_fault(&[x(), constant.clone(), constant.clone(), output("x", FLOAT)]), repeated("x"));
    assert_eq!(fault(&[x(), cast("x", "y", INT8), cast("x", "y", INT8), output("y", INT8)]), at_y);
    assert_eq!(fault(&[x(), cast("x", "x", INT8), output("x", INT8)]).1, repeated("x"));
    assert_eq!(fault(&[constant, cast("x", "x", INT8), output("x", INT8)]).1, repeated("x"));
}

#[test]
fn cycles() {
    let at = |node: &str| (Some(node.to_owned()), "the node is part of a cycle".to_owned());
    assert_eq!(fault(&[cast("y", "y", INT8), output("y", INT8)]), at("y"));
    let two = [identity("b", "a"), cast("a", "b", INT8)];
    assert_eq!(fault(&[&two[..], &[output("a", INT8)]].concat()), at("a"));
    // Not needed, a cycle all the same.
    assert_eq!(fault(&[&[input("x", FLOAT), output("x", FLOAT)], &two[..]].concat()), at("a"));
    // Through the input of which only the type counts.
    assert_eq!(fault(&[input("x", FLOAT), cast_like("x", "y", "y"), output("y", INT8)]), at("y"));
    // Neither a node that the cycle waits for nor one that waits for the cycle is a part of it.
    let behind =
        [input("x", FLOAT), identity("x", "p"), cast_like("p", "b", "a"), identity("a", "b"), output("x", FLOAT)];
    assert_ne!(self::fault(&behind).0.unwrap(), "p");
    let after = [identity("a", "c"), identity("c", "d"), output("d", INT8)];
    let (node, fault) = fault(&[&after[..], &two[..]].concat());
    assert_eq!((["a", "b"].contains(&node.unwrap().as_str()), fault.as_str()), (true, "the node is part of a cycle"));
}

#[test]
fn initializers_and_inputs_of_the_same_name_have_the_same_type() {
    let what = "the initializer \"x\" has type float, expected int8";
    assert_eq!(graph_fault(&[input("x", INT8), initializer("x", &floats(&[2])), output("x", INT8)]), what);
    let what = "the output \"y\" has type float16, expected int8";
    assert_eq!(graph_fault(&[input("x", FLOAT), cast("x", "y", FLOAT16), output("y", INT8)]), what);
}

#[test]
fn inputs_and_outputs_are_tensors_of_known_types() {
    let sequence = message().bytes(4, message().bytes(1, message().bytes(1, message().int(1, 1))));
    let of_type = |code: i64| message().bytes(2, message().bytes(1, message().int(1, code)));
    let infos = [message().bytes(2, ""), message().bytes(2, message().bytes(1, "")), message().bytes(2, sequence)];
    for info in infos.into_iter().chain([0, 14, 15, 99, -1].map(of_type)) {
        for (field, what) in [(11, "input"), (12, "output")] {
            let part = message().bytes(field, message().bytes(1, "x").raw(info.clone()));
            assert_eq!(graph_fault(&[part]), format!("the {what} \"x\" is not a tensor of a supported element type"));
        }
    }
    // An output's type follows from what makes it.
    let untyped = graph_fault(&[message().bytes(11, message().bytes(1, "x"))]);
    assert_eq!(untyped, "the input \"x\" is not a tensor of a supported element type");
}

#[test]
fn sparse_initializers_are_refused() {
    assert_eq!(
        graph_fault(&[&plain()[..], &[message().bytes(15, "")]].concat()),
        "sparse initializers are not supported"
    );
}

#[test]
fn initializers_that_are_wrong_say_so_by_their_name() {
    let wrong = message().bytes(5, message().int(DIMS, 2).int(DATA_TYPE, 1).bytes(NAME, "w").bytes(RAW_DATA, [0; 7]));
    let error = text(13, &[&plain()[..], &[wrong]].concat());
    assert_eq!(error, "tensor \"w\": raw_data: expected 8 bytes from dims and data_type, got 7");
    let external = message().int(DATA_TYPE, 1).bytes(NAME, "w").int(DATA_LOCATION, 1);
    let external = message().bytes(5, external.bytes(EXTERNAL_DATA, entry("location", "x")));
    let error = text(13, &[external, output("w", FLOAT)]);
    assert_eq!(error, "tensor \"w\": the data is in an external file, but no folder was given");
}

/// Strings that are not UTF-8, codes out of range and a file that is not there.
fn constants_of_invalid_values() -> Vec<(Message, ElementType)> {
    let external = message().int(DATA_TYPE, 1).bytes(NAME, "w").int(DATA_LOCATION, 1);
    let initializers = [
        (message().int(DIMS, 1).int(DATA_TYPE, 8).bytes(NAME, "w").bytes(STRING_DATA, b"\xff"), STRING),
        (message().int(DIMS, 1).int(DATA_TYPE, 2).bytes(NAME, "w").int(INT32_DATA, 256), UINT8),
        (external.bytes(EXTERNAL_DATA, entry("location", "missing")), FLOAT),
    ];
    let strings = node("Constant", &[], &["w"]).with(attribute("value_strings", 8).bytes(9, b"\xff")).part();
    let constant = |(tensor, t): (Message, _)| {
        let value = attribute("value", 4).bytes(5, tensor);
        (node("Constant", &[], &["w"]).with(value).part(), t)
    };
    let nodes: Vec<_> = initializers.clone().into_iter().map(constant).collect();
    let initializers = initializers.into_iter().map(|(tensor, t)| (message().bytes(5, tensor), t));
    initializers.chain(nodes).chain([(strings, STRING)]).collect()
}

#[test]
fn values_of_constants_matter_only_where_an_output_needs_them() {
    for (constant, t) in constants_of_invalid_values() {
        let needed = load(&model(28, &[constant.clone(), cast("w", "y", INT8), output("y", INT8)]));
        let error = needed.map(drop).unwrap_err();
        assert!(error.tensor() == Some("w") || error.element() == Some("node \"w\""), "{error}");
        // Not needed at all, needed by a node that no output needs, needed for its type, the default of an input.
        for (more, result) in [
            (vec![], FLOAT16),
            (vec![cast("w", "z", INT8)], FLOAT16),
            (vec![cast_like("x", "w", "z"), output("z", t)], t),
            (vec![input("w", t)], FLOAT16),
        ] {
            let is_initializer = constant.0[0] == 5 << 3 | 2;
            if !is_initializer && more == [input("w", t)] {
                continue;
            }
            let model = newest(&[&plain()[..], std::slice::from_ref(&constant), &more].concat());
            let again = Model::from_bytes(&model.to_bytes().unwrap(), None).unwrap();
            assert_eq!((again.inputs(), again.to_bytes().unwrap()), (model.inputs(), model.to_bytes().unwrap()));
            for model in [model, again] {
                let (outputs, _) = pollster::block_on(onnx::run(&on_cpu(), &model, vec![floats(&[2])])).unwrap();
                assert_eq!(outputs.last().unwrap().tensor.element_type(), result);
            }
        }
    }
    // Types, dims and lengths are checked in any case.
    let wrong = message().bytes(5, message().int(DIMS, 2).int(DATA_TYPE, 1).bytes(NAME, "w").bytes(RAW_DATA, [0; 7]));
    let error = text(13, &[&plain()[..], &[wrong]].concat());
    assert_eq!(error, "tensor \"w\": raw_data: expected 8 bytes from dims and data_type, got 7");
}

#[test]
fn parts_that_are_no_messages() {
    let wrong = [0xff];
    let node = node("Cast", &["x"], &["y"]).bytes(5, wrong).part();
    for (part, expected) in [
        (message().bytes(1, wrong), "invalid NodeProto"),
        (message().bytes(5, wrong), "invalid TensorProto"),
        (message().bytes(11, wrong), "invalid ValueInfoProto"),
        (message().bytes(12, wrong), "invalid ValueInfoProto"),
        (message().int(1, 1), "invalid GraphProto: the field 1 has an unexpected wire type"),
        (node, "node \"y\": invalid AttributeProto"),
    ] {
        let error = text(13, &[input("x", FLOAT), part]);
        assert!(error.starts_with(expected), "{error}");
    }
    let import = message().bytes(8, wrong).raw(graph(&plain()));
    assert!(load(&import).unwrap_err().to_string().starts_with("invalid OperatorSetIdProto"));
}

#[test]
fn every_truncation_is_an_error_or_a_model() {
    let parts = [&plain()[..], &[initializer("c", &floats(&[2])), cast("c", "z", INT8)]].concat();
    let bytes = graph(&parts).raw(message().int(1, 8)).raw(opset_import("", 13)).0;
    assert!(load(&message().raw(&bytes)).is_ok());
    for end in 0..bytes.len() {
        let error = load(&message().raw(&bytes[..end])).unwrap_err();
        assert!(matches!(error.cause(), FileCause::Malformed(_)), "{end}: {error:?}");
    }
}

/// A function of a model stands before an operator of the same name.
#[test]
fn functions_may_have_any_name_but_an_operator_s() {
    let with = |domain: &str, name: &str| {
        model(28, &plain()).bytes(25, message().bytes(1, name).bytes(10, domain).bytes(7, node("Identity", &[], &[])))
    };
    for (domain, name) in [("", "Cast"), ("ai.onnx", "Identity")] {
        let fault = format!("the model redefines the operator {name} as a function, which is not supported");
        assert_eq!(load(&with(domain, name)).unwrap_err().to_string(), fault);
    }
    assert!(load(&with("mine", "Cast")).is_ok() && load(&with("", "Gelu")).is_ok());
}

#[test]
fn long_texts_of_a_file_are_cut_in_messages() {
    let long = "x".repeat(1000);
    let error = text(28, &[output(&long, FLOAT)]);
    assert_eq!(error, format!("the value \"{}…\" is not defined", "x".repeat(80)));
    let dims = vec![1 << 40; 64];
    let error = wgpu_cast_files::onnx::NamedTensor::from_bytes(tensor(1, &dims).0, None).unwrap_err().to_string();
    assert!(error.len() < 500 && error.ends_with(", …] are too large: the tensor's size overflows"), "{error}");
}

/// FLOAT8E5M2 to itself with `saturate` replaces ±∞. UINT8 to INT8 keeps all codes.
#[test]
fn a_run_is_a_copy_exactly_if_no_code_changes() {
    for (from, to, expected) in
        [(FLOAT8E5M2, FLOAT8E5M2, Route::Cpu), (UINT8, INT8, Route::Copy), (BOOL, BOOL, Route::Cpu)]
    {
        let model = newest(&[input("x", from), cast("x", "y", to), output("y", to)]);
        let tensor = Tensor::from_codes(from, [2], [0, 1]).unwrap();
        let (_, report) = pollster::block_on(onnx::run(&on_cpu(), &model, vec![tensor])).unwrap();
        assert_eq!(report.casts.route, expected, "{from} to {to}");
    }
}

#[test]
fn reports_of_runs_say_where_and_why() {
    let run = |context: &wgpu_cast::Context, tensor: Tensor, to| {
        let from = tensor.element_type();
        let model = newest(&[input("x", from), cast("x", "y", to), output("y", to)]);
        pollster::block_on(onnx::run(context, &model, vec![tensor])).unwrap().1
    };
    let strings = Tensor::from_strings([2], ["1", "2"]).unwrap();
    for (tensor, to, route, text) in [
        (floats(&[2]), INT8, Route::Cpu, "on the CPU (requested)"),
        (floats(&[0]), INT8, Route::Copy, "copied (nothing to convert)"),
        (floats(&[2]), STRING, Route::Cpu, "on the CPU (strings have no GPU kernel)"),
        (floats(&[0]), STRING, Route::Copy, "copied (nothing to convert)"),
        (strings, STRING, Route::Copy, "copied (nothing to convert)"),
    ] {
        let report = run(&on_cpu(), tensor, to);
        assert_eq!((report.casts.route, report.to_string()), (route, format!("1 node, {text}")));
    }
    let report = run(&support::adapter::open(), floats(&[2]), INT8);
    assert_eq!(report.to_string(), format!("1 node, on {} (requested)", report.casts.adapter.as_deref().unwrap()));
}
