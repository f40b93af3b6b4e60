//! Codes of less than a byte, one in each byte.

use super::{Clamp, LowBits, ShortSink, Sink};
use crate::cpu::lanes::Lanes;
use crate::cpu::source::Source;

macro_rules! in_bytes {
    ($($sink:ident<$bits:literal>)*) => {$(
        impl ShortSink for $sink<$bits> {
            type InBytes = InBytes<Self>;
            fn in_bytes(self) -> InBytes<Self> {
                InBytes(self)
            }
        }
    )*};
}

in_bytes! { Clamp<4> LowBits<2> LowBits<4> LowBits<6> }

/// The codes of another sink, which are not packed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InBytes<K>(pub K);

impl<L: Lanes, S: Source, K: Sink<L, S>> Sink<L, S> for InBytes<K> {
    const BITS: usize = 8;

    #[inline(always)]
    fn codes(self, l: L, source: S, bytes: &[u8]) -> L::U16 {
        self.0.codes(l, source, bytes)
    }
}
