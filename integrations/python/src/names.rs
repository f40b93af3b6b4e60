//! What a caller may write for an element type.

use numpy::{PyArrayDescr, PyArrayDescrMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyString, PyType};
use wgpu_cast::ElementType;

use crate::error::{cast_error, from_core};
use crate::types::{self, loaded};

/// The most names whose types are remembered. A program uses few.
const REMEMBERED: usize = 256;

/// The ONNX numbers of names that were looked up.
fn remembered(py: Python<'_>) -> &Bound<'_, PyDict> {
    static REMEMBERED: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
    REMEMBERED.get_or_init(py, || PyDict::new(py).unbind()).bind(py)
}

/// The element type that `to` means.
///
/// # Errors
/// `to` means none.
pub fn element_type(to: &Bound<'_, PyAny>) -> PyResult<ElementType> {
    let py = to.py();
    if let Ok(dtype) = to.cast::<PyArrayDescr>()
        && let Some(element_type) = types::element_type_by_identity(dtype)?
    {
        return Ok(element_type);
    }
    // Numbers are not remembered: `1 == 1.0 == True`, and these mean different things.
    let is_remembered = to.is_exact_instance_of::<PyString>() || to.is_instance_of::<PyType>();
    let is_remembered = is_remembered || to.is_instance_of::<PyArrayDescr>();
    if !is_remembered {
        return look_up(to);
    }
    let names = remembered(py);
    if let Some(code) = names.get_item(to)? {
        return of_code(py, code.extract()?);
    }
    let found = look_up(to)?;
    if names.len() < REMEMBERED {
        names.set_item(to, found.onnx_code())?;
    }
    Ok(found)
}

fn look_up(to: &Bound<'_, PyAny>) -> PyResult<ElementType> {
    let py = to.py();
    if let Ok(text) = to.cast::<PyString>() {
        return of_text(py, &text.to_cow()?);
    }
    if let Ok(dtype) = to.cast::<PyArrayDescr>() {
        return of_dtype(dtype);
    }
    if let Some(torch) = loaded(py, intern!(py, "torch"))?
        && let Ok(class) = torch.getattr(intern!(py, "dtype"))
        && to.is_instance(&class)?
    {
        let text = to.str()?.to_string();
        let name = text.trim_start_matches("torch.").trim_end_matches("_x2");
        return name.parse().map_err(|_| cast_error(py, format!("{text} is no element type of ONNX")));
    }
    if to.is_instance_of::<PyBool>() {
        return Err(PyTypeError::new_err(format!("an element type is a name, a dtype or an ONNX number, got {to}")));
    }
    if !to.is_instance_of::<PyType>() {
        if let Ok(code) = to.call_method0(intern!(py, "__index__")) {
            return of_code(py, code.extract().unwrap_or(-1))
                .map_err(|_| cast_error(py, format!("{to} is no number of an ONNX element type")));
        }
        // `wgpu_cast.ElementType`.
        if let Ok(code) = to.getattr(intern!(py, "onnx")) {
            return of_code(py, code.extract()?);
        }
        if !to.hasattr(intern!(py, "dtype"))? {
            let class = to.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "an element type is a name, a dtype or an ONNX number, got {class}"
            )));
        }
    }
    of_dtype(&PyArrayDescr::new(py, to)?)
}

pub fn of_code(py: Python<'_>, code: i32) -> PyResult<ElementType> {
    let found = ElementType::from_onnx_code(code);
    found.ok_or_else(|| cast_error(py, format!("{code} is no number of an ONNX element type")))
}

/// A name of ONNX, numpy, ml_dtypes or safetensors. numpy counts bytes where the others count bits: `f4`, `i8`.
fn of_text(py: Python<'_>, text: &str) -> PyResult<ElementType> {
    let counts = matches!(text.as_bytes(), [b'f' | b'i' | b'u', b'1'..=b'8']);
    let of_numpy = || PyArrayDescr::new(py, text).and_then(|dtype| of_dtype(&dtype));
    match (text.parse::<ElementType>(), counts) {
        (Ok(named), true) => match of_numpy() {
            Ok(counted) if counted != named => Err(cast_error(
                py,
                format!("{text:?} is {counted} in numpy and {named} elsewhere: write one of these names"),
            )),
            _ => Ok(named),
        },
        (Ok(named), false) => Ok(named),
        (Err(error), _) => of_numpy().map_err(|_| from_core(py, &error)),
    }
}

fn of_dtype(dtype: &Bound<'_, PyArrayDescr>) -> PyResult<ElementType> {
    let py = dtype.py();
    if let Some(element_type) = types::element_type(dtype)? {
        return Ok(element_type);
    }
    match dtype.kind() {
        b'U' | b'S' | b'T' | b'O' => Ok(ElementType::STRING),
        _ if dtype.is_native_byteorder() == Some(false) => {
            Err(cast_error(py, format!("results have the byte order of this machine, got the dtype {dtype}")))
        }
        _ => Err(cast_error(py, format!("the dtype {dtype} is no element type of ONNX"))),
    }
}

/// The ONNX number of the element type that `to` means.
#[pyfunction]
pub fn element_code(to: &Bound<'_, PyAny>) -> PyResult<i32> {
    element_type(to).map(ElementType::onnx_code)
}

/// The name of an element type.
#[pyfunction]
pub fn element_name(py: Python<'_>, code: i32) -> PyResult<&'static str> {
    of_code(py, code).map(ElementType::name)
}

/// The width of the codes of an element type in bits; 0 for strings.
#[pyfunction]
pub fn element_bits(py: Python<'_>, code: i32) -> PyResult<u32> {
    of_code(py, code).map(|element_type| element_type.bits().unwrap_or(0))
}

/// The numpy dtype of a numeric element type.
#[pyfunction]
pub fn dtype(py: Python<'_>, code: i32) -> PyResult<Bound<'_, PyArrayDescr>> {
    types::dtype(py, of_code(py, code)?)
}

/// The name, the ONNX number, the bits and the aliases of each element type.
#[pyfunction]
pub fn element_types() -> Vec<(&'static str, i32, Option<u32>, Vec<&'static str>)> {
    let row = |t: &ElementType| (t.name(), t.onnx_code(), t.bits(), t.aliases().to_vec());
    ElementType::ALL.iter().map(row).collect()
}
