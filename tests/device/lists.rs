//! Lists of casts of every kind that are bound at once: elements one after the other, in place, views and counts. The
//! bits are those of the CPU, and every other bit is unchanged.

use ElementType::*;
use std::ops::Range;

use support::buffers::{buffer, own_device};
use support::planned::noise;
use support::shapes::{Shape, places};
use support::{bits, cast_error, overlap_error, slice_error, variant};
use wgpu_cast::wgpu::{self, Buffer, BufferSlice};
use wgpu_cast::{Bound, CastOptions, CastSpec, Caster, Destination, ElementType, Error, Side, Source, Tensor, cpu};

use crate::many::expect_bytes;

/// Where a tensor lies: the buffer, the byte where the larger tensor starts, and the elements before the part. Without
/// the last number it is a whole tensor.
type Place = (usize, u64, Option<u64>);

/// One cast of a list.
#[derive(Clone, Debug)]
struct Case {
    source: Place,
    destination: Place,
    elements: Elements,
}

#[derive(Clone, Debug)]
enum Elements {
    Dense(u64),
    View(Shape),
    /// The most elements, and the buffer and the byte of their number.
    Counted(u64, usize, u64),
}

impl Case {
    fn dense(source: Place, destination: Place, len: u64) -> Self {
        Self { source, destination, elements: Elements::Dense(len) }
    }

    /// The places of the elements on each side, counted from the first bit, and the number of bits at the end that
    /// become zero.
    fn places(&self, before: &[Vec<u8>]) -> [Vec<usize>; 2] {
        match &self.elements {
            Elements::Dense(len) => [(0..*len as usize).collect(), (0..*len as usize).collect()],
            Elements::View(shape) => [places(&shape.sizes, &shape.source), places(&shape.sizes, &shape.destination)],
            Elements::Counted(most, which, at) => {
                let count = u32::from_le_bytes(before[*which][*at as usize..][..4].try_into().unwrap());
                let len = (*most).min(u64::from(count)) as usize;
                [(0..len).collect(), (0..len).collect()]
            }
        }
    }
}

fn slice<'a>(buffers: &'a [Buffer], (which, offset, _): Place, bytes: Option<u64>) -> BufferSlice<'a> {
    bytes.map_or(buffers[which].slice(offset..), |bytes| buffers[which].slice(offset..offset + bytes))
}

fn bind(caster: &Caster, spec: &CastSpec, buffers: &[Buffer], cases: &[Case]) -> Result<Bound, Error> {
    let mut many = caster.many(spec)?.with_label("a list");
    for Case { source, destination, elements } in cases {
        // The packed bytes of whole tensors, which are dense here.
        let bytes = |element_type: ElementType, place: &Place| match (elements, place.2) {
            (Elements::Dense(len) | Elements::Counted(len, ..), None) => element_type.packed_bytes(*len),
            _ => None,
        };
        let from = slice(buffers, *source, bytes(spec.from, source));
        let to = slice(buffers, *destination, bytes(spec.to, destination));
        let from = source.2.map_or(Source::whole(from), |first| Source::part(from, first));
        let to = destination.2.map_or(Destination::whole(to), |first| Destination::part(to, first));
        match elements {
            Elements::Dense(len) => many.add(from, to, *len),
            Elements::View(shape) => many.add_view(from, to, &shape.view()),
            Elements::Counted(most, which, at) => {
                many.add_counted(from, to, *most, buffers[*which].slice(*at..*at + 4))
            }
        };
    }
    many.bind()
}

/// Binds and records a list between buffers with these bytes, and compares all bytes of all buffers. Returns the number
/// of dispatches.
fn check(
    (device, queue, caster): (&wgpu::Device, &wgpu::Queue, &Caster),
    (from, to): (ElementType, ElementType),
    cases: &[Case],
    before: &[Vec<u8>],
) -> usize {
    let buffers: Vec<_> = before.iter().map(|bytes| buffer(device, bytes.len() as u64)).collect();
    let bound = bind(caster, &CastSpec::new(from, to), &buffers, cases).unwrap();
    assert!(format!("{bound:?}").contains("label: Some(\"a list\")"));
    let mut expected = before.to_vec();
    let [from_bits, to_bits] = [from, to].map(|t| t.bits().unwrap() as usize);
    for case in cases {
        let start = |(_, offset, first): Place, bits: usize| 8 * offset as usize + first.unwrap_or(0) as usize * bits;
        let (from_bit, to_bit) = (start(case.source, from_bits), start(case.destination, to_bits));
        let [read, written] = case.places(before);
        let code =
            |place: &usize| bits::get(&before[case.source.0], (from_bit + place * from_bits) as u64, from_bits as u32);
        let tensor = Tensor::from_codes(from, [read.len()], read.iter().map(code)).unwrap();
        let codes = cpu::cast(&tensor, to, &CastOptions::default()).unwrap();
        let result = &mut expected[case.destination.0];
        for (place, code) in written.iter().zip(codes.codes()) {
            bits::set(result, (to_bit + place * to_bits) as u64, to_bits as u32, code);
        }
        // The rest of the last byte of a whole tensor.
        if let (Elements::Dense(len), None) = (&case.elements, case.destination.2) {
            let end = to_bit + *len as usize * to_bits;
            (end..end.next_multiple_of(8)).for_each(|bit| bits::set(result, bit as u64, 1, 0));
        }
    }
    expect_bytes((device, queue), &bound, (&buffers, before, &expected), &format!("{from} to {to}, {cases:?}"));
    bound.dispatches().len()
}

/// Pairs of every relation of the two widths.
const PAIRS: [(ElementType, ElementType); 6] =
    [(FLOAT, FLOAT16), (UINT4, FLOAT), (FLOAT6E2M3, FLOAT6E3M2), (DOUBLE, INT2), (INT8, UINT4), (INT16, BFLOAT16)];

/// A list with every kind of entry between two buffers. One count is in a third buffer, and one beside a destination.
#[test]
fn lists_of_every_kind_of_entry() {
    let (device, queue) = own_device();
    let caster = Caster::new(&device);
    for (index, (from, to)) in PAIRS.into_iter().enumerate() {
        let mut before: Vec<_> = (0..3).map(|seed| noise(16_384, seed)).collect();
        before[2][64..68].copy_from_slice(&[0, 37, 200, 90u32][index % 4].to_le_bytes());
        let padded = Shape::new(&[6, 9], &[1, 6], &[11, 1]);
        let columns = |first| Case {
            source: (0, 4096, Some(100 * first)),
            destination: (1, 8192, Some(first)),
            elements: Elements::View(Shape::new(&[20, 3], &[1, 20], &[8, 2])),
        };
        let cases = [
            // Parts that are neighbours in one byte and read the same elements.
            Case::dense((0, 0, Some(1)), (1, 8, Some(1)), 101),
            Case::dense((0, 0, Some(3)), (1, 8, Some(102)), 55),
            Case::dense((0, 0, Some(1)), (1, 8, Some(157)), 3),
            // A whole tensor, whose last byte is filled with zeros.
            Case::dense((0, 2048, None), (1, 2048, None), 77),
            Case::dense((0, 2048, None), (1, 3072, None), 0),
            Case { source: (0, 3072, Some(5)), destination: (1, 4096, Some(3)), elements: Elements::View(padded) },
            Case { source: (0, 0, Some(0)), destination: (1, 6144, Some(7)), elements: Elements::Counted(91, 2, 64) },
            Case { source: (0, 0, None), destination: (1, 7168, None), elements: Elements::Counted(45, 2, 64) },
            // The even and the odd columns of a matrix.
            columns(0),
            columns(1),
        ];
        check((&device, &queue, &caster), (from, to), &cases, &before);
    }
}

/// The same with everything in one buffer: casts in place, and casts at the edges of each other's sources, counts and
/// results.
#[test]
fn lists_in_one_buffer() {
    let (device, queue) = own_device();
    let caster = Caster::new(&device);
    for (index, (from, to)) in PAIRS.into_iter().enumerate() {
        let mut before = vec![noise(32_768, index as u64)];
        before[0][32_000..32_004].copy_from_slice(&[50, 1, 0, 17u32][index % 4].to_le_bytes());
        let bits = |t: ElementType| u64::from(t.bits().unwrap());
        // The first element after 57 elements of the source at byte 8192.
        let behind = (8192 * 8 + 57 * bits(from)).div_ceil(bits(to));
        let cases = [
            // In place, with other entries recorded around it.
            Case::dense((0, 0, None), (0, 0, None), 333),
            Case::dense((0, 4096, Some(3)), (0, 6144, Some(1)), 7),
            // A result that starts at the bit where another entry's source ends, if an element can start there.
            Case::dense((0, 8192, Some(0)), (0, 20_480, Some(0)), 57),
            Case::dense((0, 4096, Some(3)), (0, 0, Some(behind)), 33),
            // A count in the same buffer.
            Case {
                source: (0, 4096, Some(0)),
                destination: (0, 16_896, Some(0)),
                elements: Elements::Counted(50, 0, 32_000),
            },
            Case {
                source: (0, 24_576, Some(0)),
                destination: (0, 28_672, Some(5)),
                elements: Elements::View(Shape::new(&[4, 10], &[1, 4], &[13, 1])),
            },
            // In place with a count.
            Case {
                source: (0, 12_288, None),
                destination: (0, 12_288, None),
                elements: Elements::Counted(40, 0, 32_000),
            },
        ];
        check((&device, &queue, &caster), (from, to), &cases, &before);
    }
}

/// Views and counts have dispatches of their own. Dense views share the dispatches of other entries.
#[test]
fn entries_share_dispatches_where_they_can() {
    let (device, queue) = own_device();
    let caster = Caster::new(&device);
    let dense = |i: u64| Case::dense((0, 3200 * i, Some(0)), (1, 1600 * i, Some(0)), 800);
    let cases: Vec<_> = (0..4).map(dense).collect();
    let before = [noise(32_768, 1), noise(16_384, 2), vec![9, 0, 0, 0]];
    let count = |cases: &[Case]| check((&device, &queue, &caster), (FLOAT, FLOAT16), cases, &before);
    assert_eq!(count(&cases), 1);
    let of_view = |sizes: &[u64], source: &[i64], destination: &[i64]| Case {
        source: (0, 12_800, Some(0)),
        destination: (1, 6400, Some(0)),
        elements: Elements::View(Shape::new(sizes, source, destination)),
    };
    let with = |case: Case| [&cases[..], &[case]].concat();
    assert_eq!(count(&with(of_view(&[8, 100], &[100, 1], &[100, 1]))), 1);
    assert_eq!(count(&with(of_view(&[3, 5], &[1, 3], &[5, 1]))), 2);
    let counted = Case { elements: Elements::Counted(8, 2, 0), ..dense(4) };
    assert_eq!(count(&with(counted)), 2);
}

/// The error of a list that is refused.
fn refused(cases: &[Case]) -> Error {
    let (device, _queue) = own_device();
    let buffers = [(); 3].map(|()| buffer(&device, 4096));
    bind(&Caster::new(&device), &CastSpec::new(FLOAT, INT4), &buffers, cases).map(drop).unwrap_err()
}

#[test]
fn an_entry_that_is_invalid_is_named() {
    let types = [FLOAT, INT4];
    let slice = |side, offset, fault| slice_error(types, side, offset, fault);
    let good = |i: u64| Case::dense((0, 64 * i, Some(0)), (1, 64 * i, Some(0)), 16);
    let view = |shape| Case { elements: Elements::View(shape), ..good(2) };
    let counted = |at| Case { elements: Elements::Counted(8, 2, at), ..good(2) };
    for (case, alone, text) in [
        (
            Case::dense((0, 4000, Some(0)), (1, 512, Some(0)), 25),
            slice(Some(Side::Source), 4000, variant!(Length { expected: 100, found: 96 })),
            "the source slice needs 100 bytes to hold the cast's elements, got 96",
        ),
        (
            Case::dense((0, 2, Some(0)), (1, 512, Some(0)), 25),
            slice(Some(Side::Source), 2, variant!(Alignment { alignment: 4 })),
            "the source slice starts at byte 2, which is not a multiple of 4",
        ),
        (
            view(Shape::new(&[4, 4], &[4, 1], &[0, 1])),
            cast_error(types, variant!(Strides { axis: Some(0) })),
            "the elements of the destination overlap along axis 0",
        ),
        (
            view(Shape::new(&[4, 4], &[4], &[4, 1])),
            cast_error(types, variant!(Strides { axis: None::<usize> })),
            "unsupported strided view: the numbers of strides and axes differ",
        ),
        (
            counted(6),
            slice(None, 6, variant!(Alignment { alignment: 4 })),
            "invalid slice of the count at byte 6: its offset must be a multiple of 4",
        ),
        (
            Case::dense((0, 0, Some(0)), (1, 512, Some(0)), 1 << 61),
            cast_error(types, variant!(Limit { limit: "max_buffer_size", needed: 1u64 << 63, allowed: 256 << 20 })),
            "exceeds the limit max_buffer_size: 9223372036854775808 needed, 268435456 allowed",
        ),
    ] {
        let error = refused(&[good(0), good(1), case, good(2), good(2)]);
        assert_eq!(format!("{error:?}"), alone.replace("entry: None", "entry: Some(2)"));
        let colon = if text.starts_with("exceeds") { "" } else { ":" };
        assert_eq!(error.to_string(), format!("entry 2: casting float to int4{colon} {text}"));
    }
}

#[test]
fn entries_that_depend_on_each_other_are_refused() {
    let check = |cases: &[Case],
                 writer,
                 writer_bytes: Range<u64>,
                 (other, side): (usize, Option<Side>),
                 other_bytes| {
        let error = refused(cases);
        let operand = side.map_or("count".to_owned(), |side| side.to_string());
        let text = format!(
            "casting float to int4: the destination of entry {writer} at bytes {writer_bytes:?} and the {operand} of \
             entry {other} at bytes {other_bytes:?} of one buffer overlap; the casts of a list run in no order"
        );
        let ranges = [(Some(writer), Some(Side::Destination), writer_bytes), (Some(other), side, other_bytes)];
        assert_eq!(format!("{error:?}"), overlap_error([FLOAT, INT4], ranges, false));
        assert_eq!(error.to_string(), text);
    };
    let dense = |source: u64, destination: Place, len| Case::dense((0, source, Some(0)), destination, len);
    // Two results in one place.
    let cases = [dense(0, (1, 64, Some(0)), 16), dense(64, (1, 512, Some(0)), 16), dense(128, (1, 60, Some(0)), 16)];
    check(&cases, 0, 64..72u64, (2, Some(Side::Destination)), 60..68u64);
    // Two results share half a byte, or one lies in the bits of a last byte that become zero.
    let cases = [dense(0, (1, 0, Some(0)), 5), dense(0, (1, 0, Some(4)), 5)];
    check(&cases, 0, 0..3u64, (1, Some(Side::Destination)), 2..5u64);
    let cases = [dense(0, (1, 0, Some(5)), 4), Case::dense((0, 0, None), (1, 0, None), 5)];
    check(&cases, 0, 2..5u64, (1, Some(Side::Destination)), 0..3u64);
    // A chain, in both orders.
    let [first, second] = [dense(0, (1, 64, Some(0)), 16), Case::dense((1, 64, Some(1)), (2, 0, Some(0)), 16)];
    check(&[first.clone(), second.clone()], 0, 64..72u64, (1, Some(Side::Source)), 68..132u64);
    check(&[second, first], 1, 64..72u64, (0, Some(Side::Source)), 68..132u64);
    // A result over the count of another entry.
    let counted = |which| Case { elements: Elements::Counted(8, which, 4), ..dense(256, (1, 512, Some(0)), 8) };
    check(&[counted(2), dense(0, (2, 0, Some(9)), 4)], 1, 4..7u64, (0, None), 4..8u64);
    // A cast in place, and one that reads its tensor.
    let in_place = Case::dense((0, 0, Some(0)), (0, 0, Some(0)), 16);
    check(&[dense(4, (1, 0, Some(0)), 8), in_place], 1, 0..8u64, (0, Some(Side::Source)), 4..36u64);
}

/// Lists that look like those of the test above, but are allowed.
#[test]
fn entries_that_do_not_depend_on_each_other_are_bound() {
    let (device, _queue) = own_device();
    let buffers = [(); 3].map(|()| buffer(&device, 4096));
    let caster = Caster::new(&device);
    let bind = |cases: &[Case]| bind(&caster, &CastSpec::new(FLOAT, INT4), &buffers, cases).map(drop);
    let dense = |source: u64, destination: Place, len| Case::dense((0, source, Some(0)), destination, len);
    // Neighbours in a byte, one source, casts of nothing, and a cast in place.
    let neighbours = [dense(0, (1, 0, Some(0)), 5), dense(0, (1, 0, Some(5)), 5)];
    assert_eq!(bind(&neighbours), Ok(()));
    assert_eq!(bind(&[dense(0, (1, 0, Some(0)), 5), dense(0, (1, 0, Some(0)), 0)]), Ok(()));
    assert_eq!(bind(&[Case::dense((0, 0, Some(0)), (0, 0, Some(0)), 16), dense(64, (0, 128, Some(0)), 16)]), Ok(()));
    // A count keeps the bits after the last element.
    let counted = Case { elements: Elements::Counted(5, 2, 0), ..Case::dense((0, 0, None), (1, 0, None), 5) };
    assert_eq!(bind(&[counted, dense(0, (1, 0, Some(5)), 5)]), Ok(()));
    // The columns of two matrices.
    let columns = |first| Case {
        elements: Elements::View(Shape::new(&[10, 3], &[3, 1], &[6, 1])),
        ..dense(0, (1, 0, Some(first)), 0)
    };
    assert_eq!(bind(&[columns(0), columns(3)]), Ok(()));
    let error = bind(&[columns(0), columns(2)]).unwrap_err();
    let written = |entry, bytes| (Some(entry), Some(Side::Destination), bytes);
    let expected = overlap_error([FLOAT, INT4], [written(0, 0..29), written(1, 1..30)], false);
    assert_eq!(format!("{error:?}"), expected);
}
