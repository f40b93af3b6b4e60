//! Files, converted slice by slice: JavaScript asks for the next bytes of the output, and can stop at any time.

#[cfg(feature = "gpu")]
mod gpu;
mod plan;
mod scales;
mod slice;

use js_sys::Uint8Array;
use serde_json::json;
use wasm_bindgen::prelude::*;
use wgpu_cast::{LossCounts, cpu};
use wgpu_cast_files::{self as files, FileCause, FilePlan, FinishedPiece, Part, ReadAt, StreamSettings};

use self::slice::{SLICE, Slice};
use crate::cpu::losses_json;
use crate::input::{Input, Reader};
use crate::options::{self, JsOptions};
use crate::{error, named};

/// The memory of the pieces in which the CPU casts a slice.
const PIECES: u64 = 16 << 20;

/// A file that is being converted.
#[wasm_bindgen]
pub struct Conversion {
    plan: FilePlan,
    inputs: Vec<Input>,
    /// The part that the next slice belongs to, and how much of it is done.
    next: (usize, u64),
    written: u64,
    bytes: u64,
    /// What each cast lost.
    losses: Vec<LossCounts>,
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
        let bytes = plan.bytes().ok_or_else(|| error::file("the output is too large: a size overflows"))?;
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
        let Some(slice) = self.slice()? else { return Ok(None) };
        let inputs: Vec<&dyn ReadAt> = self.inputs.iter().map(|input| input as &dyn ReadAt).collect();
        let result = Uint8Array::new_with_length(slice.bytes as u32);
        let is_column_major = slice::is_column_major(&slice.part);
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
            Err(error) if made > 0 && matches!(error.cause(), FileCause::Write(_)) => {}
            Err(error) => return Err(error::file(error)),
            Ok(()) => {}
        }
        let mut done = slice.done;
        if is_column_major {
            let end = settings.start + made as u64;
            done = (end < plan.bytes().unwrap_or(0)).then_some(end);
        }
        self.finish(done, made as u64, losses);
        Ok(Some(result.subarray(0, made as u32)))
    }
}

impl Conversion {
    /// What comes next; `None` after the last part.
    fn slice(&self) -> Result<Option<Slice>, JsValue> {
        let (number, done) = self.next;
        let Some(part) = self.plan.parts.get(number) else {
            let (written, bytes) = (self.written, self.bytes);
            let wrong = || error::file(format_args!("{written} bytes were made, and the output is to have {bytes}"));
            return if written == bytes { Ok(None) } else { Err(wrong()) };
        };
        slice::next(part, done).map(Some).ok_or_else(|| error::file("a part of the output cannot be made in a browser"))
    }

    /// Counts a slice that was made.
    fn finish(&mut self, done: Option<u64>, bytes: u64, losses: LossCounts) {
        let number = self.next.0;
        self.losses[number] += losses;
        self.next = done.map_or((number + 1, 0), |done| (number, done));
        self.written += bytes;
    }
}
