//! An output file as data.

use wgpu_cast::{CastOptions, ElementType};

use super::clamp::can_clamp;
use super::scaled::ScaledCast;

/// A tensor is divided only after a multiple of `STEP` elements. Any multiple of 8 codes ends at a byte, so that every
/// piece starts at a byte in the input and in the output.
pub(super) const STEP: u64 = 64;

/// The contents of an output file, from front to back.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct FilePlan {
    /// The parts, in the order of the output and without gaps.
    pub parts: Vec<Part>,
}

/// One part of an output file.
#[derive(Clone, Debug, PartialEq, Hash)]
#[non_exhaustive]
pub enum Part {
    /// These bytes, such as a header.
    Bytes(Vec<u8>),
    /// A range of an input, copied.
    Copy(SourceRange),
    /// The elements of a tensor, cast.
    Cast(TensorCast),
    /// The codes of a tensor with scales: multiplied, and cast. Or weights: divided by scales, and cast.
    Scaled(Box<ScaledCast>),
    /// The codes of a tensor as they are, but stored in another way or in another order.
    Codes(TensorCodes),
}

/// A range of bytes of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SourceRange {
    /// The index of the input among those that [`write()`](super::write()) gets.
    pub input: usize,
    /// The first byte.
    pub offset: u64,
    /// The number of bytes.
    pub bytes: u64,
}

/// The cast of a tensor of numbers from a range of an input.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct TensorCast {
    /// The name, for reports.
    pub name: String,
    /// The number of elements.
    pub elements: u64,
    /// The index of the input among those that [`write()`](super::write()) gets.
    pub input: usize,
    /// The first byte of the elements.
    pub offset: u64,
    /// How the elements are stored in the input.
    pub from: TensorStorage,
    /// How they are to be stored in the output.
    pub to: TensorStorage,
    /// The options of the cast.
    pub options: CastOptions,
    /// The lengths of the axes if the input stores the elements in column-major order (the first axis varies fastest).
    /// The output then has them in row-major order, and each code must start at a byte in the input. Empty if the output
    /// has the elements in the order of the input.
    pub column_major: Vec<u64>,
    /// Whether finite values beyond the range of FLOAT16, BFLOAT16 or FLOAT become the largest finite number of that
    /// type, with their sign. They are counted as [`saturated`](wgpu_cast::LossCounts::saturated). Without `clamp` they
    /// become infinite, as ONNX Cast demands. Infinities and NaNs stay. Casts to other types do not change.
    pub clamp: bool,
}

/// The codes of a tensor of numbers from a range of an input. They are never cast: an infinity stays one, and a BOOL
/// keeps its byte. Only their storage and their order can change. Bits that belong to no code are written as zeros.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TensorCodes {
    /// The name, for reports.
    pub name: String,
    /// The number of elements.
    pub elements: u64,
    /// The index of the input among those that [`write()`](super::write()) gets.
    pub input: usize,
    /// The first byte of the elements.
    pub offset: u64,
    /// The element type.
    pub element_type: ElementType,
    /// How the codes are stored in the input.
    pub from: CodeStorage,
    /// How they are to be stored in the output.
    pub to: CodeStorage,
    /// The same as [`TensorCast::column_major`].
    pub column_major: Vec<u64>,
}

/// What [`TensorCast`] and [`TensorCodes`] have in common: the elements of a tensor, and their storage on both sides.
#[derive(Clone, Copy)]
pub(super) struct Elements<'a> {
    pub name: &'a str,
    pub count: u64,
    pub input: usize,
    pub offset: u64,
    pub from: TensorStorage,
    pub to: TensorStorage,
    pub column_major: &'a [u64],
    /// The memory in bytes that scales take for [`STEP`] elements.
    pub scales: u64,
}

/// How the elements of a tensor are stored in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TensorStorage {
    /// The element type.
    pub element_type: ElementType,
    /// How the codes are stored.
    pub codes: CodeStorage,
}

/// How the codes of a tensor are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CodeStorage {
    /// Little-endian. Codes narrower than a byte are packed, low bits first. This is the layout of ONNX's `raw_data`.
    Packed,
    /// Big-endian, for codes of 8 bits or more.
    BigEndian,
    /// One code per byte, for codes of fewer than 8 bits. The higher bits of a byte are written as zeros. In an input
    /// they are ignored, as ml_dtypes ignores them: its versions up to 0.2 wrote INT4 with the sign extended to the byte.
    OnePerByte,
}

impl TensorStorage {
    /// Elements of this type in the layout of ONNX's `raw_data`.
    pub const fn packed(element_type: ElementType) -> Self {
        Self { element_type, codes: CodeStorage::Packed }
    }

    /// The size of `elements` stored elements in bytes; `None` for strings, or if it overflows.
    pub fn bytes(&self, elements: u64) -> Option<u64> {
        match self.codes {
            CodeStorage::Packed => self.element_type.packed_bytes(elements),
            CodeStorage::BigEndian | CodeStorage::OnePerByte => {
                elements.checked_mul(u64::from(self.element_type.bits()?.div_ceil(8)))
            }
        }
    }
}

impl Part {
    /// The size in the output in bytes; `None` for strings, or if it overflows.
    pub fn bytes(&self) -> Option<u64> {
        match self {
            Part::Bytes(bytes) => Some(bytes.len() as u64),
            Part::Copy(range) => Some(range.bytes),
            _ => self.elements().and_then(|elements| elements.to.bytes(elements.count)),
        }
    }

    /// The cast of the elements, if they are cast.
    pub fn cast(&self) -> Option<&TensorCast> {
        match self {
            Part::Cast(cast) => Some(cast),
            Part::Scaled(scaled) => Some(&scaled.cast),
            Part::Bytes(_) | Part::Copy(_) | Part::Codes(_) => None,
        }
    }

    /// The elements of a cast or of codes.
    pub(super) fn elements(&self) -> Option<Elements<'_>> {
        match self {
            Part::Bytes(_) | Part::Copy(_) => None,
            Part::Cast(cast) => Some(cast.elements(0)),
            Part::Scaled(scaled) => Some(scaled.cast.elements(scaled.bytes_of_scales(STEP))),
            Part::Codes(TensorCodes { name, elements, input, offset, element_type, from, to, column_major }) => {
                let stored = |codes| TensorStorage { element_type: *element_type, codes };
                let (count, input, offset, from, to) = (*elements, *input, *offset, stored(*from), stored(*to));
                Some(Elements { name, count, input, offset, from, to, column_major, scales: 0 })
            }
        }
    }
}

impl TensorCast {
    /// The elements. `scales` is the memory that their scales take for [`STEP`] elements.
    fn elements(&self, scales: u64) -> Elements<'_> {
        let Self { name, elements, input, offset, from, to, column_major, .. } = self;
        let (count, input, offset, from, to) = (*elements, *input, *offset, *from, *to);
        Elements { name, count, input, offset, from, to, column_major, scales }
    }
}

impl Elements<'_> {
    /// The number of bytes that `count` elements take in the input and in the output.
    pub fn sizes(&self, count: u64) -> (u64, u64) {
        let bytes = |storage: &TensorStorage| storage.bytes(count).unwrap_or(u64::MAX);
        (bytes(&self.from), bytes(&self.to))
    }
}

impl FilePlan {
    /// The size of the output in bytes; `None` for strings, or if it overflows.
    pub fn bytes(&self) -> Option<u64> {
        self.parts.iter().try_fold(0u64, |sum, part| sum.checked_add(part.bytes()?))
    }

    /// The parts that are casts, in the order of the output.
    pub fn casts(&self) -> impl Iterator<Item = &TensorCast> {
        self.parts.iter().filter_map(Part::cast)
    }

    /// Sets [`TensorCast::clamp`] of each cast that it can change, and clears it for the others. Returns whether there is
    /// a cast that it can change.
    pub fn clamp(&mut self) -> bool {
        let mut has_effect = false;
        for part in &mut self.parts {
            let (cast, from) = match part {
                Part::Cast(cast) => {
                    let from = cast.from.element_type;
                    (cast, from)
                }
                // The products are numbers of FLOAT.
                Part::Scaled(scaled) => (&mut scaled.cast, ElementType::FLOAT),
                Part::Bytes(_) | Part::Copy(_) | Part::Codes(_) => continue,
            };
            cast.clamp = can_clamp(from, cast.to.element_type);
            has_effect |= cast.clamp;
        }
        has_effect
    }
}
