//! Transposed rows: their kernels, and when these are chosen.

use super::views::check_view;
use super::*;

/// Transposed rows of more than one tile or block in each direction, with few enough other axes for their kernels, or
/// more.
#[test]
fn transposed_rows_of_many_tiles_and_axes() {
    use ElementType::{DOUBLE, FLOAT, FLOAT16, INT4, INT8, UINT8};
    let shapes: [(&[u64], &[i64], &[i64]); 4] = [
        (&[70, 130], &[1, 70], &[131, 1]),
        (&[72, 132], &[1, 72], &[132, 1]),
        (&[2, 2, 2, 8, 9], &[1000, 400, 200, 1, 16], &[2000, 900, 400, 12, 1]),
        (&[2, 2, 2, 2, 8, 9], &[2000, 1000, 400, 200, 1, 16], &[5000, 2000, 900, 400, 12, 1]),
    ];
    for (from, to) in [(FLOAT, FLOAT16), (FLOAT16, FLOAT), (UINT8, INT8), (DOUBLE, UINT8), (FLOAT, INT4)] {
        let conversion = Conversion::new(from, to, &CastOptions::default()).unwrap();
        for lookup in [CodeLookup::Table, CodeLookup::Computed] {
            let settings =
                PlanSettings { tuning: PlanTuning { lookup, ..PlanTuning::default() }, ..Default::default() };
            for (shape, source, destination) in shapes {
                let view = View::new(shape).with_source_strides(source).with_destination_strides(destination);
                let dispatches = check_view(&conversion, &view, shape, Offsets::default(), &settings);
                let transposed = dispatches.iter().any(|dispatch| dispatch.kind == KernelKind::Transposed);
                // Blocks need whole vectors; tiles need workgroup memory.
                if lookup == CodeLookup::Table {
                    assert_eq!(transposed, shape.len() <= 5, "{from} to {to}: {shape:?}");
                }
            }
        }
    }
}

/// Without workgroup memory, transposed rows are cast in whole blocks if all blocks start at whole vectors. Other
/// kernels cast the rest.
#[test]
fn transposed_rows_take_whole_blocks() {
    let conversion = Conversion::new(ElementType::FLOAT, ElementType::FLOAT16, &CastOptions::default()).unwrap();
    let tuning = PlanTuning { lookup: CodeLookup::Computed, ..PlanTuning::default() };
    let settings = PlanSettings { tuning, ..PlanSettings::default() };
    // The elements in blocks, and how many dispatches there are in all.
    let blocks = |shape: &[u64], source: &[i64], destination: &[i64], offsets| {
        let view = View::new(shape).with_source_strides(source).with_destination_strides(destination);
        let dispatches = check_view(&conversion, &view, shape, offsets, &settings);
        let elements = |dispatch: &Dispatch| dispatch.params.count * dispatch.view.as_deref().unwrap().row;
        let transposed = dispatches.iter().filter(|dispatch| dispatch.kind == KernelKind::Transposed);
        (transposed.map(elements).sum::<u32>(), dispatches.len())
    };
    let start = Offsets::default();
    assert_eq!(blocks(&[12, 40], &[1, 16], &[40, 1], start), (12 * 40, 1));
    assert_eq!(blocks(&[3, 12, 40], &[700, 1, 16], &[480, 40, 1], start).0, 3 * 12 * 40);
    assert_eq!(blocks(&[14, 41], &[1, 16], &[44, 1], start).0, 12 * 40);
    // Rows, columns or other axes that do not all start at whole vectors.
    assert_eq!(blocks(&[12, 40], &[1, 17], &[40, 1], start).0, 0);
    assert_eq!(blocks(&[12, 40], &[1, 16], &[41, 1], start).0, 0);
    assert_eq!(blocks(&[3, 12, 40], &[702, 1, 16], &[480, 40, 1], start).0, 0);
    assert_eq!(blocks(&[3, 12, 40], &[700, 1, 16], &[482, 40, 1], start).0, 0);
    // The first elements on each side, until one is at a whole vector.
    for (source, destination) in (0..4).flat_map(|source| (0..4).map(move |destination| (source, destination))) {
        let offsets = Offsets::two_buffers(4 * source, 2 * destination);
        let whole = |size: u64, place: u64| (size - (4 - place) % 4) / 4 * 4;
        let expected = whole(14, source) * whole(41, destination);
        let (elements, _) = blocks(&[14, 41], &[1, 16], &[44, 1], offsets);
        assert_eq!(u64::from(elements), expected, "{source}, {destination}");
    }
    // At most the elements that a dispatch may have.
    let watchdog = PlanTuning { dispatch_elements: 12 * 40, ..tuning };
    let settings = PlanSettings { tuning: watchdog, ..settings };
    let view = View::new(&[12, 40]).with_source_strides(&[1, 16]);
    assert_eq!(check_view(&conversion, &view, &[12, 40], start, &settings).len(), 1);
}
