//! The files of `shaders/`: fragments of WGSL.

macro_rules! fragments {
    ($($name:literal)*) => {
        /// Every file of `shaders/`, by its path there without the ending, in alphabetical order.
        pub(super) const FRAGMENTS: &[(&str, &str)] =
            &[$(($name, text!(include_str!(concat!("../../shaders/", $name, ".wgsl")))),)*];
    };
}

#[cfg(feature = "kernel-comments")]
macro_rules! text {
    ($text:expr) => {
        $text
    };
}

/// The text without comments, so that the program does not contain them.
#[cfg(not(feature = "kernel-comments"))]
macro_rules! text {
    ($text:expr) => {{
        const TEXT: &str = $text;
        const LINES: ([u8; TEXT.len()], usize) = without_comments(TEXT);
        const BYTES: [u8; LINES.1] = first(&LINES.0);
        match std::str::from_utf8(&BYTES) {
            Ok(text) => text,
            Err(_) => panic!("the text of a fragment is cut within a character"),
        }
    }};
}

fragments! {
    "decode/bool" "decode/e8m0" "decode/float" "decode/int" "encode/bool" "encode/clamp_infinity" "encode/e8m0"
    "encode/f32" "encode/f32_to_f64" "encode/f64_high_to_e8m0" "encode/f64_to_f32" "encode/float4"
    "encode/float_higher_bias" "encode/float_is_nonzero" "encode/float_lower_bias" "encode/float_lower_bias_apart"
    "encode/float_lower_bias_sticky" "encode/float_same_bias" "encode/float_to_e8m0" "encode/int" "encode/int64"
    "encode/integer" "encode/integer_to_e8m0" "encode/integer_to_f32" "encode/integer_to_f64"
    "encode/integer_to_float" "entry/count" "entry/count_writable" "entry/edge_lanes" "entry/edge_words" "entry/lanes" "entry/load_pair"
    "entry/load_word" "entry/params" "entry/params_counted" "entry/params_immediate" "entry/params_table" "entry/params_uniform" "entry/separate" "entry/shared" "entry/store_pair"
    "entry/store_word" "entry/together_lanes" "entry/together_words" "entry/view" "entry/view_all_axes"
    "entry/view_block" "entry/view_blocks" "entry/view_cell" "entry/view_cells" "entry/view_ends" "entry/view_few_axes"
    "entry/view_lanes" "entry/view_pair"
    "entry/view_params" "entry/view_rows" "entry/view_tile_lanes" "entry/view_tile_words" "entry/view_tiles" "entry/view_windows"
    "entry/view_word" "entry/view_words" "entry/writable" "hub/f64_high_word" "hub/split_f32" "hub/split_f64" "hub/split_float"
    "hub/split_int" "hub/split_int64" "lib/integer" "lib/negate" "lib/normalize" "lib/pack_float" "lib/round"
    "lib/significand" "value/float"
}

/// The lines of a text that are no comments for a reader, and the number of their bytes. The comments that name other
/// fragments and constants stay.
#[cfg(any(test, not(feature = "kernel-comments")))]
const fn without_comments<const LENGTH: usize>(text: &str) -> ([u8; LENGTH], usize) {
    let (text, mut lines, mut length) = (text.as_bytes(), [0; LENGTH], 0);
    let mut start = 0;
    while start < text.len() {
        let mut end = start;
        while end < text.len() && text[end] != b'\n' {
            end += 1;
        }
        let mut word = start;
        while word < end && text[word] == b' ' {
            word += 1;
        }
        let is_read = has(text, start, b"//:use ") || has(text, start, b"// reads: ");
        if is_read || !has(text, word, b"//") {
            while start < end {
                lines[length] = text[start];
                (length, start) = (length + 1, start + 1);
            }
            if end < text.len() {
                lines[length] = b'\n';
                length += 1;
            }
        }
        start = end + 1;
    }
    (lines, length)
}

/// Whether a text has these bytes at a place.
#[cfg(any(test, not(feature = "kernel-comments")))]
const fn has(text: &[u8], at: usize, bytes: &[u8]) -> bool {
    let mut i = 0;
    while i < bytes.len() && at + i < text.len() && text[at + i] == bytes[i] {
        i += 1;
    }
    i == bytes.len()
}

/// The first bytes of an array.
#[cfg(not(feature = "kernel-comments"))]
const fn first<const LENGTH: usize>(all: &[u8]) -> [u8; LENGTH] {
    let (mut bytes, mut i) = ([0; LENGTH], 0);
    while i < LENGTH {
        bytes[i] = all[i];
        i += 1;
    }
    bytes
}

/// The name and the text of the fragment with this name.
pub(crate) fn fragment(name: &str) -> (&'static str, &'static str) {
    *FRAGMENTS.iter().find(|(known, _)| *known == name).expect("a file of shaders/")
}

/// The names in a fragment's `//:use` lines: the fragments that it uses.
pub(crate) fn used(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| line.strip_prefix("//:use "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_left_out_but_for_those_that_name_fragments_and_constants() {
        let text =
            "// a.wgsl — a file\n// reads: A\n//:use lib/b\n\n// A fact.\nfn a() { // here\n    // é\n    b();\n}\n//";
        let (lines, length) = without_comments::<200>(text);
        let expected = "// reads: A\n//:use lib/b\n\nfn a() { // here\n    b();\n}\n";
        assert_eq!(std::str::from_utf8(&lines[..length]), Ok(expected));
    }
}
