//! Archives of arrays.

use std::io::{Cursor, Write};

use wgpu_cast_files::{FileCause, InputRange, NpyArray, NpyHeader, NpzArchive, NpzWriter, ReadAt};

use crate::npy::{array, golden};

/// An archive as the library writes it: names, `.npy` files, and whether they are compressed.
fn written(members: &[(&str, &[u8], bool)]) -> Vec<u8> {
    let mut writer = NpzWriter::new(Vec::new());
    for (name, file, compress) in members {
        writer.start(name, file.len() as u64, *compress).unwrap();
        writer.write_all(file).unwrap();
    }
    writer.finish().unwrap()
}

fn error(archive: &Vec<u8>) -> String {
    NpzArchive::open(archive).unwrap_err().to_string()
}

#[test]
fn members_are_read_as_they_were_written() {
    let (numbers, strings) = (golden("int16"), golden("strings"));
    let file = written(&[("a", &numbers, false), ("layer/b", &strings, true), ("../c", &numbers, false)]);
    let mut archive = NpzArchive::open(&file).unwrap();
    let members = archive.members().to_vec();
    let names: Vec<&str> = members.iter().map(|member| &member.name[..]).collect();
    assert_eq!(names, ["a", "layer/b", "../c"]);
    for (member, expected) in members.iter().zip([&numbers, &strings, &numbers]) {
        assert_eq!(member.bytes, expected.len() as u64);
        let array = archive.array(member, None).unwrap();
        assert_eq!(array, NpyArray::read(expected, None).unwrap(), "{}", member.name);
        assert_eq!(archive.header(member).unwrap(), NpyHeader::read(expected).unwrap(), "{}", member.name);
        let mut copy = Vec::new();
        archive.copy(member, &mut copy).unwrap();
        assert_eq!(&copy, expected, "{}", member.name);
        if let Some(range) = &member.stored {
            let stored = InputRange::new(&file, range.clone());
            let mut bytes = vec![0; expected.len()];
            stored.read_exact_at(0, &mut bytes).unwrap();
            assert_eq!((&bytes, stored.size().unwrap()), (expected, member.bytes));
            assert!(stored.read_exact_at(1, &mut bytes).is_err());
        }
    }
    assert_eq!(members.iter().map(|member| member.stored.is_some()).collect::<Vec<_>>(), [true, false, true]);
    assert_eq!(NpzArchive::open(&written(&[])).unwrap().members(), []);
}

/// `files/tests/golden/make_npz.py` wrote these.
#[test]
fn archives_of_numpy_are_read() {
    for (file, compressed) in
        [(&include_bytes!("../golden/stored.npz")[..], false), (&include_bytes!("../golden/compressed.npz")[..], true)]
    {
        let file = file.to_vec();
        let mut archive = NpzArchive::open(&file).unwrap();
        for (member, name) in archive.members().to_vec().iter().zip(["int16", "column_major", "strings"]) {
            assert_eq!((&member.name[..], member.stored.is_none()), (name, compressed));
            let mut copy = Vec::new();
            archive.copy(member, &mut copy).unwrap();
            assert_eq!(copy, golden(name));
            assert_eq!(archive.array(member, None).unwrap(), NpyArray::read(&copy, None).unwrap());
        }
        assert_eq!(archive.members().len(), 3);
    }
}

#[test]
fn what_is_no_archive_of_arrays() {
    let other = |name: &str, options: zip::write::SimpleFileOptions| {
        let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
        writer.start_file(name, options).unwrap();
        writer.write_all(b"text").unwrap();
        writer.finish().unwrap().into_inner()
    };
    let options = zip::write::SimpleFileOptions::default();
    assert_eq!(error(&other("a.txt", options)), "invalid .npz archive: member \"a.txt\" is not a .npy file");
    let mut folder = zip::ZipWriter::new(Cursor::new(Vec::new()));
    folder.add_directory("a.npy", options).unwrap();
    assert_eq!(
        error(&folder.finish().unwrap().into_inner()),
        "invalid .npz archive: member \"a.npy/\" is not a .npy file"
    );
    let mut bzip2 = other("a.npy", options.compression_method(zip::CompressionMethod::Stored));
    // The methods in the local header and in the directory.
    let directory = bzip2.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    (bzip2[8], bzip2[directory + 10]) = (12, 12);
    assert_eq!(error(&bzip2), "member \"a.npy\" is compressed by Bzip2; only deflate is supported");
    let mut encrypted = other("a.npy", options.compression_method(zip::CompressionMethod::Stored));
    (encrypted[6], encrypted[directory + 8]) = (1, 1);
    assert_eq!(error(&encrypted), "member \"a.npy\" is encrypted");
    let text = other("a.npy", options);
    let mut archive = NpzArchive::open(&text).unwrap();
    let member = archive.members()[0].clone();
    let expected = "tensor \"a\": there is no header of a .npy file, or only its beginning";
    assert_eq!(archive.array(&member, None).unwrap_err().to_string(), expected);
    assert_eq!(archive.header(&member).unwrap_err().to_string(), expected);
    for bytes in [&b""[..], b"PK", &golden("int16"), &text[..text.len() - 1]] {
        assert_eq!(error(&bytes.to_vec()), "invalid .npz archive: it is damaged or truncated");
    }
    let long = error(&other(&"x\u{1b}".repeat(20_000), options));
    assert!(long.starts_with("invalid .npz archive: member \"x\\u{1b}") && long.len() < 1000, "{long}");
}

#[test]
fn data_that_is_not_what_the_directory_says() {
    let numbers = golden("int16");
    for compress in [false, true] {
        let good = written(&[("a", &numbers, compress)]);
        let (mut faults, mut panics_not) = (0, 0);
        for at in 0..good.len() {
            let mut file = good.clone();
            file[at] ^= 0x10;
            let Ok(mut archive) = NpzArchive::open(&file) else { continue };
            for member in archive.members().to_vec() {
                let mut copy = Vec::new();
                match archive.copy(&member, &mut copy) {
                    Ok(()) => panics_not += usize::from(copy == numbers),
                    Err(_) => faults += 1,
                }
                let _ = archive.array(&member, None);
                assert!(copy.len() as u64 <= member.bytes);
            }
        }
        // Every byte of the data is covered by the checksum.
        assert!(faults >= if compress { 80 } else { numbers.len() }, "{faults} faults, {panics_not} harmless");
    }
}

/// A member that claims to be small, or to be another array than it is, is no larger in memory or on disk.
#[test]
fn a_bomb_is_not_unpacked() {
    let zeros = array("|u1", "(10000000,)", &vec![0; 10_000_000]);
    let mut file = written(&[("a", &zeros, true)]);
    assert!(file.len() < 20_000);
    let directory = file.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    // The size without compression, in the directory.
    file[directory + 24..directory + 28].copy_from_slice(&200u32.to_le_bytes());
    let mut archive = NpzArchive::open(&file).unwrap();
    let member = archive.members()[0].clone();
    let mut copy = Vec::new();
    let error = archive.copy(&member, &mut copy).unwrap_err();
    assert!(matches!(error.cause(), FileCause::Malformed(_)), "{error:?}");
    let expected = "tensor \"a\": the member is corrupt: File is larger than its declared uncompressed size";
    assert_eq!(error.to_string(), expected);
    assert!(copy.len() <= 200, "{} bytes", copy.len());
    assert!(archive.array(&member, None).is_err());
}

#[test]
fn the_writer_holds_to_what_was_begun() {
    let mut writer = NpzWriter::new(Vec::new());
    writer.start("a", 3, false).unwrap();
    writer.write_all(&[1, 2]).unwrap();
    assert!(writer.write_all(&[3, 4]).is_err());
    let started = writer.start("b", 1, false).unwrap_err();
    assert!(matches!(started.cause(), FileCause::Request(_)), "{started:?}");
    assert_eq!(started.to_string(), "the last array lacks 1 byte");
    assert_eq!(writer.finish().unwrap_err().to_string(), "the last array lacks 1 byte");
    let mut writer = NpzWriter::new(Vec::new());
    writer.start("a", 0, false).unwrap();
    let twice = writer.start("a", 0, false).unwrap_err().to_string();
    let expected = "tensor \"a\": the archive cannot have this member: Duplicate filename: EscapeAscii { .. }";
    assert_eq!(twice, expected);
}

/// An output that can be looked at after the writer is gone.
#[derive(Clone, Default)]
struct Shared(std::rc::Rc<std::cell::RefCell<Vec<u8>>>, Option<usize>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut held = self.0.borrow_mut();
        if self.1.is_some_and(|limit| held.len() + bytes.len() > limit) {
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        held.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn an_archive_that_is_not_finished_is_none() {
    let output = Shared::default();
    let mut writer = NpzWriter::new(output.clone());
    writer.start("a", 3, false).unwrap();
    writer.write_all(&[1, 2, 3]).unwrap();
    drop(writer);
    assert!(NpzArchive::open(&output.0.borrow().clone()).is_err());
    let full = Shared(Default::default(), Some(60));
    let mut writer = NpzWriter::new(full);
    writer.start("a", 3, false).unwrap();
    writer.write_all(&[1, 2, 3]).unwrap();
    let error = writer.finish().map(drop).unwrap_err();
    assert!(matches!(error.cause(), FileCause::Write(_)), "{error:?}");
    assert_eq!(error.to_string(), "cannot write: no storage space");
}

#[test]
fn an_interrupted_output_is_written_again() {
    struct Interrupted(Vec<u8>, bool);

    impl Write for Interrupted {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(std::io::ErrorKind::Interrupted.into());
            }
            self.0.extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    let numbers = golden("int16");
    let mut writer = NpzWriter::new(Interrupted(Vec::new(), false));
    writer.start("a", numbers.len() as u64, false).unwrap();
    writer.write_all(&numbers).unwrap();
    let file = writer.finish().unwrap().0;
    assert_eq!(NpzArchive::open(&file).unwrap().members().len(), 1);
}

#[test]
fn interrupted_reads_are_repeated() {
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Once it is set to 1, each second read is interrupted.
    struct Interrupted(Vec<u8>, AtomicUsize);

    impl ReadAt for Interrupted {
        fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<()> {
            let state = self.1.load(Ordering::Relaxed);
            if state > 0 {
                self.1.store(3 - state, Ordering::Relaxed);
            }
            if state == 1 {
                return Err(std::io::ErrorKind::Interrupted.into());
            }
            self.0.read_exact_at(offset, buffer)
        }

        fn size(&self) -> std::io::Result<u64> {
            self.0.size()
        }
    }

    let large = array("|u1", "(100000,)", &[7; 100_000]);
    let input = Interrupted(written(&[("a", &large, false)]), AtomicUsize::new(0));
    let mut archive = NpzArchive::open(&input).unwrap();
    let member = archive.members()[0].clone();
    input.1.store(1, Ordering::Relaxed);
    archive.copy(&member, &mut std::io::sink()).unwrap();
}

/// The version of the format that a reader needs is in the member's header.
#[test]
fn only_large_members_need_a_reader_of_large_ones() {
    for (bytes, version) in [(3, 10), (0xf000_0000, 45)] {
        let output = Shared::default();
        let mut writer = NpzWriter::new(output.clone());
        writer.start("a", bytes, false).unwrap();
        assert_eq!(output.0.borrow()[4], version);
    }
}

#[test]
fn sizes_that_are_not_those_of_the_directory() {
    let longer = |compress| {
        let mut file = written(&[("a", &golden("int16"), compress)]);
        let directory = file.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
        file[directory + 24] ^= 0x10;
        file
    };
    assert_eq!(error(&longer(false)), "tensor \"a\": the member's size in the directory is wrong");
    let file = longer(true);
    let mut archive = NpzArchive::open(&file).unwrap();
    let member = archive.members()[0].clone();
    let error = archive.copy(&member, &mut std::io::sink()).unwrap_err();
    assert_eq!(error.to_string(), "tensor \"a\": the member's size is not that of the directory");
}

#[test]
fn flushing_reaches_the_output() {
    struct Flushed(std::rc::Rc<std::cell::Cell<u32>>);

    impl Write for Flushed {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            self.0.set(self.0.get() + 1);
            Ok(())
        }
    }

    let count = std::rc::Rc::default();
    let mut writer = NpzWriter::new(Flushed(std::rc::Rc::clone(&count)));
    writer.start("a", 1, false).unwrap();
    let before = count.get();
    writer.flush().unwrap();
    assert!(count.get() > before);
}

#[test]
fn what_is_no_value_prints_its_name() {
    assert_eq!(format!("{:?}", InputRange::new(&vec![0u8; 3], 1..2)), "InputRange(1..2)");
    assert_eq!(format!("{:?}", NpzWriter::new(Vec::new())), "NpzWriter { left: 0, .. }");
    assert_eq!(format!("{:?}", NpzArchive::open(&written(&[])).unwrap()), "NpzArchive { members: [], .. }");
}
