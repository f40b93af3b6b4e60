//! Which pairs stand for others in tests that compile kernels with unrolled entry points.
//!
//! Compiling such a kernel takes a driver up to a second, because it inlines `fn convert` for each element. Apart from
//! that function, kernels of many pairs have the same text: it depends on the widths of both types and on few other
//! properties. So the tests of slices compile unrolled kernels for one pair of each such class. The other pairs take
//! the edge kernel there, and `tests/device/gpu.rs` compares each pair's `fn convert` with the oracle. This does not
//! help with views, because the strided kernel takes as long to compile as unrolled kernels.

use std::collections::HashMap;
use std::mem::{Discriminant, discriminant};
use std::sync::LazyLock;

use wgpu_cast::wgsl::{self, KernelVariant};
use wgpu_cast::{CastSpec, CodeLookup, ElementType, Kind};

use crate::numeric;

/// The pair of each class, by what its kernels have in common.
static CHOSEN: LazyLock<HashMap<Class, Pair>> = LazyLock::new(|| {
    let mut chosen: HashMap<Class, (usize, Pair)> = HashMap::new();
    for (from, to) in numeric().flat_map(|from| numeric().map(move |to| (from, to))) {
        // The shortest conversion compiles in the least time.
        let length = text(from, to, KernelVariant::Edge).len();
        for lookup in [CodeLookup::Table, CodeLookup::Computed] {
            let entry = chosen.entry(class(from, to, lookup)).or_insert((length, (from, to)));
            if length < entry.0 {
                *entry = (length, (from, to));
            }
        }
    }
    chosen.into_iter().map(|(class, (_, pair))| (class, pair)).collect()
});

type Pair = (ElementType, ElementType);

/// The widths of both types, the destination's kind (its codes may need a mask), and the text of the entry point.
type Class = (u32, u32, Discriminant<Kind>, String);

fn class(from: ElementType, to: ElementType, lookup: CodeLookup) -> Class {
    let variant = match lookup {
        CodeLookup::Table => KernelVariant::Table,
        _ => KernelVariant::Computed,
    };
    let kernel = text(from, to, variant);
    let entry = kernel.find("@compute").map_or("", |start| &kernel[start..]);
    (from.bits().unwrap(), to.bits().unwrap(), discriminant(&to.kind()), entry.to_owned())
}

fn text(from: ElementType, to: ElementType, variant: KernelVariant) -> String {
    wgsl::kernel(&CastSpec::new(from, to), variant).unwrap().wgsl().to_owned()
}

/// Whether the unrolled kernels of a pair for this lookup stand for those of its class.
pub fn is_chosen(from: ElementType, to: ElementType, lookup: CodeLookup) -> bool {
    CHOSEN.get(&class(from, to, lookup)) == Some(&(from, to))
}
