//! The memory of arrays as bytes.

use numpy::prelude::*;
use numpy::{Element, PyArrayDyn, PyReadonlyArrayDyn, PyReadwriteArrayDyn, PyUntypedArray};
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
            /// The array is of the caller's argument `x`.
            pub fn new(array: &Bound<'py, PyUntypedArray>) -> PyResult<Self> {
                Self::of(array, "x")
            }

            /// The same with the name of the caller's argument that the array is of.
            // A name that is handed over at run time takes a twentieth of the time of a small cast.
            #[inline(always)]
            pub fn of(array: &Bound<'py, PyUntypedArray>, name: &str) -> PyResult<Self> {
                let busy = |_| being_written(array, name);
                let dtype = array.dtype();
                match (dtype.kind(), dtype.itemsize()) {
                    $(($kind, $size) => {
                        Ok(Self::$Variant(typed::<$type>(array)?.try_readonly().map_err(busy)?))
                    })*
                    _ => Ok(Self::U8(as_u8(array)?.try_readonly().map_err(busy)?)),
                }
            }

            pub fn bytes(&self) -> PyResult<&[u8]> {
                match self { $(Self::$Variant(array) => Ok(bytemuck::cast_slice(array.as_slice()?)),)* }
            }
        }

        impl<'py> Destination<'py> {
            pub fn new(array: &Bound<'py, PyUntypedArray>) -> PyResult<Self> {
                let busy = |error| match error {
                    numpy::BorrowError::AlreadyBorrowed => cast_error(array.py(), "out is in use by another cast"),
                    error => cast_error(array.py(), format!("out: {error}")),
                };
                let dtype = array.dtype();
                match (dtype.kind(), dtype.itemsize()) {
                    $(($kind, $size) => {
                        Ok(Self::$Variant(typed::<$type>(array)?.try_readwrite().map_err(busy)?))
                    })*
                    _ => Ok(Self::U8(as_u8(array)?.try_readwrite().map_err(busy)?)),
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

/// An array of a type of Rust. One of the same kind and size can be another, such as void, or have the other byte order.
// As a call, this takes a twentieth of the time of a small cast.
#[inline(always)]
fn typed<'a, 'py, T: Element>(array: &'a Bound<'py, PyUntypedArray>) -> PyResult<&'a Bound<'py, PyArrayDyn<T>>> {
    array.cast().map_err(|_| no_element_type(array))
}

#[cold]
fn being_written(array: &Bound<'_, PyUntypedArray>, name: &str) -> PyErr {
    cast_error(array.py(), format!("{name} is being written by another cast"))
}

#[cold]
fn no_element_type(array: &Bound<'_, PyUntypedArray>) -> PyErr {
    cast_error(array.py(), format!("the dtype {} is no element type of ONNX", array.dtype()))
}

/// An array of BOOL or of a type of ml_dtypes, whose elements have one byte, as an array of `u8`. A view by numpy (`array.view`)
/// would take longer than a small cast.
fn as_u8<'py>(array: &Bound<'py, PyUntypedArray>) -> PyResult<Bound<'py, PyArrayDyn<u8>>> {
    let dtype = array.dtype();
    if dtype.itemsize() != 1 || dtype.has_object() {
        return Err(no_element_type(array));
    }
    // SAFETY: `PyArrayDyn<u8>` is the same object; its type says how elements are read and written, and the number of axes
    // is found at run time. Each element has one byte and no reference to an object, and every byte is a `u8`. Of these dtypes,
    // no byte is invalid for numpy.
    #[allow(unsafe_code, reason = "numpy's crate has no safe view of a dtype that Rust does not know")]
    let array = unsafe { array.cast_unchecked::<PyArrayDyn<u8>>() };
    Ok(array.clone())
}
