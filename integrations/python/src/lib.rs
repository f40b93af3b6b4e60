//! The native part of the Python module `wgpu_cast`: casts of arrays, files and the program.
//!
//! Python code in `python/wgpu_cast` decides what an argument is; only [`cast`] looks at common arguments first, so that
//! small casts take about a microsecond.

mod arguments;
mod bytes;
mod cast;
mod devices;
mod error;
mod how;
mod names;
mod onnx;
mod pack;
mod program;
mod scaled;
mod strings;
mod threads;
mod types;
mod work;

/// The native part of the module wgpu_cast.
#[pyo3::pymodule(name = "_native", gil_used = false)]
mod native {
    #[pymodule_export]
    use super::cast::{cast, cast_codes};
    #[pymodule_export]
    use super::devices::devices;
    #[pymodule_export]
    use super::how::check_options;
    #[pymodule_export]
    use super::names::{dtype, element_bits, element_code, element_name, element_types, string_dtype};
    #[pymodule_export]
    use super::onnx::read_node;
    #[pymodule_export]
    use super::pack::{pack_codes, unpack_codes};
    #[pymodule_export]
    use super::program::{program, run};
    #[pymodule_export]
    use super::scaled::cast_scaled;
    #[pymodule_export]
    use super::strings::{parse, print};
    #[pymodule_export]
    use super::threads::{after_fork, set_threads};

    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "Python's name for a version")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_export]
    const MAPPED_BYTES: usize = super::work::MAPPED_BYTES;
}
