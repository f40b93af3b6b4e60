//! Which instructions the processor has, and loops compiled for them.

use std::ffi::OsStr;
use std::sync::OnceLock;

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
use pulp::x86::{V3, V4};

/// The environment variable by which tests and benchmarks name the instruction set of a process: `portable`, `avx2` or
/// `avx512`. It is read once, at the first cast, and is no part of the public interface.
const FORCE: &str = "WGPU_CAST_ISA";

/// What a loop is compiled for. The compiler makes vector instructions of plain loops; what it does not find is in
/// `x86.rs`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Level {
    /// What every processor of the target has.
    Plain,
    /// x86-64-v3: AVX2 above all.
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    V3(V3),
    /// x86-64-v4: AVX-512.
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    V4(V4),
}

impl Level {
    /// The best that this processor has, or the one that the environment names.
    ///
    /// # Panics
    /// Where the environment names one that does not exist or that this processor lacks: a test or a benchmark must not
    /// run on another instruction set than it says.
    pub(crate) fn best() -> Self {
        static BEST: OnceLock<Level> = OnceLock::new();
        *BEST.get_or_init(|| match std::env::var_os(FORCE) {
            None => Self::all().flatten().next().unwrap_or(Self::Plain),
            Some(name) => Self::named(&name).unwrap_or_else(|problem| panic!("{FORCE}={}: {problem}", name.display())),
        })
    }

    /// The level of that name, or why there is none.
    fn named(name: &OsStr) -> Result<Self, &'static str> {
        match name.to_str() {
            Some("portable") => Ok(Self::Plain),
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Some("avx2") => V3::try_new().map(Self::V3).ok_or("this processor has no AVX2"),
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Some("avx512") => V4::try_new().map(Self::V4).ok_or("this processor has no AVX-512"),
            #[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
            Some("avx2" | "avx512") => Err("this is no x86 processor"),
            _ => Err("expected portable, avx2 or avx512"),
        }
    }

    /// Every level, best first; `None` for one that this processor lacks.
    pub(crate) fn all() -> impl Iterator<Item = Option<Self>> {
        [
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            V4::try_new().map(Self::V4),
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            V3::try_new().map(Self::V3),
            Some(Self::Plain),
        ]
        .into_iter()
    }

    /// AVX2's instructions, where the level has them.
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    pub(crate) fn v3(self) -> Option<V3> {
        match self {
            Self::Plain => None,
            Self::V3(simd) => Some(simd),
            Self::V4(simd) => Some(*simd),
        }
    }

    /// The same with vectors of at most 32 bytes.
    pub(crate) fn short(self) -> Self {
        match self {
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Self::V4(simd) => Self::V3(*simd),
            level => level,
        }
    }

    /// Whether it shifts 16-bit words by each one's own amount.
    pub(crate) fn shifts_words(self) -> bool {
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        if let Self::V4(_) = self {
            return true;
        }
        false
    }

    /// `destination[i] = f(source[i])`, as far as both reach.
    #[inline]
    pub(crate) fn each<S: Copy, D>(self, source: &[S], destination: &mut [D], f: impl Fn(S) -> D) {
        let each = Each { source, destination, f };
        match self {
            Self::Plain => each.run(),
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Self::V3(simd) => simd.vectorize(
                #[inline(always)]
                || each.run(),
            ),
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Self::V4(simd) => simd.vectorize(
                #[inline(always)]
                || each.run(),
            ),
        }
    }
}

/// `each!(on, arguments…, closure)` is `on.each(arguments…, closure)` with a closure that is always inlined: whatever is
/// not inlined into the function that has a level's instructions is compiled without them.
macro_rules! each {
    ($on:ident, $($argument:ident),+, |$x:ident $(: $word:ty)?| $f:expr) => {
        $on.each(
            $($argument),+,
            #[inline(always)]
            move |$x $(: $word)?| $f,
        )
    };
}
pub(crate) use each;

/// A closure that is always inlined.
macro_rules! inlined {
    (|$x:ident: $word:ty| $f:expr) => {
        $crate::cpu::level::always(
            #[inline(always)]
            move |$x: $word| $f,
        )
    };
}
pub(crate) use inlined;

/// Its argument: attributes are for arguments, not for all expressions.
#[inline(always)]
pub(crate) fn always<F>(f: F) -> F {
    f
}

struct Each<'a, S, D, F> {
    source: &'a [S],
    destination: &'a mut [D],
    f: F,
}

impl<S: Copy, D, F: Fn(S) -> D> Each<'_, S, D, F> {
    #[inline(always)]
    fn run(self) {
        let Self { source, destination, f } = self;
        for (destination, &source) in destination.iter_mut().zip(source) {
            *destination = f(source);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instruction_set_is_forced_or_refused() {
        assert!(matches!(Level::named("portable".as_ref()), Ok(Level::Plain)));
        for (name, index) in [("avx512", 0), ("avx2", 1)] {
            let exists = Level::all().count() == 3 && Level::all().nth(index).flatten().is_some();
            let found = Level::named(name.as_ref());
            assert_eq!(found.is_ok(), exists, "{name}: {found:?}");
        }
        for name in ["", "AVX2", "avx", "sse2", "portable "] {
            assert_eq!(Level::named(name.as_ref()).unwrap_err(), "expected portable, avx2 or avx512", "{name}");
        }
    }
}
