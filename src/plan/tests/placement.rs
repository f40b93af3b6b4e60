//! The places that tensors may have, and the errors for others.

use super::*;
use crate::plan::placement::{Placement, Position};
use crate::types::error::{CastFault, Error, SliceFault};
use crate::types::side::Side;

/// The offsets of `len` elements in buffers of `buffer_size` bytes.
fn offsets(
    [from, to]: [ElementType; 2],
    placement: Placement,
    len: u64,
    in_place: bool,
    buffer_size: u64,
) -> Result<Offsets, Error> {
    let conversion = Conversion::new(from, to, &CastOptions::default()).unwrap();
    placement.offsets(&conversion, [len; 2], in_place, buffer_size)
}

#[test]
fn places_are_counted_in_bits() {
    use ElementType::{FLOAT, FLOAT16, INT4, INT8};
    let (whole, part) = (Position::whole, Position::part);
    for (types, source, destination, len, expected, keeps_rest) in [
        ([FLOAT, FLOAT16], whole(4), whole(2), 3, [32, 16], false),
        ([FLOAT, FLOAT16], part(4, 2), part(2, 5), 3, [96, 96], false),
        ([INT8, INT4], whole(1), whole(1), 3, [8, 8], false),
        ([INT8, INT4], whole(1), part(1, 1), 2, [8, 12], true),
        ([INT8, INT4], whole(1), part(1, 1), 1, [8, 12], false),
    ] {
        let placement = Placement::two_buffers(source, destination);
        let expected =
            Offsets { source: expected[0], destination: expected[1], one_buffer: false, writable: false, keeps_rest };
        assert_eq!(offsets(types, placement, len, false, 1 << 20).unwrap(), expected, "{types:?}, {placement:?}");
        let allocations = Placement::two_allocations(source, destination);
        assert_eq!(offsets(types, allocations, len, false, 1 << 20).unwrap(), Offsets { writable: true, ..expected });
    }
}

#[test]
fn tensors_start_at_their_elements_and_end_in_their_buffers() {
    use ElementType::{DOUBLE, FLOAT, UINT8};
    let alignment = |types, source, destination| {
        let placement = Placement::two_buffers(Position::whole(source), Position::whole(destination));
        match offsets(types, placement, 1, false, 1 << 20).unwrap_err() {
            Error::Cast {
                cause: CastFault::Slice { side: Some(side), offset, fault: SliceFault::Alignment { alignment } },
                ..
            } => (side, offset, alignment),
            error => panic!("{error}"),
        }
    };
    assert_eq!(alignment([FLOAT, DOUBLE], 2, 0), (Side::Source, 2, 4));
    assert_eq!(alignment([FLOAT, DOUBLE], 4, 12), (Side::Destination, 12, 8));

    let limit = |position, len, buffer_size| {
        let placement = Placement::two_buffers(position, Position::whole(0));
        match offsets([FLOAT, UINT8], placement, len, false, buffer_size) {
            Err(Error::Cast { cause: CastFault::Limit { limit: "max_buffer_size", needed, allowed }, .. }) => {
                Some((needed, allowed))
            }
            result => result.map(|_| None).unwrap(),
        }
    };
    assert_eq!(limit(Position::whole(0), 4, 16), None);
    assert_eq!(limit(Position::whole(0), 4, 15), Some((16, 15)));
    assert_eq!(limit(Position::part(4, 2), 4, 27), Some((28, 27)));
    // Bits are counted in 64 bits.
    assert_eq!(limit(Position::whole(0), 1 << 57, u64::MAX), None);
    assert_eq!(limit(Position::whole(4), 1 << 57, u64::MAX), Some(((1 << 59) + 4, 1 << 59)));
    assert_eq!(limit(Position::part(0, u64::MAX), 1, u64::MAX), Some((1 << 61, 1 << 59)));
}

#[test]
fn tensors_of_one_buffer_overlap_only_where_that_works() {
    use ElementType::{FLOAT, FLOAT16, INT4, INT32, UINT2};
    let (whole, part) = (Position::whole, Position::part);
    for (types, source, destination, len, apart, in_place) in [
        ([FLOAT, INT32], whole(0), whole(0), 4, false, true),
        ([FLOAT, INT32], whole(0), whole(4), 4, false, false),
        ([FLOAT, FLOAT16], whole(0), whole(0), 4, false, true),
        ([FLOAT, FLOAT16], whole(0), whole(4), 100, false, true),
        ([FLOAT, FLOAT16], whole(0), whole(16), 4, true, true),
        ([FLOAT, FLOAT16], whole(8), whole(0), 4, true, true),
        // The rest of a whole destination's last byte is written too.
        ([INT4, UINT2], part(0, 1), part(0, 0), 2, true, true),
        ([INT4, UINT2], part(0, 1), whole(0), 2, false, true),
    ] {
        for (may_overlap, possible) in [(false, apart), (true, in_place)] {
            let placement = Placement::one_buffer(source, destination);
            match offsets(types, placement, len, may_overlap, 1 << 20) {
                Ok(offsets) => assert!(possible && offsets.one_buffer, "{types:?}, {placement:?}"),
                Err(Error::Cast { cause: CastFault::Overlap { ranges, is_view }, .. }) => {
                    assert!(!possible, "{types:?}, {placement:?}");
                    assert_eq!(ranges.each_ref().map(|range| range.bytes.start), [source.offset, destination.offset]);
                    assert_eq!(ranges.map(|range| range.side), [Some(Side::Source), Some(Side::Destination)]);
                    assert_eq!(is_view, !may_overlap);
                }
                Err(error) => panic!("{error}"),
            }
            assert!(offsets(types, Placement::two_buffers(source, destination), len, may_overlap, 1 << 20).is_ok());
        }
    }
}
