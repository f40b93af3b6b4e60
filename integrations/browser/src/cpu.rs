//! Casts on the CPU.

use js_sys::Uint8Array;
use wasm_bindgen::prelude::*;
use wgpu_cast::{CastSpec, ElementType, LossCounts, cpu};

use crate::options::{self, JsOptions};
use crate::{error, named};

/// Elements that are cast at once: their bytes stay in the processor's cache. A multiple of 64, so that each piece starts
/// at a byte on both sides.
const PIECE: usize = 1 << 14;

/// Packed bytes and what the cast lost.
#[wasm_bindgen]
pub struct CastResult {
    pub(crate) bytes: Uint8Array,
    pub(crate) losses: LossCounts,
}

#[wasm_bindgen]
impl CastResult {
    /// The packed codes.
    #[wasm_bindgen(getter)]
    pub fn bytes(&self) -> Uint8Array {
        self.bytes.clone()
    }

    /// The values that the type cannot hold, as JSON: each kind of loss and the number of values.
    #[wasm_bindgen(getter)]
    pub fn losses(&self) -> String {
        losses_json(&self.losses).to_string()
    }
}

/// Counts of losses by their names.
pub fn losses_json(losses: &LossCounts) -> serde_json::Value {
    losses.iter().map(|(name, count)| (name.to_owned(), count.into())).collect::<serde_json::Map<_, _>>().into()
}

/// Casts packed codes of so many elements on the CPU, and counts what is lost.
///
/// # Errors
/// A type or an option is unknown, or the bytes are not those of so many elements.
#[wasm_bindgen(js_name = castOnCpu)]
pub fn cast_on_cpu(
    from: &str,
    source: &Uint8Array,
    elements: f64,
    to: &str,
    options: &JsOptions,
) -> Result<CastResult, JsValue> {
    let (from, to, options) = (named(from)?, named(to)?, options::parse(options)?);
    let elements = elements as u64;
    let [read, written] = [check(from, source, elements)?, bytes(to, elements)?];
    let result = Uint8Array::new_with_length(written as u32);
    let piece = |t: ElementType| PIECE * t.bits().unwrap_or(0) as usize / 8;
    let (mut input, mut output) = (vec![0; piece(from).min(read)], vec![0; piece(to).min(written)]);
    let spec = CastSpec::new(from, to).with_options(options);
    let mut losses = LossCounts::default();
    for first in (0..elements).step_by(PIECE) {
        let len = (elements - first).min(PIECE as u64);
        let [start, result_start] = [bytes(from, first)?, bytes(to, first)?];
        let (input, output) = (&mut input[..bytes(from, len)?], &mut output[..bytes(to, len)?]);
        source.subarray(start as u32, (start + input.len()) as u32).copy_to(input);
        losses += cpu::cast_counted(&spec, input, len as usize, output).map_err(|e| error::cast(&e))?;
        result.subarray(result_start as u32, (result_start + output.len()) as u32).copy_from(output);
    }
    Ok(CastResult { bytes: result, losses })
}

/// The packed bytes of so many elements, as many as an array may have here: WebAssembly has lengths of 32 bits.
pub fn bytes(element_type: ElementType, elements: u64) -> Result<usize, JsValue> {
    let bytes = element_type.packed_bytes(elements).and_then(|bytes| u32::try_from(bytes).ok());
    bytes.map(|bytes| bytes as usize).ok_or_else(|| {
        let needed = format!("{elements} elements of {element_type} need 4 GiB or more");
        error::error("ShapeOverflow", &format!("{needed}; an array must have less than 4 GiB"))
    })
}

/// Checks that an array has so many elements. Returns its length in bytes. JavaScript has refused arrays of 4 GiB or more,
/// whose lengths would wrap here.
pub fn check(from: ElementType, source: &Uint8Array, elements: u64) -> Result<usize, JsValue> {
    let (expected, found) = (bytes(from, elements)?, source.length() as usize);
    if expected != found {
        let message = format!("{elements} elements of {from} need {expected} bytes, got {found}");
        return Err(error::error("ByteLength", &message));
    }
    Ok(expected)
}
