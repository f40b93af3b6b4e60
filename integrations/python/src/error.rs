//! The module's exceptions. `_errors.py` defines them.

use pyo3::PyErrArguments;
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use wgpu_cast::{CastFault, Error};

/// An exception of the module, by its name in `_errors.py`.
fn exception(py: Python<'_>, name: &str, arguments: impl PyErrArguments + 'static) -> PyErr {
    match py.import("wgpu_cast._errors").and_then(|module| Ok(module.getattr(name)?.cast_into::<PyType>()?)) {
        Ok(class) => PyErr::from_type(class, arguments),
        Err(error) => error,
    }
}

/// A `CastError`: an argument that cannot be cast.
pub fn cast_error(py: Python<'_>, message: impl Into<String>) -> PyErr {
    exception(py, "CastError", (message.into(),))
}

/// A `DeviceError`: no adapter, or one that fails.
pub fn device_error(py: Python<'_>, message: impl Into<String>) -> PyErr {
    exception(py, "DeviceError", (message.into(),))
}

/// A `MissingLibraryError`.
pub fn missing_library(py: Python<'_>, message: String) -> PyErr {
    exception(py, "MissingLibraryError", (message,))
}

/// A `ConvertError`: a message of the program and its exit status.
pub fn convert_error(py: Python<'_>, message: String, status: u8) -> PyErr {
    exception(py, "ConvertError", (message, status))
}

/// A `LossError`, with the counts in the order of `wgpu_cast::LossCounts`.
pub fn loss_error(py: Python<'_>, message: String, counts: Vec<u64>) -> PyErr {
    static FROM_COUNTS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let losses = FROM_COUNTS.import(py, "wgpu_cast._losses", "Losses").and_then(|class| {
        let counts = pyo3::types::PyTuple::new(py, counts)?;
        class.call1(counts)
    });
    match losses {
        Ok(losses) => exception(py, "LossError", (message, losses.unbind())),
        Err(error) => error,
    }
}

/// The exception of an error of the crate `wgpu-cast`.
pub fn from_core(py: Python<'_>, error: &Error) -> PyErr {
    let message = error.to_string();
    match error {
        Error::OutOfMemory { .. } | Error::Cast { cause: CastFault::OutOfMemory { .. }, .. } => {
            PyMemoryError::new_err(message)
        }
        Error::NoAdapter { .. } | Error::AdapterNotFound { .. } => device_error(py, message),
        Error::Cast { cause, .. } => match cause {
            CastFault::Literal { .. } | CastFault::NoScales | CastFault::ZeroPoint { .. } => cast_error(py, message),
            _ => device_error(py, message),
        },
        _ => cast_error(py, message),
    }
}
