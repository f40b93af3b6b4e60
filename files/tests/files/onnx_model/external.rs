//! Data in files beside the model.

use std::io;

use wgpu_cast::ElementType;
use wgpu_cast_files::{ModelData, ModelRules, ModelScan, Part, ReadAt, SourceRange};

use super::build::*;

/// An initializer whose data is in a file.
fn external(name: &str, code: i32, dims: &[i64], entries: &[(&str, &str)]) -> Message {
    let start = head(name, code, dims).bytes(12, "doc");
    let tensor = entries.iter().fold(start, |message, (key, value)| message.bytes(EXTERNAL_DATA, entry(key, value)));
    tensor.int(DATA_LOCATION, 1)
}

fn placed(name: &str, code: i32, dims: &[i64], offset: u64, length: u64) -> Message {
    let entries = [("location", DATA_FILE.to_owned()), ("offset", offset.to_string()), ("length", length.to_string())];
    external(name, code, dims, &entries.each_ref().map(|(key, value)| (*key, value.as_str())))
}

fn initializers(tensors: &[Message]) -> Message {
    graph(&tensors.iter().map(|tensor| (INITIALIZER, tensor.clone())).collect::<Vec<_>>())
}

#[test]
fn external_data_is_cast_into_one_new_file() {
    let values: Vec<f32> = (0..6).map(|i| i as f32 / 3.0).collect();
    let (first, second) = (float_bytes(&values), [7u8; 16]);
    let constant = external("", INT64, &[1], &[("location", "b"), ("offset", "8"), ("length", "8")]);
    let hidden = node("Constant", &[], &["k"]).bytes(5, tensor_attribute("value", &constant));
    let source = model(
        8,
        17,
        &graph(&[
            (INITIALIZER, external("x", FLOAT, &[4], &[("location", "a"), ("offset", "8"), ("length", "16")])),
            (INITIALIZER, external("ints", INT64, &[2], &[("location", "b")])),
            (INITIALIZER, floats("inline", &[1.5])),
            (INITIALIZER, external("again", FLOAT, &[2, 2], &[("location", "a"), ("offset", "8")])),
            (NODE, hidden),
        ]),
    );
    let scan = ModelScan::read(&source.0).unwrap();
    assert_eq!(scan.external_files().collect::<Vec<_>>(), ["a", "b"]);
    let written = stored(&source, &[&first, &second], ElementType::FLOAT16).unwrap();
    let moved = external("", INT64, &[1], &[("location", DATA_FILE), ("offset", "128"), ("length", "8")]);
    // The new entries follow the other fields.
    let expected = graph(&[
        (INITIALIZER, placed("x_float16", FLOAT16, &[4], 0, 8)),
        (INITIALIZER, placed("ints", INT64, &[2], 64, 16)),
        (INITIALIZER, raw("inline_float16", FLOAT16, &[1], &codes(&[1.5], ElementType::FLOAT16))),
        (INITIALIZER, placed("again_float16", FLOAT16, &[2, 2], 0, 8)),
        (NODE, cast("x_float16", "x", FLOAT)),
        (NODE, cast("inline_float16", "inline", FLOAT)),
        (NODE, cast("again_float16", "again", FLOAT)),
        (NODE, node("Constant", &[], &["k"]).bytes(5, tensor_attribute("value", &moved))),
    ]);
    assert_model(&written.model, &model(8, 17, &expected));
    let mut data = codes(&values[2..], ElementType::FLOAT16);
    data.resize(64, 0);
    data.extend(second);
    data.resize(128, 0);
    data.extend(&second[8..]);
    assert_eq!(written.external.unwrap(), data);
}

#[test]
fn initializers_from_a_size_on_are_moved_out() {
    let rules = |from: u64| {
        let mut rules = ModelRules::new(&|_: &str, _: ElementType| None, DATA_FILE);
        rules.external_from = Some(from);
        rules
    };
    let strings = head("text", 8, &[1]).bytes(STRING_DATA, "a long text that is no number");
    let large = floats("large", &[2.0; 2048]);
    let source = model(8, 17, &initializers(&[floats("a", &[1.0; 4]), floats("b", &[1.0; 3]), strings.clone(), large]));
    let written = convert(&source, &[], &rules(16)).unwrap();
    let head = |name, length| head(name, FLOAT, &[length]);
    let place = |tensor: Message, offset: u64, length: u64| {
        let entries =
            [("location", DATA_FILE.to_owned()), ("offset", offset.to_string()), ("length", length.to_string())];
        let tensor = entries.iter().fold(tensor, |tensor, (key, value)| tensor.bytes(EXTERNAL_DATA, entry(key, value)));
        tensor.int(DATA_LOCATION, 1)
    };
    // Large tensors start at a page of memory.
    let expected =
        [place(head("a", 4), 0, 16), floats("b", &[1.0; 3]), strings, place(head("large", 2048), 4096, 8192)];
    assert_model(&written.model, &model(8, 17, &initializers(&expected)));
    let mut data = float_bytes(&[1.0; 4]);
    data.resize(4096, 0);
    data.extend(float_bytes(&[2.0; 2048]));
    assert_eq!(written.external.unwrap(), data);
    assert_eq!(convert(&source, &[], &rules(1 << 20)).unwrap().external, None);
}

#[test]
fn faults_of_external_data() {
    let fault = |dims: &[i64], entries: &[(&str, &str)]| {
        let source = model(8, 17, &initializers(&[external("w", FLOAT, dims, entries)]));
        match stored(&source, &[&[0; 16]], ElementType::FLOAT16) {
            Err(error) => error.to_string().strip_prefix("tensor \"w\": ").expect("the name").to_owned(),
            Ok(_) => panic!("{entries:?}"),
        }
    };
    let at = ("location", "a");
    let beyond = |offset: u64, length: u64| {
        format!("external_data location \"a\": {length} bytes at offset {offset} exceed the file's size of 16")
    };
    let length =
        |expected, found| format!("external_data: expected {expected} bytes from dims and data_type, got {found}");
    assert_eq!(fault(&[4], &[at, ("offset", "1"), ("length", "16")]), beyond(1, 16));
    assert_eq!(fault(&[1], &[at, ("offset", "18446744073709551615"), ("length", "4")]), beyond(u64::MAX, 4));
    assert_eq!(fault(&[1 << 40], &[at]), beyond(0, 1 << 42));
    assert_eq!(fault(&[1], &[at]), length(4, 16));
    assert_eq!(fault(&[1], &[at, ("offset", "4")]), length(4, 12));
    assert_eq!(fault(&[4], &[at, ("length", "8")]), length(16, 8));
    assert_eq!(fault(&[4], &[]), "the data is in an external file, but external_data has no location");
    for location in ["", "..", "/etc/passwd", "a/../b"] {
        assert_eq!(
            fault(&[4], &[("location", location)]),
            format!("external_data location {location:?} is not a relative path inside the model's folder")
        );
    }
    let twice = [at, ("offset", "0"), ("offset", "0")];
    assert_eq!(fault(&[4], &twice), "external_data has a second offset, \"0\"");
    let source = model(8, 17, &initializers(&[external("w", FLOAT, &[4], &[at])]));
    for files in [&[][..], &[&[0; 16][..], &[0; 16]]] {
        let error = stored(&source, files, ElementType::FLOAT16).unwrap_err();
        let found = 1 + files.len();
        let expected = format!("the model and its external data are 2 inputs, {found} are given");
        assert_eq!(error.to_string(), expected);
    }
    for name in ["", "/x", "../x"] {
        let error = convert(&source, &[&[0; 16]], &ModelRules::new(&|_, _| None, name)).unwrap_err();
        let expected = format!("external_data location {name:?} is not a relative path inside the model's folder");
        assert_eq!(error.to_string(), expected);
    }
    let there = |field: u64| message().bytes(field, external("w", FLOAT, &[4], &[at]));
    let sparse = graph(&[(15, there(1))]);
    let function = message().bytes(1, "f").bytes(7, node("Constant", &[], &["k"]).bytes(5, there(5)));
    let attribute = message().bytes(1, "sparse_value").bytes(22, there(1));
    let constant = graph(&[(NODE, node("Constant", &[], &["k"]).bytes(5, attribute))]);
    for (source, element) in [
        (model(8, 17, &sparse), "a sparse initializer of the graph"),
        (model(8, 17, &constant), "the sparse tensor of attribute 0 of node 0 of the graph"),
        (model(8, 17, &graph(&[])).bytes(25, function), "function \"f\""),
    ] {
        let error = ModelScan::read(&source.0).unwrap_err();
        assert_eq!(error.to_string(), format!("{element}: external data is not supported there"));
    }
}

#[cfg(unix)]
#[test]
fn files_are_opened_inside_the_folder_only() {
    let folder = tempfile::tempdir().unwrap();
    let other = tempfile::tempdir().unwrap();
    for path in [folder.path().join("a"), other.path().join("b"), other.path().join("model")] {
        std::fs::write(path, [0; 16]).unwrap();
    }
    let link = |to: &std::path::Path, name: &str| std::os::unix::fs::symlink(to, folder.path().join(name)).unwrap();
    link("a".as_ref(), "link");
    link(&other.path().join("b"), "out");
    link(&other.path().join("model"), "model");
    let open = |location: &str, path: &std::path::Path| {
        let source = model(8, 17, &initializers(&[external("w", FLOAT, &[4], &[("location", location)])]));
        ModelScan::read(&source.0).unwrap().open_external(path).collect::<Result<Vec<_>, _>>()
    };
    let model = folder.path().join("model");
    for (location, path) in [("a", folder.path()), ("link", folder.path()), ("out", &model), ("a", &model)] {
        assert_eq!(open(location, path).unwrap()[0].size().unwrap(), 16);
    }
    for (location, expected) in [("out", "a link that leads out of the model's folder"), ("none", "No such file")] {
        let error = open(location, folder.path()).unwrap_err();
        assert_eq!(error.tensor(), Some("w"), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
}

/// A model of which only the messages exist. The rest is zeros, which nothing may read.
struct Sparse {
    pieces: Vec<(u64, Vec<u8>)>,
    size: u64,
}

impl ReadAt for Sparse {
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        assert!(buffer.len() <= 1 << 20, "{} bytes read at once", buffer.len());
        buffer.fill(0);
        for (start, bytes) in &self.pieces {
            for (index, &byte) in bytes.iter().enumerate() {
                if let Some(found) =
                    (start + index as u64).checked_sub(offset).and_then(|at| buffer.get_mut(at as usize))
                {
                    *found = byte;
                }
            }
        }
        Ok(())
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.size)
    }
}

/// A model of FLOAT initializers of so many bytes each.
fn sparse_model(sizes: &[u64]) -> Sparse {
    // Messages whose content is only counted: (bytes, bytes that are left out behind them).
    let key = |field: u64, length: u64| {
        let mut bytes = message().int(field, length as i64).0;
        bytes[0] |= 2;
        bytes
    };
    let mut graph = Vec::new();
    for (index, &size) in sizes.iter().enumerate() {
        let mut start = head(&format!("w{index}"), FLOAT, &[size as i64 / 4]).0;
        start.extend(key(RAW_DATA, size));
        let mut whole = key(INITIALIZER, start.len() as u64 + size);
        whole.extend(start);
        graph.push((whole, size));
    }
    let length = graph.iter().map(|(bytes, size)| bytes.len() as u64 + size).sum();
    let mut start = message().int(1, 8).bytes(8, message().int(2, 17)).0;
    start.extend(key(7, length));
    let (mut pieces, mut size) = (vec![(0, start.clone())], start.len() as u64);
    for (bytes, gap) in graph {
        let length = bytes.len() as u64;
        pieces.push((size, bytes));
        size += length + gap;
    }
    Sparse { pieces, size }
}

#[test]
fn past_two_gigabytes_data_goes_to_a_file() {
    const GIB: u64 = 1 << 30;
    let source = sparse_model(&[3 * GIB / 2, 3 * GIB / 2, 64, 20 * GIB]);
    let scan = ModelScan::read(&source).unwrap();
    assert_eq!(scan.tensors().count(), 4);
    let plan = |source: &Sparse, to| {
        let types = |_: &str, _: ElementType| Some(to);
        ModelScan::read(source).unwrap().plan(&[source], &ModelRules::new(&types, DATA_FILE)).unwrap()
    };
    let info = allocation_counter::measure(|| {
        let plan = plan(&source, ElementType::FLOAT16);
        let external = plan.external.unwrap();
        assert!(plan.model.bytes().unwrap() < 4096);
        assert_eq!(external.bytes(), Some((3 * GIB + 20 * GIB) / 2));
        assert_eq!((plan.model.casts().count(), external.casts().count()), (1, 3));
    });
    assert!(info.bytes_max < 1 << 20, "{info:?}");
    // Below 2 GiB the result is one file again.
    let source = sparse_model(&[3 * GIB / 2, 3 * GIB / 2]);
    let narrow = plan(&source, ElementType::FLOAT16);
    assert_eq!((narrow.model.casts().count(), narrow.external), (2, None));
    let same = plan(&source, ElementType::FLOAT);
    let copied = same.external.unwrap();
    assert!(copied.parts.iter().all(|part| matches!(part, Part::Copy(_))) && copied.bytes() == Some(3 * GIB));
    // Also where only larger data was to go there.
    let mut rules = ModelRules::new(&|_, _| None, DATA_FILE);
    rules.external_from = Some(4 * GIB);
    let lowered = ModelScan::read(&source).unwrap().plan(&[&source], &rules).unwrap();
    assert_eq!(lowered.external.unwrap().bytes(), Some(3 * GIB));
    let notes: Vec<_> = lowered.notes.iter().map(ToString::to_string).collect();
    let more = "tensors from 1024 bytes on are in the file of external data: the model would exceed 2 GiB";
    assert_eq!(notes, ["nothing was cast: none of its 2 tensors is selected", more]);
}

/// A size beyond all tensors makes one file of a model and its data.
#[test]
fn external_data_comes_into_the_model_below_a_size() {
    let constant = |tensor: &Message| node("Constant", &[], &["k"]).bytes(5, tensor_attribute("value", tensor));
    let whole = |tensors: [Message; 2], in_node: &Message| {
        let [large, small] = tensors.map(|tensor| (INITIALIZER, tensor));
        of(&[large, small, (NODE, constant(in_node))])
    };
    let source_of = |name: &str, code: i32, dims: &[i64], offset: &str, length: &str| {
        let entries = [("location", "a"), ("offset", offset), ("length", length)];
        external(name, code, dims, &entries)
    };
    let source = whole(
        [source_of("large", FLOAT, &[4], "0", "16"), source_of("small", INT64, &[1], "16", "8")],
        &source_of("", INT64, &[1], "24", "8"),
    );
    let data: Vec<u8> = (0..32).collect();
    let rules = |size: u64| {
        let mut rules = ModelRules::new(&|_: &str, _: ElementType| None, DATA_FILE);
        rules.external_from = Some(size);
        convert(&source, &[&data], &rules).unwrap()
    };
    let inside = |name: &str, code: i32, dims: &[i64], data: &[u8]| {
        head(name, code, dims).bytes(12, "doc").bytes(RAW_DATA, data)
    };
    let written = rules(1 << 20);
    let large = inside("large", FLOAT, &[4], &data[..16]);
    let small = inside("small", INT64, &[1], &data[16..24]);
    let in_node = inside("", INT64, &[1], &data[24..]);
    assert_model(&written.model, &whole([large, small.clone()], &in_node));
    assert_eq!(written.external, None);
    let written = rules(16);
    assert_model(&written.model, &whole([placed("large", FLOAT, &[4], 0, 16), small], &in_node));
    assert_eq!(written.external.as_deref(), Some(&data[..16]));
}

/// Types narrower than a byte: tensors of three and of four elements have as many bytes, but not when they are cast.
#[test]
fn tensors_of_different_lengths_do_not_share_data() {
    const INT4: i32 = 22;
    let entries = [("location", "a"), ("offset", "0"), ("length", "2")];
    let source =
        model(10, 21, &initializers(&[external("p", INT4, &[3], &entries), external("q", INT4, &[4], &entries)]));
    let types = |_: &str, _: ElementType| Some(ElementType::INT8);
    let written = convert(&source, &[&[0x21, 0x43]], &ModelRules::new(&types, DATA_FILE)).unwrap();
    let expected = graph(&[
        (INITIALIZER, placed("p_int8", 3, &[3], 0, 3)),
        (INITIALIZER, placed("q_int8", 3, &[4], 64, 4)),
        (NODE, cast("p_int8", "p", INT4)),
        (NODE, cast("q_int8", "q", INT4)),
    ]);
    assert_model(&written.model, &model(10, 21, &expected));
    let mut data = vec![1, 2, 3];
    data.resize(64, 0);
    data.extend([1, 2, 3, 4]);
    assert_eq!(written.external.unwrap(), data);
}

#[test]
fn decoded_values_are_behind_the_external_files() {
    let start = head("d", FLOAT, &[2]);
    let typed = VALUES.iter().fold(start, |tensor, value| tensor.fixed32(FLOAT_DATA, value.to_bits()));
    let source = model(8, 17, &initializers(&[external("x", FLOAT, &[2], &[("location", "a")]), typed]));
    let written = stored(&source, &[&[0; 8]], ElementType::FLOAT16).unwrap().model;
    let expected = raw("d_float16", FLOAT16, &[2], &float16()).0;
    assert!(written.0.windows(expected.len()).any(|bytes| bytes == expected));
}

#[test]
fn no_elements_need_no_file() {
    let source = external("e", FLOAT, &[0], &[("location", "a"), ("length", "0")]);
    let written = stored(&model(8, 17, &initializers(&[source])), &[&[]], ElementType::FLOAT16).unwrap();
    let tensor = head("e_float16", FLOAT16, &[0]).bytes(12, "doc").bytes(RAW_DATA, "");
    let expected = graph(&[(INITIALIZER, tensor), (NODE, cast("e_float16", "e", FLOAT))]);
    assert_model(&written.model, &model(8, 17, &expected));
    assert_eq!(written.external, None);
}

#[test]
fn tensors_are_listed_with_their_files() {
    let source = model(
        8,
        17,
        &initializers(&[
            external("x", FLOAT, &[2], &[("location", "a"), ("offset", "8")]),
            external("y", FLOAT, &[2], &[("location", "b"), ("length", "8")]),
            external("z", 14, &[2], &[("location", "b"), ("offset", "4")]),
        ]),
    );
    let packed = |input, offset, bytes| ModelData::Packed(SourceRange { input, offset, bytes });
    let data: Vec<_> = ModelScan::read(&source.0).unwrap().tensors().map(|tensor| tensor.data).collect();
    assert_eq!(data, [packed(1, 8, 8), packed(2, 0, 8), ModelData::ToEnd { input: 2, offset: 4 }]);
}
