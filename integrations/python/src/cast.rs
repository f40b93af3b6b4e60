//! Casts of arrays.

use numpy::prelude::*;
use numpy::{PyUntypedArray, get_array_module};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;
use wgpu_cast::{CastSpec, ElementType, LossCounts};

use crate::arguments;
use crate::bytes::{Destination, Source};
use crate::error::loss_error;
use crate::how::{How, options};
use crate::names::{element_type, of_code};
use crate::types;
use crate::work::{self, MAPPED_BYTES, Work, item_size};

/// Cast an array to another element type, by the rules of the ONNX operator Cast.
///
/// Parameters
/// ----------
/// x : array
///     A numpy array, of numpy's or ml_dtypes' dtypes; a tensor of torch on the CPU; or anything with ``__array__``,
///     ``__dlpack__`` or the buffer protocol. Any shape, strides and byte order.
/// to : name, dtype or ONNX number
///     ``"float8e4m3fn"``, ``"F8_E4M3"``, ``ml_dtypes.float8_e4m3fn``, ``torch.float8_e4m3fn`` and 17 mean the same.
///     Names are those of ONNX, so that ``"float"`` has 32 bits, and those of numpy, ml_dtypes and safetensors. Classes are those
///     of numpy's and ml_dtypes' scalars and dtypes, numbers of ctypes, and Python's bool, int, float, str, bytes and object as in
///     numpy.
/// saturate : bool
///     float8 results: values beyond the range become the largest finite number instead of an infinity or NaN.
/// round_mode : "up", "down" or "nearest"
///     float8e8m0 results: how a value is rounded to a power of two.
/// out : array, optional
///     Where to write the result. It must be contiguous, have the dtype and the shape of the result, and share no memory
///     with ``x``.
/// strict : bool
///     Raise LossError if a value would be lost, before anything is written.
/// losses : bool
///     Return ``(result, Losses)``: how many values were changed beyond rounding.
/// device : "cpu" or "gpu"
///     "gpu" copies the array to the first adapter of ``devices()`` that works, and back; strings stay on the CPU.
/// opset : int, optional
///     The ONNX opset whose rules apply, from 1 on. The default is the newest.
/// scale : array of a float dtype, optional
///     The scale of each block of ``x``, a numpy array of floats of at most 32 bits, integers of at most 16 bits, or int32: the
///     result is the cast of ``(x - zero_point) * scale``, rounded once to float32. The scales must be exact in float32.
/// block : int or tuple of int, optional
///     The elements along each axis that share a scale; a number is for the last axis, with 1 along the others. The last block
///     of an axis may be shorter. Without it, ``scale`` has one element, or as many axes as ``x``, whose lengths divide those
///     of ``x``.
/// zero_point : array of an integer dtype, optional
///     What is subtracted from the elements of each block, in the range of the dtype of ``x``; 0 if these are floats or int32. It
///     has the shape of ``scale``.
///
/// Returns
/// -------
/// A new array with the shape of ``x`` and its order of axes, as ``x.astype(dtype, order="K")`` has it, or ``out``. Its dtype
/// is one of numpy or ml_dtypes; types of fewer than 8 bits take one byte for each element. A tensor of torch gives a tensor.
/// Strings have the dtype ``U``, or the dtype ``U``, ``S``, ``StringDType`` or ``object`` that ``to`` is or names: ``"S3"`` is
/// ``numpy.dtype("S3")``, and a text of more bytes is an error.
///
/// Raises
/// ------
/// CastError (a ValueError)
///     ``to`` is no element type, the elements of ``x`` are of none, an array is masked, ``out`` does not fit, another cast
///     writes ``x`` or uses ``out``, or a text is not a number. Its subclasses are LossError (``strict``), MissingLibraryError
///     (the dtype needs ml_dtypes, or a newer one) and DeviceError (there is no adapter, or it fails).
/// TypeError
///     An argument of another kind.
///
/// Notes
/// -----
/// Each result is the exact value rounded once, so that it does not depend on the machine. The rules:
/// https://onnx.ai/onnx/operators/onnx__Cast.html, with what ONNX leaves open settled as in its newest test data. If Ctrl-C
/// interrupts a cast of more than 2**26 numbers into ``out``, a part of ``out`` is written.
///
/// Examples
/// --------
/// >>> import numpy, wgpu_cast
/// >>> wgpu_cast.cast(numpy.array([1.0, 2.6, 500.0], numpy.float32), "float8e4m3fn")
/// array([1, 2.5, 448], dtype=float8_e4m3fn)
//
// Contiguous numpy arrays of numbers are cast here at once. All other arguments go to `_cast.py`.
#[pyfunction]
#[pyo3(signature = (x, to, *, saturate = true, round_mode = "up", out = None, strict = false, losses = false, device = "cpu", opset = None, scale = None, block = None, zero_point = None))]
#[allow(clippy::too_many_arguments, reason = "the keyword arguments of a Python function")]
pub fn cast<'py>(
    x: &Bound<'py, PyAny>,
    to: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = arguments::saturate)] saturate: bool,
    #[pyo3(from_py_with = arguments::round_mode)] round_mode: &str,
    out: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = arguments::strict)] strict: bool,
    #[pyo3(from_py_with = arguments::losses)] losses: bool,
    #[pyo3(from_py_with = arguments::device)] device: &str,
    #[pyo3(from_py_with = arguments::opset)] opset: Option<i64>,
    scale: Option<&Bound<'py, PyAny>>,
    block: Option<&Bound<'py, PyAny>>,
    zero_point: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = x.py();
    if scale.is_some() || block.is_some() || zero_point.is_some() {
        static SCALED: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let how = (saturate, round_mode, strict, losses, device, opset);
        let scaled = SCALED.import(py, "wgpu_cast._scaled", "cast")?;
        return scaled.call1((x, to, out, how, scale, block, zero_point));
    }
    if !(strict || losses)
        && device == "cpu"
        && opset.is_none()
        && let Ok(array) = x.cast_exact::<PyUntypedArray>()
        && array.is_contiguous()
        && array.is_aligned()
        && let Some(from) = types::element_type(&array.dtype())?
    {
        let to = element_type(to)?;
        if to != ElementType::STRING {
            let spec = CastSpec::new(from, to).with_options(options(py, saturate, round_mode)?);
            match out {
                // `_memory.py` chooses where large results are.
                None if array.len() * item_size(to) < MAPPED_BYTES => return cast_contiguous(array, &spec),
                None => {}
                Some(out) if cast_into(array, &spec, out)? => return Ok(out.clone()),
                // Arrays that do not fit at once, or do not fit at all.
                Some(_) => {}
            }
        }
    }
    static OTHERS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let how = (saturate, round_mode, strict, losses, device, opset);
    OTHERS.import(py, "wgpu_cast._cast", "cast")?.call1((x, to, out, how))
}

fn cast_contiguous<'py>(array: &Bound<'py, PyUntypedArray>, spec: &CastSpec) -> PyResult<Bound<'py, PyAny>> {
    static EMPTY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = array.py();
    let empty = EMPTY.get_or_try_init(py, || Ok::<_, PyErr>(get_array_module(py)?.getattr("empty")?.unbind()))?;
    let empty = empty.bind(py);
    let (shape, dtype) = (array.getattr(intern!(py, "shape"))?, types::dtype(py, spec.to)?);
    let result = match array.is_c_contiguous() {
        true => empty.call1((shape, dtype))?,
        false => empty.call1((shape, dtype, intern!(py, "F")))?,
    };
    let source = Source::new(array)?;
    let mut destination = Destination::new(result.cast()?)?;
    let work = Work { spec, counts: false, on_gpu: false, is_new: true };
    work.cast(py, source.bytes()?, destination.bytes()?)?;
    Ok(result)
}

/// Casts into an array that has the dtype, the shape and the order of the result. Returns false, and does nothing, if this
/// array does not have them.
fn cast_into<'py>(array: &Bound<'py, PyUntypedArray>, spec: &CastSpec, out: &Bound<'py, PyAny>) -> PyResult<bool> {
    let Ok(out) = out.cast_exact::<PyUntypedArray>() else { return Ok(false) };
    let same_order = (array.is_c_contiguous() && out.is_c_contiguous())
        || (array.is_fortran_contiguous() && out.is_fortran_contiguous());
    let fits = same_order && out.is_aligned() && array.shape() == out.shape();
    if !fits || types::element_type(&out.dtype())? != Some(spec.to) {
        return Ok(false);
    }
    let source = Source::new(array)?;
    let Ok(mut destination) = Destination::new(out) else { return Ok(false) };
    // Arrays of different owners can share memory.
    let (read, written) = (source.bytes()?.as_ptr_range(), destination.bytes()?.as_ptr_range());
    if read.start < written.end && written.start < read.end {
        return Ok(false);
    }
    let work = Work { spec, counts: false, on_gpu: false, is_new: false };
    work.cast(array.py(), source.bytes()?, destination.bytes()?)?;
    Ok(true)
}

/// Casts the codes of an array into those of another one. Both are contiguous and have the same shape. The memory of
/// the other one may be new. Returns the counts of what is lost, if `losses` is wanted.
#[pyfunction]
pub fn cast_codes<'py>(
    source: &Bound<'py, PyUntypedArray>,
    from: i32,
    destination: &Bound<'py, PyUntypedArray>,
    to: i32,
    is_new: bool,
    how: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyTuple>>> {
    let py = source.py();
    let how = How::new(how)?;
    let (from, to) = (of_code(py, from)?, of_code(py, to)?);
    let spec = CastSpec::new(from, to).with_options(how.options(py, from, to)?);
    let on_gpu = how.on_gpu(py)?;
    let source = Source::new(source)?;
    let source = source.bytes()?;
    // Opened before anything is written.
    let mut destination = Destination::new(destination)?;
    if how.strict {
        let lost = work::count(py, &spec, source)?;
        if lost.total() > 0 {
            return Err(loss_error(py, refusal(&spec, &lost), counts(&lost)));
        }
    }
    let work = Work { spec: &spec, counts: how.losses && !how.strict, on_gpu, is_new };
    let lost = work.cast(py, source, destination.bytes()?)?;
    how.losses.then(|| PyTuple::new(py, counts(&lost))).transpose()
}

pub fn counts(lost: &LossCounts) -> Vec<u64> {
    lost.iter().map(|(_, count)| count).collect()
}

pub fn refusal(spec: &CastSpec, lost: &LossCounts) -> String {
    let told = lost.iter().filter(|(_, count)| *count > 0).map(|(name, count)| format!("{name} {count}"));
    let values = match lost.total() {
        1 => "1 value is lost".to_owned(),
        more => format!("{more} values are lost"),
    };
    format!("cast {} -> {}: {values}: {}", spec.from, spec.to, told.collect::<Vec<_>>().join(", "))
}
