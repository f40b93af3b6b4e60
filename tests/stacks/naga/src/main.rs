//! Gives every text of WGSL that wgpu-cast makes to each version of naga that engines have, from 24 on: does it parse, and is it
//! valid without any capability? Fails if a text is refused.
//!
//!     wgpu-cast-naga [FILE]     also writes the texts into a file, one a line as a JSON string, for other compilers

use std::collections::BTreeSet;
use std::error::Error;
use std::io::{BufWriter, Write as _};
use std::process::ExitCode;

use support::texts;

/// Reads a text with a version of naga, and gives its reason if it refuses the text.
type Read = fn(&str) -> Result<(), String>;

macro_rules! versions {
    ($($naga:ident $version:literal)*) => {
        [$(($version, |wgsl: &str| {
            use $naga::valid::{Capabilities, ValidationFlags, Validator};
            let module = $naga::front::wgsl::parse_str(wgsl).map_err(|error| error.emit_to_string(wgsl))?;
            let mut validator = Validator::new(ValidationFlags::all(), Capabilities::empty());
            validator.validate(&module).map(drop).map_err(|error| error.emit_to_string(wgsl))
        })),*]
    };
}

/// From the oldest version that engines are promised to the one of the crate's own wgpu.
const VERSIONS: [(u32, Read); 7] =
    versions! { naga_24 24 naga_25 25 naga_26 26 naga_27 27 naga_28 28 naga_29 29 naga_30 30 };

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let kernels = texts::kernels().into_iter().map(|(name, kernel)| (name, kernel.wgsl().to_owned()));
    let kinds = [
        ("kernels", kernels.collect::<Vec<_>>()),
        ("kernels of plans", texts::plans(texts::specs_by_width())),
        ("modules of functions", texts::functions()),
    ];
    if let Some(path) = std::env::args_os().nth(1) {
        let mut file = BufWriter::new(std::fs::File::create(path)?);
        let all: BTreeSet<_> = kinds.iter().flat_map(|(_, texts)| texts).map(|(_, wgsl)| wgsl.as_str()).collect();
        all.into_iter().try_for_each(|wgsl| writeln!(file, "{}", serde_json::Value::from(wgsl)))?;
        file.flush()?;
    }
    let mut refused = 0;
    for (kind, texts) in &kinds {
        let read_all = |read: Read| texts.iter().filter_map(|(name, wgsl)| Some((name, read(wgsl).err()?))).collect();
        let results: Vec<Vec<_>> = std::thread::scope(|scope| {
            let threads = VERSIONS.map(|(_, read)| scope.spawn(move || read_all(read)));
            threads.into_iter().map(|thread| thread.join().expect("no version of naga panics")).collect()
        });
        for ((version, _), wrong) in VERSIONS.iter().zip(results) {
            println!("naga {version}: {} of {} {kind} refused", wrong.len(), texts.len());
            if let Some((name, reason)) = wrong.first() {
                println!("  the first: {name}\n{reason}");
            }
            refused += wrong.len();
        }
    }
    Ok(if refused == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
