//! The README's table of element types is the table.

use wgpu_cast::{ElementType, Operator};

const README: &str = include_str!("../README.md");

fn row(t: ElementType) -> String {
    let since = |operator| t.since_opset(operator).map_or("–".to_owned(), |opset| opset.to_string());
    let aliases: Vec<String> = t.aliases().iter().map(|alias| format!("`{alias}`")).collect();
    format!(
        "| `{t}` | {} | {} | {} | {} | {} |",
        t.onnx_code(),
        t.bits().map_or("–".to_owned(), |bits| bits.to_string()),
        since(Operator::Cast),
        since(Operator::CastLike),
        aliases.join(", ")
    )
}

#[test]
fn the_readme_is_short() {
    let lines = README.lines().count();
    assert!(lines <= 120, "the README has {lines} lines, the limit is 120");
}

#[test]
fn the_type_table_is_the_element_table() {
    let rows: Vec<String> = ElementType::ALL.iter().map(|&t| row(t)).collect();
    let given: Vec<&str> = README.lines().filter(|line| line.starts_with("| `")).collect();
    assert_eq!(given, rows, "the README's table should be:\n{}", rows.join("\n"));
}
