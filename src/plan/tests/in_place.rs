//! Casts between tensors that share memory: which ranges they have, and what makes them impossible.

use super::*;

/// The first element of each dispatch, and whether one workgroup must read everything before it writes.
fn ranges(from: ElementType, to: ElementType, elements: u64, offsets: Offsets) -> Vec<(u64, bool)> {
    let conversion = Conversion::new(from, to, &CastOptions::default()).unwrap();
    let dispatches = plan(&conversion, elements, offsets, &PlanSettings::default(), None).unwrap();
    dispatches.iter().map(|dispatch| (dispatch.first, dispatch.kind == KernelKind::Together)).collect()
}

#[test]
fn the_order_depends_on_where_the_tensors_start_and_end() {
    use ElementType::{FLOAT, FLOAT16};
    let at = |source, destination| Offsets::one_buffer(source, destination);
    // 1,000 elements. If the tensors start together or end together, the ranges go away from that end or towards it.
    assert_eq!(ranges(FLOAT, FLOAT16, 1000, at(0, 0)), [(0, true), (448, true), (896, false)]);
    assert_eq!(ranges(FLOAT, FLOAT16, 1000, at(0, 2000)), [(512, true), (64, true), (0, false)]);
    assert_eq!(ranges(FLOAT16, FLOAT, 1000, at(0, 0)), [(512, false), (256, false), (0, true)]);
    assert_eq!(ranges(FLOAT16, FLOAT, 1000, at(2000, 0)), [(0, false), (448, false), (704, true), (960, true)]);
    // If one tensor lies inside the other, both start at the same bit at element 500. The ranges go away from there or
    // towards there.
    assert_eq!(ranges(FLOAT, FLOAT16, 1000, at(0, 1000)), [(452, true), (900, false), (0, true)]);
    assert_eq!(
        ranges(FLOAT16, FLOAT, 1000, at(1000, 0)),
        [(0, true), (256, true), (768, true), (704, false), (448, true)]
    );
}

/// The last bits of both tensors are in the same byte, or their last bytes are padded differently.
#[test]
fn codes_of_six_bits_end_with_codes_of_eight() {
    use ElementType::{FLOAT6E2M3, FLOAT8E4M3FN};
    for elements in 1000..1008 {
        let bytes = [FLOAT6E2M3, FLOAT8E4M3FN].map(|t| t.packed_bytes(elements).unwrap());
        let ends = [bytes[1] - bytes[0], 0];
        let widening = ranges(FLOAT6E2M3, FLOAT8E4M3FN, elements, Offsets::one_buffer(ends[0], ends[1]));
        let narrowing = ranges(FLOAT8E4M3FN, FLOAT6E2M3, elements, Offsets::one_buffer(ends[1], ends[0]));
        assert!(widening.len() <= 3 && narrowing.len() <= 3, "{widening:?}, {narrowing:?}");
    }
}

/// A cast by one workgroup needs one binding over both tensors.
#[test]
fn a_binding_that_is_too_small_is_an_error() {
    let conversion = Conversion::new(ElementType::FLOAT, ElementType::FLOAT16, &CastOptions::default()).unwrap();
    let mut settings = PlanSettings::default();
    settings.limits.binding_size = 512;
    let error = plan(&conversion, 1000, Offsets::one_buffer(1024, 1024), &settings, None).unwrap_err();
    // Seven times 64 elements are the most that one workgroup takes: 1,792 bytes of the source.
    let limit = "max_storage_buffer_binding_size";
    let (from, to) = (ElementType::FLOAT, ElementType::FLOAT16);
    assert_eq!(error, Error::cast(from, to, CastFault::Limit { limit, needed: 1792, allowed: 512 }));
}
