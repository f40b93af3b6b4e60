//! Models that are wrong: typed errors that name the element, no panic, and no memory that the bytes do not justify.

use wgpu_cast::ElementType;
use wgpu_cast_files::{FileCause, GraphRules, ModelRules, ModelScan};

use super::build::*;

fn error(source: &Message) -> String {
    ModelScan::read(&source.0).unwrap_err().to_string()
}

fn tensor_fault(tensor: Message) -> String {
    match ModelScan::read(&of(&[(INITIALIZER, tensor)]).0) {
        Err(error) if error.tensor() == Some("w") => error.cause().to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn messages_that_are_none() {
    assert_eq!(error(&message().raw([0xff])), "the model: the field at byte 0 ends beyond its message");
    assert_eq!(error(&message().int(7, 1)), "the model: the field 7 has an unexpected wire type");
    assert_eq!(error(&message().raw([7 << 3 | 2, 0x7f])), "the model: the field at byte 0 ends beyond its message");
    assert_eq!(error(&of(&[]).bytes(7, graph(&[]))), "the model: the field 7 is given twice");
    assert_eq!(
        error(&of(&[(NODE, message().raw([0x0a]))])),
        "node 0 of the graph: the field at byte 9 ends beyond its message"
    );
    let second = [(NODE, node("A", &[], &[])), (NODE, message().bytes(1, [0xff]))];
    assert_eq!(error(&of(&second)), "node 1 of the graph: the field 1 is not valid UTF-8");
    let deep = node("A", &[], &[]).bytes(5, message().bytes(1, "a").bytes(6, graph(&[(INPUT, message().int(2, 1))])));
    assert_eq!(
        error(&of(&[(NODE, deep)])),
        "a value of the graph of attribute 0 of node 0 of the graph: the field 2 has an unexpected wire type"
    );
    let twice = message().bytes(1, "a").bytes(5, head("w", FLOAT, &[0])).bytes(5, head("w", FLOAT, &[0]));
    assert_eq!(
        error(&of(&[(NODE, node("A", &[], &[]).bytes(5, twice))])),
        "attribute 0 of node 0 of the graph: the field 5 is given twice"
    );
    let same = [(INITIALIZER, floats("w", &[1.0])), (INITIALIZER, floats("w", &[1.0]))];
    assert_eq!(error(&of(&same)), "the initializer \"w\" is defined twice");
    let long = "x".repeat((1 << 20) + 1);
    assert!(error(&of(&[(NODE, node(&long, &[], &[]))])).ends_with("has 1048577 bytes, the limit is 1048576"));
}

#[test]
fn graphs_may_be_nested_32_deep() {
    let nested = |depth| {
        (1..depth)
            .fold(graph(&[]), |inner, _| graph(&[(NODE, node("A", &[], &[]).bytes(5, graph_attribute("g", &inner)))]))
    };
    assert!(ModelScan::read(&model(8, 17, &nested(32)).0).is_ok());
    for depth in [33, 500] {
        let error = ModelScan::read(&model(8, 17, &nested(depth)).0).unwrap_err();
        assert!(matches!(error.cause(), FileCause::Unsupported(_)), "{error:?}");
        assert_eq!(error.cause().to_string(), "graphs are nested more than 32 deep");
    }
}

#[test]
fn tensors_that_are_none() {
    let float = |dims: &[i64]| head("w", FLOAT, dims);
    assert_eq!(tensor_fault(float(&[2, -1])), "dimension 1 is negative: -1");
    assert_eq!(tensor_fault(float(&[2])), "float_data: expected 2 entries from dims and data_type, got 0");
    assert_eq!(
        tensor_fault(float(&[2]).bytes(RAW_DATA, [0; 7])),
        "raw_data: expected 8 bytes from dims and data_type, got 7"
    );
    let huge = [1 << 40, 1 << 40];
    assert_eq!(
        tensor_fault(float(&huge)),
        format!("dims {dims:?} are too large: the tensor's size overflows", dims = huge.to_vec())
    );
    let huge = [1 << 62];
    assert_eq!(
        tensor_fault(float(&huge)),
        format!("dims {dims:?} are too large: the tensor's size overflows", dims = huge.to_vec())
    );
    assert_eq!(tensor_fault(float(&[1]).bytes(SEGMENT, "")), "tensor segments are not supported");
    let both = float(&[1]).bytes(RAW_DATA, [0; 4]).bytes(FLOAT_DATA, [0; 4]);
    assert_eq!(tensor_fault(both), "both raw_data and float_data contain data");
    let external =
        float(&[1]).int(DATA_LOCATION, 1).bytes(RAW_DATA, [0; 4]).bytes(EXTERNAL_DATA, entry("location", "a"));
    assert_eq!(tensor_fault(external), "both external_data and raw_data contain data");
    assert_eq!(
        tensor_fault(float(&[1]).int(DATA_LOCATION, 2)),
        "data_location is 2, expected 0 (DEFAULT) without external_data or 1 (EXTERNAL) with it"
    );
    let wrong = head("w", FLOAT16, &[1]).bytes(FLOAT_DATA, [0; 4]);
    let expected = "float_data cannot contain data of float16";
    assert_eq!(tensor_fault(wrong), expected);
    let wrong = |field, element_type| format!("{field} cannot contain data of {element_type}");
    assert_eq!(tensor_fault(head("w", 8, &[1]).bytes(RAW_DATA, [0; 4])), wrong("raw_data", ElementType::STRING));
    let integers = head("w", INT64, &[1]).bytes(DOUBLE_DATA, [0; 8]);
    assert_eq!(tensor_fault(integers), wrong("double_data", ElementType::INT64));
    for (field, second) in [
        (INT32_DATA, "int32_data"),
        (STRING_DATA, "string_data"),
        (INT64_DATA, "int64_data"),
        (DOUBLE_DATA, "double_data"),
        (UINT64_DATA, "uint64_data"),
    ] {
        let both = float(&[1]).bytes(RAW_DATA, [0; 4]).bytes(field, [0; 8]);
        assert_eq!(tensor_fault(both), format!("both raw_data and {second} contain data"));
    }
    let of_tensor = |tensor| error(&of(&[(INITIALIZER, tensor)]));
    let twice = floats("w", &[1.0]).bytes(RAW_DATA, [0; 4]);
    assert_eq!(of_tensor(twice), "initializer 0 of the graph: invalid TensorProto: the field 9 is given twice");
    let number = float(&[0]).int(RAW_DATA, 1);
    assert_eq!(
        of_tensor(number),
        "initializer 0 of the graph: invalid TensorProto: the field 9 has an unexpected wire type"
    );
    let ranks = |rank: usize| ModelScan::read(&of(&[(INITIALIZER, floats("w", &[1.0]).ints(DIMS, &vec![1; rank]))]).0);
    assert!(ranks(63).is_ok());
    for rank in [64, 1_000_000] {
        let error = ranks(rank).unwrap_err().to_string();
        assert_eq!(error, format!("tensor \"w\": dims has {} dimensions, the limit is 64", rank + 1));
    }
    // Writers put the dims before the name.
    let dims = [1; 65];
    for start in [message().packed(DIMS, &dims), message().ints(DIMS, &dims)] {
        let fault = tensor_fault(start.int(DATA_TYPE, FLOAT.into()).bytes(NAME, "w").bytes(RAW_DATA, [0; 4]));
        assert_eq!(fault, "dims has 65 dimensions, the limit is 64");
    }
    // What only decoding finds out.
    let source = of(&[(INITIALIZER, head("w", FLOAT, &[2]).fixed32(FLOAT_DATA, 0))]);
    let error = stored(&source, &[], ElementType::FLOAT16).unwrap_err();
    let expected = "tensor \"w\": float_data: expected 2 entries from dims and data_type, got 1";
    assert_eq!(error.to_string(), expected);
    let source = of(&[(INITIALIZER, head("w", FLOAT16, &[1]).bytes(INT32_DATA, [0x80]))]);
    let error = convert(&source, &[], &ModelRules::new(&|_, _| Some(ElementType::FLOAT), DATA_FILE)).unwrap_err();
    assert_eq!(error.to_string(), "tensor \"w\": the field at byte 18 has an invalid varint");
}

/// Two bytes for each node: an empty one takes more memory than bytes in the file, but not without bound.
#[test]
fn memory_is_bounded() {
    let many = |count: usize| model(8, 17, &message().raw([0x0a, 0x00].repeat(count)));
    let source = many(1 << 16);
    let info = allocation_counter::measure(|| assert!(ModelScan::read(&source.0).is_ok()));
    assert!(info.bytes_max < 32 << 20, "{info:?}");
    // Names take the memory of their bytes.
    let nodes: Vec<_> = (0..100_000).map(|index| (NODE, node("A", &[], &[&format!("{index:064}")]))).collect();
    assert!(ModelScan::read(&of(&nodes).0).is_ok());
    let source = many(1 << 23);
    let info = allocation_counter::measure(|| {
        let error = ModelScan::read(&source.0).unwrap_err();
        let expected = "the model's structure without its tensors takes more than 536870912 bytes of memory";
        assert_eq!(error.to_string(), expected);
    });
    assert!(info.bytes_max < 2 << 30, "{info:?}");
}

/// A valid model of which each byte is replaced in turn, and which is cut at each byte.
#[test]
fn damaged_models_are_errors_or_other_models() {
    let body =
        graph(&[(NODE, node("Neg", &["w"], &["t"])), (INITIALIZER, floats("v", &[1.0])), (OUTPUT, value("t", FLOAT))]);
    let choice = node("If", &["c"], &["y"]).bytes(5, graph_attribute("then_branch", &body));
    let external = head("e", FLOAT, &[1]).bytes(EXTERNAL_DATA, entry("location", "a")).int(DATA_LOCATION, 1);
    let source = of(&[
        (NODE, choice),
        (NODE, node("Constant", &[], &["k"]).bytes(5, tensor_attribute("value", &floats("", &[1.0])))),
        (INITIALIZER, floats("w", &[1.0, 2.0])),
        (INITIALIZER, head("d", FLOAT, &[1]).fixed32(FLOAT_DATA, 5)),
        (INITIALIZER, external),
        (INPUT, value("c", 9)),
        (OUTPUT, value("y", FLOAT)),
    ]);
    assert!(stored(&source, &[&[0; 4]], ElementType::FLOAT16).is_ok());
    let (mut converted, mut refused) = (0, 0);
    let types = |_: &str, from: ElementType| (from == ElementType::FLOAT).then_some(ElementType::FLOAT16);
    let mut graph = ModelRules::new(&types, DATA_FILE);
    graph.graph = Some(GraphRules::new(ElementType::FLOAT, ElementType::FLOAT16));
    let mut count = |model: &Message| {
        for rules in [ModelRules::new(&types, DATA_FILE), graph] {
            match convert(model, &[&[0; 4]], &rules) {
                Ok(written) => {
                    assert!(ModelScan::read(&written.model.0).is_ok());
                    converted += 1;
                }
                Err(_) => refused += 1,
            }
        }
    };
    for at in 0..source.0.len() {
        count(&Message(source.0[..at].to_vec()));
        for byte in [0, 1, 0x7f, 0x80, 0xff, source.0[at] ^ 1, source.0[at] ^ 8, source.0[at].wrapping_add(1)] {
            let mut damaged = source.clone();
            damaged.0[at] = byte;
            count(&damaged);
        }
    }
    assert!(converted > 100 && refused > 100, "{converted} {refused}");
}

/// Fields of two bytes each, of which the output would copy every other one.
#[test]
fn memory_does_not_follow_the_number_of_fields_of_a_tensor() {
    let whole = |fields: &[u8]| of(&[(INITIALIZER, floats("w", &[1.0]).raw(fields.repeat(1 << 20)))]);
    let doc = [0x62, 0];
    let source = whole(&doc);
    let types = |_: &str, _: ElementType| Some(ElementType::FLOAT16);
    let info = allocation_counter::measure(|| {
        let scan = ModelScan::read(&source.0).unwrap();
        scan.plan(&[&source.0], &ModelRules::new(&types, DATA_FILE)).unwrap();
    });
    assert!(info.bytes_max < 1 << 20, "{info:?}");
    for (field, message) in [
        ([0x2a, 0], "the data lies in more than 64 places between other fields"),
        ([0x70, 0], "initializer 0 of the graph: invalid TensorProto: the field 14 is given twice"),
        ([0x10, 1], "initializer 0 of the graph: invalid TensorProto: the field 2 is given twice"),
        ([0x42, 0], "initializer 0 of the graph: invalid TensorProto: the field 8 is given twice"),
    ] {
        let source = whole(&[doc, field].concat());
        let info = allocation_counter::measure(|| {
            let found = error(&source);
            assert!(found.contains(message), "{found}");
        });
        assert!(info.bytes_max < 1 << 20, "{info:?}");
    }
}

#[test]
fn scalars_are_given_once() {
    let kind = |fields: Message| message().bytes(1, "x").bytes(2, message().bytes(1, fields));
    let twice = [value("x", FLOAT).bytes(1, "x"), kind(message().int(1, 1).int(1, 1))];
    for (source, field) in twice.into_iter().zip([1, 1]) {
        assert_eq!(error(&of(&[(INPUT, source)])), format!("a value of the graph: the field {field} is given twice"));
    }
    let types = value("x", FLOAT).bytes(2, "");
    assert_eq!(error(&of(&[(INPUT, types)])), "a value of the graph: the field 2 is given twice");
    let of_node = |attribute: Message| error(&of(&[(NODE, node("A", &[], &[]).bytes(5, attribute))]));
    let graphs = graph_attribute("g", &graph(&[])).bytes(6, graph(&[]));
    assert_eq!(of_node(graphs), "attribute 0 of node 0 of the graph: the field 6 is given twice");
    let float = message().bytes(1, "value_float").bytes(2, [0; 8]);
    assert_eq!(of_node(float), "attribute 0 of node 0 of the graph: the field 2 has an unexpected wire type");
}

#[test]
fn values_in_typed_fields_are_limited() {
    let large = vec![1; (64 << 20) + 1];
    let types = |name: &str, _: ElementType| (name == "w").then_some(ElementType::INT8);
    let (rules, count) = (ModelRules::new(&types, DATA_FILE), large.len() as i64);
    let typed = of(&[(INITIALIZER, head("w", INT64, &[count]).bytes(INT64_DATA, &large))]);
    let error = convert(&typed, &[], &rules).unwrap_err();
    let expected = "tensor \"w\": more than 67108864 bytes of the model's values are in typed fields, which are decoded \
        in memory; store them in raw_data";
    assert_eq!(error.to_string(), expected);
    // Only such values count.
    let small = head("w", INT64, &[1]).int(INT64_DATA, 5);
    let packed = raw("r", 2, &[count], &large);
    assert!(convert(&of(&[(INITIALIZER, packed), (INITIALIZER, small)]), &[], &rules).is_ok());
}
