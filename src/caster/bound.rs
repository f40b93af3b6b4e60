//! Casts that are bound to their buffers, and how they are recorded.

use std::collections::HashMap;
use std::sync::Arc;

use crate::gpu::record::{self, Command};

/// A cast that is bound to its buffers. Recording it cannot fail, makes no object of wgpu and can be repeated.
///
/// A `Bound` keeps alive everything that recording needs: both buffers, the pipelines, the bind groups and the
/// parameters. The [`Prepared`](crate::Prepared), the [`Caster`](crate::Caster) and the caller's own handles of the
/// buffers may be dropped before it. The memory of a buffer is freed when its last `Bound` and its last handle are
/// dropped and the submissions that use it are done. So an engine that frees or moves tensors must drop their `Bound`s
/// too.
///
/// [`wgpu::Buffer::destroy`] frees the memory at once, also while a `Bound` exists. A `Bound` to a destroyed buffer can
/// still be recorded, but wgpu then executes none of the commands. It rejects them with a validation error, which goes
/// to the caller's error scope or handler.
#[derive(Clone, Debug)]
pub struct Bound {
    commands: Vec<Command>,
    /// Whether each dispatch must see the writes of those before it.
    ordered: bool,
    /// The name of the compute pass.
    label: Option<Arc<str>>,
}

/// One dispatch of a [`Bound`], for engines that record dispatches themselves, for instance into a stream of tasks.
///
/// The dispatches of a cast must run in order, as in one compute pass: each reads the writes of those before it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct BoundDispatch<'a> {
    /// The pipeline.
    pub pipeline: &'a wgpu::ComputePipeline,
    /// Bind group 0.
    pub bind_group: &'a wgpu::BindGroup,
    /// The immediates, from offset 0. Empty if the parameters are in the bind group.
    pub immediates: &'a [u8],
    /// Workgroups in each dimension.
    pub workgroups: [u32; 3],
}

impl Bound {
    pub(super) fn new(commands: Vec<Command>, ordered: bool, label: Option<Arc<str>>) -> Self {
        Self { commands, ordered, label }
    }

    /// The dispatches. A cast of no elements has none.
    pub fn dispatches(&self) -> impl ExactSizeIterator<Item = BoundDispatch<'_>> {
        self.commands.iter().map(|command| {
            command.seal();
            BoundDispatch {
                pipeline: &command.pipeline,
                bind_group: &command.group,
                immediates: command.immediates(),
                workgroups: [command.workgroups[0], command.workgroups[1], 1],
            }
        })
    }

    /// Records the cast in a new compute pass.
    pub fn record(&self, encoder: &mut wgpu::CommandEncoder) {
        if !self.commands.is_empty() {
            // The pass has a label only if the caller gave one: a label costs two allocations, and the pipelines have
            // labels.
            let label = self.label.as_deref();
            let descriptor = wgpu::ComputePassDescriptor { label, timestamp_writes: None };
            self.record_in_pass(&mut encoder.begin_compute_pass(&descriptor));
        }
    }

    /// Each dispatch as a cast of its own, with an equal share of `elements`.
    pub(crate) fn parts(&self, elements: u64) -> impl Iterator<Item = (Bound, u64)> {
        let share = elements / self.commands.len().max(1) as u64;
        self.commands.iter().map(move |command| (Self::new(vec![command.clone()], false, self.label.clone()), share))
    }

    /// Records the cast in the caller's compute pass. This changes the pipeline, bind group 0 and the
    /// immediates of the pass.
    pub fn record_in_pass(&self, pass: &mut wgpu::ComputePass<'_>) {
        record::record(&self.commands, pass);
    }

    /// Records many casts in one compute pass and sets each pipeline once.
    ///
    /// The dispatches are recorded pipeline by pipeline, in the order in which the pipelines first occur. Dispatches of
    /// one pipeline keep the order of their casts. Casts with different pipelines may change their order, so no cast
    /// may read or write what another one writes. Record casts that build on each other one by one. Casts between
    /// overlapping slices come last, each with its dispatches in order.
    pub fn record_all<'a>(bounds: impl IntoIterator<Item = &'a Bound>, encoder: &mut wgpu::CommandEncoder) {
        let mut bounds = bounds.into_iter().filter(|bound| !bound.commands.is_empty()).peekable();
        if bounds.peek().is_some() {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            Self::record_all_in_pass(bounds, &mut pass);
        }
    }

    /// As [`record_all`](Self::record_all), but in the caller's compute pass. This changes the pipeline, bind
    /// group 0 and the immediates of the pass.
    pub fn record_all_in_pass<'a>(bounds: impl IntoIterator<Item = &'a Bound>, pass: &mut wgpu::ComputePass<'_>) {
        #[allow(clippy::mutable_key_type, reason = "pipelines are compared and hashed by which one they are")]
        let mut places: HashMap<&wgpu::ComputePipeline, usize> = HashMap::new();
        let mut by_pipeline: Vec<Vec<&Command>> = Vec::new();
        let mut ordered = Vec::new();
        // Neighbours often have the same pipeline, which is then not looked up again.
        let mut last: Option<(&wgpu::ComputePipeline, usize)> = None;
        for bound in bounds {
            if bound.ordered {
                ordered.extend(&bound.commands);
                continue;
            }
            for command in &bound.commands {
                let place = match last {
                    Some((pipeline, place)) if *pipeline == command.pipeline => place,
                    _ => *places.entry(&command.pipeline).or_insert(by_pipeline.len()),
                };
                if place == by_pipeline.len() {
                    by_pipeline.push(Vec::new());
                }
                by_pipeline[place].push(command);
                last = Some((&command.pipeline, place));
            }
        }
        record::record(by_pipeline.into_iter().flatten().chain(ordered), pass);
    }
}
