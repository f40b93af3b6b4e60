//! `wgpu-cast convert` for one file: rules, reports, interruptions, permissions.

use crate::tool::{Folder, binary, floats};

/// A safetensors file of named tensors: type, shape, data.
pub fn checkpoint(tensors: &[(&str, &str, &[u64], &[u8])]) -> Vec<u8> {
    let (mut header, mut data) = (String::new(), Vec::new());
    for (name, dtype, shape, bytes) in tensors {
        let start = data.len();
        data.extend(*bytes);
        let comma = if header.is_empty() { "" } else { "," };
        header += &format!(
            r#"{comma}{}:{{"dtype":"{dtype}","shape":{shape:?},"data_offsets":[{start},{}]}}"#,
            serde_json::json!(name),
            data.len()
        );
    }
    let mut file = format!("{{{header}}}").into_bytes();
    file.resize(file.len().next_multiple_of(8), b' ');
    [&(file.len() as u64).to_le_bytes(), file.as_slice(), &data].concat()
}

/// The data of a tensor of a checkpoint, with its type.
fn tensor(file: &[u8], name: &str) -> (String, Vec<u8>) {
    let read = safetensors::SafeTensors::deserialize(file).expect("a valid checkpoint");
    let tensor = read.tensor(name).expect("the tensor is there");
    (tensor.dtype().to_string(), tensor.data().to_vec())
}

#[test]
fn rules_choose_the_tensors() {
    let folder = Folder::new();
    let data = floats(&[1.0, -2.0]);
    let names = ["model.a.weight", "model.a.bias", "model.norm.weight", "head.weight"];
    let mut tensors: Vec<_> = names.iter().map(|name| (*name, "F32", &[2u64][..], &data[..])).collect();
    tensors.push(("ids", "I64", &[1], &[5, 0, 0, 0, 0, 0, 0, 0]));
    folder.write("a.safetensors", checkpoint(&tensors));
    for (rules, expected) in [
        ("--to bf16", ["BF16", "BF16", "BF16", "BF16", "I64"]),
        ("--to bf16 --only *.weight", ["BF16", "F32", "BF16", "BF16", "I64"]),
        ("--to bf16 --except *norm* --except head.*", ["BF16", "BF16", "F32", "F32", "I64"]),
        (
            "--to f8_e4m3 --map *.norm.*=keep --map *.bias=f16 --map *.b*=f64",
            ["F8_E4M3", "F16", "F32", "F8_E4M3", "I64"],
        ),
        ("--map ids=int32", ["F32", "F32", "F32", "F32", "I32"]),
    ] {
        let output = folder.convert(&format!("a.safetensors out.safetensors {rules}"));
        let found = names.iter().chain(&["ids"]).map(|name| tensor(&output, name).0);
        assert_eq!(found.collect::<Vec<_>>(), expected, "{rules}");
    }
    assert_eq!(tensor(&folder.read("out.safetensors"), "ids"), ("I32".to_owned(), vec![5, 0, 0, 0]));
    for (line, message) in [
        ("a.safetensors out.safetensors --to int4", "safetensors has no element type int4"),
        ("a.safetensors out.npy --to bf16", "cannot convert safetensors to npy"),
        ("a.safetensors out.safetensors --map ids", "expected GLOB=TYPE"),
        ("a.safetensors out.safetensors --to bf16 --saturate false", "--saturate affects only casts to 8-bit floats"),
        ("a.safetensors out.safetensors --to bf16 --only [", "--only '[': no tensor has such a name"),
        ("a.safetensors b.safetensors out.safetensors --to bf16", "several inputs need --out-dir"),
        ("a.safetensors --to bf16", "give an output"),
        ("a.safetensors out.safetensors --to bf16 --part 1/2", "--part is for sharded models"),
        ("a.safetensors out.safetensors --to bf16 --memory 0", "out of range"),
    ] {
        let outcome = folder.cast(&format!("convert {line}"));
        assert!(
            matches!(outcome.status, Some(1 | 2)) && outcome.stderr.contains(message),
            "{line}: {}",
            outcome.stderr
        );
    }
}

#[test]
fn losses_are_counted_and_strict_writes_nothing() {
    let folder = Folder::new();
    let values = floats(&[1.0, 1e6, f32::INFINITY, 1e-9, f32::NAN]);
    folder.write("a.safetensors", checkpoint(&[("big", "F32", &[5], &values), ("good", "F32", &[1], &floats(&[2.0]))]));
    let outcome = folder.cast("convert a.safetensors out.safetensors --to float16 --stats");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_eq!(
        outcome.text(),
        "big: float -> float16, lost: 1 became infinite, 1 became 0; largest relative error 0.00e0\n\
         good: float -> float16, no value was lost; largest relative error 0.00e0\n"
    );
    assert!(outcome.stderr.contains("; lost: 1 became infinite, 1 became 0\n"), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("warning: 1 value beyond the range of the type, most of them in big"),
        "{}",
        outcome.stderr
    );

    let json = folder.cast("convert a.safetensors out.safetensors --to float16 --json");
    let warning = "warning: 1 value beyond the range of the type, most of them in big (--strict makes this an error, --stats lists all tensors)\n";
    assert_eq!((json.status, json.stderr.as_str()), (Some(0), warning));
    let lines: Vec<serde_json::Value> =
        json.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0]["tensor"], "big");
    assert_eq!(lines[0]["bytes"], serde_json::json!([20, 10]));
    assert_eq!(lines[0]["lost"]["infinite"], 1);
    assert_eq!(lines[2]["lost"]["zero"], 1);
    assert!(lines.iter().all(|line| line.get("relative_error").is_none()), "only --stats finds it");
    let json = folder.cast("convert a.safetensors out.safetensors --to float8e4m3fn --map good=int8 --json --stats");
    let lines: Vec<serde_json::Value> =
        json.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.iter().map(|line| line["relative_error"].as_f64()).collect::<Vec<_>>(), [Some(0.0); 3]);

    std::fs::remove_file(folder.path().join("out.safetensors")).expect("the output");
    for resume in ["", "--resume"] {
        let strict = folder.cast(&format!("convert a.safetensors out.safetensors --to float16 --strict {resume}"));
        assert_eq!(strict.status, Some(1));
        assert_eq!(folder.names(), ["a.safetensors"]);
    }
    let quiet = folder.cast("convert a.safetensors out.safetensors --to bfloat16 --strict --quiet");
    assert_eq!((quiet.status, quiet.stderr.as_str(), quiet.text()), (Some(0), "", ""));
}

#[test]
fn losses_are_drawn() {
    let folder = Folder::new();
    let values = floats(&[1.0, 1e6, 17.0]);
    folder.write("a.safetensors", checkpoint(&[("b<&\n", "F32", &[3], &values), ("i", "I32", &[0], &[])]));
    folder.convert("a.safetensors out.safetensors --to float8e4m3fn --plot out.svg");
    let picture = String::from_utf8(folder.read("out.svg")).expect("UTF-8");
    for shown in [
        "What the cast lost in 1 tensor\n",
        "became the largest or least number\n",
        "b&lt;&amp;\\n",
        "\n1 (33 %)\n",
        "5.88e-2",
        "\nall tensors\n",
        "\nof the values of the tensor\n",
        "\n≤ 0.0001 %\n",
    ] {
        assert!(picture.contains(shown), "{shown}: {picture}");
    }
    assert!(!picture.contains("became 0"), "only what occurs: {picture}");
    let nowhere = folder.cast("convert a.safetensors new.safetensors --to float16 --plot nowhere/p.svg");
    assert!(nowhere.status == Some(1) && !folder.path().join("new.safetensors").exists(), "{}", nowhere.stderr);
    let twice = folder.cast("convert a.safetensors out.safetensors --to float16 --plot out.safetensors");
    assert_eq!(twice.status, Some(2), "{}", twice.stderr);
}

#[test]
fn names_are_printed_without_control_characters() {
    let folder = Folder::new();
    folder.write("a.safetensors", checkpoint(&[("a\u{1b}[31m", "F32", &[1], &floats(&[1e6]))]));
    let outcome = folder.cast("convert a.safetensors out.safetensors --to float16 --stats");
    assert!(outcome.text().starts_with(r"a\u001b[31m: float -> float16"), "{}", outcome.text());
    assert!(!folder.cast("info a.safetensors").text().contains('\u{1b}'));
    folder.write("a.npy", crate::tool::npy("<f4", false, "(1,)", &floats(&[1e6])));
    assert_eq!(folder.cast("info a.npy").text(), "a.npy [1]: float, 4 bytes\n");
}

#[test]
fn arrays_of_an_archive() {
    let folder = Folder::new();
    let mut archive = wgpu_cast_files::NpzWriter::new(Vec::new());
    for (name, descr, data) in
        [("f", "<f4", floats(&[1.5])), ("d", "<f8", vec![0; 8]), ("raw", "<V2", vec![0x80, 0x3f])]
    {
        let array = crate::tool::npy(descr, false, "(1,)", &data);
        archive.start(name, array.len() as u64, false).expect("an entry");
        std::io::Write::write_all(&mut archive, &array).expect("memory");
    }
    folder.write("a.npz", archive.finish().expect("memory"));
    let without = folder.cast("convert a.npz out.npz --to float16");
    assert!(without.status == Some(1) && without.line().contains("raw: "), "{}", without.stderr);
    let outcome = folder.cast("convert a.npz out.npz --from bfloat16 --to double --json");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let found = folder.cast("info out.npz");
    let expected = "f [1]: float, 4 bytes\nd [1]: double, 8 bytes\nraw [1]: double, 8 bytes\n";
    assert_eq!(found.text(), expected, "--to applies only to the type of --from");
    // An interrupted conversion of an archive is not continued.
    folder.write("out.npz.cast-partial", b"x");
    let outcome = folder.cast("convert a.npz out.npz --from bfloat16 --to double --resume");
    assert!(outcome.status == Some(0) && !outcome.stderr.contains("--resume continues"), "{}", outcome.stderr);
}

#[test]
fn a_dry_run_prints_the_plan_and_writes_nothing() {
    let folder = Folder::new();
    folder.write(
        "a.safetensors",
        checkpoint(&[("w", "F32", &[1, 2], &floats(&[1.0, 2.0])), ("i", "I32", &[1], &[0; 4])]),
    );
    let outcome = folder.cast("convert a.safetensors out.safetensors --to float16 --dry-run");
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
    let expected = "w [1, 2]: float -> float16, 8 bytes -> 4 bytes\ni [1]: int32, 4 bytes\n\
                    output: out.safetensors, 128 bytes\n2 tensors, 1 of them cast: 12 bytes -> 8 bytes\n";
    assert_eq!(outcome.text(), expected);
    assert_eq!(folder.names(), ["a.safetensors"]);
    let info = folder.cast("info a.safetensors");
    assert_eq!(info.text(), "w [1, 2]: float, 8 bytes\ni [1]: int32, 4 bytes\n");
}

#[test]
fn names_that_numpy_understands_otherwise_are_explained() {
    let folder = Folder::new();
    folder.write("a.bin", floats(&[1.0]));
    let outcome = folder.cast("convert a.bin out.bin --from f32 --to i4");
    assert!(outcome.stderr.contains("i4: taken as int4 (4 bits); numpy's i4 is int32"), "{}", outcome.stderr);
    let outcome = folder.cast("convert a.bin out.bin --from fp32 --to fp8_e4m3");
    assert!(outcome.stderr.contains("float -> float8e4m3fn, 1 element"), "{}", outcome.stderr);
    for (name, near) in [
        ("fp8", "float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz or float8e8m0"),
        ("fp4", "float4e2m1"),
        ("float6", "float6e2m3 or float6e3m2"),
    ] {
        let outcome = folder.cast(&format!("convert a.bin out.bin --from float --to {name}"));
        assert!(outcome.stderr.contains(&format!("did you mean {near}?")), "{name}: {}", outcome.stderr);
    }
}

#[cfg(unix)]
mod interruptions {
    use super::*;
    use std::io::Write as _;
    use std::os::unix::fs::FileExt;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};

    const PARTIAL: &str = "out.safetensors.cast-partial";

    /// 256 MiB of FLOAT, most of them zeros that take no blocks, with losses in all places.
    fn large(folder: &Folder) {
        let header = br#"{"w":{"dtype":"F32","shape":[67108864],"data_offsets":[0,268435456]}}"#;
        let mut file = std::fs::File::create(folder.path().join("a.safetensors")).expect("a file");
        file.write_all(&(header.len() as u64).to_le_bytes()).and_then(|()| file.write_all(header)).expect("a header");
        file.set_len(8 + header.len() as u64 + (256 << 20)).expect("a sparse file");
        for place in 0..64 {
            let offset = 8 + header.len() as u64 + (place << 22);
            file.write_all_at(&floats(&[1.0, 1e6, 1e-9]), offset).expect("values");
        }
    }

    /// Runs a conversion and kills it when some pieces of the output are there.
    fn interrupted(folder: &Folder, rest: &str) {
        let partial = folder.path().join(PARTIAL);
        for _ in 0..20 {
            let mut child = Command::new(binary())
                .args(["convert", "a.safetensors", "out.safetensors", "--quiet"])
                .args(rest.split_whitespace())
                .current_dir(folder.path())
                .spawn()
                .expect("the binary runs");
            // The journal follows the 128 MiB of the output.
            let has_pieces = || std::fs::metadata(&partial).is_ok_and(|file| file.len() > (128 << 20) + 1000);
            while !has_pieces() && child.try_wait().expect("a child").is_none() {
                std::thread::yield_now();
            }
            child.kill().expect("a child");
            if !child.wait().expect("a child").success() {
                return;
            }
        }
        panic!("the conversion was never interrupted");
    }

    fn summary(folder: &Folder, line: &str) -> serde_json::Value {
        let outcome = folder.cast(&format!("convert a.safetensors {line} --json"));
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
        serde_json::from_str(outcome.text().lines().last().expect("a summary")).expect("JSON")
    }

    #[test]
    fn a_killed_conversion_is_continued() {
        let folder = Folder::new();
        large(&folder);
        let whole = summary(&folder, "out.safetensors --to float16");
        let expected = folder.read("out.safetensors");
        std::fs::remove_file(folder.path().join("out.safetensors")).expect("the output");

        interrupted(&folder, "--to float16 --resume");
        assert_eq!(folder.names(), ["a.safetensors", PARTIAL]);
        let partial = folder.read(PARTIAL);
        let journal = String::from_utf8_lossy(&partial[expected.len()..]);
        let listed = journal.split_inclusive('\n').rfind(|line| line.ends_with('\n')).expect("a line");
        let listed: serde_json::Value = serde_json::from_str(listed).expect("JSON");
        let listed = listed["end"].as_u64().expect("the end of a piece");
        let resumed = summary(&folder, "out.safetensors --to float16 --resume");
        assert!(listed > 0 && listed < expected.len() as u64, "{listed}");
        assert_eq!(resumed["resumed"], listed, "no piece that was there is made again");
        assert!(folder.read("out.safetensors") == expected);
        assert_eq!(resumed["lost"], whole["lost"], "losses of the first run count too");
        assert!(whole["lost"]["infinite"].as_u64() > Some(0));
        assert_eq!(folder.names(), ["a.safetensors", "out.safetensors"]);
    }

    /// Pieces depend on the memory, so that those of another run do not fit.
    #[test]
    fn a_conversion_with_other_memory_begins_anew() {
        let folder = Folder::new();
        large(&folder);
        let whole = summary(&folder, "out.safetensors --to float16");
        interrupted(&folder, "--to float16 --resume --memory 100MiB");
        let resumed = summary(&folder, "out.safetensors --to float16 --resume --memory 128MiB");
        assert_eq!((&resumed["resumed"], &resumed["lost"]), (&0.into(), &whole["lost"]));
        interrupted(&folder, "--to float16 --resume --memory 100MiB");
        let resumed = summary(&folder, "out.safetensors --to float16 --resume --memory 100MiB --stats");
        assert_eq!(resumed["resumed"], 0, "the first run did not find relative errors");
    }

    #[test]
    fn strict_conversions_are_continued() {
        let folder = Folder::new();
        large(&folder);
        interrupted(&folder, "--to bfloat16 --resume --strict");
        let resumed = summary(&folder, "out.safetensors --to bfloat16 --resume --strict");
        assert!(resumed["resumed"].as_u64() > Some(0), "{resumed}");
    }

    #[test]
    fn a_journal_that_names_another_part_is_survived() {
        let folder = Folder::new();
        large(&folder);
        interrupted(&folder, "--to float16 --resume");
        let mut partial = folder.read(PARTIAL);
        let journal = partial.len() - partial.iter().rev().take(4000).count();
        let text = String::from_utf8_lossy(&partial[journal..]).replace("[[1,", "[[9,");
        partial.truncate(journal);
        partial.extend(text.as_bytes());
        folder.write(PARTIAL, &partial);
        summary(&folder, "out.safetensors --to float16 --resume");
    }

    #[test]
    fn a_partial_file_is_checked() {
        let folder = Folder::new();
        large(&folder);
        summary(&folder, "out.safetensors --to float16");
        let expected = folder.read("out.safetensors");
        // A byte of the first piece is wrong: nothing behind it is trusted.
        interrupted(&folder, "--to float16 --resume");
        let mut partial = folder.read(PARTIAL);
        partial[5000] ^= 1;
        folder.write(PARTIAL, &partial);
        assert_eq!(summary(&folder, "out.safetensors --to float16 --resume")["resumed"], 0);
        assert!(folder.read("out.safetensors") == expected);
        // Of another conversion.
        interrupted(&folder, "--to bfloat16 --resume");
        assert_eq!(summary(&folder, "out.safetensors --to float16 --resume")["resumed"], 0);
        assert!(folder.read("out.safetensors") == expected);
        // Not continued: removed, and told.
        interrupted(&folder, "--to float16 --resume");
        let outcome = folder.cast("convert a.safetensors out.safetensors --to float16");
        assert!(
            outcome.stderr.contains("which an interrupted conversion left (--resume continues it)"),
            "{}",
            outcome.stderr
        );
        assert!(folder.read("out.safetensors") == expected);
        // Nothing but a byte.
        folder.write(PARTIAL, b"x");
        assert_eq!(summary(&folder, "out.safetensors --to float16 --resume")["resumed"], 0);
        assert!(folder.read("out.safetensors") == expected);
    }

    #[test]
    fn a_partial_file_in_use_is_left_alone() {
        let folder = Folder::new();
        large(&folder);
        folder.write(PARTIAL, b"x");
        let held = std::fs::File::open(folder.path().join(PARTIAL)).expect("a file");
        held.lock().expect("a lock");
        for rest in ["", "--resume"] {
            let outcome = folder.cast(&format!("convert a.safetensors out.safetensors --to float16 {rest}"));
            assert_eq!(outcome.status, Some(1));
            assert!(outcome.line().contains("another process is writing"), "{}", outcome.stderr);
        }
        assert_eq!(folder.read(PARTIAL), b"x");
        drop(held);
        // Never through a link.
        std::fs::remove_file(folder.path().join(PARTIAL)).expect("a file");
        folder.write("other", b"precious");
        std::os::unix::fs::symlink("other", folder.path().join(PARTIAL)).expect("a link");
        for rest in ["", "--resume"] {
            let outcome = folder.cast(&format!("convert a.safetensors out.safetensors --to float16 {rest}"));
            assert_eq!(outcome.status, Some(1), "{}", outcome.stderr);
        }
        assert_eq!(folder.read("other"), b"precious");
    }

    #[test]
    fn signals_remove_what_is_partial() {
        let folder = Folder::new();
        // 32 GiB without blocks, which become 4 GiB: it takes longer than the test needs to send a signal.
        let header = br#"{"w":{"dtype":"F64","shape":[4294967296],"data_offsets":[0,34359738368]}}"#;
        let mut file = std::fs::File::create(folder.path().join("a.safetensors")).expect("a file");
        file.write_all(&(header.len() as u64).to_le_bytes()).and_then(|()| file.write_all(header)).expect("a header");
        file.set_len(8 + header.len() as u64 + (32 << 30)).expect("a sparse file");
        for (signal, number) in [("HUP", 1), ("INT", 2), ("TERM", 15)] {
            // The program leaves a signal ignored that it was started to ignore.
            if crate::tool::is_ignored(number) {
                support::not_tested(format!("{signal} is ignored by this process"));
                continue;
            }
            let mut child = Command::new(binary())
                .args(["convert", "a.safetensors", "out.safetensors", "--to", "float8e4m3fn", "--quiet"])
                .current_dir(folder.path())
                .spawn()
                .expect("the binary runs");
            while !folder.path().join(PARTIAL).exists() {
                assert!(child.try_wait().expect("a child").is_none(), "it runs");
                std::thread::yield_now();
            }
            let sent = Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status();
            assert!(sent.expect("kill").success());
            let status = child.wait().expect("a child");
            assert!(status.code() == Some(128 + number) || status.signal() == Some(number), "{signal}: {status}");
            assert_eq!(folder.names(), ["a.safetensors"], "{signal}");
        }
    }

    #[test]
    fn permissions_of_a_replaced_file_stay_but_for_setuid() {
        let folder = Folder::new();
        folder.write("a.safetensors", checkpoint(&[("w", "F32", &[1], &floats(&[1.0]))]));
        let path = folder.path().join("out.safetensors");
        let mode = || std::fs::metadata(&path).expect("a file").permissions().mode() & 0o7777;
        for (before, after) in [(0o6755, 0o755), (0o600, 0o600), (0o664, 0o664)] {
            folder.write("out.safetensors", b"old");
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(before)).expect("permissions");
            folder.convert("a.safetensors out.safetensors --to float16");
            assert_eq!(mode(), after, "{before:o}");
        }
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o444)).expect("permissions");
        let outcome = folder.cast("convert a.safetensors out.safetensors --to float16");
        assert_eq!(outcome.status, Some(1));
        assert!(outcome.line().contains("read-only (--force replaces it)"), "{}", outcome.stderr);
        folder.convert("a.safetensors out.safetensors --to float16 --force");
        assert_eq!(mode(), 0o444);
        let outcome = folder.cast("convert a.safetensors out.safetensors --to float16 --no-clobber");
        assert!(outcome.status == Some(1) && outcome.line().contains("--no-clobber"), "{}", outcome.stderr);
    }

    #[test]
    fn links_are_followed_also_where_they_lead_to_nothing() {
        let folder = Folder::new();
        folder.write("a.bin", floats(&[3.0]));
        std::fs::create_dir(folder.path().join("there")).expect("a folder");
        for (link, to) in [("dangling.bin", "there/new.bin"), ("second.bin", "dangling.bin")] {
            std::os::unix::fs::symlink(to, folder.path().join(link)).expect("a link");
        }
        folder.cast("convert a.bin second.bin --from float --to int8");
        assert_eq!(folder.read("there/new.bin"), [3]);
        assert!(folder.path().join("second.bin").is_symlink());
        std::os::unix::fs::symlink("loop.bin", folder.path().join("loop.bin")).expect("a link");
        let outcome = folder.cast("convert a.bin loop.bin --from float --to int8");
        assert_eq!(outcome.status, Some(1), "{}", outcome.stderr);
    }

    #[test]
    fn pipes_on_both_sides() {
        let folder = Folder::new();
        let input = checkpoint(&[("w", "F32", &[2], &floats(&[1.0, 2.0]))]);
        folder.write("a.safetensors", &input);
        folder.convert("a.safetensors out.safetensors --to float16");
        let mut child = Command::new(binary())
            .args(["convert", "-", "-", "--in-format", "safetensors", "--to", "float16"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        child.stdin.take().expect("a pipe").write_all(&input).expect("a reader");
        let output = child.wait_with_output().expect("a child");
        assert!(output.status.success());
        assert_eq!(output.stdout, folder.read("out.safetensors"));
        for line in [
            "convert - out.bin --to float16",
            "convert a.safetensors - --to float16 --strict",
            "convert a.safetensors - --to float16 --json",
            "convert a.safetensors /dev/stdout --to float16 --strict",
            "convert a.safetensors /dev/null --to float16 --resume",
        ] {
            let outcome = folder.cast(line);
            assert_eq!(outcome.status, Some(2), "{line}: {}", outcome.stderr);
        }
    }
}
