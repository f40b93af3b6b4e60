//! Parts of plans, divided into slices.

use wgpu_cast_files::{Part, SourceRange, TensorStorage};

/// The bytes, read and written, of a slice: few enough that all copies of them in the page, in WebAssembly and on the GPU
/// take less than 200 MiB together.
pub const SLICE: u64 = 32 << 20;

/// Slices are divided after a multiple of as many elements, so that each starts at a byte on both sides.
const STEP: u64 = 64;

/// A piece of a part that is made at once.
pub struct Slice {
    pub part: Part,
    /// How much of the whole part is done after it: bytes, or elements that are stored in the order in which they are
    /// written. `None` if that is all of it.
    pub done: Option<u64>,
    /// The bytes of the output; where the slice is to be found in the part, only the most that it can have.
    pub bytes: u64,
}

/// Whether the elements of a part must be moved. Such a part is not divided.
pub fn is_column_major(part: &Part) -> bool {
    match part {
        Part::Cast(cast) => !cast.column_major.is_empty(),
        Part::Codes(codes) => !codes.column_major.is_empty(),
        _ => false,
    }
}

/// The next slice of a part of which so much is done. `None` if a size overflows, or if the part is of an unknown kind.
pub fn next(part: &Part, done: u64) -> Option<Slice> {
    if is_column_major(part) {
        return Some(Slice { part: part.clone(), done: None, bytes: (part.bytes()? - done).min(SLICE) });
    }
    let rest = |end: u64, all: u64| (end < all).then_some(end);
    match part {
        Part::Bytes(bytes) => {
            let end = (done + SLICE).min(bytes.len() as u64);
            let slice = Part::Bytes(bytes[done as usize..end as usize].to_vec());
            Some(Slice { part: slice, done: rest(end, bytes.len() as u64), bytes: end - done })
        }
        Part::Copy(range) => {
            let bytes = (range.bytes - done).min(SLICE);
            let slice = Part::Copy(SourceRange { offset: range.offset + done, bytes, ..*range });
            Some(Slice { part: slice, done: rest(done + bytes, range.bytes), bytes })
        }
        Part::Cast(cast) => {
            let (elements, before, bytes) = elements(&cast.from, &cast.to, cast.elements, done)?;
            let mut slice = cast.clone();
            (slice.elements, slice.offset) = (elements, cast.offset + before);
            Some(Slice { part: Part::Cast(slice), done: rest(done + elements, cast.elements), bytes })
        }
        Part::Codes(codes) => {
            let [from, to] =
                [codes.from, codes.to].map(|stored| TensorStorage { element_type: codes.element_type, codes: stored });
            let (elements, before, bytes) = elements(&from, &to, codes.elements, done)?;
            let mut slice = codes.clone();
            (slice.elements, slice.offset) = (elements, codes.offset + before);
            Some(Slice { part: Part::Codes(slice), done: rest(done + elements, codes.elements), bytes })
        }
        _ => None,
    }
}

/// The elements of the next slice, the bytes before it in the input, and its bytes in the output.
fn elements(from: &TensorStorage, to: &TensorStorage, all: u64, done: u64) -> Option<(u64, u64, u64)> {
    let step = from.bytes(STEP)? + to.bytes(STEP)?;
    let elements = (all - done).min(SLICE / step * STEP);
    Some((elements, from.bytes(done)?, to.bytes(elements)?))
}
