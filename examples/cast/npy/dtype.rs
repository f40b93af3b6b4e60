//! The dtypes of numpy and the element types they stand for.

use npyz::{DType, Endianness, TypeChar, TypeStr};
use wgpu_cast::ElementType;

use crate::output::counted;

/// The types that numpy has. All other types are stored as raw codes.
const NUMPY: [(TypeChar, u64, ElementType); 12] = [
    (TypeChar::Bool, 1, ElementType::BOOL),
    (TypeChar::Int, 1, ElementType::INT8),
    (TypeChar::Int, 2, ElementType::INT16),
    (TypeChar::Int, 4, ElementType::INT32),
    (TypeChar::Int, 8, ElementType::INT64),
    (TypeChar::Uint, 1, ElementType::UINT8),
    (TypeChar::Uint, 2, ElementType::UINT16),
    (TypeChar::Uint, 4, ElementType::UINT32),
    (TypeChar::Uint, 8, ElementType::UINT64),
    (TypeChar::Float, 2, ElementType::FLOAT16),
    (TypeChar::Float, 4, ElementType::FLOAT),
    (TypeChar::Float, 8, ElementType::DOUBLE),
];

/// Bytes of one unpacked code.
fn code_bytes(element_type: ElementType) -> usize {
    element_type.bits().unwrap_or(0).div_ceil(8) as usize
}

/// How the elements of a file are stored.
#[derive(Debug)]
pub struct Stored {
    /// The type of the codes.
    pub element_type: ElementType,
    /// Whether the codes are big-endian.
    pub big_endian: bool,
}

impl Stored {
    /// Bytes per element in the file.
    pub fn size(&self) -> usize {
        code_bytes(self.element_type)
    }

    /// The storage of a file of this dtype. `from` is the type that the user gives.
    ///
    /// # Errors
    /// The dtype is not supported, or contradicts `from`.
    pub fn new(dtype: &DType, from: Option<ElementType>) -> Result<Self, String> {
        let DType::Plain(plain) = dtype else {
            return Err("structured dtypes are not supported".to_owned());
        };
        let (kind, size) = (plain.type_char(), plain.size_field());
        let natural = NUMPY.iter().find(|row| (row.0, row.1) == (kind, size)).map(|row| row.2);
        let raw = matches!(kind, TypeChar::Uint | TypeChar::RawData);
        let element_type = match (natural, from) {
            (Some(natural), None) => natural,
            (Some(natural), Some(from)) if natural == from => natural,
            (_, Some(from)) if raw && size == code_bytes(from) as u64 => from,
            (_, Some(from)) if raw => {
                let takes = code_bytes(from);
                return Err(format!("dtype '{plain}' has {} per element, {from} needs {takes}", counted(size, "byte")));
            }
            (Some(natural), Some(from)) => {
                return Err(format!("dtype '{plain}' is {natural}, which contradicts --from {from}"));
            }
            (None, None) if raw => {
                return Err(format!("dtype '{plain}' does not determine the element type: add --from TYPE"));
            }
            (None, _) => return Err(format!("dtype '{plain}' is not supported")),
        };
        Ok(Self { element_type, big_endian: plain.endianness() == Endianness::Big && size > 1 })
    }
}

/// The dtype in which a tensor of this type is written.
pub fn of(element_type: ElementType) -> TypeStr {
    let known = NUMPY.iter().find(|row| row.2 == element_type).map(|row| (row.0, row.1));
    let (kind, size) = known.unwrap_or((TypeChar::Uint, code_bytes(element_type) as u64));
    let order = if size == 1 { '|' } else { '<' };
    format!("{order}{kind}{size}").parse().expect("the table's types are numpy's")
}
