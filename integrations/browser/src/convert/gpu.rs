//! Slices that the GPU casts.

use js_sys::Uint8Array;
use wasm_bindgen::prelude::*;
use wgpu_cast::{CastSpec, Tensor, cpu};
use wgpu_cast_files::{CodeStorage, Part, ReadAt, TensorCast};

use super::{Conversion, Slice};
use crate::error;
use crate::gpu::Gpu;

#[wasm_bindgen]
impl Conversion {
    /// Whether the GPU can make the next slice: it casts packed codes.
    #[wasm_bindgen(getter, js_name = nextIsForGpu)]
    pub fn next_is_for_gpu(&self) -> bool {
        matches!(self.plan.parts.get(self.next.0), Some(Part::Cast(cast)) if is_plain(cast))
    }

    /// As `next`, where the GPU casts.
    ///
    /// # Errors
    /// As `next`, and those of `Gpu.cast`. After an error, `next` or this method can make the same slice again.
    #[wasm_bindgen(js_name = nextOnGpu)]
    pub async fn next_on_gpu(&mut self, gpu: &Gpu) -> Result<Option<Uint8Array>, JsValue> {
        if !self.next_is_for_gpu() {
            return self.next();
        }
        let Some(Slice { part: Part::Cast(cast), done, .. }) = self.slice()? else { return self.next() };
        let (from, to) = (cast.from.element_type, cast.to.element_type);
        let bytes = cast.from.bytes(cast.elements).unwrap_or(0) as usize;
        let mut source = vec![0; bytes];
        let read = self.inputs[cast.input].read_exact_at(cast.offset, &mut source);
        read.map_err(|error| error::file(format_args!("cannot read {bytes} bytes at {}: {error}", cast.offset)))?;
        let len = cast.elements as usize;
        let source = Tensor::from_bytes(from, [len], source).map_err(|e| error::cast(&e))?;
        let (result, _) = gpu.context.cast(&source, to, &cast.options).await.map_err(|e| error::cast(&e))?;
        let source = source.bytes().unwrap_or_default();
        let spec = CastSpec::new(from, to).with_options(cast.options);
        let losses = cpu::count_losses(&spec, source, len).map_err(|e| error::cast(&e))?;
        let result = result.bytes().unwrap_or_default();
        self.finish(done, result.len() as u64, losses);
        Ok(Some(Uint8Array::from(result)))
    }
}

/// Whether both sides are packed and in the same order, and nothing but a cast is to be done.
fn is_plain(cast: &TensorCast) -> bool {
    let is_packed = [cast.from.codes, cast.to.codes] == [CodeStorage::Packed; 2];
    is_packed && cast.column_major.is_empty() && !cast.clamp && cast.elements > 0
}
