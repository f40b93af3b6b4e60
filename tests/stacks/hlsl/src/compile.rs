//! Kernels as HLSL, and the compilers that make SPIR-V of it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use naga::back::hlsl::ShaderModel;
use support::translate::hlsl;

use crate::Result;

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
    pub glslang: Option<PathBuf>,
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
    // Two processes at a time.
    std::thread::scope(|scope| {
        let dxil = scope.spawn(|| dxc(compilers, &DXIL, folder, count, "dxil").map_err(|error| error.to_string()));
        let made = dxc(compilers, &SPIRV, folder, count, "spv");
        dxil.join().expect("no panic")?;
        made
    })?;
    let words = |number| Ok(Outcome::Words(words(&folder.join(format!("{number}.spv")))?));
    let kernels = (0..count).map(words).collect::<Result<_>>()?;
    let mut all = vec![Compiled { compiler: "DXC", kernels }];
    if let Some(program) = &compilers.glslang {
        let kernels = (0..count).map(|number| glslang(program, folder, number)).collect::<Result<_>>()?;
        all.push(Compiled { compiler: "glslang", kernels });
    }
    Ok(all)
}

/// Compiles all kernels of a folder in one process of DXC.
fn dxc(compilers: &Compilers, options: &[&str], folder: &Path, count: usize, suffix: &str) -> Result<()> {
    let mut process = Command::new(&compilers.driver)
        .arg(&compilers.library)
        .args(options)
        .stdin(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{}: {error}", compilers.driver.display()))?;
    let mut paths = process.stdin.take().ok_or("a process without input")?;
    for number in 0..count {
        let path = |suffix| folder.join(format!("{number}.{suffix}")).display().to_string();
        writeln!(paths, "{} {}", path("hlsl"), path(suffix))?;
    }
    drop(paths);
    let status = process.wait()?;
    status.success().then_some(()).ok_or_else(|| format!("DXC with {}: {status}", options.join(" ")).into())
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
