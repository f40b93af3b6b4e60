//! Packs codes of at most 8 bits in vectors of 64 bytes.

use bytemuck::cast;

use super::{Avx512, splat_u16, splat_u32, write};
use crate::cpu::word::four;
use crate::cpu::x86::__m512i;

/// Stores 128 codes of `bits` bits, at most 8, from 16-bit lanes in the order of the elements. The bits above a code
/// are zero.
#[inline(always)]
pub(crate) fn store_codes(l: Avx512, bits: usize, codes: [__m512i; 4], bytes: &mut [u8]) {
    let short = l.0;
    let [a, b, c, d] = codes;
    let (first, second) = (short._mm512_packus_epi16(a, b), short._mm512_packus_epi16(c, d));
    match bits {
        2 | 4 => {
            let (first, second) = (paired(l, bits, first), paired(l, bits, second));
            let pairs = in_order_of_two(l, short._mm512_packus_epi16(first, second));
            match bits {
                4 => write(bytes, 0, pairs),
                _ => {
                    let fours = short._mm512_cvtepi16_epi8(paired(l, 4, pairs));
                    bytes[..32].copy_from_slice(&cast::<_, [u8; 32]>(fours));
                }
            }
        }
        6 => {
            store_pairs_of_6(l, [paired(l, 6, l.in_order(first)), paired(l, 6, l.in_order(second))], bytes);
        }
        _ => {
            write(bytes, 0, l.in_order(first));
            write(bytes, 64, l.in_order(second));
        }
    }
}

/// Joins the fields of `bits` bits in each two bytes to one field in a 16-bit lane: multiplies the upper field by a
/// power of two, and adds the lower field.
#[inline(always)]
pub(crate) fn paired(l: Avx512, bits: usize, fields: __m512i) -> __m512i {
    l.0._mm512_maddubs_epi16(fields, splat_u16(1 | 1 << (8 + bits)))
}

/// Stores codes of `BITS` bits, at most 8, from vectors with one code in each byte.
#[inline(always)]
pub(crate) fn store_from_bytes<const BITS: usize>(l: Avx512, codes: [__m512i; 4], bytes: &mut [u8]) {
    let bytes = &mut bytes[..32 * BITS];
    if BITS == 8 {
        return store_pairs::<8>(l, codes, bytes);
    }
    let [a, b, c, d] = codes;
    let pairs = [paired(l, BITS, a), paired(l, BITS, b), paired(l, BITS, c), paired(l, BITS, d)];
    store_pairs::<BITS>(l, pairs, bytes);
}

/// Fills `bytes` from vectors whose 16-bit lanes have two codes of `TO` bits each.
#[inline(always)]
pub(crate) fn store_pairs<const TO: usize>(l: Avx512, pairs: [__m512i; 4], bytes: &mut [u8]) {
    let short = l.0;
    match TO {
        2 => {
            let [a, b, c, d] = pairs;
            let first = paired(l, 4, short._mm512_packus_epi16(a, b));
            let second = paired(l, 4, short._mm512_packus_epi16(c, d));
            write(bytes, 0, in_order_of_two(l, short._mm512_packus_epi16(first, second)));
        }
        4 => {
            for i in 0..bytes.len() / 64 {
                let packed = short._mm512_packus_epi16(pairs[2 * i], pairs[2 * i + 1]);
                write(bytes, 64 * i, l.in_order(packed));
            }
        }
        6 => {
            for i in 0..bytes.len() / 96 {
                store_pairs_of_6(l, [pairs[2 * i], pairs[2 * i + 1]], &mut bytes[96 * i..]);
            }
        }
        _ => {
            for i in 0..bytes.len() / 64 {
                write(bytes, 64 * i, pairs[i]);
            }
        }
    }
}

/// Restores the order after two packing instructions, of which the second packs results of the first. Both pack each
/// quarter of their two vectors separately.
#[inline(always)]
pub(crate) fn in_order_of_two(l: Avx512, packed: __m512i) -> __m512i {
    let order: [u32; 16] = [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15];
    l.0._mm512_permutexvar_epi32(cast(order), packed)
}

/// Stores 128 codes of 6 bits. Each 16-bit lane has two codes in its low 12 bits; its other bits are zero.
#[inline(always)]
pub(crate) fn store_pairs_of_6(l: Avx512, pairs: [__m512i; 2], bytes: &mut [u8]) {
    store_threes(l, both!(|pairs| l.0._mm512_madd_epi16(pairs, splat_u32(1 | 1 << (16 + 12)))), bytes);
}

/// Stores the first three bytes of each four: 96 bytes.
#[inline(always)]
pub(crate) fn store_threes(l: Avx512, fours: [__m512i; 2], bytes: &mut [u8]) {
    let threes: [u8; 16] = [0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 0x80, 0x80, 0x80, 0x80];
    // Then three words of each quarter.
    let [a, b] = both!(|fours| l.0._mm512_shuffle_epi8(fours, cast(four(threes))));
    let first: [u32; 16] = [0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 16, 17, 18, 20];
    let second: [u32; 16] = [5, 6, 8, 9, 10, 12, 13, 14, 0, 1, 2, 3, 4, 7, 11, 15];
    write(bytes, 0, l.0._mm512_permutex2var_epi32(a, cast(first), b));
    let [half, _]: [[u8; 32]; 2] = cast(l.0._mm512_permutexvar_epi32(cast(second), b));
    bytes[64..96].copy_from_slice(&half);
}
