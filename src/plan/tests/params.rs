//! What uniform buffers hold.

use zerocopy::{FromBytes, IntoBytes};

use super::*;

#[test]
fn uniform_buffers_hold_the_parameters_and_what_follows_them() {
    let params = Params {
        count: 1,
        source_word: 2,
        source_bit: 3,
        source_last: 4,
        destination_word: 5,
        destination_bit: 6,
        pitch: 7,
        sentinel_word: 8,
        sentinel: 9,
        destination_end: 10,
    };
    let words = |more| -> Vec<u32> {
        UniformBlock { params, more }.bytes().chunks_exact(4).map(bytemuck::pod_read_unaligned).collect()
    };
    // Structures in uniform buffers have multiples of 16 bytes.
    let expected: Vec<u32> = (1..=10).chain([0, 0]).collect();
    assert_eq!(words(MoreParams::None), expected);
    let count = CountParams { first: 11, unit: 12, rest: 13, count_word: 14 };
    assert_eq!(words(MoreParams::Count(count)), [&expected[..], &[11, 12, 13, 14]].concat());
    let view = ViewParams { first: 15, row: 16, ..ViewParams::default() };
    let of_view = words(MoreParams::View(Box::new(view)));
    assert_eq!(of_view[..12], expected);
    assert_eq!(ViewParams::read_from_bytes(of_view[12..].as_bytes()), Ok(view));
}
