//! Runs plans of every pair of numeric types with their kernels in Direct3D's language: naga's translation, compiled to SPIR-V by DXC,
//! Microsoft's compiler, on a Vulkan device. Compares the buffers with those of the CPU path. Direct3D's own code (DXIL) is compiled
//! too, but nothing here runs it.
//!
//! With `--fxc FOLDER` the kernels are also compiled by FXC, Microsoft's older compiler, in Wine, and its code is translated to SPIR-V
//! by vkd3d; with `--glslang PROGRAM` by glslang. With `--fault` one constant of one kernel is wrong: each comparison must notice.

mod compile;
mod device;

use std::collections::HashMap;
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use compile::{Compiled, Compilers, Outcome};
use device::Device;
use support::numeric;
use support::planned::{PlannedCast, SourceCodes};
use wgpu_cast::ElementType;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const USAGE: &str =
    "usage: wgpu-cast-hlsl FOLDER DRIVER LIBRARY [--fxc FOLDER] [--glslang PROGRAM] [--fault] [TYPE...]";

/// The exit statuses where nothing could be run, and where a step failed. With a difference it is 1.
const NOT_RUN: u8 = 3;
const FAILED: u8 = 2;

/// Differences printed for each source type.
const SHOWN: usize = 20;

struct Arguments {
    folder: PathBuf,
    compilers: Compilers,
    fault: bool,
    types: Vec<ElementType>,
}

impl Arguments {
    fn parse() -> Result<Self> {
        let mut arguments = std::env::args().skip(1);
        let [folder, driver, library] = [(); 3].map(|()| arguments.next().map(PathBuf::from));
        let folder = folder.ok_or(USAGE)?;
        let [driver, library] = [driver.ok_or(USAGE)?, library.ok_or(USAGE)?];
        let mut compilers = Compilers { driver, library, fxc: None, glslang: None };
        let (mut fault, mut types) = (false, Vec::new());
        while let Some(argument) = arguments.next() {
            match &*argument {
                "--fxc" => compilers.fxc = Some(arguments.next().ok_or(USAGE)?.into()),
                "--glslang" => compilers.glslang = Some(arguments.next().ok_or(USAGE)?.into()),
                "--fault" => fault = true,
                name => types.push(name.parse()?),
            }
        }
        if types.is_empty() {
            types = numeric().collect();
        }
        Ok(Self { folder, compilers, fault, types })
    }
}

/// What was run, for all types so far.
#[derive(Default)]
struct Counts {
    pairs: usize,
    casts: usize,
    differ: usize,
    kernels: usize,
    /// Kernels that glslang refuses by its known mistake.
    refused: usize,
}

fn main() -> ExitCode {
    let done = Arguments::parse().and_then(|arguments| {
        let Some(device) = Device::open()? else {
            eprintln!("NOT RUN: the kernels in Direct3D's language: no Vulkan driver here takes SPIR-V as it is");
            return Ok(ExitCode::from(NOT_RUN));
        };
        run_all(&arguments, &device)
    });
    done.unwrap_or_else(|error| {
        eprintln!("{error}");
        ExitCode::from(FAILED)
    })
}

/// Runs the casts from each type, and prints what came of them.
fn run_all(arguments: &Arguments, device: &Device) -> Result<ExitCode> {
    println!("{}", device.name());
    let mut all = Counts::default();
    for from in &arguments.types {
        let casts = casts(*from);
        let mut wgsl = Vec::new();
        let mut numbers = HashMap::new();
        for kernel in casts.iter().flat_map(|(_, cast)| cast.plan.kernels()) {
            numbers.entry(kernel.wgsl()).or_insert_with(|| {
                wgsl.push(kernel.wgsl());
                wgsl.len() - 1
            });
        }
        let folder = arguments.folder.join(from.name());
        let compiled = compile::compile(&wgsl, &folder, &arguments.compilers, arguments.fault)?;
        let mut differ = 0;
        for compiled in &compiled {
            differ += run(device, &casts, &numbers, compiled)?;
            all.refused += compiled.kernels.iter().filter(|kernel| matches!(kernel, Outcome::Refused)).count();
        }
        println!("{from}: {} kernels, {} casts, {differ} differ", wgsl.len(), casts.len());
        all.pairs += numeric().count();
        all.casts += casts.len();
        all.kernels += wgsl.len();
        all.differ += differ;
        std::fs::remove_dir_all(folder)?;
    }
    if arguments.compilers.glslang.is_some() {
        println!(
            "glslang: {} kernels compiled, {} refused (glslang takes their constant arrays for recursion)",
            all.kernels - all.refused,
            all.refused,
        );
    }
    println!(
        "Direct3D's language by {}, on {}: {} pairs, {} casts with {} kernels, {} differ from the CPU path",
        arguments.compilers.names().join(", "),
        device.name(),
        all.pairs,
        all.casts,
        all.kernels,
        all.differ,
    );
    Ok(if all.differ == 0 && all.casts > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The casts from one type, each with a name for messages.
fn casts(from: ElementType) -> Vec<(String, PlannedCast)> {
    let codes = SourceCodes::new(from);
    let named = |to| codes.casts(to).map(move |(variant, cast)| (format!("{from}->{to},{variant}"), cast));
    numeric().flat_map(named).collect()
}

/// Runs the casts with the kernels of one compiler. Returns how many of them differ from the CPU path.
fn run(
    device: &Device,
    casts: &[(String, PlannedCast)],
    numbers: &HashMap<&str, usize>,
    compiled: &Compiled,
) -> Result<usize> {
    let mut pipelines = HashMap::new();
    let mut differ = 0;
    for (name, cast) in casts {
        let kernels: Vec<_> = cast.plan.kernels().iter().map(|kernel| numbers[kernel.wgsl()]).collect();
        // The other casts cover what such a kernel does.
        if kernels.iter().any(|&number| matches!(compiled.kernels[number], Outcome::Refused)) {
            continue;
        }
        let after = device.run(cast, &kernels, &compiled.kernels, &mut pipelines)?;
        if let Some(byte) = (0..after.len()).find(|&byte| after[byte] != cast.after[byte]) {
            differ += 1;
            if differ <= SHOWN {
                let [found, expected] = [after[byte], cast.after[byte]];
                println!("{}: {name}: byte {byte} is {found:02x}, expected {expected:02x}", compiled.compiler);
            }
        }
    }
    Ok(differ)
}
