//! The rows of reports: which tensors there are, what becomes of them, and to which of them each cast belongs.

use wgpu_cast::ElementType;
use wgpu_cast_files::PlannedTensor;

use super::build::*;

const BOOL: i32 = 9;

/// The name, the shape, and both types.
type Row<'a> = (&'a str, &'a [u64], Option<ElementType>, Option<ElementType>);

fn rows(written: &Written) -> Vec<Row<'_>> {
    let row = |tensor| {
        let PlannedTensor { name, shape, from, to, .. }: &PlannedTensor = tensor;
        (name.as_str(), shape.as_slice(), *from, *to)
    };
    written.tensors.iter().map(row).collect()
}

const FROM: Option<ElementType> = Some(ElementType::FLOAT);
const TO: Option<ElementType> = Some(ElementType::FLOAT16);

#[test]
fn initializers_of_one_name_have_a_row_each() {
    let branch = |w: Message, code: i32| {
        graph(&[(NODE, node("Identity", &["w"], &["t"])), (INITIALIZER, w), (OUTPUT, value("t", code))])
    };
    let first = branch(raw("w", INT64, &[1], &[0; 8]), INT64);
    let choice = node("If", &["c"], &["y"]).bytes(5, graph_attribute("then_branch", &first));
    let choice = choice.bytes(5, graph_attribute("else_branch", &branch(floats("w", &VALUES), FLOAT)));
    let written = stored(&of(&[(NODE, choice), (INPUT, value("c", BOOL))]), &[], ElementType::FLOAT16).unwrap();
    assert_eq!(rows(&written), [("w", &[1][..], Some(ElementType::INT64), None), ("w", &[2], FROM, TO)]);
    assert_eq!(written.rows, [vec![1], vec![]]);
}

#[test]
fn initializers_without_a_part_of_their_own_are_cast_too() {
    let external = |name: &str| {
        let tensor = head(name, FLOAT, &[2]).bytes(EXTERNAL_DATA, entry("location", "a"));
        (INITIALIZER, tensor.int(DATA_LOCATION, 1))
    };
    let fields = [
        (INITIALIZER, head("empty", FLOAT, &[1 << 40, 1 << 40, 0])),
        external("first"),
        (INITIALIZER, raw("complex", 14, &[1], &[0; 8])),
        external("second"),
        (INITIALIZER, floats("last", &[1.0])),
    ];
    let written = stored(&of(&fields), &[&float_bytes(&VALUES)], ElementType::FLOAT16).unwrap();
    let expected = [
        ("empty", &[1 << 40, 1 << 40, 0][..], FROM, TO),
        ("first", &[2], FROM, TO),
        ("complex", &[1], None, None),
        ("second", &[2], FROM, TO),
        ("last", &[1], FROM, TO),
    ];
    assert_eq!(rows(&written), expected);
    assert_eq!(written.rows, [vec![4], vec![1]]);
    assert_eq!(written.tensors.iter().map(|tensor| tensor.elements).collect::<Vec<_>>(), [0, 2, 1, 2, 1]);
}

/// They have rows behind the initializers, then come tensors of other nodes that a conversion of the graph casts.
#[test]
fn constants_have_rows() {
    let constant = |name: &str, attribute: Message| (NODE, node("Constant", &[], &[name]).bytes(5, attribute));
    let list = message().bytes(1, "value_floats").bytes(7, float_bytes(&VALUES)).int(20, 6);
    let float = message().bytes(1, "value_float").fixed32(2, 1).int(20, 1);
    let of_shape = node("ConstantOfShape", &["n"], &["o"]).bytes(5, tensor_attribute("value", &floats("", &[1.0])));
    let fields = [
        constant("t", tensor_attribute("value", &floats("", &VALUES))),
        constant("n", tensor_attribute("value", &raw("", INT64, &[1], &[0; 8]))),
        constant("l", list),
        constant("zero", message().bytes(1, "value_float").int(20, 1)),
        (NODE, node("Constant", &[], &["f"]).bytes(3, "named").bytes(5, float)),
        (NODE, of_shape.bytes(3, "filled")),
        (INITIALIZER, raw("n0", INT64, &[1], &[0; 8])),
        (INITIALIZER, floats("w", &VALUES)),
    ];
    let written = to_float16(&of(&fields), as_they_are);
    let expected = [
        ("n0", &[1][..], Some(ElementType::INT64), None),
        ("w", &[2], FROM, TO),
        ("t", &[2], FROM, TO),
        ("n", &[1], Some(ElementType::INT64), None),
        ("l", &[2], FROM, TO),
        ("zero", &[], FROM, TO),
        ("f", &[], FROM, TO),
        ("filled", &[1], FROM, TO),
    ];
    assert_eq!(rows(&written), expected);
    assert_eq!(written.rows, [vec![2, 4, 6, 7, 1], vec![]]);
}

/// Rounding one of these changes more than itself, so the caller is told.
#[test]
fn rows_tell_which_tensors_are_parameters() {
    let scale = node("Constant", &[], &["scale"]).bytes(5, tensor_attribute("value", &floats("", &[0.5])));
    let body = graph(&[
        (NODE, node("DequantizeLinear", &["q", "outer"], &["t"])),
        (INITIALIZER, raw("q", INT64, &[1], &[0; 8])),
        (INITIALIZER, floats("weight", &VALUES)),
        (OUTPUT, value("t", FLOAT)),
    ]);
    let choice = node("If", &["c"], &["y"]).bytes(5, graph_attribute("then_branch", &body));
    let fields = [
        (NODE, scale),
        (NODE, node("QuantizeLinear", &["weight", "scale"], &["z"])),
        (NODE, choice),
        (INPUT, value("c", BOOL)),
        (INITIALIZER, floats("outer", &[0.25])),
        (INITIALIZER, floats("weight", &VALUES)),
    ];
    let written = stored(&of(&fields), &[], ElementType::FLOAT16).unwrap();
    let told: Vec<_> = written.tensors.iter().map(|tensor| (tensor.name.as_str(), tensor.is_parameter)).collect();
    assert_eq!(told, [("outer", true), ("weight", false), ("q", false), ("weight", false), ("scale", true)]);
}
