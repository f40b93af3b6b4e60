//! Packs and unpacks codes in vectors of 16 bytes.

use zerocopy::transmute;

use super::kernels::{self as k, B, H, W};
use super::{Neon, read, write};

/// Packs four vectors of codes of `BITS` bits, at most 8, into `8 * BITS` bytes. Each byte has one code in its low bits;
/// its other bits do not matter.
#[inline(always)]
pub(crate) fn store<const BITS: usize>(l: Neon, [a, b, c, d]: [B; 4], bytes: &mut [u8]) {
    match BITS {
        2 => {
            let join = |a, b| k::insert_2(l.0, k::even_8(l.0, a, b), k::odd_8(l.0, a, b));
            write(bytes, 0, nibbles(l, [join(a, b), join(c, d)]));
        }
        4 => {
            write(bytes, 0, nibbles(l, [a, b]));
            write(bytes, 16, nibbles(l, [c, d]));
        }
        6 => {
            let mut fours = [a, b, c, d];
            for codes in &mut fours {
                let pairs: H = transmute!(*codes);
                let upper = k::shift_16(l.0, pairs, k::splat_16(l.0, 2u16.wrapping_neg()));
                *codes = fours_of_6(l, k::select_16(l.0, k::splat_16(l.0, 0x3f), pairs, upper));
            }
            // Each result has the bytes that are left of one vector, and the first ones of the next.
            let places: [[u8; 16]; 3] = [
                [0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 16, 17, 18, 20],
                [5, 6, 8, 9, 10, 12, 13, 14, 16, 17, 18, 20, 21, 22, 24, 25],
                [10, 12, 13, 14, 16, 17, 18, 20, 21, 22, 24, 25, 26, 28, 29, 30],
            ];
            for i in 0..3 {
                write(bytes, 16 * i, k::look_up_32(l.0, [fours[i], fours[i + 1]], transmute!(places[i])));
            }
        }
        _ => {
            let codes = [a, b, c, d];
            for i in 0..4 {
                write(bytes, 16 * i, codes[i]);
            }
        }
    }
}

/// Stores the low four bits of each byte.
#[inline(always)]
pub(crate) fn store_nibbles(l: Neon, codes: [B; 2], bytes: &mut [u8]) {
    write(bytes, 0, nibbles(l, codes));
}

/// Joins the low four bits of each two bytes.
#[inline(always)]
fn nibbles(l: Neon, [a, b]: [B; 2]) -> B {
    k::insert_4(l.0, k::even_8(l.0, a, b), k::odd_8(l.0, a, b))
}

/// Joins codes of 6 bits: two in each 16-bit lane become four in each 32-bit lane.
#[inline(always)]
pub(crate) fn fours_of_6(l: Neon, pairs: H) -> B {
    let pairs: W = transmute!(pairs);
    let upper = k::shift_32(l.0, pairs, k::splat_32(l.0, 4u32.wrapping_neg()));
    transmute!(k::select_32(l.0, k::splat_32(l.0, 0xfff), pairs, upper))
}

/// Stores the first three bytes of each four of two vectors: 24 bytes.
#[inline(always)]
pub(crate) fn store_threes(l: Neon, [a, b]: [B; 2], bytes: &mut [u8]) {
    let first: [u8; 16] = [0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 16, 17, 18, 20];
    let last: [u8; 16] = [5, 6, 8, 9, 10, 12, 13, 14, 16, 16, 16, 16, 16, 16, 16, 16];
    write(bytes, 0, k::look_up_32(l.0, [a, b], transmute!(first)));
    let last: [u8; 16] = transmute!(k::look_up_16(l.0, b, transmute!(last)));
    bytes[16..24].copy_from_slice(&last[..8]);
}

/// Unpacks 64 codes of `BITS` bits, one into each byte, in order.
#[inline(always)]
pub(crate) fn load<const BITS: usize>(l: Neon, bytes: &[u8]) -> [B; 4] {
    match BITS {
        2 => {
            let [a, b] = unpack_4(l, read(bytes, 0));
            let [a, b] = [unpack_2(l, a), unpack_2(l, b)];
            [a[0], a[1], b[0], b[1]]
        }
        4 => {
            let [a, b] = [unpack_4(l, read(bytes, 0)), unpack_4(l, read(bytes, 16))];
            [a[0], a[1], b[0], b[1]]
        }
        6 => {
            let [a, b, c] = [read(bytes, 0), read(bytes, 16), read(bytes, 32)];
            let mut codes = [
                k::look_up_16(l.0, a, transmute!(PAIRS_OF_6[0])),
                k::look_up_32(l.0, [a, b], transmute!(PAIRS_OF_6[1])),
                k::look_up_32(l.0, [b, c], transmute!(PAIRS_OF_6[2])),
                k::look_up_16(l.0, c, transmute!(PAIRS_OF_6[3])),
            ];
            for codes in &mut codes {
                // The two codes of each lane are moved to its bottom, and then apart.
                let down: [i16; 8] = [0, -4, 0, -4, 0, -4, 0, -4];
                let pairs = k::shift_16(l.0, transmute!(*codes), transmute!(down));
                let upper = k::shift_16(l.0, pairs, k::splat_16(l.0, 2));
                let apart = k::select_16(l.0, k::splat_16(l.0, 0xff), pairs, upper);
                *codes = k::and_8(l.0, transmute!(apart), k::splat_8(l.0, 0x3f));
            }
            codes
        }
        _ => [read(bytes, 0), read(bytes, 16), read(bytes, 32), read(bytes, 48)],
    }
}

/// The bytes of 64 codes of 6 bits, by vectors of 16 codes: of each three bytes, the first 16-bit lane gets the first
/// two, and the next lane the last two. The first byte is that of the vector in which the first code lies.
const PAIRS_OF_6: [[u8; 16]; 4] = [pairs_of_6(0), pairs_of_6(12), pairs_of_6(8), pairs_of_6(4)];

const fn pairs_of_6(first: u8) -> [u8; 16] {
    let mut places = [0; 16];
    let mut i = 0;
    while i < 16 {
        places[i] = first + [0, 1, 1, 2][i % 4] + i as u8 / 4 * 3;
        i += 1;
    }
    places
}

/// Unpacks 32 codes of 4 bits, one into each byte.
#[inline(always)]
fn unpack_4(l: Neon, bytes: B) -> [B; 2] {
    let lower = k::and_8(l.0, bytes, k::splat_8(l.0, 0x0f));
    let upper: B = k::shift_right_4(l.0, bytes);
    [k::zip_first_8(l.0, lower, upper), k::zip_last_8(l.0, lower, upper)]
}

/// Takes the low four bits of 16 bytes apart to 32 codes of 2 bits, one in each byte.
#[inline(always)]
fn unpack_2(l: Neon, nibbles: B) -> [B; 2] {
    let lower = k::and_8(l.0, nibbles, k::splat_8(l.0, 0x03));
    let upper = k::shift_right_2(l.0, nibbles);
    [k::zip_first_8(l.0, lower, upper), k::zip_last_8(l.0, lower, upper)]
}
