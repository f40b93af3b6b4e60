//! Every kernel that converts the bulk of a tensor: each pair with each option that matters to its destination.

use naga::{Block, Statement};
use support::numeric;
use support::options::variants;
use support::translate::{Format, translate};
use wgpu_cast::wgsl::{self, KernelVariant};
use wgpu_cast::{CastOptions, CastSpec, ElementType};

use crate::Result;

/// A kernel of a pair under some options.
pub struct Subject {
    pub from: ElementType,
    pub to: ElementType,
    /// The options that are not the default.
    pub options: String,
    /// Elements that one invocation converts.
    pub elements: u32,
    wgsl: String,
}

impl Subject {
    /// The kernel as SPIR-V words, as the devices get it.
    pub fn spirv(&self) -> Result<Vec<u32>> {
        let module = naga::front::wgsl::parse_str(&self.wgsl)?;
        let functions = module.functions.iter().map(|(_, function)| function);
        let entries = module.entry_points.iter().map(|entry| &entry.function);
        if functions.chain(entries).any(|function| has_loop(&function.body)) {
            let (from, to) = (self.from, self.to);
            return Err(format!("{from} to {to} has a loop: its code is not what an invocation executes").into());
        }
        let bytes = translate(&self.wgsl, Format::Spirv)?;
        Ok(bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes"))).collect())
    }
}

/// All kernels, in a fixed order.
pub fn all() -> Result<Vec<Subject>> {
    let mut subjects = Vec::new();
    for (from, to) in numeric().flat_map(|from| numeric().map(move |to| (from, to))) {
        for options in variants(to) {
            let kernel = wgsl::kernel(&CastSpec::new(from, to).with_options(options), KernelVariant::Table)?;
            let (elements, wgsl) = (kernel.elements_per_invocation(), kernel.wgsl().to_owned());
            subjects.push(Subject { from, to, options: describe(&options), elements, wgsl });
        }
    }
    Ok(subjects)
}

fn describe(options: &CastOptions) -> String {
    let default = CastOptions::default();
    let parts = [
        (options.saturate != default.saturate).then(|| "saturate=0".to_owned()),
        (options.round_mode != default.round_mode).then(|| format!("round_mode={}", options.round_mode)),
        (options.int4_overflow != default.int4_overflow).then(|| "int4=clamp".to_owned()),
        (options.float4_nan != default.float4_nan).then(|| "nan=max".to_owned()),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn has_loop(block: &Block) -> bool {
    block.iter().any(|statement| match statement {
        Statement::Loop { .. } => true,
        Statement::Block(inner) => has_loop(inner),
        Statement::If { accept, reject, .. } => has_loop(accept) || has_loop(reject),
        Statement::Switch { cases, .. } => cases.iter().any(|case| has_loop(&case.body)),
        _ => false,
    })
}
