//! Casts on the GPU.

use js_sys::Uint8Array;
use wasm_bindgen::prelude::*;
use wgpu_cast::{CastSpec, Context, DeviceChoice, ElementType, LossCounts, Tensor, cpu};

use crate::cpu::{CastResult, bytes, check};
use crate::options::{self, JsOptions};
use crate::{error, named};

/// The bytes, read and written, that are in WebAssembly's memory at once.
const SLICE: usize = 64 << 20;

/// A device of the browser's GPU.
#[wasm_bindgen]
pub struct Gpu {
    pub(crate) context: Context,
}

#[wasm_bindgen]
impl Gpu {
    /// Opens a device, a software one too. Unless it is wanted untested, it must first cast a few known codes rightly.
    ///
    /// # Errors
    /// `NoAdapter`: the browser gives none, or no device of it, or the device does not work.
    pub async fn open(untested: Option<bool>) -> Result<Gpu, JsValue> {
        // An adapter that was named is not tested; each has the empty name in its own.
        let choice = if untested == Some(true) { DeviceChoice::Adapter(String::new()) } else { DeviceChoice::Gpu };
        let context = Context::open(choice).await.map_err(|e| error::cast(&e))?;
        Ok(Self { context })
    }

    /// The adapter's name.
    #[wasm_bindgen(getter)]
    pub fn name(&self) -> String {
        self.context.adapter_info().map(|info| info.name.clone()).unwrap_or_default()
    }

    /// Whether the device is lost. Then a new one has to be opened.
    #[wasm_bindgen(getter)]
    pub fn lost(&self) -> bool {
        self.context.is_lost()
    }

    /// Gives the device back. Casts that run fail with `DeviceLost`.
    pub fn destroy(&self) {
        if let Some(device) = self.context.device() {
            device.destroy();
        }
    }

    /// Casts packed codes of so many elements, and counts what is lost.
    ///
    /// # Errors
    /// As `castOnCpu`, and the errors of devices: `Kernel`, `Device`, `OutOfMemory`, `DeviceLost`, `Incomplete`, `Limit`.
    pub async fn cast(
        &self,
        from: String,
        source: Uint8Array,
        elements: f64,
        to: String,
        options: JsOptions,
    ) -> Result<CastResult, JsValue> {
        let (from, to, options) = (named(&from)?, named(&to)?, options::parse(&options)?);
        let spec = CastSpec::new(from, to).with_options(options);
        let elements = elements as u64;
        check(from, &source, elements)?;
        let result = Uint8Array::new_with_length(bytes(to, elements)? as u32);
        let mut losses = LossCounts::default();
        for (first, len) in slices([from, to], elements) {
            let [start, result_start] = [bytes(from, first)?, bytes(to, first)?];
            let input = source.subarray(start as u32, (start + bytes(from, len)?) as u32).to_vec();
            let len = len as usize;
            let tensor = Tensor::from_bytes(from, [len], input).map_err(|e| error::cast(&e))?;
            let (cast, _) = self.context.cast(&tensor, to, &options).await.map_err(|e| error::cast(&e))?;
            let input = tensor.bytes().unwrap_or_default();
            losses += cpu::count_losses(&spec, input, len).map_err(|e| error::cast(&e))?;
            let output = cast.bytes().unwrap_or_default();
            result.subarray(result_start as u32, (result_start + output.len()) as u32).copy_from(output);
        }
        Ok(CastResult { bytes: result, losses })
    }
}

/// The first elements and the lengths of slices that start at bytes on both sides.
fn slices(types: [ElementType; 2], elements: u64) -> impl Iterator<Item = (u64, u64)> {
    let bits: usize = types.iter().map(|t| t.bits().unwrap_or(0) as usize).sum();
    let most = SLICE * 8 / bits / 64 * 64;
    (0..elements).step_by(most).map(move |first| (first, (elements - first).min(most as u64)))
}
