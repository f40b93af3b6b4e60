//! Outputs of several processes, of inputs that change, in all sorts of circumstances.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use support::models::field;

use crate::convert::checkpoint;
use crate::tool::{Folder, binary, floats, model_with_data, model_with_data_of, npy};

fn array(folder: &Folder, name: &str) {
    folder.write(name, npy("<f4", false, "(2,)", &floats(&[1.0, 2.0])));
}

/// Starts the binary here, with the words of a command line.
fn start(folder: &Folder, line: &str) -> Child {
    let mut command = Command::new(binary());
    command.args(line.split_whitespace()).current_dir(folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the binary runs")
}

/// Runs a line of shell, where `wgpu-cast` is the program.
fn shell(folder: &Folder, line: &str) -> Output {
    let line = line.replace("wgpu-cast ", &format!("{} ", binary().display()));
    Command::new("sh").args(["-c", &line]).current_dir(folder.path()).output().expect("a shell")
}

fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).expect("UTF-8").trim_end()
}

/// Each of two processes writes the whole output, or says that the other one is writing it.
#[test]
fn two_processes_do_not_mix_their_outputs() {
    let folder = Folder::new();
    let values: Vec<f32> = (0..5000).map(|value| value as f32 / 7.0).collect();
    folder.write("a.npy", npy("<f4", false, "(5000,)", &floats(&values)));
    let expected = ["float16", "double"].map(|to| folder.convert(&format!("a.npy out.npy --to {to}")));
    for _ in 0..40 {
        let _ = fs::remove_file(folder.path().join("out.npy"));
        let pair = ["float16", "double"].map(|to| start(&folder, &format!("convert a.npy out.npy --to {to} --quiet")));
        let ended = pair.map(|child| child.wait_with_output().expect("a child"));
        let found = folder.read("out.npy");
        let mut succeeded = Vec::new();
        for (ended, expected) in ended.iter().zip(&expected) {
            if ended.status.success() {
                succeeded.push(expected);
            } else {
                assert_eq!(stderr(ended), "wgpu-cast: out.npy: another process is writing out.npy.cast-partial");
            }
        }
        assert!(succeeded.iter().any(|expected| ***expected == found), "one output, of a process that succeeded");
        assert_eq!(folder.names(), ["a.npy", "out.npy"]);
    }
}

/// The second input is a pipe, so that the first one changes after its header was read and before its output is made.
fn changed(folder: &Folder, change: impl FnOnce(&Path)) -> Output {
    let pipe = folder.path().join("b.npy");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let child = start(folder, "convert a.npy b.npy -d out --to float16");
    // This waits until it is opened for reading.
    let mut writer = fs::OpenOptions::new().write(true).open(&pipe).expect("a pipe");
    change(&folder.path().join("a.npy"));
    writer.write_all(&npy("<f4", false, "(2,)", &floats(&[1.0, 2.0]))).expect("a reader");
    drop(writer);
    let ended = child.wait_with_output().expect("a child");
    fs::remove_file(pipe).expect("a pipe");
    ended
}

#[test]
fn an_input_that_changes_while_it_is_read() {
    let other = npy("<f4", false, "(2,)", &floats(&[3.0, 4.0]));
    let write = |path: &Path| fs::write(path, &other).expect("a file");
    let replace = |path: &Path| {
        fs::write(path.with_extension("new"), &other).expect("a file");
        fs::rename(path.with_extension("new"), path).expect("a file");
    };
    for change in [&write as &dyn Fn(&Path), &replace] {
        let folder = Folder::new();
        array(&folder, "a.npy");
        let ended = changed(&folder, change);
        assert_eq!(ended.status.code(), Some(1));
        assert_eq!(stderr(&ended), "wgpu-cast: a.npy: it changed while it was read; nothing was written");
        assert_eq!(folder.names(), ["a.npy"]);
    }
    let folder = Folder::new();
    array(&folder, "a.npy");
    assert!(changed(&folder, |_| ()).status.success());
}

/// What goes to a pipe cannot be taken back.
#[test]
fn an_input_that_changes_while_a_pipe_is_written() {
    let folder = Folder::new();
    let values = floats(&vec![1.0; 1 << 18]);
    folder.write("a.npy", npy("<f4", false, "(262144,)", &values));
    let mut child = start(&folder, "convert a.npy - --to double");
    let mut output = child.stdout.take().expect("a pipe");
    // The pipe does not hold the output.
    output.read_exact(&mut [0]).expect("an output");
    folder.write("a.npy", npy("<f4", false, "(262144,)", &values));
    output.read_to_end(&mut Vec::new()).expect("an output");
    let ended = child.wait_with_output().expect("a child");
    assert_eq!(ended.status.code(), Some(1));
    assert_eq!(stderr(&ended), "wgpu-cast: a.npy: it changed while it was read; what was made of it may be wrong");
}

#[test]
fn signals_that_are_ignored_stay_ignored() {
    let folder = Folder::new();
    // 32 GiB without blocks, which become 4 GiB: it takes longer than the test needs to send signals.
    let header = br#"{"w":{"dtype":"F64","shape":[4294967296],"data_offsets":[0,34359738368]}}"#;
    folder.write("a.safetensors", [&(header.len() as u64).to_le_bytes(), &header[..]].concat());
    let file = fs::OpenOptions::new().write(true).open(folder.path().join("a.safetensors")).expect("a file");
    file.set_len(8 + header.len() as u64 + (32 << 30)).expect("a sparse file");
    let binary = binary();
    let mut child = Command::new("sh")
        .args(["-c", "trap '' HUP INT; exec \"$0\" convert a.safetensors out.safetensors --to float8e4m3fn --quiet"])
        .arg(binary)
        .current_dir(folder.path())
        .spawn()
        .expect("a shell");
    while !folder.path().join("out.safetensors.cast-partial").exists() {
        assert!(child.try_wait().expect("a child").is_none(), "it runs");
        std::thread::yield_now();
    }
    for signal in ["-HUP", "-INT", "-TERM"] {
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(sent.expect("kill").success());
    }
    assert_eq!(child.wait().expect("a child").code(), Some(128 + 15), "only the last one ends it");
    assert_eq!(folder.names(), ["a.safetensors"]);
}

#[test]
fn more_files_than_a_process_may_open() {
    let folder = Folder::new();
    fs::create_dir(folder.path().join("in")).expect("a folder");
    let count = 600;
    for number in 0..count {
        array(&folder, &format!("in/{number}.npy"));
    }
    for rest in ["", "--strict", "--resume"] {
        let ended = shell(&folder, &format!("ulimit -n 256 && wgpu-cast convert in out --to float16 --quiet {rest}"));
        assert_eq!((ended.status.code(), stderr(&ended)), (Some(0), ""), "{rest}");
        assert_eq!(fs::read_dir(folder.path().join("out")).expect("a folder").count(), count, "{rest}");
        fs::remove_dir_all(folder.path().join("out")).expect("a folder");
    }
}

#[test]
fn names_as_long_as_they_may_be() {
    let folder = Folder::new();
    array(&folder, "a.npy");
    let expected = folder.convert("a.npy out.npy --to float16");
    for length in [242, 243, 255] {
        let name = "n".repeat(length - 4) + ".npy";
        for option in ["", "--resume"] {
            let outcome = folder.cast(&format!("convert a.npy {name} --to float16 {option}"));
            assert_eq!(outcome.status, Some(0), "{length}: {}", outcome.stderr);
            assert!(folder.read(&name) == expected, "{length}");
        }
        fs::remove_file(folder.path().join(name)).expect("a file");
    }
    assert_eq!(folder.names(), ["a.npy", "out.npy"]);
}

/// As `cp` does: the permissions of the input without those that the process may not give.
#[test]
fn a_new_output_has_the_permissions_of_its_inputs() {
    let folder = Folder::new();
    let set = |name: &str, mode: u32| {
        fs::set_permissions(folder.path().join(name), fs::Permissions::from_mode(mode)).expect("permissions");
    };
    let modes = |names: &[&str]| {
        let mode = |name: &&str| fs::metadata(folder.path().join(name)).expect("a file").mode() & 0o7777;
        names.iter().map(mode).collect::<Vec<_>>()
    };
    let run = |line: &str, names: &[&str]| {
        let ended = shell(&folder, line);
        assert!(ended.status.success(), "{line}: {}", stderr(&ended));
        let found = modes(names);
        names.iter().for_each(|name| fs::remove_file(folder.path().join(name)).expect("a file"));
        found
    };
    array(&folder, "a.npy");
    let line = "umask 022 && wgpu-cast convert a.npy out.npy --to float16 --quiet --plot p.svg";
    for (input, output) in [(0o600, 0o600), (0o444, 0o444), (0o666, 0o644), (0o755, 0o755), (0o640, 0o640)] {
        set("a.npy", input);
        assert_eq!(run(line, &["out.npy", "p.svg"]), [output; 2], "{input:o}");
    }
    assert_eq!(run(&line.replace("022", "077"), &["out.npy", "p.svg"]), [0o600; 2]);
    folder.write("m.onnx", model_with_data("m.data"));
    folder.write("m.data", floats(&[1.0, 2.0, 3.0, 4.0]));
    set("m.onnx", 0o640);
    set("m.data", 0o604);
    assert_eq!(run("wgpu-cast convert m.onnx o.onnx --to float16 --quiet", &["o.onnx", "o.onnx.data"]), [0o600; 2]);
    // An index, and the outputs of a model that is run.
    folder.write("s.safetensors", checkpoint(&[("w", "F32", &[1], &floats(&[1.0]))]));
    folder.write("s.safetensors.index.json", r#"{"weight_map":{"w":"s.safetensors"}}"#);
    set("s.safetensors", 0o600);
    let names = ["s/s.safetensors", "s/s.safetensors.index.json"];
    assert_eq!(run("umask 022 && wgpu-cast convert s.safetensors.index.json s --to bf16 --quiet", &names), [0o600; 2]);
    let node = wgpu_cast::onnx::CastNode::with_target(25, wgpu_cast::ElementType::FLOAT16, None, None).expect("a node");
    let model = wgpu_cast_files::onnx::Model::of_cast(&node, wgpu_cast::ElementType::FLOAT, &[2]).expect("a model");
    folder.write("r.onnx", model.to_bytes().expect("a message"));
    set("a.npy", 0o600);
    assert_eq!(run("wgpu-cast run r.onnx a.npy -o r --device cpu --quiet", &["r/output_0.pb"]), [0o600]);
}

/// A file that its owner may not write to is replaced if they say so.
#[test]
fn a_read_only_file_is_replaced_also_when_interrupted_before() {
    let folder = Folder::new();
    array(&folder, "a.npy");
    let expected = folder.convert("a.npy out.npy --to float16");
    for name in ["out.npy", "out.npy.cast-partial"] {
        folder.write(name, b"old");
    }
    fs::set_permissions(folder.path().join("out.npy"), fs::Permissions::from_mode(0o444)).expect("permissions");
    for option in ["--resume", ""] {
        assert!(folder.convert(&format!("a.npy out.npy --to float16 --force {option}")) == expected);
        assert_eq!(fs::metadata(folder.path().join("out.npy")).expect("a file").mode() & 0o777, 0o444);
    }
}

#[test]
fn errors_of_temporary_files_name_their_folder() {
    let folder = Folder::new();
    let variables = [("TMPDIR", "/nonexistent")];
    let expected = "wgpu-cast: /nonexistent: cannot write a temporary file: No such file or directory (os error 2) (TMPDIR chooses the folder)";
    for (name, is_compressed) in [("stored", false), ("compressed", true)] {
        let mut archive = wgpu_cast_files::NpzWriter::new(Vec::new());
        let array = npy("<f4", false, "(2,)", &floats(&[1.0, 2.0]));
        archive.start("a", array.len() as u64, is_compressed).expect("an entry");
        archive.write_all(&array).expect("memory");
        folder.write(&format!("{name}.npz"), archive.finish().expect("memory"));
    }
    let line = |name: &str| format!("convert {name}.npz out.npz --to float16 --quiet");
    for line in ["convert - out.npy --in-format npy --to float16", &line("compressed")] {
        let outcome = folder.cast_with(line, &variables);
        assert_eq!((outcome.status, outcome.line()), (Some(1), expected), "{line}");
    }
    let outcome = folder.cast_with(&line("stored"), &variables);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
    assert_eq!(folder.names(), ["compressed.npz", "out.npz", "stored.npz"]);
}

/// What comes from a pipe may be something else the next time.
#[test]
fn a_conversion_of_a_pipe_is_not_continued() {
    let folder = Folder::new();
    let outcome = folder.cast("convert - out.npy --in-format npy --to float16 --resume");
    assert_eq!(outcome.status, Some(2));
    let expected =
        "wgpu-cast: --resume cannot be combined with input from a pipe or a device, which may be another one now";
    assert_eq!(outcome.line(), expected);
}

/// The indexes of parts have the permissions of what they were made of, and the joined one has no more.
#[test]
fn a_joined_index_has_the_permissions_of_all_parts() {
    let folder = Folder::new();
    for (name, mode) in [("a", 0o640), ("b", 0o604)] {
        let file = format!("m/{name}.safetensors");
        folder.write(&file, checkpoint(&[(name, "F32", &[1], &[0; 4])]));
        fs::set_permissions(folder.path().join(&file), fs::Permissions::from_mode(mode)).expect("permissions");
    }
    folder.write("m/m.safetensors.index.json", r#"{"weight_map":{"a":"a.safetensors","b":"b.safetensors"}}"#);
    let part = |part| format!("wgpu-cast convert m out --to f16 --quiet --part {part}/2");
    let line = format!("umask 022 && {} && {} && wgpu-cast merge-index out", part(1), part(2));
    let ended = shell(&folder, &line);
    assert!(ended.status.success(), "{}", stderr(&ended));
    let index = folder.path().join("out/m.safetensors.index.json");
    assert_eq!(fs::metadata(index).expect("an index").mode() & 0o7777, 0o600);
}

/// A file that a shell has opened may have other content, and more may follow.
#[test]
fn open_files_are_not_replaced() {
    let folder = Folder::new();
    array(&folder, "a.npy");
    folder.write("out.bin", "older");
    let of_linux = ["/proc/self/fd/1"].into_iter().filter(|_| cfg!(target_os = "linux"));
    for descriptor in ["/dev/stdout", "/dev/fd/1"].into_iter().chain(of_linux) {
        let line = format!("wgpu-cast convert a.npy {descriptor} --to float16 --out-format bin >> out.bin");
        let ended = shell(&folder, &line);
        let expected = "cannot write: it stands for a file that is open already (- is standard output)";
        assert_eq!(stderr(&ended), format!("wgpu-cast: {descriptor}: {expected}"));
        assert_eq!((ended.status.code(), folder.read("out.bin")), (Some(1), b"older".to_vec()));
    }
    let ended = shell(&folder, "wgpu-cast convert a.npy - --to float16 --out-format bin --quiet >> out.bin");
    assert!(ended.status.success(), "{}", stderr(&ended));
    assert_eq!(folder.read("out.bin"), b"older\0\x3c\0\x40");
    let ended = shell(&folder, "wgpu-cast convert a.npy /dev/stdout --to float16 --out-format bin --quiet | cat");
    assert_eq!(ended.stdout, b"\0\x3c\0\x40");
}

/// The standard library takes writing to these for success.
#[test]
fn a_standard_output_that_takes_nothing_is_told() {
    let folder = Folder::new();
    array(&folder, "a.npy");
    for command in ["convert a.npy - --to float16 --quiet", "info a.npy"] {
        let ended = shell(&folder, &format!("wgpu-cast {command} 1< /dev/null"));
        let last = stderr(&ended).lines().last();
        assert_eq!((ended.status.code(), last), (Some(1), Some("wgpu-cast: stdout: it is not open for writing")));
    }
    let ended = shell(&folder, "wgpu-cast convert a.npy - --to float16 --quiet >&-");
    assert_eq!(stderr(&ended), "warning: stdout is closed, or is /dev/null: nobody gets the output");
    let ended = shell(&folder, "wgpu-cast convert a.npy - --to float16 --quiet > /dev/null");
    assert_eq!((ended.status.code(), stderr(&ended)), (Some(0), ""));
}

#[test]
fn a_limit_of_the_size_of_files_is_an_error() {
    let folder = Folder::new();
    folder.write("a.bin", vec![0; 1 << 20]);
    let ended =
        shell(&folder, "ulimit -f 100; wgpu-cast convert a.bin - --from float --to double --out-format bin > b");
    assert_eq!(ended.status.code(), Some(1), "{}", stderr(&ended));
    fs::remove_file(folder.path().join("b")).expect("what was written before the limit");
    let ended = shell(&folder, "ulimit -f 100; wgpu-cast convert a.bin out.bin --from float --to double");
    assert_eq!(ended.status.code(), Some(1));
    assert!(stderr(&ended).starts_with("wgpu-cast: out.bin: cannot write: File too large"), "{}", stderr(&ended));
    assert_eq!(folder.names(), ["a.bin"]);
}

/// Files of /proc have content, but no size.
#[test]
fn a_file_that_tells_no_size_is_read() {
    let folder = Folder::new();
    let Ok(expected) = fs::read("/proc/version") else {
        return support::not_tested("there is no /proc");
    };
    assert_eq!(folder.convert("/proc/version out.bin --in-format bin --from uint8 --to int8"), expected);
}

#[test]
fn a_pipe_holds_no_folder() {
    let folder = Folder::new();
    folder.write("m/a.safetensors", checkpoint(&[("a", "F32", &[1], &[0; 4])]));
    let outcome = folder.cast("convert m - --to f16");
    let expected = "wgpu-cast: -: what is made of a folder or an index is a folder, and no pipe (./- stands for one)";
    assert_eq!((outcome.status, outcome.line()), (Some(2), expected));
    assert_eq!(folder.names(), ["m"]);
}

/// A record is text of a regular file.
#[test]
fn a_record_that_has_no_end_is_refused() {
    let folder = Folder::new();
    let outcome = folder.cast("verify --device cpu --from int2 --to int8 --exhaustive --record /dev/zero");
    assert_eq!((outcome.status, outcome.line()), (Some(1), "wgpu-cast: /dev/zero: it is not a regular file"));
}

/// Complex numbers are left as they are, unless a rule names them.
#[test]
fn a_rule_for_complex_numbers_is_an_error() {
    let folder = Folder::new();
    folder.write("a.safetensors", checkpoint(&[("a", "F32", &[1], &[0; 4]), ("c", "C64", &[1], &[0; 8])]));
    for rule in [
        "--map c=float16",
        "--only c --to float16",
        "--dequantize --map c=float16",
        "--quantize tensor --map c=float16",
    ] {
        let outcome = folder.cast(&format!("convert a.safetensors out.safetensors {rule}"));
        let expected = "wgpu-cast: a.safetensors: c: complex numbers are not cast (before other rules, --map 'c=keep' leaves them)";
        assert_eq!((outcome.status, outcome.line()), (Some(1), expected), "{rule}");
    }
    for rule in ["--to float16", "--map c=keep --only * --to float16"] {
        folder.convert(&format!("a.safetensors out.safetensors {rule}"));
    }
    // COMPLEX64, and a type that ONNX may have one day.
    for (code, rule) in [(14, "--map c=float16"), (14, "--only c --to float16"), (99, "--map c=float16")] {
        let tensor = [vec![8, 1, 16, code], field(8, b"c"), field(9, &[0; 8])].concat();
        folder.write("m.onnx", [vec![8, 8], field(8, &[16, 25]), field(7, &field(5, &tensor))].concat());
        let outcome = folder.cast(&format!("convert m.onnx out.onnx {rule}"));
        let expected = "wgpu-cast: m.onnx: c: complex numbers and elements of unknown types are not cast (before other rules, --map 'c=keep' leaves them)";
        assert_eq!((outcome.status, outcome.line()), (Some(1), expected), "{rule}");
    }
}

/// The old model is removed before its new data gets its name, which here is that of a folder. The report of a tensor with a
/// long name waits for its reader before that.
#[test]
fn a_model_whose_data_gets_no_name_is_kept() {
    let folder = Folder::new();
    folder.write("m.onnx", model_with_data_of(&"w".repeat(200_000), "m.data"));
    folder.write("m.data", floats(&[1.0, 2.0, 3.0, 4.0]));
    let mut child = start(&folder, "convert m.onnx m.onnx --to float16 --in-place --json");
    let mut report = child.stdout.take().expect("a pipe");
    report.read_exact(&mut [0]).expect("the beginning of the report");
    folder.write("m.onnx.data/full", "");
    report.read_to_end(&mut Vec::new()).expect("the rest of the report");
    let ended = child.wait_with_output().expect("the binary ends");
    assert_eq!(ended.status.code(), Some(1), "{}", stderr(&ended));
    for (name, partial) in ["m.onnx.data", "m.onnx"].map(|name| (name, format!("{name}.cast-partial"))) {
        let expected =
            format!("warning: {name}: its new content is complete, in {partial}, which only needs this name");
        assert!(stderr(&ended).lines().any(|line| line == expected), "{}", stderr(&ended));
    }
    fs::remove_dir_all(folder.path().join("m.onnx.data")).expect("a folder");
    for name in ["m.onnx.data", "m.onnx"] {
        let path = folder.path().join(name);
        fs::rename(path.with_file_name(format!("{name}.cast-partial")), path).expect("a file");
    }
    assert_eq!(folder.read("m.onnx.data")[..8], [0, 0x3c, 0, 0x40, 0, 0x42, 0, 0x44]);
    assert_eq!(folder.cast("info m.onnx").status, Some(0));
}

/// Where the system starts no threads, one does all the work. Stacks that are nearly as large as all addresses fit into no memory.
#[test]
fn no_thread_is_needed() {
    let folder = Folder::new();
    let stack = (usize::MAX - (1 << 24)).to_string();
    let alone = |line: &str| folder.cast_with(line, &[("RUST_MIN_STACK", &stack)]);
    // An output that the disk stores in several parts.
    let file = fs::File::create(folder.path().join("a.bin")).expect("a file");
    file.set_len((64 << 20) + 1000).expect("a long file");
    let outcome = alone("convert a.bin b.bin --from uint8 --to int8 --device cpu");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_eq!(fs::metadata(folder.path().join("b.bin")).expect("an output").len(), (64 << 20) + 1000);
    let outcome = alone("verify --exhaustive --from int2 --to int8 --device cpu");
    assert_eq!(outcome.status, Some(1));
    assert!(outcome.line().starts_with("wgpu-cast: no threads can be started: "), "{}", outcome.stderr);
}
