//! Names in WGSL: the check of names and prefixes, and the renaming of what a text declares.

use crate::types::error::{Error, fault_of_name};

/// Checks that the text can be a prefix. The rest of a name follows after an underscore, so a name is never a keyword,
/// even if the prefix is one.
pub(super) fn check_prefix(name: &str) -> Result<(), Error> {
    check(name)?;
    // Names have one underscore after the prefix. With this rule, prefixes that differ only in a last underscore cannot
    // collide.
    if name.ends_with('_') { Err(invalid(name)) } else { Ok(()) }
}

/// Checks that the text is an identifier of ASCII characters.
pub(super) fn check(name: &str) -> Result<(), Error> {
    if fault_of_name(name).is_some() { Err(invalid(name)) } else { Ok(()) }
}

fn invalid(name: &str) -> Error {
    Error::WgslName { name: name.to_owned(), taken: false }
}

/// Renames identifiers: `new` gives the new name of those that change. Comments and the names of members stay.
pub(super) fn rename(text: &str, new: impl Fn(&str) -> Option<String>) -> String {
    let is_other = |c: char| !c.is_ascii_alphanumeric() && c != '_';
    let mut renamed = String::with_capacity(text.len());
    for line in text.lines() {
        let comment = line.as_bytes().windows(2).position(|two| two == b"//");
        let code = comment.and_then(|start| line.get(..start)).unwrap_or(line);
        // A piece is a word, which may be empty, and the character after it.
        for piece in code.split_inclusive(is_other) {
            let word = piece.trim_end_matches(is_other);
            // A number starts with a digit, so the letters in it are no identifier.
            match new(word).filter(|_| !word.is_empty() && !renamed.ends_with('.')) {
                Some(name) => renamed.push_str(&name),
                None => renamed.push_str(word),
            }
            renamed.push_str(piece.strip_prefix(word).unwrap_or_default());
        }
        renamed.push_str(line.strip_prefix(code).unwrap_or_default());
        renamed.push('\n');
    }
    renamed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_identifiers() {
        for name in ["a", "f8", "my_engine", "_x", "A1_b", "fn", "u32"] {
            assert_eq!(check_prefix(name), Ok(()), "{name}");
        }
        for name in ["", "_", "__", "__a", "1a", "a-b", "a b", "a.b", "ä", "a_", "a__", "a;", "a\n"] {
            let error = check_prefix(name).unwrap_err();
            assert!(matches!(&error, Error::WgslName { name: given, .. } if given == name), "{name}: {error}");
        }
    }

    #[test]
    fn identifiers_are_renamed_apart_from_comments_members_and_numbers() {
        let new = |word: &str| ["f", "x", "x1"].contains(&word).then(|| format!("p_{word}"));
        let text = "// f x\nfn f(a: u32) -> u32 { // x\n    return x + a.x + 0xfu + x1 * fx + f(x2);\n}";
        let expected = "// f x\nfn p_f(a: u32) -> u32 { // x\n    return p_x + a.x + 0xfu + p_x1 * fx + p_f(x2);\n}\n";
        assert_eq!(rename(text, new), expected);
    }
}
