//! Running the binary in a folder of its own, and `.npy` bytes made by hand.

use std::path::{Path, PathBuf};
use std::process::Command;

use support::models::field;

/// What to install where there is no adapter; on Debian Mesa's software Vulkan driver.
pub const INSTALL: &str = "a GPU test needs an adapter: apt-get install mesa-vulkan-drivers libvulkan1";

/// Where the driver's pipelines are kept, in the folder of a test.
pub const CACHE: &str = ".cache";

/// Hides every graphics driver.
const NO_DRIVER: [(&str, &str); 3] = [
    ("VK_DRIVER_FILES", "/nonexistent"),
    ("VK_ICD_FILENAMES", "/nonexistent"),
    ("__EGL_VENDOR_LIBRARY_FILENAMES", "/nonexistent"),
];

/// A folder that is gone when the test is.
pub struct Folder(tempfile::TempDir);

/// How a run ended.
#[derive(Debug)]
pub struct Outcome {
    pub status: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file, and creates its folder.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path().join(name);
        path.parent().into_iter().for_each(|folder| std::fs::create_dir_all(folder).expect("a folder"));
        std::fs::write(path, bytes).expect("a file in a temporary folder");
    }

    /// The files of pipelines that runs here have kept.
    pub fn kept(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.path().join(CACHE).join("wgpu-cast"));
        entries.into_iter().flatten().map(|entry| entry.expect("an entry").path()).collect()
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// Names of the files, sorted.
    pub fn names(&self) -> Vec<String> {
        let mut names = self.entries("");
        names.retain(|name| name != CACHE);
        names
    }

    /// Names of the files in a folder here, sorted.
    pub fn entries(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path().join(folder)).unwrap_or_else(|e| panic!("{folder}: {e}"));
        let name = |entry: std::io::Result<std::fs::DirEntry>| entry.expect("an entry").file_name();
        let mut names: Vec<_> = entries.map(|entry| name(entry).to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Converts the model `m` whole and in two parts with these options. The joined parts must have the bytes of the whole.
    pub fn parts_join(&self, options: &str) {
        let succeeds = |line: String| {
            let outcome = self.cast(&line);
            assert_eq!(outcome.status, Some(0), "{line}: {}", outcome.stderr);
        };
        succeeds(format!("convert m whole {options}"));
        for part in ["1/2", "2/2"] {
            succeeds(format!("convert m out {options} --part {part}"));
        }
        succeeds("merge-index out".to_owned());
        assert_eq!(self.entries("out"), self.entries("whole"));
        for file in self.entries("out") {
            assert!(self.read(&format!("out/{file}")) == self.read(&format!("whole/{file}")), "{file}");
        }
    }

    /// Runs the program here with the words of a command line.
    pub fn cast(&self, line: &str) -> Outcome {
        self.run(line, &[])
    }

    /// The same as on a machine without any graphics driver.
    pub fn cast_without_gpu(&self, line: &str) -> Outcome {
        self.run(line, &NO_DRIVER)
    }

    /// The same with environment variables.
    pub fn cast_with(&self, line: &str, variables: &[(&str, &str)]) -> Outcome {
        self.run(line, variables)
    }

    /// The same with a file here as standard input.
    pub fn cast_from(&self, input: &str, line: &str) -> Outcome {
        let input = std::fs::File::open(self.path().join(input)).expect("a file in a temporary folder");
        outcome(self.command(line, &[]).stdin(input))
    }

    fn run(&self, line: &str, variables: &[(&str, &str)]) -> Outcome {
        outcome(&mut self.command(line, variables))
    }

    fn command(&self, line: &str, variables: &[(&str, &str)]) -> Command {
        let mut command = Command::new(binary());
        command
            .args(line.split_whitespace())
            .current_dir(self.path())
            .env_remove("RUST_LOG")
            // Where it is not set, Mesa's libraries say so on stderr.
            .env("XDG_RUNTIME_DIR", std::env::temp_dir())
            // Pipelines are kept for nobody.
            .env("XDG_CACHE_HOME", self.path().join(CACHE))
            .envs(variables.iter().copied());
        command
    }

    /// Runs a `convert` that must succeed, and gives the bytes of its output, called `out.*`.
    pub fn convert(&self, line: &str) -> Vec<u8> {
        let outcome = self.cast(&format!("convert {line}"));
        assert_eq!(outcome.status, Some(0), "{line}: {}", outcome.stderr);
        let output = line.split_whitespace().find(|word| word.starts_with("out.")).expect("an output");
        self.read(output)
    }
}

fn outcome(command: &mut Command) -> Outcome {
    let output = command.output().expect("the binary runs");
    let stderr = String::from_utf8(output.stderr).expect("messages are UTF-8");
    Outcome { status: output.status.code(), stdout: output.stdout, stderr }
}

impl Outcome {
    /// The one line on stderr.
    pub fn line(&self) -> &str {
        assert_eq!(self.stderr.lines().count(), 1, "one line on stderr: {self:?}");
        self.stderr.trim_end()
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).expect("UTF-8 on stdout")
    }
}

/// The program: the one that was built with these tests, or where they were copied away from it, the one that CAST_BINARY names.
pub fn binary() -> PathBuf {
    std::env::var_os("CAST_BINARY").unwrap_or_else(|| env!("CARGO_BIN_EXE_wgpu-cast").into()).into()
}

/// A `.npy` file, version 1.0, the header as numpy writes it.
pub fn npy(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    npy_file(1, &format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}"), data)
}

/// A `.npy` file of any header text.
pub fn npy_file(version: u8, header: &str, data: &[u8]) -> Vec<u8> {
    let mut file = b"\x93NUMPY".to_vec();
    file.extend([version, 0]);
    let length_bytes = if version == 1 { 2 } else { 4 };
    let filled = (file.len() + length_bytes + header.len() + 1).next_multiple_of(64);
    let length = filled - file.len() - length_bytes;
    file.extend(&(length as u32).to_le_bytes()[..length_bytes]);
    file.extend(header.as_bytes());
    file.resize(filled - 1, b' ');
    file.push(b'\n');
    file.extend(data);
    file
}

pub fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// An ONNX model whose only tensor, four values of FLOAT, is in a file of external data.
pub fn model_with_data(location: &str) -> Vec<u8> {
    model_with_data_of("w", location)
}

/// The same with another name of its initializer.
pub fn model_with_data_of(name: &str, location: &str) -> Vec<u8> {
    let entry = |key: &str, value: &str| field(13, &[field(1, key.as_bytes()), field(2, value.as_bytes())].concat());
    let tensor = [vec![8, 4, 16, 1], field(8, name.as_bytes()), entry("location", location), vec![14 << 3, 1]].concat();
    let graph = [field(2, b"g"), field(5, &tensor)].concat();
    [vec![8, 8], field(8, &[16, 25]), field(7, &graph)].concat()
}

/// Whether this process ignores a signal, as Linux tells; other systems do not tell. `nohup` starts it so, and shells ignore
/// interrupts in the background. The programs that it starts ignore the signal, too.
#[cfg(unix)]
pub fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
