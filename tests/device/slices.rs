//! Casts between slices at any offset, in two buffers and in one, compared with the CPU path. No bit around the result
//! may change.

use std::ops::Range;

use support::buffers::{buffer, read};
use support::tier::Tier;
use support::unrolled::is_chosen;
use support::{adapter, cases, numeric, overlap_error, pairs_of_widths, slice_error, variant};
use wgpu_cast::{
    CastOptions, CastSpec, Caster, CasterDescriptor, CodeLookup, Context, Destination, ElementType, Kind, PlanLimits,
    PlanTuning, Side, Source, Tensor, cpu,
};

/// Where source and destination start after some guard bytes: in elements, or in bytes if an element is smaller than a
/// byte.
#[derive(Clone, Copy, Debug)]
struct Case {
    from: ElementType,
    to: ElementType,
    len: usize,
    source: u64,
    destination: u64,
}

const GUARD: u64 = 64;

fn size(t: ElementType) -> u64 {
    u64::from(t.bits().unwrap() / 8).max(1)
}

fn packed(t: ElementType, len: usize) -> u64 {
    t.packed_bytes(len as u64).unwrap()
}

/// Bytes without a pattern, so that a byte from a wrong place is noticed.
fn noise(len: u64, seed: u64) -> Vec<u8> {
    cases::random(ElementType::UINT8, len as usize, seed).into_iter().map(|code| code as u8).collect()
}

/// The destination's bytes after a cast of the elements at `source` in `memory`.
fn cast(memory: &[u8], case: Case, source: u64) -> Vec<u8> {
    let bytes = memory[source as usize..][..packed(case.from, case.len) as usize].to_vec();
    let tensor = Tensor::from_bytes(case.from, [case.len], bytes).unwrap();
    cpu::cast(&tensor, case.to, &CastOptions::default()).unwrap().into_bytes().unwrap()
}

fn compare(case: Case, got: &[u8], expected: &[u8], start: u64) {
    if let Some(wrong) = (0..expected.len()).find(|&i| got[i] != expected[i]) {
        let end = start + packed(case.to, case.len);
        panic!("{case:?}, bytes {start}..{end}: byte {wrong} is {:02x}, expected {:02x}", got[wrong], expected[wrong]);
    }
}

fn of_two_buffers(context: &Context, caster: &Caster, case: Case) {
    let (device, queue) = (context.device().unwrap(), context.queue().unwrap());
    let Case { from, to, len, .. } = case;
    let (source_at, at) = (GUARD + case.source * size(from), GUARD + case.destination * size(to));
    let source = buffer(device, source_at + packed(from, len) + GUARD);
    let destination = buffer(device, at + packed(to, len) + GUARD);
    let given = noise(source.size(), 1);
    let mut expected = noise(destination.size(), 2);
    queue.write_buffer(&source, 0, &given);
    queue.write_buffer(&destination, 0, &expected);
    let prepared = caster.prepare(&CastSpec::new(from, to), len as u64).unwrap();
    let mut encoder = device.create_command_encoder(&Default::default());
    let slices = (source.slice(source_at..source_at + packed(from, len)), destination.slice(at..at + packed(to, len)));
    prepared.record(&mut encoder, Source::whole(slices.0), Destination::whole(slices.1)).unwrap();
    let got = read(device, queue, encoder, &destination);
    let cast = cast(&given, case, source_at);
    expected[at as usize..][..cast.len()].copy_from_slice(&cast);
    compare(case, &got, &expected, at);
}

/// A cast in one buffer, with `gap` bytes between source and destination; `None` is in place.
fn of_one_buffer(context: &Context, caster: &Caster, case: Case, gap: Option<u64>, source_first: bool) {
    let (device, queue) = (context.device().unwrap(), context.queue().unwrap());
    let Case { from, to, len, .. } = case;
    let (bytes, result) = (packed(from, len), packed(to, len));
    let start = GUARD + case.source * size(from);
    let (source_at, at) = match gap {
        None => (start, start),
        Some(gap) if source_first => (start, (start + bytes + gap).next_multiple_of(size(to))),
        Some(gap) => {
            let at = GUARD + case.destination * size(to);
            ((at + result + gap).next_multiple_of(size(from)), at)
        }
    };
    let memory = buffer(device, (source_at + bytes).max(at + result) + GUARD);
    let mut expected = noise(memory.size(), 3);
    queue.write_buffer(&memory, 0, &expected);
    let prepared = caster.prepare(&CastSpec::new(from, to), len as u64).unwrap();
    let mut encoder = device.create_command_encoder(&Default::default());
    let slices = (memory.slice(source_at..source_at + bytes), memory.slice(at..at + result));
    prepared.record(&mut encoder, Source::whole(slices.0), Destination::whole(slices.1)).unwrap();
    let got = read(device, queue, encoder, &memory);
    let cast = cast(&expected, case, source_at);
    expected[at as usize..][..cast.len()].copy_from_slice(&cast);
    compare(case, &got, &expected, at);
}

const LOOKUPS: [CodeLookup; 2] = [CodeLookup::Table, CodeLookup::Computed];

/// A caster with kernels for units from `blocks_from` elements on.
fn caster(context: &Context, lookup: CodeLookup, blocks_from: u64) -> Caster {
    let (mut limits, mut tuning) = (PlanLimits::default(), PlanTuning::default());
    (limits.offset_alignment, tuning.lookup, tuning.blocks_from) = (32, lookup, Some(blocks_from));
    Caster::with_descriptor(
        context.device().unwrap(),
        &CasterDescriptor { limits: Some(limits), tuning: Some(tuning), ..Default::default() },
    )
}

/// Casters for both kernels for units, whatever the adapter is.
fn casters(context: &Context) -> [Caster; 2] {
    LOOKUPS.map(|lookup| caster(context, lookup, 0))
}

/// Every pair with the casters that it takes. Compiling kernels for units is nearly all of the work. So only pairs and
/// look-ups that `support::unrolled` chooses take these kernels. All others take only the edge kernel, between the same
/// slices. In the exhaustive tier, every pair takes the kernels for units: those of one look-up between two buffers,
/// and those of the other within one buffer.
fn pairs(context: &Context, one_buffer: bool) -> impl Iterator<Item = (ElementType, ElementType, Vec<Caster>)> {
    let (units, edge) = (casters(context), caster(context, CodeLookup::Table, u64::MAX));
    let types = || numeric().enumerate();
    let all = types().flat_map(move |(i, from)| types().map(move |(j, to)| (from, to, (i + j) % 2)));
    all.map(move |(from, to, parity)| {
        if Tier::chosen() == Tier::Exhaustive {
            return (from, to, vec![units[if one_buffer { 1 - parity } else { parity }].clone()]);
        }
        let chosen = (0..2).filter(|&i| is_chosen(from, to, LOOKUPS[i])).map(|i| units[i].clone());
        let chosen: Vec<_> = chosen.collect();
        (from, to, if chosen.is_empty() { vec![edge.clone()] } else { chosen })
    })
}

#[test]
fn two_buffers_at_any_element() {
    let context = adapter::open();
    for (from, to, casters) in pairs(&context, false) {
        for (source, destination, len) in [(1, 0, 200), (0, 1, 200), (3, 5, 333), (7, 16, 129), (16, 32, 256)] {
            let case = Case { from, to, len, source, destination };
            casters.iter().for_each(|caster| of_two_buffers(&context, caster, case));
        }
    }
}

#[test]
fn one_buffer_apart() {
    let context = adapter::open();
    for (from, to, casters) in pairs(&context, true) {
        for (i, (source, destination, gap, len)) in
            [(0, 0, 0, 64), (1, 3, 0, 100), (4, 16, 1, 333), (16, 0, 200, 256)].into_iter().enumerate()
        {
            let case = Case { from, to, len, source, destination };
            let cast = |caster| of_one_buffer(&context, caster, case, Some(gap), i % 2 == 0);
            casters.iter().for_each(cast);
        }
    }
}

#[test]
fn one_buffer_in_place() {
    let context = adapter::open();
    let casters = casters(&context);
    for from in numeric() {
        for to in numeric().filter(|to| to.bits() == from.bits()) {
            for (source, len) in [(0, 64), (1, 1), (2, 11), (3, 100), (5, 37), (8, 16), (13, 1000)] {
                let case = Case { from, to, len, source, destination: source };
                of_one_buffer(&context, &casters[len % 2], case, None, true);
            }
        }
    }
}

/// Every length around the units, from a source and to a destination at odd places.
#[test]
fn short_lengths_at_odd_places() {
    use ElementType::*;
    let context = adapter::open();
    let casters = casters(&context);
    let pairs =
        [(INT4, FLOAT6E2M3), (FLOAT6E2M3, FLOAT), (FLOAT, FLOAT8E4M3FN), (INT2, INT8), (DOUBLE, INT2), (BOOL, UINT4)];
    for (from, to) in pairs {
        for len in 1..70 {
            let case = Case { from, to, len, source: 1, destination: 3 };
            of_two_buffers(&context, &casters[len % 2], case);
            of_one_buffer(&context, &casters[len % 2], case, Some(0), len % 3 == 0);
        }
    }
}

/// One dispatch casts the elements before and after the whole units, and casts some elements between them once more.
#[test]
fn long_tensors_at_odd_places() {
    let context = adapter::open();
    let casters = casters(&context);
    for (i, (from, to)) in pairs_of_widths().into_iter().enumerate() {
        for (source, destination, len) in [(1, 3, 20_011), (2, 1, 8_205), (7, 21, 2_500)] {
            let case = Case { from, to, len, source, destination };
            of_two_buffers(&context, &casters[i % 2], case);
            of_one_buffer(&context, &casters[i % 2], case, Some(0), len % 2 == 0);
        }
    }
}

/// Both ranges together are larger than the binding limit. So there are two writable bindings that do not overlap.
#[test]
fn one_buffer_beyond_the_binding_limit() {
    let context = adapter::open();
    let (mut limits, mut tuning) = (PlanLimits::default(), PlanTuning::default());
    (limits.binding_size, limits.offset_alignment, tuning.blocks_from) = (16 << 10, 32, Some(0));
    let caster = Caster::with_descriptor(
        context.device().unwrap(),
        &CasterDescriptor { limits: Some(limits), tuning: Some(tuning), ..Default::default() },
    );
    use ElementType::*;
    for (from, to) in [(FLOAT, FLOAT16), (INT8, FLOAT), (FLOAT6E2M3, FLOAT6E3M2), (UINT4, DOUBLE), (FLOAT, INT32)] {
        for (len, gap) in [(20_000, 0), (5_000, 40_000), (20_001, 3)] {
            let case = Case { from, to, len, source: 1, destination: 1 };
            of_one_buffer(&context, &caster, case, Some(gap), true);
            of_one_buffer(&context, &caster, case, Some(gap), false);
            if from.bits() == to.bits() {
                of_one_buffer(&context, &caster, case, None, true);
            }
        }
    }
}

/// Casts into neighbouring bytes of the same words, all in one pass: each keeps what the others wrote.
#[test]
fn neighbours_in_one_pass_keep_each_other() {
    let context = adapter::open();
    let (device, queue, caster) = (context.device().unwrap(), context.queue().unwrap(), context.caster().unwrap());
    let (from, to) = (ElementType::FLOAT, ElementType::INT8);
    let lens = [3, 1, 2, 5, 7, 1, 1, 300, 2, 1029, 3];
    let total: usize = lens.iter().sum();
    let source = buffer(device, 4 * total as u64);
    let destination = buffer(device, total as u64);
    let values: Vec<f32> = (0..total).map(|i| (i % 251) as f32 - 125.0).collect();
    queue.write_buffer(&source, 0, bytemuck::cast_slice(&values));
    let mut bounds = Vec::new();
    let mut at = 0;
    for len in lens {
        let prepared = caster.prepare(&CastSpec::new(from, to), len as u64).unwrap();
        let (a, b) = (at as u64, (at + len) as u64);
        bounds.push(
            prepared
                .bind(Source::whole(source.slice(4 * a..4 * b)), Destination::whole(destination.slice(a..b)))
                .unwrap(),
        );
        at += len;
    }
    let mut encoder = device.create_command_encoder(&Default::default());
    {
        let mut pass = encoder.begin_compute_pass(&Default::default());
        // The casts are recorded in another order.
        bounds
            .iter()
            .step_by(2)
            .chain(bounds.iter().skip(1).step_by(2))
            .for_each(|bound| bound.record_in_pass(&mut pass));
    }
    let got = read(device, queue, encoder, &destination);
    let expected: Vec<u8> = values.iter().map(|&value| value as i8 as u8).collect();
    assert_eq!(got[..total], expected);
}

#[test]
fn what_overlaps_or_starts_inside_an_element_is_refused() {
    let context = adapter::open();
    let (device, caster) = (context.device().unwrap(), context.caster().unwrap());
    let memory = buffer(device, 1024);
    let bind = |from, to, source: u64, destination: u64| {
        let prepared = caster.prepare(&CastSpec::new(from, to), 8).unwrap();
        let (source_end, end) = (source + packed(from, 8), destination + packed(to, 8));
        prepared
            .bind(Source::whole(memory.slice(source..source_end)), Destination::whole(memory.slice(destination..end)))
            .map(drop)
            .map_err(|error| format!("{error:?}"))
    };
    use ElementType::*;
    let overlap = |from, to, source_bytes: Range<u64>, destination_bytes: Range<u64>| {
        let (source, destination) = (Some(Side::Source), Some(Side::Destination));
        Err(overlap_error([from, to], [(None, source, source_bytes), (None, destination, destination_bytes)], false))
    };
    assert_eq!(bind(FLOAT, FLOAT16, 0, 32), Ok(()));
    assert_eq!(bind(FLOAT, FLOAT16, 16, 0), Ok(()));
    assert_eq!(bind(FLOAT, INT32, 64, 64), Ok(()));
    // Tensors of different widths may overlap in any way.
    for destination in [0, 2, 4, 8, 12, 14, 16, 30] {
        assert_eq!(bind(FLOAT, FLOAT16, 0, destination), Ok(()));
    }
    assert_eq!(bind(FLOAT16, FLOAT, 32, 24), Ok(()));
    assert_eq!(bind(FLOAT, INT32, 0, 4), overlap(FLOAT, INT32, 0..32, 4..36));
    assert_eq!(bind(FLOAT, INT32, 4, 0), overlap(FLOAT, INT32, 4..36, 0..32));
    for (from, to, source, destination, offset, alignment) in
        [(FLOAT, INT8, 2, 512, 2u64, 4u64), (DOUBLE, INT8, 4, 512, 4, 8), (INT8, FLOAT16, 512, 1, 1, 2)]
    {
        let error = bind(from, to, source, destination).unwrap_err();
        let side = if source == offset { Side::Source } else { Side::Destination };
        assert_eq!(error, slice_error([from, to], Some(side), offset, variant!(Alignment { alignment })));
    }
    assert!(
        matches!(INT4.kind(), Kind::Int { .. }) && bind(INT4, INT8, 1, 512).is_ok(),
        "any byte for less than a byte"
    );
}
