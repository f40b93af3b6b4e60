//! safetensors files.

use wgpu_cast::{CastOptions, ElementType, cpu};
use wgpu_cast_files::{self as files, FileCause, FileError, Part, ReadAt, SafetensorsFile, StreamSettings};

/// A file of a header and of data.
fn file(header: &str, data: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat()
}

/// The file with all tensors of these types cast.
fn cast(input: &Vec<u8>, from: &[ElementType], to: ElementType) -> Result<Vec<u8>, FileError> {
    let read = SafetensorsFile::read(input)?;
    let plan = read.plan(0, &mut |tensor| {
        tensor.element_type.filter(|t| from.contains(t)).map(|_| (to, CastOptions::default()))
    })?;
    let mut output = Vec::new();
    files::write(&plan, &[input], &StreamSettings::default(), &cpu::cast_counted, &mut |finished| {
        output.extend(finished.bytes);
        Ok(())
    })?;
    Ok(output)
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Worked out by hand: names with quotes, metadata, a scalar, an empty tensor, a type that ONNX lacks. The wider type comes
/// first, and within a width the order stays.
#[test]
fn a_file_is_cast_to_known_bytes() {
    let header = concat!(
        r#"{"__metadata__":{"format":"pt","a":"\"é"},"z":{"dtype":"F32","shape":[3],"data_offsets":[0,12]},"#,
        r#""c":{"dtype":"C64","shape":[1],"data_offsets":[12,20]},"b\"":{"dtype":"F32","shape":[],"data_offsets":[20,24]},"#,
        r#""i":{"dtype":"I64","shape":[1],"data_offsets":[24,32]},"empty":{"dtype":"F32","shape":[0,5],"data_offsets":[32,32]}}"#,
    );
    let mut data = floats(&[1.0, -2.0, 65520.0]);
    data.extend([9; 8]);
    data.extend(floats(&[0.5]));
    data.extend(7i64.to_le_bytes());
    let input = file(header, &data);
    let output = cast(&input, &[ElementType::FLOAT], ElementType::FLOAT16).unwrap();
    let expected = concat!(
        r#"{"__metadata__":{"a":"\"é","format":"pt"},"c":{"dtype":"C64","shape":[1],"data_offsets":[0,8]},"#,
        r#""i":{"dtype":"I64","shape":[1],"data_offsets":[8,16]},"z":{"dtype":"F16","shape":[3],"data_offsets":[16,22]},"#,
        r#""b\"":{"dtype":"F16","shape":[],"data_offsets":[22,24]},"empty":{"dtype":"F16","shape":[0,5],"data_offsets":[24,24]}}"#,
    );
    let pad = " ".repeat(expected.len().next_multiple_of(8) - expected.len());
    let mut data = vec![9; 8];
    data.extend(7i64.to_le_bytes());
    data.extend([0x00, 0x3c, 0x00, 0xc0, 0x00, 0x7c, 0x00, 0x38]);
    assert_eq!(output, file(&(expected.to_owned() + &pad), &data));
    let read = SafetensorsFile::read(&input).unwrap();
    let texts: Vec<_> = read.metadata().iter().map(|(key, text)| (key.as_str(), text.as_str())).collect();
    assert_eq!(texts, [("a", "\"é"), ("format", "pt")]);
    // The crate that defines the format reads it.
    let read = ::safetensors::SafeTensors::deserialize(&output).unwrap();
    assert_eq!(read.tensor("b\"").unwrap().data(), [0x00, 0x38]);
}

/// Every type of the format to every other, read back by the crate that defines the format.
#[test]
fn every_type_is_named_as_the_format_names_it() {
    let all = "BOOL F4 F6_E2M3 F6_E3M2 U8 I8 F8_E5M2 F8_E4M3 F8_E8M0 F8_E4M3FNUZ F8_E5M2FNUZ I16 U16 F16 BF16 I32 U32 F32 F64 I64 U64";
    let mut pairs = 0;
    for from in all.split(' ') {
        let from_type: ElementType = from.parse().unwrap();
        let bytes = from_type.packed_bytes(8).unwrap();
        let header = format!(r#"{{"a":{{"dtype":"{from}","shape":[2,4],"data_offsets":[0,{bytes}]}}}}"#);
        let input = file(&header, &vec![0; bytes as usize]);
        for to in all.split(' ') {
            let output = cast(&input, &[from_type], to.parse().unwrap()).unwrap();
            let read = ::safetensors::SafeTensors::deserialize(&output).unwrap();
            let tensor = read.tensor("a").unwrap();
            assert_eq!((tensor.dtype().to_string(), tensor.shape()), (to.to_owned(), &[2, 4][..]), "{from} to {to}");
            pairs += 1;
        }
    }
    assert_eq!(pairs, 21 * 21);
}

#[test]
fn types_and_sizes_that_the_format_lacks_are_refused() {
    let input = file(r#"{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}}"#, &[0; 12]);
    let refused = cast(&input, &[ElementType::FLOAT], ElementType::INT4).unwrap_err();
    let text = refused.to_string();
    match refused.cause() {
        FileCause::NoSuchType { format: "safetensors", element_type: ElementType::INT4, known, .. } => {
            assert!(known.contains(&ElementType::FLOAT8E4M3FN) && !known.contains(&ElementType::UINT4), "{known:?}");
        }
        other => panic!("{other:?}"),
    }
    let known = "bool, float4e2m1, float6e2m3, float6e3m2, uint8, int8, float8e5m2, float8e4m3fn, float8e8m0, \
        float8e4m3fnuz, float8e5m2fnuz, int16, uint16, float16, bfloat16, int32, uint32, float, double, int64, uint64";
    assert_eq!(text, format!("tensor \"a\": safetensors has no element type int4 (it has {known})"));
    let refused = cast(&input, &[ElementType::FLOAT], ElementType::FLOAT4E2M1).unwrap_err().to_string();
    let expected = "tensor \"a\": 3 elements of float4e2m1 do not fill whole bytes, which safetensors demands";
    assert_eq!(refused, expected);
}

/// The names of types have different lengths, so a header may become longer than the format allows.
#[test]
fn a_header_that_would_be_too_long_is_refused() {
    let longest = 100_000_000;
    let start = r#"{"__metadata__":{"a":""#;
    let end = r#""},"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#;
    let header = [start, &"x".repeat(longest - start.len() - end.len()), end].concat();
    let input = file(&header, &[0; 4]);
    drop(header);
    let file = SafetensorsFile::read(&input).unwrap();
    let plan = |to: &str| file.plan(0, &mut |_| Some((to.parse().unwrap(), CastOptions::default())));
    assert!(plan("I32").is_ok());
    let error = plan("F8_E4M3").map(|_| ()).unwrap_err();
    assert!(matches!(error.cause(), FileCause::TooLarge(_)), "{error:?}");
    let expected = "the header would have 100000008 bytes; a safetensors file can have 100000000";
    assert_eq!(error.to_string(), expected);
}

/// Text of the file is cut in messages.
#[test]
fn messages_are_short() {
    let long = "x\u{1b}".repeat(100_000);
    let quoted = serde_json::to_string(&long).unwrap();
    let header = format!(r#"{{"a":{{"dtype":{quoted},"shape":[1],"data_offsets":[0,4]}}}}"#);
    let message = SafetensorsFile::read(&file(&header, &[0; 4])).unwrap_err().to_string();
    assert!(message.starts_with("invalid safetensors file: ") && message.chars().count() < 300, "{message}");
    assert!(!message.contains(char::is_control), "{message}");
    let header = format!(r#"{{{quoted}:{{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}}}"#);
    let input = file(&header, &[0; 4]);
    let message = cast(&input, &[ElementType::FLOAT], ElementType::INT4).unwrap_err().to_string();
    assert!(message.starts_with("tensor \"x\\u{1b}") && message.len() < 1000, "{message}");
}

#[test]
fn hostile_headers() {
    let good = r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#;
    let of = |header: &str| file(header, &[0; 4]);
    let mut long = of(good);
    long[..8].copy_from_slice(&u64::MAX.to_le_bytes());
    let mut longer = of(good);
    longer[..8].copy_from_slice(&(good.len() as u64 + 5).to_le_bytes());
    let text = |bytes: Vec<u8>| SafetensorsFile::read(&bytes).unwrap_err().to_string();
    assert!(text(of("}")).contains("line 1 column 1"));
    assert!(text(longer.clone()).ends_with(&format!("at most {} are possible", good.len() + 4)));
    assert!(text(file(good, &[0; 3])).ends_with("its tensors take 4 bytes, but 3 follow the header"));
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("empty", vec![]),
        ("short", vec![1, 0, 0]),
        ("header beyond the file", long),
        ("header into nothing", longer),
        ("no JSON", of("}")),
        ("not UTF-8", [&2u64.to_le_bytes()[..], &[b'"', 0xff], &[0; 4]].concat()),
        ("missing data", file(good, &[0; 3])),
        ("extra data", file(good, &[0; 5])),
        ("no shape", of(r#"{"a":{"dtype":"F32","data_offsets":[0,4]}}"#)),
        ("unknown type", of(r#"{"a":{"dtype":"F33","shape":[1],"data_offsets":[0,4]}}"#)),
        ("wrong size", of(r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}"#)),
        ("gap", of(r#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[3,4]}}"#)),
        ("backwards", of(r#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[4,3]}}"#)),
        (
            "overlap",
            of(
                r#"{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}"#,
            ),
        ),
        ("negative", of(r#"{"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,4]}}"#)),
        ("overflow", of(r#"{"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,4]}}"#)),
        ("half a byte", of(r#"{"a":{"dtype":"F4","shape":[9],"data_offsets":[0,4]}}"#)),
        ("a name twice", of(&format!(r#"{{"a":{{"dtype":"U8","shape":[4],"data_offsets":[0,4]}},{}"#, &good[1..]))),
        (
            "a name spelt twice",
            of(&format!(r#"{{"\u0061":{{"dtype":"U8","shape":[4],"data_offsets":[0,4]}},{}"#, &good[1..])),
        ),
        ("a text twice", of(&format!(r#"{{"__metadata__":{{"b":"1","b":"2"}},{}"#, &good[1..]))),
        ("metadata of numbers", of(r#"{"__metadata__":{"a":1},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#)),
        ("deep", of(&("[".repeat(100_000) + &"]".repeat(100_000)))),
    ];
    for (what, bytes) in cases {
        let error = SafetensorsFile::read(&bytes).map(|file| file.tensors().len()).expect_err(what);
        assert!(matches!(error.cause(), FileCause::Malformed(_)), "{what}: {error:?}");
        assert_eq!(error.format(), Some("safetensors file"), "{what}");
    }
    for (text, name) in [
        (
            r#"{"b":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"\u0061":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"#,
            "a",
        ),
        (r#"{"__metadata__":{"b":"1","c":"b","b":"2"},"#, "b"),
    ] {
        let error = SafetensorsFile::read(&of(&format!("{text}{}", &good[1..]))).unwrap_err().to_string();
        assert!(error.ends_with(&format!("the name \"{name}\" is given twice")), "{error}");
    }
    assert_eq!(SafetensorsFile::read(&of(good)).unwrap().tensors().len(), 1);
    let quoted =
        format!(r#"{{"__metadata__":{{"\"":"\\","{{":"}}\""}},"\"{{":{},{}"#, &good[5..good.len() - 1], &good[1..]);
    let quoted = quoted.replacen("[1]", "[0]", 1).replacen("[0,4]", "[0,0]", 1);
    assert_eq!(SafetensorsFile::read(&of(&quoted)).unwrap().tensors().len(), 2);
    let none = file("{}", &[]);
    let plan = SafetensorsFile::read(&none).unwrap().plan(0, &mut |_| None).unwrap();
    assert_eq!(plan.parts, [Part::Bytes(file("{}      ", &[]))]);
}

/// A header that is longer than the format allows, in a file that has it, is not even read.
#[test]
fn a_longer_header_than_the_format_allows_is_not_read() {
    struct Large;
    impl ReadAt for Large {
        fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<()> {
            assert_eq!((offset, buffer.len()), (0, 8));
            buffer.copy_from_slice(&100_000_001u64.to_le_bytes());
            Ok(())
        }
        fn size(&self) -> std::io::Result<u64> {
            Ok(1 << 40)
        }
    }
    let error = SafetensorsFile::read(&Large).map(drop).unwrap_err().to_string();
    let expected = "invalid safetensors file: its header is to have 100000001 bytes, at most 100000000 are possible";
    assert_eq!(error, expected);
}

/// Headers that take much memory when they are parsed are read or refused, however little memory there is.
#[cfg(target_os = "linux")]
#[test]
fn no_memory_for_a_header_is_an_error() {
    const LIMITED: &str = "CAST_TEST_LIMITED";
    if std::env::var_os(LIMITED).is_none() {
        // With the least memory all are refused, with the most all are read.
        for (kilobytes, expected) in [(300_000, "0 of 3"), (500_000, " of 3"), (2_000_000, "3 of 3")] {
            let output = std::process::Command::new("sh")
                .args(["-c", "ulimit -v \"$2\" && exec \"$0\" --exact --nocapture \"$1\""])
                .arg(std::env::current_exe().unwrap())
                .args(["safetensors::no_memory_for_a_header_is_an_error", &kilobytes.to_string()])
                .env(LIMITED, "")
                .output()
                .unwrap();
            let stdout = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && stdout.contains(expected), "{kilobytes}: {output:?}");
        }
        return;
    }
    let join = |count: usize, entry: fn(usize) -> String| {
        (1..count).fold(entry(0), |joined, index| joined + "," + &entry(index))
    };
    let metadata = join(1_000_000, |i| format!(r#""{i:x}":"""#));
    let tensors = join(200_000, |i| format!(r#""{i:x}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#));
    let axes = join(5_000_000, |_| "0".to_owned());
    let headers = [
        format!(r#"{{"__metadata__":{{{metadata}}}}}"#),
        format!("{{{tensors}}}"),
        format!(r#"{{"a":{{"dtype":"U8","shape":[{axes}],"data_offsets":[0,0]}}}}"#),
    ];
    drop((metadata, tensors, axes));
    let read = headers.iter().filter(|header| match SafetensorsFile::read(&file(header, &[])) {
        Ok(_) => true,
        Err(error) if matches!(error.cause(), FileCause::OutOfMemory { .. }) => false,
        Err(error) => panic!("{error}"),
    });
    println!("{} of 3", read.count());
}
