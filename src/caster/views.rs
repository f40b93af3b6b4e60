//! Casts of views with strides.

use super::{Caster, Prepared};
use crate::plan::{self, Offsets, Strided, View};
use crate::types::conversion::Conversion;
use crate::types::error::Error;
use crate::types::spec::CastSpec;

impl Caster {
    /// Plans the cast of a strided view of the source, such as a transposed tensor, to a dense, row-major destination
    /// of the view's shape. This is [`prepare_view`](Self::prepare_view) without strides of the destination.
    ///
    /// # Errors
    /// As [`prepare_view`](Self::prepare_view).
    pub fn prepare_strided(&self, spec: &CastSpec, shape: &[u64], strides: &[i64]) -> Result<Prepared, Error> {
        self.prepare_view(spec, &View::new(shape).with_source_strides(strides))
    }

    /// Plans the cast between two views, such as a slice of a larger tensor, a transposed tensor or rows with padding
    /// between them. [`View`] says where their elements lie.
    ///
    /// Neighbouring axes that form one axis on both sides are merged. At most 8 axes may remain. If the view is dense
    /// on both sides, the kernels of [`prepare`](Self::prepare) are used. [`Prepared::source_bytes`] and
    /// [`Prepared::destination_bytes`] say what the slices must hold: from the lowest to the highest element that is
    /// read or written.
    ///
    /// ```
    /// # fn main() -> Result<(), wgpu_cast::Error> {
    /// # use wgpu_cast::{Context, DeviceChoice};
    /// # let Ok(context) = pollster::block_on(Context::open(DeviceChoice::Gpu)) else { return Ok(()) };
    /// # let Some(caster) = context.caster() else { return Ok(()) };
    /// use wgpu_cast::{CastSpec, ElementType, View};
    /// // A matrix of 100 rows and 60 columns is cast to the upper left part of rows of 128 columns, from bottom to top.
    /// let view = View::new(&[100, 60]).with_destination_strides(&[-128, 1]);
    /// let prepared = caster.prepare_view(&CastSpec::new(ElementType::FLOAT, ElementType::FLOAT16), &view)?;
    /// assert_eq!(prepared.source_bytes(), 100 * 60 * 4);
    /// assert_eq!(prepared.destination_bytes(), (99 * 128 + 60) * 2);
    /// assert_eq!(view.destination_first(), 99 * 128);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`CastFault::Strides`](crate::CastFault::Strides) if elements of the destination overlap, or if the numbers of
    /// strides and axes differ; [`CastFault::Limit`](crate::CastFault::Limit) beyond [`View::MOST_AXES`]; and as
    /// [`prepare`](Self::prepare).
    pub fn prepare_view(&self, spec: &CastSpec, view: &View<'_>) -> Result<Prepared, Error> {
        let conversion = Conversion::new(spec.from, spec.to, &spec.options)?;
        let (strided, len) = Strided::new(view, &conversion)?;
        if len == 0 || strided.is_dense(spec.to.code_bits()) {
            return self.prepare(spec, len);
        }
        let extents = [strided.source_extent, strided.destination_extent];
        plan::check_sizes(&conversion, extents, &self.settings.limits)?;
        let dispatches = plan::plan_view(&conversion, &strided, Offsets::default(), &self.settings)?;
        let steps = self.compile(&conversion, &dispatches)?;
        Ok(Prepared::new(self, conversion, (len, Some(strided)), steps, None).with_options(spec.options))
    }
}
