//! Kernel loops: they repeat a step, which converts a fixed number of bytes, over the packed codes of a tensor.

use std::marker::PhantomData;

use super::isa::Work;
use super::lanes::Lanes;
use super::pack::pack;
use super::sink::Sink;
use super::source::Source;

/// The cast of one pair. Packed codes start at a byte on both sides. The pad bits that it writes are undefined.
pub(crate) trait Kernel: Send + Sync {
    fn convert(&self, source: &[u8], destination: &mut [u8]);
}

/// The same codes.
pub(crate) struct CopyCodes;

impl Kernel for CopyCodes {
    fn convert(&self, source: &[u8], destination: &mut [u8]) {
        destination.copy_from_slice(source);
    }
}

/// Converts `READ` source bytes to `WRITTEN` destination bytes, at most [`STEP`] each.
pub(crate) trait Step<L>: Copy + Send + Sync {
    const READ: usize;
    const WRITTEN: usize;
    /// Implementations are always inlined.
    fn step(self, l: L, source: &[u8], destination: &mut [u8]);
}

/// The most bytes that a step reads or writes.
const STEP: usize = 1024;

/// Repeats a step until the destination is full. The last step may convert fewer codes.
pub(crate) struct Steps<L, T>(pub L, pub T);

impl<L: Lanes, T: Step<L>> Kernel for Steps<L, T> {
    fn convert(&self, source: &[u8], destination: &mut [u8]) {
        self.0.run(Loop { l: self.0, step: self.1, source, destination });
    }
}

struct Loop<'a, L, T> {
    l: L,
    step: T,
    source: &'a [u8],
    destination: &'a mut [u8],
}

impl<L: Lanes, T: Step<L>> Work for Loop<'_, L, T> {
    #[inline(always)]
    fn run(self) {
        let Self { l, step, source, destination } = self;
        let whole = (source.len() / T::READ).min(destination.len() / T::WRITTEN);
        let (sources, source) = source.split_at(whole * T::READ);
        let (destinations, destination) = destination.split_at_mut(whole * T::WRITTEN);
        for (source, destination) in sources.chunks_exact(T::READ).zip(destinations.chunks_exact_mut(T::WRITTEN)) {
            step.step(l, source, destination);
        }
        if destination.is_empty() {
            return;
        }
        let (mut last, mut made) = ([0; STEP], [0; STEP]);
        let rest = source.len().min(T::READ);
        last[..rest].copy_from_slice(&source[..rest]);
        step.step(l, &last[..T::READ], &mut made[..T::WRITTEN]);
        destination.copy_from_slice(&made[..destination.len()]);
    }
}

/// The step of a source and of a sink of codes of at most 16 bits.
#[derive(Clone, Copy)]
pub(crate) struct SourceToSink<S, K>(pub S, pub K);

impl<L: Lanes, S: Source<L>, K: Sink<L, S>> Step<L> for SourceToSink<S, K> {
    const READ: usize = L::GROUPS * L::COUNT * S::BITS / 8;
    const WRITTEN: usize = L::GROUPS * L::COUNT * if L::PACKS || K::BITS > 8 { K::BITS } else { 8 } / 8;

    #[inline(always)]
    #[allow(
        clippy::needless_range_loop,
        reason = "the closures of adapters are compiled without the vector instructions"
    )]
    fn step(self, l: L, source: &[u8], destination: &mut [u8]) {
        let mut codes = [l.splat_u16(0); 8];
        macro_rules! group {
            ($i:expr) => {
                codes[$i] = self.1.codes(l, self.0, &source[L::COUNT * S::BITS / 8 * $i..])
            };
        }
        if L::GROUPS == 8 && S::BITS == 32 && S::SIGNED && !S::NANS {
            // The compiler does not unroll the loop below for INT32 on AVX2. It then waits longer for memory: 0.83 of
            // the speed at 16 Mi elements.
            group!(0);
            group!(1);
            group!(2);
            group!(3);
            group!(4);
            group!(5);
            group!(6);
            group!(7);
        } else {
            for i in 0..L::GROUPS {
                group!(i);
            }
        }
        l.store_codes(K::BITS, S::BITS > 16, &codes[..L::GROUPS], destination);
    }
}

/// Defines a step of one group by the source and destination bytes of an element and the work.
macro_rules! step {
    ($(#[$doc:meta])* $name:ident $(<$parameter:ident>)?, $read:literal to $written:literal,
        |$l:ident, $source:ident, $destination:ident| $done:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name $(<const $parameter: bool>)?;

        impl<L: Lanes $(, const $parameter: bool)?> Step<L> for $name $(<$parameter>)? {
            const READ: usize = $read * L::COUNT;
            const WRITTEN: usize = $written * L::COUNT;

            #[inline(always)]
            fn step(self, $l: L, $source: &[u8], $destination: &mut [u8]) {
                $done
            }
        }
    };
}

step!(/// FLOAT16 to binary32.
F16ToF32, 2 to 4, |l, source, destination| {
    l.store_u32(l.f16_numbers(l.load_u16_to_unpack(source)), destination);
});
step!(/// FLOAT16 to binary64.
F16ToF64, 2 to 8, |l, source, destination| {
    l.store_f32_as_f64(l.f16_numbers(l.load_u16_to_unpack(source)), destination);
});
step!(/// FLOAT16 to 64-bit integers.
    F16ToInt64<SIGNED>, 2 to 8, |l, source, destination| l.store_f16_as_i64::<SIGNED>(source, destination));
step!(/// BFLOAT16 to 64-bit integers.
Bf16ToInt64<SIGNED>, 2 to 8, |l, source, destination| {
    let numbers = l.unpack(l.splat_u16(0), l.load_u16_to_unpack(source));
    l.store_f32_as_i64::<SIGNED>(numbers, destination);
});
step!(/// FLOAT to 64-bit integers.
F32ToInt64<SIGNED>, 4 to 8, |l, source, destination| {
    l.store_f32_as_i64::<SIGNED>(l.load_u32(source), destination);
});

/// Floats to signed 32-bit integers.
#[derive(Clone, Copy)]
pub(crate) struct ToInt32<S>(pub S);

impl<L: Lanes, S: Source<L>> Step<L> for ToInt32<S> {
    const READ: usize = S::BITS / 8 * L::COUNT;
    const WRITTEN: usize = 4 * L::COUNT;

    #[inline(always)]
    fn step(self, l: L, source: &[u8], destination: &mut [u8]) {
        l.store_u32(self.0.integers(l, source), destination);
    }
}

/// Codes of less than a byte. Another kernel writes a block of them, one in each byte, and then they are packed.
pub(crate) struct Packed {
    pub kernel: Box<dyn Kernel>,
    pub from_bits: usize,
    pub to_bits: usize,
}

/// The elements of such a block: few enough for the first-level cache, and a multiple of all groups.
const BLOCK: usize = 2048;

impl Kernel for Packed {
    fn convert(&self, source: &[u8], destination: &mut [u8]) {
        let mut codes = [0; BLOCK];
        let (read, written) = (BLOCK * self.from_bits / 8, BLOCK * self.to_bits / 8);
        for (source, destination) in source.chunks(read).zip(destination.chunks_mut(written)) {
            let elements = source.len() * 8 / self.from_bits;
            self.kernel.convert(source, &mut codes[..elements]);
            pack(&codes, self.to_bits, destination);
        }
    }
}

/// A little-endian word.
pub(crate) trait Word: Copy + Send + Sync {
    const BYTES: usize;
    fn read(bytes: &[u8]) -> Self;
    fn write(self, bytes: &mut [u8]);
}

macro_rules! words {
    ($($word:ty)*) => {$(
        impl Word for $word {
            const BYTES: usize = size_of::<$word>();
            #[inline(always)]
            fn read(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().expect("the bytes of a word"))
            }
            #[inline(always)]
            fn write(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}

words! { u8 u16 u32 u64 }

/// The step of a function of one element. The compiler vectorises the loop.
#[derive(Clone, Copy)]
pub(crate) struct Map<S, D, F>(F, PhantomData<(S, D)>);

impl<S: Word, D: Word, F: Fn(S) -> D> Map<S, D, F> {
    pub(crate) fn new(function: F) -> Self {
        Self(function, PhantomData)
    }
}

impl<L: Lanes, S: Word, D: Word, F: Fn(S) -> D + Copy + Send + Sync> Step<L> for Map<S, D, F> {
    const READ: usize = S::BYTES;
    const WRITTEN: usize = D::BYTES;

    #[inline(always)]
    fn step(self, _: L, source: &[u8], destination: &mut [u8]) {
        (self.0)(S::read(source)).write(destination);
    }
}
