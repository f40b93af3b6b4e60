//! Unpacks and packs codes in vectors of 64 bytes, one code in each 16-bit lane, with AVX-512 instructions.

#![allow(clippy::needless_range_loop, reason = "the closures of adapters are compiled without the vector instructions")]

#[cfg(target_arch = "x86")]
use core::arch::x86::__m512i;
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::__m512i;

use bytemuck::cast;
use pulp::x86::V4;

#[inline(always)]
pub(crate) fn splat_u16(word: u16) -> __m512i {
    cast([word; 32])
}

/// The 16-bit words of two vectors, interleaved.
#[inline(always)]
pub(crate) fn interleaved16(simd: V4, a: __m512i, b: __m512i) -> [__m512i; 2] {
    const TURNS: [[u16; 32]; 2] = turns();
    TURNS.map(
        #[inline(always)]
        |turns| simd.avx512bw._mm512_permutex2var_epi16(a, cast(turns), b),
    )
}

const fn turns() -> [[u16; 32]; 2] {
    let mut turns = [[0; 32]; 2];
    let mut i = 0;
    while i < 64 {
        turns[i / 32][i % 32] = (i / 2 + 32 * (i % 2)) as u16;
        i += 1;
    }
    turns
}

/// The 32-bit words of two vectors, interleaved.
#[inline(always)]
pub(crate) fn interleaved32(simd: V4, a: __m512i, b: __m512i) -> [__m512i; 2] {
    let first: [u32; 16] = [0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23];
    let mut second = first;
    for i in 0..16 {
        second[i] += 8;
    }
    let simd = simd.avx512f;
    [simd._mm512_permutex2var_epi32(a, cast(first), b), simd._mm512_permutex2var_epi32(a, cast(second), b)]
}

/// Unpacks 32 codes of `BITS` bits, one into each 16-bit word. The bits above a code are undefined.
#[inline(always)]
pub(crate) fn load<const BITS: usize>(simd: V4, bytes: &[u8]) -> __m512i {
    let wide = simd.avx512f;
    match BITS {
        2 => {
            let bytes: [u8; 8] = bytes.try_into().expect("32 codes");
            // Moves the upper codes of each byte to the next words.
            let fours = wide._mm512_cvtepu8_epi64(cast([bytes, [0; 8]]));
            let pairs = wide._mm512_or_si512(fours, wide._mm512_slli_epi64::<28>(fours));
            wide._mm512_or_si512(pairs, wide._mm512_slli_epi64::<14>(pairs))
        }
        4 => {
            let bytes: [u8; 16] = bytes.try_into().expect("32 codes");
            let pairs = wide._mm512_cvtepu8_epi32(cast(bytes));
            wide._mm512_or_si512(pairs, wide._mm512_slli_epi32::<12>(pairs))
        }
        6 => {
            let bytes: [u8; 24] = bytes.try_into().expect("32 codes");
            let mut all = [0; 64];
            all[..24].copy_from_slice(&bytes);
            // Eight codes lie in six bytes. Each quarter gets the two 32-bit words that hold them; in the second and
            // the last quarter they start at the third byte.
            let quarters: [u32; 16] = [0, 1, 0, 0, 1, 2, 0, 0, 3, 4, 0, 0, 4, 5, 0, 0];
            let quarters = wide._mm512_permutexvar_epi32(cast(quarters), cast(all));
            let pairs: [u8; 16] = [0, 1, 0, 1, 1, 2, 2, 2, 3, 4, 3, 4, 4, 5, 5, 5];
            let mut later = pairs;
            for i in 0..16 {
                later[i] += 2;
            }
            let words = simd.avx512bw._mm512_shuffle_epi8(quarters, cast([pairs, later, pairs, later]));
            let places: [u16; 4] = [0, 6, 4, 2];
            simd.avx512bw._mm512_srlv_epi16(words, cast([places; 8]))
        }
        _ => {
            let bytes: [u8; 32] = bytes.try_into().expect("32 codes");
            simd.avx512bw._mm512_cvtepu8_epi16(cast(bytes))
        }
    }
}

/// Packs 32 codes of `BITS` bits, one in each 16-bit word. Higher bits of a word are dropped.
#[inline(always)]
pub(crate) fn store<const BITS: usize>(simd: V4, codes: __m512i, bytes: &mut [u8]) {
    let wide = simd.avx512f;
    let codes = if BITS < 8 { wide._mm512_and_si512(codes, splat_u16(0xff >> (8 - BITS))) } else { codes };
    match BITS {
        2 => {
            let pairs = wide._mm512_or_si512(codes, wide._mm512_srli_epi64::<14>(codes));
            let fours = wide._mm512_or_si512(pairs, wide._mm512_srli_epi64::<28>(pairs));
            bytes.copy_from_slice(&cast::<_, [u8; 16]>(wide._mm512_cvtepi64_epi8(fours))[..8]);
        }
        4 => {
            let pairs = wide._mm512_or_si512(codes, wide._mm512_srli_epi32::<12>(codes));
            bytes.copy_from_slice(&cast::<_, [u8; 16]>(wide._mm512_cvtepi32_epi8(pairs)));
        }
        6 => {
            let pairs = simd.avx512bw._mm512_madd_epi16(codes, cast([[1u16, 1 << 6]; 16]));
            let fours = wide._mm512_or_si512(pairs, wide._mm512_srli_epi64::<20>(pairs));
            // Joins the three bytes of each half of a quarter, then the three words of each quarter.
            let threes: [u8; 16] = [0, 1, 2, 8, 9, 10, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80];
            let quarters = simd.avx512bw._mm512_shuffle_epi8(fours, cast([threes; 4]));
            let mut order = [0u16; 32];
            for i in 0..12 {
                order[i] = (i / 3 * 8 + i % 3) as u16;
            }
            let packed = simd.avx512bw._mm512_permutexvar_epi16(cast(order), quarters);
            bytes.copy_from_slice(&cast::<_, [u8; 64]>(packed)[..24]);
        }
        8 => bytes.copy_from_slice(&cast::<_, [u8; 32]>(simd.avx512bw._mm512_cvtepi16_epi8(codes))),
        _ => bytes.copy_from_slice(&cast::<_, [u8; 64]>(codes)),
    }
}
