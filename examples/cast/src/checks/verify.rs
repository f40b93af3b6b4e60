//! The casts that `wgpu-cast verify` and the page in `integrations/browser` compare with the CPU path.

use wgpu_cast::wgsl::{self, Kernel, KernelVariant};
use wgpu_cast::{CastOptions, CastSpec, ElementType, Error, Tensor};

use super::tier::Tier;
use super::{cases, numeric};

/// The maximum number of small tensors per source type.
const SMALL: usize = 16;

/// The number of random codes of each wide type that `wgpu-cast verify` takes by default. It is part of the checksum,
/// as the seed is.
pub const RANDOM: u32 = 65_536;
/// The seed of these random codes.
pub const SEED: u64 = 1;

/// The tensors that are cast from one type: a long one, which uses the main kernel for all but its end, and small ones,
/// which use the edge kernel. Wide types also get `random` codes from a seed.
///
/// # Errors
/// There is no memory for the tensors.
pub fn tensors(from: ElementType, random: u32, seed: u64) -> Result<Vec<Tensor>, Error> {
    let mut codes = cases::codes_of(from, Tier::Full);
    if from.bits() > Some(16) {
        codes.extend(cases::random(from, random as usize, seed));
    }
    let elements = |kernel: Kernel| (kernel.elements_per_invocation() * kernel.workgroup_size()) as usize;
    let kernel = |to| wgsl::kernel(&CastSpec::new(from, to), KernelVariant::Table);
    let workgroups = numeric().map(|to| kernel(to).map(elements));
    let workgroups: Vec<usize> = workgroups.collect::<Result<_, _>>()?;
    let (fewest, most) = (workgroups.iter().min().unwrap_or(&2), workgroups.iter().max().unwrap_or(&2));

    // If there are few codes they are repeated, each time shifted by one place, so that each code is in every lane.
    let rounds = (2 * most).div_ceil(codes.len());
    let shifted = |round: usize| {
        let (end, begin) = codes.split_at(round % codes.len());
        begin.iter().chain(end)
    };
    let long = (0..rounds).flat_map(shifted).chain(&codes[..3]).copied().collect();
    let step = codes.len().div_ceil(fewest - 1);
    let small = (0..step.min(SMALL)).map(|first| codes.iter().skip(first).step_by(step).copied().collect());
    let tensor = |codes: Vec<u64>| Tensor::from_codes(from, [codes.len()], codes);
    std::iter::once(long).chain(small).map(tensor).collect()
}

/// Describes the first `most` elements that differ.
pub fn differences(
    source: &Tensor,
    found: &Tensor,
    expected: &Tensor,
    options: &CastOptions,
    most: usize,
) -> Vec<String> {
    if found == expected {
        return Vec::new();
    }
    let (from, to) = (source.element_type(), found.element_type());
    let digits = |t: ElementType| 2 + t.bits().unwrap_or(0).div_ceil(4) as usize;
    let (wide, narrow) = (digits(from), digits(to));
    let codes = source.codes().zip(found.codes().zip(expected.codes())).enumerate();
    let differing = codes.filter(|(_, (_, (found, expected)))| found != expected);
    let lines = differing.map(|(index, (code, (found, expected)))| {
        let told = format!("saturate={}, round_mode={}", options.saturate, options.round_mode);
        let rules = format!("int4_overflow={:?}, float4_nan={:?}", options.int4_overflow, options.float4_nan);
        format!(
            "{from} -> {to} ({told}, {rules}), element {index}: {code:#0wide$x} becomes {found:#0narrow$x}, \
             expected {expected:#0narrow$x}"
        )
    });
    lines.take(most).collect()
}
