//! The order of casts between tensors that share memory.

use super::*;
use crate::plan::in_place::Order::{Ascending, Descending};
use crate::plan::in_place::order;

#[test]
fn the_order_depends_on_where_the_tensors_start_and_end() {
    use ElementType::{FLOAT, FLOAT16, INT32};
    // Eight elements; the source starts at bit 1000.
    let found = |from: ElementType, to: ElementType, start: u64| {
        let conversion = Conversion::new(from, to, &CastOptions::default()).unwrap();
        let end = |t: ElementType, start: u64| start + 8 * u64::from(t.code_bits());
        order(&conversion, (1000, end(from, 1000)), (start, end(to, start)))
    };
    // The results may start or end up to 16 bits, the difference of the widths, inside the source.
    for (start, expected) in [
        (0, Some(Ascending)),
        (1016, Some(Ascending)),
        (1017, None),
        (1111, None),
        (1112, Some(Descending)),
        (5000, Some(Descending)),
    ] {
        assert_eq!(found(FLOAT, FLOAT16, start), expected, "{start}");
    }
    // And as far outside it.
    for (start, expected) in [
        (0, Some(Ascending)),
        (888, Some(Ascending)),
        (889, None),
        (983, None),
        (984, Some(Descending)),
        (5000, Some(Descending)),
    ] {
        assert_eq!(found(FLOAT16, FLOAT, start), expected, "{start}");
    }
    assert_eq!(found(FLOAT, INT32, 1000), None);
}

/// One workgroup needs a binding over both tensors.
#[test]
fn a_binding_that_is_too_small_is_an_error() {
    let conversion = Conversion::new(ElementType::FLOAT, ElementType::FLOAT16, &CastOptions::default()).unwrap();
    let mut settings = PlanSettings::default();
    settings.limits.binding_size = 512;
    let error = plan(&conversion, 1000, Offsets::one_buffer(1024, 1024), &settings, None).unwrap_err();
    // Seven times 64 elements are the most that one workgroup takes: 1,792 bytes of the source.
    let limit = "max_storage_buffer_binding_size";
    let (from, to) = (ElementType::FLOAT, ElementType::FLOAT16);
    assert_eq!(error, Error::Limit { from, to, limit, needed: 1792, allowed: 512 });
}
