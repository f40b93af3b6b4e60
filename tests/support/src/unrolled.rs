//! Which pairs stand for others in tests that run every kernel of a pair.
//!
//! Compiling a kernel with unrolled entry points takes a driver up to a second, because it inlines `fn convert` for each
//! element. Apart from the conversion, kernels of many pairs have the same text: it depends on the widths of both types
//! and on few other properties. So the tests of slices, and the tests of lengths, compile such kernels for one pair of
//! each class, and other tests compare each pair's conversion with the oracle on the device, within the main kernel of
//! the adapter (`tests/device/gpu.rs`). This does not help with views, because the strided kernel takes as long to compile
//! as unrolled kernels.

use std::collections::{HashMap, HashSet};
use std::mem::{Discriminant, discriminant};
use std::sync::LazyLock;

use wgpu_cast::wgsl::{self, KernelVariant};
use wgpu_cast::{CastSpec, CodeLookup, ElementType, Kind};

use crate::numeric;

/// The pair of each class, by what its kernels have in common.
static CHOSEN: LazyLock<HashMap<Class, Pair>> = LazyLock::new(|| {
    let mut chosen: HashMap<Class, (usize, Pair)> = HashMap::new();
    for (from, to) in numeric().flat_map(|from| numeric().map(move |to| (from, to))) {
        let texts = KernelVariant::ALL.map(|variant| text(from, to, variant));
        // The shortest conversion compiles in the least time.
        let [.., edge] = &texts;
        let length = edge.len();
        for text in texts {
            let entry = chosen.entry(class(from, to, &text)).or_insert((length, (from, to)));
            if length < entry.0 {
                *entry = (length, (from, to));
            }
        }
    }
    chosen.into_iter().map(|(class, (_, pair))| (class, pair)).collect()
});

type Pair = (ElementType, ElementType);

/// The widths of both types, the destination's kind (its codes may need a mask), and the text without the conversion.
type Class = (u32, u32, Discriminant<Kind>, String);

fn class(from: ElementType, to: ElementType, text: &str) -> Class {
    (from.bits().unwrap(), to.bits().unwrap(), discriminant(&to.kind()), frame(text))
}

/// A kernel without its conversion: bindings, the entry point and what that calls, and the constants that these read.
fn frame(text: &str) -> String {
    let (constants, text) = text.split_once("\n// params.wgsl").unwrap();
    let end_of = |function: &str| {
        let start = text.rfind(&format!("\nfn {function}"))?;
        Some(start + text[start..].find("\n}\n")? + 3)
    };
    let bindings = end_of("store_destination(").unwrap();
    // A copy has no conversion.
    let kept = format!("{}{}", &text[..bindings], &text[end_of("convert").unwrap_or(bindings)..]);
    let words: HashSet<&str> = kept.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let is_read = |line: &&str| {
        let constant = line.strip_prefix("const ").or_else(|| line.strip_prefix("alias "));
        constant.is_some_and(|rest| words.contains(rest.split([' ', ':']).next().unwrap()))
    };
    let constants = constants.lines().filter(is_read);
    constants.chain([&*kept]).collect::<Vec<_>>().join("\n")
}

fn text(from: ElementType, to: ElementType, variant: KernelVariant) -> String {
    wgsl::kernel(&CastSpec::new(from, to), variant).unwrap().wgsl().to_owned()
}

/// The main kernel with this look-up.
pub fn main_kernel(lookup: CodeLookup) -> KernelVariant {
    match lookup {
        CodeLookup::Table => KernelVariant::Table,
        _ => KernelVariant::Computed,
    }
}

/// Whether the unrolled kernels of a pair for this lookup stand for those of its class.
pub fn is_chosen(from: ElementType, to: ElementType, lookup: CodeLookup) -> bool {
    stands_for_others(from, to, main_kernel(lookup))
}

/// Whether this kernel of a pair stands for those of its class.
pub fn stands_for_others(from: ElementType, to: ElementType, variant: KernelVariant) -> bool {
    CHOSEN.get(&class(from, to, &text(from, to, variant))) == Some(&(from, to))
}

/// Whether a kernel has the function that converts one code, as the edge kernel has it. Where it has not, it copies codes
/// or converts several at once.
pub fn converts_one_by_one(from: ElementType, to: ElementType, variant: KernelVariant) -> bool {
    text(from, to, variant).contains("\nfn convert(")
}
