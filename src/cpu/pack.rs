//! Unpacks and packs codes in vectors of 32 bytes, with AVX2 instructions that the compiler does not find by itself.
//!
//! Every function is inlined into a loop that `X86V3::vectorize` compiles. Otherwise it would be called for every 32
//! bytes.

use bytemuck::cast;

use crate::cpu::word::four;
use crate::cpu::x86::{__m256i, X86V3, count};

/// 32 bytes.
pub(crate) type Bytes = __m256i;

/// The number of codes in a vector, one in each byte.
pub(crate) const LANES: usize = 32;

/// The same byte in all 32 lanes.
#[inline(always)]
pub(crate) fn splat_u8(byte: u8) -> Bytes {
    splat_u64(u64::from(byte) * (u64::MAX / u64::from(u8::MAX)))
}

/// 16 bytes in both halves of a vector, because shuffles index within each half.
#[inline(always)]
pub(crate) fn twice(bytes: [u8; 16]) -> Bytes {
    cast([bytes, bytes])
}

/// The same 16-bit word in all 16 lanes.
#[inline(always)]
pub(crate) fn splat_u16(word: u16) -> Bytes {
    splat_u64(u64::from(word) * (u64::MAX / u64::from(u16::MAX)))
}

/// The same 32-bit word in all eight lanes.
#[inline(always)]
pub(crate) fn splat_u32(word: u32) -> Bytes {
    splat_u64(u64::from(word) * (u64::MAX / u64::from(u32::MAX)))
}

/// The same 64-bit word in all four lanes.
#[inline(always)]
fn splat_u64(word: u64) -> Bytes {
    cast(four(word))
}

/// The same number in all eight lanes.
#[inline(always)]
pub(crate) fn splat_f32(number: f32) -> Bytes {
    cast([number; 8])
}

/// The first `N` bytes of `bytes`.
#[inline(always)]
pub(crate) fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    *bytes.first_chunk().expect("as many bytes")
}

/// Unpacks 32 codes of `BITS` bits from `4 * BITS` bytes, one into each byte, in order.
#[inline(always)]
pub(crate) fn load<const BITS: usize>(simd: X86V3, bytes: &[u8]) -> Bytes {
    match BITS {
        2 => {
            let wide = simd._mm256_cvtepu8_epi32(cast([array::<8>(bytes), [0; 8]]));
            // Moves the upper two codes to the upper half of each word, then separates each pair.
            let pairs = simd._mm256_or_si256(wide, simd._mm256_sll_epi32(wide, count(12)));
            let pairs = simd._mm256_and_si256(pairs, splat_u32(0x000f_000f));
            let codes = simd._mm256_or_si256(pairs, simd._mm256_sll_epi32(pairs, count(6)));
            simd._mm256_and_si256(codes, splat_u8(0x03))
        }
        4 => {
            let wide = simd._mm256_cvtepu8_epi16(cast(array::<16>(bytes)));
            let codes = simd._mm256_or_si256(wide, simd._mm256_sll_epi16(wide, count(4)));
            simd._mm256_and_si256(codes, splat_u8(0x0f))
        }
        6 => {
            // The lower half has the first 16 of the 24 bytes, and the upper half the last 16. Each half uses twelve of
            // its bytes: the upper half skips its first four.
            let halves = cast([array::<16>(bytes), array::<16>(&bytes[8..])]);
            let pairs: [u8; 16] = [0, 1, 1, 2, 3, 4, 4, 5, 6, 7, 7, 8, 9, 10, 10, 11];
            let mut skipped = pairs;
            for i in 0..16 {
                skipped[i] += 4;
            }
            // Of four codes, one 16-bit word gets the first two at its bottom, and the next word the last two at its
            // top. The multiplication moves both pairs to the top.
            let pairs = simd._mm256_shuffle_epi8(halves, cast([pairs, skipped]));
            let pairs = simd._mm256_mullo_epi16(pairs, splat_u32(1 << 4 | 1 << 16));
            let even = simd._mm256_and_si256(simd._mm256_srl_epi16(pairs, count(4)), splat_u16(0x003f));
            let odd = simd._mm256_and_si256(simd._mm256_srl_epi16(pairs, count(2)), splat_u16(0x3f00));
            simd._mm256_or_si256(even, odd)
        }
        _ => cast(array::<32>(bytes)),
    }
}

/// Unpacks 128 codes of 6 bits, one into each byte.
#[inline(always)]
pub(crate) fn unpack_6(simd: X86V3, source: &[u8], bytes: &mut [u8]) {
    for i in 0..4 {
        write(bytes, LANES * i, load::<6>(simd, &source[LANES / 8 * 6 * i..]));
    }
}

/// Packs four vectors of codes of `BITS` bits, at most 8, into `16 * BITS` bytes. Each byte has one code; its other
/// bits are zero.
#[inline(always)]
pub(crate) fn store<const BITS: usize>(simd: X86V3, codes: [Bytes; 4], bytes: &mut [u8]) {
    let [a, b, c, d] = codes;
    match BITS {
        2 => {
            let fours = halved(simd, 4, halved(simd, 2, a, b), halved(simd, 2, c, d));
            // Restores the order: the results of all first halves came first.
            let order = cast([0u32, 4, 1, 5, 2, 6, 3, 7]);
            write(bytes, 0, simd._mm256_permutevar8x32_epi32(fours, order));
        }
        4 => {
            write(bytes, 0, simd._mm256_permute4x64_epi64_0213(halved(simd, 4, a, b)));
            write(bytes, 32, simd._mm256_permute4x64_epi64_0213(halved(simd, 4, c, d)));
        }
        6 => {
            for i in 0..4 {
                let pairs = simd._mm256_maddubs_epi16(codes[i], splat_u16(1 | 1 << (8 + 6)));
                let packed = packed_threes(simd, fours_of_6(simd, pairs), [0, 1, 2, 4, 5, 6, 7, 7]);
                let [low, high]: [[u8; 16]; 2] = cast(packed);
                bytes[24 * i..24 * i + 16].copy_from_slice(&low);
                bytes[24 * i + 16..24 * i + 24].copy_from_slice(&high[..8]);
            }
        }
        _ => {
            for i in 0..4 {
                write(bytes, 32 * i, codes[i]);
            }
        }
    }
}

/// Joins codes of 6 bits: two in each 16-bit lane become four in each 32-bit lane.
#[inline(always)]
pub(crate) fn fours_of_6(simd: X86V3, pairs: Bytes) -> Bytes {
    simd._mm256_madd_epi16(pairs, splat_u32(1 | 1 << (16 + 12)))
}

/// Packs the first three bytes of each four to three words in each half, and then puts the eight words into `order`.
#[inline(always)]
fn packed_threes(simd: X86V3, fours: Bytes, order: [u32; 8]) -> Bytes {
    let threes = twice([0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 0x80, 0x80, 0x80, 0x80]);
    simd._mm256_permutevar8x32_epi32(simd._mm256_shuffle_epi8(fours, threes), cast(order))
}

/// Stores the first three bytes of each four of two vectors: 48 bytes. `store` has few free registers: storing each
/// vector by itself is faster there.
#[inline(always)]
pub(crate) fn store_threes(simd: X86V3, [a, b]: [Bytes; 2], bytes: &mut [u8]) {
    let a = packed_threes(simd, a, [0, 1, 2, 4, 5, 6, 7, 7]);
    // The first two words of the second vector follow the six of the first one.
    let b = packed_threes(simd, b, [2, 4, 5, 6, 7, 7, 0, 1]);
    write(bytes, 0, simd._mm256_blend_epi32_last_two(a, b));
    let [half, _]: [[u8; 16]; 2] = cast(b);
    bytes[32..48].copy_from_slice(&half);
}

/// Joins the fields of `bits` bits in each two bytes to one byte. The results of both first halves come first, then
/// those of both second halves.
#[inline(always)]
pub(crate) fn halved(simd: X86V3, bits: u32, a: Bytes, b: Bytes) -> Bytes {
    // Multiplies the upper field of each pair by a power of two and adds the lower one.
    let places = splat_u16(1 | 1 << (8 + bits));
    simd._mm256_packus_epi16(simd._mm256_maddubs_epi16(a, places), simd._mm256_maddubs_epi16(b, places))
}

/// Writes a vector to the bytes from `at` on.
#[inline(always)]
pub(crate) fn write(bytes: &mut [u8], at: usize, vector: Bytes) {
    *bytes[at..].first_chunk_mut().expect("as many bytes") = cast::<_, [u8; 32]>(vector);
}

/// Reads a vector from the bytes from `at` on.
#[inline(always)]
pub(crate) fn read(bytes: &[u8], at: usize) -> Bytes {
    cast(array::<32>(&bytes[at..]))
}
