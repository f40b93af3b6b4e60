//! Views of the source with a stride along each axis.

use super::measures::Measures;
use super::{Dispatch, Offsets, Params, PlanSettings};
use crate::conversion::Conversion;
use crate::error::Error;
use crate::kernel::{KernelKind, VIEW_RANK as RANK};

/// A view of the source: its elements in row-major order of `shape`, each at the sum of index times stride.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct View {
    /// The sizes of the axes, after leading axes of one element.
    pub shape: [u32; RANK],
    pub strides: [u32; RANK],
    /// Elements from the first to the last that is read.
    pub extent: u64,
}

impl View {
    /// The view, and how many elements it has; `None` where 32 bits do not count its elements or their offsets.
    pub(crate) fn new(shape: &[u64], strides: &[u64]) -> Option<(Self, u64)> {
        let mut view = Self { shape: [1; RANK], strides: [0; RANK], extent: 1 };
        let (mut elements, mut last) = (1u64, 0u64);
        for (axis, (&size, &stride)) in shape.iter().zip(strides).enumerate() {
            elements = elements.checked_mul(size)?;
            last = last.checked_add(size.saturating_sub(1).checked_mul(stride)?)?;
            let axis = RANK - shape.len() + axis;
            view.shape[axis] = u32::try_from(size).ok()?;
            // The stride of an axis of one element is not used.
            view.strides[axis] = if size > 1 { u32::try_from(stride).ok()? } else { 0 };
        }
        view.extent = last + 1;
        (elements <= u32::MAX.into() && view.extent <= u32::MAX.into()).then_some((view, elements))
    }

    /// Whether the elements lie one after the other in their order.
    pub(crate) fn is_dense(&self) -> bool {
        let mut step = 1;
        let axes = self.shape.iter().zip(&self.strides).rev();
        axes.fold(true, |dense, (&size, &stride)| {
            let fits = size == 1 || u64::from(stride) == step;
            step *= u64::from(size);
            dense && fits
        })
    }
}

/// The dispatches that cast a view of `elements` elements, at least one, to a dense destination.
pub(crate) fn plan_view(
    conversion: &Conversion,
    view: &View,
    elements: u64,
    offsets: Offsets,
    settings: &PlanSettings,
) -> Result<Vec<Dispatch>, Error> {
    let measures = Measures::new(conversion, offsets, settings);
    measures.check_workgroups([1, 1])?;
    let limits = &settings.limits;
    let whole = measures.range(offsets.source, measures.source_bits, 0, view.extent);
    let fits = |needed: u64| {
        let (from, to, limit, allowed) =
            (conversion.from, conversion.to, "max_storage_buffer_binding_size", limits.binding_size);
        if needed > allowed { Err(Error::Limit { from, to, limit, needed, allowed }) } else { Ok(()) }
    };
    fits(whole.size)?;
    let mut dispatches = Vec::new();
    let chunk =
        measures.edge_chunk.min(settings.tuning.dispatch_elements / measures.step * measures.step).max(measures.step);
    let mut start = 0;
    while start < elements {
        let count = chunk.min(elements - start);
        let mut dispatch = measures.edge(start, count, None);
        let bindings = measures.bind(
            whole,
            measures.range(offsets.destination, measures.destination_bits, start, count),
            start,
            0,
        );
        fits(bindings.destination.size)?;
        dispatch.kind = KernelKind::Strided;
        (dispatch.access, dispatch.source, dispatch.destination) =
            (bindings.access, bindings.source, bindings.destination);
        let Params { count, pitch, destination_end, .. } = dispatch.params;
        let (shape, strides) = (view.shape, view.strides);
        dispatch.params =
            Params { count, pitch, destination_end, first: start as u32, shape, strides, ..bindings.params };
        dispatches.push(dispatch);
        start += u64::from(count);
    }
    dispatches.iter().try_for_each(|dispatch| measures.check_workgroups(dispatch.workgroups))?;
    Ok(dispatches)
}
