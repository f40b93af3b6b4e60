//! Work done for so many bytes at a time, in a loop that is compiled for a level.

use pulp::NullaryFnOnce;
use pulp::x86::{V3, V4};

/// What the loops of strips are compiled for.
pub(crate) trait Instructions: Copy {
    /// Runs work that is always inlined.
    fn run<W: NullaryFnOnce>(self, work: W) -> W::Output;
}

impl Instructions for V3 {
    #[inline(always)]
    fn run<W: NullaryFnOnce>(self, work: W) -> W::Output {
        self.vectorize(work)
    }
}

impl Instructions for V4 {
    #[inline(always)]
    fn run<W: NullaryFnOnce>(self, work: W) -> W::Output {
        self.vectorize(work)
    }
}

/// What is done for so many source and destination bytes, at most 1,024 each.
pub(crate) trait Strip<I> {
    const READ: usize;
    const WRITTEN: usize;
    /// To be inlined always.
    fn convert(&self, simd: I, source: &[u8], destination: &mut [u8]);
}

/// Does a strip's work until the destination is full. The last strip may be less; what it writes to pad bits is undefined.
pub(crate) fn strips<I: Instructions, S: Strip<I>>(simd: I, strip: &S, source: &[u8], destination: &mut [u8]) {
    simd.run(Strips { simd, strip, source, destination });
}

struct Strips<'a, I, S> {
    simd: I,
    strip: &'a S,
    source: &'a [u8],
    destination: &'a mut [u8],
}

impl<I: Copy, S: Strip<I>> NullaryFnOnce for Strips<'_, I, S> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { simd, strip, source, destination } = self;
        let whole = (source.len() / S::READ).min(destination.len() / S::WRITTEN);
        let (sources, source) = source.split_at(whole * S::READ);
        let (destinations, destination) = destination.split_at_mut(whole * S::WRITTEN);
        for (source, destination) in sources.chunks_exact(S::READ).zip(destinations.chunks_exact_mut(S::WRITTEN)) {
            strip.convert(simd, source, destination);
        }
        if destination.is_empty() {
            return;
        }
        let (mut last, mut made) = ([0; 1024], [0; 1024]);
        let rest = source.len().min(S::READ);
        last[..rest].copy_from_slice(&source[..rest]);
        strip.convert(simd, &last[..S::READ], &mut made[..S::WRITTEN]);
        destination.copy_from_slice(&made[..destination.len()]);
    }
}
