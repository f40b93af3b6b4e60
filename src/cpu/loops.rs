//! The loops of conversions. A loop is made when it is first needed, and is then kept, because making a table takes
//! longer than looking up a thousand codes.

use std::sync::OnceLock;

use super::any_length::AnyLength;
use super::cast_loop::CastLoop;
use super::code_cast::{CodeBits, CodeCast};
use super::isa::{Baseline, Isa, IsaName};
use super::recipe::InstructionSet;
use crate::bits::float_env::with_default_modes;
use crate::types::conversion::Conversion;
use crate::types::element::ElementType;
use crate::types::error::Error;
use crate::types::options::CastOptions;
use crate::types::spec::CastSpec;

const TYPES: usize = ElementType::ALL.len();

/// The loops of each pair of types. A pair has at most six loops on an instruction set for each layout of its
/// codes: one for each set of options that makes a difference.
static KEPT: [[Next; TYPES]; TYPES] = [const { [const { OnceLock::new() }; TYPES] }; TYPES];

/// The loop of one cast, and the next loop of the same pair.
pub(crate) struct Kept {
    isa: IsaName,
    pub cast: CodeCast,
    /// The first options for which the loop was asked. Other options can give the same conversion.
    options: OnceLock<CastOptions>,
    pub cast_loop: AnyLength,
    next: Next,
}

type Next = OnceLock<Box<Kept>>;

/// The loop of a cast. All threads share it. Finding a loop that exists takes no lock, and makes and copies no conversion:
/// that would take as long as a cast of some elements.
///
/// # Errors
/// As [`Conversion::new`].
// As a call, this takes a twentieth of the time of a cast of some elements.
#[inline(always)]
pub(crate) fn kept_of_spec(spec: &CastSpec, bits: CodeBits, isa: Isa) -> Result<&'static Kept, Error> {
    let mut next = &KEPT[spec.from as usize][spec.to as usize];
    while let Some(kept) = next.get() {
        if kept.options.get() == Some(&spec.options) && kept.cast.bits == bits && kept.isa == isa.name() {
            return Ok(kept);
        }
        next = &kept.next;
    }
    first_of_spec(spec, bits, isa)
}

#[cold]
fn first_of_spec(spec: &CastSpec, bits: CodeBits, isa: Isa) -> Result<&'static Kept, Error> {
    let kept = kept_of(&Conversion::new(spec.from, spec.to, &spec.options)?, bits, isa);
    // They stay what they are if they were set before.
    let _ = kept.options.set(spec.options);
    Ok(kept)
}

/// The loop of [`kept_of`].
pub(crate) fn loop_of(conversion: &Conversion, bits: CodeBits, isa: Isa) -> &'static AnyLength {
    &kept_of(conversion, bits, isa).cast_loop
}

/// As [`kept_of_spec`], for a conversion that exists.
pub(crate) fn kept_of(conversion: &Conversion, bits: CodeBits, isa: Isa) -> &'static Kept {
    let make = || {
        let cast = CodeCast { conversion: *conversion, bits };
        let cast_loop = AnyLength::new(with_default_modes(|| new_loop(&cast, isa)), bits);
        Box::new(Kept { isa: isa.name(), cast, options: OnceLock::new(), cast_loop, next: OnceLock::new() })
    };
    let mut next = &KEPT[conversion.from as usize][conversion.to as usize];
    loop {
        let kept = next.get_or_init(make);
        if kept.cast.conversion == *conversion && kept.cast.bits == bits && kept.isa == isa.name() {
            return kept;
        }
        next = &kept.next;
    }
}

/// The loop of the pair's recipe.
fn new_loop(cast: &CodeCast, isa: Isa) -> Box<dyn CastLoop> {
    match isa {
        Isa::Portable => made(Baseline, cast),
        #[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
        Isa::Avx2(simd) => made(simd, cast),
        #[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
        Isa::Avx512(simd) => made(simd, cast),
        #[cfg(all(feature = "cpu-simd", target_arch = "aarch64"))]
        Isa::Neon(lanes) => made(lanes, cast),
    }
}

fn made<I: InstructionSet>(isa: I, cast: &CodeCast) -> Box<dyn CastLoop> {
    isa.build(I::recipe(cast))
}
