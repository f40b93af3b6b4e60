//! Plans are checked against their own claims for every pair, at every boundary. No device is needed.

mod cast_plan;
mod counted;
mod divisor;
mod in_place;
mod limits;
mod merge;
mod params;
mod placement;
mod places;
mod random;
mod transposed;
mod views;

use super::measures::Measures;
use super::*;
use crate::kernel::{Access, BLOCKS_SIZE, Block, EDGE_SIZE, KernelKind, Units};
use crate::types::conversion::Conversion;
use crate::types::element::ElementType;
use crate::types::error::{CastFault, Error};
use crate::types::options::CastOptions;

fn conversions() -> impl Iterator<Item = Conversion> {
    let numeric = || ElementType::ALL.iter().copied().filter(|t| t.is_numeric());
    numeric().flat_map(move |from| numeric().map(move |to| Conversion::new(from, to, &CastOptions::default()).unwrap()))
}

#[test]
fn ranges_overlap_where_they_share_a_byte() {
    let range = |offset, size| ByteRange { offset, size };
    for (offset, size, overlaps, over) in [
        (0, 16, false, range(0, 48)),
        (0, 17, true, range(0, 48)),
        (16, 32, true, range(16, 32)),
        (20, 4, true, range(16, 32)),
        (47, 9, true, range(16, 40)),
        (48, 8, false, range(16, 40)),
        (8, 64, true, range(8, 64)),
    ] {
        let (fixed, other) = (range(16, 32), range(offset, size));
        assert_eq!([fixed.overlaps(other), other.overlaps(fixed)], [overlaps; 2], "{other:?}");
        assert_eq!([fixed.over(other), other.over(fixed)], [over; 2], "{other:?}");
    }
}

#[test]
fn offsets_are_bits_in_one_buffer_or_two() {
    let [one, two] = [Offsets::one_buffer(3, 5), Offsets::two_buffers(3, 5)];
    let expected = |one_buffer| Offsets { source: 24, destination: 40, one_buffer, writable: false, keeps_rest: false };
    assert_eq!([one, two], [expected(true), expected(false)]);
}

/// The kernels that a coverage needs, one letter each: in two buffers, in one buffer, and in two bindings of one
/// buffer.
#[test]
fn kernels_are_those_that_slices_need() {
    use ElementType::{FLOAT, FLOAT6E2M3, FLOAT6E3M2, FLOAT16, INT8, UINT8};
    let letters = |from, to, coverage, buffer_size| {
        let conversion = Conversion::new(from, to, &CastOptions::default()).unwrap();
        let mut settings = PlanSettings::default();
        settings.limits.buffer_size = buffer_size;
        settings.limits.binding_size = 1 << 27;
        let all: Vec<_> = kernels(&conversion, coverage, &settings).collect();
        [Access::Separate, Access::Shared, Access::Writable].map(|wanted| {
            let of_access = all.iter().filter(|(_, access)| *access == wanted);
            let letter = |(kind, _): &(KernelKind, Access)| match kind {
                KernelKind::Together => 'U',
                KernelKind::Strided => 'V',
                KernelKind::Ends => 'N',
                kind => format!("{kind:?}").remove(0),
            };
            of_access.map(letter).collect::<String>()
        })
    };
    let (small, large) = (1 << 27, 1 << 28);
    for buffer_size in [small, large] {
        assert_eq!(letters(FLOAT, FLOAT16, Coverage::Aligned, buffer_size), ["BE", "", ""]);
        assert_eq!(letters(FLOAT, FLOAT16, Coverage::Anywhere, buffer_size), ["BSE", "", ""]);
    }
    for (from, to, shared) in [
        (FLOAT, FLOAT16, "BSEU"),
        (UINT8, INT8, "BSE"),
        // In place, one workgroup casts codes that lie across words. With codes of less than a byte, units are short.
        (FLOAT6E2M3, FLOAT6E3M2, "SEU"),
        (FLOAT6E2M3, FLOAT, "SEU"),
    ] {
        assert_eq!(letters(from, to, Coverage::OneBuffer, small), ["BSE", shared, ""], "{from} to {to}");
        assert_eq!(letters(from, to, Coverage::OneBuffer, large), ["BSE", shared, "BSE"], "{from} to {to}");
        // The kernel for transposed rows does not store codes of 6 bits.
        let views = if to == FLOAT6E3M2 { "VRGN" } else { "VRGNT" };
        let expected = ["BSE", shared, "BSE"].map(|kernels| format!("{kernels}{views}"));
        assert_eq!(letters(from, to, Coverage::Views, large), expected, "{from} to {to}");
    }
}

#[test]
fn the_page_for_engines_has_the_numbers_of_kernels() {
    let page = include_str!("../../docs/engine.md");
    for coverage in [Coverage::Aligned, Coverage::Anywhere, Coverage::OneBuffer, Coverage::Views] {
        let numbers = [1 << 27, 1 << 28].map(|buffer_size| {
            let mut settings = PlanSettings::default();
            settings.limits.buffer_size = buffer_size;
            settings.limits.binding_size = 1 << 27;
            let counts = || conversions().map(|conversion| kernels(&conversion, coverage, &settings).count());
            let (least, most) = (counts().min().unwrap(), counts().max().unwrap());
            if least == most { format!("{least}") } else { format!("{least} to {most}") }
        });
        let expected = format!(" | {} | {} |", numbers[0], numbers[1]);
        let is_row = |line: &str| line.starts_with(&format!("| `{coverage:?}` | ")) && line.ends_with(&expected);
        assert!(page.lines().any(is_row), "docs/engine.md: {coverage:?}{expected}");
    }
}

/// Whether a dispatch casts the elements before and after whole units. Its two rows of workgroups are then apart.
fn is_of_ends(dispatch: &Dispatch) -> bool {
    dispatch.kind == KernelKind::Edge && dispatch.params.pitch != dispatch.workgroups[0]
}

/// The elements that a dispatch casts, in ranges. In a dispatch of the elements before and after whole units, a code
/// that lies across words is counted where it starts.
fn ranges(conversion: &Conversion, dispatch: &Dispatch, settings: &PlanSettings) -> Vec<(u64, u64)> {
    let units = Units::new(conversion, dispatch.kind, dispatch.access, settings.tuning.lookup);
    let in_units = matches!(dispatch.kind, KernelKind::Blocks | KernelKind::Shifted);
    let count = u64::from(dispatch.params.count) * if in_units { u64::from(units.elements) } else { 1 };
    let first = dispatch.first;
    if !is_of_ends(dispatch) {
        return vec![(first, first + count)];
    }
    let (bit, bits) = (u64::from(dispatch.params.destination_bit), u64::from(conversion.to.code_bits()));
    let element = |invocation: u64| match bits {
        ..32 => (32 * invocation).saturating_sub(bit).div_ceil(bits).min(count),
        _ => invocation.min(count),
    };
    let [columns, rows] = dispatch.workgroups.map(|size| u64::from(size) * u64::from(EDGE_SIZE));
    let starts = (0..rows / u64::from(EDGE_SIZE)).map(|row| row * u64::from(dispatch.params.pitch * EDGE_SIZE));
    starts.map(|start| (first + element(start), first + element(start + columns))).collect()
}

/// The ranges in their order; ranges that touch or overlap are joined.
fn joined(mut ranges: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    ranges.sort_unstable();
    let mut joined: Vec<(u64, u64)> = Vec::new();
    for (start, end) in ranges.into_iter().filter(|(start, end)| start < end) {
        match joined.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => joined.push((start, end)),
        }
    }
    joined
}

/// Checks what every plan must fulfil. Every element is cast once and in order; only between the ends of a cast that
/// one dispatch takes are elements cast again. Bindings are aligned, whole and within limits. The arithmetic of every
/// invocation stays within 32 bits. The sentinel comes after the last word and in the last dispatch only.
fn check(
    conversion: &Conversion,
    elements: u64,
    offsets: Offsets,
    settings: &PlanSettings,
    sentinel: Option<u32>,
) -> Vec<Dispatch> {
    let dispatches = plan(conversion, elements, offsets, settings, sentinel).unwrap();
    if elements > 0 {
        let ends = dense::Ends::Joined;
        let cast = dense::Dense::new(conversion, elements, offsets, settings, sentinel, ends).unwrap();
        assert_eq!(cast.len(), dispatches.len() as u64, "{elements} at {offsets:?}, {settings:?}");
    }
    check_dispatches(conversion, elements, offsets, settings, sentinel, &dispatches);
    dispatches
}

fn check_dispatches(
    conversion: &Conversion,
    elements: u64,
    offsets: Offsets,
    settings: &PlanSettings,
    sentinel: Option<u32>,
    dispatches: &[Dispatch],
) {
    let limits = &settings.limits;
    let bits = [conversion.from, conversion.to].map(|t| u64::from(t.code_bits()));
    let starts = [offsets.source, offsets.destination];
    let end = |side: usize| (starts[side] + elements * bits[side]).div_ceil(32) * 4;
    let (mut done, mut all) = (0, Vec::new());
    let in_place = offsets.one_buffer && offsets.source == offsets.destination && bits[0] == bits[1];
    for (i, dispatch) in dispatches.iter().enumerate() {
        let context = || format!("{} to {}, {elements} at {offsets:?}: {dispatch:?}", conversion.from, conversion.to);
        let units = Units::new(conversion, dispatch.kind, dispatch.access, settings.tuning.lookup);
        let in_units = matches!(dispatch.kind, KernelKind::Blocks | KernelKind::Shifted);
        let params = dispatch.params;
        let count = u64::from(params.count) * if in_units { u64::from(units.elements) } else { 1 };
        let last = i + 1 == dispatches.len();
        assert_eq!(params.sentinel, if last { sentinel.unwrap_or(0) } else { 0 }, "{}", context());
        let sentinel_bytes = if params.sentinel != 0 { 4 } else { 0 };
        // Before the whole units, one dispatch may cast the elements before and after them.
        let ends = dispatch.kind == KernelKind::Edge && i == 0 && !last && count == elements;
        assert!(!ends || !in_place && sentinel.is_none() && dispatches.len() == 2, "{}", context());
        assert!(ends || !is_of_ends(dispatch), "{}", context());
        assert!(count == 0 || dispatch.first == done, "{}", context());
        all.extend(ranges(conversion, dispatch, settings));
        let shared = dispatch.access == Access::Shared;
        assert_eq!(dispatch.access == Access::Separate, !offsets.one_buffer, "{}", context());
        assert_eq!(shared, dispatch.source == dispatch.destination && offsets.one_buffer, "{}", context());
        let firsts = [(params.source_word, params.source_bit), (params.destination_word, params.destination_bit)];
        for (side, (range, (word, bit))) in [dispatch.source, dispatch.destination].into_iter().zip(firsts).enumerate()
        {
            let own = if side == 1 { sentinel_bytes } else { 0 };
            assert_eq!(range.offset % limits.offset_alignment, 0, "{}", context());
            assert_eq!(range.size % 4, 0, "{}", context());
            assert!(range.size > 0 && range.size <= limits.binding_size, "{}", context());
            assert!(shared || range.offset + range.size <= end(side) + own, "{}", context());
            let first = range.offset * 8 + u64::from(word) * 32 + u64::from(bit);
            if count > 0 {
                assert_eq!(first, starts[side] + done * bits[side], "{}", context());
            }
            assert!(first + count * bits[side] <= (range.offset + range.size) * 8, "{}", context());
            let words = range.size / 4;
            match dispatch.kind {
                KernelKind::Blocks => assert_eq!((word % 4, bit), (0, 0), "{}", context()),
                KernelKind::Shifted if side == 1 => assert_eq!((word % 4, bit), (0, 0), "{}", context()),
                KernelKind::Shifted => assert!(u64::from(params.source_last) < words, "{}", context()),
                _ => assert!(bit + 8 < 1 << 8 && u64::from(bit) + count * bits[side] < 1 << 32, "{}", context()),
            }
        }
        if dispatch.kind == KernelKind::Shifted {
            let needed = (u64::from(params.source_bit) + count * bits[0]).div_ceil(32) - 1;
            assert!(u64::from(params.source_last) >= u64::from(params.source_word) + needed, "{}", context());
        }
        if offsets.one_buffer && !shared {
            // Browsers refuse writable bindings that overlap.
            let (a, b) = (dispatch.source, dispatch.destination);
            assert!(a.offset + a.size <= b.offset || b.offset + b.size <= a.offset, "{}", context());
        }
        if bits[1] < 32 && matches!(dispatch.kind, KernelKind::Edge | KernelKind::Together) && count > 0 {
            let end = u64::from(params.destination_bit) + count * bits[1];
            let kept = offsets.keeps_rest || !last && !ends;
            assert_eq!(
                u64::from(params.destination_end),
                if kept { end } else { end.next_multiple_of(8) },
                "{}",
                context()
            );
        }
        if params.sentinel != 0 {
            assert_eq!(dispatch.kind, KernelKind::Edge, "{}", context());
            let at = dispatch.destination.offset + u64::from(params.sentinel_word) * 4;
            assert_eq!(at, end(1), "{}", context());
        }
        done = if ends { dispatches[1].first } else { done + count };
        assert!(done <= elements, "{}", context());
        let [x, y] = dispatch.workgroups;
        assert!((1..=limits.workgroups).contains(&x) && (1..=limits.workgroups).contains(&y), "{}", context());
        if is_of_ends(dispatch) {
            assert!((u64::from(params.pitch) + u64::from(x)) * u64::from(EDGE_SIZE) < 1 << 32, "{}", context());
            assert!(y == 2 && params.pitch > x, "{}", context());
            continue;
        }
        assert_eq!(params.pitch, x, "{}", context());
        let (per_workgroup, needed) = match dispatch.kind {
            KernelKind::Blocks | KernelKind::Shifted => (BLOCKS_SIZE * units.repeat, u64::from(params.count)),
            KernelKind::Together => {
                // Fewer elements than two units, and one workgroup: it reads everything before it writes.
                assert_eq!((count < 128, dispatch.workgroups, shared), (true, [1, 1], true), "{}", context());
                (BLOCKS_SIZE, (u64::from(params.destination_bit) + count * bits[1]).div_ceil(32))
            }
            KernelKind::Edge if bits[1] < 32 => {
                (EDGE_SIZE, (u64::from(params.destination_bit) + count * bits[1]).div_ceil(32))
            }
            KernelKind::Edge => (EDGE_SIZE, count),
            _ => unreachable!("kernels of views"),
        };
        let invocations = u64::from(x) * u64::from(y) * u64::from(per_workgroup);
        assert!(invocations < 1 << 32 && invocations >= needed, "{}", context());
        // Two dimensions need no more workgroups than this.
        let workgroups = needed.div_ceil(u64::from(per_workgroup)).max(1);
        assert!(u64::from(x) * u64::from(y) < workgroups + u64::from(y), "{}", context());
        assert!(bits[1] < 32 || params.destination_end == 0, "{}", context());
    }
    let whole = if elements > 0 { vec![(0, elements)] } else { Vec::new() };
    assert_eq!(joined(all), whole, "{} to {}", conversion.from, conversion.to);
}

/// Offsets at which a slice may start: aligned ones, and every kind of misalignment that the types allow.
fn offsets(conversion: &Conversion) -> Vec<Offsets> {
    let size = |t: ElementType| u64::from(t.code_bits() / 8).max(1);
    let (source, destination) = (size(conversion.from), size(conversion.to));
    let mut offsets = vec![Offsets::default(), Offsets::two_buffers(512, 256)];
    for (s, d) in [(1, 0), (0, 1), (3, 5), (16, 48), (7, 16), (100, 3)] {
        offsets.push(Offsets::two_buffers(s * source, d * destination));
    }
    // Parts of larger tensors, which may start inside a byte; eleven codes of 6 bits end two bits after a word's end.
    let bits = [conversion.from, conversion.to].map(|t| u64::from(t.code_bits()));
    for (s, d) in [(1, 3), (3, 0), (63, 11)] {
        let (source, destination) = (64 + s * bits[0], 128 + d * bits[1]);
        offsets.push(Offsets { source, destination, one_buffer: false, writable: false, keeps_rest: true });
    }
    offsets
}

#[test]
fn plans_hold_at_every_boundary() {
    let tuned = |limits, tuning| PlanSettings { limits, tuning };
    let (default, gpu) = (PlanLimits::default(), PlanTuning::default());
    let small = tuned(PlanLimits { binding_size: 64 << 10, offset_alignment: 32, ..default }, gpu);
    let watchdog = tuned(small.limits, PlanTuning { dispatch_elements: 5000, blocks_from: Some(0), ..gpu });
    let computed = PlanTuning { lookup: CodeLookup::Computed, ..gpu };
    let narrow = tuned(PlanLimits { workgroups: 40, ..default }, computed);
    let edges = PlanTuning { blocks_from: Some(u64::MAX), ..gpu };
    let few = tuned(PlanLimits { workgroups: 5, ..default }, edges);
    for conversion in conversions() {
        let step = Measures::new(&conversion, Offsets::default(), &PlanSettings::default()).step;
        let units = Units::new(&conversion, KernelKind::Blocks, Access::Separate, CodeLookup::Table);
        let workgroup = u64::from(units.per_workgroup());
        let mut lengths = vec![1, 2, 3, 7, 15, 16, 17, 63, 65, 1000, 100_001, (1 << 26) + 12_345];
        for n in [step, workgroup, 2 * workgroup, workgroup + step] {
            lengths.extend([n - 1, n, n + 1]);
        }
        // Lengths that fill a binding to the last byte, with and without room for the sentinel.
        let bits = u64::from(conversion.from.code_bits().max(conversion.to.code_bits()));
        let full = small.limits.binding_size * 8 / bits;
        lengths.extend([full - 32, full - 1, full, full + 1, 2 * full, 2 * full + 1]);
        for settings in [PlanSettings::default(), small, watchdog, narrow, few] {
            for &elements in &lengths {
                if elements > 200_000 && settings != PlanSettings::default() {
                    continue;
                }
                for offsets in offsets(&conversion) {
                    check(&conversion, elements, offsets, &settings, None);
                    if !offsets.keeps_rest {
                        check(&conversion, elements, offsets, &settings, Some(77));
                    }
                    check_moved(&conversion, elements, offsets, &settings);
                }
            }
        }
    }
}

/// A plan for the start of two buffers, after it was moved, fulfils what a plan for the slices fulfils. It can be moved
/// if all starts are aligned.
fn check_moved(conversion: &Conversion, elements: u64, offsets: Offsets, settings: &PlanSettings) {
    let dispatches = plan(conversion, elements, Offsets::default(), settings, Some(77)).unwrap();
    let moved: Option<Vec<_>> = dispatches.iter().map(|dispatch| dispatch.moved(offsets, &settings.limits)).collect();
    if let Some(moved) = &moved {
        check_dispatches(conversion, elements, offsets, settings, Some(77), moved);
    }
    if offsets.keeps_rest {
        return assert!(moved.is_none());
    }
    let aligned = |alignment| [offsets.source, offsets.destination].iter().all(|bit| bit % (8 * alignment) == 0);
    assert!(moved.is_some() || !aligned(settings.limits.offset_alignment.max(16)), "{offsets:?}");
    assert!(moved.is_none() || aligned(16), "{offsets:?}");
}

#[test]
fn counts_beyond_32_bits_are_planned_exactly() {
    let limits = PlanLimits { binding_size: 4 << 30, ..PlanLimits::default() };
    let settings = PlanSettings { limits, ..PlanSettings::default() };
    for (from, to) in [
        (ElementType::FLOAT, ElementType::FLOAT16),
        (ElementType::INT2, ElementType::UINT2),
        (ElementType::FLOAT6E2M3, ElementType::DOUBLE),
        (ElementType::DOUBLE, ElementType::UINT4),
    ] {
        let conversion = Conversion::new(from, to, &CastOptions::default()).unwrap();
        for elements in [(1 << 32) - 1, 1 << 32, (1 << 32) + 1, (1 << 40) + 3] {
            check(&conversion, elements, Offsets::default(), &settings, Some(1));
            let apart = Offsets::one_buffer(1 << 10, 1 << 50);
            check(&conversion, elements, apart, &settings, None);
        }
    }
}

#[test]
fn small_tensors_take_one_edge_dispatch_and_large_ones_blocks_and_a_rest() {
    let conversion = Conversion::new(ElementType::FLOAT, ElementType::FLOAT16, &CastOptions::default()).unwrap();
    let kinds = |elements, sentinel| {
        let dispatches = check(&conversion, elements, Offsets::default(), &PlanSettings::default(), sentinel);
        dispatches.iter().map(|d| d.kind).collect::<Vec<_>>()
    };
    assert_eq!(kinds(0, Some(1)), []);
    assert_eq!(kinds(1023, None), [KernelKind::Edge]);
    assert_eq!(kinds(1024, None), [KernelKind::Blocks]);
    assert_eq!(kinds(1024, Some(1)), [KernelKind::Blocks, KernelKind::Edge]);
    assert_eq!(kinds(1027, None), [KernelKind::Blocks, KernelKind::Edge]);
    // 128 MiB of float are 2^25 elements.
    assert_eq!(kinds((1 << 25) + 2001, None), [KernelKind::Blocks, KernelKind::Blocks, KernelKind::Edge]);
}

/// A tensor that starts at any element adds one dispatch of the edge kernel to a plan, not two. In place, no element
/// may be converted twice.
#[test]
fn casts_between_slices_anywhere_take_two_dispatches_at_most() {
    let settings = PlanSettings::default();
    for conversion in conversions() {
        let [from, to] = [conversion.from, conversion.to].map(|t| u64::from(t.code_bits() / 8).max(1));
        for elements in [1, 300, 5003, 40_001, 1_000_000] {
            for (start, place) in [(0, 0), (1, 0), (0, 1), (3, 5), (7, 16)] {
                let two = Offsets::two_buffers(start * from, place * to);
                assert!(check(&conversion, elements, two, &settings, None).len() <= 2);
                let behind = (8 * elements).next_multiple_of(to) + (start + 16) * from * to + place * to;
                let one = Offsets::one_buffer(start * from, behind);
                assert!(check(&conversion, elements, one, &settings, None).len() <= 2);
            }
        }
    }
    let conversion = Conversion::new(ElementType::FLOAT, ElementType::INT32, &CastOptions::default()).unwrap();
    let kinds = |offsets| {
        let dispatches = check(&conversion, 5005, offsets, &settings, None);
        dispatches.iter().map(|dispatch| (dispatch.kind, dispatch.workgroups)).collect::<Vec<_>>()
    };
    use KernelKind::{Blocks, Edge, Shifted};
    // 1,250 units of four elements, after three elements and before two.
    let (units, ends) = ([5, 1], [1, 2]);
    assert_eq!(kinds(Offsets::two_buffers(4, 4)), [(Edge, ends), (Blocks, units)]);
    assert_eq!(kinds(Offsets::two_buffers(8, 4)), [(Edge, ends), (Shifted, units)]);
    assert_eq!(kinds(Offsets::one_buffer(4, 32_756)), [(Edge, ends), (Blocks, units)]);
    assert_eq!(kinds(Offsets::two_buffers(4, 0)), [(Shifted, units), (Edge, [1, 1])]);
    assert_eq!(kinds(Offsets::one_buffer(4, 4)), [(Edge, [1, 1]), (Blocks, units), (Edge, [1, 1])]);
}

#[test]
fn limits_below_a_step_are_an_error() {
    let conversion = Conversion::new(ElementType::FLOAT, ElementType::DOUBLE, &CastOptions::default()).unwrap();
    let with = |limits| PlanSettings { limits, ..PlanSettings::default() };
    let settings = with(PlanLimits { binding_size: 100, ..PlanLimits::default() });
    assert!(check(&conversion, 3, Offsets::default(), &settings, None).len() == 1);
    let error = plan(&conversion, 1000, Offsets::default(), &settings, None).unwrap_err();
    // 64 elements start at whole 256 bytes on both sides.
    let (limit, needed) = ("max_storage_buffer_binding_size", 512);
    // A binding of whole vectors.
    let fault = CastFault::Limit { limit, needed, allowed: 96 };
    assert_eq!(error, conversion.error(fault));
    let settings = with(PlanLimits { buffer_size: 100, ..PlanLimits::default() });
    assert!(matches!(
        host_chunk(&conversion, &settings, 1 << 20),
        Err(Error::Cast { cause: CastFault::Limit { limit: "max_buffer_size", .. }, .. })
    ));
}

/// A device that dispatches few workgroups gets plans within its limit, or an error.
#[test]
fn plans_for_few_workgroups_stay_within_them() {
    for conversion in conversions() {
        for workgroups in 0..4 {
            let limits = PlanLimits { workgroups, ..PlanLimits::default() };
            let settings = PlanSettings { limits, ..PlanSettings::default() };
            for elements in [1, 100, 3000, 100_003] {
                match plan(&conversion, elements, Offsets::default(), &settings, None) {
                    Ok(_) => drop(check(&conversion, elements, Offsets::default(), &settings, None)),
                    Err(error) => {
                        let is_limit = matches!(
                            error,
                            Error::Cast {
                                cause: CastFault::Limit { limit: "max_compute_workgroups_per_dimension", .. },
                                ..
                            }
                        );
                        assert!(is_limit && (workgroups == 0 || elements > 1), "{error}");
                    }
                }
            }
        }
    }
}

#[test]
fn host_chunks_start_at_whole_bytes() {
    for conversion in conversions() {
        for bytes in [1, 4 << 20, u64::MAX] {
            let chunk = host_chunk(&conversion, &PlanSettings::default(), bytes).unwrap();
            for t in [conversion.from, conversion.to] {
                assert_eq!(chunk * u64::from(t.code_bits()) % 8, 0);
                assert!(t.packed_bytes(chunk).unwrap() + 8 <= 256 << 20);
                assert!(bytes == 1 || t.packed_bytes(chunk).unwrap() <= bytes);
            }
        }
    }
}

#[test]
fn ranges_of_one_buffer_hold_too() {
    let limits = PlanLimits { binding_size: 64 << 10, offset_alignment: 32, ..PlanLimits::default() };
    let small = PlanSettings { limits, ..PlanSettings::default() };
    for conversion in conversions() {
        let size = |t: ElementType| u64::from(t.code_bits() / 8).max(1);
        let unit = size(conversion.from).max(size(conversion.to));
        let bytes = |t: ElementType, elements| t.packed_bytes(elements).unwrap().next_multiple_of(unit);
        for elements in [1, 15, 64, 1000, 5003, 40_001] {
            for settings in [PlanSettings::default(), small] {
                for (start, gap) in [(0, 0), (unit, unit), (0, 1 << 20), (24, 3 * unit)] {
                    let after = start + bytes(conversion.from, elements) + gap;
                    let before = start + bytes(conversion.to, elements) + gap;
                    for (source, destination) in [(start, after), (before, start)] {
                        let offsets = Offsets::one_buffer(source, destination);
                        check(&conversion, elements, offsets, &settings, None);
                    }
                    if conversion.from.code_bits() == conversion.to.code_bits() {
                        let offsets = Offsets::one_buffer(start, start);
                        check(&conversion, elements, offsets, &settings, None);
                    }
                }
            }
        }
    }
}

/// Casts between overlapping tensors cast every element once, overwrite no code before it is read, and take few
/// dispatches.
#[test]
fn overlapping_tensors_are_cast_in_an_order_that_loses_nothing() {
    let limits = PlanLimits { binding_size: 256 << 10, offset_alignment: 32, ..PlanLimits::default() };
    let small = PlanSettings { limits, ..PlanSettings::default() };
    for conversion in conversions() {
        let bits = [conversion.from, conversion.to].map(|t| u64::from(t.code_bits()));
        if bits[0] == bits[1] {
            continue;
        }
        for elements in [1, 5, 300, 5003, 100_003] {
            let sizes = bits.map(|bits| elements * bits);
            let wider = sizes[0].max(sizes[1]) - sizes[0].min(sizes[1]);
            let unit = bits[0].max(bits[1]).max(8);
            // Both tensors start together, or both end together, or the narrower one begins before or ends after the
            // wider one by a little, or it lies anywhere inside the wider one.
            let base = 64 * unit;
            let (ends, out, narrow) = (base + wider, 3 * unit, bits[0].min(bits[1]));
            let mut places = vec![base, base - out];
            places.extend([1, 2, 3, 5, 7].map(|part| base + wider * part / 8 / narrow * narrow));
            places.extend([narrow, 2 * narrow, 300 * narrow].map(|bits| base + bits));
            if ends % narrow == 0 {
                places.extend([ends, ends + out, ends - wider.min(narrow), ends - wider.min(300 * narrow)]);
            }
            for narrower in places {
                let (source, destination) = if bits[0] < bits[1] { (narrower, base) } else { (base, narrower) };
                let offsets = Offsets { source, destination, one_buffer: true, writable: false, keeps_rest: false };
                for settings in [PlanSettings::default(), small] {
                    check_order(&conversion, elements, offsets, &settings);
                }
            }
        }
    }
}

fn check_order(conversion: &Conversion, elements: u64, offsets: Offsets, settings: &PlanSettings) {
    let bits = [conversion.from, conversion.to].map(|t| u64::from(t.code_bits()));
    let context = || format!("{} to {}, {elements} at {offsets:?}", conversion.from, conversion.to);
    let dispatches = plan(conversion, elements, offsets, settings, None).unwrap();
    let most = 3 * (elements.ilog2() as usize * 4 + 8) + elements as usize / 2000;
    assert!(dispatches.len() <= most, "{} dispatches: {}", dispatches.len(), context());
    // Ranges of elements that are done.
    let mut done: Vec<(u64, u64)> = Vec::new();
    let mut around = None;
    for dispatch in &dispatches {
        let context = || format!("{}: {dispatch:?}", context());
        let units = Units::new(conversion, dispatch.kind, dispatch.access, settings.tuning.lookup);
        let in_units = matches!(dispatch.kind, KernelKind::Blocks | KernelKind::Shifted);
        let count = u64::from(dispatch.params.count) * if in_units { u64::from(units.elements) } else { 1 };
        let at = |range: ByteRange, word: u32, bit: u32| range.offset * 8 + u64::from(word) * 32 + u64::from(bit);
        let (params, range) = (dispatch.params, dispatch.source);
        let first = (at(range, params.source_word, params.source_bit) - offsets.source) / bits[0];
        let destination = at(dispatch.destination, params.destination_word, params.destination_bit);
        assert_eq!(destination, offsets.destination + first * bits[1], "{}", context());
        assert_eq!(dispatch.first, first, "{}", context());
        let (source_start, source_end) = (offsets.source + first * bits[0], offsets.source + (first + count) * bits[0]);
        let destination_end = destination + count * bits[1];
        assert!(source_end <= (range.offset + range.size) * 8, "{}", context());
        assert!(destination_end <= (dispatch.destination.offset + dispatch.destination.size) * 8, "{}", context());
        let last = first + count == elements;
        if bits[1] < 32 && matches!(dispatch.kind, KernelKind::Edge | KernelKind::Together) {
            // Only the tensor's last byte is filled with zeros.
            let end = u64::from(params.destination_bit) + count * bits[1];
            let expected = if last && !offsets.keeps_rest { end.next_multiple_of(8) } else { end };
            assert_eq!(u64::from(params.destination_end), expected, "{}", context());
        }
        let zeroed = if last { destination_end.next_multiple_of(8) } else { destination_end };
        if dispatch.kind == KernelKind::Together {
            assert_eq!((dispatch.workgroups, dispatch.access), ([1, 1], Access::Shared), "{}", context());
            let words = (u64::from(params.destination_bit) + count * bits[1]).div_ceil(32);
            assert!(count <= 256 || bits[1] < 32 && words <= 256, "{}", context());
        } else {
            assert!(source_end <= destination || zeroed <= source_start, "{}", context());
        }
        // The bits that are written, or zeroed after that, hold no code that is still to be read.
        let all = ranges(conversion, dispatch, settings);
        let overlaps = |range: &(u64, u64)| all.iter().any(|own| own.0 < range.1 && range.0 < own.1);
        // After the dispatch of the elements before and after whole units, some of them are cast again.
        let around = std::mem::replace(&mut around, is_of_ends(dispatch).then_some((first, first + count)));
        let again = around.is_some_and(|around| around.0 < first && first + count <= around.1);
        assert!(again || !done.iter().any(overlaps), "{}", context());
        done = joined([done, all].concat());
        let starts = std::iter::once(0).chain(done.iter().map(|range| range.1));
        let ends = done.iter().map(|range| range.0).chain([elements]);
        for (start, end) in starts.zip(ends).filter(|(start, end)| start < end) {
            let unread = (offsets.source + start * bits[0], offsets.source + end * bits[0]);
            assert!(zeroed <= unread.0 || unread.1 <= destination, "{start}..{end} are lost: {}", context());
        }
    }
    assert_eq!(done.iter().map(|range| range.1 - range.0).sum::<u64>(), elements, "{}", context());
}
