//! Which instructions the processor has, and loops compiled for them.

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
use pulp::x86::V3;
#[cfg(all(any(target_arch = "x86", target_arch = "x86_64"), feature = "avx512"))]
use pulp::x86::V4;

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
    #[cfg(all(any(target_arch = "x86", target_arch = "x86_64"), feature = "avx512"))]
    V4(V4),
}

impl Level {
    /// The best that this processor has.
    pub(crate) fn best() -> Self {
        Self::all().flatten().next().unwrap_or(Self::Plain)
    }

    /// Every level, best first; `None` for one that this processor lacks.
    pub(crate) fn all() -> impl Iterator<Item = Option<Self>> {
        [
            #[cfg(all(any(target_arch = "x86", target_arch = "x86_64"), feature = "avx512"))]
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
            #[cfg(feature = "avx512")]
            Self::V4(simd) => Some(*simd),
        }
    }

    /// The same with vectors of at most 32 bytes.
    pub(crate) fn short(self) -> Self {
        match self {
            #[cfg(all(any(target_arch = "x86", target_arch = "x86_64"), feature = "avx512"))]
            Self::V4(simd) => Self::V3(*simd),
            level => level,
        }
    }

    /// Whether it shifts 16-bit words by each one's own amount.
    pub(crate) fn shifts_words(self) -> bool {
        #[cfg(all(any(target_arch = "x86", target_arch = "x86_64"), feature = "avx512"))]
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
            #[cfg(all(any(target_arch = "x86", target_arch = "x86_64"), feature = "avx512"))]
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
