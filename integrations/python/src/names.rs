//! What a caller may write for an element type.

use numpy::{PyArrayDescr, PyArrayDescrMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyBytes, PyComplex, PyDict, PyFloat, PyInt, PyString, PyType};
use wgpu_cast::ElementType;

use crate::error::{cast_error, from_core};
use crate::types::{self, loaded};

/// What `to` must be, for errors.
const NO_TYPE: &str = "an element type is a name, a dtype or an ONNX number";

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
        return match text.to_cow() {
            Ok(text) => of_text(py, &text),
            // A lone surrogate.
            Err(_) => Err(cast_error(py, format!("unknown element type {}", text.repr()?))),
        };
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
        return Err(PyTypeError::new_err(format!("{NO_TYPE}, got {to}")));
    }
    if let Ok(class) = to.cast::<PyType>() {
        let name = class.fully_qualified_name()?;
        let refused = || PyTypeError::new_err(format!("{NO_TYPE}, got the class {name}"));
        return of_dtype(&dtype_of_class(class)?.ok_or_else(refused)?);
    }
    if let Ok(code) = to.call_method0(intern!(py, "__index__")) {
        return of_code(py, code.extract().unwrap_or(-1))
            .map_err(|_| cast_error(py, format!("{to} is no number of an ONNX element type")));
    }
    // `wgpu_cast.ElementType`.
    if let Ok(code) = to.getattr(intern!(py, "onnx")) {
        return of_code(py, code.extract()?);
    }
    match dtype_attribute(to)? {
        Some(_) => of_dtype(&PyArrayDescr::new(py, to)?),
        None => Err(PyTypeError::new_err(format!("{NO_TYPE}, got {}", to.get_type().name()?))),
    }
}

/// The dtype that is the attribute `dtype` of an object or of a class, such as jax's.
fn dtype_attribute<'py>(to: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyArrayDescr>>> {
    let found = to.getattr_opt(intern!(to.py(), "dtype"))?;
    Ok(found.and_then(|dtype| dtype.cast_into().ok()))
}

/// The dtype that a class means: one of numpy's scalars, of Python's own or of the numbers of ctypes, a class of dtypes, or one with a
/// `dtype`. `None` for other classes, of which numpy makes the dtype of objects.
fn dtype_of_class<'py>(class: &Bound<'py, PyType>) -> PyResult<Option<Bound<'py, PyArrayDescr>>> {
    let py = class.py();
    if class.is_subclass_of::<PyArrayDescr>()? {
        return match class.getattr(intern!(py, "type"))?.cast_into::<PyType>() {
            // The scalars of StringDType are those of Python, which mean another dtype.
            Ok(scalar) if scalar.is(py.get_type::<PyString>()) => Ok(class.call0()?.cast_into().ok()),
            Ok(scalar) => dtype_of_class(&scalar),
            // `numpy.dtype` itself.
            Err(_) => Ok(None),
        };
    }
    let own = [
        py.get_type::<PyBool>(),
        py.get_type::<PyInt>(),
        py.get_type::<PyFloat>(),
        py.get_type::<PyComplex>(),
        py.get_type::<PyString>(),
        py.get_type::<PyBytes>(),
        py.get_type::<PyAny>(),
    ];
    if own.iter().any(|known| known.is(class)) {
        return PyArrayDescr::new(py, class).map(Some);
    }
    if let Some(ctypes) = loaded(py, intern!(py, "ctypes"))?
        && let Some(simple) = ctypes.getattr_opt(intern!(py, "_SimpleCData"))?
        && class.is_subclass(&simple)?
    {
        // The others are characters and pointers.
        let is_number = |dtype: &Bound<'_, PyArrayDescr>| matches!(dtype.kind(), b'b' | b'i' | b'u' | b'f');
        return Ok(PyArrayDescr::new(py, class).ok().filter(is_number));
    }
    // numpy takes subclasses, and classes of several dtypes, for one dtype, with a warning or without.
    let scalar = PyArrayDescr::new(py, class).ok().filter(|dtype| dtype.typeobj().is(class));
    scalar.map_or_else(|| dtype_attribute(class), |dtype| Ok(Some(dtype)))
}

/// The dtype that a text means in numpy. numpy takes a character such as `\0` for the number of a type, and
/// `U+5` for `U5`; these are no names.
fn dtype_of_text<'py>(py: Python<'py>, text: &str) -> Option<Bound<'py, PyArrayDescr>> {
    let is_name = text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'+');
    is_name.then(|| PyArrayDescr::new(py, text).ok()).flatten()
}

/// The dtype of strings that `to` means. `None` if it means only that there are strings, as ONNX does, or anything else.
#[pyfunction]
pub fn string_dtype<'py>(to: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyArrayDescr>>> {
    let dtype = if let Ok(text) = to.cast::<PyString>() {
        let text = text.to_cow()?;
        if text.parse::<ElementType>().is_ok() { None } else { dtype_of_text(to.py(), &text) }
    } else if let Ok(dtype) = to.cast::<PyArrayDescr>() {
        Some(dtype.clone())
    } else if let Ok(class) = to.cast::<PyType>() {
        dtype_of_class(class)?
    } else {
        dtype_attribute(to)?
    };
    Ok(dtype.filter(has_strings))
}

fn has_strings(dtype: &Bound<'_, PyArrayDescr>) -> bool {
    matches!(dtype.kind(), b'U' | b'S' | b'T' | b'O')
}

pub fn of_code(py: Python<'_>, code: i32) -> PyResult<ElementType> {
    let found = ElementType::from_onnx_code(code);
    found.ok_or_else(|| cast_error(py, format!("{code} is no number of an ONNX element type")))
}

/// A name of ONNX, numpy, ml_dtypes or safetensors. numpy counts bytes where the others count bits: `f4`, `i8`.
fn of_text(py: Python<'_>, text: &str) -> PyResult<ElementType> {
    let counts = matches!(text.as_bytes(), [b'f' | b'i' | b'u', b'1'..=b'8']);
    let of_numpy = || dtype_of_text(py, text).and_then(|dtype| of_dtype(&dtype).ok());
    match (text.parse::<ElementType>(), counts) {
        (Ok(named), true) => match of_numpy() {
            Some(counted) if counted != named => Err(cast_error(
                py,
                format!("{text:?} is {counted} in numpy and {named} elsewhere: write one of these names"),
            )),
            _ => Ok(named),
        },
        (Ok(named), false) => Ok(named),
        // `U5` among `U8` and `U16`, the names of safetensors, would be strings.
        (Err(_), _) if text.strip_prefix('U').is_some_and(is_length) => Err(cast_error(
            py,
            format!("{text:?} is no element type, as \"U8\" is uint8 and no string: for strings write \"<{text}\""),
        )),
        (Err(error), _) => of_numpy().ok_or_else(|| from_core(py, &error)),
    }
}

/// Whether a text is a number of characters. `u32` reads a `+` too.
fn is_length(digits: &str) -> bool {
    digits.bytes().all(|byte| byte.is_ascii_digit()) && digits.parse::<u32>().is_ok()
}

fn of_dtype(dtype: &Bound<'_, PyArrayDescr>) -> PyResult<ElementType> {
    let py = dtype.py();
    if let Some(element_type) = types::element_type(dtype)? {
        return Ok(element_type);
    }
    if has_strings(dtype) {
        return Ok(ElementType::STRING);
    }
    let message = match dtype.is_native_byteorder() {
        Some(false) => format!("results have the byte order of this machine, got the dtype {dtype}"),
        _ => format!("the dtype {dtype} is no element type of ONNX"),
    };
    Err(cast_error(py, message))
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

/// The name, the ONNX number, the bits and the aliases of each element type, without the aliases that are refused.
#[pyfunction]
pub fn element_types(py: Python<'_>) -> Vec<(&'static str, i32, Option<u32>, Vec<&'static str>)> {
    let aliases = |t: &ElementType| t.aliases().iter().copied().filter(|alias| of_text(py, alias).is_ok()).collect();
    let row = |t: &ElementType| (t.name(), t.onnx_code(), t.bits(), aliases(t));
    ElementType::ALL.iter().map(row).collect()
}
