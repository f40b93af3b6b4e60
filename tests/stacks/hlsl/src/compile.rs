//! Kernels as HLSL, and the compilers that make SPIR-V of it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use naga::back::hlsl::ShaderModel;
use support::translate::hlsl;

use crate::Result;

const DXC: &str = "DXC";
const FXC: &str = "FXC";
const GLSLANG: &str = "glslang";

/// The constant that `--fault` changes, and its value in the kernels of FLOAT to FLOAT16.
const FAULT: [&str; 2] = ["static const uint DST_OVERFLOW = 31744u;", "static const uint DST_OVERFLOW = 31743u;"];

/// Compiles SPIR-V, with the registers' numbers as bindings.
const SPIRV: [&str; 6] = ["-T", "cs_6_0", "-E", "main", "-spirv", "-fspv-target-env=vulkan1.1"];

/// Compiles what Direct3D runs.
const DXIL: [&str; 4] = ["-T", "cs_6_0", "-E", "main"];

/// What glslang 12 says of some functions that read a constant array.
const RECURSION: &str = "Recursion detected";

/// The compilers of this machine.
pub struct Compilers {
    /// The program made of dxc.cpp.
    pub driver: PathBuf,
    /// DXC's library.
    pub library: PathBuf,
    /// A folder with FXC's library and the programs made of fxc.c and vkd3d.c.
    pub fxc: Option<PathBuf>,
    pub glslang: Option<PathBuf>,
}

impl Compilers {
    /// Their names, in the order in which they run.
    pub fn names(&self) -> Vec<&'static str> {
        let others = [self.fxc.as_ref().map(|_| FXC), self.glslang.as_ref().map(|_| GLSLANG)];
        [DXC].into_iter().chain(others.into_iter().flatten()).collect()
    }
}

/// All kernels by one compiler.
pub struct Compiled {
    pub compiler: &'static str,
    pub kernels: Vec<Outcome>,
}

pub enum Outcome {
    /// SPIR-V.
    Words(Vec<u32>),
    /// glslang's known mistake.
    Refused,
}

/// Translates kernels and compiles them with each compiler, in a folder.
pub fn compile(wgsl: &[&str], folder: &Path, compilers: &Compilers, fault: bool) -> Result<Vec<Compiled>> {
    std::fs::create_dir_all(folder)?;
    for (number, wgsl) in wgsl.iter().enumerate() {
        let mut text = hlsl(wgsl, ShaderModel::V6_0)?;
        // wgpu takes shader model 5.1 if the application chooses no compiler.
        if hlsl(wgsl, ShaderModel::V5_1)? != text {
            return Err("naga's texts for the shader models 5.1 and 6.0 differ; only 6.0 is compiled here".into());
        }
        if fault && wgsl.contains("// from: float\n// to: float16\n") {
            text = text.replace(FAULT[0], FAULT[1]);
        }
        std::fs::write(folder.join(format!("{number}.hlsl")), text)?;
    }
    let count = wgsl.len();
    let dxc = |options: &[&str], to| {
        let mut command = Command::new(&compilers.driver);
        command.arg(&compilers.library).args(options);
        compile_all(&mut command, folder, count, ["hlsl", to])
    };
    both(|| dxc(&DXIL, "dxil"), || dxc(&SPIRV, "spv"))?;
    let all_words = |suffix| {
        let words = |number| Ok(Outcome::Words(words(&folder.join(format!("{number}.{suffix}")))?));
        (0..count).map(words).collect::<Result<_>>()
    };
    let mut all = vec![Compiled { compiler: DXC, kernels: all_words("spv")? }];
    if let Some(compiler) = &compilers.fxc {
        fxc(compiler, folder, count)?;
        all.push(Compiled { compiler: FXC, kernels: all_words("fxc.spv")? });
    }
    if let Some(program) = &compilers.glslang {
        let kernels = (0..count).map(|number| glslang(program, folder, number)).collect::<Result<_>>()?;
        all.push(Compiled { compiler: GLSLANG, kernels });
    }
    Ok(all)
}

/// Compiles all kernels of a folder with FXC, and once more in the form that vkd3d makes SPIR-V for storage buffers of.
fn fxc(compiler: &Path, folder: &Path, count: usize) -> Result<()> {
    for number in 0..count {
        let text = std::fs::read_to_string(folder.join(format!("{number}.hlsl")))?;
        std::fs::write(folder.join(format!("{number}.writable.hlsl")), writable(&text))?;
    }
    let fxc = |suffixes| {
        let mut command = Command::new("wine");
        command.arg(compiler.join("fxc.exe")).arg(compiler.join("d3dcompiler_47.dll"));
        compile_all(&mut command, folder, count, suffixes)
    };
    both(|| fxc(["hlsl", "dxbc"]), || fxc(["writable.hlsl", "writable.dxbc"]))?;
    compile_all(&mut Command::new(compiler.join("vkd3d-spirv")), folder, count, ["writable.dxbc", "fxc.spv"])
}

/// A kernel whose source is in a buffer that it could write. vkd3d makes textures of the buffers that it can not, and wgpu cannot bind
/// those.
fn writable(text: &str) -> String {
    let line = |line: &str| match line.strip_prefix("ByteAddressBuffer ") {
        Some(rest) => format!("RWByteAddressBuffer {}\n", rest.replace(": register(t", ": register(u")),
        None => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// Does two things at a time.
fn both(first: impl Fn() -> Result<()> + Sync, second: impl Fn() -> Result<()>) -> Result<()> {
    std::thread::scope(|scope| {
        let first = scope.spawn(|| first().map_err(|error| error.to_string()));
        let done = second();
        first.join().expect("no panic")?;
        done
    })
}

/// Compiles all kernels of a folder in one process, which reads the paths of each kernel and its result. Their suffixes are given.
fn compile_all(command: &mut Command, folder: &Path, count: usize, suffixes: [&str; 2]) -> Result<()> {
    let named = format!("{command:?}");
    let mut process = command.stdin(Stdio::piped()).spawn().map_err(|error| format!("{named}: {error}"))?;
    let mut paths = process.stdin.take().ok_or("a process without input")?;
    for number in 0..count {
        let [from, to] = suffixes.map(|suffix| folder.join(format!("{number}.{suffix}")).display().to_string());
        writeln!(paths, "{from} {to}")?;
    }
    drop(paths);
    let status = process.wait()?;
    status.success().then_some(()).ok_or_else(|| format!("{named}: {status}").into())
}

fn glslang(program: &Path, folder: &Path, number: usize) -> Result<Outcome> {
    let made = folder.join(format!("{number}.glslang.spv"));
    let output = Command::new(program)
        .args(["-D", "-S", "comp", "-e", "main", "-V", "-o"])
        .arg(&made)
        .arg(folder.join(format!("{number}.hlsl")))
        .output()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    if output.status.success() {
        return Ok(Outcome::Words(words(&made)?));
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    if messages.contains(RECURSION) {
        return Ok(Outcome::Refused);
    }
    Err(format!("glslang: {messages}").into())
}

/// A file of little-endian words.
fn words(path: &Path) -> Result<Vec<u32>> {
    let bytes = std::fs::read(path)?;
    let (words, rest) = bytes.as_chunks();
    if !rest.is_empty() || words.is_empty() {
        return Err(format!("{}: {} bytes are no SPIR-V", path.display(), bytes.len()).into());
    }
    Ok(words.iter().map(|word| u32::from_le_bytes(*word)).collect())
}
