//! One table of messages that no reader takes, given to every public entry: single tensors read and converted, models of
//! casts, and models that are converted.

use wgpu_cast_files::onnx::{Model, NamedTensor};
use wgpu_cast_files::{ModelScan, TensorMessage};

use crate::models::{attribute, graph, input, int, node, opset_import, output};
use crate::wire::*;
use wgpu_cast::ElementType::FLOAT;

/// What each entry says of a message; `None` if it takes it.
fn errors(tensor: &Message) -> [Option<String>; 6] {
    let initializer = model_of(&[message().bytes(5, tensor)]);
    let constant = node("Constant", &[], &["k"]).with(attribute("value", 4).bytes(5, tensor));
    let constant = model_of(&[constant.part()]);
    let [in_initializer, in_constant] = [&initializer, &constant].map(errors_of_model);
    let [of_casts, converted] = in_initializer;
    let [of_constant, converted_constant] = in_constant;
    let alone = NamedTensor::from_bytes(tensor.0.clone(), None).err().map(|error| error.to_string());
    let planned = TensorMessage::read(&tensor.0).err().map(|error| error.to_string());
    [alone, planned, of_casts, of_constant, converted, converted_constant]
}

fn errors_of_model(model: &Message) -> [Option<String>; 2] {
    let of_casts = Model::from_bytes(&model.0, None).err().map(|error| error.to_string());
    [of_casts, ModelScan::read(&model.0).err().map(|error| error.to_string())]
}

/// A model of these parts, with an input that is an output.
fn model_of(parts: &[Message]) -> Message {
    let ends = [input("x", FLOAT), output("x", FLOAT)];
    message().int(1, 8).raw(opset_import("", 25)).raw(graph(&[&ends[..], parts].concat()))
}

/// The texts of all entries for a tensor that is no message of its kind.
fn invalid(what: &str) -> [Option<String>; 6] {
    [
        format!("invalid TensorProto: {what}"),
        format!("invalid TensorProto: {what}"),
        format!("invalid TensorProto: {what}"),
        format!("node \"k\": invalid TensorProto: {what}"),
        format!("initializer 0 of the graph: invalid TensorProto: {what}"),
        format!("the tensor of attribute 0 of node 0 of the graph: invalid TensorProto: {what}"),
    ]
    .map(Some)
}

/// The same for one whose fields do not belong together.
fn faulty(what: &str) -> [Option<String>; 6] {
    let text = format!("tensor \"t\": {what}");
    [text.clone(), text.clone(), text.clone(), format!("node \"k\": {text}"), text.clone(), text].map(Some)
}

#[test]
fn a_field_of_a_tensor_of_which_there_can_be_one() {
    let whole = || tensor(1, &[1]).bytes(RAW_DATA, [0; 4]);
    assert_eq!(errors(&whole()), [const { None }; 6]);
    for (more, field) in [
        (message().int(DATA_TYPE, 1), DATA_TYPE),
        (message().bytes(SEGMENT, "").bytes(SEGMENT, ""), SEGMENT),
        (message().bytes(NAME, "t"), NAME),
        (message().bytes(NAME, ""), NAME),
        (message().bytes(RAW_DATA, [0; 4]), RAW_DATA),
        (message().bytes(RAW_DATA, ""), RAW_DATA),
        (message().int(DATA_LOCATION, 0).int(DATA_LOCATION, 0), DATA_LOCATION),
    ] {
        assert_eq!(errors(&whole().raw(more)), invalid(&format!("the field {field} is given twice")), "{field}");
    }
    // Whichever comes first, and whatever is between.
    let apart = message().bytes(RAW_DATA, [0; 4]).raw(tensor(1, &[1])).bytes(12, "text").bytes(RAW_DATA, [0; 4]);
    assert_eq!(errors(&apart), invalid("the field 9 is given twice"));
}

#[test]
fn an_entry_of_external_data() {
    let external = |entries: Message| tensor(1, &[1]).int(DATA_LOCATION, 1).raw(entries);
    let at = || message().bytes(EXTERNAL_DATA, entry("location", "x"));
    let twice = |key: &str, value: &str| {
        let entry = message().bytes(EXTERNAL_DATA, entry(key, value));
        external(at().raw(entry.clone()).raw(entry))
    };
    for (key, value) in [("offset", "0"), ("length", "4"), ("checksum", "c")] {
        let what = format!("external_data has a second {key}, {value:?}");
        assert_eq!(errors(&twice(key, value)), faulty(&what));
    }
    assert_eq!(errors(&external(at().raw(at()))), faulty("external_data has a second location, \"x\""));
    let no_key = "external_data has an entry without a valid key";
    for field in [1, 2] {
        let entry = message().bytes(EXTERNAL_DATA, entry("location", "x").bytes(field, "x"));
        assert_eq!(errors(&external(entry)), faulty(no_key));
    }
}

#[test]
fn fields_of_other_types_and_groups() {
    for (wrong, field) in [
        (message().fixed32(DIMS, 1), DIMS),
        (message().bytes(DATA_TYPE, ""), DATA_TYPE),
        (message().int(SEGMENT, 1), SEGMENT),
        (message().int(FLOAT_DATA, 1), FLOAT_DATA),
        (message().fixed64(INT32_DATA, 1), INT32_DATA),
        (message().int(STRING_DATA, 1), STRING_DATA),
        (message().fixed32(INT64_DATA, 1), INT64_DATA),
        (message().int(NAME, 1), NAME),
        (message().int(RAW_DATA, 1), RAW_DATA),
        (message().fixed32(DOUBLE_DATA, 1), DOUBLE_DATA),
        (message().fixed64(UINT64_DATA, 1), UINT64_DATA),
        (message().int(EXTERNAL_DATA, 1), EXTERNAL_DATA),
        (message().fixed32(DATA_LOCATION, 1), DATA_LOCATION),
    ] {
        assert_eq!(errors(&wrong), invalid(&format!("the field {field} has an unexpected wire type")));
    }
    // The offset is that in the file.
    let group = [0xb3, 0x0c, 0xb4, 0x0c];
    let offsets = errors(&message().raw(group)).map(|text| text.unwrap_or_default());
    assert!(offsets.iter().all(|text| text.ends_with(" has the invalid key 1587")), "{offsets:?}");
    // Packed numbers that are not whole.
    for (field, length) in [(FLOAT_DATA, 6), (DOUBLE_DATA, 12)] {
        let texts = errors(&tensor(1, &[1]).bytes(field, vec![0; length])).map(|text| text.unwrap_or_default());
        assert!(texts.iter().all(|text| text.ends_with(" ends beyond its message")), "{texts:?}");
    }
    let utf8 = errors(
        &tensor(1, &[0]).raw(message()).0.strip_suffix(b"t").map(|start| Message([start, b"\xff"].concat())).unwrap(),
    );
    assert_eq!(utf8, invalid("the field 8 is not valid UTF-8"));
}

/// Tensors that only some readers refused once.
#[test]
fn what_is_wrong_with_one_reader_is_wrong_with_all() {
    let places: Vec<_> = (0..65).map(|_| message().bytes(12, "").bytes(INT64_DATA, "")).collect();
    let places = places.into_iter().fold(message(), Message::raw);
    for (message, what) in [
        (tensor(1, &[2]), "float_data: expected 2 entries from dims and data_type, got 0"),
        (tensor(8, &[2]), "string_data: expected 2 entries from dims and data_type, got 0"),
        (tensor(1, &[1]).int(INT32_DATA, 0), "int32_data cannot contain data of float"),
        (tensor(1, &[2]).bytes(FLOAT_DATA, [0; 4]), "float_data: expected 2 entries from dims and data_type, got 1"),
        (tensor(1, &[0]).raw(places), "the data lies in more than 64 places between other fields"),
        (
            tensor(1, &[1]).int(DATA_LOCATION, 1).bytes(EXTERNAL_DATA, entry("location", "../x")),
            "external_data location \"../x\" is not a relative path inside the model's folder",
        ),
        (
            tensor(8, &[1]).int(DATA_LOCATION, 1).bytes(EXTERNAL_DATA, entry("location", "x")),
            "external_data cannot contain data of string",
        ),
    ] {
        assert_eq!(errors(&message), faulty(what));
    }
}

/// Messages of a model: what both readers say.
#[test]
fn a_field_of_a_model_of_which_there_can_be_one() {
    let twice = |what: &str, field: u64, element: &str| {
        let text = format!("the field {field} is given twice");
        [Some(format!("{what}: {text}")), Some(format!("{element}: {text}"))]
    };
    let whole = || model_of(&[]);
    for (field, more) in [(1, message().int(1, 8)), (2, message().bytes(2, "p").bytes(2, "p")), (7, graph(&[]))] {
        let expected = twice("invalid ModelProto", field, "the model");
        assert_eq!(errors_of_model(&whole().raw(more)), expected);
    }
    for (field, more) in [(1, message().bytes(1, "").bytes(1, "")), (2, message().int(2, 25).int(2, 25))] {
        let expected = twice("invalid OperatorSetIdProto", field, "an opset_import of the model");
        assert_eq!(errors_of_model(&whole().bytes(8, more)), expected);
    }
    for field in [1, 10] {
        let function = message().bytes(25, message().bytes(field, "f").bytes(field, "f"));
        let expected = twice("invalid FunctionProto", field, "function 0");
        assert_eq!(errors_of_model(&whole().raw(function)), expected);
    }
    let named = message().bytes(2, "g").bytes(2, "g");
    assert_eq!(errors_of_model(&model_of(&[named])), twice("invalid GraphProto", 2, "the graph"));
    let cast = || node("Cast", &["x"], &["y"]).named("n").bytes(7, "");
    for (field, value) in [(3, "n"), (4, "Cast"), (7, "")] {
        let node = cast().with(int("to", 10)).bytes(field, value).part();
        assert_eq!(errors_of_model(&model_of(&[node])), twice("invalid NodeProto", field, "node 0 of the graph"));
    }
    let every = || int("to", 10).fixed32(2, 0).bytes(4, "").bytes(5, tensor(1, &[0])).bytes(6, "").bytes(21, "");
    for (field, more) in [
        (1, message().bytes(1, "to")),
        (2, message().fixed32(2, 0)),
        (3, message().int(3, 10)),
        (4, message().bytes(4, "")),
        (5, message().bytes(5, tensor(1, &[0]))),
        (6, message().bytes(6, "")),
        (20, message().int(20, 2)),
        (21, message().bytes(21, "")),
        (22, message().bytes(22, "").bytes(22, "")),
    ] {
        let node = cast().with(every().raw(more)).part();
        let of_attribute = "node \"n\": invalid AttributeProto";
        let expected = twice(of_attribute, field, "attribute 0 of node 0 of the graph");
        assert_eq!(errors_of_model(&model_of(&[node])), expected);
    }
    let typed = |content: Message| message().bytes(1, "v").bytes(2, content);
    let of_tensor = |content: Message| typed(message().bytes(1, content));
    let sequence = message().bytes(4, "");
    for (field, info) in [
        (1, of_tensor(message().int(1, 1)).bytes(1, "v")),
        (2, of_tensor(message().int(1, 1)).bytes(2, "")),
        (1, typed(message().bytes(1, message().int(1, 1)).bytes(1, message().int(1, 1)))),
        (1, of_tensor(message().int(1, 1).int(1, 1))),
        (2, of_tensor(message().int(1, 1).bytes(2, "").bytes(2, ""))),
        // One of several fields says what a value is.
        (4, typed(message().bytes(1, message().int(1, 1)).raw(sequence.clone()))),
        (1, typed(sequence.clone().bytes(1, message().int(1, 1)))),
        (4, typed(sequence.clone().raw(sequence))),
    ] {
        for place in [11, 12] {
            let part = message().bytes(place, info.clone());
            let expected = twice("invalid ValueInfoProto", field, "a value of the graph");
            assert_eq!(errors_of_model(&model_of(&[part])), expected);
        }
    }
}
