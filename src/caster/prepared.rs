//! Casts that are planned and compiled, and how they are bound to buffers.

use std::sync::Arc;

use super::slices::Sides;
use super::{Bound, Caster, Destination, Source};
use crate::gpu::record::Commands;
use crate::plan::{self, Dispatch, Offsets, Strided};
use crate::types::conversion::Conversion;
use crate::types::element::ElementType;
use crate::types::error::Error;
use crate::types::options::CastOptions;
use crate::types::spec::CastSpec;

/// A planned and compiled cast of a given length. It can be bound to buffers any number of times.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub(super) caster: Caster,
    pub(super) conversion: Conversion,
    /// The caller's options. Casts of host tensors keep only the conversion.
    pub(super) options: CastOptions,
    pub(super) len: u64,
    /// The view, if the elements do not lie one after the other.
    pub(super) view: Option<Strided>,
    /// The dispatches for slices of two buffers. [`Dispatch::moved`] says which slices they suit.
    pub(super) steps: Vec<ReadyDispatch>,
    pub(super) sentinel: Option<u32>,
    /// The caller's name for the cast.
    pub(super) label: Option<Arc<str>>,
}

/// A planned dispatch and its pipeline.
#[derive(Clone, Debug)]
pub(super) struct ReadyDispatch {
    pub(super) dispatch: Dispatch,
    pub(super) pipeline: wgpu::ComputePipeline,
}

impl Prepared {
    pub(super) fn new(
        caster: &Caster,
        conversion: Conversion,
        (len, view): (u64, Option<Strided>),
        steps: Vec<ReadyDispatch>,
        sentinel: Option<u32>,
    ) -> Self {
        let (caster, options) = (caster.clone(), CastOptions::default());
        Self { caster, conversion, options, len, view, steps, sentinel, label: None }
    }

    /// The number of dispatches, if the tensors lie in two buffers and are whole slices that start at multiples of the
    /// device's offset alignment. [`Bound::dispatches`] has those of other slices.
    pub fn dispatches(&self) -> u32 {
        self.steps.len() as u32
    }

    pub(super) fn with_options(self, options: CastOptions) -> Self {
        Self { options, ..self }
    }

    /// The types and options.
    pub fn spec(&self) -> CastSpec {
        CastSpec::new(self.conversion.from, self.conversion.to).with_options(self.options)
    }

    /// The number of elements.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether the cast has no elements. Such a cast can be bound to any slices, and records nothing.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// This cast with a name for profilers and for wgpu's error messages. Its compute pass and its bind groups get the
    /// name.
    #[must_use]
    pub fn with_label(self, label: &str) -> Self {
        Self { label: Some(label.into()), ..self }
    }

    /// The same cast with another sentinel. Only for a cast that has one.
    pub(crate) fn with_sentinel(&self, sentinel: u32) -> Self {
        assert!(self.sentinel.is_some());
        let mut prepared = Self { sentinel: Some(sentinel), ..self.clone() };
        if let Some(last) = prepared.steps.last_mut() {
            last.dispatch.params.sentinel = sentinel;
        }
        prepared
    }

    /// The size of the source in packed bytes. For a view, from the lowest to the highest element that is read.
    pub fn source_bytes(&self) -> u64 {
        self.bytes(self.conversion.from, self.source_len())
    }

    /// The number of elements of the source, from the lowest to the highest that is read.
    fn source_len(&self) -> u64 {
        self.view.map_or(self.len, |view| view.source_extent)
    }

    /// The number of elements of the destination, from the lowest to the highest that is written.
    fn destination_len(&self) -> u64 {
        self.view.map_or(self.len, |view| view.destination_extent)
    }

    /// The size of the destination in packed bytes. For a view, from the lowest to the highest element that is written.
    pub fn destination_bytes(&self) -> u64 {
        self.bytes(self.conversion.to, self.destination_len())
    }

    fn bytes(&self, element_type: ElementType, len: u64) -> u64 {
        // Planning has refused tensors whose size in bytes overflows.
        element_type.packed_bytes(len).unwrap_or(u64::MAX)
    }

    /// Checks the slices and creates the bind groups and parameters. The result can be recorded any number of times.
    ///
    /// Each slice contains the packed bytes of its tensor in the layout of [`Tensor`](crate::Tensor), or those of a
    /// larger tensor with the cast's tensor as a part: see [`Source`] and [`Destination`]. It starts at any multiple of
    /// the element's size; for types narrower than a byte, at any byte. The buffers need the usage STORAGE. No bit of
    /// the destination buffer outside the tensor's packed bytes changes, so other casts in the same pass can write next
    /// to it.
    ///
    /// Both slices may be in one buffer, and may overlap there as
    /// [`Placement::one_buffer`](crate::Placement::one_buffer) says. So a tensor can be cast without other memory: to
    /// narrower elements from its first byte on, or to wider ones that start where it starts or end where it ends. Such
    /// a cast takes some dispatches for each doubling of its length.
    ///
    /// If the slices are in two buffers and start at multiples of 16 bytes, the plan and the pipelines of
    /// [`prepare`](Caster::prepare) are used. Other slices are planned here, and the first of them compile further
    /// kernels.
    ///
    /// # Memory
    /// If the device has no immediates, and for views and counts, each dispatch has 48 bytes of parameters in a uniform
    /// buffer (64 with a count, 320 for views). They start at a multiple of the device's
    /// `min_uniform_buffer_offset_alignment`. Dispatches with equal parameters share them. Casts of one caster that are
    /// bound one after the other share a buffer of at most 16 KiB. When one of them is recorded, the buffer is unmapped
    /// and takes no further casts. So bind many casts before the first of them is recorded. A buffer is freed when the
    /// last cast in it is dropped.
    ///
    /// wgpu writes each of these buffers through a staging buffer of the same size. It keeps that one, with some
    /// kilobytes of its own, until a submission after the first recording is done. A cast that is recorded before the
    /// next one is bound has a buffer of its own, and so keeps these kilobytes for itself alone.
    ///
    /// # Errors
    /// [`CastFault::Slice`](crate::CastFault::Slice) and [`CastFault::Overlap`](crate::CastFault::Overlap) for invalid
    /// slices; [`CastFault::OutOfMemory`](crate::CastFault::OutOfMemory),
    /// [`CastFault::Kernel`](crate::CastFault::Kernel), [`CastFault::DeviceLost`](crate::CastFault::DeviceLost) and
    /// [`CastFault::Device`](crate::CastFault::Device) from the device;
    /// [`CastFault::Limit`](crate::CastFault::Limit) where these slices need more workgroups or dispatches than the
    /// device or a plan has. A buffer that was destroyed, or that belongs to
    /// another device of the same instance, is an invalid slice too; in a browser the device reports both later, in
    /// your error scope. A cast of no elements checks nothing.
    pub fn bind(&self, source: Source<'_>, destination: Destination<'_>) -> Result<Bound, Error> {
        if self.steps.is_empty() {
            return Ok(Bound::new(Vec::new(), false, None));
        }
        let sides = Sides::new(source, destination);
        let lens = [self.source_len(), self.destination_len()];
        let offsets = sides.offsets(&self.conversion, lens, self.sentinel.is_some(), self.view.is_none())?;
        let limits = &self.caster.settings.limits;
        let moved = |step: &ReadyDispatch| {
            let dispatch = step.dispatch.moved(offsets, limits)?;
            Some(ReadyDispatch { dispatch, pipeline: step.pipeline.clone() })
        };
        let steps = match self.steps.iter().map(moved).collect() {
            Some(steps) => steps,
            // These slices need other kernels, or a dispatch before the first whole unit.
            None => self.ready_at(offsets)?,
        };
        let commands = self.commands(&sides);
        let command = |step: ReadyDispatch| commands.single(step.pipeline, &step.dispatch);
        let commands = steps.into_iter().map(command).collect::<Result<_, _>>()?;
        let ordered = self.view.is_none() && offsets.in_order(&self.conversion, self.len);
        Ok(Bound::new(commands, ordered, self.label.clone()))
    }

    /// The common parts of this cast's commands.
    pub(super) fn commands<'a>(&'a self, sides: &Sides<'a>) -> Commands<'a> {
        let [source, destination] = sides.buffers();
        let (kernels, conversion, label) = (&self.caster.kernels, &self.conversion, self.label.as_deref());
        Commands { kernels, conversion, source, destination, offsets: sides.starts(), label }
    }

    /// Plans and compiles the cast for slices that the dispatches of `prepare` do not suit.
    fn ready_at(&self, offsets: Offsets) -> Result<Vec<ReadyDispatch>, Error> {
        let settings = &self.caster.settings;
        let dispatches = match &self.view {
            Some(view) => plan::plan_view(&self.conversion, view, offsets, settings)?,
            None => plan::plan(&self.conversion, self.len, offsets, settings, self.sentinel)?,
        };
        self.caster.compile(&self.conversion, &dispatches)
    }

    /// [`bind`](Self::bind) followed by [`Bound::record`].
    ///
    /// # Errors
    /// As [`bind`](Self::bind). After an error nothing is recorded.
    pub fn record(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        source: Source<'_>,
        destination: Destination<'_>,
    ) -> Result<(), Error> {
        self.bind(source, destination)?.record(encoder);
        Ok(())
    }
}
