//! The verification of a device of JavaScript's own, on which JavaScript does the casts.

use serde_json::json;
use support::verify::differences;
use wasm_bindgen::prelude::*;
use wgpu_cast::{CastOptions, Error, Float4Nan, Int4Overflow, Tensor, cpu};

use super::{SHOWN, Verifier};
use crate::error;

#[wasm_bindgen]
impl Verifier {
    /// The casts of the next pair as JSON, for a device on which JavaScript does them: both types, and for each cast its
    /// elements and options. `undefined` if there is no further pair. JavaScript gives the result of each cast to
    /// `compare`, in this order.
    ///
    /// # Errors
    /// There is no memory.
    #[wasm_bindgen(js_name = nextCasts)]
    pub fn next_casts(&mut self) -> Result<Option<String>, JsValue> {
        let Some(&(from, to)) = self.pairs.get(self.next) else { return Ok(None) };
        self.prepare(from).map_err(|e| error::cast(&e))?;
        let tensors = &self.tensors.1;
        let with = |options: CastOptions| tensors.iter().map(move |tensor| (tensor.clone(), options));
        self.casts_of_pair = self.variants(from, to).into_iter().flat_map(with).collect();
        let casts = self.casts_of_pair.iter();
        let casts: Vec<_> =
            casts.map(|(t, options)| json!({ "elements": t.len(), "options": named(options) })).collect();
        self.next += 1;
        Ok(Some(json!({ "from": from.name(), "to": to.name(), "casts": casts }).to_string()))
    }

    /// The packed codes that a cast of the pair reads.
    pub fn source(&self, cast: usize) -> Vec<u8> {
        self.casts_of_pair[cast].0.bytes().unwrap_or_default().to_vec()
    }

    /// Compares the packed codes that a cast of the pair has written with those of the CPU path.
    ///
    /// # Errors
    /// `ByteLength`: the bytes are not those of the result. There is no memory.
    pub fn compare(&mut self, cast: usize, found: Vec<u8>) -> Result<(), JsValue> {
        let ((source, options), (_, to)) = (self.casts_of_pair[cast].clone(), self.pairs[self.next - 1]);
        let compare = || {
            let found = Tensor::from_bytes(to, [source.len()], found)?;
            let expected = cpu::cast(&source, to, &options)?;
            let room = SHOWN.saturating_sub(self.mismatches.len());
            self.mismatches.extend(differences(&source, &found, &expected, &options, room));
            self.count(&source, &found);
            Ok(())
        };
        compare().map_err(|e: Error| error::cast(&e))
    }
}

/// Options as JavaScript gives them.
fn named(options: &CastOptions) -> serde_json::Value {
    json!({
        "saturate": options.saturate,
        "roundMode": options.round_mode.name(),
        "int4Overflow": if options.int4_overflow == Int4Overflow::Clamp { "clamp" } else { "wrap" },
        "float4Nan": if options.float4_nan == Float4Nan::Max { "max" } else { "zero" },
    })
}
