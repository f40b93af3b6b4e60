//! Gives every text of WGSL that wgpu-cast makes to each version of naga that engines have, from 24 on: does it parse, and is it
//! valid without any capability but, where values are `f16`, that of this type? Fails if a text is refused.
//!
//!     wgpu-cast-naga [FILE]     also writes the texts into a file, one a line as a JSON string, for other compilers

use std::collections::BTreeSet;
use std::error::Error;
use std::io::{BufWriter, Write as _};
use std::process::ExitCode;

use support::texts;

/// Reads a text with a version of naga and these capabilities by their names, and gives its reason if it refuses the text. `None` if
/// that version has no such capability.
type Read = fn(&str, &[&str]) -> Option<Result<(), String>>;

macro_rules! versions {
    ($($naga:ident $version:literal)*) => {
        [$(($version, |wgsl: &str, capabilities: &[&str]| {
            use $naga::valid::{Capabilities, ValidationFlags, Validator};
            let capabilities = capabilities.iter().map(|name| Capabilities::from_name(name)).collect::<Option<Capabilities>>()?;
            let read = || {
                let module = $naga::front::wgsl::parse_str(wgsl).map_err(|error| error.emit_to_string(wgsl))?;
                let mut validator = Validator::new(ValidationFlags::all(), capabilities);
                validator.validate(&module).map(drop).map_err(|error| error.emit_to_string(wgsl))
            };
            Some(read())
        })),*]
    };
}

/// From the oldest version that engines are promised to the one of the crate's own wgpu.
const VERSIONS: [(u32, Read); 7] =
    versions! { naga_24 24 naga_25 25 naga_26 26 naga_27 27 naga_28 28 naga_29 29 naga_30 30 };

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let kernels = texts::kernels().into_iter().map(|(name, kernel)| (name, kernel.wgsl().to_owned()));
    let kinds = [
        ("kernels", kernels.collect::<Vec<_>>(), &[][..]),
        ("kernels of plans", texts::plans(texts::specs_by_width()), &[]),
        ("modules of functions", texts::functions(), &[]),
        ("modules of functions with f16", texts::functions_of_f16().into(), &["SHADER_FLOAT16"]),
    ];
    if let Some(path) = std::env::args_os().nth(1) {
        let mut file = BufWriter::new(std::fs::File::create(path)?);
        let all: BTreeSet<_> = kinds.iter().flat_map(|(_, texts, _)| texts).map(|(_, wgsl)| wgsl.as_str()).collect();
        all.into_iter().try_for_each(|wgsl| writeln!(file, "{}", serde_json::Value::from(wgsl)))?;
        file.flush()?;
    }
    let mut refused = 0;
    for (kind, texts, capabilities) in &kinds {
        // A text that a version lacks the capabilities for is not there for it.
        let read_all = |read: Read| -> Option<Vec<_>> {
            let results = texts.iter().map(|(name, wgsl)| Some((name, read(wgsl, capabilities)?)));
            let results = results.collect::<Option<Vec<_>>>()?;
            Some(results.into_iter().filter_map(|(name, result)| Some((name, result.err()?))).collect())
        };
        let results = std::thread::scope(|scope| {
            let threads = VERSIONS.map(|(_, read)| scope.spawn(move || read_all(read)));
            threads.map(|thread| thread.join().expect("no version of naga panics"))
        });
        for ((version, _), wrong) in VERSIONS.iter().zip(results) {
            let Some(wrong) = wrong else {
                println!("naga {version}: no {kind}: it lacks {}", capabilities.join(", "));
                continue;
            };
            println!("naga {version}: {} of {} {kind} refused", wrong.len(), texts.len());
            if let Some((name, reason)) = wrong.first() {
                println!("  the first: {name}\n{reason}");
            }
            refused += wrong.len();
        }
    }
    Ok(if refused == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
