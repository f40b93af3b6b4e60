//! The verification of a GPU: its results are compared with those of the CPU path.

use support::verify::differences;
use wasm_bindgen::prelude::*;
use wgpu_cast::{CastFault, CastSpec, Context, Coverage, ElementType, Error, cpu};

use super::{SHOWN, Verifier};
use crate::error;
use crate::gpu::Gpu;

#[wasm_bindgen]
impl Verifier {
    /// Verifies the next pair on the GPU. Returns whether there was one.
    ///
    /// # Errors
    /// Those of `Gpu.cast`. Wrong results are no error; they are told in the state.
    #[wasm_bindgen(js_name = nextOnGpu)]
    pub async fn next_on_gpu(&mut self, gpu: &Gpu) -> Result<bool, JsValue> {
        let Some(&(from, to)) = self.pairs.get(self.next) else { return Ok(false) };
        self.prepare(from).map_err(|e| error::cast(&e))?;
        self.on_gpu(&gpu.context, from, to).await.map_err(|e| error::cast(&e))?;
        if let Some(caster) = gpu.context.caster() {
            let spec = |options| CastSpec::new(from, to).with_options(options);
            caster.forget(&self.variants(from, to).into_iter().map(spec).collect::<Vec<_>>());
        }
        self.next += 1;
        Ok(true)
    }
}

impl Verifier {
    async fn on_gpu(&mut self, context: &Context, from: ElementType, to: ElementType) -> Result<(), Error> {
        for options in self.variants(from, to) {
            for source in self.tensors.1.clone() {
                let (found, _) = context.cast(&source, to, &options).await?;
                let expected = cpu::cast(&source, to, &options)?;
                let room = SHOWN.saturating_sub(self.mismatches.len());
                self.mismatches.extend(differences(&source, &found, &expected, &options, room));
                self.count(&source, &found);
            }
        }
        let (true, Some(caster), Some(queue)) = (self.thorough, context.caster(), context.queue()) else {
            return Ok(());
        };
        // The kernels for slices at any place and for views.
        match caster.self_test(queue, &[CastSpec::new(from, to)], Coverage::Views).await?.into_result() {
            Err(error @ Error::Cast { cause: CastFault::SelfTest { .. }, .. }) => {
                if self.mismatches.len() < SHOWN {
                    self.mismatches.push(error.to_string());
                }
                Ok(())
            }
            done => done,
        }
    }
}
