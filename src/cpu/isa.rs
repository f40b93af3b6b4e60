//! Chooses the instruction set of a process, and runs loops that are compiled for it.

#[cfg(any(test, wgpu_cast_isa))]
use std::ffi::OsStr;
use std::sync::OnceLock;

#[cfg(not(all(feature = "cpu-simd", target_arch = "aarch64")))]
use absent::Absent as Neon;
/// Processors of other targets have none of these instruction sets.
#[cfg(not(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64"))))]
use absent::{Absent as X86V3, Absent as X86V4};

#[cfg(all(feature = "cpu-simd", target_arch = "aarch64"))]
use super::lanes::neon::Neon;
use super::non_temporal::{self, Line};
#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
use super::x86::{X86V3, X86V4};

/// The environment variable by which tests and benchmarks name the instruction set of a process: `portable`, `avx2`,
/// `avx512` or `neon`. Unit tests and builds with `--cfg wgpu_cast_isa` read it once, at the first cast. Other builds do
/// not read it.
#[cfg(any(test, wgpu_cast_isa))]
const FORCE: &str = "WGPU_CAST_ISA";

/// An instruction set that this processor has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Isa {
    /// What every processor of the target has.
    Portable,
    /// x86-64-v3, which has AVX2 and F16C.
    Avx2(X86V3),
    /// The AVX-512 of Ice Lake and Zen 4.
    Avx512(X86V4),
    /// NEON, which every aarch64 processor has.
    Neon(Neon),
}

/// Whether a cast on the CPU takes about as long as copying the tensor to a GPU and the result back. It does on every
/// target with vector instructions, whichever of them the processor has.
#[cfg_attr(not(feature = "wgpu"), allow(dead_code, reason = "devices are chosen by it"))]
pub(crate) const fn is_fast() -> bool {
    cfg!(any(target_feature = "sse2", target_feature = "neon", target_feature = "simd128"))
}

impl Isa {
    /// The best instruction set of this processor; in tests and benchmarks the one that the environment names.
    pub(crate) fn best() -> Self {
        static BEST: OnceLock<Isa> = OnceLock::new();
        let best = || Self::all().flatten().next().unwrap_or(Self::Portable);
        *BEST.get_or_init(|| Self::forced().unwrap_or_else(best))
    }

    /// Runs `work`, a closure that is always inlined, compiled for this instruction set.
    #[inline(always)]
    pub(crate) fn run(self, work: impl FnOnce()) {
        match self {
            Self::Portable => work(),
            #[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
            Self::Avx2(simd) => Instructions::run(simd, work),
            #[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
            Self::Avx512(simd) => Instructions::run(simd, work),
            // The compiler uses NEON everywhere.
            #[cfg(all(feature = "cpu-simd", target_arch = "aarch64"))]
            Self::Neon(_) => work(),
        }
    }

    /// The instruction set that the environment names.
    ///
    /// # Panics
    /// If the environment names one that does not exist or that this processor lacks: a test or a benchmark must not
    /// run on another instruction set than the one it asked for.
    #[cfg(any(test, wgpu_cast_isa))]
    fn forced() -> Option<Self> {
        let name = std::env::var_os(FORCE)?;
        Some(Self::named(&name).unwrap_or_else(|problem| panic!("{FORCE}={}: {problem}", name.display())))
    }

    #[cfg(not(any(test, wgpu_cast_isa)))]
    fn forced() -> Option<Self> {
        None
    }

    /// The instruction set of this name, or the reason why it cannot be used.
    #[cfg(any(test, wgpu_cast_isa))]
    fn named(name: &OsStr) -> Result<Self, &'static str> {
        match name.to_str() {
            Some("portable") => Ok(Self::Portable),
            Some("avx2") => X86V3::try_new().map(Self::Avx2).ok_or("this processor has no AVX2 or no F16C"),
            Some("avx512") => X86V4::try_new().map(Self::Avx512).ok_or("this processor has no AVX-512"),
            Some("neon") => Neon::try_new().map(Self::Neon).ok_or("this processor has no NEON"),
            _ => Err("expected portable, avx2, avx512 or neon"),
        }
    }

    pub(crate) fn name(self) -> IsaName {
        match self {
            Self::Portable => IsaName::Portable,
            Self::Avx2(_) => IsaName::Avx2,
            Self::Avx512(_) => IsaName::Avx512,
            Self::Neon(_) => IsaName::Neon,
        }
    }

    /// All instruction sets of the target, best first; `None` for each that this processor lacks.
    pub(crate) fn all() -> impl Iterator<Item = Option<Self>> {
        let x86 = [X86V4::try_new().map(Self::Avx512), X86V3::try_new().map(Self::Avx2)];
        let is_x86 = cfg!(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")));
        let neon = [Neon::try_new().map(Self::Neon)];
        let is_aarch64 = cfg!(all(feature = "cpu-simd", target_arch = "aarch64"));
        let of_target = x86.into_iter().filter(move |_| is_x86).chain(neon.into_iter().filter(move |_| is_aarch64));
        of_target.chain([Some(Self::Portable)])
    }
}

/// An instruction set that no processor of the target has.
mod absent {
    #[derive(Clone, Copy, Debug)]
    pub(crate) enum Absent {}

    impl Absent {
        pub(crate) fn try_new() -> Option<Self> {
            None
        }
    }
}

/// The name of an instruction set. Unlike [`Isa`], it exists for instruction sets that this processor lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum IsaName {
    Portable,
    Avx2,
    Avx512,
    Neon,
}

/// An instruction set for which loops of portable code are compiled.
pub(crate) trait Instructions: Copy + Send + Sync {
    /// Whether comparisons give masks, which other instructions take.
    const HAS_MASKS: bool;
    /// Whether a vector is as long as a cache line, so that every load across two lines takes as long as two.
    const VECTORS_ARE_LINES: bool = false;
    /// The lines that a loop with non-temporal stores makes at a time if a step makes less than one line. The compiler
    /// vectorises the steps of these lines together: with one line, DOUBLE to INT64 has a sixth of the speed.
    const LINES: usize;
    /// See [`half_width`](Self::half_width).
    type HalfWidth: Instructions + 'static;

    /// The instruction set with vectors of half the length, AVX2 for AVX-512, or else the same. It is for loops to which
    /// longer vectors bring nothing on one of the processors that were measured.
    fn half_width(self) -> Self::HalfWidth;

    /// Runs `work`, a closure that is always inlined.
    fn run(self, work: impl FnOnce());

    /// Copies `lines` to `destination`, with non-temporal stores if the target has them. Only while a
    /// `non_temporal::Fence` is held.
    fn store_past_caches(self, lines: &[Line], destination: &mut [Line]);
}

/// What every processor of the target has.
#[derive(Clone, Copy)]
pub(crate) struct Baseline;

impl Instructions for Baseline {
    const HAS_MASKS: bool = false;
    const LINES: usize = 4;
    type HalfWidth = Self;

    fn half_width(self) -> Self {
        self
    }

    #[inline(always)]
    fn run(self, work: impl FnOnce()) {
        work();
    }

    #[inline(always)]
    fn store_past_caches(self, lines: &[Line], destination: &mut [Line]) {
        non_temporal::store(lines, destination);
    }
}

#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
impl Instructions for X86V3 {
    const HAS_MASKS: bool = false;
    // More lines do not fit into the registers of casts that need many: with four, INT64 to FLOAT has 0.7 of the speed.
    const LINES: usize = 2;
    type HalfWidth = Self;

    fn half_width(self) -> Self {
        self
    }

    #[inline(always)]
    fn run(self, work: impl FnOnce()) {
        self.vectorize(work);
    }

    #[inline(always)]
    fn store_past_caches(self, lines: &[Line], destination: &mut [Line]) {
        non_temporal::store_halves(self, lines, destination);
    }
}

#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
impl Instructions for X86V4 {
    const HAS_MASKS: bool = true;
    const VECTORS_ARE_LINES: bool = true;
    const LINES: usize = 4;
    type HalfWidth = X86V3;

    fn half_width(self) -> X86V3 {
        self.v3
    }

    #[inline(always)]
    fn run(self, work: impl FnOnce()) {
        self.vectorize(work);
    }

    #[inline(always)]
    fn store_past_caches(self, lines: &[Line], destination: &mut [Line]) {
        non_temporal::store_lines(self, lines, destination);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instruction_set_is_forced_or_refused() {
        assert!(matches!(Isa::named("portable".as_ref()), Ok(Isa::Portable)));
        for (name, isa) in [("avx512", IsaName::Avx512), ("avx2", IsaName::Avx2), ("neon", IsaName::Neon)] {
            let found = Isa::named(name.as_ref());
            let exists = Isa::all().flatten().any(|has| has.name() == isa);
            assert_eq!(found.is_ok(), exists, "{name}: {found:?}");
        }
        for name in ["", "AVX2", "avx", "sse2", "portable "] {
            assert_eq!(Isa::named(name.as_ref()).unwrap_err(), "expected portable, avx2, avx512 or neon", "{name}");
        }
    }
}
