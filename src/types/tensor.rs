//! Host tensors: an element type, a shape, and packed little-endian codes or strings.

use std::ops::DerefMut;
use std::sync::Arc;

use bytes::Bytes;
use half::{bf16, f16};

use crate::bits::packing;
use crate::types::element::ElementType;
use crate::types::error::{CastFault, Error};
use crate::types::packed::Memory;
use crate::types::string_array::StringArray;

/// A tensor in host memory.
///
/// The data has the layout of ONNX's `raw_data`: row-major and little-endian. Codes narrower than a byte are packed,
/// low bits first: two 4-bit or four 2-bit codes per byte, four 6-bit codes per three bytes. Unused bits of the last
/// byte are zero. A scalar has the shape `[]` and one element; a tensor with a 0 in its shape has no elements. STRING
/// elements are UTF-8 and have no packed form; [`Tensor::strings`] returns them.
///
/// Clones share the data. [`Tensor::from_shared`] takes bytes that something else owns, such as a memory-mapped file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    element_type: ElementType,
    /// The tensors of a model share their shape with the results of their casts, because a cast keeps the shape.
    shape: Arc<[usize]>,
    elements: usize,
    data: Data,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Data {
    Packed(Bytes),
    Strings(Arc<StringArray>),
}

impl Tensor {
    /// Creates a tensor from its packed bytes. Unused bits of the last byte are cleared.
    ///
    /// # Errors
    /// [`Error::ElementWidth`] for STRING; [`Error::Shape`] if the size overflows, or if the length of `bytes` does
    /// not match the shape and the type.
    pub fn from_bytes(element_type: ElementType, shape: impl Into<Vec<usize>>, bytes: Vec<u8>) -> Result<Self, Error> {
        Self::with_shape(element_type, shape.into().into(), bytes)
    }

    /// As [`from_bytes`](Self::from_bytes), with a shape that other tensors share.
    pub(crate) fn with_shape<B: DerefMut<Target = [u8]> + Into<Bytes>>(
        element_type: ElementType,
        shape: Arc<[usize]>,
        mut bytes: B,
    ) -> Result<Self, Error> {
        let (elements, expected) = sizes(element_type, &shape)?;
        if bytes.len() != expected {
            return Err(byte_length(element_type, &shape, expected, bytes.len()));
        }
        packing::clear_pad(&mut bytes, element_type.code_bits(), elements as u64);
        Ok(Self { element_type, shape, elements, data: Data::Packed(bytes.into()) })
    }

    /// Creates a tensor from packed bytes that something else owns, such as a memory-mapped file or an `Arc<[u8]>`
    /// ([`Bytes::from_owner`]). The bytes are shared, not copied; the owner is dropped with the last clone of the tensor.
    ///
    /// The bytes are copied only to clear an unused bit of the last byte that is set. Types of at least 8 bits have no
    /// unused bits.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use wgpu_cast::{Bytes, CastOptions, ElementType, Tensor, cpu};
    ///
    /// let weights: Arc<[u8]> = Arc::from([0x38, 0xc0]);
    /// let tensor = Tensor::from_shared(ElementType::FLOAT8E4M3FN, [2], Bytes::from_owner(weights.clone()))?;
    /// assert_eq!(tensor.bytes().map(<[u8]>::as_ptr), Some(weights.as_ptr()));
    /// let floats = cpu::cast(&tensor, ElementType::FLOAT, &CastOptions::default())?;
    /// assert_eq!(floats.to_vec::<f32>()?, [1.0, -2.0]);
    /// # Ok::<(), wgpu_cast::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::from_bytes`].
    pub fn from_shared(element_type: ElementType, shape: impl Into<Vec<usize>>, bytes: Bytes) -> Result<Self, Error> {
        let shape = shape.into();
        let (elements, expected) = sizes(element_type, &shape)?;
        if bytes.len() != expected {
            return Err(byte_length(element_type, &shape, expected, bytes.len()));
        }
        let used = packing::used_bits(element_type.code_bits(), elements as u64);
        if bytes.last().is_some_and(|last| last & !used != 0) {
            return Self::from_bytes(element_type, shape, bytes.to_vec());
        }
        Ok(Self { element_type, shape: shape.into(), elements, data: Data::Packed(bytes) })
    }

    /// Creates a tensor from one code per element. Bits above the type's width are dropped.
    ///
    /// # Errors
    /// [`Error::ElementWidth`] for STRING; [`Error::Shape`] if the size overflows, or if the number of codes does not
    /// match the shape; [`Error::OutOfMemory`] if there is no memory for the codes.
    pub fn from_codes(
        element_type: ElementType,
        shape: impl Into<Vec<usize>>,
        codes: impl IntoIterator<Item = u64>,
    ) -> Result<Self, Error> {
        let shape = shape.into();
        let (expected, bytes) = sizes(element_type, &shape)?;
        let mut codes = codes.into_iter();
        let mut found = 0;
        let packed =
            packing::pack_codes(element_type.code_bits(), codes.by_ref().take(expected).inspect(|_| found += 1));
        let packed = packed.map_err(|_| Error::OutOfMemory { bytes: bytes as u64 })?;
        if packed.len() == bytes && found == expected && codes.next().is_none() {
            return Self::from_bytes(element_type, shape, packed);
        }
        let found = (found < expected).then_some(found);
        Err(element_count(element_type, shape, expected, found))
    }

    /// Creates a STRING tensor.
    ///
    /// # Errors
    /// [`Error::Shape`] if the number of elements overflows, or if the number of strings does not match the shape;
    /// [`Error::OutOfMemory`] if there is no memory for the strings.
    pub fn from_strings<S: AsRef<str>>(
        shape: impl Into<Vec<usize>>,
        strings: impl IntoIterator<Item = S>,
    ) -> Result<Self, Error> {
        let (element_type, shape) = (ElementType::STRING, shape.into());
        let expected = count(element_type, &shape)?;
        let mut given = strings.into_iter();
        let mut strings = StringArray::default();
        for string in given.by_ref().take(expected) {
            let string = string.as_ref();
            strings.push(string).map_err(|_| Error::OutOfMemory { bytes: string.len() as u64 })?;
        }
        let found = strings.len();
        if found == expected && given.next().is_none() {
            let data = Data::Strings(Arc::new(strings));
            return Ok(Self { element_type, shape: shape.into(), elements: expected, data });
        }
        let found = (found < expected).then_some(found);
        Err(element_count(element_type, shape, expected, found))
    }

    /// Creates a tensor from values of a Rust type: see [`Element`].
    ///
    /// # Errors
    /// As [`Tensor::from_bytes`].
    pub fn from_slice<T: Element>(shape: impl Into<Vec<usize>>, values: &[T]) -> Result<Self, Error> {
        let mut bytes = Vec::with_capacity(size_of_val(values));
        values.iter().for_each(|value| value.write(&mut bytes));
        Self::from_bytes(T::ELEMENT_TYPE, shape, bytes)
    }

    /// The element type.
    pub fn element_type(&self) -> ElementType {
        self.element_type
    }

    /// The number of elements along each axis; empty for a scalar.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The shape, for other tensors of the same shape.
    #[cfg(feature = "wgpu")]
    pub(crate) fn shared_shape(&self) -> Arc<[usize]> {
        self.shape.clone()
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.elements
    }

    /// Whether the tensor has no elements.
    pub fn is_empty(&self) -> bool {
        self.elements == 0
    }

    /// The packed little-endian bytes; `None` for strings.
    pub fn bytes(&self) -> Option<&[u8]> {
        self.packed().ok()
    }

    /// The packed little-endian bytes; `None` for strings. They are copied if a clone shares them or if they belong to
    /// an owner (see [`from_shared`](Self::from_shared)). On Linux the result of a cast is also copied if it has at
    /// least 32 MiB. If there is no memory for the copy, the process ends, as with any `Vec` that grows.
    /// [`into_shared`](Self::into_shared) copies nothing.
    pub fn into_bytes(self) -> Option<Vec<u8>> {
        self.into_shared().map(Vec::from)
    }

    /// The packed little-endian bytes; `None` for strings. They are not copied.
    pub fn into_shared(self) -> Option<Bytes> {
        match self.data {
            Data::Packed(bytes) => Some(bytes),
            Data::Strings(_) => None,
        }
    }

    /// The packed bytes.
    pub(crate) fn packed(&self) -> Result<&[u8], Error> {
        match &self.data {
            Data::Packed(bytes) => Ok(bytes),
            Data::Strings(_) => Err(Error::no_codes(self.element_type)),
        }
    }

    /// The strings in row-major order; `None` for other types.
    pub fn strings(&self) -> Option<impl ExactSizeIterator<Item = &str>> {
        self.string_array().map(StringArray::iter)
    }

    /// Bytes of the elements: of the packed codes, or of the strings' text.
    #[cfg_attr(not(feature = "wgpu"), allow(dead_code, reason = "devices are chosen by it"))]
    pub(crate) fn data_len(&self) -> u64 {
        match &self.data {
            Data::Packed(bytes) => bytes.len() as u64,
            Data::Strings(strings) => strings.text_len() as u64,
        }
    }

    pub(crate) fn string_array(&self) -> Option<&StringArray> {
        match &self.data {
            Data::Packed(_) => None,
            Data::Strings(strings) => Some(strings),
        }
    }

    /// The code of each element in the low bits of a `u64`, in row-major order; empty for strings.
    pub fn codes(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        let bits = self.element_type.code_bits();
        let bytes = self.bytes();
        let elements = if bytes.is_some() { self.elements } else { 0 };
        let bytes = bytes.unwrap_or_default();
        (0..elements).map(move |index| packing::read_code(bytes, bits, index))
    }

    /// The elements as values of a Rust type.
    ///
    /// # Errors
    /// [`Error::ElementTypeMismatch`] if the tensor's type is not [`T::ELEMENT_TYPE`](Element::ELEMENT_TYPE).
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>, Error> {
        if T::ELEMENT_TYPE != self.element_type {
            return Err(Error::ElementTypeMismatch { wanted: T::ELEMENT_TYPE, found: self.element_type });
        }
        Ok(self.codes().map(T::from_code).collect())
    }

    /// The same elements in another shape.
    ///
    /// # Errors
    /// [`Error::Shape`] if the new shape has another number of elements, or if that number overflows.
    pub fn reshape(mut self, shape: impl Into<Vec<usize>>) -> Result<Self, Error> {
        let shape = shape.into();
        let expected = count(self.element_type, &shape)?;
        if expected != self.elements {
            let (element_type, found) = (self.element_type, Some(self.elements));
            return Err(element_count(element_type, shape, expected, found));
        }
        self.shape = shape.into();
        Ok(self)
    }

    /// The result of a cast: the same shape, packed bytes of another type with clean padding.
    pub(crate) fn with_bytes(&self, element_type: ElementType, bytes: Memory) -> Self {
        assert_eq!(element_type.packed_bytes(self.elements as u64), Some(bytes.len() as u64));
        self.with_data(element_type, Data::Packed(bytes.into()))
    }

    /// The same codes as another type of the same width, sharing the bytes.
    pub(crate) fn with_type(&self, element_type: ElementType) -> Self {
        assert_eq!(element_type.code_bits(), self.element_type.code_bits());
        self.with_data(element_type, self.data.clone())
    }

    /// The result of a cast to strings.
    pub(crate) fn with_strings(&self, strings: StringArray) -> Self {
        assert_eq!(strings.len(), self.elements);
        self.with_data(ElementType::STRING, Data::Strings(Arc::new(strings)))
    }

    fn with_data(&self, element_type: ElementType, data: Data) -> Self {
        Self { element_type, shape: self.shape.clone(), elements: self.elements, data }
    }
}

/// Zeroed memory for a result of casting `from` to `to`, or an error if there is none.
pub(crate) fn zeroed(from: ElementType, to: ElementType, bytes: usize) -> Result<Memory, Error> {
    Memory::zeroed(bytes).ok_or_else(|| Error::cast(from, to, CastFault::OutOfMemory { bytes: bytes as u64 }))
}

fn byte_length(element_type: ElementType, shape: &[usize], expected: usize, found: usize) -> Error {
    Error::byte_length(element_type, shape.to_vec(), expected as u64, found as u64)
}

/// `found` is `None` if there are more elements than expected.
fn element_count(element_type: ElementType, shape: Vec<usize>, expected: usize, found: Option<usize>) -> Error {
    let (expected, found) = (Some(expected as u64), found.map(|found| found as u64));
    Error::Shape { element_type, shape, expected, found, unit: "element" }
}

/// The number of elements of a shape, and the size of their packed codes in bytes.
fn sizes(element_type: ElementType, shape: &[usize]) -> Result<(usize, usize), Error> {
    if !element_type.is_numeric() {
        return Err(Error::no_codes(element_type));
    }
    let elements = count(element_type, shape)?;
    let bytes = element_type.packed_bytes(elements as u64).and_then(|bytes| usize::try_from(bytes).ok());
    let bytes = bytes.ok_or_else(|| Error::shape_overflow(element_type, shape))?;
    Ok((elements, bytes))
}

/// The number of elements of a shape.
pub(crate) fn count(element_type: ElementType, shape: &[usize]) -> Result<usize, Error> {
    // An axis of size 0 means no elements, even where the product of the other axes would overflow.
    let elements = if shape.contains(&0) { Some(0) } else { shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d)) };
    elements.ok_or_else(|| Error::shape_overflow(element_type, shape))
}

/// A Rust type that corresponds to an element type.
///
/// Implemented for `bool`, the integers of 8 to 64 bits, `f32`, `f64`, [`half::f16`] and [`half::bf16`].
pub trait Element: Copy + private::Sealed {
    /// The element type.
    const ELEMENT_TYPE: ElementType;
    #[doc(hidden)]
    fn write(self, bytes: &mut Vec<u8>);
    #[doc(hidden)]
    fn from_code(code: u64) -> Self;
}

mod private {
    pub trait Sealed {}
}

macro_rules! elements {
    ($($rust:ty, $element_type:ident, |$value:ident| $bytes:expr, |$code:ident| $from:expr;)*) => {$(
        impl private::Sealed for $rust {}
        impl Element for $rust {
            const ELEMENT_TYPE: ElementType = ElementType::$element_type;
            fn write(self, bytes: &mut Vec<u8>) {
                let $value = self;
                bytes.extend_from_slice(&$bytes);
            }
            fn from_code($code: u64) -> Self {
                $from
            }
        }
    )*};
}

elements! {
    bool, BOOL, |v| [v as u8], |c| c != 0;
    i8, INT8, |v| v.to_le_bytes(), |c| c as i8;
    u8, UINT8, |v| [v], |c| c as u8;
    i16, INT16, |v| v.to_le_bytes(), |c| c as i16;
    u16, UINT16, |v| v.to_le_bytes(), |c| c as u16;
    i32, INT32, |v| v.to_le_bytes(), |c| c as i32;
    u32, UINT32, |v| v.to_le_bytes(), |c| c as u32;
    i64, INT64, |v| v.to_le_bytes(), |c| c as i64;
    u64, UINT64, |v| v.to_le_bytes(), |c| c;
    f16, FLOAT16, |v| v.to_bits().to_le_bytes(), |c| f16::from_bits(c as u16);
    bf16, BFLOAT16, |v| v.to_bits().to_le_bytes(), |c| bf16::from_bits(c as u16);
    f32, FLOAT, |v| v.to_bits().to_le_bytes(), |c| f32::from_bits(c as u32);
    f64, DOUBLE, |v| v.to_bits().to_le_bytes(), |c| f64::from_bits(c);
}

#[cfg(test)]
mod tests {
    use super::*;
    use ElementType::*;

    #[test]
    fn tensors_that_differ_are_not_equal() {
        let own = |bytes: [u8; 2]| Tensor::from_bytes(UINT8, [2], bytes.into()).unwrap();
        let shared = |bytes: [u8; 2]| Tensor::from_shared(UINT8, [2], Bytes::from_owner(bytes)).unwrap();
        assert_eq!(own([1, 2]), shared([1, 2]));
        assert_ne!(own([1, 2]), own([1, 3]));
        assert_ne!(own([1, 2]), shared([1, 3]));
        assert_ne!(own([1, 2]), own([1, 2]).reshape([1, 2]).unwrap());
        assert_ne!(Tensor::from_strings([1], ["a"]).unwrap(), Tensor::from_strings([1], ["b"]).unwrap());
    }

    #[test]
    fn sizes_of_tensors() {
        for (shape, is_empty) in [(vec![], false), (vec![0], true), (vec![3, 0], true), (vec![1, 2], false)] {
            let count = shape.iter().product::<usize>();
            assert_eq!(Tensor::from_codes(INT4, shape, vec![1; count]).unwrap().is_empty(), is_empty);
        }
        assert_eq!(Tensor::from_codes(INT4, [3], [1, 2, 3]).unwrap().data_len(), 2);
        assert_eq!(Tensor::from_strings([2], ["ab", "ä"]).unwrap().data_len(), 4);
    }

    #[test]
    fn pads_and_higher_bits_are_cleared() {
        assert_eq!(Tensor::from_bytes(INT4, [1], vec![0xff]).unwrap().bytes().unwrap(), [0x0f]);
        assert_eq!(Tensor::from_bytes(FLOAT6E2M3, [2], vec![0xff, 0xff]).unwrap().bytes().unwrap(), [0xff, 0x0f]);
        assert_eq!(Tensor::from_codes(INT4, [2], [0x1f, 0x21]).unwrap().bytes().unwrap(), [0x1f]);
        assert_eq!(Tensor::from_codes(UINT8, [2], [0x1ff, 0x201]).unwrap().bytes().unwrap(), [0xff, 1]);
    }

    #[test]
    fn as_many_codes_as_the_shape_says() {
        let count =
            |t, shape: &[usize], codes: &[u64]| Tensor::from_codes(t, shape, codes.iter().copied()).unwrap_err();
        for (t, shape, codes, found) in [
            (INT4, &[4][..], &[1, 2, 3][..], Some(3)),
            (INT4, &[3], &[1, 2, 3, 4], None),
            (INT2, &[1], &[1, 2, 3, 0], None),
            (FLOAT6E2M3, &[4], &[1, 2, 3], Some(3)),
            (FLOAT, &[], &[], Some(0)),
        ] {
            let error = count(t, shape, codes);
            assert!(matches!(&error, Error::Shape { found: f, unit: "element", .. } if *f == found), "{error}");
        }
        // The error comes before any allocation for codes that the shape does not take.
        assert!(Tensor::from_codes(FLOAT, [1], 0..u64::MAX).is_err());
        assert_eq!(
            Tensor::from_codes(INT4, [3], [1, 2, 3]).unwrap().reshape([4]).unwrap_err().to_string(),
            "shape [4] of int4 needs 4 elements, got 3"
        );
        assert_eq!(Tensor::from_codes(INT4, [4], [1, 2, 3, 4]).unwrap().reshape([2, 2]).unwrap().shape(), [2, 2]);
    }

    #[test]
    fn shapes_that_cannot_be_counted_are_errors() {
        for shape in [vec![usize::MAX, 2], vec![usize::MAX], vec![1 << (usize::BITS / 2 + 8); 2]] {
            let error = Tensor::from_bytes(DOUBLE, shape.clone(), vec![]).unwrap_err();
            assert_eq!(error, Error::shape_overflow(DOUBLE, &shape));
        }
        assert_eq!(Tensor::from_bytes(DOUBLE, [usize::MAX, 0], vec![]).unwrap().len(), 0);
        assert_eq!(Tensor::from_bytes(STRING, [0], vec![]), Err(Error::no_codes(STRING)));
        let error = Tensor::from_bytes(FLOAT, [2], vec![0; 7]).unwrap_err();
        assert_eq!(error.to_string(), "shape [2] of float needs 8 bytes, got 7");
    }

    #[test]
    fn strings_come_back() {
        let given = ["", "ä", "12", "", "x"];
        let tensor = Tensor::from_strings([5, 1], given).unwrap();
        assert_eq!((tensor.element_type(), tensor.shape(), tensor.len()), (STRING, &[5, 1][..], 5));
        assert_eq!(tensor.strings().unwrap().collect::<Vec<_>>(), given);
        assert_eq!((tensor.bytes(), tensor.codes().len()), (None, 0));
        assert_eq!(tensor.clone().reshape([5]).unwrap().strings().unwrap().len(), 5);
        assert_eq!(tensor.reshape([4]).unwrap_err().to_string(), "shape [4] of string needs 4 elements, got 5");
        let error = |shape: usize| Tensor::from_strings([shape], given).unwrap_err().to_string();
        assert_eq!(error(6), "shape [6] of string needs 6 elements, got 5");
        assert_eq!(error(4), "shape [4] of string needs 4 elements, got more");
        assert!(Tensor::from_strings([usize::MAX, 2], given).is_err());
        assert_eq!(Tensor::from_strings([usize::MAX, 0], [""; 0]).unwrap().len(), 0);
    }

    #[test]
    fn typed_slices_come_back() {
        fn round_trip<T: Element + PartialEq + std::fmt::Debug>(values: &[T]) {
            let tensor = Tensor::from_slice([values.len()], values).unwrap();
            assert_eq!(tensor.to_vec::<T>().unwrap(), values);
            assert_eq!(tensor.element_type(), T::ELEMENT_TYPE);
        }
        round_trip(&[true, false]);
        round_trip(&[i8::MIN, 1]);
        round_trip(&[u8::MAX, 1]);
        round_trip(&[i16::MIN, 1]);
        round_trip(&[u16::MAX, 1]);
        round_trip(&[i32::MIN, 1]);
        round_trip(&[u32::MAX, 1]);
        round_trip(&[i64::MIN, 1]);
        round_trip(&[u64::MAX, 1]);
        round_trip(&[f16::MAX, f16::NEG_INFINITY]);
        round_trip(&[bf16::MAX, bf16::NEG_INFINITY]);
        round_trip(&[f32::MIN_POSITIVE, -0.0]);
        round_trip(&[f64::MIN_POSITIVE, -0.0]);
        let tensor = Tensor::from_slice([1], &[1.0f32]).unwrap();
        let error = tensor.to_vec::<f64>().unwrap_err();
        assert_eq!(error, Error::ElementTypeMismatch { wanted: DOUBLE, found: FLOAT });
    }
}
