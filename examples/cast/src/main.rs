//! The program `wgpu-cast`.

use std::process::ExitCode;

fn main() -> ExitCode {
    wgpu_cast_cli::main()
}
