//! Compares what texts and recorded tables say about element types with the element table. A failing test prints the
//! right text, or what is missing.

use std::collections::BTreeSet;
use std::path::Path;

use support::numeric;
use wgpu_cast::{ElementType, Operator};

const README: &str = include_str!("../../README.md");

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

/// The table at the head of the crate's documentation has every public type, and fits two screens.
#[test]
fn the_head_of_the_documentation_has_every_type() {
    let head = include_str!("../../src/lib.rs");
    let name = |line: &'static str| {
        let item = line.trim_start_matches("#[non_exhaustive] ").strip_prefix("pub ")?;
        let path = ["struct", "enum", "trait"].iter().find_map(|kind| item.strip_prefix(kind))?;
        let path = path.strip_prefix(" wgpu_cast::")?.split([' ', '<', '(']).next()?;
        Some(path.trim_end_matches(':'))
    };
    let types: Vec<&str> = include_str!("../../docs/public-api.txt").lines().filter_map(name).collect();
    assert!(types.contains(&"CastSpec") && types.contains(&"wgsl::Functions"), "{types:?}");
    let missing: Vec<_> = types.into_iter().filter(|path| !head.contains(&format!("[`{path}`]"))).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert!(head.lines().filter(|line| line.starts_with("//! | ")).count() <= 25);
}

#[test]
fn the_type_table_is_the_element_table() {
    let rows: Vec<String> = ElementType::ALL.iter().map(|&t| row(t)).collect();
    let given: Vec<&str> = README.lines().filter(|line| line.starts_with("| `")).collect();
    assert_eq!(given, rows, "the README's table should be:\n{}", rows.join("\n"));
}

/// The words of a text, without the marks of comments, so that a phrase may lie across lines.
fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().filter(|word| !["//", "///", "//!", "#", ">", "-", "*"].contains(word)).collect()
}

/// What is wrong with the counts of types and pairs: `26 element types`, `25 numeric types`, `all 625 pairs`.
fn wrong_counts(text: &str) -> Vec<String> {
    let (all, numeric) = (ElementType::ALL.len(), numeric().count());
    let words = words(text);
    let plain = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let mut wrong = Vec::new();
    for (i, number) in words.iter().enumerate().filter_map(|(i, word)| Some((i, plain(word).parse::<usize>().ok()?))) {
        let after: Vec<String> = words[i + 1..].iter().take(4).map(|word| plain(word)).collect();
        let kinds = after.iter().take_while(|word| ["onnx", "numeric", "element"].contains(&word.as_str())).count();
        let right: &[usize] = match after.get(kinds).map(String::as_str) {
            Some("types") if after[..kinds].iter().any(|word| word == "numeric") => &[numeric],
            Some("types") if kinds > 0 => &[all],
            Some("pairs") if i > 0 && plain(words[i - 1]) == "all" => &[numeric * numeric, all * all],
            _ => continue,
        };
        if !right.contains(&number) {
            let right: Vec<String> = right.iter().map(usize::to_string).collect();
            let phrase = after[..=kinds].join(" ");
            wrong.push(format!("\"{number} {phrase}\" should be \"{} {phrase}\"", right.join(" or ")));
        }
    }
    wrong
}

/// The files below `folder` whose names have one of the `endings`, with their text.
fn texts(folder: &Path, endings: &[&str], found: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.display().to_string();
        if path.is_dir() && !path.ends_with("target") {
            texts(&path, endings, found);
        } else if endings.iter().any(|ending| name.ends_with(ending)) {
            found.push((name, std::fs::read_to_string(path).unwrap()));
        }
    }
}

/// The CHANGELOG is left out, because it says how things were.
#[test]
fn counts_of_types_and_pairs_are_the_tables() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = vec![("README.md".to_owned(), README.to_owned())];
    for folder in ["docs", "src", "examples", "benches", "integrations"] {
        texts(&root.join(folder), &[".md", ".rs", ".py", ".sh"], &mut found);
    }
    let wrong =
        found.iter().flat_map(|(name, text)| wrong_counts(text).into_iter().map(move |w| format!("{name}: {w}")));
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));

    let (all, numeric) = (ElementType::ALL.len(), numeric().count());
    assert_eq!(wrong_counts(&format!("the {all} ONNX element\n/// types, {numeric} numeric types")), [""; 0]);
    let expected = format!("\"7 numeric element types\" should be \"{numeric} numeric element types\"");
    assert_eq!(wrong_counts("7 numeric\n// element types"), [expected]);
    assert_eq!(wrong_counts("all 3 pairs, 25 pairs of them, 12 types of errors").len(), 1);
}

/// `benches/peers` casts every numeric type.
#[test]
fn the_peers_table_has_every_numeric_type() {
    let table = include_str!("../../benches/peers/elements.py");
    let given: BTreeSet<&str> = table.lines().filter_map(|line| line.trim().strip_prefix("ElementType(\"")).collect();
    let missing = numeric().filter(|t| {
        let start = format!("{t}\", {},", t.bits().unwrap_or_default());
        !given.iter().any(|row| row.starts_with(&start))
    });
    let rows: Vec<String> = missing
        .map(|t| format!("    ElementType(\"{t}\", {}, \"<its name in ml_dtypes>\"),", t.bits().unwrap_or_default()))
        .collect();
    assert!(rows.is_empty(), "benches/peers/elements.py lacks in ROWS:\n{}", rows.join("\n"));
    assert_eq!(given.len(), numeric().count(), "benches/peers/elements.py has a type that there is not");
}

/// `benches/compare` compares every pair of numeric types.
#[test]
fn the_speed_gate_has_every_numeric_type() {
    let program = include_str!("../../benches/compare/compare.py");
    let missing: Vec<String> = numeric().map(|t| format!("\"{t}\"")).filter(|name| !program.contains(name)).collect();
    assert!(missing.is_empty(), "benches/compare/compare.py lacks in KINDS: {}", missing.join(", "));
}

/// Every pair's kernel has its instructions counted.
#[test]
fn the_instruction_table_has_every_pair() {
    let table = include_str!("../../benches/instructions/counts.csv");
    let given: BTreeSet<(&str, &str)> = table.lines().filter_map(|line| line.split_once(',')).collect::<Vec<_>>()[1..]
        .iter()
        .filter_map(|(from, rest)| Some((*from, rest.split_once(',')?.0)))
        .collect();
    let pairs = numeric().flat_map(|from| numeric().map(move |to| (from.name(), to.name())));
    let missing: Vec<String> =
        pairs.filter(|pair| !given.contains(pair)).map(|(from, to)| format!("{from} to {to}")).collect();
    let make = "run benches/instructions/run.sh, which counts them";
    assert!(missing.is_empty(), "counts.csv lacks {} pairs, such as {}: {make}", missing.len(), missing[0]);
}

/// The direct dependencies in a manifest: of the package (`true`), or of its tests.
fn direct(manifest: &str, normal: bool) -> BTreeSet<&str> {
    let kind = |table: &str| table.split(']').next().and_then(|head| head.rsplit('.').next()).map(str::to_owned);
    let wanted = if normal { "dependencies" } else { "dev-dependencies" };
    let tables = manifest.split("\n[").filter(|table| kind(table).as_deref() == Some(wanted));
    let keys = tables.flat_map(|table| table.lines().skip(1).filter_map(|line| line.split_once(" = ")));
    keys.map(|(name, _)| name).filter(|name| !name.starts_with('#')).collect()
}

/// `docs/dependencies.md` gives a reason for every direct dependency, and for no other.
#[test]
fn every_direct_dependency_has_a_reason() {
    let library = include_str!("../../Cargo.toml");
    let files = include_str!("../../files/Cargo.toml");
    let program = include_str!("../../examples/cast/Cargo.toml");
    let tests = [library, files, program].into_iter().flat_map(|manifest| direct(manifest, false)).collect();
    let expected = [
        ("The library", direct(library, true)),
        ("Files", direct(files, true)),
        ("The program", direct(program, true)),
        ("Tests, benches and examples", tests),
    ];
    let text = include_str!("../../docs/dependencies.md");
    for (title, direct) in expected {
        let section = text.split("\n## ").find_map(|section| section.strip_prefix(title)).expect(title);
        let rows = section.lines().filter(|line| line.starts_with("| `")).filter_map(|line| line.split('|').nth(1));
        let given: BTreeSet<&str> =
            rows.flat_map(|cell| cell.split(", ").map(|name| name.trim().trim_matches('`'))).collect();
        assert_eq!(given, direct, "{title}");
    }
}

/// The checksums in `docs/verification/llvmpipe.txt` are recorded ones.
#[test]
fn checksums_in_texts_are_the_recorded_ones() {
    let recorded: BTreeSet<&str> = include_str!("../../examples/cast/src/checks/checksums.txt").lines().collect();
    let compared: Vec<&str> = include_str!("../../docs/verification/llvmpipe.txt").lines().collect();
    let unknown: Vec<&str> = compared.iter().copied().filter(|line| !recorded.contains(line)).collect();
    assert!(compared.len() > 40 && unknown.is_empty(), "{unknown:?}");
}
