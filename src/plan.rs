//! What a cast comes to on a device, as data: which dispatches over which byte ranges. No device is needed to plan.

use crate::conversion::Conversion;
use crate::error::Error;
use crate::kernel::{BLOCKS_SIZE, EDGE_SIZE, Units};

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

/// A range of bytes of a buffer, counted from where the tensor starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bytes {
    pub offset: u64,
    pub size: u64,
}

/// Which kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Blocks,
    Edge,
}

/// What a dispatch is told: `Params` of `shaders/entry/params.wgsl`, padded to 16 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(crate) struct Params {
    pub first: u32,
    pub count: u32,
    pub source_byte: u32,
    pub destination_byte: u32,
    pub pitch: u32,
    pub sentinel_word: u32,
    pub sentinel: u32,
    pub padding: u32,
}

/// One dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dispatch {
    pub kind: Kind,
    pub source: Bytes,
    pub destination: Bytes,
    pub params: Params,
    pub workgroups: [u32; 2],
}

/// Most elements of an edge dispatch: bit positions of 64-bit codes stay within 32 bits, with room for alignment.
const EDGE_ELEMENTS: u64 = 1 << 24;

/// The dispatches that cast `elements` from the start of an aligned range to the start of another. With a sentinel,
/// the last dispatch writes it to the word after the destination's last.
pub(crate) fn plan(
    conversion: &Conversion,
    elements: u64,
    limits: &PlanLimits,
    sentinel: Option<u32>,
) -> Result<Vec<Dispatch>, Error> {
    let mut dispatches = Vec::new();
    if elements == 0 {
        return Ok(dispatches);
    }
    let shape = Shape::new(conversion, limits);
    let chunk = shape.chunk(limits, elements)?;
    let mut start = 0;
    while start < elements {
        let count = chunk.min(elements - start);
        let whole = count / u64::from(shape.units.elements) * u64::from(shape.units.elements);
        let whole = if whole >= shape.blocks_from { whole } else { 0 };
        if whole > 0 {
            dispatches.push(shape.blocks(start, whole));
        }
        let (mut at, end) = (start + whole, start + count);
        let sentinel = sentinel.filter(|_| end == elements);
        loop {
            let piece = (end - at).min(shape.edge_chunk);
            let sentinel = sentinel.filter(|_| at + piece == end);
            if piece > 0 || sentinel.is_some() {
                dispatches.push(shape.edge(at, piece, sentinel));
            }
            at += piece;
            if at == end {
                break;
            }
        }
        start = end;
    }
    Ok(dispatches)
}

/// The most elements of a host tensor that fit the device's buffers at once, of which every chunk but the last starts
/// at a whole byte on both sides.
pub(crate) fn host_chunk(conversion: &Conversion, limits: &PlanLimits) -> Result<u64, Error> {
    let shape = Shape::new(conversion, limits);
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
    units: Units,
    source_bits: u64,
    destination_bits: u64,
    /// Elements after which both sides are aligned and whole units.
    step: u64,
    blocks_from: u64,
    edge_chunk: u64,
    workgroups: u32,
}

impl<'a> Shape<'a> {
    fn new(conversion: &'a Conversion, limits: &PlanLimits) -> Self {
        let units = Units::new(conversion, limits.tables);
        let (source_bits, destination_bits) =
            (u64::from(conversion.from.code_bits()), u64::from(conversion.to.code_bits()));
        let aligned = |bits: u64| {
            let alignment = limits.offset_alignment * 8;
            alignment / gcd(alignment, bits)
        };
        let step = lcm(lcm(aligned(source_bits), aligned(destination_bits)), u64::from(units.elements));
        let bits = source_bits.max(destination_bits);
        // A binding may start up to a step before its first element, and end with the sentinel.
        let by_binding = (limits.binding_size.saturating_sub(4).saturating_mul(8) / bits).saturating_sub(step);
        let by_workgroups = u64::from(limits.workgroups).saturating_pow(2).saturating_mul(u64::from(EDGE_SIZE));
        Self {
            conversion,
            units,
            source_bits,
            destination_bits,
            step,
            blocks_from: limits.blocks_from.unwrap_or(u64::from(units.per_workgroup())),
            edge_chunk: (EDGE_ELEMENTS.min(by_binding).min(by_workgroups) / step * step).max(step),
            workgroups: limits.workgroups,
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

    /// Elements of a dispatch, if there are more than one.
    fn chunk(&self, limits: &PlanLimits, elements: u64) -> Result<u64, Error> {
        let invocations = u64::from(limits.workgroups).saturating_pow(2).saturating_mul(u64::from(BLOCKS_SIZE));
        let by_workgroups = invocations.saturating_mul(u64::from(self.units.elements * self.units.repeat));
        let most = by_workgroups.min(limits.dispatch_elements);
        let bytes = |bits| (u128::from(elements) * u128::from(bits)).div_ceil(32) * 4 + 4;
        let whole = bytes(self.source_bits.max(self.destination_bits)) <= u128::from(limits.binding_size);
        if whole && elements <= most {
            return Ok(elements);
        }
        let by_binding = self.fit(limits.binding_size.saturating_sub(4), "max_storage_buffer_binding_size")?;
        Ok((most.min(by_binding) / self.step * self.step).max(self.step))
    }

    fn blocks(&self, start: u64, count: u64) -> Dispatch {
        let units = (count / u64::from(self.units.elements)) as u32;
        let workgroups = self.grid(units.div_ceil(BLOCKS_SIZE * self.units.repeat));
        Dispatch {
            kind: Kind::Blocks,
            source: range(start, count, self.source_bits),
            destination: range(start, count, self.destination_bits),
            params: Params { count: units, pitch: workgroups[0], ..Params::default() },
            workgroups,
        }
    }

    fn edge(&self, start: u64, count: u64, sentinel: Option<u32>) -> Dispatch {
        // A binding starts at an aligned element before, and never where the tensor ends.
        let base = (if count == 0 { start - 1 } else { start }) / self.step * self.step;
        let first = start - base;
        let source = range(base, first + count, self.source_bits);
        let mut destination = range(base, first + count, self.destination_bits);
        let mut params = Params { first: first as u32, count: count as u32, ..Params::default() };
        if let Some(sentinel) = sentinel {
            params.sentinel = sentinel;
            params.sentinel_word = (destination.size / 4) as u32;
            destination.size += 4;
        }
        let invocations = if self.destination_bits < 32 {
            let begin = first * self.destination_bits;
            (begin + count * self.destination_bits).div_ceil(32) - begin / 32
        } else {
            count
        };
        let workgroups = self.grid((invocations as u32).div_ceil(EDGE_SIZE).max(1));
        params.pitch = workgroups[0];
        Dispatch { kind: Kind::Edge, source, destination, params, workgroups }
    }

    /// A number of workgroups in one or two dimensions.
    fn grid(&self, workgroups: u32) -> [u32; 2] {
        let rows = workgroups.div_ceil(self.workgroups);
        [workgroups.div_ceil(rows), rows]
    }
}

/// The whole words that hold `count` codes from an aligned `start` on.
fn range(start: u64, count: u64, bits: u64) -> Bytes {
    Bytes { offset: start * bits / 8, size: (count * bits).div_ceil(32) * 4 }
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
    fn check(conversion: &Conversion, elements: u64, limits: &PlanLimits, sentinel: Option<u32>) -> Vec<Dispatch> {
        let dispatches = plan(conversion, elements, limits, sentinel).unwrap();
        let units = Units::new(conversion, limits.tables);
        let (source_bits, destination_bits) =
            (u64::from(conversion.from.code_bits()), u64::from(conversion.to.code_bits()));
        let words = |bits: u64| (elements * bits).div_ceil(32) * 4;
        let mut done = 0;
        for (i, dispatch) in dispatches.iter().enumerate() {
            let context = || format!("{} to {}, {elements} elements: {dispatch:?}", conversion.from, conversion.to);
            let scale = if dispatch.kind == Kind::Blocks { u64::from(units.elements) } else { 1 };
            let params = dispatch.params;
            let first = dispatch.source.offset * 8 / source_bits + u64::from(params.first) * scale;
            let other = dispatch.destination.offset * 8 / destination_bits + u64::from(params.first) * scale;
            assert_eq!((first, other), (done, done), "{}", context());
            done += u64::from(params.count) * scale;
            assert!(done <= elements, "{}", context());
            let last = i + 1 == dispatches.len();
            assert_eq!(params.sentinel, if last { sentinel.unwrap_or(0) } else { 0 }, "{}", context());
            let sentinel_bytes = if params.sentinel != 0 { 4 } else { 0 };
            if params.sentinel != 0 {
                assert_eq!(dispatch.kind, Kind::Edge, "{}", context());
                let at = dispatch.destination.offset + u64::from(params.sentinel_word) * 4;
                assert_eq!(at, words(destination_bits), "{}", context());
            }
            for (bytes, bits, sentinel) in
                [(dispatch.source, source_bits, 0), (dispatch.destination, destination_bits, sentinel_bytes)]
            {
                assert_eq!(bytes.offset % limits.offset_alignment, 0, "{}", context());
                assert_eq!(bytes.size % 4, 0, "{}", context());
                assert!(bytes.size > 0 && bytes.size <= limits.binding_size, "{}", context());
                assert!(bytes.offset + bytes.size <= words(bits) + sentinel, "{}", context());
                assert!(bytes.offset * 8 + bytes.size * 8 >= done * bits, "{}", context());
                if dispatch.kind == Kind::Edge {
                    assert!(u64::from(params.first + params.count) * bits < 1 << 32, "{}", context());
                }
            }
            let [x, y] = dispatch.workgroups;
            assert!((1..=limits.workgroups).contains(&x) && (1..=limits.workgroups).contains(&y), "{}", context());
            assert_eq!(params.pitch, x, "{}", context());
            let per_workgroup = if dispatch.kind == Kind::Blocks { BLOCKS_SIZE * units.repeat } else { EDGE_SIZE };
            let invocations = u64::from(x) * u64::from(y) * u64::from(per_workgroup);
            assert!(invocations < 1 << 32, "{}", context());
            let needed = match dispatch.kind {
                Kind::Blocks => u64::from(params.count),
                Kind::Edge => (u64::from(params.count) * destination_bits).div_ceil(32).min(params.count.into()),
            };
            assert!(invocations >= needed, "{}", context());
        }
        assert_eq!(done, elements, "{} to {}", conversion.from, conversion.to);
        dispatches
    }

    #[test]
    fn plans_hold_at_every_boundary() {
        let small = PlanLimits { binding_size: 64 << 10, offset_alignment: 32, ..PlanLimits::default() };
        let watchdog = PlanLimits { dispatch_elements: 5000, blocks_from: Some(0), ..small };
        let narrow = PlanLimits { workgroups: 40, tables: false, ..PlanLimits::default() };
        let few = PlanLimits { workgroups: 5, blocks_from: Some(u64::MAX), ..PlanLimits::default() };
        for conversion in conversions() {
            let step = Shape::new(&conversion, &PlanLimits::default()).step;
            let workgroup = u64::from(Units::new(&conversion, true).per_workgroup());
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
                    if elements <= 200_000 || limits == PlanLimits::default() {
                        check(&conversion, elements, &limits, None);
                        check(&conversion, elements, &limits, Some(77));
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
                check(&conversion, elements, &limits, Some(1));
            }
        }
    }

    #[test]
    fn small_tensors_take_one_edge_dispatch_and_large_ones_blocks_and_a_rest() {
        let conversion = Conversion::new(ElementType::FLOAT, ElementType::FLOAT16, &CastOptions::default()).unwrap();
        let kinds = |elements, sentinel| {
            let dispatches = check(&conversion, elements, &PlanLimits::default(), sentinel);
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
        assert!(check(&conversion, 3, &limits, None).len() == 1);
        let error = plan(&conversion, 1000, &limits, None).unwrap_err();
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
}
