//! Arrays of strings. In the file, all strings have the same length: U+0000 fills up shorter ones.

use wgpu_cast::{ElementType, Tensor};

use super::{NpyArray, NpyElements, header};
use crate::error::{FileCause, FileError, NpyFault, PlanFault};
use crate::input::ReadAt;
use crate::memory::zeros;
use crate::onnx::MOST_DIMS;
use crate::stored::count;
use crate::transpose::RowMajorReader;

/// How the strings of an array are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StringLayout {
    /// How characters are stored.
    pub characters: Characters,
    /// The length of each string in characters, or in bytes for [`Characters::Utf8`].
    pub length: u64,
}

/// How the characters of strings are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Characters {
    /// Bytes (`S`), which must be UTF-8.
    Utf8,
    /// UTF-32, little-endian (`<U`).
    Utf32Little,
    /// UTF-32, big-endian (`>U`).
    Utf32Big,
}

/// The number of bytes that are read at a time, unless a single string is longer.
const PIECE: u64 = 1 << 16;

/// The most memory for a slab of an array in column-major order, in bytes, unless a single string is longer.
const SLAB: usize = 64 << 20;

impl StringLayout {
    /// The size of one string in bytes.
    pub(super) fn bytes(self) -> Option<u64> {
        match self.characters {
            Characters::Utf8 => Some(self.length),
            Characters::Utf32Little | Characters::Utf32Big => self.length.checked_mul(4),
        }
    }

    fn decode(self, index: usize, bytes: &[u8]) -> Result<String, FileError> {
        let mut text = String::new();
        // No character takes more bytes in UTF-8 than in UTF-32, so that the text needs at most `bytes.len()` bytes.
        text.try_reserve_exact(bytes.len()).map_err(|_| FileCause::OutOfMemory { bytes: bytes.len() as u64 })?;
        let code: fn([u8; 4]) -> u32 = match self.characters {
            Characters::Utf8 => {
                let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
                let found = std::str::from_utf8(&bytes[..end]).map_err(|_| NpyFault::Utf8 { index })?;
                text.push_str(found);
                return Ok(text);
            }
            Characters::Utf32Little => u32::from_le_bytes,
            Characters::Utf32Big => u32::from_be_bytes,
        };
        let codes = bytes.as_chunks().0;
        let end = codes.iter().rposition(|&bytes| bytes != [0; 4]).map_or(0, |last| last + 1);
        for &bytes in &codes[..end] {
            let code = code(bytes);
            text.push(char::from_u32(code).ok_or(NpyFault::Character { index, code })?);
        }
        Ok(text)
    }
}

impl NpyArray {
    /// Reads the strings of an array of strings, in row-major order. All of them are in memory. For an array from
    /// [`read`](Self::read), the memory grows with the size of the input, and not with what its header claims.
    ///
    /// # Errors
    /// [`FileCause::Request`] for an array of numbers; [`FileCause::Malformed`] if the strings have the length 0, or if one
    /// of them is not valid Unicode; [`FileCause::Read`]; [`FileCause::TooLarge`] and [`FileCause::OutOfMemory`].
    pub fn read_strings(&self, input: &dyn ReadAt) -> Result<Tensor, FileError> {
        let layout = match self.elements {
            NpyElements::Strings(layout) => layout,
            NpyElements::Numbers(storage) => return Err(no_strings(storage.element_type)),
        };
        if layout.length == 0 {
            return Err(NpyFault::Header { reason: "its strings have no length" }.into());
        }
        let size = layout.bytes().ok_or(PlanFault::Size)?;
        let elements = count(&self.shape).ok_or(PlanFault::Size)?;
        let held = elements.checked_mul(size).ok_or(PlanFault::Size)?;
        let shape = self.shape.iter().map(|&axis| usize::try_from(axis)).collect::<Result<Vec<_>, _>>();
        let (Ok(shape), Ok(size)) = (shape, usize::try_from(size)) else { return Err(PlanFault::Size.into()) };
        // An array in row-major order is read like an array with a single axis.
        let axes = if self.column_major && elements > 0 { &self.shape[..] } else { &[elements] };
        let mut reader = RowMajorReader::new(input, self.data_offset, size, axes, SLAB)?;
        let piece = (PIECE / size as u64).max(1);
        let mut buffer = zeros(held.min(piece * size as u64))?;
        let (mut fault, mut index, mut loaded) = (None, 0, 0..0);
        let texts = std::iter::from_fn(|| {
            if index == elements || fault.is_some() {
                return None;
            }
            if !loaded.contains(&index) {
                loaded = index..(index + piece).min(elements);
                let bytes = (loaded.end - loaded.start) as usize * size;
                if let Err(error) = reader.read(index, &mut buffer[..bytes]) {
                    fault = Some(error);
                    return None;
                }
            }
            let bytes = &buffer[(index - loaded.start) as usize * size..][..size];
            let text = layout.decode(index as usize, bytes);
            index += 1;
            text.map_err(|error| fault = Some(error)).ok()
        });
        let tensor = Tensor::from_strings(shape, texts);
        match fault {
            Some(fault) => Err(fault),
            None => Ok(tensor?),
        }
    }
}

/// Writes a tensor of strings as a `.npy` file of dtype `<U`n, where n is the number of characters of the longest
/// string, and at least 1.
///
/// # Errors
/// [`FileCause::Request`] for a tensor of numbers; [`FileCause::Unsupported`] for more axes than numpy allows (64), and
/// for a string that ends with U+0000, because numpy would drop that character; [`FileCause::TooLarge`] and
/// [`FileCause::OutOfMemory`].
pub fn write_strings(tensor: &Tensor) -> Result<Vec<u8>, FileError> {
    let strings = || tensor.strings().ok_or_else(|| no_strings(tensor.element_type()));
    if let Some(index) = strings()?.position(|string| string.ends_with('\0')) {
        return Err(NpyFault::TrailingNul { index }.into());
    }
    if tensor.shape().len() > MOST_DIMS {
        return Err(NpyFault::Axes { limit: MOST_DIMS }.into());
    }
    let longest = strings()?.map(|string| string.chars().count()).max().unwrap_or(0).max(1);
    let shape: Vec<u64> = tensor.shape().iter().map(|&axis| axis as u64).collect();
    let header = header::bytes(&format!("<U{longest}"), false, &shape);
    let size = longest.checked_mul(4).ok_or(PlanFault::Size)?;
    let data = tensor.len().checked_mul(size).ok_or(PlanFault::Size)?;
    let mut bytes = zeros(header.len().checked_add(data).ok_or(PlanFault::Size)? as u64)?;
    let (start, data) = bytes.split_at_mut(header.len());
    start.copy_from_slice(&header);
    for (string, place) in strings()?.zip(data.chunks_exact_mut(size)) {
        for (character, code) in string.chars().zip(place.as_chunks_mut().0) {
            *code = u32::from(character).to_le_bytes();
        }
    }
    Ok(bytes)
}

/// The error of an array or a tensor that has numbers where strings are needed.
fn no_strings(found: ElementType) -> FileError {
    PlanFault::Kind { wanted: "strings", found }.into()
}
