//! Outputs are made in pieces, with the bits of whole casts.

use std::io;

use support::bits;
use support::numeric;
use support::random::Random;
use wgpu_cast::{CastOptions, CastSpec, ElementType, cpu};
use wgpu_cast_files::{
    self as files, CastLoss, CodeStorage, FileCause, FileError, FilePlan, Part, ReadAt, SourceRange, StreamSettings,
    TensorCast, TensorStorage,
};

use crate::Unread;

/// The output, its losses by part, and the ends of its pieces.
struct Made {
    bytes: Vec<u8>,
    losses: Vec<CastLoss>,
    ends: Vec<u64>,
}

fn make(plan: &FilePlan, inputs: &[&dyn ReadAt], start: u64) -> Result<Made, FileError> {
    let mut made = Made { bytes: Vec::new(), losses: vec![CastLoss::default(); plan.parts.len()], ends: Vec::new() };
    let mut settings = StreamSettings::default();
    (settings.memory, settings.start, settings.relative_errors) = (1 << 20, start, true);
    files::write(plan, inputs, &settings, &cpu::cast_counted, &mut |finished| {
        assert_eq!(finished.piece.output.start, start + made.bytes.len() as u64, "pieces follow one another");
        made.bytes.extend(finished.bytes);
        made.ends.push(finished.piece.output.end);
        assert!(finished.bytes.len() <= 1 << 16, "a piece fits into its share of the memory");
        finished.losses.iter().for_each(|(part, lost)| made.losses[*part] += *lost);
        Ok(())
    })?;
    Ok(made)
}

/// Codes that a `CodeStorage` stores one a byte, or big-endian, from packed ones.
fn stored(packed: &[u8], element_type: ElementType, len: u64, codes: CodeStorage) -> Vec<u8> {
    let width = element_type.bits().unwrap();
    match codes {
        CodeStorage::OnePerByte => (0..len).map(|i| bits::get(packed, i * u64::from(width), width) as u8).collect(),
        CodeStorage::BigEndian => {
            packed.chunks(width as usize / 8).flat_map(|code| code.iter().rev().copied()).collect()
        }
        _ => packed.to_vec(),
    }
}

/// Every pair, with every way to store codes that its types have, among copied and given bytes.
#[test]
fn every_pair_from_and_to_every_storage() {
    let mut random = Random::new(7);
    let storages = |t: ElementType| match t.bits().unwrap() {
        ..8 => vec![CodeStorage::Packed, CodeStorage::OnePerByte],
        8 => vec![CodeStorage::Packed],
        _ => vec![CodeStorage::Packed, CodeStorage::BigEndian],
    };
    for from in numeric() {
        let (mut input, mut parts, mut expected, mut losses) = (vec![0x55; 3], Vec::new(), Vec::new(), Vec::new());
        for to in numeric() {
            for (source, destination) in
                storages(from).into_iter().flat_map(|s| storages(to).into_iter().map(move |d| (s, d)))
            {
                // Some casts are larger than a piece; most pieces have several casts.
                let elements = [0, 1, 67, 1000, 300_000][random.below(5)].min(1 + random.next() % 300_000);
                let mut packed: Vec<u8> =
                    (0..from.packed_bytes(elements).unwrap()).map(|_| random.next() as u8).collect();
                let used = elements * u64::from(from.bits().unwrap()) % 8;
                if let (Some(last), 1..) = (packed.last_mut(), used) {
                    *last &= (1 << used) - 1;
                }
                let mut result = vec![0; to.packed_bytes(elements).unwrap() as usize];
                let spec = CastSpec::new(from, to);
                let (mut lost, len) = (CastLoss::default(), elements as usize);
                lost.counts = cpu::cast_counted(&spec, &packed, len, &mut result).unwrap();
                let error = cpu::largest_relative_error(&spec, &packed, len, &result);
                lost.relative_error = error.unwrap();
                losses.push(lost);
                expected.extend(stored(&result, to, elements, destination));
                let offset = input.len() as u64;
                input.extend(stored(&packed, from, elements, source));
                let [from, to] = [(from, source), (to, destination)]
                    .map(|(element_type, codes)| TensorStorage { element_type, codes });
                let name = parts.len().to_string();
                let cast = TensorCast {
                    name,
                    elements,
                    input: 1,
                    offset,
                    from,
                    to,
                    options: spec.options,
                    column_major: Vec::new(),
                    clamp: false,
                };
                assert_eq!(
                    Part::Cast(cast.clone()).bytes(),
                    Some(stored(&result, to.element_type, elements, destination).len() as u64)
                );
                parts.push(Part::Cast(cast));
                if random.one_in(3) {
                    let bytes = random.below(9) as u64;
                    expected.extend(&input[2..2 + bytes.min(1) as usize]);
                    parts.push(Part::Copy(SourceRange { input: 1, offset: 2, bytes: bytes.min(1) }));
                    expected.extend([1, 2, 3]);
                    parts.push(Part::Bytes(vec![1, 2, 3]));
                    losses.extend([CastLoss::default(); 2]);
                }
            }
        }
        let plan = FilePlan { parts };
        assert_eq!(plan.bytes(), Some(expected.len() as u64));
        let unused: &[u8] = &[];
        let whole = make(&plan, &[&unused.to_vec(), &input], 0).unwrap();
        assert!(whole.bytes == expected, "{from}");
        assert_eq!(whole.losses, losses, "{from}");
        // Continuing behind some of the pieces gives the rest.
        for &start in whole.ends.iter().step_by(1 + whole.ends.len() / 5) {
            let rest = make(&plan, &[&unused.to_vec(), &input], start).unwrap();
            assert!(rest.bytes == expected[start as usize..], "{from} from {start} on");
        }
    }
}

fn float_to_half(elements: u64) -> FilePlan {
    let [from, to] = [ElementType::FLOAT, ElementType::FLOAT16].map(TensorStorage::packed);
    let (name, options) = ("a".to_owned(), CastOptions::default());
    let cast =
        TensorCast { name, elements, input: 0, offset: 0, from, to, options, column_major: Vec::new(), clamp: false };
    FilePlan { parts: vec![Part::Cast(cast)] }
}

#[test]
fn errors_end_the_work() {
    let input = vec![0u8; 4 << 20];
    let short = make(&float_to_half((1 << 20) + 1), &[&input], 0).map(|_| ()).unwrap_err();
    assert!(matches!(short.cause(), FileCause::Read { .. }), "{short:?}");
    assert_eq!((short.input(), short.tensor(), short.offset()), (Some(0), Some("a"), Some(4_177_920)));
    assert_eq!(short.to_string(), "tensor \"a\": cannot read 16388 bytes at offset 4177920: unexpected end of file");

    // The sink ends it: nothing after the piece is handed over.
    let mut settings = StreamSettings::default();
    settings.memory = 1 << 20;
    let mut pieces = 0;
    let full = files::write(&float_to_half(1 << 20), &[&input], &settings, &cpu::cast_counted, &mut |_| {
        pieces += 1;
        if pieces == 3 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    });
    let full = full.unwrap_err();
    assert!(matches!(full.cause(), FileCause::Write(error) if error.kind() == io::ErrorKind::StorageFull), "{full:?}");
    assert_eq!(full.to_string(), "cannot write at offset 43520: no storage space");
    assert_eq!(pieces, 3);
}

/// What cannot be done is refused before an input is read.
#[test]
fn a_plan_that_cannot_be_executed_is_refused() {
    type Change = fn(&mut TensorCast);
    let refused = |elements, change: Change| {
        let mut plan = float_to_half(elements);
        let Part::Cast(cast) = &mut plan.parts[0] else { unreachable!() };
        change(cast);
        let error = make(&plan, &[&Unread], 0).map(|_| ()).unwrap_err();
        assert!(matches!(error.cause(), FileCause::TooLarge(_) | FileCause::Request(_)), "{error:?}");
        (error.to_string(), plan.bytes())
    };
    let overflow = "a size in bytes overflows".to_owned();
    assert_eq!(refused(u64::MAX, |_| ()), (overflow.clone(), None));
    // The output fits.
    let narrow = refused(1 << 62, |cast| cast.to = TensorStorage::packed(ElementType::INT8));
    assert_eq!(narrow, (overflow.clone(), Some(1 << 62)));
    assert_eq!(refused(3, |cast| cast.offset = u64::MAX - 4).0, overflow);
    assert_eq!(refused(3, |cast| cast.input = 1).0, "the plan reads input 1, but there are 1 inputs");
    for (change, message) in [
        ((|cast| cast.from = TensorStorage::packed(ElementType::STRING)) as Change, "expected numbers, got string"),
        (|cast| cast.to = TensorStorage::packed(ElementType::STRING), "expected numbers, got string"),
        (
            |cast| {
                cast.from = TensorStorage::packed(ElementType::INT4);
                cast.column_major = vec![3, 2];
            },
            "codes of fewer than 8 bits cannot be packed in column-major order",
        ),
        (
            |cast| cast.from.codes = CodeStorage::OnePerByte,
            "only codes of fewer than 8 bits are one per byte, and only others are big-endian",
        ),
        (
            |cast| cast.to = TensorStorage { element_type: ElementType::INT4, codes: CodeStorage::BigEndian },
            "only codes of fewer than 8 bits are one per byte, and only others are big-endian",
        ),
    ] {
        assert_eq!(refused(6, change).0, format!("tensor \"a\": {message}"));
    }
    let copy = Part::Copy(SourceRange { input: 2, offset: 0, bytes: 1 });
    let error = make(&FilePlan { parts: vec![copy] }, &[&Unread], 0).map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), "the plan reads input 2, but there are 1 inputs");
}

#[test]
fn an_error_of_the_cast_names_the_tensor() {
    let input = vec![0u8; 400];
    let fails: &files::CastPiece<'_> = &|spec, _, len, _| cpu::count_losses(spec, &[], len);
    let failed = files::write(&float_to_half(100), &[&input], &StreamSettings::default(), fails, &mut |_| Ok(()));
    let failed = failed.unwrap_err();
    assert!(matches!(failed.cause(), FileCause::Cast(_)) && failed.tensor() == Some("a"), "{failed:?}");
    // A name is untrusted text.
    let mut plan = float_to_half(100);
    let Part::Cast(cast) = &mut plan.parts[0] else { unreachable!() };
    cast.name = "a\n".repeat(50_000);
    let failed = files::write(&plan, &[&input], &StreamSettings::default(), fails, &mut |_| Ok(()));
    let message = failed.unwrap_err().to_string();
    assert!(message.len() < 300 && !message.contains('\n'), "{message}");
}

#[test]
fn copies_larger_than_a_piece_are_divided() {
    let input: Vec<u8> = (0..500_000u32).map(|at| ((at * 151) >> 3) as u8).collect();
    let copy = |offset, bytes| Part::Copy(SourceRange { input: 0, offset, bytes });
    let given = Part::Bytes(input[..150_000].to_vec());
    let parts = vec![copy(7, 200_000), given, copy(100, 40_000), copy(300_000, 40_000)];
    let expected = [&input[7..200_007], &input[..150_000], &input[100..40_100], &input[300_000..340_000]].concat();
    assert!(make(&FilePlan { parts }, &[&input], 0).unwrap().bytes == expected);
}

#[test]
fn column_major_arrays_are_written_in_row_major_order() {
    let part = |offset, from, axes: &[u64]| {
        let [from, to] = [from, ElementType::INT16].map(TensorStorage::packed);
        let (elements, column_major) = (axes.iter().product(), axes.to_vec());
        let (name, options) = (String::new(), CastOptions::default());
        Part::Cast(TensorCast { name, elements, input: 0, offset, from, to, options, column_major, clamp: false })
    };
    let input: Vec<u8> = (1..=12).collect();
    let plan = FilePlan { parts: vec![part(0, ElementType::INT8, &[2, 3]), part(6, ElementType::UINT8, &[3, 2])] };
    let expected = [1i16, 3, 5, 2, 4, 6, 7, 10, 8, 11, 9, 12].map(i16::to_le_bytes).concat();
    assert_eq!(make(&plan, &[&input], 0).unwrap().bytes, expected);
}

#[test]
fn pieces_are_as_large_as_memory_allows() {
    let input = vec![0u8; 4 << 20];
    let pieces = |memory| {
        let (mut settings, mut pieces) = (StreamSettings::default(), 0);
        settings.memory = memory;
        let mut count = |_: files::FinishedPiece<'_>| {
            pieces += 1;
            Ok(())
        };
        files::write(&float_to_half(1 << 20), &[&input], &settings, &cpu::cast_counted, &mut count).unwrap();
        pieces
    };
    // 65,536 bytes are 170 times 64 elements of 6 bytes.
    assert_eq!([0, 1 << 20, 256 << 20].map(pieces), [97, 97, 1]);
}
