//! The layers of the crate are its folders.

use std::collections::BTreeSet;
use std::path::Path;

/// Each folder of `src/`, and the folders that its modules import from: only those above it in this table.
const LAYERS: [(&str, &[&str]); 10] = [
    ("bits", &[]),
    ("types", &["bits"]),
    ("rules", &["bits", "types"]),
    ("cpu", &["bits", "rules", "types"]),
    ("kernel", &["bits", "types"]),
    ("wgsl", &["kernel", "types"]),
    ("plan", &["kernel", "types"]),
    ("gpu", &["kernel", "plan", "types"]),
    ("caster", &["gpu", "kernel", "plan", "types"]),
    ("host", &["bits", "caster", "cpu", "gpu", "plan", "types"]),
];

#[test]
fn imports_go_one_way() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    for (layer, _) in LAYERS {
        let mut imports: BTreeSet<String> = files(&src.join(layer)).iter().flat_map(|code| imports(code)).collect();
        imports.remove(layer);
        found.push((layer, imports));
    }
    for (at, (layer, allowed)) in LAYERS.iter().enumerate() {
        assert!(allowed.iter().all(|import| LAYERS[..at].iter().any(|(below, _)| below == import)), "{layer}");
    }
    assert_eq!(found, LAYERS.map(|(layer, allowed)| (layer, allowed.iter().map(|&name| name.to_owned()).collect())));
}

/// A program that casts on devices only contains no loop of the CPU path. The loops would be four fifths of what such a
/// program pays for this crate. `caster` and the layers below it import nothing from `cpu`, nor does the self-test,
/// which a caster runs.
#[test]
fn the_self_test_needs_no_loop_of_the_cpu_path() {
    let host = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/host");
    let mut code = files(&host.join("self_test"));
    code.push(code_of(&host.join("self_test.rs")));
    assert!(code.iter().all(|code| !code.contains("crate::cpu")));
}

/// The layers whose names occur in the imports of code.
fn imports(code: &str) -> Vec<String> {
    let name = |rest: &str| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().map(str::to_owned);
    code.split("crate::").skip(1).filter_map(name).collect()
}

/// The code of every file of a folder, without those that are compiled for tests only.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.file_stem().is_some_and(|stem| stem == "tests") {
            true => {}
            false if path.is_dir() => found.extend(files(&path)),
            false if path.extension().is_some_and(|extension| extension == "rs") => found.push(code_of(&path)),
            false => {}
        }
    }
    found
}

/// A file without its comments and without the tests at its end.
fn code_of(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let is_test = |line: &str| line.starts_with("#[cfg(") && line.contains("test");
    let tests = lines.windows(2).position(|pair| is_test(pair[0]) && pair[1] == "mod tests {");
    lines[..tests.unwrap_or(lines.len())].join("\n")
}
