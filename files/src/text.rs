//! Parts of messages.

/// A number with its unit: `1 byte`, `2 bytes`.
pub(crate) fn counted(number: u64, unit: &str) -> String {
    format!("{number} {unit}{}", if number == 1 { "" } else { "s" })
}

/// Untrusted text in quotes, at most 80 characters of it.
pub(crate) fn quoted(text: &str) -> String {
    format!("{:?}", cut(text, 80))
}

/// The beginning of a message about a tensor. It is empty without a name: some files have one tensor without a name.
pub(crate) fn of_tensor(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!("tensor {}: ", quoted(name)) }
}

/// A list of `items` and the number of further ones.
pub(crate) fn listed(items: &[String], more: usize) -> String {
    let list = items.join(", ");
    if more == 0 { list } else { format!("{list} and {more} more") }
}

/// The text, or its first `characters` characters and `…` if it is longer.
pub(crate) fn cut(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
