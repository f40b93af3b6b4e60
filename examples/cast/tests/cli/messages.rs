//! What is printed: which messages `--quiet` hides, and names that a terminal would obey.

use support::models::field;
use wgpu_cast_files::NpzWriter;

use crate::convert::checkpoint;
use crate::tool::{Folder, Outcome, floats, npy};

/// A name that would recolour a terminal, ring its bell, reverse its text and end its line.
const HOSTILE: &str = "a\u{1b}[31m\u{7}\u{9b}1m\u{7f}\u{202e}\u{2066}\u{200f}\u{61c}\u{2028}\r\n\tz";

/// The same as it is shown.
const SHOWN: &str = r"a\u001b[31m\u0007\u009b1m\u007f\u202e\u2066\u200f\u061c\u2028\r\n\tz";

/// Fails if a terminal would obey a character of what a run printed.
fn assert_harmless(outcome: &Outcome, what: &str) {
    for text in [outcome.text(), &outcome.stderr] {
        let obeyed = |letter: &char| {
            letter.is_control() && *letter != '\n'
                || matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        };
        let found: Vec<char> = text.chars().filter(obeyed).collect();
        assert!(found.is_empty(), "{what}: {found:?} in {text:?}");
    }
}

#[test]
fn quiet_hides_notes_and_keeps_warnings_and_errors() {
    let folder = Folder::new();
    let values = floats(&[1.0, 1e6, -1e7]);
    folder.write("a.safetensors", checkpoint(&[("big", "F32", &[3], &values), ("good", "F32", &[1], &floats(&[2.0]))]));
    folder.write("a.bin", floats(&[1.0]));
    let lost = "warning: 2 values beyond the range of the type, most of them in big (--strict makes this an error, --stats lists all tensors)\n";
    let ambiguous = "warning: i4: taken as int4 (4 bits); numpy's i4 is int32\n";
    for (line, warning) in [
        ("convert a.safetensors out.safetensors --to float16", lost),
        ("convert a.bin out.bin --from float --to i4", ambiguous),
        ("convert a.safetensors out.safetensors --to bfloat16", ""),
    ] {
        let loud = folder.cast(line);
        assert!(loud.stderr.contains(warning) && loud.stderr.lines().count() > warning.lines().count(), "{loud:?}");
        let quiet = folder.cast(&format!("{line} --quiet"));
        assert_eq!((quiet.status, quiet.stderr.as_str(), quiet.text()), (Some(0), warning, ""), "{line}");
        let json = folder.cast(&format!("{line} --json"));
        assert_eq!((json.status, json.stderr.as_str()), (Some(0), warning), "{line}");
    }
    folder.write("out.bin.cast-partial", b"x");
    let quiet = folder.cast("convert a.bin out.bin --from float --to int8 -q");
    assert_eq!((quiet.status, quiet.stderr.as_str()), (Some(0), ""), "a partial file that is removed is a note");
    let error = folder.cast("convert a.bin nowhere/out.bin --from float --to int8 -q");
    assert_eq!(error.status, Some(1));
    assert!(error.line().starts_with("wgpu-cast: nowhere/out.bin: cannot write: "), "{error:?}");
}

#[test]
fn names_in_files_are_escaped_in_text_and_whole_in_json() {
    let folder = Folder::new();
    let long = format!("{}{}", "start".repeat(50), "end".repeat(50));
    let tensors = [(HOSTILE, "F32", &[1][..], &floats(&[1e6])[..]), (&long, "F32", &[1], &floats(&[1.0]))];
    folder.write("a.safetensors", checkpoint(&tensors));
    let mut archive = NpzWriter::new(Vec::new());
    for (name, value) in [(HOSTILE, 1e6), (&long, 1.0)] {
        let array = npy("<f4", false, "(1,)", &floats(&[value]));
        archive.start(name, array.len() as u64, false).expect("an entry");
        std::io::Write::write_all(&mut archive, &array).expect("memory");
    }
    folder.write("a.npz", archive.finish().expect("memory"));
    let cut = format!("{}…(200 characters)…d{}", "start".repeat(20), "end".repeat(33));
    for file in ["a.safetensors", "a.npz"] {
        let info = folder.cast(&format!("info {file}"));
        assert_eq!(info.text(), format!("{SHOWN} [1]: float, 4 bytes\n{cut} [1]: float, 4 bytes\n"), "{file}");
        let output = format!("out.{}", file.rsplit('.').next().expect("an extension"));
        for options in ["", "--stats", "--dry-run", "--strict"] {
            let outcome = folder.cast(&format!("convert {file} {output} --to float16 {options}"));
            assert_harmless(&outcome, options);
            let all = format!("{}{}", outcome.text(), outcome.stderr);
            assert!(all.contains(SHOWN), "{file} {options}: {all}");
        }
        let json = folder.cast(&format!("info {file} --json"));
        assert_harmless(&json, file);
        let name = |line| serde_json::from_str::<serde_json::Value>(line).expect("JSON")["tensor"].clone();
        assert_eq!(json.text().lines().map(name).collect::<Vec<_>>(), [HOSTILE, &long], "{file}");
    }
}

#[test]
fn what_errors_say_of_files_is_escaped() {
    let folder = Folder::new();
    let name = HOSTILE.replace(['\u{1b}', '\u{7}'], "");
    let shown = SHOWN.replace("\\u001b", "").replace("\\u0007", "");
    // A shard that an index names, the dtype of an array, and what a message says of a file.
    std::fs::create_dir(folder.path().join("model")).expect("a folder");
    let index = serde_json::json!({"metadata": {}, "weight_map": {"w": name}});
    folder.write("model/model.safetensors.index.json", index.to_string());
    let outcome = folder.cast("convert model out --to float16");
    assert_harmless(&outcome, "an index");
    assert!(
        outcome.status == Some(1) && outcome.line().starts_with(&format!("wgpu-cast: model/{shown}: ")),
        "{outcome:?}"
    );
    folder.write("a.npy", npy(&format!("<f4{HOSTILE}"), false, "(1,)", &floats(&[1.0])));
    let outcome = folder.cast("convert a.npy out.npy --to float16");
    assert_harmless(&outcome, "a dtype");
    assert!(outcome.status == Some(1) && outcome.line().starts_with("wgpu-cast: a.npy: "), "{outcome:?}");
    // A message stays short, however long a name is.
    folder.write("b.npy", npy(&"x".repeat(9000), false, "(1,)", &floats(&[1.0])));
    let outcome = folder.cast("convert b.npy out.npy --to float16");
    assert!(outcome.status == Some(1) && outcome.line().chars().count() < 2100, "{outcome:?}");
    // Names on the command line.
    let outcome = folder.cast("convert \u{1b}[2J\u{202e}.npy out.npy --to float16");
    assert_harmless(&outcome, "an argument");
    assert!(outcome.line().starts_with(r"wgpu-cast: \u001b[2J\u202e.npy: "), "{outcome:?}");
    assert_harmless(&folder.cast("convert a.npy out.npy --to \u{1b}[2J"), "a type");
}

/// Operators that cannot be converted are named in a warning.
#[test]
fn operators_of_models_are_escaped() {
    let folder = Folder::new();
    let value = |name: &str| [field(1, name.as_bytes()), field(2, &field(1, &[8, 1]))].concat();
    let node = [field(1, b"x"), field(2, b"y"), field(4, HOSTILE.as_bytes()), field(7, b"custom")].concat();
    let graph = [field(1, &node), field(2, b"g"), field(11, &value("x")), field(12, &value("y"))].concat();
    let opsets = [field(8, &[16, 17]), field(8, &[field(1, b"custom"), vec![16, 1]].concat())].concat();
    folder.write("m.onnx", [vec![8, 8], field(7, &graph), opsets].concat());
    let outcome = folder.cast("convert m.onnx out.onnx --to float16 --graph --quiet");
    let expected = format!(
        "warning: m.onnx: custom.{SHOWN}: 1 node kept in the old type: the operator has no known schema at this opset (first: \"y\")"
    );
    assert_eq!((outcome.status, outcome.line()), (Some(0), expected.as_str()));
}

/// What cannot be written is the output, whatever its format.
#[cfg(target_os = "linux")]
#[test]
fn write_errors_name_the_output() {
    let folder = Folder::new();
    let array = npy("<f4", false, "(1,)", &floats(&[1.0]));
    folder.write("a.npy", &array);
    folder.write("a.safetensors", checkpoint(&[("w", "F32", &[1], &floats(&[1.0]))]));
    let mut archive = NpzWriter::new(Vec::new());
    archive.start("w", array.len() as u64, false).expect("an entry");
    std::io::Write::write_all(&mut archive, &array).expect("memory");
    folder.write("a.npz", archive.finish().expect("memory"));
    for (format, place) in [("npy", " at offset 0"), ("safetensors", " at offset 0"), ("npz", "")] {
        let outcome = folder.cast(&format!("convert a.{format} /dev/full --out-format {format} --to float16"));
        let expected = format!("wgpu-cast: /dev/full: cannot write{place}: No space left on device (os error 28)");
        assert_eq!((outcome.status, outcome.line()), (Some(1), expected.as_str()), "{format}");
    }
}

/// Mesa prints an error where the variable names no folder.
#[cfg(target_os = "linux")]
#[test]
fn drivers_print_nothing_of_their_own() {
    let folder = Folder::new();
    folder.write("a.npy", npy("<f4", false, "(1,)", &floats(&[1.0])));
    for line in ["adapters", "verify --from bool --to bool", "convert a.npy out.npy --to int8 --device gpu --quiet"] {
        let outcome = folder.cast_with(line, &[("XDG_RUNTIME_DIR", "")]);
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{line}");
    }
}

#[cfg(unix)]
#[test]
fn names_of_files_are_escaped() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path().join("in")).expect("a folder");
    folder.write(&format!("in/{HOSTILE}.safetensors"), checkpoint(&[("w", "F32", &[1], &floats(&[1e6]))]));
    for line in ["info in", "convert in out --to float16 --dry-run", "convert in out --to float16 --stats"] {
        let outcome = folder.cast(line);
        assert_eq!(outcome.status, Some(0), "{outcome:?}");
        assert_harmless(&outcome, line);
    }
    let again = folder.cast("convert in out --to float16 --no-clobber");
    assert_harmless(&again, "an output");
    assert_eq!(again.line(), format!("wgpu-cast: out/{SHOWN}.safetensors: it exists, and --no-clobber is given"));
}
