//! Initializers and constants that are parameters of operators.

use wgpu_cast::ElementType;
use wgpu_cast_files::ModelRules;

use super::build::*;

/// A node of `operator` with inputs `0`, `1` and so on, which are all initializers.
fn whole(operator: &str, domain: &str, inputs: &[String]) -> Message {
    let names: Vec<&str> = inputs.iter().map(String::as_str).collect();
    let node = node(operator, &names, &["y"]).bytes(7, domain);
    let initializers = names.iter().map(|name| (INITIALIZER, floats(name, &VALUES)));
    of(&[(NODE, node)].into_iter().chain(initializers).collect::<Vec<_>>())
}

/// The names of the tensors that a conversion to FLOAT16 leaves, and the notes.
fn left(model: &Message) -> (Vec<String>, Vec<String>) {
    let written = stored(model, &[], ElementType::FLOAT16).unwrap();
    let left = written.tensors.into_iter().filter(|tensor| tensor.to.is_none_or(|to| Some(to) == tensor.from));
    (left.map(|tensor| tensor.name).collect(), written.notes)
}

#[test]
fn parameters_of_operators_stay_as_they_are() {
    let com = "com.microsoft";
    let cases: &[(&str, &str, &[&str])] = &[
        ("DequantizeLinear", "", &["1"]),
        ("DequantizeLinear", com, &["1"]),
        ("MelWeightMatrix", "", &["3", "4"]),
        ("NonMaxSuppression", "", &["3", "4"]),
        ("OneHot", "", &["1"]),
        ("QLinearConv", "", &["1", "4", "6"]),
        ("QLinearMatMul", "", &["1", "4", "6"]),
        ("QuantizeLinear", "", &["1"]),
        ("Range", "", &["0", "1", "2"]),
        ("Resize", "", &["1", "2"]),
        ("Upsample", "", &["1"]),
        ("DynamicQuantizeMatMul", com, &["2"]),
        ("MatMulIntegerToFloat", com, &["2", "3"]),
        ("MatMulNBits", com, &["2"]),
        ("QAttention", com, &["3", "4"]),
        ("QGemm", com, &["1", "4", "7"]),
        ("QLinearAdd", com, &["1", "4", "6"]),
        ("QLinearAveragePool", com, &["1", "3"]),
        ("QLinearConcat", com, &["0", "3", "6"]),
        ("QLinearGlobalAveragePool", com, &["1", "3"]),
        ("QLinearLeakyRelu", com, &["1", "3"]),
        ("QLinearMul", com, &["1", "4", "6"]),
        ("QLinearReduceMean", com, &["1", "3"]),
        ("QLinearSigmoid", com, &["1", "3"]),
        ("QLinearSoftmax", com, &["1", "3"]),
        ("QLinearWhere", com, &["2", "5", "7"]),
        ("Conv", "", &[]),
        ("Resize", "custom", &[]),
    ];
    let inputs: Vec<String> = (0..9).map(|index| index.to_string()).collect();
    for &(operator, domain, expected) in cases {
        let (left, notes) = left(&whole(operator, domain, &inputs));
        assert_eq!(left, expected, "{domain} {operator}");
        let names: Vec<_> = expected.iter().map(|name| format!("\"{name}\"")).collect();
        let unit = if names.len() == 1 { "tensor" } else { "tensors" };
        let note = format!(
            "{} {unit} left: parameters of operators, such as scales, which must not be rounded: {}",
            names.len(),
            names.join(", ")
        );
        assert_eq!(notes, if names.is_empty() { vec![] } else { vec![note] }, "{domain} {operator}");
    }
    // A node may have fewer inputs, and an input that is left out has no name.
    assert_eq!(
        left(&of(&[(NODE, node("Resize", &["x", ""], &["y"])), (INITIALIZER, floats("x", &VALUES))])).0,
        [""; 0]
    );
    // A function of the model is no operator.
    let function = message().bytes(1, "QGemm").bytes(10, com);
    assert_eq!(left(&whole("QGemm", com, &inputs).bytes(25, function)).0, [""; 0]);
    // A note names some.
    let nodes = ["a", "b", "c", "d", "e", "f", "g"].map(|name| (NODE, node("Upsample", &["x", name], &[""])));
    let scales = ["a", "b", "c", "d", "e", "f", "g"].map(|name| (INITIALIZER, floats(name, &VALUES)));
    let note = "7 tensors left: parameters of operators, such as scales, which must not be rounded: \"a\", \"b\", \"c\", \
                \"d\", \"e\" and 2 more";
    assert_eq!(left(&of(&[nodes, scales].concat())).1, [note]);
}

/// The scale is an initializer of the outer graph, and a constant beside the node that takes it. Another function may
/// use the name for something else.
#[test]
fn parameters_of_nested_graphs_and_functions() {
    let constant =
        |name: &str| node("Constant", &[], &[name]).bytes(5, tensor_attribute("value", &floats("", &VALUES)));
    let resize = |scales: &str| node("Resize", &["x", "", scales], &["y"]);
    let inner = graph(&[(NODE, constant("inner")), (NODE, resize("inner")), (NODE, resize("outer"))]);
    let branch = node("If", &["c"], &["z"]).bytes(5, graph_attribute("then_branch", &inner));
    let main = of(&[(NODE, branch), (INITIALIZER, floats("outer", &VALUES)), (INITIALIZER, floats("w", &VALUES))]);
    let function = |name: &str, nodes: &[Message]| {
        let named = message().bytes(1, name).bytes(10, "custom");
        nodes.iter().fold(named, |function, node| function.bytes(7, node)).bytes(9, message().int(2, 17))
    };
    let source = main
        .bytes(25, function("f", &[constant("w"), resize("w")]))
        .bytes(25, function("g", &[constant("outer"), node("Add", &["x", "outer"], &["y"])]));
    let note = "3 tensors left: parameters of operators, such as scales, which must not be rounded: \"outer\", \
                \"inner\", \"w\"";
    let written = stored(&source, &[], ElementType::FLOAT16).unwrap();
    assert_eq!(written.notes, [note]);
    let half = Some(ElementType::FLOAT16);
    let found: Vec<_> = written.tensors.iter().map(|t| (t.name.as_str(), t.to == half)).collect();
    assert_eq!(found, [("outer", false), ("w", true), ("inner", false), ("w", false), ("outer", true)]);
}

#[test]
fn parameters_are_cast_if_the_rules_say_so() {
    let with = |front: &[(u64, Message)], s: Message| {
        let nodes =
            [(NODE, node("DequantizeLinear", &["x", "s"], &["h"])), (NODE, node("Upsample", &["h", "t"], &["y"]))];
        of(&[front, &nodes, &[(INITIALIZER, s), (INITIALIZER, floats("t", &VALUES))]].concat())
    };
    let types = |_: &str, _: ElementType| Some(ElementType::FLOAT16);
    let casts_parameter = |name: &str| name == "s";
    let mut rules = ModelRules::new(&types, DATA_FILE);
    rules.casts_parameter = &casts_parameter;
    let written = convert(&with(&[], floats("s", &VALUES)), &[], &rules).unwrap();
    let cast_back = [(NODE, cast("s_float16", "s", FLOAT))];
    assert_model(&written.model, &with(&cast_back, raw("s_float16", FLOAT16, &[2], &float16())));
    let note = "1 tensor left: parameters of operators, such as scales, which must not be rounded: \"t\"";
    assert_eq!(written.notes, [note]);
}
