//! Many casts of one spec as few dispatches.

use std::sync::Arc;

use super::counted::Count;
use super::entries::{Elements, Entry, Planned};
use super::slices::Sides;
use super::{Bound, Caster, Destination, Source};
use crate::plan::{Strided, View};
use crate::types::conversion::Conversion;
use crate::types::error::Error;
use crate::types::spec::CastSpec;

impl Caster {
    /// Plans, compiles and binds many casts, such as those of the weights of a model. Each has a source, a destination
    /// and a number of elements. The results are those of [`prepare`](Self::prepare) and
    /// [`bind`](crate::Prepared::bind) for each cast. But casts between the same buffers share dispatches, as far as
    /// one binding of each buffer holds their slices. So this suits casts of small tensors in large buffers.
    ///
    /// The order of the casts is not defined: none may read or write what another one writes. They may write different
    /// elements of one byte, and several may read one source. The first casts of this kind compile kernels of their
    /// own, unless [`warm_up_many`](Self::warm_up_many) did.
    ///
    /// This is the short form of [`many`](Self::many), which also takes views, counts on the device and a label.
    ///
    /// # Errors
    /// As [`Many::bind`], and [`CastFault::NoKernel`](crate::CastFault::NoKernel) if [`has_kernel`](crate::has_kernel)
    /// is false. After an error nothing is bound.
    pub fn bind_many<'a>(
        &self,
        spec: &CastSpec,
        casts: impl IntoIterator<Item = (Source<'a>, Destination<'a>, u64)>,
    ) -> Result<Bound, Error> {
        let conversion = Conversion::new(spec.from, spec.to, &spec.options)?;
        let entries = casts.into_iter().map(|(source, destination, len)| Entry {
            sides: Sides::new(source, destination),
            elements: Elements::Dense(len),
        });
        Planned::new(self, &conversion, entries)?.check_overlaps()?.bind(None)
    }

    /// An empty list of casts, to be bound together as [`bind_many`](Self::bind_many) does.
    ///
    /// ```
    /// # fn main() -> Result<(), wgpu_cast::Error> {
    /// # use wgpu_cast::{Context, DeviceChoice};
    /// # let Ok(context) = pollster::block_on(Context::open(DeviceChoice::Gpu)) else { return Ok(()) };
    /// # let (Some(device), Some(queue), Some(caster)) = (context.device(), context.queue(), context.caster()) else { return Ok(()) };
    /// # let buffer = |size| {
    /// #     let usage = wgpu_cast::wgpu::BufferUsages::STORAGE;
    /// #     device.create_buffer(&wgpu_cast::wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
    /// # };
    /// # let (weights, results, count) = (buffer(8192), buffer(8192), buffer(4));
    /// use wgpu_cast::{CastSpec, Destination, ElementType, Source, View};
    ///
    /// let mut many = caster.many(&CastSpec::new(ElementType::FLOAT, ElementType::FLOAT16))?.with_label("weights");
    /// // Two tensors of 100 elements.
    /// for i in 0..2 {
    ///     let source = Source::whole(weights.slice(i * 400..(i + 1) * 400));
    ///     many.add(source, Destination::whole(results.slice(i * 200..(i + 1) * 200)), 100);
    /// }
    /// // A matrix of 20 rows and 30 columns, which is transposed.
    /// let transposed = View::new(&[30, 20]).with_source_strides(&[1, 30]);
    /// let source = Source::whole(weights.slice(800..3200));
    /// many.add_view(source, Destination::whole(results.slice(400..1600)), &transposed);
    /// // A number of elements that the device has counted, at most 500.
    /// let source = Source::whole(weights.slice(4096..6096));
    /// many.add_counted(source, Destination::whole(results.slice(4096..5096)), 500, count.slice(..));
    ///
    /// let bound = many.bind()?;
    /// let mut encoder = device.create_command_encoder(&Default::default());
    /// bound.record(&mut encoder);
    /// queue.submit([encoder.finish()]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`CastFault::NoKernel`](crate::CastFault::NoKernel) if [`has_kernel`](crate::has_kernel) is false.
    pub fn many<'a>(&self, spec: &CastSpec) -> Result<Many<'a>, Error> {
        let conversion = Conversion::new(spec.from, spec.to, &spec.options)?;
        Ok(Many { caster: self.clone(), conversion, label: None, entries: Vec::new() })
    }
}

/// A list of casts of one spec to be bound together. [`Caster::many`] makes an empty one and has an example.
#[derive(Clone, Debug)]
pub struct Many<'a> {
    caster: Caster,
    conversion: Conversion,
    label: Option<Arc<str>>,
    entries: Vec<Entry<'a>>,
}

impl<'a> Many<'a> {
    /// This list with a name for profilers and for wgpu's error messages. Its compute pass and its bind groups get the
    /// name.
    #[must_use]
    pub fn with_label(self, label: &str) -> Self {
        Self { label: Some(label.into()), ..self }
    }

    /// Adds a cast of `len` elements. Its slices are as for [`Prepared::bind`](crate::Prepared::bind).
    pub fn add(&mut self, source: Source<'a>, destination: Destination<'a>, len: u64) -> &mut Self {
        self.entry(source, destination, Elements::Dense(len))
    }

    /// Adds the cast of a view, as [`prepare_view`](Caster::prepare_view). Unless the view is dense on both sides, it
    /// has dispatches of its own.
    pub fn add_view(&mut self, source: Source<'a>, destination: Destination<'a>, view: &View<'_>) -> &mut Self {
        let elements = match Strided::new(view, &self.conversion) {
            Ok((strided, len)) if len == 0 || strided.is_dense(self.conversion.to.code_bits()) => Elements::Dense(len),
            Ok((strided, _)) => Elements::View(Box::new(strided)),
            Err(error) => Elements::Invalid(Box::new(error)),
        };
        self.entry(source, destination, elements)
    }

    /// Adds a cast of the number of elements in `count`, but at most `most`, as
    /// [`bind_counted`](crate::Prepared::bind_counted). The commands read the number when they run. The cast has
    /// dispatches of its own.
    pub fn add_counted(
        &mut self,
        source: Source<'a>,
        destination: Destination<'a>,
        most: u64,
        count: wgpu::BufferSlice<'a>,
    ) -> &mut Self {
        self.entry(source, destination, Elements::Counted { most, count: Count { slice: count } })
    }

    fn entry(&mut self, source: Source<'a>, destination: Destination<'a>, elements: Elements<'a>) -> &mut Self {
        self.entries.push(Entry { sides: Sides::new(source, destination), elements });
        self
    }

    /// Plans the casts, compiles their kernels, and creates the bind groups and parameters. For a cast of no elements
    /// nothing is done and nothing is checked.
    ///
    /// # Errors
    /// [`Error::Cast`] for the first invalid entry, with its index as `entry`. The cause is the one that
    /// [`prepare`](Caster::prepare), [`prepare_view`](Caster::prepare_view), [`bind`](crate::Prepared::bind) or
    /// [`bind_counted`](crate::Prepared::bind_counted) would return for it.
    ///
    /// Then [`CastFault::Overlap`](crate::CastFault::Overlap) if an entry writes what another one reads or writes.
    /// Views whose elements interleave, but do not overlap, are accepted if a short search shows that. It does for
    /// parts of one tensor. Other interleaving views count as overlapping.
    ///
    /// [`CastFault::Kernel`](crate::CastFault::Kernel), [`CastFault::OutOfMemory`](crate::CastFault::OutOfMemory),
    /// [`CastFault::DeviceLost`](crate::CastFault::DeviceLost) and [`CastFault::Device`](crate::CastFault::Device) from
    /// the device are not about an entry.
    pub fn bind(&self) -> Result<Bound, Error> {
        let planned = Planned::new(&self.caster, &self.conversion, &self.entries)?;
        planned.check_overlaps()?.bind(self.label.as_ref())
    }
}
