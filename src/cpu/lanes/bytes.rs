//! Lanes of bytes in the vectors of AVX2 and AVX-512, whose instructions work within each 16 bytes, and of NEON.

#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
use bytemuck::cast;

use super::Lanes;
#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
use super::{
    avx2::Avx2,
    avx512::{self, Avx512},
};
#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
use crate::cpu::{
    pack,
    word::four,
    x86::{__m256i, __m512i},
};

/// Lanes whose vectors also have lanes of bytes.
pub(crate) trait ByteLanes: Lanes {
    /// The bytes of `table` at the indexes `index`, which must be less than 16.
    fn look_up_u8(self, table: [u8; 16], index: Self::U16) -> Self::U16;
    /// Moves groups of eight bytes so that [`interleaved_u8`](Self::interleaved_u8) leaves results in the order of the
    /// source.
    fn spread_by_8(self, a: Self::U16) -> Self::U16;
    /// Moves groups of four bytes so that [`interleaved_u8`](Self::interleaved_u8) and then
    /// [`interleaved_u16`](Self::interleaved_u16) leave results in the order of the source.
    fn spread_by_4(self, a: Self::U16) -> Self::U16;
    /// The bytes of two vectors in turns, within each 16 bytes. The first result has the first eight bytes of both
    /// vectors, the second result the last eight.
    fn interleaved_u8(self, a: Self::U16, b: Self::U16) -> [Self::U16; 2];
    /// The same with words of 16 bits.
    fn interleaved_u16(self, a: Self::U16, b: Self::U16) -> [Self::U16; 2];
    /// Stores the low 4 bits of each byte.
    fn store_nibbles(self, a: [Self::U16; 2], bytes: &mut [u8]);
    /// Stores the low 12 bits of each 16-bit lane: two codes of 6 bits.
    fn store_pairs_of_6(self, a: [Self::U16; 2], bytes: &mut [u8]);
    /// Stores the first three bytes of each four.
    fn store_threes(self, a: [Self::U16; 2], bytes: &mut [u8]);
    /// Stores codes of `BITS` bits, at most 8, from vectors with one code in each byte. The bits above a code are zero.
    fn store_from_bytes<const BITS: usize>(self, codes: [Self::U16; 4], bytes: &mut [u8]);
    /// Stores 128 codes of 6 bits, one in each byte.
    #[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
    fn unpack_6(self, source: &[u8], bytes: &mut [u8]);
}

#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
impl ByteLanes for Avx2 {
    operations! {
        self;
        look_up_u8(table: [u8; 16], index: __m256i) -> __m256i = self.0._mm256_shuffle_epi8(pack::twice(table), index);
        spread_by_8(a: __m256i) -> __m256i = self.0._mm256_permute4x64_epi64_0213(a);
        spread_by_4(a: __m256i) -> __m256i =
            self.0._mm256_permutevar8x32_epi32(a, cast([0u32, 2, 4, 6, 1, 3, 5, 7]));
        interleaved_u8(a: __m256i, b: __m256i) -> [__m256i; 2] =
            [self.0._mm256_unpacklo_epi8(a, b), self.0._mm256_unpackhi_epi8(a, b)];
        interleaved_u16(a: __m256i, b: __m256i) -> [__m256i; 2] =
            [self.0._mm256_unpacklo_epi16(a, b), self.0._mm256_unpackhi_epi16(a, b)];
        store_pairs_of_6(a: [__m256i; 2], bytes: &mut [u8]) =
            self.store_threes([pack::fours_of_6(self.0, a[0]), pack::fours_of_6(self.0, a[1])], bytes);
        store_threes(a: [__m256i; 2], bytes: &mut [u8]) = pack::store_threes(self.0, a, bytes);
        store_from_bytes<const BITS: usize>(codes: [__m256i; 4], bytes: &mut [u8]) =
            pack::store::<BITS>(self.0, codes, bytes);
        unpack_6(source: &[u8], bytes: &mut [u8]) = pack::unpack_6(self.0, source, bytes);
    }

    #[inline(always)]
    fn store_nibbles(self, [a, b]: [__m256i; 2], bytes: &mut [u8]) {
        let pairs = pack::halved(self.0, 4, a, b);
        pack::write(bytes, 0, self.0._mm256_permute4x64_epi64_0213(pairs));
    }
}

#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
impl ByteLanes for Avx512 {
    operations! {
        self;
        look_up_u8(table: [u8; 16], index: __m512i) -> __m512i =
            self.0._mm512_shuffle_epi8(cast(four(table)), index);
        spread_by_8(a: __m512i) -> __m512i =
            self.0._mm512_permutexvar_epi64(cast([0u64, 4, 1, 5, 2, 6, 3, 7]), a);
        spread_by_4(a: __m512i) -> __m512i = avx512::pack::in_order_of_two(self, a);
        interleaved_u8(a: __m512i, b: __m512i) -> [__m512i; 2] =
            [self.0._mm512_unpacklo_epi8(a, b), self.0._mm512_unpackhi_epi8(a, b)];
        interleaved_u16(a: __m512i, b: __m512i) -> [__m512i; 2] =
            [self.0._mm512_unpacklo_epi16(a, b), self.0._mm512_unpackhi_epi16(a, b)];
        store_pairs_of_6(a: [__m512i; 2], bytes: &mut [u8]) = avx512::pack::store_pairs_of_6(self, a, bytes);
        store_threes(a: [__m512i; 2], bytes: &mut [u8]) = avx512::pack::store_threes(self, a, bytes);
        store_from_bytes<const BITS: usize>(codes: [__m512i; 4], bytes: &mut [u8]) =
            avx512::pack::store_from_bytes::<BITS>(self, codes, bytes);
        unpack_6(source: &[u8], bytes: &mut [u8]) = pack::unpack_6(self.0.v3, source, bytes);
    }

    #[inline(always)]
    fn store_nibbles(self, [a, b]: [__m512i; 2], bytes: &mut [u8]) {
        let pairs = self.0._mm512_packus_epi16(avx512::pack::paired(self, 4, a), avx512::pack::paired(self, 4, b));
        avx512::write(bytes, 0, self.in_order(pairs));
    }
}
