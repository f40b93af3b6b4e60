//! Sixteen elements at a time with AVX2: one vector of 16-bit lanes, or two vectors of 32-bit lanes.

use bytemuck::cast;

use super::Lanes;
use crate::cpu::codes::{F16_INFINITY, F16_MAGNITUDE, F16_SIGN, F32_NAN, F32_SIGN};
use crate::cpu::isa::Instructions;
use crate::cpu::non_temporal::Line;
use crate::cpu::pack::{array, read, splat_u16, splat_u32, store, twice, write};
use crate::cpu::word::four;
use crate::cpu::x86::{__m128i, __m256, __m256i, X86V3, count};

#[derive(Clone, Copy)]
pub(crate) struct Avx2(pub X86V3);

impl Lanes for Avx2 {
    const COUNT: usize = 16;
    const GROUPS: usize = 8;
    const PACKS: bool = true;

    type U16 = __m256i;
    type U32 = [__m256i; 2];
    type M16 = __m256i;
    type M32 = [__m256i; 2];

    #[inline(always)]
    fn run(self, work: impl FnOnce()) {
        self.0.run(work);
    }

    #[inline(always)]
    fn store_past_caches(self, lines: &[Line], destination: &mut [Line]) {
        self.0.store_past_caches(lines, destination);
    }

    operations! {
        self;
        load_u8(bytes: &[u8]) -> __m256i = self.0._mm256_cvtepu8_epi16(cast(array::<16>(bytes)));
        load_u16(bytes: &[u8]) -> __m256i = read(bytes, 0);
        load_u16_to_unpack(bytes: &[u8]) -> __m256i =
            self.0._mm256_permute4x64_epi64_0213(read(bytes, 0));
        load_u32(bytes: &[u8]) -> [__m256i; 2] = [read(bytes, 0), read(bytes, 32)];
        splat_u16(a: u16) -> __m256i = splat_u16(a);
        shl_u16(a: __m256i, bits: u32) -> __m256i = self.0._mm256_sll_epi16(a, count(bits));
        shr_u16(a: __m256i, bits: u32) -> __m256i = self.0._mm256_srl_epi16(a, count(bits));
        negative_u16(a: __m256i) -> __m256i = self.0._mm256_sra_epi16(a, count(15));
        select_u16(mask: __m256i, a: __m256i, b: __m256i) -> __m256i = self.0._mm256_blendv_epi8(b, a, mask);
        abs_i16(a: __m256i) -> __m256i = self.0._mm256_abs_epi16(a);
        negate_u16(a: __m256i, sign: __m256i) -> __m256i = self.0._mm256_sign_epi16(a, sign);
        splat_u32(a: u32) -> [__m256i; 2] = {
            let words = splat_u32(a);
            [words, words]
        };
        min_u32(a: [__m256i; 2], b: u32) -> [__m256i; 2] = both!(|a| self.0._mm256_min_epu32(a, splat_u32(b)));
        shl_u32<const BITS: u32>(a: [__m256i; 2]) -> [__m256i; 2] =
            both!(|a| self.0._mm256_sll_epi32(a, count(BITS)));
        shr_u32<const BITS: u32>(a: [__m256i; 2]) -> [__m256i; 2] =
            both!(|a| self.0._mm256_srl_epi32(a, count(BITS)));
        sar_u32<const BITS: u32>(a: [__m256i; 2]) -> [__m256i; 2] =
            both!(|a| self.0._mm256_sra_epi32(a, count(BITS)));
        abs_i32(a: [__m256i; 2]) -> [__m256i; 2] = both!(|a| self.0._mm256_abs_epi32(a));
        select_u32(mask: [__m256i; 2], a: [__m256i; 2], b: [__m256i; 2]) -> [__m256i; 2] =
            both!(|mask, a, b| self.0._mm256_blendv_epi8(b, a, mask));
        add_f32(a: [__m256i; 2], b: [__m256i; 2]) -> [__m256i; 2] =
            both!(|a, b| cast(self.0._mm256_add_ps(cast(a), cast(b))));
        is_nan_f32(a: [__m256i; 2]) -> [__m256i; 2] =
            both!(|a| cast(self.0._mm256_cmpunord_ps(cast(a), cast(a))));
        i32_to_f32(a: [__m256i; 2]) -> [__m256i; 2] = both!(|a| cast(self.0._mm256_cvtepi32_ps(a)));
        f32_to_i32(a: [__m256i; 2]) -> [__m256i; 2] = both!(|a| self.0._mm256_cvttps_epi32(cast(a)));
        unpack(low: __m256i, high: __m256i) -> [__m256i; 2] =
            [self.0._mm256_unpacklo_epi16(low, high), self.0._mm256_unpackhi_epi16(low, high)];
        narrow(a: [__m256i; 2]) -> __m256i = self.0._mm256_packus_epi32(a[0], a[1]);
        narrow_saturated(a: [__m256i; 2]) -> __m256i = self.0._mm256_packs_epi32(a[0], a[1]);
        narrow_mask(a: [__m256i; 2]) -> __m256i = self.0._mm256_packs_epi32(a[0], a[1]);
    }

    #[inline(always)]
    fn load_u64(self, bytes: &[u8]) -> [[__m256i; 2]; 2] {
        let [a, b] = [self.split_u64(bytes), self.split_u64(&bytes[64..])];
        [[a[0], b[0]], [a[1], b[1]]]
    }
    #[inline(always)]
    fn store_u32(self, a: [__m256i; 2], bytes: &mut [u8]) {
        write(bytes, 0, a[0]);
        write(bytes, 32, a[1]);
    }
    #[inline(always)]
    fn store_u16(self, interleaved: bool, codes: __m256i, bytes: &mut [u8]) {
        let in_order = self.0._mm256_permute4x64_epi64_0213(codes);
        write(bytes, 0, if interleaved { in_order } else { codes });
    }
    #[inline(always)]
    fn store_bytes(self, bits: usize, from_bits: usize, codes: &[__m256i], bytes: &mut [u8]) {
        let int = self.0;
        let mut packed = four(splat_u16(0));
        for i in 0..4 {
            let made = int._mm256_packus_epi16(codes[2 * i], codes[2 * i + 1]);
            packed[i] = match from_bits > 16 {
                true => int._mm256_permutevar8x32_epi32(made, cast([0u32, 4, 1, 5, 2, 6, 3, 7])),
                false => int._mm256_permute4x64_epi64_0213(made),
            };
        }
        match bits {
            2 => store::<2>(self.0, packed, bytes),
            4 => store::<4>(self.0, packed, bytes),
            6 => store::<6>(self.0, packed, bytes),
            _ => store::<8>(self.0, packed, bytes),
        }
    }

    vector! {
        __m256i;
        and_u16 _mm256_and_si256 __m256i;
        or_u16 _mm256_or_si256 __m256i;
        xor_u16 _mm256_xor_si256 __m256i;
        add_u16 _mm256_add_epi16 __m256i;
        sub_or_zero_u16 _mm256_subs_epu16 __m256i;
        min_u16 _mm256_min_epu16 __m256i;
        greater_u16 _mm256_cmpgt_epi16 __m256i;
        equal_u16 _mm256_cmpeq_epi16 __m256i;
    }
    #[inline(always)]
    fn look_up_u16(self, table: [u8; 32], index: __m256i) -> __m256i {
        let int = self.0;
        let [low, high]: [[u8; 16]; 2] = cast(table);
        // A shuffle uses four bits of each byte as an index, and gives 0 where the highest bit is set, as in the upper
        // byte of each lane.
        let bytes = int._mm256_or_si256(index, splat_u16(0x8000));
        let (low, high) = (int._mm256_shuffle_epi8(twice(low), bytes), int._mm256_shuffle_epi8(twice(high), bytes));
        int._mm256_blendv_epi8(low, high, int._mm256_cmpgt_epi16(index, splat_u16(15)))
    }
    #[inline(always)]
    fn round_shift_u16(self, a: __m256i, below: __m256i, _: u32, powers: [u8; 16]) -> __m256i {
        let int = self.0;
        // Each lane has two indexes: that of the low byte of the power, and that of its high byte.
        let index = int._mm256_or_si256(int._mm256_mullo_epi16(below, splat_u16(0x0101)), splat_u16(0x0800));
        let power = int._mm256_shuffle_epi8(twice(powers), index);
        // The instruction rounds `product / 2^15` to nearest, ties up. A tie that went up to an odd number must go
        // down: the low 16 bits of its product are 0x4000.
        let nearest = int._mm256_mulhrs_epi16(a, power);
        let is_tie = int._mm256_cmpeq_epi16(int._mm256_mullo_epi16(a, power), splat_u16(0x4000));
        int._mm256_add_epi16(nearest, is_tie)
    }

    vectors! {
        __m256i;
        and_u32 _mm256_and_si256 __m256i;
        or_u32 _mm256_or_si256 __m256i;
        add_u32 _mm256_add_epi32 __m256i;
        sub_u32 _mm256_sub_epi32 __m256i;
        min_i32 _mm256_min_epi32 __m256i;
        max_i32 _mm256_max_epi32 __m256i;
        greater_i32 _mm256_cmpgt_epi32 __m256i;
        equal_u32 _mm256_cmpeq_epi32 __m256i;
    }
    #[inline(always)]
    fn shr_by_u32(self, a: [__m256i; 2], bits: u32) -> [__m256i; 2] {
        // This takes one instruction; a shift by one count for all lanes takes two.
        both!(|a| self.0._mm256_srlv_epi32(a, splat_u32(bits)))
    }
    #[inline(always)]
    fn f64_to_i32(self, bytes: &[u8]) -> [__m256i; 2] {
        let mut four = [[0u8; 16]; 4];
        for i in 0..4 {
            four[i] = cast(self.0._mm256_cvttpd_epi32(cast(array::<32>(&bytes[32 * i..]))));
        }
        [cast([four[0], four[1]]), cast([four[2], four[3]])]
    }

    #[inline(always)]
    fn f16_to_f32<const SUBNORMALS: bool>(self, magnitude: __m256i) -> [__m256i; 2] {
        let halves: [__m128i; 2] = cast(self.0._mm256_permute4x64_epi64_0213(magnitude));
        both!(|halves| cast(self.0._mm256_cvtph_ps(halves)))
    }
    #[inline(always)]
    fn load_f16(self, bytes: &[u8]) -> [__m256i; 2] {
        let halves = [array::<16>(bytes), array::<16>(&bytes[16..])];
        let numbers = both!(|halves| cast(self.0._mm256_cvtph_ps(cast(halves))));
        let canonical = self.and_u32(numbers, self.splat_u32(F32_SIGN | F32_NAN));
        self.select_u32(self.is_nan_f32(numbers), canonical, numbers)
    }
    #[inline(always)]
    fn f16_to_i16(self, codes: __m256i) -> __m256i {
        let int = self.0;
        let magnitude = int._mm256_and_si256(codes, splat_u16(F16_MAGNITUDE));
        let [low, high] = self.f16_halves(magnitude);
        let size = self.narrow(self.f32_to_i32(self.unpack(low, high)));
        let is_special = int._mm256_cmpgt_epi16(magnitude, splat_u16(F16_INFINITY - 1));
        // For the code 0 the instruction gives 0, which is right.
        int._mm256_sign_epi16(int._mm256_andnot_si256(is_special, size), codes)
    }

    #[inline(always)]
    fn store_f32_as_f64(self, a: [__m256i; 2], bytes: &mut [u8]) {
        let quarters: [[u8; 16]; 4] = cast(a);
        for i in 0..4 {
            write(bytes, 32 * i, cast(self.0._mm256_cvtps_pd(cast(quarters[i]))));
        }
    }
    #[inline(always)]
    fn store_f32_as_i64<const SIGNED: bool>(self, a: [__m256i; 2], bytes: &mut [u8]) {
        let int = self.0;
        // Magnitudes are limited to 2^63: its integer is the result for everything out of range. For unsigned integers,
        // the result from 2^64 on is 0. There the limit is 2^64, whose low 64 bits are 0.
        let limit = self.splat_u32((127 + 63) << 23);
        let limit = if SIGNED {
            limit
        } else {
            let is_least = self.sar_u32::<31>(self.or_u32(a, self.is_nan_f32(a)));
            both!(|limit, is_least| int._mm256_add_epi32(limit, int._mm256_andnot_si256(is_least, splat_u32(1 << 23))))
        };
        let magnitude = self.min_i32(self.and_u32(a, self.splat_u32(i32::MAX as u32)), limit);
        let significand = self.and_u32(magnitude, self.splat_u32((1 << 23) - 1));
        let significand = self.or_u32(significand, self.splat_u32(1 << 23));
        let exponent = self.sub_u32(self.shr_u32::<23>(magnitude), self.splat_u32(127 + 23));
        // Below 2^31, the processor truncates. From 2^31 on, the significand is shifted up.
        let truncated = self.f32_to_i32(a);
        let is_large = self.equal_u32(truncated, self.splat_u32(1 << 31));
        let value = both!(|significand, a| int._mm256_sign_epi32(significand, a));
        let value: [[u8; 16]; 4] = cast(self.select_u32(is_large, value, truncated));
        let exponent: [[u8; 16]; 4] = cast(self.and_u32(exponent, is_large));
        for i in 0..4 {
            let value = int._mm256_cvtepi32_epi64(cast(value[i]));
            let exponent = int._mm256_cvtepu32_epi64(cast(exponent[i]));
            write(bytes, 32 * i, int._mm256_sllv_epi64(value, exponent));
        }
    }
    #[inline(always)]
    fn store_f16_as_i64<const SIGNED: bool>(self, source: &[u8], bytes: &mut [u8]) {
        let int = self.0;
        // Reorders pairs of codes, so that the elements are in order after they are unpacked twice.
        let codes = int._mm256_permutevar8x32_epi32(read(source, 0), cast([0u32, 2, 4, 6, 1, 3, 5, 7]));
        let magnitude = int._mm256_and_si256(codes, splat_u16(F16_MAGNITUDE));
        let is_special = int._mm256_cmpgt_epi16(magnitude, splat_u16(F16_INFINITY - 1));
        let fail = int._mm256_and_si256(is_special, splat_u16(F16_SIGN));
        // For unsigned integers, +∞ gives 0, as all values above their range.
        let fail = match SIGNED {
            true => fail,
            false => int._mm256_andnot_si256(int._mm256_cmpeq_epi16(codes, splat_u16(F16_INFINITY)), fail),
        };
        let [low, high] = self.f16_halves(int._mm256_andnot_si256(is_special, magnitude));
        let zero = splat_u16(0);
        let number = self.f32_to_i32(self.unpack(low, high));
        let (sign, fail) = (self.unpack(zero, codes), self.unpack(zero, fail));
        for i in 0..2 {
            let value = int._mm256_sign_epi32(number[i], sign[i]);
            let upper = int._mm256_or_si256(int._mm256_sra_epi32(value, count(31)), fail[i]);
            write(bytes, 64 * i, int._mm256_unpacklo_epi32(value, upper));
            write(bytes, 64 * i + 32, int._mm256_unpackhi_epi32(value, upper));
        }
    }
}

impl Avx2 {
    /// The low and high halves of FLOAT16's magnitudes in binary32. They are wrong for ∞, NaN and subnormals.
    #[inline(always)]
    fn f16_halves(self, magnitude: __m256i) -> [__m256i; 2] {
        let int = self.0;
        let high = int._mm256_add_epi16(int._mm256_srl_epi16(magnitude, count(3)), splat_u16((127 - 15) << 7));
        [int._mm256_sll_epi16(magnitude, count(13)), high]
    }

    /// The low and the high words of eight 64-bit elements.
    #[inline(always)]
    fn split_u64(self, bytes: &[u8]) -> [__m256i; 2] {
        let two = |at: usize| array::<16>(&bytes[at..]);
        // The instruction shuffles the lower and the upper halves of two vectors separately.
        let (first, second): (__m256, __m256) = (cast([two(0), two(32)]), cast([two(16), two(48)]));
        [cast(self.0._mm256_shuffle_ps_even(first, second)), cast(self.0._mm256_shuffle_ps_odd(first, second))]
    }
}
