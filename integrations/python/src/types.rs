//! The dtypes of numpy and ml_dtypes that hold element types.

use numpy::{PyArrayDescr, PyArrayDescrMethods, dtype as dtype_of_rust};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyType};
use wgpu_cast::{ElementType, Kind};

use crate::error::missing_library;

/// The dtypes of one library, by element type.
pub struct Dtypes(Vec<(ElementType, Py<PyArrayDescr>)>);

impl Dtypes {
    fn element_type(&self, dtype: &Bound<'_, PyArrayDescr>) -> Option<ElementType> {
        let same = |(_, known): &&(ElementType, Py<PyArrayDescr>)| known.as_ptr() == dtype.as_ptr();
        self.0.iter().find(same).map(|(element_type, _)| *element_type)
    }

    /// As [`element_type`](Self::element_type), also for a dtype that is a copy of a known one.
    fn equal_element_type(&self, dtype: &Bound<'_, PyArrayDescr>) -> Option<ElementType> {
        let equal = |(_, known): &&(ElementType, Py<PyArrayDescr>)| known.bind(dtype.py()).is_equiv_to(dtype);
        self.0.iter().find(equal).map(|(element_type, _)| *element_type)
    }

    fn dtype(&self, element_type: ElementType) -> Option<&Py<PyArrayDescr>> {
        self.0.iter().find(|(known, _)| *known == element_type).map(|(_, dtype)| dtype)
    }
}

/// The types that numpy has itself.
fn of_numpy(py: Python<'_>) -> &Dtypes {
    static OF_NUMPY: PyOnceLock<Dtypes> = PyOnceLock::new();
    OF_NUMPY.get_or_init(py, || {
        let dtypes = ElementType::ALL.iter().filter_map(|&element_type| {
            let signed = matches!(element_type.kind(), Kind::Int { signed: true });
            let dtype = match (element_type, element_type.kind(), element_type.bits()?) {
                (ElementType::FLOAT, ..) => dtype_of_rust::<f32>(py),
                (ElementType::DOUBLE, ..) => dtype_of_rust::<f64>(py),
                (ElementType::FLOAT16, ..) => PyArrayDescr::new(py, "float16").ok()?,
                (_, Kind::Bool, _) => dtype_of_rust::<bool>(py),
                (_, Kind::Int { .. }, 8) if signed => dtype_of_rust::<i8>(py),
                (_, Kind::Int { .. }, 16) if signed => dtype_of_rust::<i16>(py),
                (_, Kind::Int { .. }, 32) if signed => dtype_of_rust::<i32>(py),
                (_, Kind::Int { .. }, 64) if signed => dtype_of_rust::<i64>(py),
                (_, Kind::Int { .. }, 8) => dtype_of_rust::<u8>(py),
                (_, Kind::Int { .. }, 16) => dtype_of_rust::<u16>(py),
                (_, Kind::Int { .. }, 32) => dtype_of_rust::<u32>(py),
                (_, Kind::Int { .. }, 64) => dtype_of_rust::<u64>(py),
                _ => return None,
            };
            Some((element_type, dtype.unbind()))
        });
        Dtypes(dtypes.collect())
    })
}

/// The types of ml_dtypes. Its numbers of types are given out at run time, so the dtypes themselves are looked for.
static OF_ML_DTYPES: PyOnceLock<Dtypes> = PyOnceLock::new();

fn read_ml_dtypes(module: &Bound<'_, PyAny>) -> PyResult<Dtypes> {
    let py = module.py();
    let mut dtypes = Vec::new();
    for name in module.dir()? {
        // Attributes such as `finfo` are no names of types, and `float8_e4m3` is no type of ONNX.
        let Ok(element_type) = name.extract::<String>()?.parse::<ElementType>() else { continue };
        let Ok(class) = module.getattr(name.cast::<PyString>()?)?.cast_into::<PyType>() else { continue };
        dtypes.push((element_type, PyArrayDescr::new(py, class)?.unbind()));
    }
    Ok(Dtypes(dtypes))
}

/// A module, if the program has imported it.
pub fn loaded<'py>(py: Python<'py>, name: &Bound<'py, PyString>) -> PyResult<Option<Bound<'py, PyAny>>> {
    static MODULES: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
    let read = || Ok::<_, PyErr>(py.import("sys")?.getattr("modules")?.cast_into::<PyDict>()?.unbind());
    MODULES.get_or_try_init(py, read)?.bind(py).get_item(name)
}

fn of_ml_dtypes(py: Python<'_>) -> PyResult<Option<&Dtypes>> {
    if let Some(dtypes) = OF_ML_DTYPES.get(py) {
        return Ok(Some(dtypes));
    }
    // While another thread imports the module, it may lack types.
    let Some(module) = loaded(py, intern!(py, "ml_dtypes"))? else { return Ok(None) };
    if module.getattr("__version__").is_err() {
        return Ok(None);
    }
    OF_ML_DTYPES.get_or_try_init(py, || read_ml_dtypes(&module)).map(Some)
}

/// The element type of a dtype that is an object of numpy or ml_dtypes itself, as nearly all are. `None` for others.
pub fn element_type_by_identity(dtype: &Bound<'_, PyArrayDescr>) -> PyResult<Option<ElementType>> {
    let py = dtype.py();
    if let Some(element_type) = of_numpy(py).element_type(dtype) {
        return Ok(Some(element_type));
    }
    Ok(of_ml_dtypes(py)?.and_then(|narrow| narrow.element_type(dtype)))
}

/// The element type that arrays of a dtype hold; `None` for other dtypes, such as those of the other byte order.
pub fn element_type(dtype: &Bound<'_, PyArrayDescr>) -> PyResult<Option<ElementType>> {
    let py = dtype.py();
    if let Some(element_type) = element_type_by_identity(dtype)? {
        return Ok(Some(element_type));
    }
    let found = of_numpy(py).equal_element_type(dtype);
    let narrow = of_ml_dtypes(py)?;
    Ok(found.or_else(|| narrow.and_then(|narrow| narrow.equal_element_type(dtype))))
}

/// The dtype of arrays of a numeric element type.
///
/// # Errors
/// `MissingLibraryError` if ml_dtypes is missing, or too old.
pub fn dtype(py: Python<'_>, element_type: ElementType) -> PyResult<Bound<'_, PyArrayDescr>> {
    if let Some(dtype) = of_numpy(py).dtype(element_type) {
        return Ok(dtype.bind(py).clone());
    }
    if of_ml_dtypes(py)?.is_none() && py.import("ml_dtypes").is_err() {
        let message = format!("numpy has no {element_type}: pip install ml_dtypes");
        return Err(missing_library(py, message));
    }
    let found = of_ml_dtypes(py)?.and_then(|narrow| narrow.dtype(element_type));
    let too_old = || {
        let version = py.import("ml_dtypes").and_then(|module| module.getattr("__version__")?.extract::<String>());
        let version = version.unwrap_or_default();
        let message = format!("ml_dtypes {version} has no {element_type}: pip install --upgrade ml_dtypes");
        missing_library(py, message)
    };
    found.map(|dtype| dtype.bind(py).clone()).ok_or_else(too_old)
}
