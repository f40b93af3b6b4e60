//! Casts whose number of elements is known only on the device.

use super::*;

/// For each dispatch: the kernel, the first element, the elements of a unit, and whether it casts the rest.
fn of(from: ElementType, elements: u64, offsets: Offsets) -> Vec<(KernelKind, u32, u32, u32)> {
    let conversion = Conversion::new(from, ElementType::FLOAT6E2M3, &CastOptions::default()).unwrap();
    let settings = PlanSettings::default();
    let all = counted(&conversion, plan_apart(&conversion, elements, offsets, &settings).unwrap(), &settings);
    for CountedDispatch { dispatch, count } in &all {
        assert!(count.rest == 0 || (dispatch.workgroups, dispatch.params.pitch) == ([1, 1], 1), "{dispatch:?}");
    }
    for counted in &all {
        let count = CountParams { count_word: 7, ..counted.count };
        let expected = UniformBlock { params: counted.dispatch.params, more: MoreParams::Count(count) };
        assert!(counted.uniform_block(7) == expected, "{counted:?}");
    }
    all.iter().map(|d| (d.dispatch.kind, d.count.first, d.count.unit, d.count.rest)).collect()
}

/// One more workgroup casts the elements that a kernel for whole units leaves. In place, this is the kernel for one
/// workgroup.
#[test]
fn kernels_for_whole_units_are_followed_by_one_for_the_rest() {
    use ElementType::{FLOAT, FLOAT6E3M2};
    use KernelKind::{Blocks, Edge, Shifted, Together};
    let two = Offsets::default();
    assert_eq!(of(FLOAT, 100, two), [(Edge, 0, 1, 0)]);
    assert_eq!(of(FLOAT, 4096, two), [(Blocks, 0, 16, 0), (Edge, 0, 16, 1)]);
    assert_eq!(of(FLOAT, 4101, two), [(Blocks, 0, 16, 0), (Edge, 0, 16, 1), (Edge, 4096, 1, 0)]);
    assert_eq!(of(FLOAT, 4101, Offsets { source: 32, ..two })[0], (Shifted, 0, 16, 0));
    let in_place = Offsets::one_buffer(0, 0);
    assert_eq!(of(FLOAT6E3M2, 4101, in_place), [(Shifted, 0, 64, 0), (Together, 0, 64, 1), (Together, 4096, 1, 0)]);
    // The rest has a dispatch even if the prepared number is whole units: the count may be less.
    assert_eq!(of(FLOAT6E3M2, 4096, in_place), [(Shifted, 0, 64, 0), (Together, 0, 64, 1)]);
}

/// A count has 32 bits.
#[test]
fn dispatches_beyond_any_count_are_left_out() {
    let all = of(ElementType::FLOAT, (1 << 32) + (1 << 26), Offsets::default());
    let last = all.iter().map(|(_, first, ..)| *first).max().unwrap();
    assert!(last > u32::MAX - (1 << 26), "{last}");
    let elements = 1 << 32;
    assert_eq!(all.len(), of(ElementType::FLOAT, elements, Offsets::default()).len());
}
