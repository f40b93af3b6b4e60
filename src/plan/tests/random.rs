//! Random plans: any pair, length, view, place and limits.
//!
//! A normal run makes a fixed number, the same each time. To go on for longer, from another seed at every start:
//!
//! ```sh
//! CAST_FUZZ_SECONDS=600 cargo test --release --lib plan::tests::random -- --nocapture
//! ```

use std::time::Instant;

use support::random::{Random, RandomRun};
use support::tier::count;

use super::views::check_view;
use super::*;
use crate::plan::{Strided, View};
use crate::types::error::{CastFault, Error};

/// Makes plans until the time is over, and prints their number. Limits may refuse at most `most_refused` percent of
/// them.
pub(super) fn for_long(name: &str, normal: usize, most_refused: usize, mut make: impl FnMut(&mut Random) -> bool) {
    let RandomRun { time, seed } = RandomRun::chosen();
    let (mut random, start, mut made, mut refused) = (Random::new(seed), Instant::now(), 0, 0);
    while time.map_or(made < normal, |time| start.elapsed() < time) {
        made += 1;
        refused += usize::from(!make(&mut random));
    }
    println!("{name}: seed {seed}, {made} plans, of which the limits refuse {refused}");
    assert!(refused <= most_refused * made / 100, "{refused} of {made} are refused");
}

/// A number up to `most` of any magnitude.
pub(super) fn any_up_to(random: &mut Random, most: u64) -> u64 {
    let bits = random.below(65 - most.leading_zeros() as usize);
    random.next() & 1u64.checked_shl(bits as u32).map_or(u64::MAX, |power| power - 1)
}

fn settings(random: &mut Random) -> PlanSettings {
    let alignment = 32 << random.below(4);
    let limits = PlanLimits {
        binding_size: (2048 + any_up_to(random, (1 << 30) - 1)) / 4 * 4,
        offset_alignment: alignment,
        workgroups: 1 + any_up_to(random, u16::MAX.into()) as u32,
        ..PlanLimits::default()
    };
    let tuning = PlanTuning {
        blocks_from: *random.pick(&[None, Some(0), Some(5000), Some(u64::MAX)]),
        lookup: *random.pick(&[CodeLookup::Table, CodeLookup::Computed]),
        dispatch_elements: 300 + any_up_to(random, 1 << 40),
        ..PlanTuning::default()
    };
    PlanSettings { limits, tuning }
}

/// Where two tensors of `extents` elements lie: in two buffers, whole or as parts of larger ones, or apart in one.
fn places(random: &mut Random, conversion: &Conversion, extents: [u64; 2]) -> Offsets {
    let bits = [conversion.from, conversion.to].map(|t| u64::from(t.code_bits()));
    let start = |random: &mut Random, side: usize| random.below(300) as u64 * bits[side].max(8);
    let [source, destination] = [0, 1].map(|side| start(random, side));
    match random.below(3) {
        0 => Offsets::two_buffers(source / 8, destination / 8),
        1 => {
            let [source, destination] =
                [(source, 0), (destination, 1)].map(|(start, side)| start + random.below(16) as u64 * bits[side]);
            Offsets { source, destination, one_buffer: false, writable: false, keeps_rest: true }
        }
        _ => {
            let step = bits[0].max(bits[1]).max(8);
            let (first, second) = if random.one_in(2) { (0, 1) } else { (1, 0) };
            let start = random.below(300) as u64 * step;
            let gap = if random.one_in(2) { 0 } else { any_up_to(random, 1 << 34) };
            let behind = ((start + extents[first]).div_ceil(step) + gap) * step;
            let mut starts = [0; 2];
            (starts[first], starts[second]) = (start, behind);
            Offsets::one_buffer(starts[0] / 8, starts[1] / 8)
        }
    }
}

fn conversion(random: &mut Random) -> Conversion {
    let numeric: Vec<_> = ElementType::ALL.iter().copied().filter(|t| t.is_numeric()).collect();
    Conversion::new(*random.pick(&numeric), *random.pick(&numeric), &CastOptions::default()).unwrap()
}

/// Whether a plan was made. Only a limit may refuse it.
fn is_made<T>(plan: Result<T, Error>) -> bool {
    match plan {
        Ok(_) => true,
        Err(Error::Cast { cause: CastFault::Limit { .. }, .. }) => false,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn random_plans_hold() {
    for_long("dense", count(20_000, 1_000), 50, |random| {
        let (conversion, settings) = (conversion(random), settings(random));
        let elements = any_up_to(random, 1 << 24);
        let extents = [conversion.from, conversion.to].map(|t| elements * u64::from(t.code_bits()));
        let offsets = places(random, &conversion, extents);
        let sentinel = (!offsets.keeps_rest && !offsets.one_buffer && random.one_in(2)).then_some(77);
        let is_made = is_made(plan(&conversion, elements, offsets, &settings, sentinel));
        if is_made {
            check(&conversion, elements, offsets, &settings, sentinel);
        }
        is_made
    });
}

#[test]
fn random_views_hold() {
    const MOST: u64 = 4096;
    for_long("views", count(4_000, 200), 50, |random| {
        let (conversion, settings) = (conversion(random), settings(random));
        let mut shape: Vec<u64> = Vec::new();
        for _ in 0..1 + random.below(5) {
            let left = MOST / shape.iter().product::<u64>();
            shape.push(1 + any_up_to(random, left).min(left - 1));
        }
        let source: Vec<i64> =
            shape.iter().map(|_| any_up_to(random, 300) as i64 * *random.pick(&[-1, 0, 1])).collect();
        // The axes of the destination in any order, each apart from the smaller ones.
        let mut order: Vec<usize> = (0..shape.len()).collect();
        (0..order.len()).for_each(|axis| order.swap(axis, random.below(axis + 1)));
        let (mut destination, mut extent) = (vec![0; shape.len()], 1);
        for axis in order {
            let gap = if random.one_in(2) { 0 } else { random.below(5) as u64 };
            destination[axis] = (extent + gap) as i64 * *random.pick(&[-1, 1]);
            extent += (extent + gap) * (shape[axis] - 1);
        }
        let view = View::new(&shape).with_source_strides(&source).with_destination_strides(&destination);
        let reach: u64 = shape.iter().zip(&source).map(|(size, stride)| (size - 1) * stride.unsigned_abs()).sum();
        let bits = [conversion.from, conversion.to].map(|t| u64::from(t.code_bits()));
        let offsets = places(random, &conversion, [(reach + 1) * bits[0], extent * bits[1]]);
        let (strided, _) = Strided::new(&view, &conversion).unwrap();
        let is_made = is_made(plan_view(&conversion, &strided, offsets, &settings));
        if is_made {
            check_view(&conversion, &view, &shape, offsets, &settings);
        }
        is_made
    });
}
