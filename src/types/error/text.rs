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
    format!("{:?}", cut(text, 80))
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
