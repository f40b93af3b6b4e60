//! Casts whose number of elements is known only on the device.
//!
//! Such a cast is planned for the most elements that it may have. Each kernel casts fewer if the count says so. A
//! kernel for whole units leaves the elements after the last whole unit. A further dispatch of the edge kernel casts
//! them, at a place that it computes from the count.

use crate::kernel::{Access, KernelKind, Units};
use crate::plan::dispatch::Dispatch;
use crate::plan::limits::PlanSettings;
use crate::plan::measures::crosses_words;
use crate::plan::params::{CountParams, MoreParams, Params, UniformBlock};
use crate::types::conversion::Conversion;

/// A dispatch whose kernel reads the number of elements.
#[derive(Clone, Debug)]
pub(crate) struct CountedDispatch {
    pub dispatch: Dispatch,
    pub count: CountParams,
}

impl CountedDispatch {
    /// The parameters. `count_word` is the word of the count in its binding.
    pub(crate) fn uniform_block(&self, count_word: u32) -> UniformBlock {
        let more = MoreParams::Count(CountParams { count_word, ..self.count });
        UniformBlock { params: self.dispatch.params, more }
    }
}

/// The dispatches of a plan, and those for the elements that kernels for whole units leave.
pub(crate) fn counted(
    conversion: &Conversion,
    dispatches: Vec<Dispatch>,
    settings: &PlanSettings,
) -> Vec<CountedDispatch> {
    let mut counted = Vec::new();
    for dispatch in dispatches {
        // A count has 32 bits, so no count reaches a dispatch beyond them.
        let Ok(first) = u32::try_from(dispatch.first) else { continue };
        let count = |unit, rest| CountParams { first, unit, rest, count_word: 0 };
        if !matches!(dispatch.kind, KernelKind::Blocks | KernelKind::Shifted) {
            counted.push(CountedDispatch { dispatch, count: count(1, 0) });
            continue;
        }
        let unit = Units::new(conversion, dispatch.kind, dispatch.access, settings.tuning.lookup).elements;
        let params = Params { pitch: 1, ..dispatch.params };
        let kind = if is_across_words(conversion, &dispatch) { KernelKind::Together } else { KernelKind::Edge };
        let rest = Dispatch { kind, params, workgroups: [1, 1], ..dispatch.clone() };
        counted.push(CountedDispatch { dispatch, count: count(unit, 0) });
        counted.push(CountedDispatch { dispatch: rest, count: count(unit, 1) });
    }
    counted
}

/// Whether a dispatch casts in place codes that lie across words. The edge kernel would read parts of codes that it has
/// converted already.
fn is_across_words(conversion: &Conversion, dispatch: &Dispatch) -> bool {
    let [from, to] = [conversion.from, conversion.to].map(|t| u64::from(t.code_bits()));
    let params = &dispatch.params;
    let [source, destination] =
        [(params.source_word, params.source_bit), (params.destination_word, params.destination_bit)];
    from == to && crosses_words(to) && dispatch.access == Access::Shared && source == destination
}
