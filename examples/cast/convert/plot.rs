//! Draws what each tensor lost.

use svg::Document;
use svg::node::element::{Group, Rectangle, Text, Title};
use wgpu_cast::LossCounts;

use super::report::{TensorReport, told};
use crate::output::counted;

/// The most tensors that are drawn, since a model may have any number.
const MOST_ROWS: usize = 500;

/// Sizes in pixels.
const ROW: usize = 18;
const COLUMN: usize = 150;
const MARGIN: usize = 10;
const HEAD: usize = 58;
/// The width of a letter, and the most letters of a name.
const LETTER: usize = 7;
const MOST_LETTERS: usize = 60;

const INK: &str = "#24292f";
/// A colour of Okabe and Ito's palette, which colour-blind readers can distinguish.
const COLOUR: &str = "#0072b2";

/// A share of this or less is drawn in the lightest colour.
const LEAST_SHARE: f64 = 1e-6;

/// The picture: a row for each tensor that was cast, a column for each kind of loss that occurs, and one for the largest
/// relative error. The darker a field, the larger the share of the tensor's elements.
pub fn draw(tensors: &[TensorReport]) -> String {
    let cast: Vec<_> = tensors.iter().filter(|tensor| tensor.to.is_some()).collect();
    let rows = most_lost(&cast);
    let sum = cast.iter().fold(LossCounts::default(), |mut sum, tensor| {
        sum += tensor.lost.counts;
        sum
    });
    let columns: Vec<_> = sum.iter().filter(|(_, count)| *count > 0).map(|(name, _)| name).collect();
    let names: Vec<_> = rows.iter().map(|tensor| clipped(&tensor.shown_name())).collect();
    let letters = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(20);
    let left = 2 * MARGIN + letters * LETTER;
    let width = (left + (columns.len() + 1) * COLUMN + MARGIN).max(640);
    let mut picture = Document::new()
        .set("viewBox", (0, 0, width, HEAD + rows.len() * ROW + MARGIN))
        .set("width", width)
        .set("font-family", "sans-serif")
        .set("font-size", 11)
        .set("fill", INK)
        .add(Rectangle::new().set("width", "100%").set("height", "100%").set("fill", "#ffffff"));
    let what = match cast.len() {
        all if all == rows.len() => format!("What the cast lost in {}", counted(all as u64, "tensor")),
        all => format!("What the cast lost in {MOST_ROWS} of {all} tensors: those with most losses"),
    };
    picture = picture.add(text(what, MARGIN, 18).set("font-size", 13));
    picture =
        picture.add(text("Fields: number of values; the darker, the larger their share of the tensor", MARGIN, 34));
    for (index, name) in columns.iter().map(|name| told(name)).chain(["relative error"]).enumerate() {
        picture = picture.add(text(name, left + index * COLUMN + COLUMN / 2, HEAD - 6).set("text-anchor", "middle"));
    }
    for (row, (tensor, name)) in rows.iter().zip(names).enumerate() {
        let top = HEAD + row * ROW;
        let full = text(name, MARGIN, top + ROW - 5).add(Title::new(tensor.shown_name()));
        picture = picture.add(full);
        for (column, name) in columns.iter().enumerate() {
            let count = tensor.lost.counts.iter().find(|(other, _)| other == name).map_or(0, |(_, count)| count);
            let share = count as f64 / tensor.elements().max(1) as f64;
            let shown = if count == 0 { String::new() } else { count.to_string() };
            picture = picture.add(field(left + column * COLUMN, top, share, shown));
        }
        let error = format!("{:.2e}", tensor.lost.relative_error);
        picture = picture.add(field(left + columns.len() * COLUMN, top, 0.0, error));
    }
    format!("{picture}\n")
}

/// The tensors to draw, in their order: all, or those that lost most.
fn most_lost<'a>(cast: &[&'a TensorReport]) -> Vec<&'a TensorReport> {
    let mut order: Vec<usize> = (0..cast.len()).collect();
    order.sort_by_key(|&index| std::cmp::Reverse(cast[index].lost.counts.total()));
    order.truncate(MOST_ROWS);
    order.sort_unstable();
    order.into_iter().map(|index| cast[index]).collect()
}

/// A field of the table. Its colour shows the share on a logarithmic scale.
fn field(left: usize, top: usize, share: f64, shown: String) -> Group {
    let depth = if share > 0.0 { 0.1 + 0.9 * (1.0 - share.log10() / LEAST_SHARE.log10()).max(0.0) } else { 0.0 };
    let area = Rectangle::new().set("x", left).set("y", top).set("width", COLUMN).set("height", ROW);
    let area = area.set("fill", COLOUR).set("fill-opacity", format!("{depth:.2}")).set("stroke", "#d0d7de");
    let ink = if depth > 0.5 { "#ffffff" } else { INK };
    let label = text(shown, left + COLUMN / 2, top + ROW - 5).set("text-anchor", "middle").set("fill", ink);
    Group::new().add(area).add(label)
}

fn text(content: impl Into<String>, x: usize, y: usize) -> Text {
    Text::new(content).set("x", x).set("y", y)
}

/// The end of a long name, which tells tensors apart.
fn clipped(name: &str) -> String {
    let letters = name.chars().count();
    let name: String = name.chars().skip(letters.saturating_sub(MOST_LETTERS)).collect();
    if letters > MOST_LETTERS { format!("…{name}") } else { name }
}
