//! Texts from outside, such as names from files, in the form in which they are shown to people.

/// The most characters of a name that are shown.
const LONGEST_NAME: usize = 200;

/// A name from a file as it is shown to people: without control characters, and cut if it is very long.
pub fn printable(name: &str) -> String {
    cut(&escaped(name), LONGEST_NAME)
}

/// The text with its control characters as escapes of JSON, so that JSON stays valid.
pub fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' => shown += "\\n",
            '\r' => shown += "\\r",
            '\t' => shown += "\\t",
            _ if is_control(letter) => shown += &format!("\\u{:04x}", u32::from(letter)),
            _ => shown.push(letter),
        }
    }
    shown
}

/// Whether a terminal or an editor obeys the character: controls, those of the direction of text, and line ends.
fn is_control(letter: char) -> bool {
    let is_directional =
        matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    letter.is_control() || is_directional || matches!(letter, '\u{2028}' | '\u{2029}')
}

/// Both ends of a long text, which tell names apart, with the number of characters between them.
pub fn cut(text: &str, longest: usize) -> String {
    let letters = text.chars().count();
    if letters <= longest {
        return text.to_owned();
    }
    let side = longest / 2;
    let start: String = text.chars().take(side).collect();
    let end: String = text.chars().skip(letters - side).collect();
    format!("{start}…({} characters)…{end}", letters - 2 * side)
}
