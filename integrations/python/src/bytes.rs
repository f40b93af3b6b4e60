//! The memory of arrays as bytes.

use numpy::prelude::*;
use numpy::{PyArrayDescr, PyArrayDyn, PyReadonlyArrayDyn, PyReadwriteArrayDyn, PyUntypedArray};
use pyo3::intern;
use pyo3::prelude::*;

use crate::error::cast_error;

/// Makes both enums, with one variant for each type of Rust whose memory numpy describes.
macro_rules! bytes {
    ($($Variant:ident $type:ty, $kind:literal $size:literal;)*) => {
        /// The memory of an array that is read. The array must be contiguous.
        pub enum Source<'py> { $($Variant(PyReadonlyArrayDyn<'py, $type>),)* }

        /// The memory of an array that is written. The array must be contiguous.
        pub enum Destination<'py> { $($Variant(PyReadwriteArrayDyn<'py, $type>),)* }

        impl<'py> Source<'py> {
            pub fn new(array: &Bound<'py, PyUntypedArray>) -> PyResult<Self> {
                let busy = |error: numpy::BorrowError| cast_error(array.py(), format!("the source: {error}"));
                let array = viewed(array)?;
                let dtype = array.dtype();
                match (dtype.kind(), dtype.itemsize()) {
                    $(($kind, $size) => {
                        Ok(Self::$Variant(array.cast::<PyArrayDyn<$type>>()?.try_readonly().map_err(busy)?))
                    })*
                    _ => unreachable!("`viewed` leaves no other dtypes"),
                }
            }

            pub fn bytes(&self) -> PyResult<&[u8]> {
                match self { $(Self::$Variant(array) => Ok(bytemuck::cast_slice(array.as_slice()?)),)* }
            }
        }

        impl<'py> Destination<'py> {
            pub fn new(array: &Bound<'py, PyUntypedArray>) -> PyResult<Self> {
                let busy = |error: numpy::BorrowError| cast_error(array.py(), format!("out: {error}"));
                let array = viewed(array)?;
                let dtype = array.dtype();
                match (dtype.kind(), dtype.itemsize()) {
                    $(($kind, $size) => {
                        Ok(Self::$Variant(array.cast::<PyArrayDyn<$type>>()?.try_readwrite().map_err(busy)?))
                    })*
                    _ => unreachable!("`viewed` leaves no other dtypes"),
                }
            }

            pub fn bytes(&mut self) -> PyResult<&mut [u8]> {
                match self { $(Self::$Variant(array) => Ok(bytemuck::cast_slice_mut(array.as_slice_mut()?)),)* }
            }
        }
    };
}

bytes! {
    U8 u8, b'u' 1;
    I8 i8, b'i' 1;
    U16 u16, b'u' 2;
    I16 i16, b'i' 2;
    U32 u32, b'u' 4;
    I32 i32, b'i' 4;
    F16 half::f16, b'f' 2;
    Bf16 half::bf16, b'V' 2;
    F32 f32, b'f' 4;
    U64 u64, b'u' 8;
    I64 i64, b'i' 8;
    F64 f64, b'f' 8;
}

/// An array of a dtype that Rust knows. BOOL and the other types of ml_dtypes are viewed as unsigned integers.
fn viewed<'py>(array: &Bound<'py, PyUntypedArray>) -> PyResult<Bound<'py, PyUntypedArray>> {
    let dtype = array.dtype();
    let py = array.py();
    let unsigned: Bound<'py, PyArrayDescr> = match (dtype.kind(), dtype.itemsize()) {
        (b'u' | b'i', 1 | 2 | 4 | 8) | (b'f', 2 | 4 | 8) | (b'V', 2) => return Ok(array.clone()),
        (_, 1) => numpy::dtype::<u8>(py),
        _ => return Err(cast_error(py, format!("the dtype {dtype} is no element type of ONNX"))),
    };
    Ok(array.call_method1(intern!(py, "view"), (unsigned,))?.cast_into()?)
}
