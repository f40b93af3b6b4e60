//! The bits of a buffer that the elements of a cast occupy on one side, and whether two casts have a bit in common.

use crate::plan::dispatch::Offsets;
use crate::plan::measures::gcd;
use crate::plan::view::Strided;
use crate::types::conversion::Conversion;

/// The most steps of a search for a bit that two views share. Views of tensors take a few steps. If a search takes more
/// than this number, the views count as sharing a bit.
const MOST_STEPS: u32 = 1 << 12;

/// The bits of a buffer that hold elements: a run of bits, or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Places {
    start: u64,
    end: u64,
    /// `None` if the bits are one run. Lists of casts are long and few of them have views, so this takes only a
    /// pointer.
    runs: Option<Box<Runs>>,
}

/// A run of bits, repeated along axes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Runs {
    run: u64,
    /// The axes with at least two repetitions, the one with the largest stride first.
    axes: Vec<Repeated>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Repeated {
    /// In bits.
    stride: u64,
    size: u64,
}

impl Repeated {
    fn span(&self) -> u64 {
        self.stride * (self.size - 1)
    }
}

impl Places {
    /// Consecutive bits.
    pub(crate) fn run(start: u64, bits: u64) -> Self {
        Self { start, end: start + bits, runs: None }
    }

    /// The bits that a cast of `elements` reads, and those that it writes.
    pub(crate) fn of_elements(conversion: &Conversion, elements: u64, offsets: &Offsets) -> [Self; 2] {
        let [from, to] = code_bits(conversion);
        let (source, end) = (offsets.source, offsets.destination_end(to, elements));
        [Self::run(source, elements * from), Self::run(offsets.destination, end - offsets.destination)]
    }

    /// The bits that the cast of a view reads, and those that it writes.
    pub(crate) fn of_view(conversion: &Conversion, view: &Strided, offsets: &Offsets) -> [Self; 2] {
        let [from, to] = code_bits(conversion);
        let axes = view.axes();
        let source = axes.iter().map(|axis| (axis.source.unsigned_abs(), axis.size));
        let destination = axes.iter().map(|axis| (axis.destination, axis.size));
        let mut written = Self::repeated(offsets.destination, to, destination);
        if view.pads {
            // A dense side is one run.
            written.end = offsets.destination_end(to, view.destination_extent);
        }
        [Self::repeated(offsets.source, from, source), written]
    }

    /// Codes of `bits` bits along axes. The strides are in elements.
    pub(in crate::plan) fn repeated(start: u64, bits: u64, axes: impl Iterator<Item = (u64, u64)>) -> Self {
        let axes = axes.map(|(stride, size)| Repeated { stride: stride * bits, size });
        let mut axes: Vec<_> = axes.filter(|axis| axis.stride > 0).collect();
        axes.sort_by_key(|axis| std::cmp::Reverse(axis.stride));
        let mut run = bits;
        while let Some(inner) = axes.pop_if(|inner| inner.stride <= run) {
            run += inner.span();
        }
        let end = start + run + axes.iter().map(Repeated::span).sum::<u64>();
        let runs = (!axes.is_empty()).then(|| Box::new(Runs { run, axes }));
        Self { start, end, runs }
    }

    /// The first bit.
    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    /// The bit after the last.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// The bytes from the one with the first bit to the one with the last.
    pub(crate) fn bytes(&self) -> std::ops::Range<u64> {
        self.start / 8..self.end.div_ceil(8)
    }

    /// Whether two places have a bit in common. If the strides of views make the search too long, the answer is yes.
    pub(crate) fn meet(&self, other: &Self) -> bool {
        let (overlap, runs) = (self.start < other.end && other.start < self.end, (&self.runs, &other.runs));
        overlap && (runs == (&None, &None) || self.part().meets(other.part(), &mut MOST_STEPS.clone()))
    }

    fn part(&self) -> Part<'_> {
        let (run, axes) =
            self.runs.as_ref().map_or((self.end - self.start, &[][..]), |runs| (runs.run, &runs.axes[..]));
        // Buffers have fewer than 2⁶³ bits.
        Part { start: self.start as i64, run: run as i64, axes }
    }
}

/// A part of places: the repetitions along some of the axes.
#[derive(Clone, Copy)]
struct Part<'a> {
    start: i64,
    run: i64,
    axes: &'a [Repeated],
}

impl<'a> Part<'a> {
    fn end(&self) -> i64 {
        self.start + self.run + self.axes.iter().map(Repeated::span).sum::<u64>() as i64
    }

    /// The outermost axis, and its first repetition.
    fn outer(self) -> Option<(Repeated, Self)> {
        let (outer, axes) = self.axes.split_first()?;
        Some((*outer, Self { axes, ..self }))
    }

    fn moved(self, by: i64) -> Self {
        Self { start: self.start + by, ..self }
    }

    fn meets(self, other: Part<'a>, steps: &mut u32) -> bool {
        if self.end() <= other.start || other.end() <= self.start || self.is_between(other) {
            return false;
        }
        if *steps == 0 {
            return true;
        }
        *steps -= 1;
        match (self.outer(), other.outer()) {
            (None, None) => true,
            (Some((axis, first)), Some((same, others))) if axis.stride == same.stride => {
                // Only the distance between two repetitions matters.
                let distances = 1 - axis.size as i64..=same.size as i64 - 1;
                let mut near = near(others, same.stride, distances, first);
                near.any(|distance| first.meets(others.moved(distance), steps))
            }
            (Some((axis, first)), others) if others.is_none_or(|(other, _)| other.stride < axis.stride) => {
                let mut near = near(first, axis.stride, 0..=axis.size as i64 - 1, other);
                near.any(|distance| first.moved(distance).meets(other, steps))
            }
            _ => other.meets(self, steps),
        }
    }

    /// Whether the runs of one part lie between those of the other. This is shown by a common divisor of all strides:
    /// modulo it, the runs of both parts do not overlap.
    fn is_between(self, other: Part<'a>) -> bool {
        let divisor = self.axes.iter().chain(other.axes).fold(0, |divisor, axis| gcd(axis.stride, divisor)) as i64;
        if divisor == 0 {
            return false;
        }
        let distance = (other.start - self.start).rem_euclid(divisor);
        distance >= self.run && distance + other.run <= divisor
    }
}

/// The distances of the repetitions of `part`, among those with these numbers, that reach to where `other` lies.
fn near(
    part: Part<'_>,
    stride: u64,
    numbers: std::ops::RangeInclusive<i64>,
    other: Part<'_>,
) -> impl Iterator<Item = i64> {
    let stride = stride as i64;
    let (below, above) = (other.start - part.end(), other.end() - part.start);
    let first = below.div_euclid(stride) + 1;
    let last = (above - 1).div_euclid(stride);
    (first.max(*numbers.start())..=last.min(*numbers.end())).map(move |number| number * stride)
}

fn code_bits(conversion: &Conversion) -> [u64; 2] {
    [conversion.from, conversion.to].map(|element_type| u64::from(element_type.code_bits()))
}
