//! The types in which values are needed. Constants, and results of operators that only move numbers, are made in the type in
//! which they are needed.

use std::ops::Range;

/// The type in which a value is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    Old,
    New,
    /// The old type, for results that depend on each digit of the value.
    Exact,
}

#[derive(Clone, Copy, Debug, Default)]
struct Use {
    old: bool,
    new: bool,
    exact: bool,
}

/// The inputs and outputs of a node whose inputs are needed in the type in which its outputs are.
#[derive(Debug)]
struct Follow {
    inputs: Vec<usize>,
    outputs: Range<usize>,
    /// Whether the values keep the old type because of what they come from.
    is_kept: bool,
}

/// The needs of values, by their indexes.
#[derive(Debug, Default)]
pub(super) struct Uses {
    of: Vec<Use>,
    follows: Vec<Follow>,
}

impl Uses {
    pub(super) fn note(&mut self, value: usize, need: Need) {
        if self.of.len() <= value {
            self.of.resize(value + 1, Use::default());
        }
        let found = &mut self.of[value];
        match need {
            Need::Old => found.old = true,
            Need::New => found.new = true,
            Need::Exact => found.exact = true,
        }
    }

    /// Notes that the inputs of a node are needed in the type in which its outputs are.
    pub(super) fn follow(&mut self, inputs: Vec<usize>, outputs: Range<usize>, is_kept: bool) {
        self.follows.push(Follow { inputs, outputs, is_kept });
    }

    /// Passes the needs of outputs on to inputs, from the last node to the first. A value is used only behind the node that
    /// makes it, so that all its uses are known then.
    pub(super) fn settle(&mut self) {
        for Follow { inputs, outputs, is_kept } in std::mem::take(&mut self.follows).into_iter().rev() {
            let is_exact = is_kept || self.of(&outputs).exact;
            let need = match self.stays(outputs, is_kept) {
                true if is_exact => Need::Exact,
                true => Need::Old,
                false => Need::New,
            };
            inputs.into_iter().for_each(|input| self.note(input, need));
        }
    }

    /// Whether values that can have either type stay in the old one. Constants that are needed in both types get the new
    /// type, unless a need is exact.
    pub(super) fn stays(&self, values: Range<usize>, is_kept: bool) -> bool {
        let Use { old, new, exact } = self.of(&values);
        exact || (old && (is_kept || !new))
    }

    fn of(&self, values: &Range<usize>) -> Use {
        let values = values.clone().filter_map(|value| self.of.get(value));
        values.fold(Use::default(), |all, one| Use {
            old: all.old || one.old,
            new: all.new || one.new,
            exact: all.exact || one.exact,
        })
    }
}
