//! Limits that no device has: every plan is made, or refused with a typed error, in little time and memory.

use support::random::Random;
use support::tier::count;

use super::random::{any_up_to, for_long};
use super::*;
use crate::plan::{PlannedDispatch, View};
use crate::types::error::{CastFault, Error};
use crate::types::spec::CastSpec;

const FROM: ElementType = ElementType::FLOAT;
const TO: ElementType = ElementType::FLOAT16;

fn apart() -> Placement {
    Placement::two_buffers(Position::whole(0), Position::whole(0))
}

fn in_place() -> Placement {
    Placement::one_buffer(Position::whole(0), Position::whole(0))
}

/// The number of dispatches that a plan of FLOAT to FLOAT16 needs, if it was refused because of that number.
fn too_many(plan: Result<Plan, Error>) -> Option<u64> {
    match plan {
        Ok(_) => None,
        Err(Error::Cast { from: FROM, to: TO, cause: CastFault::Limit { limit, needed, allowed: 65_536 }, .. }) => {
            assert_eq!(limit, "Plan::MOST_DISPATCHES");
            Some(needed)
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_plan_of_too_many_dispatches_is_refused_before_it_is_made() {
    let spec = CastSpec::new(FROM, TO);
    let limits = PlanLimits::default().with_buffer_size(1 << 62).with_binding_size(1 << 62);
    let settings = PlanSettings::new(limits, PlanTuning::default());
    let elements = 20_000_000_000_000_000;
    // Bindings are at most 4 GiB.
    let needed = u64::div_ceil(elements, (1 << 30) - 128);
    let error = Plan::new(&spec, elements, &apart(), &settings).unwrap_err();
    let limit = "Plan::MOST_DISPATCHES";
    assert_eq!(error, Error::cast(FROM, TO, CastFault::Limit { limit, needed, allowed: 65_536 }));
    assert_eq!(
        error.to_string(),
        "casting float to float16 exceeds the limit Plan::MOST_DISPATCHES: 18626454 needed, 65536 allowed"
    );
    // In place there are some more dispatches, because ranges grow from small ones.
    let more = too_many(Plan::new(&spec, elements, &in_place(), &settings)).unwrap();
    assert!((needed..5 * needed).contains(&more), "{more}");
    // Rows, transposed rows, and single elements that are far from each other.
    let shape = [elements / 100, 100];
    for (source, destination) in [([200, 1], [100, 1]), ([1, elements as i64 / 100], [100, 1])] {
        let view = View::new(&shape).with_source_strides(&source).with_destination_strides(&destination);
        let least = too_many(Plan::view(&spec, &view, &apart(), &settings)).unwrap();
        assert!((9_313_226..=needed).contains(&least), "{least}");
    }
    let view = View::new(&[1 << 17]).with_source_strides(&[1 << 32]);
    assert_eq!(too_many(Plan::view(&spec, &view, &apart(), &settings)), Some(65_537));
}

/// The largest number of dispatches is allowed, and one more is refused.
#[test]
fn a_plan_has_as_many_dispatches_as_it_may() {
    let spec = CastSpec::new(FROM, TO);
    let settings = PlanSettings::new(
        PlanLimits::default(),
        PlanTuning::default().with_dispatch_elements(128).with_blocks_from(Some(1)),
    );
    let most = 128 * Plan::MOST_DISPATCHES;
    let dense = |len| Plan::new(&spec, len, &apart(), &settings);
    assert_eq!(dense(most).unwrap().dispatches().len() as u64, Plan::MOST_DISPATCHES);
    assert_eq!(too_many(dense(most + 1)), Some(65_537));
    // The edge kernel alone.
    let edges = PlanSettings::new(
        PlanLimits::default().with_workgroups(1),
        PlanTuning::default().with_blocks_from(Some(u64::MAX)),
    );
    let edge = u64::from(EDGE_SIZE) / 128 * 128;
    let of_edges = |len| Plan::new(&spec, len, &apart(), &edges);
    assert_eq!(of_edges(edge.max(128) * Plan::MOST_DISPATCHES).map(drop), Ok(()));
    assert_eq!(too_many(of_edges(edge.max(128) * Plan::MOST_DISPATCHES + 1)), Some(65_537));
    // Each element of the view is a piece with a dispatch of its own.
    let settings = PlanSettings::new(PlanLimits::default(), PlanTuning::default().with_dispatch_elements(1));
    let strided = |len| Plan::view(&spec, &View::new(&[len]).with_source_strides(&[2]), &apart(), &settings);
    assert_eq!(strided(Plan::MOST_DISPATCHES).unwrap().dispatches().len() as u64, Plan::MOST_DISPATCHES);
    assert_eq!(too_many(strided(Plan::MOST_DISPATCHES + 1)), Some(65_537));
}

#[test]
fn limits_that_are_too_small_are_errors_that_name_them() {
    let spec = CastSpec::new(FROM, TO);
    let texts = |limits: PlanLimits| {
        let settings = PlanSettings::new(limits, PlanTuning::default());
        let view = View::new(&[50, 20]).with_source_strides(&[1, 50]);
        [Plan::new(&spec, 1000, &apart(), &settings), Plan::view(&spec, &view, &apart(), &settings)]
            .map(|plan| plan.map_err(|error| error.to_string()).map(|plan| plan.dispatches().len()))
    };
    let limit = |limit, needed: u64, allowed: u64| {
        Err(format!("casting float to float16 exceeds the limit {limit}: {needed} needed, {allowed} allowed"))
    };
    let default = PlanLimits::default();
    assert_eq!(texts(default.with_workgroups(0)), [0; 2].map(|_| limit("max_compute_workgroups_per_dimension", 1, 0)));
    assert_eq!(texts(default.with_buffer_size(0)), [0; 2].map(|_| limit("max_buffer_size", 4000, 0)));
    assert_eq!(texts(default.with_buffer_size(3999)), [0; 2].map(|_| limit("max_buffer_size", 4000, 3996)));
    let of_binding = texts(default.with_binding_size(3));
    assert_eq!(of_binding[0], limit("max_storage_buffer_binding_size", 512, 0));
    assert_eq!(of_binding[1], limit("max_storage_buffer_binding_size", 4, 0));
    // Alignments are brought into range.
    for alignment in [0, 1, 17, u64::MAX] {
        assert!(texts(default.with_offset_alignment(alignment)).iter().all(Result::is_ok), "{alignment}");
    }
    let most = default.with_buffer_size(u64::MAX).with_binding_size(u64::MAX).with_workgroups(u32::MAX);
    assert!(texts(most).iter().all(Result::is_ok));
}

/// Any limits, tuning, lengths, strides and places.
#[test]
fn absurd_plans_are_made_or_refused() {
    for_long("absurd", count(5_000, 400), 95, |random| {
        let settings = absurd(random);
        let numeric: Vec<_> = ElementType::ALL.iter().copied().filter(|t| t.is_numeric()).collect();
        let spec = CastSpec::new(*random.pick(&numeric), *random.pick(&numeric));
        let position = |random: &mut Random| {
            let offset = any(random) / 16 * 16;
            if random.one_in(3) { Position::part(offset, any(random)) } else { Position::whole(offset) }
        };
        let (source, destination) = (position(random), position(random));
        let placement = match random.below(4) {
            0 => Placement::two_buffers(source, destination),
            1 => Placement::two_allocations(source, destination),
            2 => Placement::one_buffer(source, destination),
            _ => Placement::one_buffer(source, source),
        };
        let plan = if random.one_in(2) {
            Plan::new(&spec, any(random), &placement, &settings)
        } else {
            let rank = 1 + random.below(4);
            let shape: Vec<u64> = (0..rank).map(|_| any(random)).collect();
            let mut strides = || (0..rank).map(|_| any(random) as i64 * [1, -1][random.below(2)]).collect::<Vec<_>>();
            let (source, destination) = (strides(), strides());
            let view = View::new(&shape).with_source_strides(&source);
            let view = if random.one_in(2) { view } else { view.with_destination_strides(&destination) };
            Plan::view(&spec, &view, &placement, &settings)
        };
        let Ok(plan) = plan else { return false };
        assert!(plan.dispatches().len() as u64 <= Plan::MOST_DISPATCHES);
        plan.dispatches().iter().for_each(|dispatch| check_limits(dispatch, &settings.limits.usable()));
        true
    });
}

/// A number of any magnitude, and small ones half of the time.
fn any(random: &mut Random) -> u64 {
    let most = if random.one_in(2) { 1 << 13 } else { u64::MAX };
    any_up_to(random, most)
}

fn absurd(random: &mut Random) -> PlanSettings {
    let mut number = |usual: u64| if random.one_in(2) { usual } else { any(random) };
    let limits = PlanLimits::default()
        .with_buffer_size(number(1 << 60))
        .with_binding_size(number(128 << 20))
        .with_offset_alignment(number(256))
        .with_workgroups(number(65_535) as u32);
    let tuning = PlanTuning::default().with_dispatch_elements(number(u64::MAX));
    let from = any(random);
    let blocks_from = *random.pick(&[None, Some(0), Some(from)]);
    PlanSettings::new(limits, tuning.with_blocks_from(blocks_from))
}

fn check_limits(dispatch: &PlannedDispatch, limits: &PlanLimits) {
    assert!(dispatch.workgroups().iter().all(|count| (1..=limits.workgroups).contains(count)), "{dispatch:?}");
    for binding in dispatch.bindings() {
        assert!(
            binding.offset.is_multiple_of(limits.offset_alignment) && binding.size.is_multiple_of(4),
            "{binding:?}"
        );
        assert!((4..=limits.binding_size).contains(&binding.size), "{binding:?}");
        assert!(binding.offset + binding.size <= limits.buffer_size + 4, "{binding:?}");
    }
}
