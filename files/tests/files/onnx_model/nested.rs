//! Nested graphs from one float type to another.

use wgpu_cast::ElementType;

use super::build::*;

const BOOL: i32 = 9;

fn with_graphs(node: Message, graphs: &[(&str, &Message)]) -> Message {
    graphs.iter().fold(node, |node, (name, graph)| node.bytes(5, graph_attribute(name, graph)))
}

/// A `ValueInfoProto` without a type.
fn untyped(name: &str) -> Message {
    message().bytes(1, name)
}

#[test]
fn branches_use_values_of_the_graph_around_them() {
    let branch = |x: &str, w: Message, code: i32| {
        graph(&[(NODE, node("Mul", &[x, "w"], &["t"])), (INITIALIZER, w), (OUTPUT, value("t", code))])
    };
    let other =
        |x: &str, code: i32| graph(&[(NODE, node("TfIdfVectorizer", &["n"], &["u"])), (OUTPUT, value(x, code))]);
    let kept = graph(&[
        (NODE, node("TfIdfVectorizer", &["n"], &["u_float"])),
        (OUTPUT, value("u", FLOAT16)),
        (NODE, cast("u_float", "u", FLOAT16)),
    ]);
    let whole = |casts: &[Message], first: &Message, second: &Message, code: i32, y: &str| {
        let choice = with_graphs(node("If", &["c"], &[y]), &[("then_branch", first), ("else_branch", second)]);
        let mut fields: Vec<_> = casts.iter().map(|cast| (NODE, cast.clone())).collect();
        fields.push((NODE, choice));
        fields.extend([(INPUT, value("x", code)), (INPUT, value("n", INT64)), (INPUT, value("c", BOOL))]);
        fields.push((OUTPUT, value("y", code)));
        fields
    };
    let w = || floats("w", &[0.5]);
    let half = || raw("w", FLOAT16, &[1], &codes(&[0.5], ElementType::FLOAT16));
    let source = of(&whole(&[], &branch("x", w(), FLOAT), &other("u", FLOAT), FLOAT, "y"));
    let expected = of(&whole(&[], &branch("x", half(), FLOAT16), &kept, FLOAT16, "y"));
    assert_model(&to_float16(&source, as_they_are).model, &expected);
    // The cast of the input is in the outer graph.
    let mut fields =
        whole(&[cast("x", "x_float16", FLOAT16)], &branch("x_float16", half(), FLOAT16), &kept, FLOAT, "y_float16");
    fields.push((NODE, cast("y_float16", "y", FLOAT)));
    assert_model(&to_float16(&source, keep_io_types).model, &of(&fields));
}

#[test]
fn an_output_of_a_branch_may_be_a_value_around_it() {
    let passes = |name: &str, code: i32| graph(&[(OUTPUT, value(name, code))]);
    let of = |first: &Message, second: &Message, casts: &[Message]| {
        let choice = with_graphs(node("If", &["c"], &["y"]), &[("then_branch", first), ("else_branch", second)]);
        let mut fields = vec![(NODE, node("TfIdfVectorizer", &["n"], &["u"]))];
        fields.extend(casts.iter().map(|cast| (NODE, cast.clone())));
        fields.extend([(NODE, choice), (INPUT, value("n", INT64)), (INPUT, value("c", BOOL))]);
        of(&fields)
    };
    let source = of(&passes("u", FLOAT), &passes("u", FLOAT), &[]);
    let branch = passes("u_float16", FLOAT16);
    assert_model(&to_float16(&source, as_they_are).model, &of(&branch, &branch, &[cast("u", "u_float16", FLOAT16)]));
    // What the branches make is not of the same type, as far as can be seen.
    let unknown = graph(&[(NODE, node("Mystery", &[], &["m"]).bytes(7, "custom")), (OUTPUT, untyped("m"))]);
    let error = converted(&of(&passes("u", FLOAT), &unknown, &[]), ElementType::FLOAT16, as_they_are).unwrap_err();
    assert_eq!(error.cause().to_string(), "the element type of \"y\" cannot be found out");
}

/// The body's inputs have no types: they follow from the node's inputs.
#[test]
fn loops_carry_values_and_collect_others() {
    let whole = |declared: fn(&str, i32) -> Message, code: i32, w: Message| {
        let body = graph(&[
            (NODE, node("Identity", &["go"], &["again"])),
            (NODE, node("Add", &["v", "w"], &["next"])),
            (NODE, node("Exp", &["next"], &["out"])),
            (INPUT, declared("i", INT64)),
            (INPUT, declared("go", BOOL)),
            (INPUT, declared("v", code)),
            (OUTPUT, declared("again", BOOL)),
            (OUTPUT, declared("next", code)),
            (OUTPUT, declared("out", code)),
        ]);
        of(&[
            (NODE, with_graphs(node("Loop", &["n", "", "x"], &["y", "all"]), &[("body", &body)])),
            (INITIALIZER, w),
            (INPUT, value("x", code)),
            (INPUT, value("n", INT64)),
            (OUTPUT, value("y", code)),
            (OUTPUT, value("all", code)),
        ])
    };
    let half = raw("w", FLOAT16, &[1], &codes(&[0.5], ElementType::FLOAT16));
    let typed = to_float16(&whole(value, FLOAT, floats("w", &[0.5])), as_they_are);
    assert_model(&typed.model, &whole(value, FLOAT16, half.clone()));
    assert_eq!(typed.notes, Vec::<String>::new());
    let without = |name: &str, _: i32| untyped(name);
    let found = to_float16(&whole(without, FLOAT, floats("w", &[0.5])), as_they_are);
    assert_model(&found.model, &whole(without, FLOAT16, half));
}

/// `Loop` has bfloat16 from opset 16 on. Before, what it carries keeps its type, but the nodes inside are converted.
#[test]
fn a_loop_that_does_not_support_the_new_type_is_kept() {
    let whole = |inside: &[Message], x: &str, y: &str, code: i32, casts: [&[Message]; 2]| {
        let mut body: Vec<_> = inside.iter().map(|node| (NODE, node.clone())).collect();
        body.extend([(INPUT, value("i", INT64)), (INPUT, value("go", BOOL)), (INPUT, value("v", FLOAT))]);
        body.extend([(OUTPUT, value("go", BOOL)), (OUTPUT, value("next", FLOAT))]);
        if inside.len() > 1 {
            let last = body.remove(inside.len() - 1);
            body.push(last);
        }
        let mut fields: Vec<_> = casts[0].iter().map(|cast| (NODE, cast.clone())).collect();
        fields.push((NODE, with_graphs(node("Loop", &["n", "", x], &[y]), &[("body", &graph(&body))])));
        fields.extend([(INPUT, value("x", code)), (INPUT, value("n", INT64)), (OUTPUT, value("y", code))]);
        fields.extend(casts[1].iter().map(|cast| (NODE, cast.clone())));
        model(7, 13, &graph(&fields))
    };
    let source = whole(&[node("Neg", &["v"], &["next"])], "x", "y", FLOAT, [&[], &[]]);
    let written = converted(&source, ElementType::BFLOAT16, as_they_are).unwrap();
    let inside = [
        cast("v", "v_bfloat16", BFLOAT16),
        node("Neg", &["v_bfloat16"], &["next_bfloat16"]),
        cast("next_bfloat16", "next", FLOAT),
    ];
    let casts: [&[Message]; 2] = [&[cast("x", "x_float", FLOAT)], &[cast("y_float", "y", BFLOAT16)]];
    assert_model(&written.model, &whole(&inside, "x_float", "y_float", BFLOAT16, casts));
    let note = "Loop: 1 node kept in the old type: the operator does not support the new one here (first: \"y\")";
    assert_eq!(written.notes, [note]);
}

#[test]
fn scans_have_the_inputs_of_their_body() {
    let whole = |code: i32, opset: i64, first: &[&str]| {
        let body = graph(&[
            (NODE, node("Add", &["a", "b"], &["c"])),
            (NODE, node("Neg", &["c"], &["d"])),
            (INPUT, untyped("a")),
            (INPUT, untyped("b")),
            (OUTPUT, value("c", code)),
            (OUTPUT, value("d", code)),
        ]);
        let inputs = [first, &["s", "x"]].concat();
        let scan =
            with_graphs(node("Scan", &inputs, &["y", "z"]), &[("body", &body)]).bytes(5, int("num_scan_inputs", 1));
        let inputs = [(INPUT, value("s", code)), (INPUT, value("x", code))];
        let outputs = [(OUTPUT, value("y", code)), (OUTPUT, value("z", code))];
        model(8, opset, &graph(&[&[(NODE, scan)], &inputs[..], &outputs].concat()))
    };
    assert_model(&to_float16(&whole(FLOAT, 17, &[]), as_they_are).model, &whole(FLOAT16, 17, &[]));
    assert_model(&to_float16(&whole(FLOAT, 9, &[]), as_they_are).model, &whole(FLOAT16, 9, &[]));
    // The first version has the lengths as another input.
    assert_model(&to_float16(&whole(FLOAT, 8, &[""]), as_they_are).model, &whole(FLOAT16, 8, &[""]));
}

/// An operator with a graph that is none of these keeps its types, also inside.
#[test]
fn graphs_of_other_operators_keep_their_ends() {
    let body = |casts: bool| {
        let mut fields = vec![(INPUT, value("a", FLOAT)), (OUTPUT, value("b", FLOAT))];
        match casts {
            false => fields.insert(0, (NODE, node("Neg", &["a"], &["b"]))),
            true => {
                fields.insert(0, (NODE, cast("a", "a_float16", FLOAT16)));
                fields.insert(1, (NODE, node("Neg", &["a_float16"], &["b_float16"])));
                fields.push((NODE, cast("b_float16", "b", FLOAT)));
            }
        }
        graph(&fields)
    };
    let whole = |body: &Message, casts: [&[Message]; 2], x: &str, y: &str, code: i32| {
        let mut fields: Vec<_> = casts[0].iter().map(|cast| (NODE, cast.clone())).collect();
        fields.push((NODE, with_graphs(node("Mystery", &[x], &[y]).bytes(7, "custom"), &[("body", body)])));
        fields.extend([(INPUT, value("x", code)), (OUTPUT, value("y", code))]);
        fields.extend(casts[1].iter().map(|cast| (NODE, cast.clone())));
        of(&fields)
    };
    let source = whole(&body(false), [&[], &[]], "x", "y", FLOAT);
    let casts: [&[Message]; 2] = [&[cast("x", "x_float", FLOAT)], &[cast("y_float", "y", FLOAT16)]];
    let expected = whole(&body(true), casts, "x_float", "y_float", FLOAT16);
    assert_model(&to_float16(&source, as_they_are).model, &expected);
}

#[test]
fn a_loop_tells_the_type_of_what_it_carries() {
    let whole = |front: &[Message], next: &str, back: &[Message], code: i32| {
        let nodes = |nodes: &[Message]| nodes.iter().map(|node| (NODE, node.clone())).collect::<Vec<_>>();
        let inputs = ["i", "go", "v"].map(|name| (INPUT, untyped(name)));
        let outputs = ["go", next].map(|name| (OUTPUT, untyped(name)));
        let body = graph(&[nodes(front), inputs.to_vec(), outputs.to_vec(), nodes(back)].concat());
        let turns = with_graphs(node("Loop", &["n", "", "x"], &["y"]), &[("body", &body)]);
        of(&[(NODE, turns), (INPUT, value("x", code)), (INPUT, value("n", INT64)), (OUTPUT, value("y", code))])
    };
    let mystery = |v: &str| node("Mystery", &[v], &["next"]).bytes(7, "custom");
    let front = [cast("v", "v_float", FLOAT), mystery("v_float")];
    let expected = whole(&front, "next_float16", &[cast("next", "next_float16", FLOAT16)], FLOAT16);
    assert_model(&to_float16(&whole(&[mystery("v")], "next", &[], FLOAT), as_they_are).model, &expected);
}

#[test]
fn a_choice_that_is_kept_has_a_note() {
    let branch = graph(&[(NODE, node("Neg", &["x"], &["t"])), (OUTPUT, value("t", FLOAT))]);
    let choice = with_graphs(node("If", &["c"], &["y"]), &[("then_branch", &branch), ("else_branch", &branch)]);
    let ends = [(INPUT, value("x", FLOAT)), (INPUT, value("c", BOOL)), (OUTPUT, value("y", FLOAT))];
    let source = of(&[&[(NODE, choice)], &ends[..]].concat());
    let notes = to_float16(&source, |rules| rules.keep = &|operator, _| operator == "If").notes;
    assert_eq!(notes, ["If: 1 node kept in the old type as asked for (first: \"y\")"]);
}
