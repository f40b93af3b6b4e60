//! Chooses the instruction set of a process, and runs loops that are compiled for it.

use std::ffi::OsStr;
use std::sync::OnceLock;

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
use pulp::NullaryFnOnce;
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
use pulp::x86::{V3, V4};

/// The environment variable by which tests and benchmarks name the instruction set of a process: `portable`, `avx2` or
/// `avx512`. It is read once, at the first cast, and is no part of the public interface.
const FORCE: &str = "WGPU_CAST_ISA";

/// An instruction set that this processor has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Isa {
    /// What every processor of the target has.
    Portable,
    /// x86-64-v3.
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    Avx2(V3),
    /// x86-64-v4.
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    Avx512(V4),
}

impl Isa {
    /// The best instruction set of this processor, or the one that the environment names.
    ///
    /// # Panics
    /// If the environment names one that does not exist or that this processor lacks: a test or a benchmark must not
    /// run on another instruction set than the one it asked for.
    pub(crate) fn best() -> Self {
        static BEST: OnceLock<Isa> = OnceLock::new();
        *BEST.get_or_init(|| match std::env::var_os(FORCE) {
            None => Self::all().flatten().next().unwrap_or(Self::Portable),
            Some(name) => Self::named(&name).unwrap_or_else(|problem| panic!("{FORCE}={}: {problem}", name.display())),
        })
    }

    /// The instruction set of this name, or the reason why it cannot be used.
    fn named(name: &OsStr) -> Result<Self, &'static str> {
        match name.to_str() {
            Some("portable") => Ok(Self::Portable),
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Some("avx2") => V3::try_new().map(Self::Avx2).ok_or("this processor has no AVX2"),
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Some("avx512") => V4::try_new().map(Self::Avx512).ok_or("this processor has no AVX-512"),
            #[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
            Some("avx2" | "avx512") => Err("this is no x86 processor"),
            _ => Err("expected portable, avx2 or avx512"),
        }
    }

    pub(crate) fn name(self) -> IsaName {
        match self {
            Self::Portable => IsaName::Portable,
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Self::Avx2(_) => IsaName::Avx2,
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Self::Avx512(_) => IsaName::Avx512,
        }
    }

    /// All instruction sets of the target, best first; `None` for each that this processor lacks.
    pub(crate) fn all() -> impl Iterator<Item = Option<Self>> {
        [
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            V4::try_new().map(Self::Avx512),
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            V3::try_new().map(Self::Avx2),
            Some(Self::Portable),
        ]
        .into_iter()
    }
}

/// The name of an instruction set, which exists on every processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IsaName {
    Portable,
    Avx2,
    Avx512,
}

/// Work that an instruction set runs.
pub(crate) trait Work {
    /// Implementations are always inlined.
    fn run(self);
}

/// An instruction set for which loops of portable code are compiled.
pub(crate) trait Instructions: Copy + Send + Sync {
    fn run<W: Work>(self, work: W);
}

/// What every processor of the target has.
#[derive(Clone, Copy)]
pub(crate) struct Baseline;

impl Instructions for Baseline {
    #[inline(always)]
    fn run<W: Work>(self, work: W) {
        work.run();
    }
}

/// A [`Work`] in the form that pulp takes.
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
struct Nullary<W>(W);

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
impl<W: Work> NullaryFnOnce for Nullary<W> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.0.run();
    }
}

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
impl Instructions for V3 {
    #[inline(always)]
    fn run<W: Work>(self, work: W) {
        self.vectorize(Nullary(work));
    }
}

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
impl Instructions for V4 {
    #[inline(always)]
    fn run<W: Work>(self, work: W) {
        self.vectorize(Nullary(work));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instruction_set_is_forced_or_refused() {
        assert!(matches!(Isa::named("portable".as_ref()), Ok(Isa::Portable)));
        for (name, index) in [("avx512", 0), ("avx2", 1)] {
            let exists = Isa::all().count() == 3 && Isa::all().nth(index).flatten().is_some();
            let found = Isa::named(name.as_ref());
            assert_eq!(found.is_ok(), exists, "{name}: {found:?}");
        }
        for name in ["", "AVX2", "avx", "sse2", "portable "] {
            assert_eq!(Isa::named(name.as_ref()).unwrap_err(), "expected portable, avx2 or avx512", "{name}");
        }
    }
}
