//! The floors of the crate: modules import from their own floor and from those below, and no two modules import each
//! other.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The modules of each floor, lowest first. A folder's files are on the floor of the folder.
const FLOORS: [&[&str]; 7] = [
    // Bit arithmetic, which knows no type above it.
    &["float_env", "format", "packing", "reference", "threads"],
    // Nouns.
    &["conversion", "element", "error", "loss", "options", "packed", "spec", "string_array", "tensor"],
    // The CPU path, string rules, opset rules.
    &["cpu", "onnx", "strings"],
    // WGSL kernels as text.
    &["kernel", "wgsl"],
    // What to dispatch, as data.
    &["plan"],
    // Devices, pipelines, recording, transfers.
    &["caster", "gpu"],
    // Host tensors, known answers.
    &["batch", "blocking", "context", "self_test"],
];

/// The one circle that is allowed: errors name element types, and names that are no element type are errors.
const CIRCLE: [&str; 2] = ["element", "error"];

/// Which modules each module imports from. A module is named by its path in the crate.
type Imports = BTreeMap<String, BTreeSet<String>>;

#[test]
fn imports_go_downwards_and_in_no_circle() {
    let imports = imports();
    assert!(imports["caster"].contains("gpu::kernels"), "imports are found: {imports:?}");
    let circles = circles(&imports).into_iter().filter(|circle| *circle != CIRCLE);
    let circles = circles.map(|circle| format!("a circle of imports: {}", circle.join(", ")));
    let faults: Vec<String> = upward_imports(&imports).into_iter().chain(circles).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// A program that casts on devices only has no loop of the CPU path in it: they are four fifths of what such a program would
/// pay for this crate.
#[test]
fn casts_on_devices_need_no_loop_of_the_cpu_path() {
    let is_on_devices = |module: &str| ["caster", "gpu", "self_test"].contains(&module.split("::").next().unwrap());
    for (module, imported) in imports().iter().filter(|(module, _)| is_on_devices(module)) {
        let of_cpu: Vec<_> = imported.iter().filter(|name| name.split("::").next() == Some("cpu")).collect();
        assert!(
            of_cpu.iter().all(|name| ["cpu::isa", "cpu::reference"].contains(&name.as_str())),
            "{module} imports {of_cpu:?}"
        );
    }
}

#[test]
fn paths_are_resolved() {
    let modules = ["a", "a::b", "a::c", "d"].map(str::to_owned).into();
    let code = "use crate::a::{b::X, c, d};\nuse super::c::{Y, Z};\nfn f() { crate::d::g(); super::h(); }";
    let found = paths("a::b", code).into_iter().map(|path| resolve(&path, &modules)).collect::<Vec<_>>();
    let expected = ["a::b", "a::c", "a", "a::c", "a::c", "d", "a"].map(|module| Some(module.to_owned()));
    assert_eq!(found, expected);
    let code = "use crate::X;";
    assert_eq!(resolve(&paths("a", code)[0], &modules), None);
}

#[test]
fn circles_are_found() {
    let edges = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "d::x"), ("d::x", "d")];
    let mut imports = Imports::new();
    for (from, to) in edges {
        imports.entry(from.to_owned()).or_default().insert(to.to_owned());
    }
    assert_eq!(circles(&imports), [["a", "b", "c"].map(str::to_owned).to_vec()]);
}

/// Reads every file of `src/` but those that are only compiled for tests.
fn imports() -> Imports {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = BTreeMap::new();
    read_files(&root, "", &mut files);
    files.remove("lib");
    let modules: BTreeSet<String> = files.keys().cloned().collect();
    let mut imports = Imports::new();
    for (module, text) in &files {
        let code = code(text);
        let mut imported = BTreeSet::new();
        for path in paths(module, &code) {
            let found = resolve(&path, &modules);
            imported.insert(found.unwrap_or_else(|| panic!("{module} imports crate::{path} by way of lib.rs")));
        }
        let children = modules.iter().filter(|child| parent(child) == Some(module.as_str()));
        let uses = |child: &&String| code.contains(&format!("{}::", child.rsplit("::").next().unwrap_or_default()));
        imported.extend(children.filter(uses).cloned());
        imported.remove(module);
        imports.insert(module.clone(), imported);
    }
    imports
}

/// Adds the files of a folder by their module's path.
fn read_files(folder: &Path, prefix: &str, files: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let module = if prefix.is_empty() { stem.clone() } else { format!("{prefix}::{stem}") };
        match path.is_dir() {
            true => read_files(&path, &module, files),
            false if ["tests", "floors"].contains(&stem.as_str()) => {}
            false => {
                let module = if stem == "mod" { prefix.to_owned() } else { module };
                files.insert(module, std::fs::read_to_string(&path).unwrap());
            }
        }
    }
}

/// The text without comments, without visibilities, which name a path but import nothing, and without the tests at its
/// end.
fn code(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let is_test = |line: &str| line.starts_with("#[cfg(") && line.contains("test");
    let tests = lines.windows(2).position(|pair| is_test(pair[0]) && pair[1] == "mod tests {");
    lines[..tests.unwrap_or(lines.len())].join("\n").replace("pub(in crate::", "pub(in ")
}

/// Every path that starts with `crate::` or `super::`, from the root of the crate on.
fn paths(module: &str, code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(at) = ["crate::", "super::"].iter().filter_map(|word| rest.find(word)).min() {
        let mut base = module.to_owned();
        rest = &rest[at..];
        match rest.strip_prefix("crate::") {
            Some(after) => (base, rest) = (String::new(), after),
            None => {
                while let Some(after) = rest.strip_prefix("super::") {
                    (base, rest) = (parent(&base).unwrap_or_default().to_owned(), after);
                }
            }
        }
        rest = tree(&base, rest, &mut found);
    }
    found
}

/// Adds the paths of a use tree below `base`; returns what follows it.
fn tree<'a>(base: &str, text: &'a str, found: &mut Vec<String>) -> &'a str {
    let join = |name: &str| [base, name].iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join("::");
    if let Some(mut rest) = text.strip_prefix('{') {
        loop {
            rest = rest.trim_start_matches([',', ' ', '\n']);
            if let Some(after) = rest.strip_prefix('}') {
                return after;
            }
            rest = tree(base, rest, found);
        }
    }
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '*').unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    if name.is_empty() {
        // A name that a macro fills in.
        found.push(base.to_owned());
        return rest;
    }
    match rest.strip_prefix("::") {
        Some(after) if after.starts_with(|c: char| c.is_alphabetic() || "_{*".contains(c)) => {
            tree(&join(name), after, found)
        }
        _ => {
            found.push(join(name));
            rest
        }
    }
}

/// The module that a path names, or that holds what it names.
fn resolve(path: &str, modules: &BTreeSet<String>) -> Option<String> {
    let mut path = path;
    loop {
        if modules.contains(path) {
            return Some(path.to_owned());
        }
        path = parent(path)?;
    }
}

fn parent(module: &str) -> Option<&str> {
    module.rsplit_once("::").map(|(parent, _)| parent)
}

fn upward_imports(imports: &Imports) -> Vec<String> {
    let floor = |module: &str| {
        let top = module.split("::").next().unwrap_or(module);
        let floor = FLOORS.iter().position(|modules| modules.contains(&top));
        floor.unwrap_or_else(|| panic!("the module {top} has no floor: add it to FLOORS"))
    };
    let edges = imports.iter().flat_map(|(from, imported)| imported.iter().map(move |to| (from, to)));
    let upwards = edges.filter(|(from, to)| floor(from) < floor(to));
    upwards
        .map(|(from, to)| format!("{from} (floor {}) imports {to} (floor {})", floor(from) + 1, floor(to) + 1))
        .collect()
}

/// The circles, each as the modules that import each other directly or by way of others. A module whose parent it
/// imports from is one with its parent: a file that was split into a folder stays one unit.
fn circles(imports: &Imports) -> Vec<Vec<String>> {
    let unit = |module: &str| {
        let mut unit = module;
        let joins = |unit: &str, parent: &str| imports.get(unit).is_some_and(|imported| imported.contains(parent));
        while let Some(parent) = parent(unit).filter(|parent| joins(unit, parent)) {
            unit = parent;
        }
        unit.to_owned()
    };
    let mut reachable = Imports::new();
    for (from, imported) in imports {
        let targets = imported.iter().map(|to| unit(to)).filter(|to| *to != unit(from));
        reachable.entry(unit(from)).or_default().extend(targets);
    }
    loop {
        let further = |imported: &BTreeSet<String>| {
            let next = imported.iter().filter_map(|to| reachable.get(to)).flatten();
            imported.iter().chain(next).cloned().collect::<BTreeSet<_>>()
        };
        let next: Imports = reachable.iter().map(|(from, imported)| (from.clone(), further(imported))).collect();
        if next == reachable {
            break;
        }
        reachable = next;
    }
    let reaches = |from: &str, to: &str| reachable.get(from).is_some_and(|imported| imported.contains(to));
    let circle = |from: &String| -> Vec<String> {
        reachable.keys().filter(|to| reaches(from, to) && reaches(to, from)).cloned().collect()
    };
    let found: BTreeSet<Vec<String>> = reachable.keys().map(circle).filter(|circle| !circle.is_empty()).collect();
    found.into_iter().collect()
}
