//! Parts of larger tensors: elements of 2, 4 and 6 bits that start and end inside a byte, and slices that are longer
//! than the cast needs.

use std::ops::Range;

use support::buffers::{buffer, read};
use support::{adapter, bits, cases, numeric, overlap_error, slice_error, variant};
use wgpu_cast::{
    CastSpec, Caster, CasterDescriptor, CodeLookup, Context, Destination, ElementType, PlanLimits, PlanTuning, Side,
    Source, Tensor, cpu,
};

/// A cast of a part: the elements before it in the larger tensors, and the bytes before these tensors in their buffers.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub spec: CastSpec,
    pub len: u64,
    pub firsts: [u64; 2],
    pub offsets: [u64; 2],
}

/// The result of a cast of codes that lie anywhere in memory.
fn expected_codes(memory: &[u8], start: u64, case: Case) -> Vec<u64> {
    let CastSpec { from, to, options, .. } = case.spec;
    let width = from.bits().unwrap();
    let codes = (0..case.len).map(|i| bits::get(memory, start + i * u64::from(width), width));
    let tensor = Tensor::from_codes(from, [case.len as usize], codes).unwrap();
    cpu::cast(&tensor, to, &options).unwrap().codes().collect()
}

/// Casts a part of random bytes that repeats `codes`, and compares all of the memory afterwards.
pub fn check(context: &Context, caster: &Caster, case: Case, one_buffer: bool, codes: &[u64]) {
    let (device, queue) = (context.device().unwrap(), context.queue().unwrap());
    let Case { spec, len, firsts, offsets } = case;
    let (from, to) = (spec.from, spec.to);
    let widths = [from, to].map(|t| u64::from(t.bits().unwrap()));
    let starts = [0, 1].map(|side| offsets[side] * 8 + firsts[side] * widths[side]);
    let size = [0, 1].map(|side| (starts[side] + len * widths[side]).div_ceil(8) + 70).into_iter().max().unwrap();
    let noise = |seed| cases::random(ElementType::UINT8, size.next_multiple_of(4) as usize, seed);
    let mut memory = [1, 2].map(|seed| noise(seed).into_iter().map(|code| code as u8).collect::<Vec<u8>>());
    for (i, &code) in (0..len).zip(codes.iter().cycle()) {
        bits::set(&mut memory[0], starts[0] + i * widths[0], from.bits().unwrap(), code);
    }
    let buffers = memory.each_ref().map(|bytes| buffer(device, bytes.len() as u64));
    for (buffer, bytes) in buffers.iter().zip(&memory) {
        queue.write_buffer(buffer, 0, bytes);
    }
    let target = if one_buffer { 0 } else { 1 };
    let mut expected = memory[target].clone();
    for (i, code) in expected_codes(&memory[0], starts[0], case).into_iter().enumerate() {
        bits::set(&mut expected, starts[1] + i as u64 * widths[1], to.bits().unwrap(), code);
    }
    let source = Source::part(buffers[0].slice(offsets[0]..), firsts[0]);
    let destination = Destination::part(buffers[target].slice(offsets[1]..), firsts[1]);
    let mut encoder = device.create_command_encoder(&Default::default());
    let prepared = caster.prepare(&spec, len).unwrap();
    prepared.record(&mut encoder, source, destination).unwrap();
    let got = read(device, queue, encoder, &buffers[target]);
    let wrong = (0..got.len()).find(|&i| got[i] != expected[i]);
    assert_eq!(wrong.map(|i| (i, got[i], expected[i])), None, "{case:?}, bits {starts:?}, one buffer: {one_buffer}");
}

fn narrow(t: ElementType) -> bool {
    t.bits() < Some(8)
}

/// A caster that takes the main kernel wherever it can, or never.
fn caster(context: &Context, main_kernel: bool) -> Caster {
    let (mut limits, mut tuning) = (PlanLimits::default(), PlanTuning::default());
    tuning.blocks_from = Some(if main_kernel { 0 } else { u64::MAX });
    (limits.offset_alignment, tuning.lookup) = (32, CodeLookup::Computed);
    Caster::with_descriptor(
        context.device().unwrap(),
        &CasterDescriptor { limits: Some(limits), tuning: Some(tuning), ..Default::default() },
    )
}

#[test]
fn parts_start_and_end_at_any_element() {
    let context = adapter::open();
    // Compiling kernels is nearly all of the work, and the main kernel meets slices at any bit in other tests.
    let casters = [false, true].map(|main_kernel| caster(&context, main_kernel));
    let pairs = numeric().flat_map(|from| numeric().map(move |to| (from, to)));
    for (i, (from, to)) in pairs.filter(|&(from, to)| narrow(from) || narrow(to)).enumerate() {
        let size = |t: ElementType| u64::from(t.bits().unwrap() / 8).max(1);
        let caster = &casters[usize::from(i % 11 == 0)];
        for (j, len) in [1, 2, 37, 1003].into_iter().enumerate() {
            let (i, j) = (i as u64, j as u64);
            let (firsts, bytes) = ([(3 + i + j) % 7, (1 + i * j) % 5], [i % 9, (i + j) % 8]);
            let mut offsets = [64 + bytes[0] * size(from), 64 + bytes[1] * size(to)];
            check(&context, caster, Case { spec: CastSpec::new(from, to), len, firsts, offsets }, false, &[]);
            let end = offsets[0] + from.packed_bytes(firsts[0] + len).unwrap();
            // The destination's first byte may be the source's last.
            offsets[1] = if size(to) == 1 { end } else { end.next_multiple_of(size(to)) };
            check(&context, caster, Case { spec: CastSpec::new(from, to), len, firsts, offsets }, true, &[]);
        }
    }
}

/// Parts of one array beside each other, down to neighbours in one byte, and parts with the same elements.
#[test]
fn parts_of_one_array() {
    let context = adapter::open();
    let caster = caster(&context, true);
    for from in numeric().filter(|&t| narrow(t)) {
        for to in numeric().filter(|to| to.bits() == from.bits()) {
            for (len, gap) in [(1, 0), (5, 1), (333, 0), (1001, 2)] {
                for (source, destination) in [(3, 3 + len + gap), (5 + len + gap, 5), (7, 7)] {
                    let firsts = [source, destination];
                    check(
                        &context,
                        &caster,
                        Case { spec: CastSpec::new(from, to), len, firsts, offsets: [33, 33] },
                        true,
                        &[],
                    );
                }
            }
        }
    }
}

/// Parts of types of whole bytes take the kernels of whole slices.
#[test]
fn slices_may_be_longer() {
    let context = adapter::open();
    let caster = caster(&context, true);
    let (from, to) = (ElementType::FLOAT, ElementType::FLOAT16);
    for len in [1, 5, 1003] {
        check(
            &context,
            &caster,
            Case { spec: CastSpec::new(from, to), len, firsts: [3, 6], offsets: [64, 32] },
            false,
            &[],
        );
        check(
            &context,
            &caster,
            Case { spec: CastSpec::new(from, to), len, firsts: [0, 0], offsets: [64, 32] },
            false,
            &[],
        );
    }
}

#[test]
fn parts_beyond_their_slice_and_overlapping_parts_are_refused() {
    let context = adapter::open();
    let (device, caster) = (context.device().unwrap(), context.caster().unwrap());
    let memory = buffer(device, 1024);
    let (from, to) = (ElementType::FLOAT4E2M1, ElementType::UINT4);
    let prepared = caster.prepare(&CastSpec::new(from, to), 7).unwrap();
    let bind = |firsts: [u64; 2], end: u64| {
        let slice = memory.slice(0..end);
        let bound = prepared.bind(Source::part(slice, firsts[0]), Destination::part(slice, firsts[1]));
        bound.map(drop).map_err(|error| format!("{error:?}"))
    };
    assert_eq!(bind([0, 7], 8), Ok(()));
    assert_eq!(bind([9, 9], 8), Ok(()));
    let overlap = |source_bytes: Range<u64>, destination_bytes: Range<u64>| {
        let (source, destination) = (Some(Side::Source), Some(Side::Destination));
        overlap_error([from, to], [(None, source, source_bytes), (None, destination, destination_bytes)], false)
    };
    // Seven codes of four bits from element 6 on end inside byte 6.
    assert_eq!(bind([0, 6], 8), Err(overlap(0..4, 3..7)));
    assert_eq!(bind([6, 0], 8), Err(overlap(3..7, 0..4)));
    let short =
        |side, expected: u64| slice_error([from, to], Some(side), 0, variant!(Length { expected, found: 8u64 }));
    assert_eq!(bind([10, 0], 8), Err(short(Side::Source, 9)));
    assert_eq!(bind([0, 10], 8), Err(short(Side::Destination, 9)));
    assert_eq!(bind([u64::MAX, 0], 8), Err(short(Side::Source, u64::MAX)));
    assert_eq!(bind([u64::MAX / 2, 0], 8), Err(short(Side::Source, (u64::MAX / 2 + 7).div_ceil(2))));
}
