//! What a cast comes to on a device, as data: which dispatches over which byte ranges. No device is needed to plan.

use crate::conversion::Conversion;
use crate::error::Error;
use crate::kernel::{Access, BLOCKS_SIZE, EDGE_SIZE, Kind, Units};

/// What bounds and shapes dispatches. [`Caster::new`](crate::Caster::new) takes the device's own;
/// [`Caster::with_limits`](crate::Caster::with_limits) takes smaller ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlanLimits {
    /// Most bytes of one storage binding.
    pub binding_size: u64,
    /// Most bytes of one buffer. Host tensors are cast in chunks beyond it.
    pub buffer_size: u64,
    /// A binding starts at a multiple of this many bytes.
    pub offset_alignment: u64,
    /// Most workgroups along one dimension of a dispatch.
    pub workgroups: u32,
    /// Most elements of one dispatch, for drivers with a watchdog. Rounded down to what alignment allows.
    pub dispatch_elements: u64,
    /// Fewest elements for which the blocks kernel is worth its compilation; `None` is a workgroup's worth of them.
    pub blocks_from: Option<u64>,
    /// Whether sources of at most 8 bits go through a table in workgroup memory. It pays on GPUs; a software adapter's
    /// workgroup memory is slower than computing.
    pub tables: bool,
}

impl Default for PlanLimits {
    /// WebGPU's default limits, which every WebGPU device has.
    fn default() -> Self {
        Self {
            binding_size: 128 << 20,
            buffer_size: 256 << 20,
            offset_alignment: 256,
            workgroups: 65_535,
            dispatch_elements: u64::MAX,
            blocks_from: None,
            tables: true,
        }
    }
}

/// A range of bytes of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bytes {
    pub offset: u64,
    pub size: u64,
}

/// Where source and destination start, in bytes of their buffers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Places {
    pub source: u64,
    pub destination: u64,
    /// Both lie in one buffer: apart, or at the same place with codes of the same width.
    pub one_buffer: bool,
}

/// Where the slices of casts will lie, for [`Caster::warm_up`](crate::Caster::warm_up).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Slices {
    /// In two buffers, each starting at the device's `min_storage_buffer_offset_alignment`.
    #[default]
    Aligned,
    /// In two buffers, starting at any element.
    Anywhere,
    /// In one buffer or in two, starting at any element.
    OneBuffer,
}

/// The kernels that casts of any length may take.
pub(crate) fn kernels(conversion: &Conversion, slices: Slices) -> impl Iterator<Item = (Kind, Access)> {
    let [from, to] = [conversion.from, conversion.to].map(|t| u64::from(t.code_bits()));
    let needed = move |kind: &Kind, access: Access| match (kind, slices, access) {
        (Kind::Serial, _, Access::Shared) => from == to && crosses_words(to),
        (Kind::Serial, ..) => false,
        (Kind::Blocks, _, Access::Shared) => wide_units_suit(from, to),
        (Kind::Shifted, Slices::Aligned, _) => false,
        _ => true,
    };
    // Two ranges of one buffer that are too far apart for one binding are compiled for when they are met.
    let accesses: &[Access] = match slices {
        Slices::Aligned | Slices::Anywhere => &[Access::Separate],
        Slices::OneBuffer => &[Access::Separate, Access::Shared],
    };
    let kinds = [Kind::Blocks, Kind::Shifted, Kind::Edge, Kind::Serial];
    accesses
        .iter()
        .flat_map(move |&access| kinds.into_iter().map(move |kind| (kind, access)))
        .filter(move |(kind, access)| needed(kind, *access))
}

/// What a dispatch is told: `Params` of `shaders/entry/params.wgsl`, padded to 16 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(crate) struct Params {
    pub count: u32,
    pub source_word: u32,
    pub source_bit: u32,
    pub source_last: u32,
    pub destination_word: u32,
    pub destination_bit: u32,
    pub pitch: u32,
    pub sentinel_word: u32,
    pub sentinel: u32,
    pub first: u32,
    pub padding: [u32; 2],
    pub shape: [u32; RANK],
    pub strides: [u32; RANK],
}

/// The most axes of a strided view.
pub(crate) const RANK: usize = 8;

/// A view of the source: its elements in row-major order of `shape`, each at the sum of index times stride.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct View {
    /// Axes that are not there come first, with one element.
    pub shape: [u32; RANK],
    pub strides: [u32; RANK],
    /// Elements from the first to the last that is read.
    pub extent: u64,
}

impl View {
    /// The view, and how many elements it has; `None` where 32 bits do not count its elements or their places.
    pub(crate) fn new(shape: &[u64], strides: &[u64]) -> Option<(Self, u64)> {
        let mut view = Self { shape: [1; RANK], strides: [0; RANK], extent: 1 };
        let (mut elements, mut last) = (1u64, 0u64);
        for (axis, (&size, &stride)) in shape.iter().zip(strides).enumerate() {
            elements = elements.checked_mul(size)?;
            last = last.checked_add(size.saturating_sub(1).checked_mul(stride)?)?;
            let place = RANK - shape.len() + axis;
            view.shape[place] = u32::try_from(size).ok()?;
            // The stride of a single element is not used.
            view.strides[place] = if size > 1 { u32::try_from(stride).ok()? } else { 0 };
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
    places: Places,
    limits: &PlanLimits,
) -> Result<Vec<Dispatch>, Error> {
    let shape = Shape::new(conversion, places, limits);
    let whole = shape.range(places.source, shape.source_bits, 0, view.extent);
    if whole.size > limits.binding_size {
        let (from, to, limit) = (conversion.from, conversion.to, "max_storage_buffer_binding_size");
        return Err(Error::Limit { from, to, limit, needed: whole.size, allowed: limits.binding_size });
    }
    let mut dispatches = Vec::new();
    let chunk = shape.edge_chunk.min(limits.dispatch_elements / shape.step * shape.step).max(shape.step);
    let mut start = 0;
    while start < elements {
        let count = chunk.min(elements - start);
        let mut dispatch = shape.edge(start, count, None);
        let piece = shape.bind(whole, shape.range(places.destination, shape.destination_bits, start, count), start, 0);
        dispatch.kind = Kind::Strided;
        (dispatch.access, dispatch.source, dispatch.destination) = (piece.access, piece.source, piece.destination);
        let (count, pitch) = (dispatch.params.count, dispatch.params.pitch);
        let (shape, strides) = (view.shape, view.strides);
        dispatch.params = Params { count, pitch, first: start as u32, shape, strides, ..piece.params };
        dispatches.push(dispatch);
        start += u64::from(count);
    }
    Ok(dispatches)
}

/// One dispatch. With shared access both ranges are the one that is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dispatch {
    pub kind: Kind,
    pub access: Access,
    pub source: Bytes,
    pub destination: Bytes,
    pub params: Params,
    pub workgroups: [u32; 2],
}

/// Most elements of an edge dispatch: bit positions of 64-bit codes stay within 32 bits.
const EDGE_ELEMENTS: u64 = 1 << 24;

/// A binding starts at a multiple of at least this, so that 16 bytes of a buffer are 16 bytes of a binding.
const LEAST_ALIGNMENT: u64 = 16;

/// The dispatches that cast `elements` from one place to another. With a sentinel, which is not for one buffer, the last
/// dispatch writes it to the word after the destination's last.
pub(crate) fn plan(
    conversion: &Conversion,
    elements: u64,
    places: Places,
    limits: &PlanLimits,
    sentinel: Option<u32>,
) -> Result<Vec<Dispatch>, Error> {
    let mut dispatches = Vec::new();
    if elements == 0 {
        return Ok(dispatches);
    }
    let shape = Shape::new(conversion, places, limits);
    let chunk = shape.chunk(limits, elements)?;
    let head = shape.head();
    // A head that is followed by too little for units is no head.
    let head = if elements.saturating_sub(head) < shape.blocks_from.max(1) { 0 } else { head };
    shape.edges(0, head, None, &mut dispatches);
    let mut start = head;
    while start < elements {
        let count = chunk.min(elements - start);
        let whole = shape.units(start, count, &mut dispatches);
        let end = start + count;
        shape.edges(start + whole, end, sentinel.filter(|_| end == elements), &mut dispatches);
        start = end;
    }
    Ok(dispatches)
}

/// The most elements of a host tensor that fit the device's buffers at once, of which every chunk but the last starts
/// at a whole byte on both sides.
pub(crate) fn host_chunk(conversion: &Conversion, limits: &PlanLimits) -> Result<u64, Error> {
    let shape = Shape::new(conversion, Places::default(), limits);
    // The destination holds the sentinel as well.
    let buffer = limits.buffer_size.saturating_sub(8);
    shape.fit(buffer, "max_buffer_size").map(|elements| elements.min(HOST_ELEMENTS).max(shape.step))
}

/// Most elements of a host tensor on their way at once: bounds the memory that a cast takes beside the tensors, and
/// how long a device works without an answer.
pub(crate) const HOST_ELEMENTS: u64 = 1 << 26;

/// The numbers of a conversion that planning needs.
struct Shape<'a> {
    conversion: &'a Conversion,
    places: Places,
    limits: &'a PlanLimits,
    alignment: u64,
    source_bits: u64,
    destination_bits: u64,
    /// Elements after which both sides are aligned as they were, and whole units of every kernel.
    step: u64,
    blocks_from: u64,
    edge_chunk: u64,
}

/// A piece of a cast, where it lies.
struct Piece {
    access: Access,
    source: Bytes,
    destination: Bytes,
    params: Params,
}

impl<'a> Shape<'a> {
    fn new(conversion: &'a Conversion, places: Places, limits: &'a PlanLimits) -> Self {
        let alignment = limits.offset_alignment.max(LEAST_ALIGNMENT);
        let (source_bits, destination_bits) =
            (u64::from(conversion.from.code_bits()), u64::from(conversion.to.code_bits()));
        let units = Units::new(conversion, Kind::Blocks, Access::Separate, limits.tables);
        let aligned = |bits: u64| {
            let alignment = alignment * 8;
            alignment / gcd(alignment, bits)
        };
        // Units have a power of two of elements, at most 64.
        let step = lcm(lcm(aligned(source_bits), aligned(destination_bits)), 64);
        let bits = source_bits.max(destination_bits);
        // A binding starts up to an alignment before its first element, and ends with the sentinel.
        let room = limits.binding_size.saturating_sub(alignment + 8);
        let by_binding = room.saturating_mul(8) / bits;
        let by_workgroups = u64::from(limits.workgroups).saturating_pow(2).saturating_mul(u64::from(EDGE_SIZE));
        let in_place = places.one_buffer && places.source == places.destination;
        Self {
            conversion,
            places,
            limits,
            alignment,
            source_bits,
            destination_bits,
            step,
            blocks_from: match in_place && crosses_words(destination_bits) {
                // What is left to the serial kernel must be little.
                true => u64::from(units.elements),
                false => limits.blocks_from.unwrap_or(u64::from(units.per_workgroup())),
            },
            edge_chunk: (EDGE_ELEMENTS.min(by_binding).min(by_workgroups) / step * step).max(step),
        }
    }

    /// The most elements, a multiple of the step, that take at most `bytes` on either side.
    fn fit(&self, bytes: u64, limit: &'static str) -> Result<u64, Error> {
        let bits = self.source_bits.max(self.destination_bits);
        let elements = (u128::from(bytes) * 8 / u128::from(bits)) as u64 / self.step * self.step;
        if elements == 0 {
            let (from, to) = (self.conversion.from, self.conversion.to);
            return Err(Error::Limit { from, to, limit, needed: self.step * bits / 8, allowed: bytes });
        }
        Ok(elements)
    }

    /// Elements between two changes of bindings.
    fn chunk(&self, limits: &PlanLimits, elements: u64) -> Result<u64, Error> {
        let units = |access| Units::new(self.conversion, Kind::Blocks, access, limits.tables);
        let per_invocation = |units: Units| u64::from(units.elements * units.repeat);
        let least = per_invocation(units(Access::Separate)).min(per_invocation(units(Access::Shared)));
        let invocations = u64::from(limits.workgroups).saturating_pow(2).saturating_mul(u64::from(BLOCKS_SIZE));
        let by_workgroups = invocations.saturating_mul(least);
        let most = by_workgroups.min(limits.dispatch_elements);
        let limit = "max_storage_buffer_binding_size";
        if self.places.one_buffer {
            // Half a binding each: two pieces that do not share one lie far apart.
            let fits = self.whole_range(elements).is_some_and(|range| range.size <= limits.binding_size);
            if fits && elements <= most {
                return Ok(elements);
            }
            let half = self.fit((limits.binding_size / 2).saturating_sub(self.alignment + 8), limit)?;
            return Ok((most.min(half) / self.step * self.step).max(self.step));
        }
        // After a head, either side may be anywhere between two aligned places.
        let aligned = [self.places.source, self.places.destination].iter().all(|place| place % self.alignment == 0);
        let lead = if aligned { 0 } else { self.alignment };
        let bits = u128::from(self.source_bits.max(self.destination_bits));
        let needed = (u128::from(elements) * bits).div_ceil(32) * 4 + u128::from(lead) + 4;
        if needed <= u128::from(limits.binding_size) && elements <= most {
            return Ok(elements);
        }
        let by_binding = self.fit(limits.binding_size.saturating_sub(lead + 4), limit)?;
        Ok((most.min(by_binding) / self.step * self.step).max(self.step))
    }

    /// Elements before the destination is at whole 16 bytes.
    fn head(&self) -> u64 {
        let start = self.places.destination * 8;
        let aligned = |head: &u64| (start + head * self.destination_bits).is_multiple_of(128);
        // A multiple of 64 elements of any width is one of 128 bits.
        (0..64).find(aligned).unwrap_or(0)
    }

    /// Bytes of a buffer that hold a piece, from an aligned place on in whole words.
    fn range(&self, place: u64, bits: u64, start: u64, count: u64) -> Bytes {
        let offset = (place * 8 + start * bits) / 8 / self.alignment * self.alignment;
        let end = (place * 8 + (start + count) * bits).div_ceil(32) * 4;
        Bytes { offset, size: end.saturating_sub(offset) }
    }

    /// The range over both sides of the whole cast, if it can be counted.
    fn whole_range(&self, elements: u64) -> Option<Bytes> {
        elements.checked_mul(self.source_bits.max(self.destination_bits))?;
        let (source, destination) = self.ranges(0, elements);
        Some(over(source, destination))
    }

    fn ranges(&self, start: u64, count: u64) -> (Bytes, Bytes) {
        let source = self.range(self.places.source, self.source_bits, start, count);
        (source, self.range(self.places.destination, self.destination_bits, start, count))
    }

    fn piece(&self, start: u64, count: u64) -> Piece {
        let (source, destination) = self.ranges(start, count);
        self.bind(source, destination, start, start)
    }

    /// The bindings of two ranges, and where in them an element of the destination and one of the source lie.
    fn bind(&self, mut source: Bytes, mut destination: Bytes, start: u64, source_start: u64) -> Piece {
        let last = source.offset + source.size;
        let mut access = Access::Separate;
        if self.places.one_buffer {
            let both = over(source, destination);
            access = if both.size <= self.limits.binding_size { Access::Shared } else { Access::Writable };
            if access == Access::Shared {
                (source, destination) = (both, both);
            }
        }
        let within = |place: u64, bit: u64, range: Bytes| {
            let bit = place * 8 + bit - range.offset * 8;
            ((bit / 32) as u32, (bit % 32) as u32)
        };
        let (source_word, source_bit) = within(self.places.source, source_start * self.source_bits, source);
        let (destination_word, destination_bit) =
            within(self.places.destination, start * self.destination_bits, destination);
        let source_last = ((last - source.offset) / 4).saturating_sub(1) as u32;
        let params =
            Params { source_word, source_bit, source_last, destination_word, destination_bit, ..Params::default() };
        Piece { access, source, destination, params }
    }

    /// Adds a dispatch of the whole units of a piece, if there are enough; returns its elements.
    fn units(&self, start: u64, count: u64, dispatches: &mut Vec<Dispatch>) -> u64 {
        let Piece { access, source, destination, mut params } = self.piece(start, count);
        let aligned = |word: u32, bit: u32| word.is_multiple_of(4) && bit == 0;
        let suits = access != Access::Shared || wide_units_suit(self.source_bits, self.destination_bits);
        let kind = if suits && aligned(params.source_word, params.source_bit) { Kind::Blocks } else { Kind::Shifted };
        let units = Units::new(self.conversion, kind, access, self.limits.tables);
        let whole = count / u64::from(units.elements);
        let elements = whole * u64::from(units.elements);
        if elements < self.blocks_from || elements == 0 || !aligned(params.destination_word, params.destination_bit) {
            return 0;
        }
        params.count = whole as u32;
        let workgroups = self.grid((whole as u32).div_ceil(BLOCKS_SIZE * units.repeat));
        params.pitch = workgroups[0];
        // The rest of the chunk is not this dispatch's to bind.
        let (source, destination) = match access {
            Access::Shared => (source, destination),
            Access::Separate | Access::Writable => self.ranges(start, elements),
        };
        let source_last = ((source.size / 4).saturating_sub(1) as u32).min(params.source_last);
        params.source_last = source_last;
        dispatches.push(Dispatch { kind, access, source, destination, params, workgroups });
        elements
    }

    /// Adds the dispatches of any range of elements.
    fn edges(&self, start: u64, end: u64, sentinel: Option<u32>, dispatches: &mut Vec<Dispatch>) {
        let mut at = start;
        while at < end || sentinel.is_some() {
            let count = (end - at).min(self.edge_chunk);
            let last = at + count == end;
            dispatches.push(self.edge(at, count, sentinel.filter(|_| last)));
            at += count;
            if last {
                break;
            }
        }
    }

    fn edge(&self, start: u64, count: u64, sentinel: Option<u32>) -> Dispatch {
        // The sentinel alone takes a binding that ends where the tensor does, which units have filled to whole words.
        let start = if count == 0 { start - 1 } else { start };
        let Piece { access, source, mut destination, mut params } = self.piece(start, count.max(1));
        params.count = count as u32;
        if count == 0 {
            (params.destination_word, params.destination_bit) = ((destination.size / 4) as u32, 0);
        }
        if let Some(sentinel) = sentinel {
            params.sentinel = sentinel;
            params.sentinel_word = (destination.size / 4) as u32;
            destination.size += 4;
        }
        let in_place = self.places.one_buffer && self.places.source == self.places.destination;
        let (kind, invocations) = if in_place && crosses_words(self.destination_bits) {
            (Kind::Serial, 1)
        } else if self.destination_bits < 32 {
            (Kind::Edge, (u64::from(params.destination_bit) + count * self.destination_bits).div_ceil(32))
        } else {
            (Kind::Edge, count)
        };
        let workgroups = self.grid((invocations as u32).div_ceil(EDGE_SIZE).max(1));
        params.pitch = workgroups[0];
        Dispatch { kind, access, source, destination, params, workgroups }
    }

    /// A number of workgroups in one or two dimensions.
    fn grid(&self, workgroups: u32) -> [u32; 2] {
        let rows = workgroups.div_ceil(self.limits.workgroups);
        [workgroups.div_ceil(rows), rows]
    }
}

/// Whether units of whole 16 bytes on both sides are few enough elements.
fn wide_units_suit(source_bits: u64, destination_bits: u64) -> bool {
    source_bits.min(destination_bits) >= 8
}

/// Whether codes of this width can lie across two words.
fn crosses_words(bits: u64) -> bool {
    32 % bits != 0 && bits < 32
}

/// The range from where the first starts to where the last ends.
fn over(a: Bytes, b: Bytes) -> Bytes {
    let offset = a.offset.min(b.offset);
    Bytes { offset, size: (a.offset + a.size).max(b.offset + b.size) - offset }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn lcm(a: u64, b: u64) -> u64 {
    a / gcd(a, b) * b
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::ElementType;
    use crate::options::CastOptions;

    fn conversions() -> impl Iterator<Item = Conversion> {
        let numeric = || ElementType::ALL.iter().copied().filter(|t| t.is_numeric());
        numeric()
            .flat_map(move |from| numeric().map(move |to| Conversion::new(from, to, &CastOptions::default()).unwrap()))
    }

    /// What any plan must hold: every element once and in order, bindings aligned, whole and within limits, every
    /// invocation's arithmetic within 32 bits, the sentinel after the last word and in the last dispatch only.
    fn check(
        conversion: &Conversion,
        elements: u64,
        places: Places,
        limits: &PlanLimits,
        sentinel: Option<u32>,
    ) -> Vec<Dispatch> {
        let dispatches = plan(conversion, elements, places, limits, sentinel).unwrap();
        let bits = [conversion.from, conversion.to].map(|t| u64::from(t.code_bits()));
        let starts = [places.source, places.destination];
        let end = |side: usize| (starts[side] * 8 + elements * bits[side]).div_ceil(32) * 4;
        let mut done = 0;
        for (i, dispatch) in dispatches.iter().enumerate() {
            let context =
                || format!("{} to {}, {elements} at {places:?}: {dispatch:?}", conversion.from, conversion.to);
            let units = Units::new(conversion, dispatch.kind, dispatch.access, limits.tables);
            let in_units = matches!(dispatch.kind, Kind::Blocks | Kind::Shifted);
            let params = dispatch.params;
            let count = u64::from(params.count) * if in_units { u64::from(units.elements) } else { 1 };
            let last = i + 1 == dispatches.len();
            assert_eq!(params.sentinel, if last { sentinel.unwrap_or(0) } else { 0 }, "{}", context());
            let sentinel_bytes = if params.sentinel != 0 { 4 } else { 0 };
            let shared = dispatch.access == Access::Shared;
            assert_eq!(dispatch.access == Access::Separate, !places.one_buffer, "{}", context());
            assert_eq!(shared, dispatch.source == dispatch.destination && places.one_buffer, "{}", context());
            let firsts = [(params.source_word, params.source_bit), (params.destination_word, params.destination_bit)];
            for (side, (range, (word, bit))) in
                [dispatch.source, dispatch.destination].into_iter().zip(firsts).enumerate()
            {
                let own = if side == 1 { sentinel_bytes } else { 0 };
                assert_eq!(range.offset % limits.offset_alignment, 0, "{}", context());
                assert_eq!(range.size % 4, 0, "{}", context());
                assert!(range.size > 0 && range.size <= limits.binding_size, "{}", context());
                assert!(shared || range.offset + range.size <= end(side) + own, "{}", context());
                let first = range.offset * 8 + u64::from(word) * 32 + u64::from(bit);
                if count > 0 {
                    assert_eq!(first, starts[side] * 8 + done * bits[side], "{}", context());
                }
                assert!(first + count * bits[side] <= (range.offset + range.size) * 8, "{}", context());
                let words = range.size / 4;
                match dispatch.kind {
                    Kind::Blocks => assert_eq!((word % 4, bit), (0, 0), "{}", context()),
                    Kind::Shifted if side == 1 => assert_eq!((word % 4, bit), (0, 0), "{}", context()),
                    Kind::Shifted => assert!(u64::from(params.source_last) < words, "{}", context()),
                    _ => assert!(bit + 8 < 1 << 8 && u64::from(bit) + count * bits[side] < 1 << 32, "{}", context()),
                }
            }
            if dispatch.kind == Kind::Shifted {
                let needed = (u64::from(params.source_bit) + count * bits[0]).div_ceil(32) - 1;
                assert!(u64::from(params.source_last) >= u64::from(params.source_word) + needed, "{}", context());
            }
            if places.one_buffer && !shared {
                // Browsers refuse writable bindings that overlap.
                let (a, b) = (dispatch.source, dispatch.destination);
                assert!(a.offset + a.size <= b.offset || b.offset + b.size <= a.offset, "{}", context());
            }
            if params.sentinel != 0 {
                assert_eq!(dispatch.kind, Kind::Edge, "{}", context());
                let at = dispatch.destination.offset + u64::from(params.sentinel_word) * 4;
                assert_eq!(at, end(1), "{}", context());
            }
            done += count;
            assert!(done <= elements, "{}", context());
            let [x, y] = dispatch.workgroups;
            assert!((1..=limits.workgroups).contains(&x) && (1..=limits.workgroups).contains(&y), "{}", context());
            assert_eq!(params.pitch, x, "{}", context());
            let (per_workgroup, needed) = match dispatch.kind {
                Kind::Blocks | Kind::Shifted => (BLOCKS_SIZE * units.repeat, u64::from(params.count)),
                Kind::Serial => {
                    assert!(count < 128, "{}", context());
                    (1, 1)
                }
                Kind::Strided => unreachable!("only views are strided"),
                Kind::Edge if bits[1] < 32 => {
                    (EDGE_SIZE, (u64::from(params.destination_bit) + count * bits[1]).div_ceil(32))
                }
                Kind::Edge => (EDGE_SIZE, count),
            };
            let invocations = u64::from(x) * u64::from(y) * u64::from(per_workgroup);
            assert!(invocations < 1 << 32 && invocations >= needed, "{}", context());
        }
        assert_eq!(done, elements, "{} to {}", conversion.from, conversion.to);
        dispatches
    }

    /// Places that a slice may start at: aligned, and at every kind of misalignment that the types allow.
    fn places(conversion: &Conversion) -> Vec<Places> {
        let size = |t: ElementType| u64::from(t.code_bits() / 8).max(1);
        let (source, destination) = (size(conversion.from), size(conversion.to));
        let mut places = vec![Places::default(), Places { source: 512, destination: 256, one_buffer: false }];
        for (s, d) in [(1, 0), (0, 1), (3, 5), (16, 48), (7, 16), (100, 3)] {
            places.push(Places { source: s * source, destination: d * destination, one_buffer: false });
        }
        places
    }

    #[test]
    fn plans_hold_at_every_boundary() {
        let small = PlanLimits { binding_size: 64 << 10, offset_alignment: 32, ..PlanLimits::default() };
        let watchdog = PlanLimits { dispatch_elements: 5000, blocks_from: Some(0), ..small };
        let narrow = PlanLimits { workgroups: 40, tables: false, ..PlanLimits::default() };
        let few = PlanLimits { workgroups: 5, blocks_from: Some(u64::MAX), ..PlanLimits::default() };
        for conversion in conversions() {
            let step = Shape::new(&conversion, Places::default(), &PlanLimits::default()).step;
            let units = Units::new(&conversion, Kind::Blocks, Access::Separate, true);
            let workgroup = u64::from(units.per_workgroup());
            let mut lengths = vec![1, 2, 3, 7, 15, 16, 17, 63, 65, 1000, 100_001, (1 << 26) + 12_345];
            for n in [step, workgroup, 2 * workgroup, workgroup + step] {
                lengths.extend([n - 1, n, n + 1]);
            }
            // Lengths that fill a binding to the last byte, with and without room for the sentinel.
            let bits = u64::from(conversion.from.code_bits().max(conversion.to.code_bits()));
            let full = small.binding_size * 8 / bits;
            lengths.extend([full - 32, full - 1, full, full + 1, 2 * full, 2 * full + 1]);
            for limits in [PlanLimits::default(), small, watchdog, narrow, few] {
                for &elements in &lengths {
                    if elements > 200_000 && limits != PlanLimits::default() {
                        continue;
                    }
                    for places in places(&conversion) {
                        check(&conversion, elements, places, &limits, None);
                        check(&conversion, elements, places, &limits, Some(77));
                    }
                }
            }
        }
    }

    #[test]
    fn counts_beyond_32_bits_are_planned_exactly() {
        let limits = PlanLimits { binding_size: 4 << 30, ..PlanLimits::default() };
        for (from, to) in [
            (ElementType::FLOAT, ElementType::FLOAT16),
            (ElementType::INT2, ElementType::UINT2),
            (ElementType::FLOAT6E2M3, ElementType::DOUBLE),
            (ElementType::DOUBLE, ElementType::UINT4),
        ] {
            let conversion = Conversion::new(from, to, &CastOptions::default()).unwrap();
            for elements in [(1 << 32) - 1, 1 << 32, (1 << 32) + 1, (1 << 40) + 3] {
                check(&conversion, elements, Places::default(), &limits, Some(1));
                let apart = Places { source: 1 << 10, destination: 1 << 50, one_buffer: true };
                check(&conversion, elements, apart, &limits, None);
            }
        }
    }

    #[test]
    fn small_tensors_take_one_edge_dispatch_and_large_ones_blocks_and_a_rest() {
        let conversion = Conversion::new(ElementType::FLOAT, ElementType::FLOAT16, &CastOptions::default()).unwrap();
        let kinds = |elements, sentinel| {
            let dispatches = check(&conversion, elements, Places::default(), &PlanLimits::default(), sentinel);
            dispatches.iter().map(|d| d.kind).collect::<Vec<_>>()
        };
        assert_eq!(kinds(0, Some(1)), []);
        assert_eq!(kinds(1023, None), [Kind::Edge]);
        assert_eq!(kinds(1024, None), [Kind::Blocks]);
        assert_eq!(kinds(1024, Some(1)), [Kind::Blocks, Kind::Edge]);
        assert_eq!(kinds(1027, None), [Kind::Blocks, Kind::Edge]);
        // 128 MiB of float are 2^25 elements.
        assert_eq!(kinds((1 << 25) + 2001, None), [Kind::Blocks, Kind::Blocks, Kind::Edge]);
    }

    #[test]
    fn limits_below_a_step_are_an_error() {
        let conversion = Conversion::new(ElementType::FLOAT, ElementType::DOUBLE, &CastOptions::default()).unwrap();
        let limits = PlanLimits { binding_size: 100, ..PlanLimits::default() };
        assert!(check(&conversion, 3, Places::default(), &limits, None).len() == 1);
        let error = plan(&conversion, 1000, Places::default(), &limits, None).unwrap_err();
        assert!(matches!(error, Error::Limit { limit: "max_storage_buffer_binding_size", .. }), "{error}");
        let limits = PlanLimits { buffer_size: 100, ..PlanLimits::default() };
        assert!(matches!(host_chunk(&conversion, &limits), Err(Error::Limit { limit: "max_buffer_size", .. })));
    }

    #[test]
    fn host_chunks_start_at_whole_bytes() {
        for conversion in conversions() {
            let chunk = host_chunk(&conversion, &PlanLimits::default()).unwrap();
            for t in [conversion.from, conversion.to] {
                assert_eq!(chunk * u64::from(t.code_bits()) % 8, 0);
                assert!(t.packed_bytes(chunk).unwrap() + 8 <= 256 << 20);
            }
        }
    }

    #[test]
    fn ranges_of_one_buffer_hold_too() {
        let small = PlanLimits { binding_size: 64 << 10, offset_alignment: 32, ..PlanLimits::default() };
        for conversion in conversions() {
            let size = |t: ElementType| u64::from(t.code_bits() / 8).max(1);
            let unit = size(conversion.from).max(size(conversion.to));
            let bytes = |t: ElementType, elements| t.packed_bytes(elements).unwrap().next_multiple_of(unit);
            for elements in [1, 15, 64, 1000, 5003, 40_001] {
                for limits in [PlanLimits::default(), small] {
                    for (start, gap) in [(0, 0), (unit, unit), (0, 1 << 20), (24, 3 * unit)] {
                        let after = start + bytes(conversion.from, elements) + gap;
                        let before = start + bytes(conversion.to, elements) + gap;
                        for (source, destination) in [(start, after), (before, start)] {
                            let places = Places { source, destination, one_buffer: true };
                            check(&conversion, elements, places, &limits, None);
                        }
                        if conversion.from.code_bits() == conversion.to.code_bits() {
                            let places = Places { source: start, destination: start, one_buffer: true };
                            check(&conversion, elements, places, &limits, None);
                        }
                    }
                }
            }
        }
    }
}
