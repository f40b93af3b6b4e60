//! Compares the bits of views and of lists of casts with every single bit.

use std::collections::BTreeSet;

use support::random::Random;
use support::shapes;

use super::*;
use crate::types::side::Side;

/// Every bit of codes along axes with these sizes and strides, in elements.
fn all(start: u64, bits: u64, axes: &[(u64, u64)]) -> BTreeSet<u64> {
    let mut first = vec![start];
    for (stride, size) in axes {
        first = first.iter().flat_map(|bit| (0..*size).map(move |i| bit + i * stride * bits)).collect();
    }
    first.iter().flat_map(|&bit| bit..bit + bits).collect()
}

/// Random places and all their bits. Some have the strides of tensors, others have any strides.
fn random_places(random: &mut Random) -> (Places, BTreeSet<u64>) {
    let start = random.below(120) as u64;
    let bits = *random.pick(&[2, 4, 6, 8]);
    let (rank, of_tensor, mut step) = (random.below(4), random.one_in(2), 1);
    let axes: Vec<(u64, u64)> = (0..rank)
        .map(|_| {
            let size = 2 + random.below(4) as u64;
            let stride = if of_tensor { step + random.below(3) as u64 } else { random.below(12) as u64 };
            step = stride * size;
            (stride, size)
        })
        .collect();
    (Places::repeated(start, bits, axes.iter().copied()), all(start, bits, &axes))
}

#[test]
fn places_meet_where_they_share_a_bit() {
    let mut random = Random::new(3);
    let mut seen = [0; 2];
    for _ in 0..5000 {
        let ((one, of_one), (other, of_other)) = (random_places(&mut random), random_places(&mut random));
        let (first, last) = (*of_one.first().unwrap(), *of_one.last().unwrap());
        assert_eq!((one.start(), one.end(), one.bytes()), (first, last + 1, first / 8..last / 8 + 1));
        let expected = !of_one.is_disjoint(&of_other);
        assert_eq!([one.meet(&other), other.meet(&one)], [expected; 2], "{one:?} {other:?}");
        // Counts how often the ranges overlap although the places do not.
        if one.start() < other.end() && other.start() < one.end() {
            seen[usize::from(expected)] += 1;
        }
    }
    assert!(seen.iter().all(|&times| times > 200), "{seen:?}");
}

#[test]
fn large_views_are_told_apart_at_once() {
    // The even and the odd columns of a matrix with 2³⁰ rows; rows in pitches of 12 and 18.
    let columns = |first: u64| Places::repeated(first * 8, 8, [(1 << 10, 1 << 30), (2, 500)].into_iter());
    assert!(!columns(0).meet(&columns(1)) && columns(0).meet(&columns(2)));
    let rows = |first: u64, pitch: u64| Places::repeated(first * 8, 8, [(pitch, 1 << 30), (1, 3)].into_iter());
    assert!(!rows(0, 12).meet(&rows(3, 18)));
    assert!(rows(0, 12).meet(&rows(2, 18)));
    // A search that would take too long counts as a common bit.
    assert!(rows(0, 1 << 20).meet(&rows(500_000, (1 << 20) - 1)));
}

#[test]
fn places_of_casts_are_the_bits_of_their_elements() {
    use ElementType::{FLOAT6E2M3, INT4};
    let conversion = Conversion::new(FLOAT6E2M3, INT4, &CastOptions::default()).unwrap();
    let offsets = Offsets { source: 18, destination: 100, ..Offsets::default() };
    // 7 INT4 from bit 100 on end with bit 127. 6 INT4 end with bit 123, and the rest of the byte becomes zero.
    let ends = |elements, offsets: &Offsets| {
        Places::of_elements(&conversion, elements, offsets).map(|places| (places.start(), places.end()))
    };
    assert_eq!(ends(7, &offsets), [(18, 60), (100, 128)]);
    assert_eq!(ends(6, &offsets), [(18, 54), (100, 128)]);
    let part = Offsets { keeps_rest: true, ..offsets };
    assert_eq!(ends(6, &part), [(18, 54), (100, 124)]);
    // Views: every bit of every element, and the rest of the last byte where the destination is dense.
    let mut random = Random::new(9);
    let mut checked = 0;
    for index in 0..300 {
        let mut shape = shapes::random(&mut random);
        shape.sizes.iter_mut().for_each(|size| *size = (*size).min(4));
        let dense = index % 3 == 0;
        if dense {
            shape.destination = shapes::dense(&shape.sizes);
        }
        let view = View::new(&shape.sizes).with_source_strides(&shape.source);
        let view = if dense { view } else { view.with_destination_strides(&shape.destination) };
        let Ok((strided, _)) = Strided::new(&view, &conversion) else { continue };
        let [read, written] = Places::of_view(&conversion, &strided, &offsets);
        if read.end().max(written.end()) > 2000 {
            continue;
        }
        checked += 1;
        let bits = |start: u64, bits: u64, strides: &[i64]| -> BTreeSet<u64> {
            let first = shapes::places(&shape.sizes, strides).into_iter().map(|place| start + place as u64 * bits);
            first.flat_map(|bit| bit..bit + bits).collect()
        };
        let (of_source, mut of_destination) = (bits(18, 6, &shape.source), bits(100, 4, &shape.destination));
        if dense {
            of_destination.extend(of_destination.last().unwrap() + 1..written.end().next_multiple_of(8));
        }
        for (places, expected) in [(read, of_source), (written, of_destination)] {
            let found: BTreeSet<u64> = (0..places.end() + 9).filter(|&bit| places.meet(&Places::run(bit, 1))).collect();
            assert_eq!(found, expected, "{shape:?}");
        }
    }
    assert!(checked > 50, "{checked}");
}

#[test]
fn conflicts_are_found_in_lists_of_any_order() {
    let mut random = Random::new(5);
    let mut seen = [0; 2];
    for _ in 0..2000 {
        let far = 1 + random.below(3000) as u64;
        let mut bits = Vec::new();
        let mut uses: Vec<Use> = (0..random.below(12))
            .map(|_| {
                let (mut places, mut of_places) = random_places(&mut random);
                if random.one_in(2) {
                    let start = random.next() % far;
                    let run = 1 + random.below(40) as u64;
                    (places, of_places) = (Places::run(start, run), (start..start + run).collect());
                }
                let side = *random.pick(&[Some(Side::Source), Some(Side::Destination), None]);
                let found = Use { entry: random.below(5), side, places };
                bits.push((found.clone(), of_places));
                found
            })
            .collect();
        let is_conflict = |(one, of_one): &(Use, BTreeSet<u64>), (other, of_other): &(Use, BTreeSet<u64>)| {
            let writes = one.side == Some(Side::Destination);
            writes && one.entry != other.entry && !of_one.is_disjoint(of_other)
        };
        let expected = bits.iter().any(|one| bits.iter().any(|other| is_conflict(one, other)));
        let found = conflict(&mut uses).map(|pair| pair.map(Use::clone));
        assert_eq!(found.is_some(), expected, "{bits:?}");
        seen[usize::from(expected)] += 1;
        if let Some(pair) = found {
            let [writer, other] = pair.map(|found| bits.iter().find(|(known, _)| *known == found).unwrap());
            assert!(is_conflict(writer, other), "{writer:?} {other:?}");
            let both_write = other.0.side == Some(Side::Destination);
            assert!(!both_write || writer.0.entry < other.0.entry, "{writer:?} {other:?}");
        }
    }
    assert!(seen.iter().all(|&times| times > 200), "{seen:?}");
}
