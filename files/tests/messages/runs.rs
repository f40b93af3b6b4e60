//! Models run: the same tensors on the CPU and on a device, and as little to and from the device as there must be.

use ElementType::*;
use wgpu_cast::onnx::CastNode;
use wgpu_cast::{CastOptions, ElementType, Tensor, cpu};
use wgpu_cast_files::FileCause;
use wgpu_cast_files::onnx::{self, Model};

use crate::models::*;
use crate::wire::*;

fn floats(values: &[f32]) -> Tensor {
    Tensor::from_slice([values.len()], values).unwrap()
}

fn strings(values: &[&str]) -> Tensor {
    Tensor::from_strings([values.len()], values).unwrap()
}

fn cast_by(tensor: &Tensor, to: ElementType) -> Tensor {
    cpu::cast(tensor, to, &CastOptions::default()).unwrap()
}

/// Values of all magnitudes, an odd number of them.
fn values() -> Tensor {
    floats(&[0.0, -0.0, 1.5, -2.25, 448.0, 1e-3, -1e-8, 65520.0, 1e10, f32::NAN, f32::NEG_INFINITY, 3.0, 255.5])
}

#[test]
fn several_outputs_of_one_input_are_one_upload_and_a_read_back_each() {
    let types = [FLOAT8E4M3FN, INT4, DOUBLE, BOOL];
    let names = ["a", "b", "c", "d"];
    let casts = names.iter().zip(types).flat_map(|(name, t)| [cast("x", name, t), output(name, t)]);
    let model = newest(&[input("x", FLOAT)].into_iter().chain(casts).collect::<Vec<_>>());
    let (outputs, report) = Contexts::open().run(&model, &[values()]);
    assert!(outputs.iter().zip(types).all(|(tensor, t)| *tensor == cast_by(&values(), t)));
    assert_eq!((report.casts.uploads, report.casts.read_backs, report.nodes, report.casts.dispatches), (1, 4, 4, 4));
}

#[test]
fn a_chain_stays_on_the_device() {
    let types = [DOUBLE, BFLOAT16, FLOAT, INT32, INT8];
    let name = |index: usize| format!("v{index}");
    let casts = types.iter().enumerate().map(|(index, &t)| cast(&name(index), &name(index + 1), t));
    let model = newest(&[&[input("v0", FLOAT)], &casts.collect::<Vec<_>>()[..], &[output("v5", INT8)]].concat());
    let (outputs, report) = Contexts::open().run(&model, &[values()]);
    assert_eq!(outputs, [types.iter().fold(values(), |tensor, &t| cast_by(&tensor, t))]);
    assert_eq!((report.casts.uploads, report.casts.read_backs, report.nodes, report.casts.dispatches), (1, 1, 5, 5));
}

#[test]
fn diamonds_read_back_their_outputs_only() {
    let model = newest(&[
        input("x", FLOAT),
        cast("x", "half", FLOAT16),
        cast("half", "left", INT8),
        cast("half", "right", FLOAT8E5M2),
        cast_like("left", "right", "end"),
        output("end", FLOAT8E5M2),
        output("right", FLOAT8E5M2),
    ]);
    let (outputs, report) = Contexts::open().run(&model, &[values()]);
    let half = cast_by(&values(), FLOAT16);
    assert_eq!(outputs, [cast_by(&cast_by(&half, INT8), FLOAT8E5M2), cast_by(&half, FLOAT8E5M2)]);
    assert_eq!((report.casts.uploads, report.casts.read_backs, report.nodes), (1, 2, 4));
}

#[test]
fn strings_between_numbers_go_through_the_host() {
    let model = newest(&[
        input("x", FLOAT),
        cast("x", "half", FLOAT16),
        cast("half", "text", STRING),
        cast("text", "double", DOUBLE),
        cast("double", "y", BFLOAT16),
        output("y", BFLOAT16),
        output("text", STRING),
    ]);
    let (outputs, report) = Contexts::open().run(&model, &[values()]);
    let half = cast_by(&values(), FLOAT16);
    let text = cast_by(&half, STRING);
    assert_eq!(outputs, [cast_by(&cast_by(&text, DOUBLE), BFLOAT16), text]);
    // To the device and back on either side of the strings.
    assert_eq!((report.casts.uploads, report.casts.read_backs, report.nodes), (2, 2, 4));
}

#[test]
fn identities_and_inputs_are_passed_on() {
    let contexts = Contexts::open();
    let chain = [identity("x", "a"), identity("a", "b"), identity("b", "y"), output("y", FLOAT)];
    let (outputs, report) = contexts.run(&newest(&[&[input("x", FLOAT)], &chain[..]].concat()), &[values()]);
    assert_eq!(outputs, [values()]);
    assert_eq!((report.casts.uploads, report.casts.read_backs, report.nodes), (0, 0, 3));
    let around = [input("x", FLOAT), identity("x", "a"), cast("a", "b", INT8), identity("b", "y"), output("y", INT8)];
    let (outputs, report) = contexts.run(&newest(&around), &[values()]);
    assert_eq!(outputs, [cast_by(&values(), INT8)]);
    assert_eq!((report.casts.uploads, report.casts.read_backs, report.casts.dispatches), (1, 1, 1));
    let directly = newest(&[input("x", FLOAT), input("s", STRING), output("s", STRING), output("x", FLOAT)]);
    let (outputs, report) = contexts.run(&directly, &[values(), strings(&["", "ä"])]);
    assert_eq!(outputs, [strings(&["", "ä"]), values()]);
    assert_eq!((report.casts.uploads, report.casts.read_backs, report.nodes), (0, 0, 0));
}

#[test]
fn outputs_that_are_the_same_share_memory() {
    const COUNT: usize = 1000;
    let names: Vec<_> = (0..COUNT).map(|index| format!("y{index}")).collect();
    let aliases = names.iter().flat_map(|name| [identity("y", name), output(name, INT8), output("y", INT8)]);
    let parts: Vec<_> = [input("x", FLOAT), cast("x", "y", INT8)].into_iter().chain(aliases).collect();
    let (model, tensor) = (newest(&parts), floats(&[1.5; 100_000]));
    let mut outputs = Vec::new();
    let run = || outputs = pollster::block_on(onnx::run(&on_cpu(), &model, vec![tensor.clone()])).unwrap().0;
    let peak = allocation_counter::measure(run).bytes_max;
    assert_eq!(outputs.len(), 2 * COUNT);
    assert!(outputs.iter().all(|output| output.tensor == outputs[0].tensor));
    assert!(peak < 2_000_000, "{peak} bytes for {COUNT} times the same 100,000");
}

#[test]
fn the_same_output_twice_is_read_back_once() {
    let contexts = Contexts::open();
    let renamed = [
        input("x", FLOAT),
        cast("x", "y", INT8),
        identity("y", "z"),
        output("z", INT8),
        output("y", INT8),
        cast("z", "w", FLOAT16),
        output("w", FLOAT16),
    ];
    let (outputs, report) = contexts.run(&newest(&renamed), &[values()]);
    let int8 = cast_by(&values(), INT8);
    assert_eq!(outputs, [int8.clone(), int8.clone(), cast_by(&int8, FLOAT16)]);
    assert_eq!((report.casts.uploads, report.casts.read_backs, report.nodes), (1, 2, 3));
    let twice = [input("x", FLOAT), cast("x", "y", INT8), output("y", INT8), output("x", FLOAT), output("y", INT8)];
    let (outputs, report) = contexts.run(&newest(&twice), &[values()]);
    assert_eq!(outputs, [cast_by(&values(), INT8), values(), cast_by(&values(), INT8)]);
    assert_eq!((report.casts.uploads, report.casts.read_backs), (1, 1));
}

#[test]
fn nodes_may_stand_in_any_order() {
    let parts = [
        output("y", STRING),
        cast("c", "y", STRING),
        cast("b", "c", INT8),
        cast_like("a", "like", "b"),
        cast("like", "unused", BOOL),
        identity("x", "a"),
        cast("x", "like", FLOAT16),
        input("x", FLOAT),
    ];
    let (outputs, report) = Contexts::open().run(&newest(&parts), &[values()]);
    assert_eq!(outputs, [cast_by(&cast_by(&cast_by(&values(), FLOAT16), INT8), STRING)]);
    assert_eq!(report.nodes, 4);
}

#[test]
fn nodes_that_no_output_needs_are_not_run() {
    let words = strings(&["no number"]);
    let model = newest(&[
        input("words", STRING),
        input("unused", FLOAT6E2M3),
        cast("words", "dead", FLOAT16),
        cast("dead", "dead too", INT8),
        // Of these only the type counts.
        cast_like("one", "dead", "y"),
        initializer("one", &strings(&["1"])),
        output("y", FLOAT16),
    ]);
    let unused = Tensor::from_codes(FLOAT6E2M3, [0], []).unwrap();
    let (outputs, report) = Contexts::open().run(&model, &[words, unused]);
    assert_eq!((outputs, report.nodes), (vec![cast_by(&floats(&[1.0]), FLOAT16)], 1));
}

#[test]
fn the_second_input_of_cast_like_counts_by_its_type_alone() {
    let contexts = Contexts::open();
    let model = |t| newest(&[input("x", FLOAT), input("like", t), cast_like("x", "like", "y"), output("y", t)]);
    for like in [
        Tensor::from_codes(INT4, [0], []).unwrap(),
        Tensor::from_codes(INT4, vec![], [3]).unwrap(),
        Tensor::from_codes(INT4, [2, 3], [1; 6]).unwrap(),
        strings(&["no number", ""]),
        strings(&[]),
    ] {
        let t = like.element_type();
        let (outputs, report) = contexts.run(&model(t), &[values(), like]);
        assert_eq!((outputs, report.nodes), (vec![cast_by(&values(), t)], 1));
    }
}

#[test]
fn tensors_of_no_elements_and_scalars_keep_their_shape() {
    let contexts = Contexts::open();
    let parts = [cast("x", "a", FLOAT16), cast("a", "b", STRING), cast("b", "c", INT4), cast("c", "y", DOUBLE)];
    let model = newest(&[&[input("x", FLOAT)], &parts[..], &[output("y", DOUBLE), output("a", FLOAT16)]].concat());
    for (shape, count) in [(&[0][..], 0), (&[3, 0, 2], 0), (&[], 1), (&[1, 1], 1), (&[3, 1, 1], 3)] {
        let (outputs, report) = contexts.run(&model, &[Tensor::from_slice(shape, &vec![2.5f32; count]).unwrap()]);
        assert_eq!(outputs[0], Tensor::from_slice(shape, &vec![2.0f64; count]).unwrap());
        assert_eq!(outputs[1].shape(), shape);
        assert_eq!(report.casts.read_backs, if count == 0 { 0 } else { 2 });
    }
}

#[test]
fn defaults_stand_in_for_inputs_that_are_left_out() {
    let contexts = Contexts::open();
    let model = newest(&[
        input("a", FLOAT),
        input("b", FLOAT),
        initializer("b", &floats(&[7.0, 8.0])),
        cast("a", "x", UINT8),
        cast("b", "y", UINT8),
        output("x", UINT8),
        output("y", UINT8),
    ]);
    let (one, two) = (floats(&[1.0]), floats(&[2.0]));
    let bytes = |values: &[u8]| Tensor::from_slice([values.len()], values).unwrap();
    assert_eq!(contexts.run(&model, std::slice::from_ref(&one)).0, [bytes(&[1]), bytes(&[7, 8])]);
    assert_eq!(contexts.run(&model, &[one.clone(), two.clone()]).0, [bytes(&[1]), bytes(&[2])]);
    for (inputs, found) in [(vec![], 0), (vec![one.clone(), two, one], 3)] {
        let expected = format!("expected 1 input (or all 2, including those with a default), got {found}");
        assert_eq!(contexts.error(&model, &inputs), expected);
    }
    let default = initializer("c", &floats(&[7.0]));
    let model = newest(&[input("a", FLOAT), input("b", FLOAT), input("c", FLOAT), default, output("a", FLOAT)]);
    let text = "expected 2 inputs (or all 3, including those with a default), got 0";
    assert_eq!(contexts.error(&model, &[]), text);
    let model = newest(&[input("a", FLOAT), output("a", FLOAT)]);
    assert_eq!(contexts.error(&model, &[]), "expected 1 input, got 0");
}

#[test]
fn inputs_of_another_type_are_refused_but_for_bfloat16_in_uint16() {
    let contexts = Contexts::open();
    let model = |t| newest(&[input("x", t), cast("x", "y", FLOAT), output("y", FLOAT), output("x", t)]);
    let codes = |t| Tensor::from_codes(t, [3], [0x3fc0, 0xbf80, 0x7fc1]).unwrap();
    let (outputs, _) = contexts.run(&model(BFLOAT16), &[codes(UINT16)]);
    assert_eq!(outputs, [cast_by(&codes(BFLOAT16), FLOAT), codes(BFLOAT16)]);
    for (expected, found) in [(UINT16, BFLOAT16), (FLOAT16, UINT16), (BFLOAT16, INT16), (BFLOAT16, FLOAT16)] {
        let fault = format!("the input \"x\" has type {found}, expected {expected}");
        assert_eq!(contexts.error(&model(expected), &[codes(found)]), fault);
    }
    // An input that nothing uses is looked at too.
    let unused = newest(&[input("x", FLOAT), input("z", INT8), output("x", FLOAT)]);
    let text = contexts.error(&unused, &[values(), values()]);
    assert_eq!(text, "the input \"z\" has type float, expected int8");
}

#[test]
fn errors_of_elements_name_the_node() {
    let cast = node("Cast", &["x"], &["y"]).with(int("to", 6)).named("to numbers").part();
    let model = newest(&[input("x", STRING), cast, output("y", INT32)]);
    let error = Contexts::open().error(&model, &[strings(&["1", "one"])]);
    assert_eq!(error, "node \"to numbers\": casting string to int32: element 1 is not a number: \"one\"");
}

/// A few codes of any type; strings that are numbers.
fn any(t: ElementType) -> Tensor {
    let codes = || (0..9u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(11));
    if t.is_numeric() { Tensor::from_codes(t, [9], codes()).unwrap() } else { strings(&["-1.5e2", "nan", "7"]) }
}

/// Every pair that an opset lists, with every attribute given; on the device those from and to FLOAT.
fn one_node_models(opset: i64) {
    let (host, contexts) = (on_cpu(), Contexts::open());
    let mut pairs = 0;
    for &to in ElementType::ALL {
        for &from in ElementType::ALL {
            for saturate in [None, Some(false)] {
                let Ok(node) = CastNode::with_target(opset, to, saturate, None) else { continue };
                let Ok(model) = Model::of_cast(&node, from, &[9]) else { continue };
                let read = load(&message().raw(model.to_bytes().unwrap())).unwrap();
                assert_eq!((read.opset(), read.to_bytes().unwrap()), (opset, model.to_bytes().unwrap()));
                let input =
                    if from == STRING && matches!(to, UINT8 | INT64) { strings(&["-1", "300"]) } else { any(from) };
                let expected = cpu::cast(&input, to, &node.options());
                let result = pollster::block_on(onnx::run(&host, &read, vec![input.clone()]));
                match (&expected, result) {
                    (Ok(expected), Ok((outputs, _))) => assert_eq!(outputs[0].tensor, *expected, "{from} {to}"),
                    (Err(expected), Err(error)) => {
                        assert!(error.element().is_some(), "{from} {to}: {error}");
                        assert!(matches!(error.cause(), FileCause::Cast(cause) if cause == expected), "{error:?}");
                    }
                    (expected, result) => panic!("{from} {to}: {result:?}, {expected:?}"),
                }
                let on_device = saturate.is_none() && (from == FLOAT) != (to == FLOAT);
                if let Some(expected) = expected.ok().filter(|_| on_device) {
                    assert_eq!(contexts.run(&read, &[input]).0, [expected], "{from} {to}");
                }
                pairs += 1;
            }
        }
    }
    let types = match opset {
        1 | 5 => 12,
        13 => 14,
        19 => 18,
        24 => 22,
        _ => 26,
    };
    assert_eq!(pairs, types * types * if opset < 19 { 1 } else { 2 });
}

macro_rules! opsets {
    ($($test:ident $opset:literal)*) => {$(
        #[test]
        fn $test() {
            one_node_models($opset);
        }
    )*};
}

opsets! {
    models_of_one_cast_mean_the_cast_at_opset_1 1
    models_of_one_cast_mean_the_cast_at_opset_5 5
    models_of_one_cast_mean_the_cast_at_opset_13 13
    models_of_one_cast_mean_the_cast_at_opset_19 19
    models_of_one_cast_mean_the_cast_at_opset_24 24
    models_of_one_cast_mean_the_cast_at_opset_28 28
}
