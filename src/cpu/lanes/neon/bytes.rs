//! Lanes of bytes. Interleaving leaves vectors of 16 bytes in order, so that nothing is spread before.

use zerocopy::transmute;

use super::kernels::{self as k, H};
use super::{Neon, pack};
use crate::cpu::lanes::bytes::ByteLanes;

impl ByteLanes for Neon {
    operations! {
        self;
        look_up_u8(table: [u8; 16], index: H) -> H =
            transmute!(k::look_up_16(self.0, transmute!(table), transmute!(index)));
        spread_by_8(a: H) -> H = a;
        spread_by_4(a: H) -> H = a;
        interleaved_u8(a: H, b: H) -> [H; 2] = [
            transmute!(k::zip_first_8(self.0, transmute!(a), transmute!(b))),
            transmute!(k::zip_last_8(self.0, transmute!(a), transmute!(b))),
        ];
        interleaved_u16(a: H, b: H) -> [H; 2] = [k::zip_first_16(self.0, a, b), k::zip_last_16(self.0, a, b)];
        store_nibbles(a: [H; 2], bytes: &mut [u8]) = pack::store_nibbles(self, transmute!(a), bytes);
        store_pairs_of_6([a, b]: [H; 2], bytes: &mut [u8]) =
            pack::store_threes(self, [pack::fours_of_6(self, a), pack::fours_of_6(self, b)], bytes);
        store_threes(a: [H; 2], bytes: &mut [u8]) = pack::store_threes(self, transmute!(a), bytes);
        store_from_bytes<const BITS: usize>(codes: [H; 4], bytes: &mut [u8]) =
            pack::store::<BITS>(self, transmute!(codes), bytes);
    }
}
