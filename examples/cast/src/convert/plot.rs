//! Draws what each tensor lost.

use svg::Document;
use svg::node::element::{Group, Rectangle, Text, Title};
use wgpu_cast::LossCounts;

use super::report::{TensorReport, told};
use crate::output::counted;

/// The most tensors that are drawn. A model may have any number.
const MOST_ROWS: usize = 500;

/// Sizes in pixels.
const ROW: usize = 18;
const COLUMN: usize = 150;
const MARGIN: usize = 10;
const HEAD: usize = 84;
/// The width of a letter, and the most letters of a name that are drawn.
const LETTER: usize = 7;
const MOST_LETTERS: usize = 60;
/// A field of the legend.
const LEGEND: usize = 72;

const INK: &str = "#24292f";
/// A colour of Okabe and Ito's palette, which colour-blind readers can distinguish.
const COLOUR: &str = "#0072b2";

/// A share of this or less is drawn in the lightest colour.
const LEAST_SHARE: f64 = 1e-6;

/// The shares of the legend.
const SHARES: [f64; 7] = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0];

/// A row of the table.
struct Row {
    name: String,
    /// The whole name, which is shown at the pointer.
    title: String,
    elements: u64,
    lost: LossCounts,
    relative_error: f64,
}

/// Draws the picture. It has a row for all tensors that were cast together and one for each of them. Its columns are
/// the number of values, each kind of loss that occurs, and the largest relative error. The darker a field is, the
/// larger is the share of the values.
pub fn draw(tensors: &[TensorReport]) -> String {
    let cast: Vec<_> = tensors.iter().filter(|tensor| tensor.to.is_some()).collect();
    let total = total(&cast);
    let columns: Vec<_> = total.lost.iter().filter(|(_, count)| *count > 0).map(|(name, _)| name).collect();
    let drawn = most_lost(&cast);
    let left_out = cast.len() - drawn.len();
    let rows: Vec<_> = std::iter::once(total).chain(drawn.into_iter().map(row)).collect();
    let letters = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0).max(20);
    let left = 2 * MARGIN + letters * LETTER;
    let least_width = 2 * MARGIN + SHARES.len() * LEGEND + 2 * COLUMN;
    let width = (left + (columns.len() + 2) * COLUMN + MARGIN).max(least_width);
    let mut picture = Document::new()
        .set("viewBox", (0, 0, width, HEAD + rows.len() * ROW + MARGIN))
        .set("width", width)
        .set("font-family", "sans-serif")
        .set("font-size", 11)
        .set("fill", INK)
        .add(Rectangle::new().set("width", "100%").set("height", "100%").set("fill", "#ffffff"));
    let what = match left_out {
        0 => format!("What the cast lost in {}", counted(cast.len() as u64, "tensor")),
        _ => format!("What the cast lost in {MOST_ROWS} of {} tensors: those with most losses", cast.len()),
    };
    picture = picture.add(text(what, MARGIN, 18).set("font-size", 13)).add(legend());
    let heads =
        std::iter::once("values").chain(columns.iter().map(|name| told(name))).chain(["largest relative error"]);
    for (index, name) in heads.enumerate() {
        picture = picture.add(text(name, left + index * COLUMN + COLUMN / 2, HEAD - 6).set("text-anchor", "middle"));
    }
    for (index, row) in rows.iter().enumerate() {
        let weight = if index == 0 { "bold" } else { "normal" };
        picture = picture.add(line(row, &columns, left, HEAD + index * ROW).set("font-weight", weight));
    }
    format!("{picture}\n")
}

/// What all tensors lost.
fn total(cast: &[&TensorReport]) -> Row {
    let name = "all tensors".to_owned();
    let mut total = Row { title: name.clone(), name, elements: 0, lost: LossCounts::default(), relative_error: 0.0 };
    for tensor in cast {
        total.elements = total.elements.saturating_add(tensor.elements());
        total.lost += tensor.lost.counts;
        total.relative_error = total.relative_error.max(tensor.lost.relative_error);
    }
    total
}

fn row(tensor: &TensorReport) -> Row {
    let title = tensor.shown_name();
    let (elements, lost) = (tensor.elements(), tensor.lost.counts);
    Row { name: clipped(&title), title, elements, lost, relative_error: tensor.lost.relative_error }
}

/// The tensors to draw, in their order: all of them, or those that lost most.
fn most_lost<'a>(cast: &[&'a TensorReport]) -> Vec<&'a TensorReport> {
    let mut order: Vec<usize> = (0..cast.len()).collect();
    order.sort_by_key(|&index| std::cmp::Reverse(cast[index].lost.counts.total()));
    order.truncate(MOST_ROWS);
    order.sort_unstable();
    order.into_iter().map(|index| cast[index]).collect()
}

/// A row of the table.
fn line(row: &Row, columns: &[&str], left: usize, top: usize) -> Group {
    let name = text(row.name.as_str(), MARGIN, top + ROW - 5).add(Title::new(row.title.as_str()));
    let mut line = Group::new().add(name).add(field(left, top, COLUMN, 0.0, grouped(row.elements)));
    for (column, name) in columns.iter().enumerate() {
        let count = row.lost.iter().find(|(other, _)| other == name).map_or(0, |(_, count)| count);
        let share = count as f64 / row.elements.max(1) as f64;
        let shown = if count == 0 { String::new() } else { format!("{} ({})", grouped(count), percent(share)) };
        line = line.add(field(left + (column + 1) * COLUMN, top, COLUMN, share, shown));
    }
    let error = format!("{:.2e}", row.relative_error);
    line.add(field(left + (columns.len() + 1) * COLUMN, top, COLUMN, 0.0, error))
}

/// The legend of the colours.
fn legend() -> Group {
    let top = 30;
    let mut legend = Group::new();
    for (index, share) in SHARES.into_iter().enumerate() {
        let shown = if index == 0 { format!("≤ {}", percent(share)) } else { percent(share) };
        legend = legend.add(field(MARGIN + index * LEGEND, top, LEGEND, share, shown));
    }
    legend.add(text("of the values of the tensor", 2 * MARGIN + SHARES.len() * LEGEND, top + ROW - 5))
}

/// A field of the table. Its colour shows the share on a logarithmic scale.
fn field(left: usize, top: usize, width: usize, share: f64, shown: String) -> Group {
    let depth = if share > 0.0 { 0.1 + 0.9 * (1.0 - share.log10() / LEAST_SHARE.log10()).max(0.0) } else { 0.0 };
    let area = Rectangle::new().set("x", left).set("y", top).set("width", width).set("height", ROW);
    let area = area.set("fill", COLOUR).set("fill-opacity", format!("{depth:.2}")).set("stroke", "#d0d7de");
    let ink = if depth > 0.8 { "#ffffff" } else { INK };
    let label = text(shown, left + width / 2, top + ROW - 5).set("text-anchor", "middle").set("fill", ink);
    Group::new().add(area).add(label)
}

fn text(content: impl Into<String>, x: usize, y: usize) -> Text {
    Text::new(content).set("x", x).set("y", y)
}

/// A number with commas between the thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let first = (digits.len() + 2) % 3 + 1;
    let (start, rest) = digits.split_at(first);
    rest.as_bytes().chunks(3).fold(start.to_owned(), |shown, group| shown + "," + &String::from_utf8_lossy(group))
}

/// A share in percent, with one or two digits. A share below 100 % is never shown as 100 %.
fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent {
        _ if share >= 1.0 => "100 %".to_owned(),
        99.5.. => "> 99 %".to_owned(),
        9.95.. => format!("{percent:.0} %"),
        0.95.. => format!("{percent:.1} %"),
        0.000_095.. => format!("{percent:.*} %", (-percent.log10()).ceil() as usize),
        _ => "< 0.0001 %".to_owned(),
    }
}

/// The end of a long name. The end tells tensors apart.
fn clipped(name: &str) -> String {
    let letters = name.chars().count();
    let name: String = name.chars().skip(letters.saturating_sub(MOST_LETTERS)).collect();
    if letters > MOST_LETTERS { format!("…{name}") } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_commas_and_shares_few_digits() {
        let numbers = [0, 12, 123, 1234, 123_456, 1_234_567, u64::MAX].map(grouped);
        assert_eq!(numbers, ["0", "12", "123", "1,234", "123,456", "1,234,567", "18,446,744,073,709,551,615"]);
        let shares = [1.0, 0.999_9, 0.42, 0.099_9, 0.012, 0.009_9, 0.001, 0.000_23, 1e-6, 9e-7].map(percent);
        let expected =
            ["100 %", "> 99 %", "42 %", "10 %", "1.2 %", "1.0 %", "0.1 %", "0.02 %", "0.0001 %", "< 0.0001 %"];
        assert_eq!(shares, expected);
    }
}
