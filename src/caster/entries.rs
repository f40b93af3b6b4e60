//! The entries of a list of casts: how they are checked, planned and bound together.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::sync::Arc;

use super::counted::Count;
use super::slices::Sides;
use super::{Bound, Caster};
use crate::gpu::record::Commands;
use crate::plan::{
    self, ByteRange, CountedDispatch, Dispatch, Merge, Offsets, Places, PlanSettings, PlanTuning, Strided, Use,
};
use crate::types::conversion::Conversion;
use crate::types::error::{BufferRange, CastFault, Error};
use crate::types::side::Side;

/// One cast of a list.
#[derive(Clone, Debug)]
pub(super) struct Entry<'a> {
    pub sides: Sides<'a>,
    pub elements: Elements<'a>,
}

/// Which elements an entry casts.
#[derive(Clone, Debug)]
pub(super) enum Elements<'a> {
    /// This many elements, one after the other.
    Dense(u64),
    View(Box<Strided>),
    Counted {
        most: u64,
        count: Count<'a>,
    },
    /// No kernel takes the view.
    Invalid(Box<Error>),
}

/// The entries of a list after planning.
pub(super) struct Planned<'a, 'b> {
    caster: &'b Caster,
    conversion: &'b Conversion,
    /// The settings for entries that share dispatches.
    merging: PlanSettings,
    pairs: Vec<Pair<'a>>,
    pair_numbers: HashMap<[&'a wgpu::Buffer; 2], usize>,
    buffer_numbers: HashMap<&'a wgpu::Buffer, usize>,
    /// What the entries read and write in each buffer.
    uses: Vec<Uses>,
    /// Each dispatch comes with the number of its pair of buffers, and whether it is one of several that must keep
    /// their order.
    dispatches: Vec<(usize, bool, Dispatch)>,
    counted: Vec<Counted<'a>>,
    ordered: bool,
}

/// The buffers of some entries.
struct Pair<'a> {
    buffers: [&'a wgpu::Buffer; 2],
    numbers: [usize; 2],
    first_entry: usize,
    /// The starts of the slices of `entry`.
    offsets: [u64; 2],
}

/// What the entries read and write in a buffer. A buffer that is no pool usually has one use; nothing is allocated for
/// it.
#[derive(Default)]
struct Uses {
    first: Option<Use>,
    /// All uses, if there are several.
    all: Vec<Use>,
}

impl Uses {
    fn add(&mut self, found: Use) {
        match self.first.take() {
            None if self.all.is_empty() => self.first = Some(found),
            first => self.all.extend(first.into_iter().chain([found])),
        }
    }
}

/// The dispatches of an entry whose number of elements is in a buffer.
struct Counted<'a> {
    entry: usize,
    pair: usize,
    offsets: [u64; 2],
    dispatches: Vec<CountedDispatch>,
    count: Count<'a>,
    word: ByteRange,
}

impl<'a, 'b> Planned<'a, 'b> {
    /// Checks and plans all entries.
    pub(super) fn new(
        caster: &'b Caster,
        conversion: &'b Conversion,
        entries: impl IntoIterator<Item: Borrow<Entry<'a>>>,
    ) -> Result<Self, Error> {
        // Many small casts fill the device together. So the kernel for whole units takes them all, however short they
        // are.
        let tuning = PlanTuning { blocks_from: Some(0), ..caster.settings.tuning };
        let mut planned = Self {
            caster,
            conversion,
            merging: PlanSettings { tuning, ..caster.settings },
            pairs: Vec::new(),
            pair_numbers: HashMap::new(),
            buffer_numbers: HashMap::new(),
            uses: Vec::new(),
            dispatches: Vec::new(),
            counted: Vec::new(),
            ordered: false,
        };
        for (index, entry) in entries.into_iter().enumerate() {
            let Entry { sides, elements } = entry.borrow();
            match elements {
                Elements::Dense(len) => planned.add(index, sides, *len),
                Elements::View(view) => planned.add_view(index, sides, view),
                Elements::Counted { most, count } => planned.add_counted(index, sides, *most, *count),
                Elements::Invalid(error) => Err((**error).clone()),
            }
            .map_err(|error| of_entry(index, error))?;
        }
        Ok(planned)
    }

    fn add(&mut self, entry: usize, sides: &Sides<'a>, len: u64) -> Result<(), Error> {
        let conversion = self.conversion;
        plan::check_sizes(conversion, [len, len], &self.merging.limits)?;
        if len == 0 {
            return Ok(());
        }
        let offsets = sides.offsets(conversion, [len, len], false, true)?;
        let in_order = offsets.in_order(conversion, len);
        let dispatches = plan::plan_apart(conversion, len, offsets, &self.merging)?;
        let pair = self.pair(entry, sides, Places::of_elements(conversion, len, &offsets));
        self.ordered |= in_order;
        self.dispatches.extend(dispatches.into_iter().map(|dispatch| (pair, in_order, dispatch)));
        Ok(())
    }

    fn add_view(&mut self, entry: usize, sides: &Sides<'a>, view: &Strided) -> Result<(), Error> {
        let (conversion, settings) = (self.conversion, &self.caster.settings);
        let extents = [view.source_extent, view.destination_extent];
        plan::check_sizes(conversion, extents, &settings.limits)?;
        let offsets = sides.offsets(conversion, extents, false, false)?;
        let dispatches = plan::plan_view(conversion, view, offsets, settings)?;
        let pair = self.pair(entry, sides, Places::of_view(conversion, view, &offsets));
        self.dispatches.extend(dispatches.into_iter().map(|dispatch| (pair, false, dispatch)));
        Ok(())
    }

    fn add_counted(&mut self, entry: usize, sides: &Sides<'a>, most: u64, count: Count<'a>) -> Result<(), Error> {
        let (conversion, settings) = (self.conversion, &self.caster.settings);
        plan::check_sizes(conversion, [most, most], &settings.limits)?;
        if most == 0 {
            return Ok(());
        }
        let offsets = sides.offsets(conversion, [most, most], false, true)?;
        let (dispatches, word) = count.plan(conversion, most, sides, offsets, settings)?;
        // The bits after the last element stay as they are.
        let kept = Offsets { keeps_rest: true, ..offsets };
        let pair = self.pair(entry, sides, Places::of_elements(conversion, most, &kept));
        let buffer = self.buffer(count.slice.buffer());
        let places = Places::run(8 * count.slice.offset(), 32);
        self.uses[buffer].add(Use { entry, side: None, places });
        self.ordered |= offsets.in_order(conversion, most);
        let offsets = sides.starts();
        self.counted.push(Counted { entry, pair, offsets, dispatches, count, word });
        Ok(())
    }

    /// The number of the pair of an entry's buffers. Records the places that the entry uses in them.
    fn pair(&mut self, entry: usize, sides: &Sides<'a>, [read, written]: [Places; 2]) -> usize {
        let buffers = sides.buffers();
        let pair = match self.pair_numbers.get(&buffers) {
            Some(&pair) => pair,
            None => {
                let (pair, numbers) = (self.pairs.len(), buffers.map(|buffer| self.buffer(buffer)));
                self.pairs.push(Pair { buffers, numbers, first_entry: entry, offsets: sides.starts() });
                self.pair_numbers.insert(buffers, pair);
                pair
            }
        };
        let [source, destination] = self.pairs[pair].numbers;
        self.uses[source].add(Use { entry, side: Some(Side::Source), places: read });
        self.uses[destination].add(Use { entry, side: Some(Side::Destination), places: written });
        pair
    }

    fn buffer(&mut self, buffer: &'a wgpu::Buffer) -> usize {
        let number = *self.buffer_numbers.entry(buffer).or_insert(self.uses.len());
        if number == self.uses.len() {
            self.uses.push(Uses::default());
        }
        number
    }

    /// Checks that no entry writes what another one reads or writes.
    pub(super) fn check_overlaps(mut self) -> Result<Self, Error> {
        for uses in &mut self.uses {
            if let Some([writer, other]) = plan::conflict(&mut uses.all) {
                let range = |found: &Use| BufferRange {
                    entry: Some(found.entry),
                    side: found.side,
                    bytes: found.places.bytes(),
                };
                let ranges = Box::new([range(writer), range(other)]);
                return Err(self.conversion.error(CastFault::Overlap { ranges, is_view: false }));
            }
        }
        Ok(self)
    }

    /// Compiles the kernels that do not exist yet, and creates the bind groups and parameters.
    pub(super) fn bind(self, label: Option<&Arc<str>>) -> Result<Bound, Error> {
        let (conversion, kernels) = (self.conversion, &self.caster.kernels);
        let commands = |pair: &Pair<'a>, offsets| {
            let [source, destination] = pair.buffers;
            Commands { kernels, conversion, source, destination, offsets, label: label.map(|label| &**label) }
        };
        let mut all = Vec::new();
        for merge in plan::merge(conversion, self.dispatches, &self.merging) {
            let pair = &self.pairs[merge.buffers()];
            let commands = commands(pair, pair.offsets);
            let command = match &merge {
                Merge::Single(_, dispatch) => {
                    let key = kernels.key(conversion, dispatch.kind, dispatch.access);
                    kernels.get(&key).and_then(|pipeline| commands.single(pipeline, dispatch))
                }
                Merge::Merged(merged) => commands.merged(merged, self.merging.limits.offset_alignment),
            };
            all.push(command.map_err(|error| of_buffers(pair.first_entry, error))?);
        }
        for Counted { entry, pair, offsets, dispatches, count, word } in &self.counted {
            let commands = commands(&self.pairs[*pair], *offsets);
            for dispatch in dispatches {
                let command = commands.counted(dispatch, count.slice, *word);
                all.push(command.map_err(|error| of_buffers(*entry, error))?);
            }
        }
        Ok(Bound::new(all, self.ordered, label.cloned()))
    }
}

fn of_entry(index: usize, error: Error) -> Error {
    match error {
        Error::Cast { from, to, cause, .. } => Error::Cast { from, to, entry: Some(index), cause },
        error => error,
    }
}

/// Adds the entry's index to an error about its buffers. Other errors of the device are not about an entry.
fn of_buffers(index: usize, error: Error) -> Error {
    match error {
        Error::Cast { cause: CastFault::Slice { .. }, .. } => of_entry(index, error),
        error => error,
    }
}
