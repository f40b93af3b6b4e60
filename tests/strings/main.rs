//! Casts from and to strings on the CPU path, from outside.
//!
//! * `rules`: what is a literal and what is not;
//! * `words`: special values and truth values;
//! * `tensors`: shapes, neighbours, long tensors, options;
//! * `errors`: which element an error names, and how;
//! * `integers`: exact truncation and low bits;
//! * `printing`: layout, and the proof that printed digits are the fewest and the closest;
//! * `golden`: texts that Python and numpy made;
//! * `literals`: hard decimals, checked by exact arithmetic (`decimal`).

mod decimal;
mod errors;
mod golden;
mod integers;
mod literals;
mod printing;
mod rules;
mod tensors;
mod words;

use support::numeric;
use wgpu_cast::{CastOptions, ElementType, Error, Tensor, cpu};

/// What may stand before and after a literal.
const WHITE_SPACE: [char; 6] = [' ', '\t', '\n', '\x0b', '\x0c', '\r'];

/// A STRING tensor of one axis.
fn strings<S: AsRef<str>>(texts: &[S]) -> Tensor {
    Tensor::from_strings([texts.len()], texts).unwrap()
}

/// The codes that texts become.
fn parse_with<S: AsRef<str>>(texts: &[S], to: ElementType, options: &CastOptions) -> Result<Vec<u64>, Error> {
    let result = cpu::cast(&strings(texts), to, options)?;
    assert_eq!((result.element_type(), result.shape()), (to, &[texts.len()][..]));
    Ok(result.codes().collect())
}

fn parse<S: AsRef<str>>(texts: &[S], to: ElementType) -> Result<Vec<u64>, Error> {
    parse_with(texts, to, &CastOptions::default())
}

/// The texts that codes become.
fn print(from: ElementType, codes: &[u64]) -> Vec<String> {
    let tensor = Tensor::from_codes(from, [codes.len()], codes.iter().copied()).unwrap();
    let result = cpu::cast(&tensor, ElementType::STRING, &CastOptions::default()).unwrap();
    assert_eq!((result.element_type(), result.shape()), (ElementType::STRING, &[codes.len()][..]));
    result.strings().unwrap().map(str::to_owned).collect()
}

/// The integer types but BOOL, with width and sign.
fn integers() -> impl Iterator<Item = (ElementType, u32, bool)> {
    numeric().filter_map(|t| {
        let name = t.name();
        let bits = name.strip_prefix("uint").or(name.strip_prefix("int"))?;
        Some((t, bits.parse().unwrap(), name.starts_with("int")))
    })
}

/// The float types, E8M0 among them.
fn floats() -> impl Iterator<Item = ElementType> {
    numeric().filter(|t| t.name().contains("float") || *t == ElementType::DOUBLE)
}

/// What an error shows of a text.
fn cut(text: &str) -> String {
    let more = text.chars().nth(40).map_or("", |_| "…");
    text.chars().take(40).collect::<String>() + more
}

/// Fails with the first few of the wrong cases.
fn none_wrong(wrong: &[String]) {
    let first = wrong.iter().take(10).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} wrong cases, the first are\n{first}", wrong.len());
}

/// A text for a message: what is long shows its ends.
fn shown(text: &str) -> String {
    let count = text.chars().count();
    let part = |from: usize, to: usize| text.chars().skip(from).take(to - from).collect::<String>();
    match count {
        ..=150 => format!("{text:?}"),
        _ => format!("{:?}...{:?} ({count} characters)", part(0, 90), part(count - 40, count)),
    }
}
