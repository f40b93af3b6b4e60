//! The files and names of code that the documents name exist.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const DOCUMENTS: [(&str, &str); 9] = [
    ("README.md", include_str!("../../README.md")),
    ("docs/ARCHITECTURE.md", include_str!("../../docs/ARCHITECTURE.md")),
    ("docs/CONTRIBUTING.md", include_str!("../../docs/CONTRIBUTING.md")),
    ("docs/engine.md", include_str!("../../docs/engine.md")),
    ("docs/faults.md", include_str!("../../docs/faults.md")),
    ("docs/performance.md", include_str!("../../docs/performance.md")),
    ("docs/semantics.md", include_str!("../../docs/semantics.md")),
    ("docs/verification.md", include_str!("../../docs/verification.md")),
    ("tests/README.md", include_str!("../../tests/README.md")),
];

/// Where a path of a document may begin. The tables of tests leave these folders out.
const ROOTS: [&str; 8] =
    ["", "docs/", "tests/", "examples/cast/tests/", "examples/cast/src/", "files/tests/", "files/src/", "src/cpu/"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The texts between backquotes, each with the text after it up to the next backquote.
fn quoted(line: &str) -> Vec<(&str, &str)> {
    let parts: Vec<&str> = line.split('`').collect();
    (1..parts.len()).step_by(2).map(|i| (parts[i], parts.get(i + 1).copied().unwrap_or_default())).collect()
}

/// The file or folder that a text names, if it looks like one.
fn path(text: &str) -> Option<Result<PathBuf, ()>> {
    let text = text.trim_end_matches('/');
    let known = [".rs", ".md", ".txt", ".py", ".sh", ".wgsl", ".toml", ".csv", ".mjs"];
    let is_path = text.contains('/') && known.iter().any(|ending| text.ends_with(ending));
    let plain = text.chars().all(|c| c.is_alphanumeric() || "/._-".contains(c));
    if !is_path || !plain || text.starts_with('/') {
        return None;
    }
    let found = ROOTS.iter().map(|folder| root().join(format!("{folder}{text}"))).find(|path| path.exists());
    Some(found.ok_or(()))
}

/// A name of Rust, such as `plan::Plan` or `share`.
fn is_name(text: &str) -> bool {
    let segment = |part: &str| {
        part.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    !text.is_empty() && text.split("::").all(segment)
}

/// Every file of Rust in the repository, as one text.
fn code() -> String {
    fn read(folder: &Path, all: &mut String) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let is_left_out = path.file_name().is_some_and(|name| name == "target" || name == "node_modules");
            if path.is_dir() && !is_left_out {
                read(&path, all);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                all.push_str(&std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    let mut all = String::new();
    for folder in ["src", "tests", "files", "examples", "benches", "integrations"] {
        read(&root().join(folder), &mut all);
    }
    all
}

/// Whether a text has the word.
fn has_word(text: &str, word: &str) -> bool {
    let is_of_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(word).any(|(at, _)| {
        !is_of_word(text[..at].chars().next_back()) && !is_of_word(text[at + word.len()..].chars().next())
    })
}

#[test]
fn files_and_names_of_code_exist() {
    let code = code();
    let words: BTreeSet<&str> = code.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let mut missing = Vec::new();
    for (document, text) in DOCUMENTS {
        for (number, line) in text.lines().enumerate() {
            let mut tell = |what: String| missing.push(format!("{document}:{}: {what}", number + 1));
            let texts = quoted(line);
            for (i, (text, after)) in texts.iter().enumerate() {
                match path(text) {
                    Some(Err(())) => tell(format!("there is no file {text}")),
                    // `file.rs`, `name`
                    Some(Ok(file)) if text.ends_with(".rs") && *after == ", " => {
                        let content = std::fs::read_to_string(&file).unwrap();
                        let names = texts[i + 1..].iter().take(1).map(|(name, _)| *name).filter(|name| is_name(name));
                        for name in names {
                            let last = name.rsplit("::").next().unwrap_or(name);
                            if !has_word(&content, last) {
                                tell(format!("{text} has no {name}"));
                            }
                        }
                    }
                    Some(Ok(_)) => {}
                    None if text.contains("::") && is_name(text) => {
                        let last = text.rsplit("::").next().unwrap_or(text);
                        if !words.contains(last) {
                            tell(format!("no code has {text}"));
                        }
                    }
                    None => {}
                }
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
    assert!(path("src/none.rs") == Some(Err(())) && path("src/lib.rs").is_some_and(|found| found.is_ok()));
    assert!(has_word("fn share() {}", "share") && !has_word("fn shared() {}", "share"));
}
