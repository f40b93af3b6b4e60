//! Fragments under a prefix. A fragment that reads no constant is written once, any other once per conversion, with its
//! constants.

use super::names::rename;
use crate::kernel::constants::Constants;
use crate::kernel::fragments::{fragment, used};
use crate::types::conversion::Conversion;

/// The declarations of fragments under a prefix.
#[derive(Clone, Debug, Default)]
pub(super) struct Fragments {
    /// The fragments that serve every conversion and are written already.
    shared: Vec<&'static str>,
    /// The first parts of the names of fragments that serve one conversion and are written already.
    owned: Vec<String>,
}

impl Fragments {
    /// The text, for one conversion, of fragments and of those that they use, without those that are written already.
    /// Names of shared fragments begin with `prefix`; other names begin with `own`, which belongs to the conversion.
    pub(super) fn write(&mut self, names: &[&str], conversion: &Conversion, prefix: &str, own: &str) -> String {
        if self.owned.iter().any(|known| known == own) {
            return String::new();
        }
        self.owned.push(own.to_owned());
        let mut all = Vec::new();
        names.iter().for_each(|name| collect(name, &mut all));
        let mut read = Vec::new();
        let mut text = String::new();
        for &name in &all {
            let (name, fragment_text) = fragment(name);
            read.extend(reads(fragment_text));
            if !reads_any(name) {
                if self.shared.contains(&name) {
                    continue;
                }
                self.shared.push(name);
            }
            let code = |line: &&str| !line.starts_with("//:use ") && !line.starts_with("// reads: ");
            let lines: Vec<_> = fragment_text.lines().filter(code).collect();
            text.push('\n');
            text.push_str(&rename(&lines.join("\n"), |word| declared(word, &all, prefix, own)));
        }
        let constants = constants(conversion);
        let constants = constants.lines().filter(|line| read.contains(&declares(line)));
        let mut before = String::new();
        constants
            .for_each(|line| before.push_str(&rename(line, |word| word.eq(declares(line)).then(|| join(own, word)))));
        if !before.is_empty() {
            before.insert(0, '\n');
        }
        before + &text
    }

    /// The name under which the function of a fragment is declared.
    pub(super) fn name(name: &str, function: &str, prefix: &str, own: &str) -> String {
        join(if reads_any(name) { own } else { prefix }, function)
    }
}

fn join(prefix: &str, name: &str) -> String {
    format!("{prefix}_{name}")
}

/// The new name of `word`, if one of the fragments declares or reads it.
fn declared(word: &str, all: &[&'static str], prefix: &str, own: &str) -> Option<String> {
    for &name in all {
        let (name, text) = fragment(name);
        if reads(text).any(|constant| constant == word) {
            return Some(join(own, word));
        }
        if text.lines().any(|line| declares(line) == word) {
            return Some(Fragments::name(name, word, prefix, own));
        }
    }
    None
}

/// The name that a line declares in the module's scope; empty if it declares none.
fn declares(line: &str) -> &str {
    let rest = ["fn ", "struct ", "const "].iter().find_map(|keyword| line.strip_prefix(keyword));
    let name = rest.unwrap_or_default();
    name.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default()
}

/// The constants that a fragment itself reads, without those of fragments that it uses.
fn reads(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| line.strip_prefix("// reads: ")).flat_map(str::split_whitespace)
}

/// Whether a fragment, or one that it uses, reads constants.
fn reads_any(name: &str) -> bool {
    let mut all = Vec::new();
    collect(name, &mut all);
    all.iter().any(|&name| reads(fragment(name).1).next().is_some())
}

/// Adds a fragment after the fragments that it uses, each once.
fn collect(name: &str, all: &mut Vec<&'static str>) {
    let (name, text) = fragment(name);
    if !all.contains(&name) {
        used(text).for_each(|used| collect(used, all));
        all.push(name);
    }
}

/// The lines of a conversion's constants.
fn constants(conversion: &Conversion) -> String {
    let mut constants = Constants::new(conversion);
    constants.values(conversion);
    constants.text().to_owned()
}
