//! Parts of the texts of errors.

/// A number with its unit: `1 byte`, `2 bytes`.
pub(crate) fn counted(number: u64, unit: &str) -> String {
    format!("{number} {unit}{}", if number == 1 { "" } else { "s" })
}

/// Says that memory is out, and how much was requested if that is known.
pub(super) fn out_of_memory(bytes: u64) -> String {
    let requested = if bytes == 0 { String::new() } else { format!(" (requested {})", counted(bytes, "byte")) };
    format!("out of memory{requested}")
}

/// Names the opset that added what an older opset lacks, if one did.
pub(super) fn added(since: Option<u32>) -> Option<String> {
    since.map(|since| format!(" (added in opset {since})"))
}

/// Untrusted text in quotes, at most 80 characters of it.
pub(crate) fn quoted(text: &str) -> String {
    escaped(&cut(text, 80))
}

/// Text in quotes. Escaped are controls, spaces other than U+0020, marks of direction and of joining, code points for
/// private use, and tags. `{:?}` also escapes code points that are not assigned, noncharacters, further format characters
/// such as those of musical notation, and a combining mark that comes first. It has tables of all of Unicode for that,
/// which small programs would then contain.
pub(super) fn escaped(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\0' => quoted.push_str("\\0"),
            '\t' => quoted.push_str("\\t"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\u{01}'..='\u{1f}'
            | '\u{7f}'..='\u{a0}'
            | '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{2000}'..='\u{200f}'
            | '\u{2028}'..='\u{202f}'
            | '\u{205f}'..='\u{206f}'
            | '\u{3000}'
            | '\u{e000}'..='\u{f8ff}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'.. => quoted.push_str(&format!("\\u{{{:x}}}", letter as u32)),
            _ => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

/// Numbers in brackets: `[2, 3]`.
pub(super) fn numbers(numbers: &[usize]) -> String {
    let all: Vec<_> = numbers.iter().map(|number| number.to_string()).collect();
    format!("[{}]", all.join(", "))
}

/// The text, or its first `characters` characters and `…` if it is longer.
pub(crate) fn cut(text: &str, characters: usize) -> String {
    let mut cut: String = text.chars().take(characters).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    cut
}

pub(super) fn list(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
