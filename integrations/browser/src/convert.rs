//! Files, converted slice by slice: JavaScript asks for the next bytes of the output, and can stop at any time.

#[cfg(feature = "gpu")]
mod gpu;
mod plan;

use js_sys::Uint8Array;
use serde_json::json;
use wasm_bindgen::prelude::*;
use wgpu_cast::files::{
    self, FileError, FilePlan, FinishedPiece, Part, ReadAt, SourceRange, StreamSettings, TensorCast, TensorCodes,
    TensorStorage,
};
use wgpu_cast::{LossCounts, cpu};

use crate::cpu::losses_json;
use crate::input::{Input, Reader};
use crate::options::{self, JsOptions};
use crate::{error, named};

/// The bytes, read and written, of a slice: few enough that all copies of them in the page, in WebAssembly and on the GPU
/// take less than 200 MiB together.
const SLICE: u64 = 32 << 20;

/// Slices are divided after a multiple of as many elements, so that each starts at a byte on both sides.
const STEP: u64 = 64;

/// The memory of the pieces in which the CPU casts a slice.
const PIECES: u64 = 16 << 20;

/// A file that is being converted.
#[wasm_bindgen]
pub struct Conversion {
    plan: FilePlan,
    inputs: Vec<Input>,
    /// The part that the next slice belongs to, and how much of it is done: bytes, or elements of a tensor that is stored
    /// in the order in which it is written.
    next: (usize, u64),
    written: u64,
    bytes: u64,
    /// What each cast lost.
    losses: Vec<LossCounts>,
}

/// What comes next.
struct Slice {
    part: Part,
    /// Where the rest of the part begins, or the next part.
    end: (usize, u64),
    /// The bytes of the output; where the slice is to be found in the part, only the most that it can have.
    bytes: u64,
}

#[wasm_bindgen]
impl Conversion {
    /// Reads the header of a file and decides everything. `format` is `npy`, `safetensors`, `pb` or `bin`; `from` is the
    /// element type where the file does not tell it.
    ///
    /// # Errors
    /// `FileError` if the file is not valid, or cannot be converted so.
    #[wasm_bindgen(constructor)]
    pub fn new(
        reader: Reader,
        format: &str,
        from: Option<String>,
        to: &str,
        options: &JsOptions,
    ) -> Result<Conversion, JsValue> {
        let from = from.as_deref().map(named).transpose()?;
        let (plan, inputs) = plan::plan(Input::file(reader), format, from, named(to)?, options::parse(options)?)?;
        let bytes = plan.bytes().ok_or_else(|| error::file(FileError::TooLarge))?;
        let losses = vec![LossCounts::default(); plan.parts.len()];
        Ok(Self { plan, inputs, next: (0, 0), written: 0, bytes, losses })
    }

    /// The size of the output in bytes.
    #[wasm_bindgen(getter)]
    pub fn bytes(&self) -> f64 {
        self.bytes as f64
    }

    /// The bytes of the output that were made.
    #[wasm_bindgen(getter)]
    pub fn written(&self) -> f64 {
        self.written as f64
    }

    /// The tensors that are cast, as JSON, with what was lost so far.
    #[wasm_bindgen(getter)]
    pub fn tensors(&self) -> String {
        let casts = self.plan.parts.iter().zip(&self.losses).filter_map(|(part, losses)| match part {
            Part::Cast(cast) => Some(json!({
                "name": cast.name, "elements": cast.elements, "from": cast.from.element_type.name(),
                "to": cast.to.element_type.name(), "losses": losses_json(losses),
            })),
            _ => None,
        });
        serde_json::Value::from(casts.collect::<Vec<_>>()).to_string()
    }

    /// Makes the next bytes of the output on the CPU; `undefined` after the last. After an error it can be called again.
    ///
    /// # Errors
    /// `FileError` if the file cannot be read or has other codes than its header says.
    pub fn next(&mut self) -> Result<Option<Uint8Array>, JsValue> {
        let Some(slice) = self.slice() else { return Ok(None) };
        let inputs: Vec<&dyn ReadAt> = self.inputs.iter().map(|input| input as &dyn ReadAt).collect();
        let result = Uint8Array::new_with_length(slice.bytes as u32);
        let is_column_major = Elements::of(&slice.part).is_some_and(|elements| elements.column_major);
        let mut settings = StreamSettings::default();
        settings.memory = PIECES;
        if is_column_major {
            // The reader of such arrays needs much of an array at once, and begins anew with each slice.
            settings.memory = 2 * SLICE;
            settings.start = self.next.1;
        }
        let (mut made, mut losses) = (0, LossCounts::default());
        let mut sink = |finished: FinishedPiece<'_>| {
            let end = made + finished.bytes.len();
            if end as u64 > slice.bytes {
                // The slice is full.
                return Err(std::io::ErrorKind::WriteZero.into());
            }
            result.subarray(made as u32, end as u32).copy_from(finished.bytes);
            made = end;
            finished.losses.iter().for_each(|(_, lost)| losses += lost.counts);
            Ok(())
        };
        let plan = FilePlan { parts: vec![slice.part] };
        match files::write(&plan, &inputs, &settings, &cpu::cast_counted, &mut sink) {
            Err(FileError::Write { .. }) if made > 0 => {}
            Err(error) => return Err(error::file(error)),
            Ok(()) => {}
        }
        let mut end = slice.end;
        if is_column_major && settings.start + (made as u64) < plan.bytes().unwrap_or(0) {
            end = (self.next.0, settings.start + made as u64);
        }
        self.finish(end, made as u64, losses);
        Ok(Some(result.subarray(0, made as u32)))
    }
}

impl Conversion {
    fn slice(&self) -> Option<Slice> {
        let (number, done) = self.next;
        let (part, bytes, last) = match self.plan.parts.get(number)? {
            Part::Bytes(bytes) => {
                let end = (done + SLICE).min(bytes.len() as u64);
                (Part::Bytes(bytes[done as usize..end as usize].to_vec()), end - done, end == bytes.len() as u64)
            }
            Part::Copy(range) => {
                let bytes = (range.bytes - done).min(SLICE);
                let copied = SourceRange { offset: range.offset + done, bytes, ..*range };
                (Part::Copy(copied), bytes, done + bytes == range.bytes)
            }
            part => {
                let elements = Elements::of(part)?;
                if elements.column_major {
                    let whole = elements.to.bytes(elements.count)?;
                    (part.clone(), (whole - done).min(SLICE), true)
                } else {
                    let step = elements.from.bytes(STEP)? + elements.to.bytes(STEP)?;
                    let count = (elements.count - done).min(SLICE / step * STEP);
                    let offset = elements.offset + elements.from.bytes(done)?;
                    (elements_of(part, count, offset)?, elements.to.bytes(count)?, done + count == elements.count)
                }
            }
        };
        let advanced = match Elements::of(&part) {
            Some(elements) if !elements.column_major => elements.count,
            _ => bytes,
        };
        let end = if last { (number + 1, 0) } else { (number, done + advanced) };
        Some(Slice { part, end, bytes })
    }

    fn finish(&mut self, end: (usize, u64), bytes: u64, losses: LossCounts) {
        self.losses[self.next.0] += losses;
        (self.next, self.written) = (end, self.written + bytes);
    }
}

/// The elements of a tensor that is cast or only stored anew.
struct Elements {
    count: u64,
    offset: u64,
    from: TensorStorage,
    to: TensorStorage,
    column_major: bool,
}

impl Elements {
    fn of(part: &Part) -> Option<Self> {
        match part {
            Part::Cast(TensorCast { elements, offset, from, to, column_major, .. }) => {
                let (count, offset, from, to) = (*elements, *offset, *from, *to);
                Some(Self { count, offset, from, to, column_major: !column_major.is_empty() })
            }
            Part::Codes(TensorCodes { elements, offset, element_type, from, to, column_major, .. }) => {
                let stored = |codes| TensorStorage { element_type: *element_type, codes };
                let (count, offset, from, to) = (*elements, *offset, stored(*from), stored(*to));
                Some(Self { count, offset, from, to, column_major: !column_major.is_empty() })
            }
            _ => None,
        }
    }
}

/// So many elements of a part, from this byte of the input on.
fn elements_of(part: &Part, elements: u64, offset: u64) -> Option<Part> {
    match part {
        Part::Cast(cast) => Some(Part::Cast(TensorCast { elements, offset, ..cast.clone() })),
        Part::Codes(codes) => Some(Part::Codes(TensorCodes { elements, offset, ..codes.clone() })),
        _ => None,
    }
}
