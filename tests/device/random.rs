//! Random casts on the device, against the CPU path: any pair, options, length, places and tuning.
//!
//! The test casts the same every time. `CAST_FUZZ_SECONDS=600 cargo test --release --test device random -- --nocapture`
//! goes on for 600 seconds, from another seed at every start; `CAST_FUZZ_SEED=<number>` starts from the seed that a run
//! printed.

use std::time::Instant;

use support::options::pair_variants;
use support::random::{Random, RandomRun};
use support::{adapter, cases, numeric};
use wgpu_cast::{CastSpec, Caster, CasterDescriptor, CodeLookup, Context, ElementType, PlanLimits, PlanTuning};

use crate::parts::{Case, check};

/// The casts of a normal run. Compiling their kernels is nearly all of the work.
const CASTS: u64 = 100;

/// After this number of casts, the kernels are dropped.
const KEPT: u64 = 500;

fn caster(context: &Context, random: &mut Random) -> Caster {
    let device = context.device().unwrap();
    let (mut limits, mut tuning) = (PlanLimits::default(), PlanTuning::default());
    limits.offset_alignment = device.limits().min_storage_buffer_offset_alignment.into();
    // A multiple of every alignment. With the smaller ones, some casts take several dispatches.
    limits.binding_size = *random.pick(&[4 << 10, 64 << 10, limits.binding_size]);
    tuning.blocks_from = *random.pick(&[None, Some(0), Some(u64::MAX)]);
    tuning.lookup = *random.pick(&[CodeLookup::Table, CodeLookup::Computed]);
    tuning.dispatch_elements = *random.pick(&[1000, u64::MAX]);
    Caster::with_descriptor(
        device,
        &CasterDescriptor { limits: Some(limits), tuning: Some(tuning), ..Default::default() },
    )
}

fn case(random: &mut Random) -> (Case, bool) {
    let types: Vec<_> = numeric().collect();
    let [from, to] = [(); 2].map(|()| *random.pick(&types));
    let spec = CastSpec::new(from, to).with_options(*random.pick(&pair_variants(from, to)));
    let most = 1 << random.below(16);
    let len = 1 + random.below(most) as u64;
    let size = |t: ElementType| u64::from(t.bits().unwrap() / 8).max(1);
    let firsts = [(); 2].map(|()| random.below(20) as u64);
    let mut offsets = [from, to].map(|t| random.below(80) as u64 * size(t));
    let one_buffer = random.one_in(3);
    if one_buffer {
        let end = offsets[0] + from.packed_bytes(firsts[0] + len).unwrap();
        offsets[1] += end.next_multiple_of(size(to));
    }
    (Case { spec, len, firsts, offsets }, one_buffer)
}

#[test]
fn random_casts_give_the_bits_of_the_cpu() {
    let context = adapter::open();
    let RandomRun { time, seed } = RandomRun::chosen();
    let (mut random, start, mut done) = (Random::new(seed), Instant::now(), 0);
    println!("seed {seed}");
    let mut casters = Vec::new();
    while time.map_or(done < CASTS, |time| start.elapsed() < time) {
        if done % KEPT == 0 {
            casters = (0..4).map(|_| caster(&context, &mut random)).collect();
        }
        let (case, one_buffer) = case(&mut random);
        let hard = cases::codes(case.spec.from);
        let codes: Vec<u64> = match random.one_in(2) {
            true => (0..300).map(|_| *random.pick(&hard)).collect(),
            false => Vec::new(),
        };
        check(&context, random.pick(&casters), case, one_buffer, &codes);
        done += 1;
    }
    println!("{done} casts equal");
}
