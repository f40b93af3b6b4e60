//! Values that come from integers, in graphs from one float type to another.

use wgpu_cast::ElementType;

use super::build::*;

const BOOL: i32 = 9;
const UINT8: i32 = 2;
const INT32: i32 = 6;

fn to(input: &str, output: &str, code: i32) -> Message {
    cast(input, output, code)
}

/// A model of nodes, initializers, inputs and outputs.
fn whole(nodes: &[Message], initializers: &[Message], inputs: &[Message], outputs: &[Message]) -> Message {
    of(&fields(nodes, initializers, inputs, outputs))
}

fn fields(nodes: &[Message], initializers: &[Message], inputs: &[Message], outputs: &[Message]) -> Vec<(u64, Message)> {
    let lists = [(NODE, nodes), (INITIALIZER, initializers), (INPUT, inputs), (OUTPUT, outputs)];
    lists.into_iter().flat_map(|(field, list)| list.iter().map(move |message| (field, message.clone()))).collect()
}

/// The note of nodes that are kept, by operators and outputs.
fn kept(nodes: &[(&str, &str)]) -> String {
    let list: Vec<String> = nodes.iter().map(|(operator, made)| format!("{operator} {made:?}")).collect();
    let nodes = if list.len() == 1 { "1 node".to_owned() } else { format!("{} nodes", list.len()) };
    format!("{nodes} kept in the old type, because their values come from integers: {}", list.join(", "))
}

fn half(name: &str, values: &[f32]) -> Message {
    raw(name, FLOAT16, &[values.len() as i64], &codes(values, ElementType::FLOAT16))
}

fn attributed(node: Message, attributes: &[Message]) -> Message {
    attributes.iter().fold(node, |node, attribute| node.bytes(5, attribute))
}

/// In float16, 160,000 samples would be infinitely many, and `y` would have no rows.
#[test]
fn numbers_of_samples_stay_as_they_are_until_they_are_integers_again() {
    let nodes = [
        node("Shape", &["x"], &["s"]),
        node("Gather", &["s", "one"], &["n"]),
        to("n", "f", FLOAT),
        node("Div", &["f", "hop"], &["d"]),
        node("Ceil", &["d"], &["c"]),
        to("c", "rows", INT64),
        node("Slice", &["x", "zero", "rows"], &["y"]),
    ];
    let integers = ["one", "zero"].map(|name| raw(name, INT64, &[1], &[0; 8]));
    let initializers = |hop: &[Message]| [&integers[..], hop].concat();
    let source = whole(&nodes, &initializers(&[floats("hop", &[320.1])]), &[value("x", FLOAT)], &[value("y", FLOAT)]);
    for element_type in [ElementType::FLOAT16, ElementType::BFLOAT16, ElementType::DOUBLE] {
        let code = element_type.onnx_code();
        let expected =
            whole(&nodes, &initializers(&[floats("hop", &[320.1])]), &[value("x", code)], &[value("y", code)]);
        let written = converted(&source, element_type, as_they_are).unwrap();
        assert_model(&written.model, &expected);
        assert_eq!(written.notes, [kept(&[("Cast", "f"), ("Div", "d"), ("Ceil", "c")])]);
    }
}

/// A comparison makes integers, too.
#[test]
fn numbers_meet_activations_behind_a_cast() {
    let nodes = |casts: &[Message], c: &str| {
        let before = [to("p", "f", FLOAT), node("Mul", &["f", "w"], &["a"]), node("Cos", &["a"], &["c"])];
        let after = [node("Mul", &["x", c], &["y"]), node("Less", &["a", "w"], &["l"])];
        [&before[..], casts, &after].concat()
    };
    let inputs = |code: i32| [value("x", code), value("p", INT64)];
    let outputs = |code: i32| [value("y", code), value("l", BOOL)];
    let source = whole(&nodes(&[], "c"), &[floats("w", &VALUES)], &inputs(FLOAT), &outputs(FLOAT));
    let written = to_float16(&source, as_they_are);
    let converted = nodes(&[cast("c", "c_float16", FLOAT16)], "c_float16");
    let expected = whole(&converted, &[floats("w", &VALUES)], &inputs(FLOAT16), &outputs(FLOAT16));
    assert_model(&written.model, &expected);
    assert_eq!(written.notes, [kept(&[("Cast", "f"), ("Mul", "a"), ("Cos", "c")])]);
}

/// A cast before what only moves numbers gives the same as one behind it.
#[test]
fn numbers_that_are_only_moved_have_the_type_of_their_use() {
    let nodes = |code: i64| {
        [
            attributed(node("Cast", &["m"], &["f"]), &[int("to", code)]),
            node("Unsqueeze", &["f", "k"], &["u"]),
            node("Where", &["b", "one", "none"], &["v"]),
            node("Sum", &["x", "u", "v"], &["y"]),
        ]
    };
    let integers = raw("k", INT64, &[1], &[0; 8]);
    let inputs = |code: i32| [value("x", code), value("m", INT64), value("b", BOOL)];
    let constants = [integers.clone(), floats("one", &[1.0]), floats("none", &[-0.1])];
    let source = whole(&nodes(1), &constants, &inputs(FLOAT), &[value("y", FLOAT)]);
    let constants = [integers, half("one", &[1.0]), half("none", &[-0.1])];
    let expected = whole(&nodes(10), &constants, &inputs(FLOAT16), &[value("y", FLOAT16)]);
    let written = to_float16(&source, as_they_are);
    assert_model(&written.model, &expected);
    assert_eq!(written.notes, Vec::<String>::new());
}

/// The constant is used through another node, and on both sides.
#[test]
fn constants_that_meet_numbers_are_not_rounded() {
    let nodes = |casts: &[Message], k: &str| {
        let before = [node("Unsqueeze", &["w", "axis"], &["k"])];
        let after = [
            to("n", "f", FLOAT),
            node("Div", &["f", "k"], &["d"]),
            to("d", "i", INT64),
            node("Mul", &["x", k], &["y"]),
        ];
        [&before[..], casts, &after].concat()
    };
    let constants = [raw("axis", INT64, &[1], &[0; 8]), floats("w", &[99_991.0])];
    let inputs = |code: i32| [value("x", code), value("n", INT64)];
    let outputs = |code: i32| [value("y", code), value("i", INT64)];
    let source = whole(&nodes(&[], "k"), &constants, &inputs(FLOAT), &outputs(FLOAT));
    let expected =
        whole(&nodes(&[cast("k", "k_float16", FLOAT16)], "k_float16"), &constants, &inputs(FLOAT16), &outputs(FLOAT16));
    let written = to_float16(&source, as_they_are);
    assert_model(&written.model, &expected);
    assert_eq!(written.notes, [kept(&[("Cast", "f"), ("Div", "d")])]);
}

#[test]
fn integers_of_constants_are_those_of_the_old_type() {
    let source = |code: i32| {
        let nodes = [to("w", "n", INT64), node("Slice", &["x", "n", "n"], &["y"])];
        whole(&nodes, &[floats("w", &[99_991.0])], &[value("x", code)], &[value("y", code)])
    };
    let written = to_float16(&source(FLOAT), as_they_are);
    assert_model(&written.model, &source(FLOAT16));
    assert_eq!(written.notes, Vec::<String>::new());
}

#[test]
fn outputs_of_numbers_have_the_new_type() {
    let nodes = |f: &str, y: &str| [to("n", f, FLOAT), node("Sqrt", &[f], &[y])];
    let source = whole(&nodes("f", "y"), &[], &[value("n", INT64)], &[value("y", FLOAT), value("f", FLOAT)]);
    let written = to_float16(&source, as_they_are);
    let mut expected =
        fields(&nodes("f_float", "y_float"), &[], &[value("n", INT64)], &[value("y", FLOAT16), value("f", FLOAT16)]);
    expected.insert(1, (NODE, cast("f_float", "f", FLOAT16)));
    expected.push((NODE, cast("y_float", "y", FLOAT16)));
    assert_model(&written.model, &of(&expected));
    assert_eq!(written.notes, [kept(&[("Cast", "f"), ("Sqrt", "y")])]);
    // These keep their type.
    assert_model(&to_float16(&source, keep_io_types).model, &source);
}

/// Their sums exceed float16 until they are scaled. The scale of dynamic quantization is no activation.
#[test]
fn accumulators_are_scaled_before_they_are_rounded() {
    let nodes = |casts: [&[Message]; 2], x: &str, m: &str| {
        let quantize = [
            node("DynamicQuantizeLinear", &[x], &["q", "s", "z"]),
            node("MatMulInteger", &["q", "w", "z"], &["a"]),
            to("a", "f", FLOAT),
            node("Mul", &["s", "k"], &["t"]),
            node("Mul", &["f", "t"], &["m"]),
        ];
        [casts[0], &quantize, casts[1], &[node("Add", &[m, "b"], &["y"])]].concat()
    };
    let w = raw("w", UINT8, &[8, 8], &[120; 64]);
    let constants = |b: Message| [w.clone(), floats("k", &[1e-6]), b];
    let source =
        whole(&nodes([&[]; 2], "x", "m"), &constants(floats("b", &[0.1])), &[value("x", FLOAT)], &[value("y", FLOAT)]);
    let casts: [&[Message]; 2] = [&[cast("x", "x_float", FLOAT)], &[cast("m", "m_float16", FLOAT16)]];
    let expected = whole(
        &nodes(casts, "x_float", "m_float16"),
        &constants(half("b", &[0.1])),
        &[value("x", FLOAT16)],
        &[value("y", FLOAT16)],
    );
    let written = to_float16(&source, as_they_are);
    assert_model(&written.model, &expected);
    let quantize = "DynamicQuantizeLinear: 1 node kept in the old type: the operator does not support the new one here";
    let notes = [format!("{quantize} (first: \"q\")"), kept(&[("Cast", "f"), ("Mul", "t"), ("Mul", "m")])];
    assert_eq!(written.notes, notes);
}

/// `Range` has float16 from opset 27 on.
#[test]
fn ranges_are_numbers() {
    for opset in [17, 27] {
        let graph = |code: i32| {
            let nodes = [
                to("n", "f", FLOAT),
                node("Range", &["zero", "f", "step"], &["r"]),
                node("Floor", &["r"], &["h"]),
                to("h", "i", INT64),
                node("Gather", &["x", "i"], &["y"]),
            ];
            let constants = [floats("zero", &[0.0]), floats("step", &[0.1])];
            graph(&fields(&nodes, &constants, &[value("x", code), value("n", INT64)], &[value("y", code)]))
        };
        let written = to_float16(&model(13, opset, &graph(FLOAT)), as_they_are);
        assert_model(&written.model, &model(13, opset, &graph(FLOAT16)));
        assert_eq!(written.notes, [kept(&[("Cast", "f"), ("Range", "r"), ("Floor", "h")])]);
    }
}

/// Pixels become activations in the first layer, features in a product with a matrix. A matrix of four columns turns
/// coordinates.
#[test]
fn layers_make_activations_of_integers() {
    let values: Vec<f32> = (0..25u8).map(f32::from).collect();
    let bytes = |count: usize, to: ElementType| codes(&values[..count], to);
    let (float, float16) = (ElementType::FLOAT, ElementType::FLOAT16);
    let case = |operator: &str, dims: &[i64], casts: bool, stays: bool| {
        let count = dims.iter().product::<i64>() as usize;
        let w = |to: ElementType| raw("w", to.onnx_code(), dims, &bytes(count, to));
        let nodes = |casts: &[Message], f: &str| {
            let before = [to("p", "f", FLOAT), node("Sqrt", &["f"], &["g"])];
            [&before[..], casts, &[node(operator, &[f, "w"], &["y"])]].concat()
        };
        let source = whole(&nodes(&[], "g"), &[w(float)], &[value("p", UINT8)], &[value("y", FLOAT)]);
        let cast_before = [cast("g", "g_float16", FLOAT16)];
        let (nodes, w) = match casts {
            true => (nodes(&cast_before, "g_float16"), w(float16)),
            false => (nodes(&[], "g"), w(float)),
        };
        let mut expected = fields(&nodes, &[w], &[value("p", UINT8)], &[value("y", FLOAT16)]);
        let mut names = vec![("Cast", "f"), ("Sqrt", "g")];
        if stays {
            expected[2].1 = node(operator, &["g", "w"], &["y_float"]);
            expected.push((NODE, cast("y_float", "y", FLOAT16)));
            names.push((operator, "y"));
        }
        let written = to_float16(&source, as_they_are);
        assert_model(&written.model, &of(&expected));
        assert_eq!(written.notes, [kept(&names)]);
    };
    case("Conv", &[1, 1, 3, 3], true, false);
    case("MatMul", &[5, 5], true, false);
    case("Gemm", &[5, 5], true, false);
    case("MatMul", &[4, 4], false, true);
    case("MatMul", &[25, 1], false, true);
    case("Add", &[5, 5], false, true);
}

#[test]
fn a_note_names_five_nodes() {
    let mut nodes = vec![to("n", "f0", FLOAT)];
    let names: Vec<String> = (0..8).map(|index| format!("f{index}")).collect();
    nodes.extend(names.windows(2).map(|pair| node("Sqrt", &[&pair[0]], &[&pair[1]])));
    nodes.push(to("f7", "i", INT64));
    let source = whole(&nodes, &[], &[value("n", INT32)], &[value("i", INT64)]);
    let note = "8 nodes kept in the old type, because their values come from integers";
    let list = r#"Cast "f0", Sqrt "f1", Sqrt "f2", Sqrt "f3", Sqrt "f4" and 3 more"#;
    assert_eq!(to_float16(&source, as_they_are).notes, [format!("{note}: {list}")]);
}

/// The types of doubles and of casts that take the type of another value.
#[test]
fn casts_like_an_activation_are_numbers_of_the_old_type() {
    let nodes = |casts: &[Message], like: &str| {
        let after = [node("CastLike", &["n", like], &["f"]), node("Ceil", &["f"], &["c"]), to("c", "i", INT64)];
        [casts, &after].concat()
    };
    let inputs = |code: i32| [value("x", code), value("n", INT64)];
    let source = whole(&nodes(&[], "x"), &[], &inputs(FLOAT), &[value("i", INT64)]);
    let casts = [cast("x", "x_float", FLOAT)];
    let expected = whole(&nodes(&casts, "x_float"), &[], &inputs(FLOAT16), &[value("i", INT64)]);
    let written = to_float16(&source, as_they_are);
    assert_model(&written.model, &expected);
    assert_eq!(written.notes, [kept(&[("CastLike", "f"), ("Ceil", "c")])]);
}

/// Doubles are no integers: what they become in a graph of floats is converted.
#[test]
fn floats_of_other_types_are_no_integers() {
    let nodes =
        |code: i64| [attributed(node("Cast", &["d"], &["f"]), &[int("to", code)]), node("Sqrt", &["f"], &["y"])];
    let source = |code: i32| whole(&nodes(code.into()), &[], &[value("d", DOUBLE)], &[value("y", code)]);
    let written = to_float16(&source(FLOAT), as_they_are);
    assert_model(&written.model, &source(FLOAT16));
    assert_eq!(written.notes, Vec::<String>::new());
}

/// The branches make a number in the old type, because what follows needs each digit.
#[test]
fn branches_make_numbers_of_the_old_type() {
    let first = graph(&[(NODE, to("n", "t", FLOAT)), (OUTPUT, value("t", FLOAT))]);
    let second = graph(&[(INITIALIZER, floats("u", &[99_991.0])), (OUTPUT, value("u", FLOAT))]);
    let choice = [("then_branch", &first), ("else_branch", &second)]
        .into_iter()
        .fold(node("If", &["c"], &["f"]), |node, (name, graph)| node.bytes(5, graph_attribute(name, graph)));
    let nodes = [choice, node("Ceil", &["f"], &["g"]), to("g", "i", INT64)];
    let source = whole(&nodes, &[], &[value("n", INT64), value("c", BOOL)], &[value("i", INT64)]);
    let written = to_float16(&source, as_they_are);
    assert_model(&written.model, &source);
    assert_eq!(written.notes, [kept(&[("Cast", "t"), ("Ceil", "g")])]);
}

/// The loop carries an activation and a number, and collects both. A first pass does not know yet that `w` is one.
#[test]
fn loops_carry_numbers_in_the_old_type() {
    let body = |casts: &[(u64, Message)], code: i32| {
        let nodes = [
            (NODE, node("Add", &["p", "big"], &["after"])),
            (NODE, node("Mul", &["v", "v"], &["next"])),
            (NODE, node("Add", &["w", "v"], &["sum"])),
        ];
        let values = [
            (INITIALIZER, floats("big", &[99_991.0])),
            (INPUT, value("i", INT64)),
            (INPUT, value("go", BOOL)),
            (INPUT, value("v", code)),
            (INPUT, value("p", FLOAT)),
            (INPUT, value("w", code)),
            (OUTPUT, value("go", BOOL)),
            (OUTPUT, value("next", code)),
            (OUTPUT, value("after", FLOAT)),
            (OUTPUT, value("sum", code)),
            (OUTPUT, value("next", code)),
        ];
        graph(&[&nodes[..], casts, &values].concat())
    };
    let with = |body: &Message, zero: &[Message], code: i32, number: i64| {
        let turns = node("Loop", &["n", "", "x", "b", "z"], &["y", "f", "last", "all"]);
        let nodes = [
            attributed(node("Cast", &["s"], &["b"]), &[int("to", 1)]),
            attributed(node("Cast", &["s"], &["z"]), &[int("to", number)]),
            turns.bytes(5, graph_attribute("body", body)),
            to("f", "i", INT64),
        ];
        let inputs = [value("x", code), value("n", INT64), value("s", INT64)];
        let outputs = [value("y", code), value("i", INT64), value("last", code), value("all", code)];
        whole(&nodes, zero, &inputs, &outputs)
    };
    let source = with(&body(&[], FLOAT), &[], FLOAT, 1);
    let written = to_float16(&source, as_they_are);
    assert_model(&written.model, &with(&body(&[], FLOAT16), &[], FLOAT16, 10));
    assert_eq!(written.notes, [kept(&[("Cast", "b"), ("Add", "after")])]);
}
