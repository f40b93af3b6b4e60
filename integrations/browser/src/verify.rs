//! Compares all casts, bit by bit: those of a GPU with the CPU path, and those of the CPU path with the independent judge
//! of the crate's tests.

#[cfg(feature = "gpu")]
mod device;
#[cfg(feature = "gpu")]
mod gpu;

use serde_json::json;
use support::options::pair_variants;
use support::verify::{RANDOM, SEED, differences, tensors};
use support::{numeric, oracle};
use wasm_bindgen::prelude::*;
use wgpu_cast::{CastOptions, ElementType, Error, Tensor, cpu};
use xxhash_rust::xxh3::Xxh3;

use crate::error;

/// Mismatches that are told.
const SHOWN: usize = 8;

/// The verification of all pairs, one after the other.
///
/// A quick one takes the default options and the kernels for aligned tensors. A thorough one takes all options, with the
/// cases of `wgpu-cast verify`, whose checksum it has, and all kernels.
#[wasm_bindgen]
pub struct Verifier {
    thorough: bool,
    pairs: Vec<(ElementType, ElementType)>,
    next: usize,
    /// The tensors of the source type that is verified.
    tensors: (Option<ElementType>, Vec<Tensor>),
    /// The casts of the pair before `next`, for a device of JavaScript's own.
    #[cfg(feature = "gpu")]
    casts_of_pair: Vec<(Tensor, CastOptions)>,
    checksum: Xxh3,
    casts: u64,
    elements: u64,
    mismatches: Vec<String>,
}

#[wasm_bindgen]
impl Verifier {
    /// `every` takes only each pair of that number, for tests.
    #[wasm_bindgen(constructor)]
    pub fn new(thorough: bool, every: Option<u32>) -> Self {
        let pairs = numeric().flat_map(|from| numeric().map(move |to| (from, to)));
        let pairs = pairs.step_by(every.unwrap_or(1).max(1) as usize).collect();
        let (tensors, checksum) = ((None, Vec::new()), Xxh3::new());
        Self {
            thorough,
            pairs,
            next: 0,
            tensors,
            #[cfg(feature = "gpu")]
            casts_of_pair: Vec::new(),
            checksum,
            casts: 0,
            elements: 0,
            mismatches: Vec::new(),
        }
    }

    /// What was done so far, as JSON: pairs, those that are done, casts, elements, mismatches, the checksum of all results.
    #[wasm_bindgen(getter)]
    pub fn state(&self) -> String {
        json!({
            "pairs": self.pairs.len(), "done": self.next, "casts": self.casts, "elements": self.elements,
            "mismatches": self.mismatches, "checksum": format!("{:016x}", self.checksum.digest()),
            "next": self.pairs.get(self.next).map(|(from, to)| format!("{from} → {to}")),
        })
        .to_string()
    }

    /// Verifies the next pair on the CPU. Returns whether there was one.
    ///
    /// # Errors
    /// There is no memory.
    #[wasm_bindgen(js_name = nextOnCpu)]
    pub fn next_on_cpu(&mut self) -> Result<bool, JsValue> {
        let Some(&(from, to)) = self.pairs.get(self.next) else { return Ok(false) };
        let verified = self.prepare(from).and_then(|()| self.on_cpu(from, to));
        verified.map_err(|e| error::cast(&e))?;
        self.next += 1;
        Ok(true)
    }
}

impl Verifier {
    fn prepare(&mut self, from: ElementType) -> Result<(), Error> {
        if self.tensors.0 != Some(from) {
            self.tensors = (Some(from), tensors(from, if self.thorough { RANDOM } else { 0 }, SEED)?);
            if !self.thorough {
                // The long one takes the main kernel, a small one the edge kernel alone.
                self.tensors.1.truncate(2);
            }
        }
        Ok(())
    }

    fn variants(&self, from: ElementType, to: ElementType) -> Vec<CastOptions> {
        if self.thorough { pair_variants(from, to) } else { vec![CastOptions::default()] }
    }

    fn count(&mut self, source: &Tensor, result: &Tensor) {
        self.casts += 1;
        self.elements += source.len() as u64;
        self.checksum.update(result.bytes().unwrap_or_default());
    }

    fn on_cpu(&mut self, from: ElementType, to: ElementType) -> Result<(), Error> {
        for options in self.variants(from, to) {
            let judge = oracle(from, to, &options);
            for source in self.tensors.1.clone() {
                let found = cpu::cast(&source, to, &options)?;
                let codes: Vec<u64> = source.codes().map(|code| judge.expected(code)).collect();
                let expected = Tensor::from_codes(to, [source.len()], codes)?;
                let room = SHOWN.saturating_sub(self.mismatches.len());
                self.mismatches.extend(differences(&source, &found, &expected, &options, room));
                self.count(&source, &found);
            }
        }
        Ok(())
    }
}
