//! Many casts of one spec as few dispatches.

use std::collections::HashMap;

use super::slices::Sides;
use super::{Bound, Caster, Destination, Source};
use crate::conversion::Conversion;
use crate::error::Error;
use crate::gpu::record::Commands;
use crate::plan::{self, Merge, PlanSettings, PlanTuning};
use crate::spec::CastSpec;

impl Caster {
    /// Plans, compiles and binds many casts, such as those of the weights of a model: each has a source, a destination
    /// and a number of elements. The result is the same as that of [`prepare`](Self::prepare) and
    /// [`bind`](crate::Prepared::bind) for each, but casts between the same buffers share dispatches, as far as one
    /// binding of each buffer holds their slices. So it suits casts of small tensors in large buffers.
    ///
    /// The casts run in no order: none may read or write what another one writes. The first such casts compile kernels of
    /// their own.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare) and [`bind`](crate::Prepared::bind), for the first invalid cast. Nothing is bound
    /// then.
    pub fn bind_many<'a>(
        &self,
        spec: &CastSpec,
        casts: impl IntoIterator<Item = (Source<'a>, Destination<'a>, u64)>,
    ) -> Result<Bound, Error> {
        let conversion = &Conversion::new(spec.from, spec.to, &spec.options)?;
        // Many small casts fill the device together, so that whole units always take their own kernel.
        let tuning = PlanTuning { blocks_from: Some(0), ..self.settings.tuning };
        let settings = PlanSettings { tuning, ..self.settings };
        let mut buffers: Vec<[&wgpu::Buffer; 2]> = Vec::new();
        #[allow(clippy::mutable_key_type, reason = "buffers are compared and hashed by which one they are")]
        let mut numbers: HashMap<[&wgpu::Buffer; 2], usize> = HashMap::new();
        let (mut dispatches, mut ordered) = (Vec::new(), false);
        for (source, destination, len) in casts {
            plan::check_sizes(conversion, [len, len], &settings.limits)?;
            if len == 0 {
                continue;
            }
            let sides = Sides::new(source, destination);
            let offsets = sides.offsets(conversion, [len, len], false, true)?;
            let pair = sides.buffers();
            let number = *numbers.entry(pair).or_insert(buffers.len());
            if number == buffers.len() {
                buffers.push(pair);
            }
            let in_order = offsets.in_order(conversion, len);
            ordered |= in_order;
            let planned = plan::plan(conversion, len, offsets, &settings, None)?;
            dispatches.extend(planned.into_iter().map(|dispatch| (number, in_order, dispatch)));
        }
        let merged = plan::merge(conversion, dispatches, &settings);
        let alignment = settings.limits.offset_alignment;
        let command = |merge: &Merge| {
            let [source, destination] = buffers[merge.buffers()];
            let commands = Commands { kernels: &self.kernels, conversion, source, destination, label: None };
            match merge {
                Merge::Single(_, dispatch) => {
                    let key = self.kernels.key(conversion, dispatch.kind, dispatch.access);
                    commands.single(self.kernels.get(&key)?, dispatch)
                }
                Merge::Merged(merged) => commands.merged(merged, alignment),
            }
        };
        let commands = merged.iter().map(command).collect::<Result<_, _>>()?;
        Ok(Bound::new(commands, ordered, None))
    }
}
