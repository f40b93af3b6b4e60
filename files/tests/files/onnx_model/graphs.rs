//! Graphs from one float type to another.

use wgpu_cast::ElementType;
use wgpu_cast::onnx::NEWEST_OPSET;
use wgpu_cast_files::{GraphRules, ModelRules};

use super::build::*;

/// `y = x * w + x`, with a declared value and an integer beside.
fn source() -> Message {
    of(&[
        (NODE, node("Mul", &["x", "w"], &["t"])),
        (NODE, node("Add", &["t", "x"], &["y"])),
        (INITIALIZER, floats("w", &VALUES)),
        (INITIALIZER, raw("n", INT64, &[1], &[7; 8])),
        (INPUT, value("x", FLOAT)),
        (OUTPUT, value("y", FLOAT)),
        (VALUE_INFO, value("t", FLOAT)),
        (VALUE_INFO, value("n", INT64)),
    ])
}

#[test]
fn values_of_the_old_type_get_the_new_one() {
    let written = to_float16(&source(), as_they_are);
    let expected = of(&[
        (NODE, node("Mul", &["x", "w"], &["t"])),
        (NODE, node("Add", &["t", "x"], &["y"])),
        (INITIALIZER, raw("w", FLOAT16, &[2], &float16())),
        (INITIALIZER, raw("n", INT64, &[1], &[7; 8])),
        (INPUT, value("x", FLOAT16)),
        (OUTPUT, value("y", FLOAT16)),
        (VALUE_INFO, value("t", FLOAT16)),
        (VALUE_INFO, value("n", INT64)),
    ]);
    assert_model(&written.model, &expected);
    assert_eq!((written.external, written.notes), (None, vec![]));
}

#[test]
fn inputs_and_outputs_keep_their_types_by_casts() {
    let written = to_float16(&source(), keep_io_types);
    let expected = of(&[
        (NODE, cast("x", "x_float16", FLOAT16)),
        (NODE, node("Mul", &["x_float16", "w"], &["t"])),
        (NODE, node("Add", &["t", "x_float16"], &["y_float16"])),
        (INITIALIZER, raw("w", FLOAT16, &[2], &float16())),
        (INITIALIZER, raw("n", INT64, &[1], &[7; 8])),
        (INPUT, value("x", FLOAT)),
        (OUTPUT, value("y", FLOAT)),
        (VALUE_INFO, value("t", FLOAT16)),
        (VALUE_INFO, value("n", INT64)),
        (NODE, cast("y_float16", "y", FLOAT)),
    ]);
    assert_model(&written.model, &expected);
}

#[test]
fn nodes_are_kept_by_operator_or_name() {
    let keeps: [fn(&mut GraphRules<'_>); 2] =
        [|rules| rules.keep = &|operator, _| operator == "Mul", |rules| rules.keep = &|_, name| name == "this"];
    let named = node("Mul", &["x", "w"], &["t"]).bytes(3, "this");
    let source = of(&[
        (NODE, named.clone()),
        (NODE, node("Add", &["t", "x"], &["y"])),
        (INITIALIZER, floats("w", &VALUES)),
        (INPUT, value("x", FLOAT)),
        (OUTPUT, value("y", FLOAT)),
        (VALUE_INFO, value("t", FLOAT)),
    ]);
    // Nobody needs the initializer in the new type, so it is not rounded.
    let expected = of(&[
        (NODE, cast("x", "x_float", FLOAT)),
        (NODE, node("Mul", &["x_float", "w"], &["t"]).bytes(3, "this")),
        (NODE, cast("t", "t_float16", FLOAT16)),
        (NODE, node("Add", &["t_float16", "x"], &["y"])),
        (INITIALIZER, floats("w", &VALUES)),
        (INPUT, value("x", FLOAT16)),
        (OUTPUT, value("y", FLOAT16)),
        (VALUE_INFO, value("t", FLOAT)),
    ]);
    for keep in keeps {
        let written = to_float16(&source, keep);
        assert_model(&written.model, &expected);
        assert_eq!(written.notes, ["Mul: 1 node kept in the old type as asked for (first: \"this\")"]);
    }
}

/// Initializers follow the rules of types: some stay, some get a third type.
#[test]
fn initializers_may_have_other_types_than_the_graph() {
    let types = |name: &str, from: ElementType| match (name, from) {
        ("stays", _) => None,
        ("small", _) => Some(ElementType::FLOAT8E4M3FN),
        (_, ElementType::DOUBLE) => Some(ElementType::FLOAT16),
        (_, ElementType::FLOAT) => Some(ElementType::FLOAT16),
        _ => None,
    };
    let mut rules = ModelRules::new(&types, DATA_FILE);
    rules.graph = Some(GraphRules::new(ElementType::FLOAT, ElementType::FLOAT16));
    let doubles = 0.1f64.to_le_bytes();
    let source = |initializers: &[Message]| {
        let inputs = ["stays", "small", "goes"];
        let mut fields = vec![(NODE, node("Sum", &inputs, &["y"])), (NODE, node("Neg", &["d"], &["e"]))];
        fields.extend(initializers.iter().map(|tensor| (INITIALIZER, tensor.clone())));
        fields.push((OUTPUT, value("y", FLOAT)));
        model(10, 19, &graph(&fields))
    };
    let written = convert(
        &source(&[
            floats("stays", &VALUES),
            floats("small", &VALUES),
            floats("goes", &VALUES),
            raw("d", DOUBLE, &[1], &doubles),
        ]),
        &[],
        &rules,
    );
    let half = raw("d_float16", FLOAT16, &[1], &codes(&[0.1], ElementType::FLOAT16));
    let expected = model(
        10,
        19,
        &graph(&[
            (NODE, cast("d_float16", "d", DOUBLE)),
            (NODE, cast("stays", "stays_float16", FLOAT16)),
            (NODE, cast("small", "small_float16", FLOAT16)),
            (NODE, node("Sum", &["stays_float16", "small_float16", "goes"], &["y"])),
            (NODE, node("Neg", &["d"], &["e"])),
            (INITIALIZER, floats("stays", &VALUES)),
            (INITIALIZER, raw("small", FLOAT8E4M3FN, &[2], &codes(&VALUES, ElementType::FLOAT8E4M3FN))),
            (INITIALIZER, raw("goes", FLOAT16, &[2], &float16())),
            (INITIALIZER, half),
            (OUTPUT, value("y", FLOAT16)),
        ]),
    );
    assert_model(&written.unwrap().model, &expected);
}

/// In float16 a scale of 2.1 would be 2.0996.
#[test]
fn constants_for_inputs_whose_schemas_demand_float_stay_float() {
    let constant = node("Constant", &[], &["roi"]).bytes(5, tensor_attribute("value", &floats("", &[0.1])));
    let whole = |nodes: &[Message], initializers: [Message; 2], code: i32| {
        let mut fields: Vec<_> = nodes.iter().map(|node| (NODE, node.clone())).collect();
        fields.extend(initializers.map(|initializer| (INITIALIZER, initializer)));
        fields.extend([(INPUT, value("x", code)), (OUTPUT, value("y", code))]);
        of(&fields)
    };
    let (scales, both) = (|| floats("scales", &[2.1]), || floats("both", &VALUES));
    let add = node("Mul", &["x", "both"], &["t"]);
    let resize = |scales: &str| node("Resize", &["t", "roi", scales], &["y"]);
    let source = whole(&[constant.clone(), add.clone(), resize("scales")], [scales(), both()], FLOAT);
    let small = raw("scales", FLOAT16, &[1], &codes(&[2.1], ElementType::FLOAT16));
    let half = raw("both", FLOAT16, &[2], &float16());
    let written = to_float16(&source, as_they_are);
    assert_model(
        &written.model,
        &whole(&[constant.clone(), add.clone(), resize("scales")], [scales(), half.clone()], FLOAT16),
    );
    let note = "Resize: 1 node kept in the old type in part: some inputs or outputs do not support the new one";
    assert_eq!(written.notes, [format!("{note} (first: \"y\")")]);
    // One that is needed in both types is stored in the new one, and so is one that is not needed.
    let source = whole(&[constant.clone(), add.clone(), resize("both")], [scales(), both()], FLOAT);
    let nodes = [cast("both", "both_float", FLOAT), constant, add, resize("both_float")];
    assert_model(&to_float16(&source, as_they_are).model, &whole(&nodes, [small, half], FLOAT16));
}

/// Conv has bfloat16 from opset 22 on, an own operator has no schema, and a function is not known either.
#[test]
fn operators_that_do_not_support_the_new_type_are_kept() {
    let function = message().bytes(1, "scaled").bytes(10, "own").bytes(7, node("Neg", &["v"], &["u"]));
    let of = |fields: &[(u64, Message)]| model(8, 17, &graph(fields)).bytes(25, &function);
    let source = of(&[
        (NODE, node("Conv", &["x", "x"], &["t"])),
        (NODE, node("Mystery", &["t"], &["n"]).bytes(7, "custom")),
        (NODE, node("Neg", &["n"], &["m"])),
        (NODE, node("scaled", &["m"], &["y"]).bytes(7, "own")),
        (INPUT, value("x", FLOAT)),
        (OUTPUT, value("y", FLOAT)),
        (VALUE_INFO, value("n", FLOAT)),
    ]);
    let written = converted(&source, ElementType::BFLOAT16, as_they_are).unwrap();
    let expected = of(&[
        (NODE, cast("x", "x_float", FLOAT)),
        (NODE, node("Conv", &["x_float", "x_float"], &["t"])),
        (NODE, node("Mystery", &["t"], &["n"]).bytes(7, "custom")),
        (NODE, cast("n", "n_bfloat16", BFLOAT16)),
        (NODE, node("Neg", &["n_bfloat16"], &["m"])),
        (NODE, cast("m", "m_float", FLOAT)),
        (NODE, node("scaled", &["m_float"], &["y_float"]).bytes(7, "own")),
        (INPUT, value("x", BFLOAT16)),
        (OUTPUT, value("y", BFLOAT16)),
        (VALUE_INFO, value("n", FLOAT)),
        (NODE, cast("y_float", "y", BFLOAT16)),
    ]);
    assert_model(&written.model, &expected);
    let unknown = "1 node kept in the old type: the operator has no known schema at this opset";
    assert_eq!(
        written.notes,
        [
            "Conv: 1 node kept in the old type: the operator does not support the new one here (first: \"t\")",
            &format!("custom.Mystery: {unknown} (first: \"n\")"),
            &format!("own.scaled: {unknown} (first: \"y\")"),
        ]
    );
}

/// The body of the operator has constants of float, so that another type fails in onnx.checker.
#[test]
fn functions_with_constants_of_float_are_kept() {
    let operator = "MeanVarianceNormalization";
    let whole = |opset: i64, nodes: &[Message], code: i32| {
        let mut fields: Vec<_> = nodes.iter().map(|node| (NODE, node.clone())).collect();
        fields.insert(0, (INPUT, value("x", code)));
        fields.insert(1, (OUTPUT, value("y", code)));
        model(13, opset, &graph(&fields))
    };
    for (opset, to) in [
        (9, ElementType::FLOAT16),
        (9, ElementType::DOUBLE),
        (13, ElementType::BFLOAT16),
        (18, ElementType::FLOAT16),
        (28, ElementType::DOUBLE),
    ] {
        let code = to.onnx_code();
        let kept =
            [cast("x", "x_float", FLOAT), node(operator, &["x_float"], &["y_float"]), cast("y_float", "y", code)];
        let written = converted(&whole(opset, &[node(operator, &["x"], &["y"])], FLOAT), to, as_they_are).unwrap();
        assert_model(&written.model, &whole(opset, &kept, code));
        let note = "1 node kept in the old type: the operator's body has constants of that type at this opset";
        assert_eq!(written.notes, [format!("{operator}: {note} (first: \"y\")")]);
    }
}

/// What holds or names a type beside tensors.
#[test]
fn constants_and_attributes_that_name_types() {
    let string = |name: &str, value: &str| message().bytes(1, name).bytes(4, value).int(20, 3);
    let float = |name: &str, value: f32| message().bytes(1, name).fixed32(2, value.to_bits()).int(20, 1);
    let list = |name: &str, values: &[f32]| message().bytes(1, name).bytes(7, float_bytes(values)).int(20, 6);
    let entries = |name: &str, values: &[f32]| {
        values.iter().fold(message().bytes(1, name), |list, value| list.fixed32(7, value.to_bits())).int(20, 6)
    };
    let constant = |attribute: Message| node("Constant", &[], &["k"]).bytes(5, attribute);
    let half = |dims: &[i64], values: &[f32]| {
        let tensor = message().ints(DIMS, dims).int(DATA_TYPE, FLOAT16.into());
        tensor_attribute("value", &tensor.bytes(RAW_DATA, codes(values, ElementType::FLOAT16)))
    };
    let tensor = |code: i32, data: &[u8]| tensor_attribute("value", &head("", code, &[1]).bytes(RAW_DATA, data));
    let of_shape = |attribute: &[Message]| {
        attribute.iter().fold(node("ConstantOfShape", &["s"], &["k"]), |node, attribute| node.bytes(5, attribute))
    };
    let op = |operator: &str, inputs: &[&str], attributes: &[Message]| {
        attributes.iter().fold(node(operator, inputs, &["k"]), |node, attribute| node.bytes(5, attribute))
    };
    let (one, doubled) = (1f32.to_le_bytes(), 1f64.to_le_bytes());
    let shape = message().bytes(1, "shape").int(8, 2).int(20, 7);
    let tenth = codes(&[1.0], ElementType::FLOAT16);
    let [first, second] = [&VALUES[..1], &VALUES[1..]].map(float_bytes);
    let two_fields = message().bytes(1, "value_floats").bytes(7, first).bytes(7, second).int(20, 6);
    for (before, after) in [
        (constant(two_fields), constant(half(&[2], &VALUES))),
        (constant(tensor(FLOAT, &one)), constant(tensor(FLOAT16, &tenth))),
        (constant(tensor(DOUBLE, &doubled)), constant(tensor(DOUBLE, &doubled))),
        (constant(float("value_float", 0.1)), constant(half(&[], &[0.1]))),
        (constant(list("value_floats", &VALUES)), constant(half(&[2], &VALUES))),
        (constant(entries("value_floats", &VALUES)), constant(half(&[2], &VALUES))),
        (constant(list("value_floats", &[])), constant(half(&[0], &[]))),
        // Writers of proto3 omit zeros.
        (constant(message().bytes(1, "value_float").int(20, 1)), constant(half(&[], &[0.0]))),
        // Each of both attributes looks at its own field.
        (constant(list("value_float", &VALUES)), constant(half(&[], &[0.0]))),
        (constant(float("value_floats", 0.1)), constant(half(&[0], &[]))),
        (constant(string("value_string", "1.5")), constant(string("value_string", "1.5"))),
        (of_shape(&[tensor(FLOAT, &one)]), of_shape(&[tensor(FLOAT16, &tenth)])),
        (of_shape(&[]), of_shape(&[half(&[1], &[0.0])])),
        (op("Cast", &["s"], &[int("to", 1)]), op("Cast", &["s"], &[int("to", 10)])),
        // Only the number changes.
        (
            op("Cast", &["s"], &[message().bytes(13, "a text").raw(int("to", 1)).bytes(900, "unknown")]),
            op("Cast", &["s"], &[message().bytes(13, "a text").raw(int("to", 10)).bytes(900, "unknown")]),
        ),
        (op("Cast", &["x"], &[int("to", 6)]), op("Cast", &["x"], &[int("to", 6)])),
        (op("CastLike", &["s", "x"], &[]), op("CastLike", &["s", "x"], &[])),
        (
            op("RandomNormal", &[], &[shape.clone(), int("dtype", 1)]),
            op("RandomNormal", &[], &[shape.clone(), int("dtype", 10)]),
        ),
        (
            op("RandomNormal", &[], std::slice::from_ref(&shape)),
            op("RandomNormal", &[], &[shape.clone(), int("dtype", 10)]),
        ),
        (
            op("RandomNormal", &[], &[shape.clone(), int("dtype", 11)]),
            op("RandomNormal", &[], &[shape.clone(), int("dtype", 11)]),
        ),
        (op("EyeLike", &["x"], &[]), op("EyeLike", &["x"], &[])),
        (op("EyeLike", &["s"], &[int("dtype", 1)]), op("EyeLike", &["s"], &[int("dtype", 10)])),
        (op("EyeLike", &["x"], &[int("dtype", 7)]), op("EyeLike", &["x"], &[int("dtype", 7)])),
        (op("HannWindow", &["s"], &[]), op("HannWindow", &["s"], &[int("output_datatype", 10)])),
    ] {
        let with = |node: &Message, code: i32| {
            of(&[(NODE, node.clone()), (INPUT, value("s", INT64)), (INPUT, value("x", code))])
        };
        assert_model(&to_float16(&with(&before, FLOAT), as_they_are).model, &with(&after, FLOAT16));
    }
}

/// A value that is an input or an initializer, and an output at once.
#[test]
fn values_that_pass_through() {
    let source = of(&[
        (NODE, node("Neg", &["w"], &["y"])),
        (INITIALIZER, floats("w", &VALUES)),
        (INITIALIZER, floats("d", &VALUES)),
        (INITIALIZER, raw("k", INT64, &[1], &[7; 8])),
        (INPUT, value("k", INT64)),
        (INPUT, value("x", FLOAT)),
        (INPUT, value("d", FLOAT)),
        (OUTPUT, value("x", FLOAT)),
        (OUTPUT, value("w", FLOAT)),
    ]);
    // The default value of an input has the type of the input.
    let expected = of(&[
        (NODE, node("Neg", &["w"], &["y"])),
        (INITIALIZER, raw("w", FLOAT16, &[2], &float16())),
        (INITIALIZER, raw("d", FLOAT16, &[2], &float16())),
        (INITIALIZER, raw("k", INT64, &[1], &[7; 8])),
        (INPUT, value("k", INT64)),
        (INPUT, value("x", FLOAT16)),
        (INPUT, value("d", FLOAT16)),
        (OUTPUT, value("x", FLOAT16)),
        (OUTPUT, value("w", FLOAT16)),
    ]);
    assert_model(&to_float16(&source, as_they_are).model, &expected);
    let expected = of(&[
        (NODE, cast("w_float16", "w", FLOAT)),
        (NODE, node("Neg", &["w_float16"], &["y"])),
        (INITIALIZER, raw("w_float16", FLOAT16, &[2], &float16())),
        (INITIALIZER, floats("d", &VALUES)),
        (INITIALIZER, raw("k", INT64, &[1], &[7; 8])),
        (INPUT, value("k", INT64)),
        (INPUT, value("x", FLOAT)),
        (INPUT, value("d", FLOAT)),
        (OUTPUT, value("x", FLOAT)),
        (OUTPUT, value("w", FLOAT)),
    ]);
    let written = to_float16(&source, keep_io_types);
    assert_model(&written.model, &expected);
    assert_eq!(written.notes, ["1 initializer left (first: \"d\"): default values of graph inputs"]);
}

/// What has no cast behind it cannot have another type under its own name. Callers know outputs by their names.
#[test]
fn outputs_of_the_model_keep_their_names() {
    let sparse = message().bytes(1, floats("s", &[0.1])).bytes(2, raw("", INT64, &[1], &[0; 8])).int(3, 2);
    let with = |casts: &[(u64, Message)], negated: &str, code: i32| {
        let negate = [(NODE, node("Neg", &[negated], &["y"]))];
        let ends = [(15, sparse.clone()), (OUTPUT, value("y", code)), (OUTPUT, value("s", FLOAT))];
        of(&[casts, &negate, &ends].concat())
    };
    let expected = with(&[(NODE, cast("s", "s_float16", FLOAT16))], "s_float16", FLOAT16);
    let written = to_float16(&with(&[], "s", FLOAT), as_they_are);
    assert_model(&written.model, &expected);
    assert_eq!(written.notes, ["1 sparse tensor left (first: \"s\"): only dense tensors are cast"]);
    // The type of what an unknown operator makes is known by its use.
    let with = |casts: &[(u64, Message)], taken: &str, code: i32| {
        let first = [(NODE, node("Mystery", &[], &["m"]).bytes(7, "custom"))];
        let nodes = [(NODE, node("Add", &["x", taken], &["y"]))];
        let ends = [(INPUT, value("x", code)), (OUTPUT, value("y", code)), (OUTPUT, message().bytes(1, "m"))];
        of(&[&first[..], casts, &nodes, &ends].concat())
    };
    let expected = with(&[(NODE, cast("m", "m_float16", FLOAT16))], "m_float16", FLOAT16);
    assert_model(&to_float16(&with(&[], "m", FLOAT), as_they_are).model, &expected);
}

/// Sequences keep their type, so their elements do.
#[test]
fn sequences_are_kept() {
    let source = of(&[
        (NODE, node("SequenceConstruct", &["x"], &["s"])),
        (NODE, node("SequenceAt", &["s", "i"], &["t"])),
        (NODE, node("Add", &["t", "x"], &["y"])),
        (INPUT, value("x", FLOAT)),
        (INPUT, value("i", INT64)),
        (OUTPUT, value("y", FLOAT)),
    ]);
    let expected = of(&[
        (NODE, cast("x", "x_float", FLOAT)),
        (NODE, node("SequenceConstruct", &["x_float"], &["s"])),
        (NODE, node("SequenceAt", &["s", "i"], &["t"])),
        (NODE, cast("t", "t_float16", FLOAT16)),
        (NODE, node("Add", &["t_float16", "x"], &["y"])),
        (INPUT, value("x", FLOAT16)),
        (INPUT, value("i", INT64)),
        (OUTPUT, value("y", FLOAT16)),
    ]);
    assert_model(&to_float16(&source, as_they_are).model, &expected);
}

#[test]
fn graphs_that_cannot_be_converted() {
    let error = |model: &Message, to| converted(model, to, as_they_are).unwrap_err();
    for to in [ElementType::FLOAT, ElementType::INT8, ElementType::FLOAT8E5M2] {
        let found = error(&source(), to);
        let types = "they must be two of float, double, float16 and bfloat16";
        assert_eq!(found.to_string(), format!("a graph cannot be converted from float to {to}: {types}"));
    }
    let early =
        of(&[(NODE, node("Neg", &["t"], &["y"])), (NODE, node("Neg", &["x"], &["t"])), (INPUT, value("x", FLOAT))]);
    assert_eq!(
        error(&early, ElementType::FLOAT16).to_string(),
        "Neg \"y\": the value \"t\" is not defined before it is used"
    );
    let nowhere = of(&[(OUTPUT, value("y", FLOAT))]);
    assert_eq!(
        error(&nowhere, ElementType::FLOAT16).to_string(),
        "an output of the graph: the value \"y\" is not defined before it is used"
    );
    let old = model(3, 5, &graph(&[]));
    let found = error(&old, ElementType::FLOAT16).to_string();
    assert_eq!(found, format!("the model imports opset 5 (supported opsets: 6 to {NEWEST_OPSET})"));
    let old = model(4, 9, &graph(&[(NODE, node("Softmax", &["x"], &["y"])), (INPUT, value("x", FLOAT))]));
    let found = error(&old, ElementType::BFLOAT16);
    assert!(found.to_string().starts_with("bfloat16 needs opset 13, and the model imports opset 9; "), "{found}");
}

#[test]
fn notes_say_why_nodes_are_kept() {
    let fields = |operator: &str| {
        of(&[(NODE, node(operator, &["x", "x"], &["y"])), (INPUT, value("x", FLOAT)), (OUTPUT, value("y", FLOAT))])
    };
    // Deprecated from opset 10 on, and added in opset 20.
    for operator in ["Upsample", "Gelu"] {
        let note = "1 node kept in the old type: the operator has no known schema at this opset (first: \"y\")";
        assert_eq!(to_float16(&fields(operator), as_they_are).notes, [format!("{operator}: {note}")]);
    }
    // One with more inputs than its schema has.
    let note = "Neg: 1 node kept in the old type";
    let why = [": not all values are tensors of known types", " as asked for"];
    let rules: [fn(&mut GraphRules<'_>); 2] = [as_they_are, |rules| rules.keep = &|operator, _| operator == "Neg"];
    for (why, rules) in why.into_iter().zip(rules) {
        assert_eq!(to_float16(&fields("Neg"), rules).notes, [format!("{note}{why} (first: \"y\")")]);
    }
    // Only those with a value of the old type have one.
    let notes = |input: i32, output: Message| {
        let node = node("Mystery", &["x"], &["y"]).bytes(7, "custom");
        to_float16(&of(&[(NODE, node), (INPUT, value("x", input)), (OUTPUT, output)]), as_they_are).notes
    };
    let untyped = message().bytes(1, "y");
    assert_eq!(notes(INT64, value("y", INT64)), ["nothing was converted: the graph has no values of float"]);
    let note =
        "custom.Mystery: 1 node kept in the old type: the operator has no known schema at this opset (first: \"y\")";
    assert_eq!([notes(FLOAT, value("y", INT64)), notes(INT64, untyped)], [[note], [note]]);
}

#[test]
fn statistics_of_layer_normalization_stay_float() {
    let whole = |casts: &[(u64, Message)], m: &str, code: i32| {
        let first = [(NODE, node("LayerNormalization", &["x", "x"], &["y", "m"]))];
        let negate = [(NODE, node("Neg", &[m], &["z"]))];
        let ends = [(INPUT, value("x", code)), (OUTPUT, value("y", code)), (OUTPUT, value("z", code))];
        of(&[&first[..], casts, &negate, &ends].concat())
    };
    let written = converted(&whole(&[], "m", FLOAT), ElementType::BFLOAT16, as_they_are).unwrap();
    assert_model(&written.model, &whole(&[(NODE, cast("m", "m_bfloat16", BFLOAT16))], "m_bfloat16", BFLOAT16));
}

#[test]
fn outputs_that_follow_an_input_and_outputs_of_integers() {
    let with = |code: i32| {
        of(&[
            (NODE, node("RandomNormalLike", &["x"], &["y"])),
            (NODE, node("Shape", &["x"], &["s"])),
            (INPUT, value("x", code)),
            (OUTPUT, value("y", code)),
            (OUTPUT, value("s", INT64)),
        ])
    };
    let written = to_float16(&with(FLOAT), as_they_are);
    assert_model(&written.model, &with(FLOAT16));
    assert_eq!(written.notes, Vec::<String>::new());
    let source =
        of(&[(NODE, node("Bernoulli", &["x"], &["y"])), (INPUT, value("x", FLOAT)), (OUTPUT, value("y", FLOAT))]);
    let expected = of(&[
        (NODE, cast("x", "x_float", FLOAT)),
        (NODE, node("Bernoulli", &["x_float"], &["y_float"])),
        (INPUT, value("x", BFLOAT16)),
        (OUTPUT, value("y", BFLOAT16)),
        (NODE, cast("y_float", "y", BFLOAT16)),
    ]);
    assert_model(&converted(&source, ElementType::BFLOAT16, as_they_are).unwrap().model, &expected);
}

#[test]
fn sparse_constants_are_cast_where_they_are_used() {
    let sparse = message().bytes(1, floats("", &[0.1])).bytes(2, raw("", INT64, &[1], &[0; 8])).int(3, 2);
    let attribute = message().bytes(1, "sparse_value").bytes(22, sparse).int(20, 11);
    let whole = |casts: &[(u64, Message)], k: &str, code: i32| {
        let first = [(NODE, node("Constant", &[], &["k"]).bytes(5, &attribute))];
        let add = [(NODE, node("Add", &["x", k], &["y"]))];
        let ends = [(INPUT, value("x", code)), (OUTPUT, value("y", code))];
        of(&[&first[..], casts, &add, &ends].concat())
    };
    let expected = whole(&[(NODE, cast("k", "k_float16", FLOAT16))], "k_float16", FLOAT16);
    assert_model(&to_float16(&whole(&[], "k", FLOAT), as_they_are).model, &expected);
}

#[test]
fn unknown_values_by_what_takes_them() {
    let m = (NODE, node("Mystery", &[], &["m"]).bytes(7, "custom"));
    for taker in [node("Gather", &["x", "m"], &["y"]), node("Resize", &["x", "", "m"], &["y"])] {
        let whole =
            |code: i32| of(&[m.clone(), (NODE, taker.clone()), (INPUT, value("x", code)), (OUTPUT, value("y", code))]);
        assert_model(&to_float16(&whole(FLOAT), as_they_are).model, &whole(FLOAT16));
    }
    let source = of(&[m.clone(), (NODE, node("Neg", &["m"], &["y"])), (OUTPUT, value("y", FLOAT))]);
    let expected = of(&[
        m,
        (NODE, node("Neg", &["m"], &["y_float"])),
        (OUTPUT, value("y", FLOAT16)),
        (NODE, cast("y_float", "y", FLOAT16)),
    ]);
    assert_model(&to_float16(&source, as_they_are).model, &expected);
}

#[test]
fn kinds_of_values() {
    let tensor = |code: i32| message().bytes(1, message().int(1, code.into()));
    let typed = |name: &str, kind: Message| message().bytes(1, name).bytes(2, kind);
    let whole = |code: i32| {
        of(&[
            (NODE, node("Mystery", &["s"], &["n"]).bytes(7, "custom")),
            (NODE, node("Add", &["a", "b"], &["y"])),
            (INPUT, typed("s", message().bytes(4, message().bytes(1, tensor(FLOAT))))),
            (INPUT, typed("a", message().bytes(6, "IMAGE").raw(tensor(code)))),
            (INPUT, typed("b", tensor(code).bytes(6, "IMAGE"))),
            (OUTPUT, value("n", INT64)),
            (OUTPUT, value("y", code)),
        ])
    };
    let written = to_float16(&whole(FLOAT), as_they_are);
    assert_model(&written.model, &whole(FLOAT16));
    assert_eq!(written.notes, Vec::<String>::new());
}

/// A function of another domain is another operator.
#[test]
fn functions_have_the_names_of_their_own_domains() {
    let function = message().bytes(1, "Neg").bytes(10, "own").bytes(7, node("Abs", &["v"], &["u"]));
    let with = |code: i32| {
        let fields = [(NODE, node("Neg", &["x"], &["y"])), (INPUT, value("x", code)), (OUTPUT, value("y", code))];
        of(&fields).bytes(25, &function)
    };
    assert_model(&to_float16(&with(FLOAT), as_they_are).model, &with(FLOAT16));
}

#[test]
fn rules_are_printed_without_their_functions() {
    let mut rules = ModelRules::new(&|_, _| None, DATA_FILE);
    rules.graph = Some(GraphRules::new(ElementType::FLOAT, ElementType::FLOAT16));
    let text = format!("{rules:?}");
    assert!(text.starts_with("ModelRules {") && text.contains("GraphRules {") && text.contains(DATA_FILE), "{text}");
}

#[test]
fn lists_of_floats_are_whole_floats() {
    for pad in 0..4 {
        let list = message().bytes(1, "value_floats").bytes(13, "x".repeat(pad)).bytes(7, [0; 6]).int(20, 6);
        let source = of(&[(NODE, node("Constant", &[], &["k"]).bytes(5, list))]);
        let error = converted(&source, ElementType::FLOAT16, as_they_are).unwrap_err();
        let (start, text) = ("an attribute of the node k: the field at byte ", " ends beyond its message");
        let error = error.to_string();
        assert!(error.starts_with(start) && error.ends_with(text), "{error}");
    }
}

/// A type of its own is that of the values in the file, wherever they are used.
#[test]
fn initializers_of_kept_nodes_are_stored_in_types_of_their_own() {
    let types = |_: &str, from: ElementType| (from == ElementType::FLOAT).then_some(ElementType::BFLOAT16);
    let mut rules = ModelRules::new(&types, DATA_FILE);
    rules.graph = Some(GraphRules::new(ElementType::FLOAT, ElementType::FLOAT16));
    let node = node("Mystery", &["w"], &["y"]).bytes(7, "custom");
    let source = of(&[(NODE, node), (INITIALIZER, floats("w", &VALUES)), (OUTPUT, value("y", INT64))]);
    let written = convert(&source, &[], &rules).unwrap();
    assert_eq!(written.tensors.iter().map(|tensor| tensor.to).collect::<Vec<_>>(), [Some(ElementType::BFLOAT16)]);
}
