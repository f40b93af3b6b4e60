//! Which instructions the processor has, and loops compiled for them.

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
use pulp::x86::V3;

/// What a loop is compiled for. The compiler makes vector instructions of plain loops; no loop is written twice.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Level {
    /// What every processor of the target has.
    Plain,
    /// x86-64-v3: AVX2 above all.
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    V3(V3),
}

impl Level {
    /// The best that this processor has.
    pub(crate) fn best() -> Self {
        Self::all()[0].unwrap_or(Self::Plain)
    }

    /// Every level, best first; `None` for one that this processor lacks.
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    pub(crate) fn all() -> [Option<Self>; 2] {
        [V3::try_new().map(Self::V3), Some(Self::Plain)]
    }

    /// Every level, best first.
    #[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
    pub(crate) fn all() -> [Option<Self>; 1] {
        [Some(Self::Plain)]
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

impl Level {
    /// `destination[i] = entries[source[i]]`, as far as both reach.
    pub(crate) fn look_up(self, source: &[u8], destination: &mut [u8], entries: &[u8; 256]) {
        match self {
            Self::Plain => each!(self, source, destination, |unit| entries[usize::from(unit)]),
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Self::V3(simd) => {
                let whole = source.len().min(destination.len()) / 32 * 32;
                let (sources, source) = source.split_at(whole);
                let (destinations, destination) = destination.split_at_mut(whole);
                let (source32, destination32) = (bytemuck::cast_slice(sources), bytemuck::cast_slice_mut(destinations));
                let look_up = LookUp { simd, source: source32, destination: destination32, entries };
                simd.vectorize(
                    #[inline(always)]
                    || look_up.run(),
                );
                each!(self, source, destination, |unit| entries[usize::from(unit)]);
            }
        }
    }
}

/// A table of 256 bytes as 16 shuffles of 16 bytes, of which bits 4 to 7 choose.
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
struct LookUp<'a> {
    simd: V3,
    source: &'a [[u8; 32]],
    destination: &'a mut [[u8; 32]],
    entries: &'a [u8; 256],
}

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
impl LookUp<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { simd: V3 { avx, avx2, .. }, source, destination, entries } = self;
        let rows: &[[u8; 16]; 16] = bytemuck::cast_ref(entries);
        let rows = rows.map(|row| avx2._mm256_broadcastsi128_si256(bytemuck::cast(row)));
        let nibble = avx._mm256_set1_epi8(0xf);
        for (destination, source) in destination.iter_mut().zip(source) {
            let codes = bytemuck::cast(*source);
            let low = avx2._mm256_and_si256(codes, nibble);
            // `blendv` looks at the top bit of a byte.
            let bit4 = avx2._mm256_slli_epi16::<3>(codes);
            let bit5 = avx2._mm256_slli_epi16::<2>(codes);
            let bit6 = avx2._mm256_slli_epi16::<1>(codes);
            // Macros, since a closure could not be told to be inlined.
            macro_rules! chosen {
                ($row:expr) => {
                    avx2._mm256_shuffle_epi8(rows[$row], low)
                };
                ($row:expr, $bit:ident = $step:literal $($rest:tt)*) => {
                    avx2._mm256_blendv_epi8(chosen!($row $($rest)*), chosen!($row + $step $($rest)*), $bit)
                };
            }
            *destination = bytemuck::cast(chosen!(0, codes = 8, bit6 = 4, bit5 = 2, bit4 = 1));
        }
    }
}
