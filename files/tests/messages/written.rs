//! What [`Model::to_bytes`](wgpu_cast_files::onnx::Model::to_bytes) writes means what was read.

use ElementType::*;
use wgpu_cast::{ElementType, Tensor};
use wgpu_cast_files::onnx::Model;

use crate::models::*;
use crate::wire::Message;

fn rewritten(model: &Model) -> Model {
    Model::from_bytes(&model.to_bytes().unwrap(), None).unwrap()
}

/// The field of a message that has a varint there.
fn ir_version(model: &Model) -> u8 {
    let bytes = model.to_bytes().unwrap();
    assert_eq!(bytes[0], 1 << 3, "the first field is ir_version");
    bytes[1]
}

#[test]
fn models_with_constants_defaults_and_attributes() {
    let int4 = Tensor::from_codes(INT4, [3], [1, 15, 7]).unwrap();
    let words = Tensor::from_strings([2], ["1e3", "-7"]).unwrap();
    let like = node("CastLike", &["text", "int4"], &["c"]).with(int("saturate", 0)).with(string("round_mode", "down"));
    let scale = node("Cast", &["x"], &["scale"]).with(int("to", 24)).with(string("round_mode", "nearest")).named("n");
    let strings = attribute("value_strings", 8).bytes(9, "5").bytes(9, "");
    let model = newest(&[
        node("Constant", &[], &["text"]).with(strings).part(),
        initializer("int4", &int4),
        initializer("words", &words),
        input("x", FLOAT),
        input("words", STRING),
        like.part(),
        scale.part(),
        identity("scale", "z"),
        cast("words", "numbers", INT64),
        output("z", FLOAT8E8M0),
        untyped_output("numbers"),
        output("int4", INT4),
    ]);
    let again = rewritten(&model);
    assert_eq!((again.inputs(), again.to_bytes().unwrap()), (model.inputs(), rewritten(&again).to_bytes().unwrap()));
    let contexts = Contexts::open();
    let x = Tensor::from_slice([3], &[1.4f32, 1.5, -3.0]).unwrap();
    for inputs in [vec![x.clone()], vec![x, Tensor::from_strings([1], ["12"]).unwrap()]] {
        let (outputs, _) = contexts.run(&model, &inputs);
        assert_eq!(contexts.run(&again, &inputs).0, outputs);
        assert_eq!((outputs[0].bytes(), &outputs[2]), (Some(&[127, 128, 0][..]), &int4));
    }
}

/// ONNX's checker wants every initializer to be an input in files of the third format and before.
#[test]
fn the_format_is_one_that_knows_initializers_which_are_no_inputs() {
    let constant = initializer("c", &Tensor::from_slice([1], &[1u8]).unwrap());
    let plain = [input("x", FLOAT), cast("x", "y", INT8), output("y", INT8)];
    for (opset, oldest) in [(6, 3), (8, 3), (9, 4), (13, 7)] {
        let version = |parts: &[Message]| ir_version(&load(&model(opset, parts)).unwrap());
        let with_constant = version(&[&plain[..], std::slice::from_ref(&constant)].concat());
        assert_eq!((version(&plain), with_constant), (oldest, oldest.max(4)), "opset {opset}");
    }
}

/// Two chains that take turns, as a graph may have them to save memory.
#[test]
fn nodes_that_are_sorted_stay_in_their_order() {
    let turns = |index: usize| {
        let name = |kind: &str| format!("{kind}{index}");
        [cast("x", &name("a"), DOUBLE), cast(&name("a"), &name("b"), INT8), output(&name("b"), INT8)]
    };
    let parts: Vec<_> = [input("x", FLOAT)].into_iter().chain((0..20).flat_map(turns)).collect();
    let model = newest(&parts);
    assert_eq!(rewritten(&model), model);
}
