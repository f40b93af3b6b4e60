//! What tests, benches and integrations share. It is a crate of its own, so that each part is compiled once.
//!
//! The package of the program depends on published packages only. So that package has the files that its commands
//! `verify`, `bench` and `shader` need, and this crate includes them.

#[cfg(feature = "wgpu")]
pub mod adapter;
pub mod arguments;
pub mod bits;
#[cfg(feature = "wgpu")]
pub mod buffers;
pub mod cases;
#[path = "../../../examples/cast/src/checks/mod.rs"]
mod checks;
#[cfg(feature = "wgpu")]
#[path = "../../../examples/cast/src/bench/clock.rs"]
pub mod clock;
pub mod decoders;
pub mod faulty_driver;
pub mod golden;
pub mod models;
pub mod oracle;
pub mod planned;
pub mod random;
pub mod shapes;
pub mod texts;
pub mod tier;
#[cfg(feature = "translate")]
#[path = "../../../examples/cast/src/translate.rs"]
pub mod translate;
pub mod unrolled;
mod untested;

pub use checks::{checksums, inputs, numeric, options, two_words, verify};
pub use untested::not_tested;

use std::collections::BTreeSet;

use oracle::{Oracle, Round, Rules};
use wgpu_cast::{CastOptions, ElementType, Float4Nan, Int4Overflow, RoundMode, Side};

/// A pair of types for each pair of widths. The types vary. These pairs are for tests of what depends on nothing but
/// the widths: compiling the kernels of all pairs takes minutes.
pub fn pairs_of_widths() -> Vec<(ElementType, ElementType)> {
    let widths: BTreeSet<_> = numeric().map(|t| t.bits().unwrap()).collect();
    let pick = |width, index: usize| {
        let all: Vec<_> = numeric().filter(|t| t.bits() == Some(width)).collect();
        all[index % all.len()]
    };
    let pairs = widths.iter().enumerate().flat_map(|from| widths.iter().enumerate().map(move |to| (from, to)));
    pairs.map(|((i, from), (j, to))| (pick(*from, j), pick(*to, i))).collect()
}

/// The independent oracle of a pair under some options.
pub fn oracle(from: ElementType, to: ElementType, options: &CastOptions) -> Oracle {
    let round_mode = match options.round_mode {
        RoundMode::Up => Round::Up,
        RoundMode::Down => Round::Down,
        RoundMode::Nearest => Round::Nearest,
        other => panic!("the oracle does not know the round mode {other:?}"),
    };
    let rules = Rules {
        saturate: options.saturate,
        round_mode,
        int4_clamp: options.int4_overflow == Int4Overflow::Clamp,
        float4_nan_max: options.float4_nan == Float4Nan::Max,
    };
    Oracle::new(from.name(), to.name(), rules)
}

/// The text of an error's variant as `{:?}`. Such variants cannot be made outside the crate.
#[macro_export]
macro_rules! variant {
    ($variant:ident { $($field:ident $(: $value:expr)?),* $(,)? }) => {
        $crate::variant(stringify!($variant), &[$((stringify!($field), &$crate::value!($field $(, $value)?) as &dyn std::fmt::Debug)),*])
    };
}

/// A field's value: the expression after the colon, or the variable of its name.
#[macro_export]
macro_rules! value {
    ($field:ident) => {
        $field
    };
    ($field:ident, $value:expr) => {
        $value
    };
}

/// Asserts that an error is this variant with exactly these fields.
#[macro_export]
macro_rules! assert_error {
    ($error:expr, $variant:ident { $($fields:tt)* } $(, $($context:tt)+)?) => {
        assert_eq!(format!("{:?}", $error), $crate::variant!($variant { $($fields)* }) $(, $($context)+)?)
    };
}

/// Asserts that an error is one of the cast `[from, to]`, with exactly this cause.
#[macro_export]
macro_rules! assert_fault {
    ($error:expr, $types:expr, $variant:ident { $($fields:tt)* } $(, $($context:tt)+)?) => {
        assert_eq!(
            format!("{:?}", $error),
            $crate::cast_error($types, $crate::variant!($variant { $($fields)* }))
            $(, $($context)+)?
        )
    };
}

/// The text that an error of a cast has as `{:?}`, from that of its cause.
pub fn cast_error([from, to]: [ElementType; 2], cause: impl std::fmt::Display) -> String {
    format!("Cast {{ from: {from:?}, to: {to:?}, entry: None, cause: {cause} }}")
}

/// As [`cast_error`], for a slice of `side`, or for the number of elements if there is no side. `fault` is the text of
/// the slice's fault.
pub fn slice_error(types: [ElementType; 2], side: Option<Side>, offset: u64, fault: impl std::fmt::Display) -> String {
    cast_error(types, format_args!("Slice {{ side: {side:?}, offset: {offset}, fault: {fault} }}"))
}

/// As [`cast_error`], for two ranges of a buffer that overlap, each with its entry in a list.
pub fn overlap_error(
    types: [ElementType; 2],
    ranges: [(Option<usize>, Option<Side>, std::ops::Range<u64>); 2],
    is_view: bool,
) -> String {
    let [one, other] = ranges
        .map(|(entry, side, bytes)| format!("BufferRange {{ entry: {entry:?}, side: {side:?}, bytes: {bytes:?} }}"));
    cast_error(types, format_args!("Overlap {{ ranges: [{one}, {other}], is_view: {is_view} }}"))
}

/// See [`variant!`].
pub fn variant(name: &str, fields: &[(&str, &dyn std::fmt::Debug)]) -> String {
    struct Variant<'a>(&'a str, &'a [(&'a str, &'a dyn std::fmt::Debug)]);
    impl std::fmt::Debug for Variant<'_> {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            self.1.iter().fold(&mut f.debug_struct(self.0), |text, (name, value)| text.field(name, value)).finish()
        }
    }
    format!("{:?}", Variant(name, fields))
}
