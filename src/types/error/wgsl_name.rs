//! Names that WGSL does not take.

/// Says why the text is no identifier of ASCII characters; `None` if it is one.
pub(crate) fn fault_of_name(name: &str) -> Option<&'static str> {
    let letters = |c: char| c.is_ascii_alphanumeric() || c == '_';
    match name {
        "" => Some("it is empty"),
        "_" => Some("an underscore alone is no name"),
        _ if name.starts_with("__") => Some("names that start with two underscores are reserved"),
        _ if name.starts_with(|c: char| c.is_ascii_digit()) => Some("it starts with a digit"),
        _ if !name.chars().all(letters) => Some("only ASCII letters, digits and underscores are supported"),
        _ => None,
    }
}

/// Says why the text cannot be a name, or the first part of names.
pub(super) fn reason(name: &str, taken: bool) -> &'static str {
    match fault_of_name(name) {
        Some(fault) => fault,
        None if taken => {
            "an earlier function under the same prefix takes it for an array of other elements, or has the name that this \
             function would have"
        }
        None => "it ends with an underscore",
    }
}
