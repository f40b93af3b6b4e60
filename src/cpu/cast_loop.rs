//! The loops of casts: they repeat a step, which converts a fixed number of bytes, over the packed codes of a tensor.

use std::marker::PhantomData;

use super::isa::Instructions;
use super::lanes::Lanes;
use super::lanes::portable::Portable;
use super::non_temporal::{self, LINE};
use super::sink::Sink;
use super::source::{Numbers, Source};
use super::word::Word;

/// The cast of one pair. Packed codes start at a byte on both sides. Pad bits of the destination are undefined.
pub(crate) trait CastLoop: Send + Sync {
    fn info(&self) -> LoopInfo {
        LoopInfo::default()
    }

    /// Converts as many whole steps as both sides have, or all codes if there is no [`LoopInfo::step`].
    fn convert_steps(&self, source: &[u8], destination: &mut [u8]);

    /// Converts the beginning of the codes with non-temporal stores, if there is such a loop. Returns the numbers of source
    /// and destination bytes that it converted. Only while a `non_temporal::Fence` is held.
    fn convert_past_caches(&self, _source: &[u8], _destination: &mut [u8]) -> [usize; 2] {
        [0, 0]
    }
}

/// What a cast must know of its loop.
#[derive(Clone, Copy, Default)]
pub(crate) struct LoopInfo {
    /// The source and destination bytes of a step of [`CastLoop::convert_steps`], at most [`STEP`] each; `None` if that
    /// converts any number of elements.
    pub step: Option<[usize; 2]>,
    /// See [`Step::READS_LINES`].
    pub reads_lines: bool,
}

/// The cast between two types with the same codes.
pub(crate) struct CopyCodes<I>(pub I);

impl<I: Instructions + 'static> CastLoop for CopyCodes<I> {
    fn convert_steps(&self, source: &[u8], destination: &mut [u8]) {
        destination.copy_from_slice(source);
    }

    /// This is faster than the C library's copies of large tensors. The design log has the figures.
    fn convert_past_caches(&self, source: &[u8], destination: &mut [u8]) -> [usize; 2] {
        (Portable(self.0), CopyLines).convert_past_caches(source, destination)
    }
}

#[derive(Clone, Copy)]
struct CopyLines;

impl<L: Lanes> Step<L> for CopyLines {
    const READ: usize = 4 * LINE;
    const WRITTEN: usize = <Self as Step<L>>::READ;
    const NON_TEMPORAL: bool = true;

    #[inline(always)]
    fn step(self, _: L, source: &[u8], destination: &mut [u8]) {
        destination.copy_from_slice(source);
    }
}

/// Converts `READ` source bytes to `WRITTEN` destination bytes, at most [`STEP`] each.
pub(crate) trait Step<L>: Copy + Send + Sync {
    const READ: usize;
    const WRITTEN: usize;
    /// Whether a step converts one element, so that no cast has a part of a step at its end.
    const IS_ONE_ELEMENT: bool = false;
    /// Whether there is a second loop, with non-temporal stores. The second loop is worth its size for results of at
    /// least 16 bits, and for copies, BOOL and low bytes of integers of up to 32 bits and of floats of 16 bits.
    const NON_TEMPORAL: bool = false;
    /// Whether that loop makes one line at a time, if a step makes less than one, and not [`Lanes::LINES`].
    const ONE_LINE: bool = false;
    /// Whether a cast in the caches begins at a cache line of the source, not of the destination.
    const READS_LINES: bool = false;
    /// Implementations are always inlined.
    fn step(self, l: L, source: &[u8], destination: &mut [u8]);
}

/// The most bytes that a step reads or writes.
pub(crate) const STEP: usize = 1024;

/// The bytes that a loop with non-temporal stores reads and writes at a time.
const fn block<L: Lanes, T: Step<L>>() -> [usize; 2] {
    let lines = if T::ONE_LINE { 1 } else { L::LINES };
    let steps = if T::WRITTEN < LINE { lines * LINE / T::WRITTEN } else { 1 };
    assert!(!T::NON_TEMPORAL || (steps * T::WRITTEN).is_multiple_of(LINE), "whole lines");
    [steps * T::READ, steps * T::WRITTEN]
}

/// Lanes and a step are a loop that repeats the step in these lanes. This is a tuple and no struct because of the time
/// that it takes to compile: rustc puts the loops of a tuple together with the module of its first type. So the
/// instruction sets are compiled at the same time, on several cores.
impl<L: Lanes, T: Step<L>> CastLoop for (L, T) {
    fn info(&self) -> LoopInfo {
        let step = (!T::IS_ONE_ELEMENT).then_some([T::READ, T::WRITTEN]);
        LoopInfo { step, reads_lines: T::READS_LINES }
    }

    fn convert_steps(&self, source: &[u8], destination: &mut [u8]) {
        let &(l, step) = self;
        l.run(
            #[inline(always)]
            || repeat(l, step, source, destination),
        );
    }

    fn convert_past_caches(&self, source: &[u8], destination: &mut [u8]) -> [usize; 2] {
        if const { !non_temporal::EXISTS || !T::NON_TEMPORAL } {
            return [0, 0];
        }
        let &(l, step) = self;
        let mut blocks = 0;
        l.run(
            #[inline(always)]
            || {
                blocks = non_temporal::fill::<{ STEP / LINE }>(
                    // If `fill_order` is called outside this closure, the loop has 0.8 to 0.9 of the speed.
                    non_temporal::fill_order(),
                    // This closure is compiled as a function of its own: a value that is computed outside would not be
                    // a constant here, and `fill` needs constants.
                    (source, const { block::<L, T>()[0] }),
                    (destination, const { block::<L, T>()[1] / LINE }),
                    // With `move`, the step's values stay in registers. Without it, each block loads them again,
                    // because the compiler cannot exclude that the stores of the block before changed them.
                    #[inline(always)]
                    move |source, made| {
                        for (source, made) in source.chunks_exact(T::READ).zip(made.chunks_exact_mut(T::WRITTEN)) {
                            step.step(l, source, made);
                        }
                    },
                    #[inline(always)]
                    |made, destination| l.store_past_caches(made, destination),
                );
            },
        );
        let [read, written] = const { block::<L, T>() };
        [blocks * read, blocks * written]
    }
}

/// The same, with other lanes, the second, for non-temporal stores.
impl<L: Lanes, N: Lanes, T: Step<L> + Step<N>> CastLoop for (L, N, T) {
    fn info(&self) -> LoopInfo {
        (self.0, self.2).info()
    }

    fn convert_steps(&self, source: &[u8], destination: &mut [u8]) {
        (self.0, self.2).convert_steps(source, destination);
    }

    fn convert_past_caches(&self, source: &[u8], destination: &mut [u8]) -> [usize; 2] {
        (self.1, self.2).convert_past_caches(source, destination)
    }
}

#[inline(always)]
fn repeat<L: Lanes, T: Step<L>>(l: L, step: T, source: &[u8], destination: &mut [u8]) {
    let whole = (source.len() / T::READ).min(destination.len() / T::WRITTEN);
    let (sources, destinations) = (&source[..whole * T::READ], &mut destination[..whole * T::WRITTEN]);
    for (source, destination) in sources.chunks_exact(T::READ).zip(destinations.chunks_exact_mut(T::WRITTEN)) {
        step.step(l, source, destination);
    }
}

/// The number of groups that a step converts to results of `bits` bits. Results of 16 bits fill one line: with AVX2,
/// more do not fit into the registers of a loop with non-temporal stores.
const fn groups<L: Lanes>(bits: usize) -> usize {
    if L::PACKS && bits == 16 { LINE / 2 / L::COUNT } else { L::GROUPS }
}

/// The step of a source and a sink. The sink's codes have at most 16 bits.
#[derive(Clone, Copy)]
pub(crate) struct SourceToSink<S, K>(pub S, pub K);

impl<L: Lanes, S: Source, K: Sink<L, S>> Step<L> for SourceToSink<S, K> {
    const READ: usize = groups::<L>(K::BITS) * L::COUNT * S::BITS / 8;
    const WRITTEN: usize = groups::<L>(K::BITS) * L::COUNT * if L::PACKS || K::BITS > 8 { K::BITS } else { 8 } / 8;
    const NON_TEMPORAL: bool = L::PACKS && K::NON_TEMPORAL;
    const READS_LINES: bool = K::READS_LINES;

    #[inline(always)]
    fn step(self, l: L, source: &[u8], destination: &mut [u8]) {
        macro_rules! codes {
            ($i:expr) => {
                self.1.codes(l, self.0, &source[L::COUNT * S::BITS / 8 * $i..])
            };
        }
        if const { K::BITS == 16 } {
            for i in 0..groups::<L>(16) {
                l.store_u16(S::BITS > 16, codes!(i), &mut destination[2 * L::COUNT * i..]);
            }
            return;
        }
        let mut codes = [l.splat_u16(0); 8];
        if const { L::GROUPS == 8 && (L::COUNT == 8 || S::BITS == 32 && S::SIGNED && !S::NANS) } {
            // For INT32 with AVX2, the compiler does not unroll the loop below. A loop that is not unrolled waits
            // longer for memory and has 0.83 of the speed at 16 Mi elements. With NEON, it unrolls some such loops
            // late, and then keeps codes in memory.
            codes = [codes!(0), codes!(1), codes!(2), codes!(3), codes!(4), codes!(5), codes!(6), codes!(7)];
        } else {
            for i in 0..L::GROUPS {
                codes[i] = codes!(i);
            }
        }
        l.store_bytes(K::BITS, S::BITS, &codes[..L::GROUPS], destination);
    }
}

/// FLOAT16 to floats of `BITS` bits.
#[derive(Clone, Copy)]
pub(crate) struct F16ToFloat<const BITS: usize>;

impl<L: Lanes, const BITS: usize> Step<L> for F16ToFloat<BITS> {
    const READ: usize = 2 * L::COUNT;
    const WRITTEN: usize = BITS / 8 * L::COUNT;
    const NON_TEMPORAL: bool = true;

    #[inline(always)]
    fn step(self, l: L, source: &[u8], destination: &mut [u8]) {
        let numbers = l.load_f16(source);
        match BITS {
            32 => l.store_u32(numbers, destination),
            _ => l.store_f32_as_f64(numbers, destination),
        }
    }
}

/// FLOAT16 to 64-bit integers.
#[derive(Clone, Copy)]
pub(crate) struct F16ToInt64<const SIGNED: bool>;

impl<L: Lanes, const SIGNED: bool> Step<L> for F16ToInt64<SIGNED> {
    const READ: usize = 2 * L::COUNT;
    const WRITTEN: usize = 8 * L::COUNT;
    const NON_TEMPORAL: bool = true;

    #[inline(always)]
    fn step(self, l: L, source: &[u8], destination: &mut [u8]) {
        l.store_f16_as_i64::<SIGNED>(source, destination);
    }
}

/// Floats to integers of `BITS` bits. Integers of 32 bits are signed.
#[derive(Clone, Copy)]
pub(crate) struct ToInt<S, const BITS: usize, const SIGNED: bool>(pub S);

impl<L: Lanes, S: Numbers<L>, const BITS: usize, const SIGNED: bool> Step<L> for ToInt<S, BITS, SIGNED> {
    const READ: usize = S::BITS / 8 * L::COUNT;
    const WRITTEN: usize = BITS / 8 * L::COUNT;
    const NON_TEMPORAL: bool = true;

    #[inline(always)]
    fn step(self, l: L, source: &[u8], destination: &mut [u8]) {
        match BITS {
            32 => l.store_u32(self.0.integers(l, source), destination),
            _ => l.store_f32_as_i64::<SIGNED>(self.0.in_order(l, source), destination),
        }
    }
}

/// There is no loop with non-temporal stores.
pub(crate) const NEVER: usize = 0;
/// There is one, and it makes one line at a time.
pub(crate) const ONE_LINE: usize = 1;
/// There is one, and it makes several lines at a time.
pub(crate) const SEVERAL_LINES: usize = 2;
/// As `SEVERAL_LINES`, if the results have at least 16 bits. To 8 bits, such loops are worth their size only where little
/// is computed.
pub(crate) const FROM_16_BITS: usize = 3;

/// The step of a function of one element. The compiler vectorises its loop. `STREAM` is one of the four constants here, and
/// says whether there is a loop with non-temporal stores.
#[derive(Clone, Copy)]
pub(crate) struct Map<S, D, F, const STREAM: usize>(F, PhantomData<(S, D)>);

impl<S: Word, D: Word, F: Fn(S) -> D, const STREAM: usize> Map<S, D, F, STREAM> {
    pub(crate) fn new(function: F) -> Self {
        Self(function, PhantomData)
    }
}

impl<L: Lanes, S: Word, D: Word, F: Fn(S) -> D + Copy + Send + Sync, const STREAM: usize> Step<L>
    for Map<S, D, F, STREAM>
{
    const READ: usize = S::BYTES;
    const WRITTEN: usize = D::BYTES;
    const IS_ONE_ELEMENT: bool = true;
    const NON_TEMPORAL: bool = match STREAM {
        NEVER => false,
        FROM_16_BITS => D::BYTES >= 2,
        _ => true,
    };
    const ONE_LINE: bool = STREAM == ONE_LINE;
    const READS_LINES: bool = L::VECTORS_ARE_LINES && S::BYTES >= 4 * D::BYTES;

    #[inline(always)]
    fn step(self, _: L, source: &[u8], destination: &mut [u8]) {
        (self.0)(S::read(source)).write(destination);
    }
}
