//! Views: elements of two tensors that correspond. Each side has a stride along each axis.

use super::limits::MOST_BYTES;
use crate::kernel::VIEW_RANK;
use crate::types::conversion::Conversion;
use crate::types::error::{CastFault, Error};
use crate::types::spec::CastSpec;

/// The shape of a strided cast, and where its elements lie on both sides.
///
/// Element `i, j, …` is `i * strides[0] + j * strides[1] + …` elements after element `0, 0, …`. A stride may be negative.
/// A stride of 0 repeats the elements of a source (broadcasting). Without strides, a side is dense: in row-major order.
///
/// A slice of a view starts at the lowest element that the cast reads or writes, and ends with the highest one. With
/// negative strides, the lowest element is not element `0, 0, …`. [`source_first`](Self::source_first) and
/// [`destination_first`](Self::destination_first) give the number of elements between the two.
///
/// The elements of a destination must not overlap. More strictly, with the axes sorted by their strides, each axis must
/// step over all elements of the axes with smaller strides. The axes of every tensor and of every part of a tensor do
/// so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct View<'a> {
    shape: &'a [u64],
    source: Option<&'a [i64]>,
    destination: Option<&'a [i64]>,
}

impl<'a> View<'a> {
    /// The most axes of a view that kernels take: 8. Axes of one element are left out before, and neighbouring axes
    /// that form one axis on both sides are merged.
    pub const MOST_AXES: usize = VIEW_RANK;

    /// A view that is dense on both sides.
    pub fn new(shape: &'a [u64]) -> Self {
        Self { shape, source: None, destination: None }
    }

    /// This view with strides of the source, in elements.
    #[must_use]
    pub fn with_source_strides(self, strides: &'a [i64]) -> Self {
        Self { source: Some(strides), ..self }
    }

    /// This view with strides of the destination, in elements. All bits of the destination outside the view's elements
    /// stay as they are. In a destination without strides, the unused bits of the last byte become zero.
    #[must_use]
    pub fn with_destination_strides(self, strides: &'a [i64]) -> Self {
        Self { destination: Some(strides), ..self }
    }

    /// The number of elements between the lowest element of the source that is read and element `0, 0, …`.
    pub fn source_first(&self) -> u64 {
        first(self.shape, self.source)
    }

    /// The number of elements between the lowest element of the destination that is written and element `0, 0, …`.
    pub fn destination_first(&self) -> u64 {
        first(self.shape, self.destination)
    }

    /// The number of elements from the lowest to the highest one that a cast of this view reads, and from the lowest to
    /// the highest one that it writes. Both are 0 if the view has no elements.
    ///
    /// # Errors
    /// As [`Plan::view`](crate::Plan::view) about strides and axes.
    pub fn extents(&self, spec: &CastSpec) -> Result<[u64; 2], Error> {
        let conversion = Conversion::new(spec.from, spec.to, &spec.options)?;
        let (strided, _) = Strided::new(self, &conversion)?;
        Ok([strided.source_extent, strided.destination_extent])
    }

    #[cfg(test)]
    pub(super) fn sides(&self) -> (Vec<i64>, Vec<i64>) {
        (self.strides(self.source).unwrap(), self.strides(self.destination).unwrap())
    }

    /// The strides of a side: those given, or those of a dense tensor.
    fn strides(&self, given: Option<&[i64]>) -> Option<Vec<i64>> {
        if let Some(strides) = given {
            return Some(strides.to_vec());
        }
        let mut step = 1i64;
        let mut strides = vec![0; self.shape.len()];
        for (stride, &size) in strides.iter_mut().zip(self.shape).rev() {
            *stride = step;
            step = step.checked_mul(i64::try_from(size).ok()?)?;
        }
        Some(strides)
    }
}

fn first(shape: &[u64], strides: Option<&[i64]>) -> u64 {
    let below = |(&size, &stride): (&u64, &i64)| size.saturating_sub(1).saturating_mul(stride.min(0).unsigned_abs());
    let empty = shape.contains(&0);
    let below = shape.iter().zip(strides.unwrap_or_default()).map(below);
    if empty { 0 } else { below.fold(0, u64::saturating_add) }
}

/// An axis of more than one element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Axis {
    pub size: u64,
    pub source: i64,
    pub destination: u64,
}

impl Axis {
    /// The distance from the first to the last element, in elements.
    pub(super) fn source_span(&self) -> u64 {
        (self.size - 1) * self.source.unsigned_abs()
    }

    pub(super) fn destination_span(&self) -> u64 {
        (self.size - 1) * self.destination
    }
}

/// A view whose elements are in the order of the destination. It has as few axes as possible. Each axis steps over all
/// elements of the axes after it, and all strides of the destination are positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Strided {
    axes: [Axis; VIEW_RANK],
    rank: usize,
    /// The place of the first element in the source, counted from the lowest element.
    pub source_first: u64,
    /// The number of elements from the lowest to the highest, on each side.
    pub source_extent: u64,
    pub destination_extent: u64,
    /// Whether the rest of the last element's byte becomes zero.
    pub pads: bool,
}

impl Strided {
    /// The view in the order of its destination, and its number of elements.
    pub(crate) fn new(view: &View<'_>, conversion: &Conversion) -> Result<(Self, u64), Error> {
        let invalid = |axis| conversion.error(CastFault::Strides { axis });
        let exceeds = |limit, needed, allowed| conversion.error(CastFault::Limit { limit, needed, allowed });
        let shape = view.shape;
        if [view.source, view.destination].iter().flatten().any(|strides| strides.len() != shape.len()) {
            return Err(invalid(None));
        }
        let pads = view.destination.is_none();
        let empty =
            Self { axes: Default::default(), rank: 0, source_first: 0, source_extent: 0, destination_extent: 0, pads };
        if shape.contains(&0) {
            return Ok((empty, 0));
        }
        let overflow = || exceeds("max_buffer_size", u64::MAX, MOST_BYTES);
        let source = view.strides(view.source).ok_or_else(overflow)?;
        let destination = view.strides(view.destination).ok_or_else(overflow)?;
        let (mut elements, mut axes) = (1u64, Vec::<(Axis, usize)>::new());
        let (mut source_first, mut source_last, mut destination_last) = (0u64, 0u64, 0u64);
        for (index, &size) in shape.iter().enumerate().filter(|(_, size)| **size > 1) {
            elements = elements.checked_mul(size).ok_or_else(overflow)?;
            if destination[index] == 0 {
                return Err(invalid(Some(index)));
            }
            // An axis that runs backwards on both sides casts the same elements as one that runs forwards.
            let forwards = if destination[index] < 0 { source[index].checked_neg() } else { Some(source[index]) };
            let axis =
                Axis { size, source: forwards.ok_or_else(overflow)?, destination: destination[index].unsigned_abs() };
            let span = |stride: u64| {
                (size - 1).checked_mul(stride).filter(|&span| i64::try_from(span).is_ok()).ok_or_else(overflow)
            };
            let (source_span, destination_span) = (span(axis.source.unsigned_abs())?, span(axis.destination)?);
            let end = if axis.source < 0 { &mut source_first } else { &mut source_last };
            *end = end.checked_add(source_span).ok_or_else(overflow)?;
            destination_last = destination_last.checked_add(destination_span).ok_or_else(overflow)?;
            // In the order of the strides, the largest first. There are less than 64 axes, or their elements overflow.
            let place = axes.partition_point(|(known, _)| known.destination >= axis.destination);
            axes.insert(place, (axis, index));
        }
        let source_last = source_first.checked_add(source_last).filter(|&last| i64::try_from(last).is_ok());
        let source_extent = source_last.ok_or_else(overflow)? + 1;
        let mut inner = 0u64;
        for (axis, index) in axes.iter().rev() {
            if axis.destination <= inner {
                return Err(invalid(Some(*index)));
            }
            inner += axis.destination_span();
        }
        let axes = merged(axes.into_iter().map(|(axis, _)| axis));
        if axes.len() > VIEW_RANK {
            return Err(exceeds("View::MOST_AXES", axes.len() as u64, VIEW_RANK as u64));
        }
        let mut strided = Self { source_first, source_extent, destination_extent: destination_last + 1, ..empty };
        strided.rank = axes.len();
        strided.axes[..axes.len()].copy_from_slice(&axes);
        Ok((strided, elements))
    }

    /// The axes, the one with the largest stride in the destination first.
    pub(crate) fn axes(&self) -> &[Axis] {
        &self.axes[..self.rank]
    }

    /// Whether the elements lie one after the other on both sides, so that no view is needed. `bits` is the width of
    /// the destination's codes. It matters because kernels without views set the last byte's unused bits to zero.
    pub(crate) fn is_dense(&self, bits: u32) -> bool {
        let dense = match self.axes() {
            [] => true,
            [axis] => (axis.source, axis.destination) == (1, 1),
            _ => false,
        };
        dense && (self.pads || (self.destination_extent % 8 * u64::from(bits)).is_multiple_of(8))
    }
}

/// The axes of a view, after neighbours that form one axis on both sides were merged.
fn merged(axes: impl DoubleEndedIterator<Item = Axis>) -> Vec<Axis> {
    let mut merged: Vec<Axis> = Vec::new();
    for axis in axes.rev() {
        match merged.last_mut() {
            Some(inner)
                if axis.destination == inner.destination.wrapping_mul(inner.size)
                    && i128::from(axis.source) == i128::from(inner.source) * i128::from(inner.size) =>
            {
                inner.size *= axis.size;
            }
            _ => merged.push(axis),
        }
    }
    merged.reverse();
    merged
}
