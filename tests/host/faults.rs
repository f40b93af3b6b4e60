//! The tests that `docs/faults.md` names exist, and each fault has one.

use std::path::PathBuf;

const PAGE: &str = include_str!("../../docs/faults.md");

/// `lib`, `files-lib` and `program` have the unit tests of the three packages.
const SUITES: [&str; 11] =
    ["lib", "cli", "device", "files", "files-lib", "fuzz", "host", "messages", "page", "program", "strings"];

/// The cells of each row of the tables, without their heads.
fn rows() -> impl Iterator<Item = Vec<&'static str>> {
    let rows = PAGE.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    rows.map(|row| row.split(" | ").collect::<Vec<_>>()).filter(|cells| cells[0] != "fault")
}

/// The texts between backquotes that name a test: a suite, a space and a path.
fn tests(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted.filter_map(|text| text.split_once(' ')).filter(|(suite, path)| SUITES.contains(suite) && path.contains("::"))
}

/// The file of a module, if there is one.
fn file(suite: &str, module: &str) -> Option<PathBuf> {
    let folder = match suite {
        "lib" => "src".to_owned(),
        "files-lib" => "files/src".to_owned(),
        "program" => "examples/cast/src".to_owned(),
        "cli" => "examples/cast/tests/cli".to_owned(),
        "files" | "messages" => format!("files/tests/{suite}"),
        _ => format!("tests/{suite}"),
    };
    let path = |module: &str| {
        let module = format!("{}/{folder}/{}", env!("CARGO_MANIFEST_DIR"), module.replace("::", "/"));
        let files = [format!("{module}.rs"), format!("{module}/mod.rs")].map(PathBuf::from);
        files.into_iter().find(|path| path.exists())
    };
    path(module)
        .or_else(|| path(module.strip_suffix("::tests").filter(|_| matches!(suite, "lib" | "files-lib" | "program"))?))
}

/// Whether a module of the page's tests defines the function, and it or the list of tests calls it.
fn is_test_of_the_page(module: &str, name: &str) -> bool {
    let text = |module: &str| {
        let path = format!("{}/integrations/browser/test/{module}.mjs", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(path).unwrap_or_default()
    };
    let named = format!("{}\n{}", text(module), text("main")).matches(&format!(" {name}(")).count();
    text(module).contains(&format!("async function {name}(")) && named > 1
}

fn exists(suite: &str, path: &str) -> bool {
    let Some((module, name)) = path.rsplit_once("::") else { return false };
    if suite == "page" {
        return is_test_of_the_page(module, name);
    }
    let Some(file) = file(suite, module) else { return false };
    let text = std::fs::read_to_string(file).unwrap();
    let Some(at) = text.find(&format!("fn {name}() {{")) else { return false };
    // The attributes before it, up to the end of the item before.
    let attributes = text[..at].rsplit("\n\n").next().unwrap_or_default();
    attributes.contains("#[test]")
}

#[test]
fn the_tests_that_the_page_names_exist() {
    let missing: Vec<String> = tests(PAGE)
        .filter(|(suite, path)| !exists(suite, path))
        .map(|(suite, path)| format!("{suite} {path}"))
        .collect();
    assert!(missing.is_empty(), "docs/faults.md names tests that do not exist:\n{}", missing.join("\n"));
    assert!(
        !exists("device", "faults::no_such_test")
            && !exists("device", "none::such")
            && !exists("lib", "types::element::row")
            && !exists("page", "jobs::no_such_test")
    );
}

#[test]
fn each_fault_has_a_test() {
    let faults = rows().count();
    assert!(faults > 30, "{faults} rows were found");
    for cells in rows() {
        assert_eq!(cells.len(), 4, "{cells:?}");
        let column = cells[3];
        assert!(tests(column).count() > 0, "no test of: {}", cells[0]);
        let quoted = column.split('`').skip(1).step_by(2).count();
        assert_eq!(tests(column).count(), quoted, "a test is named as `suite module::test`: {column}");
    }
}
