//! Initializers in other types, with casts back.

use wgpu_cast::ElementType;
use wgpu_cast::onnx::NEWEST_OPSET;
use wgpu_cast_files::{ModelData, ModelRules, ModelScan};

use super::build::*;

/// A graph of one node, with more fields behind it.
fn plain(fields: &[(u64, Message)]) -> Message {
    let node = [(NODE, node("Add", &["x", "w"], &["y"]))];
    let ends = [(INPUT, value("x", FLOAT)), (OUTPUT, value("y", FLOAT))];
    graph(&[&node, fields, &ends].concat())
}

/// The graph with `w` stored as an initializer of another name, and a cast back to the type `from`.
fn cast_back(name: &str, from: i32, initializer: Message) -> Message {
    let nodes = [(NODE, cast(name, "w", from)), (NODE, node("Add", &["x", "w"], &["y"]))];
    let ends = [(INPUT, value("x", FLOAT)), (OUTPUT, value("y", FLOAT))];
    graph(&[&nodes[..], &[(INITIALIZER, initializer)], &ends].concat())
}

#[test]
fn an_initializer_is_stored_in_another_type_with_a_cast_back() {
    let source = model(8, 17, &plain(&[(INITIALIZER, floats("w", &VALUES))]));
    let written = stored(&source, &[], ElementType::FLOAT16).unwrap();
    let expected = cast_back("w_float16", FLOAT, raw("w_float16", FLOAT16, &[2], &float16()));
    assert_model(&written.model, &model(8, 17, &expected));
    assert_eq!((written.external, written.notes), (None, vec![]));
}

/// Fields that ONNX does not have, functions and metadata, at every level, in no canonical form.
#[test]
fn fields_that_are_not_known_are_copied_byte_for_byte() {
    // A length in two bytes where one is enough, and a key in two.
    let odd =
        |field: u64| message().int(field, -5).fixed32(900, 7).fixed64(901, 8).raw([0x82, 0x40, 0x83, 0x00, 1, 2, 3]);
    let function = message().bytes(1, "f").bytes(10, "custom").bytes(7, node("Add", &["a", "b"], &["c"])).raw(odd(77));
    let tail = message().bytes(25, &function).bytes(14, entry("key", "value")).raw(odd(100));
    let info = |w: &Message| {
        let unchanged =
            node("Mystery", &["x"], &["z"]).bytes(7, "custom").bytes(5, message().bytes(1, "a").raw(odd(50)));
        let mut graph = message().raw(odd(60)).bytes(2, "g").bytes(1, unchanged).bytes(10, "a text").raw(w);
        graph = graph.bytes(16, entry("meta", "data")).bytes(14, message().bytes(1, "w").raw(odd(9)));
        graph.bytes(VALUE_INFO, value("z", FLOAT).raw(odd(70)))
    };
    let weight = |name: &str, code: i32, data: &[u8]| {
        let start = message().bytes(16, entry("k", "v")).int(DATA_TYPE, code.into()).bytes(12, "doc");
        start.bytes(NAME, name).packed(DIMS, &[2]).raw(odd(80)).bytes(RAW_DATA, data)
    };
    let before = message().bytes(INITIALIZER, weight("w", FLOAT, &float_bytes(&VALUES)));
    let source = message().raw(odd(101)).raw(model(8, 17, &info(&before))).raw(&tail);
    let written = stored(&source, &[], ElementType::FLOAT16).unwrap().model;
    let stored = message().bytes(INITIALIZER, weight("w_float16", FLOAT16, &float16()));
    // The cast is put before the first node.
    let with_cast = {
        let changed = info(&stored);
        let start = message().raw(odd(60)).bytes(2, "g");
        start.clone().bytes(NODE, cast("w_float16", "w", FLOAT)).raw(&changed.0[start.0.len()..])
    };
    assert_model(&written, &message().raw(odd(101)).raw(model(8, 17, &with_cast)).raw(&tail));
}

#[test]
fn a_model_without_anything_to_cast_is_copied() {
    // The fields of the graph are in no order, and its length has one byte more than needed.
    let content = plain(&[(INITIALIZER, floats("w", &VALUES))]);
    let length = content.0.len();
    let source = message().bytes(8, message().int(2, 17)).raw([
        7 << 3 | 2,
        length as u8 & 0x7f | 0x80,
        (length >> 7) as u8 | 0x80,
        0,
    ]);
    let source = source.raw(&content);
    assert_model(&stored(&source, &[], ElementType::FLOAT).unwrap().model, &source);
    let only_others = |_: &str, from: ElementType| (from == ElementType::INT64).then_some(ElementType::INT8);
    assert_model(&convert(&source, &[], &ModelRules::new(&only_others, DATA_FILE)).unwrap().model, &source);
}

/// A graph with an initializer as an attribute of a node, two levels down.
#[test]
fn initializers_of_nested_graphs() {
    let nested = |initializer: Message, casts: &[Message]| {
        let casts = casts.iter().map(|cast| (NODE, cast.clone()));
        let add = (NODE, node("Add", &["shared", "w"], &["t"]));
        graph(&casts.chain([add, (INITIALIZER, initializer), (OUTPUT, value("t", FLOAT))]).collect::<Vec<_>>())
    };
    let outer = |shared: Message, casts: &[Message], nested: &Message| {
        let branches = ["then_branch", "else_branch"].map(|name| graph_attribute(name, nested));
        let choice = branches.iter().fold(node("If", &["c"], &["y"]), |node, branch| node.bytes(5, branch));
        let casts = casts.iter().map(|cast| (NODE, cast.clone()));
        let rest = [(NODE, choice), (INITIALIZER, shared), (INPUT, value("c", 9)), (OUTPUT, value("y", FLOAT))];
        graph(&casts.chain(rest).collect::<Vec<_>>())
    };
    let source = model(8, 17, &outer(floats("shared", &VALUES), &[], &nested(floats("w", &VALUES), &[])));
    // Each branch has its own initializer of the same name.
    let expected = |branches: [&str; 2]| {
        let [first, second] =
            branches.map(|name| nested(raw(name, FLOAT16, &[2], &float16()), &[cast(name, "w", FLOAT)]));
        let branch = |name: &str, graph: &Message| graph_attribute(name, graph);
        let choice =
            node("If", &["c"], &["y"]).bytes(5, branch("then_branch", &first)).bytes(5, branch("else_branch", &second));
        graph(&[
            (NODE, cast("shared_float16", "shared", FLOAT)),
            (NODE, choice),
            (INITIALIZER, raw("shared_float16", FLOAT16, &[2], &float16())),
            (INPUT, value("c", 9)),
            (OUTPUT, value("y", FLOAT)),
        ])
    };
    let written = stored(&source, &[], ElementType::FLOAT16).unwrap();
    assert_model(&written.model, &model(8, 17, &expected(["w_float16", "w_float16_1"])));
    let scan = ModelScan::read(&source.0).unwrap();
    let names: Vec<_> = scan.tensors().map(|tensor| (tensor.name, tensor.shape, tensor.element_type)).collect();
    let entry = |name| (name, &[2][..], Some(ElementType::FLOAT));
    assert_eq!(names, [entry("shared"), entry("w"), entry("w")]);
}

#[test]
fn an_initializer_that_is_an_output_keeps_its_name_by_the_cast() {
    let fields = [(INITIALIZER, floats("w", &VALUES)), (OUTPUT, value("w", FLOAT))];
    let written = stored(&model(8, 17, &graph(&fields)), &[], ElementType::FLOAT16).unwrap();
    let expected = graph(&[
        (INITIALIZER, raw("w_float16", FLOAT16, &[2], &float16())),
        (OUTPUT, value("w", FLOAT)),
        (NODE, cast("w_float16", "w", FLOAT)),
    ]);
    assert_model(&written.model, &model(8, 17, &expected));
}

#[test]
fn default_values_of_inputs_are_left_and_constants_are_not() {
    let with_input = [(INITIALIZER, floats("w", &VALUES)), (INPUT, value("w", FLOAT))];
    let source = model(4, 9, &plain(&with_input));
    let written = stored(&source, &[], ElementType::FLOAT16).unwrap();
    assert_model(&written.model, &source);
    assert_eq!(written.notes, ["1 initializer left (first: \"w\"): default values of graph inputs"]);
    // Before version 4 every initializer had to be an input.
    let written = stored(&model(3, 9, &plain(&with_input)), &[], ElementType::FLOAT16).unwrap();
    let expected = cast_back("w_float16", FLOAT, raw("w_float16", FLOAT16, &[2], &float16()));
    assert_model(&written.model, &model(4, 9, &expected));
    assert_eq!(written.notes, ["1 graph input left out, because they only name initializers"]);
    // Between others.
    let [a, b] = ["a", "b"].map(|name| (INPUT, value(name, FLOAT)));
    let [initializer, input] = with_input;
    let all = [initializer, a.clone(), input, b.clone()];
    let written = stored(&model(3, 9, &graph(&all)), &[], ElementType::FLOAT16).unwrap();
    let half = raw("w_float16", FLOAT16, &[2], &float16());
    let expected = graph(&[(INITIALIZER, half), a, b, (NODE, cast("w_float16", "w", FLOAT))]);
    assert_model(&written.model, &model(4, 9, &expected));
}

#[test]
fn new_names_are_not_taken() {
    let taken = [
        (INITIALIZER, floats("w", &VALUES)),
        (NODE, node("Neg", &["w"], &["w_float16"])),
        (VALUE_INFO, value("w_float16_1", FLOAT)),
    ];
    let written = stored(&model(8, 17, &plain(&taken)), &[], ElementType::FLOAT16).unwrap();
    let scan = ModelScan::read(&written.model.0).unwrap();
    assert_eq!(scan.tensors().map(|tensor| tensor.name).collect::<Vec<_>>(), ["w_float16_2"]);
}

/// Values in all fields that may hold them.
#[test]
fn values_that_are_not_raw_data() {
    let packed = |values: &[f32]| message().bytes(FLOAT_DATA, float_bytes(values));
    let unpacked =
        |values: &[f32]| values.iter().fold(message(), |tensor, value| tensor.fixed32(FLOAT_DATA, value.to_bits()));
    let doubles = VALUES.iter().flat_map(|&value| f64::from(value).to_le_bytes()).collect::<Vec<_>>();
    let float16 = codes(&VALUES, ElementType::FLOAT16);
    let halves: Vec<i64> = float16.chunks(2).map(|code| u16::from_le_bytes([code[0], code[1]]).into()).collect();
    let to_bfloat16 = |_: &str, _: ElementType| Some(ElementType::BFLOAT16);
    let expected = codes(&VALUES, ElementType::BFLOAT16);
    for (code, data) in [
        (FLOAT, packed(&VALUES)),
        (FLOAT, unpacked(&VALUES)),
        (FLOAT, packed(&VALUES[..1]).raw(packed(&VALUES[1..]))),
        (FLOAT, packed(&VALUES[..1]).raw(unpacked(&VALUES[1..]))),
        (FLOAT, message().bytes(RAW_DATA, float_bytes(&VALUES)).bytes(FLOAT_DATA, "").bytes(INT32_DATA, "")),
        (DOUBLE, message().bytes(DOUBLE_DATA, &doubles)),
        (FLOAT16, message().packed(INT32_DATA, &halves)),
        (FLOAT16, message().ints(INT32_DATA, &halves)),
    ] {
        let source = model(8, 17, &plain(&[(INITIALIZER, head("w", code, &[2]).raw(&data))]));
        let written = convert(&source, &[], &ModelRules::new(&to_bfloat16, DATA_FILE)).unwrap();
        let stored = cast_back("w_bfloat16", code, raw("w_bfloat16", BFLOAT16, &[2], &expected));
        assert_model(&written.model, &model(8, 17, &stored));
    }
    let ints = head("w", INT64, &[3]).packed(INT64_DATA, &[-1, 300, 5]);
    let source = model(8, 17, &plain(&[(INITIALIZER, ints)]));
    let to_int8 = |_: &str, from: ElementType| (from == ElementType::INT64).then_some(ElementType::INT8);
    let written = convert(&source, &[], &ModelRules::new(&to_int8, DATA_FILE)).unwrap();
    let stored = cast_back("w_int8", INT64, raw("w_int8", 3, &[3], &[0xff, 44, 5]));
    assert_model(&written.model, &model(8, 17, &stored));
}

#[test]
fn tensors_are_listed_with_their_data() {
    let fields = [
        (INITIALIZER, head("scalar", FLOAT, &[]).bytes(RAW_DATA, float_bytes(&[2.0]))),
        (INITIALIZER, head("empty", FLOAT, &[3, 0])),
        (INITIALIZER, head("values", INT64, &[2]).packed(INT64_DATA, &[1, 2])),
        (INITIALIZER, head("complex", 14, &[1]).bytes(RAW_DATA, [0; 8])),
        (INITIALIZER, head("text", 8, &[1]).bytes(STRING_DATA, "a")),
    ];
    let source = model(8, 17, &plain(&fields));
    let scan = ModelScan::read(&source.0).unwrap();
    let found: Vec<_> = scan.tensors().map(|tensor| (tensor.name, tensor.shape, tensor.element_type)).collect();
    assert_eq!(
        found,
        [
            ("scalar", &[][..], Some(ElementType::FLOAT)),
            ("empty", &[3, 0], Some(ElementType::FLOAT)),
            ("values", &[2], Some(ElementType::INT64)),
            ("complex", &[1], None),
            ("text", &[1], Some(ElementType::STRING)),
        ]
    );
    let data: Vec<_> = scan.tensors().map(|tensor| tensor.data).collect();
    let at = source.0.windows(4).position(|bytes| bytes == 2f32.to_le_bytes()).unwrap() as u64;
    assert!(matches!(&data[0], ModelData::Packed(range) if (range.input, range.offset, range.bytes) == (0, at, 4)));
    assert_eq!(data[1..3], [ModelData::Empty, ModelData::Values]);
    assert_eq!(scan.opset(), Some(17));
    let written = stored(&source, &[], ElementType::FLOAT16).unwrap();
    let names: Vec<String> =
        ModelScan::read(&written.model.0).unwrap().tensors().map(|tensor| tensor.name.to_owned()).collect();
    assert_eq!(names, ["scalar_float16", "empty_float16", "values", "complex", "text"]);
}

#[test]
fn what_cannot_be_converted() {
    let of = |tensor: Message| model(8, 17, &plain(&[(INITIALIZER, tensor)]));
    let to_string = |_: &str, _: ElementType| Some(ElementType::STRING);
    let error = convert(&of(floats("w", &VALUES)), &[], &ModelRules::new(&to_string, DATA_FILE)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "tensor \"w\": it cannot be stored as string: casts from and to string are not supported"
    );
    let error = stored(&of(floats("", &VALUES)), &[], ElementType::FLOAT16).unwrap_err();
    assert_eq!(error.to_string(), "an initializer of the model has no name");
    let graph = plain(&[(INITIALIZER, floats("w", &VALUES))]);
    let unknown = format!("the model imports opset 99 (supported opsets: 1 to {NEWEST_OPSET})");
    for (import, message) in [
        (message(), "the model imports no opset of the default domain"),
        (
            message().bytes(8, message().bytes(1, "custom").int(2, 1)),
            "the model imports no opset of the default domain",
        ),
        (message().bytes(8, message().int(2, 99)), unknown.as_str()),
        (
            message().bytes(8, message().int(2, 17)).bytes(8, message().bytes(1, "ai.onnx").int(2, 18)),
            "the model: two opsets of the default domain are imported: 17 and 18",
        ),
    ] {
        let source = message.to_owned();
        let model = crate::wire::message().int(1, 8).bytes(7, &graph).raw(&import);
        assert_eq!(stored(&model, &[], ElementType::FLOAT16).unwrap_err().to_string(), source);
    }
    let import = |version: i64| message().bytes(9, message().int(2, version));
    let function = message().bytes(1, "f").raw(import(17)).raw(import(18));
    let error = ModelScan::read(&model(8, 17, &graph).bytes(25, &function).0).unwrap_err();
    assert_eq!(error.to_string(), "function 0: two opsets of the default domain are imported: 17 and 18");
    let training = model(8, 17, &graph).bytes(20, message());
    let error = |source: &Message| ModelScan::read(&source.0).unwrap_err().to_string();
    assert_eq!(error(&training), "models with training_info are not supported");
    assert_eq!(error(&message().int(1, 8)), "the model has no graph");
    let other = of(floats("w", &[1.0]));
    let scan = ModelScan::read(&of(floats("w", &VALUES)).0).unwrap();
    let types = |_: &str, _: ElementType| Some(ElementType::FLOAT16);
    let error = scan.plan(&[&other.0[..20].to_vec()], &ModelRules::new(&types, DATA_FILE)).unwrap_err();
    assert_eq!(error.to_string(), "the model: cannot read: unexpected end of file");
}
