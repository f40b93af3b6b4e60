//! The page in a browser describes losses in the words of the program.

/// Names and words of a table in the text, from this line to the next one that starts with `end`.
fn table<'a>(text: &'a str, start: &str, end: &str, quote: char) -> Vec<(&'a str, &'a str)> {
    let rows =
        text.lines().skip_while(|line| !line.starts_with(start)).skip(1).take_while(|line| !line.starts_with(end));
    let word = |text: &'a str| text.trim_matches(|letter: char| " (),:".contains(letter) || letter == quote);
    rows.map(|row| row.split_once([',', ':']).map_or(("", ""), |(name, told)| (word(name), word(told)))).collect()
}

#[test]
fn the_page_tells_losses_in_the_program_s_words() {
    let program = include_str!("../../examples/cast/src/convert/report.rs");
    let page = std::fs::read_to_string("integrations/browser/page/views/losses.js").unwrap();
    let told = table(program, "const TOLD", "];", '"');
    assert_eq!(told.len(), wgpu_cast::LossCounts::default().iter().count(), "{told:?}");
    assert_eq!(table(&page, "export const TOLD", "};", '\''), told);
}
