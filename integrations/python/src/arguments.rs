//! The keyword arguments of functions. What each must be, and errors that name it: those of PyO3 do not.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString};

use crate::error::cast_error;

// One reader for each argument: PyO3 does not tell a reader which argument it reads.

pub fn saturate(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    flag(value, "saturate")
}

pub fn strict(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    flag(value, "strict")
}

pub fn losses(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    flag(value, "losses")
}

pub fn round_mode<'a>(value: &'a Bound<'_, PyAny>) -> PyResult<&'a str> {
    word(value, "round_mode")
}

pub fn device<'a>(value: &'a Bound<'_, PyAny>) -> PyResult<&'a str> {
    word(value, "device")
}

pub fn opset(value: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
    let beyond = |opset: &str| cast_error(value.py(), format!("opset {opset} is no opset of ONNX"));
    integer(value, "opset", beyond)
}

fn flag(value: &Bound<'_, PyAny>, name: &str) -> PyResult<bool> {
    value.extract().map_err(|_| must_be(value, name, "True or False"))
}

fn word<'a>(value: &'a Bound<'_, PyAny>, name: &str) -> PyResult<&'a str> {
    let text = value.cast::<PyString>().map_err(|_| must_be(value, name, "a str"))?;
    // A lone surrogate is in no name.
    text.to_str().map_err(|_| unknown(value, name))
}

fn unknown(value: &Bound<'_, PyAny>, name: &str) -> PyErr {
    match value.repr() {
        Ok(text) => cast_error(value.py(), format!("unknown {name} {text}")),
        Err(error) => error,
    }
}

/// A number or `None`. `beyond` makes the error of a number that no `i64` is.
pub fn integer(value: &Bound<'_, PyAny>, name: &str, beyond: impl FnOnce(&str) -> PyErr) -> PyResult<Option<i64>> {
    if value.is_none() {
        return Ok(None);
    }
    value.extract().map(Some).map_err(|_| match value.is_instance_of::<PyInt>() {
        true => beyond(&value.to_string()),
        false => must_be(value, name, "an int or None"),
    })
}

fn must_be(value: &Bound<'_, PyAny>, name: &str, what: &str) -> PyErr {
    match value.get_type().name() {
        Ok(class) => PyTypeError::new_err(format!("{name} must be {what}, got {class}")),
        Err(error) => error,
    }
}
