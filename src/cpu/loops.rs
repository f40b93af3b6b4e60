//! The loop of each conversion. It is made when it is first needed, and kept: a table takes longer to make than it takes to
//! look a thousand codes up.

use std::sync::OnceLock;

use super::cast_loop::{CastLoop, CopyCodes};
use super::compose::{elements, lanes};
use super::isa::{Baseline, Isa, IsaName};
use super::lanes::portable::Portable;
use super::method::{Method, SinkKind, SourceKind, method};
use super::reference::Reference;
use super::table::memory::MemoryTable;
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
use super::x86;
use crate::bits::float_env::with_default_modes;
use crate::types::conversion::Conversion;
use crate::types::element::ElementType;

const TYPES: usize = ElementType::ALL.len();

/// The loops of each pair of types. There are at most as many as sets of options that make a difference, which is six.
static KEPT: [[Next; TYPES]; TYPES] = [const { [const { OnceLock::new() }; TYPES] }; TYPES];

/// The loop of one conversion, and the pair's other loops behind it.
struct Kept {
    isa: IsaName,
    conversion: Conversion,
    cast_loop: Box<dyn CastLoop>,
    next: Next,
}

type Next = OnceLock<Box<Kept>>;

/// The loop of a conversion. All threads share it. Finding it takes no lock.
pub(crate) fn loop_of(conversion: &Conversion, isa: Isa) -> &'static dyn CastLoop {
    let make = || {
        let cast_loop = with_default_modes(|| new_loop(conversion, isa));
        Box::new(Kept { isa: isa.name(), conversion: *conversion, cast_loop, next: OnceLock::new() })
    };
    let mut next = &KEPT[conversion.from as usize][conversion.to as usize];
    loop {
        let kept = next.get_or_init(make);
        if kept.conversion == *conversion && kept.isa == isa.name() {
            return &*kept.cast_loop;
        }
        next = &kept.next;
    }
}

/// The loop of the pair's [`method`].
fn new_loop(conversion: &Conversion, isa: Isa) -> Box<dyn CastLoop> {
    let method = method(SourceKind::new(conversion), SinkKind::new(conversion), isa.name());
    loop_by(method, conversion, isa)
}

/// The loop of a method that the instruction set has.
pub(super) fn loop_by(method: Method, conversion: &Conversion, isa: Isa) -> Box<dyn CastLoop> {
    let (source, sink) = (SourceKind::new(conversion), SinkKind::new(conversion));
    match (method, isa) {
        (Method::Copy, Isa::Portable) => Box::new(CopyCodes(Baseline)),
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        (Method::Copy, Isa::Avx2(simd)) => Box::new(CopyCodes(simd.v3)),
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        (Method::Copy, Isa::Avx512(simd)) => Box::new(CopyCodes(simd)),
        (Method::Reference, _) => Box::new(Reference(*conversion)),
        (Method::MemoryTable, _) => Box::new(MemoryTable::new(conversion)),
        (Method::Elements, Isa::Portable) => elements(Baseline, source, sink),
        (method, Isa::Portable) => lanes(Portable(Baseline), method, source, sink),
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        (method, Isa::Avx2(simd)) => x86::with_avx2(simd, conversion, method, source, sink),
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        (method, Isa::Avx512(simd)) => x86::with_avx512(simd, conversion, method, source, sink),
    }
}
