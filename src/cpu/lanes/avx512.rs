//! 32 elements at a time with AVX-512: one vector of 16-bit lanes, or two vectors of 32-bit lanes, in the order of the
//! elements.

pub(crate) mod pack;

use bytemuck::cast;

use super::{BOUND, Lanes, cut};
use crate::cpu::codes::{F32_INFINITY, F32_NAN, F32_SIGN};
use crate::cpu::isa::Instructions;
use crate::cpu::non_temporal::Line;
use crate::cpu::pack::{array, splat_u8, store};
use crate::cpu::word::four;
use crate::cpu::x86::{__m256i, __m512i, __mmask16, __mmask32, DOWN, UP, X86V4, ZERO, count};

#[derive(Clone, Copy)]
pub(crate) struct Avx512(pub X86V4);

impl Avx512 {
    /// The bits of `a` where `mask` has ones, and those of `b` where it has zeros.
    #[inline(always)]
    pub(crate) fn select_bits(self, mask: __m512i, a: __m512i, b: __m512i) -> __m512i {
        self.0._mm512_or_si512(self.0._mm512_and_si512(mask, a), self.0._mm512_andnot_si512(mask, b))
    }

    /// The upper halves of 32-bit lanes.
    #[inline(always)]
    pub(crate) fn upper_halves(self, a: [__m512i; 2]) -> __m512i {
        self.0._mm512_permutex2var_epi16(a[0], cast(ODD), a[1])
    }

    /// Restores the order after an instruction that packs each quarter of two vectors separately.
    #[inline(always)]
    pub(crate) fn in_order(self, packed: __m512i) -> __m512i {
        self.0._mm512_permutexvar_epi64(cast([0u64, 2, 4, 6, 1, 3, 5, 7]), packed)
    }
}

/// The places of the upper halves of the words of two vectors.
const ODD: [u16; 32] = {
    let mut places = [0; 32];
    let mut i = 0;
    while i < 32 {
        places[i] = 2 * i as u16 + 1;
        i += 1;
    }
    places
};

/// The same 16-bit word in all 32 lanes.
#[inline(always)]
pub(crate) fn splat_u16(word: u16) -> __m512i {
    splat_u64(u64::from(word) * (u64::MAX / u64::from(u16::MAX)))
}

/// The same 32-bit word in all 16 lanes.
#[inline(always)]
pub(crate) fn splat_u32(word: u32) -> __m512i {
    splat_u64(u64::from(word) * (u64::MAX / u64::from(u32::MAX)))
}

/// The same 64-bit word in all eight lanes.
#[inline(always)]
pub(crate) fn splat_u64(word: u64) -> __m512i {
    cast([word; 8])
}

#[inline(always)]
pub(crate) fn read(bytes: &[u8], at: usize) -> __m512i {
    cast(array::<64>(&bytes[at..]))
}

#[inline(always)]
pub(crate) fn write(bytes: &mut [u8], at: usize, vector: __m512i) {
    *bytes[at..].first_chunk_mut().expect("as many bytes") = cast::<_, [u8; 64]>(vector);
}

impl Lanes for Avx512 {
    const COUNT: usize = 32;
    const GROUPS: usize = 4;
    const PACKS: bool = true;
    const VECTORS_ARE_LINES: bool = <X86V4 as Instructions>::VECTORS_ARE_LINES;

    type U16 = __m512i;
    type U32 = [__m512i; 2];
    type M16 = __mmask32;
    type M32 = [__mmask16; 2];

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
        load_u8(bytes: &[u8]) -> __m512i = self.0._mm512_cvtepu8_epi16(cast(array::<32>(bytes)));
        load_u16(bytes: &[u8]) -> __m512i = read(bytes, 0);
        load_u16_to_unpack(bytes: &[u8]) -> __m512i = read(bytes, 0);
        load_u32(bytes: &[u8]) -> [__m512i; 2] = [read(bytes, 0), read(bytes, 64)];
        splat_u16(a: u16) -> __m512i = splat_u16(a);
        shl_u16(a: __m512i, bits: u32) -> __m512i = self.0._mm512_sllv_epi16(a, splat_u16(bits as u16));
        shr_u16(a: __m512i, bits: u32) -> __m512i = self.0._mm512_srlv_epi16(a, splat_u16(bits as u16));
        negative_u16(a: __m512i) -> __mmask32 = self.0._mm512_movepi16_mask(a);
        select_u16(mask: __mmask32, a: __m512i, b: __m512i) -> __m512i =
            self.0._mm512_mask_blend_epi16(mask, b, a);
        abs_i16(a: __m512i) -> __m512i = self.0._mm512_abs_epi16(a);
        negate_u16(a: __m512i, sign: __m512i) -> __m512i =
            self.0._mm512_mask_sub_epi16(a, self.negative_u16(sign), splat_u16(0), a);
        look_up_u16(table: [u8; 32], index: __m512i) -> __m512i =
            self.0._mm512_permutexvar_epi16(index, self.0._mm512_cvtepu8_epi16(cast(table)));
        splat_u32(a: u32) -> [__m512i; 2] = {
            let words = splat_u32(a);
            [words, words]
        };
        min_u32(a: [__m512i; 2], b: u32) -> [__m512i; 2] = both!(|a| self.0._mm512_min_epu32(a, splat_u32(b)));
        shl_u32<const BITS: u32>(a: [__m512i; 2]) -> [__m512i; 2] = both!(|a| self.0._mm512_sll_epi32(a, count(BITS)));
        shr_u32<const BITS: u32>(a: [__m512i; 2]) -> [__m512i; 2] = both!(|a| self.0._mm512_srl_epi32(a, count(BITS)));
        sar_u32<const BITS: u32>(a: [__m512i; 2]) -> [__m512i; 2] = both!(|a| self.0._mm512_sra_epi32(a, count(BITS)));
        abs_i32(a: [__m512i; 2]) -> [__m512i; 2] = both!(|a| self.0._mm512_abs_epi32(a));
        select_u32(mask: [__mmask16; 2], a: [__m512i; 2], b: [__m512i; 2]) -> [__m512i; 2] =
            both!(|mask, a, b| self.0._mm512_mask_blend_epi32(mask, b, a));
        add_f32(a: [__m512i; 2], b: [__m512i; 2]) -> [__m512i; 2] =
            both!(|a, b| cast(self.0._mm512_add_ps(cast(a), cast(b))));
        is_nan_f32(a: [__m512i; 2]) -> [__mmask16; 2] =
            both!(|a| self.0._mm512_cmpunord_ps_mask(cast(a), cast(a)));
        i32_to_f32(a: [__m512i; 2]) -> [__m512i; 2] = both!(|a| cast(self.0._mm512_cvtepi32_ps(a)));
        f32_to_i32(a: [__m512i; 2]) -> [__m512i; 2] = both!(|a| self.0._mm512_cvttps_epi32(cast(a)));
        narrow(a: [__m512i; 2]) -> __m512i = self.in_order(self.0._mm512_packus_epi32(a[0], a[1]));
        narrow_saturated(a: [__m512i; 2]) -> __m512i = self.in_order(self.0._mm512_packs_epi32(a[0], a[1]));
        narrow_mask(a: [__mmask16; 2]) -> __mmask32 = __mmask32::from(a[0]) | __mmask32::from(a[1]) << 16;
    }

    #[inline(always)]
    fn load_u64(self, bytes: &[u8]) -> [[__m512i; 2]; 2] {
        let even: [u32; 16] = [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30];
        let odd: [u32; 16] = [1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31];
        let [a, b] = [[read(bytes, 0), read(bytes, 64)], [read(bytes, 128), read(bytes, 192)]];
        let [low, high] = [cast(even), cast(odd)];
        [both_of(self, a, b, low), both_of(self, a, b, high)]
    }
    #[inline(always)]
    fn store_u32(self, a: [__m512i; 2], bytes: &mut [u8]) {
        write(bytes, 0, a[0]);
        write(bytes, 64, a[1]);
    }
    #[inline(always)]
    fn store_u16(self, _: bool, codes: __m512i, bytes: &mut [u8]) {
        write(bytes, 0, codes);
    }
    #[inline(always)]
    fn store_bytes(self, bits: usize, from_bits: usize, codes: &[__m512i], bytes: &mut [u8]) {
        if from_bits > 8 {
            return pack::store_codes(self, bits, [codes[0], codes[1], codes[2], codes[3]], bytes);
        }
        // The compiler drops this narrowing together with the widening of `load_u8`.
        let mut packed = four(splat_u8(0));
        for i in 0..4 {
            packed[i] = self.0._mm512_cvtepi16_epi8(codes[i]);
        }
        match bits {
            2 => store::<2>(self.0.v3, packed, bytes),
            4 => store::<4>(self.0.v3, packed, bytes),
            6 => store::<6>(self.0.v3, packed, bytes),
            _ => store::<8>(self.0.v3, packed, bytes),
        }
    }

    vector! {
        __m512i;
        and_u16 _mm512_and_si512 __m512i;
        or_u16 _mm512_or_si512 __m512i;
        xor_u16 _mm512_xor_si512 __m512i;
        add_u16 _mm512_add_epi16 __m512i;
        sub_or_zero_u16 _mm512_subs_epu16 __m512i;
        min_u16 _mm512_min_epu16 __m512i;
        greater_u16 _mm512_cmpgt_epi16_mask __mmask32;
        equal_u16 _mm512_cmpeq_epi16_mask __mmask32;
    }
    #[inline(always)]
    fn round_shift_u16(self, a: __m512i, below: __m512i, down: u32, _: [u8; 16]) -> __m512i {
        let shift = self.add_u16(below, splat_u16(down as u16));
        let one = splat_u16(1);
        // Half of the last place is one bit lower than the last place.
        let half = self.0._mm512_sllv_epi16(one, self.0._mm512_sub_epi16(shift, one));
        let odd = self.and_u16(self.0._mm512_srlv_epi16(a, shift), one);
        let sum = self.add_u16(self.add_u16(a, self.0._mm512_sub_epi16(half, one)), odd);
        self.0._mm512_srlv_epi16(sum, shift)
    }

    vectors! {
        __m512i;
        and_u32 _mm512_and_si512 __m512i;
        or_u32 _mm512_or_si512 __m512i;
        add_u32 _mm512_add_epi32 __m512i;
        sub_u32 _mm512_sub_epi32 __m512i;
        min_i32 _mm512_min_epi32 __m512i;
        max_i32 _mm512_max_epi32 __m512i;
        greater_i32 _mm512_cmpgt_epi32_mask __mmask16;
        equal_u32 _mm512_cmpeq_epi32_mask __mmask16;
    }
    #[inline(always)]
    fn shr_by_u32(self, a: [__m512i; 2], bits: u32) -> [__m512i; 2] {
        // This takes one instruction; a shift by one count for all lanes takes two.
        both!(|a| self.0._mm512_srlv_epi32(a, splat_u32(bits)))
    }
    #[inline(always)]
    fn f64_to_i32(self, bytes: &[u8]) -> [__m512i; 2] {
        let mut four = [[0u8; 32]; 4];
        for i in 0..4 {
            four[i] = cast(self.0._mm512_cvttpd_epi32(cast(read(bytes, 64 * i))));
        }
        [cast([four[0], four[1]]), cast([four[2], four[3]])]
    }

    #[inline(always)]
    fn unpack(self, low: __m512i, high: __m512i) -> [__m512i; 2] {
        // The instruction interleaves each quarter separately.
        let order = cast([0u64, 4, 1, 5, 2, 6, 3, 7]);
        let low = self.0._mm512_permutexvar_epi64(order, low);
        let high = self.0._mm512_permutexvar_epi64(order, high);
        [self.0._mm512_unpacklo_epi16(low, high), self.0._mm512_unpackhi_epi16(low, high)]
    }

    #[inline(always)]
    fn load_f16(self, bytes: &[u8]) -> [__m512i; 2] {
        let halves = [array::<32>(bytes), array::<32>(&bytes[32..])];
        both!(|halves| {
            let numbers = self.0._mm512_cvtph_ps(cast(halves));
            let is_nan = self.0._mm512_cmpunord_ps_mask(numbers, numbers);
            let numbers = cast(numbers);
            self.0._mm512_mask_and_epi32(numbers, is_nan, numbers, splat_u32(F32_SIGN | F32_NAN))
        })
    }
    #[inline(always)]
    fn f16_to_f32<const SUBNORMALS: bool>(self, magnitude: __m512i) -> [__m512i; 2] {
        let halves: [__m256i; 2] = cast(magnitude);
        both!(|halves| cast(self.0._mm512_cvtph_ps(halves)))
    }
    #[inline(always)]
    fn f16_to_i16(self, codes: __m512i) -> __m512i {
        // ±∞ and NaN give the least integer, whose low half is 0.
        let values = self.f32_to_i32(self.f16_to_f32::<false>(codes));
        self.narrow(self.and_u32(values, self.splat_u32(0xffff)))
    }
    #[inline(always)]
    fn u32_to_odd_f32<const SIGNED: bool>(self, a: [__m512i; 2]) -> [__m512i; 2] {
        if SIGNED {
            return self.i32_to_f32(cut(self, a));
        }
        let lost = self.add_u32(self.and_u32(a, self.splat_u32(0xff)), self.splat_u32(0xff));
        let cut = self.and_u32(self.or_u32(a, lost), self.splat_u32(!0xff));
        both!(|a, cut| {
            let is_large = self.0._mm512_cmpgt_epu32_mask(a, splat_u32(BOUND));
            cast(self.0._mm512_cvtepu32_ps(self.0._mm512_mask_blend_epi32(is_large, a, cut)))
        })
    }
    #[inline(always)]
    fn u64_to_odd_f32<const SIGNED: bool>(self, bytes: &[u8]) -> [__m512i; 2] {
        let nearer = self.u64_to_f32::<SIGNED, ZERO>(bytes);
        let lower = if SIGNED { self.u64_to_f32::<SIGNED, DOWN>(bytes) } else { nearer };
        let upper = self.u64_to_f32::<SIGNED, UP>(bytes);
        // Where `lower` and `upper` differ, the integer lies between them. One of these two numbers is odd: `nearer`
        // with its lowest bit set.
        let differs = both!(|lower, upper| self.0._mm512_xor_si512(lower, upper));
        self.or_u32(nearer, self.and_u32(differs, self.splat_u32(1)))
    }
    #[inline(always)]
    fn u64_to_bounded_f32<const SIGNED: bool>(self, bytes: &[u8]) -> [__m512i; 2] {
        self.u64_to_f32::<SIGNED, ZERO>(bytes)
    }
    #[inline(always)]
    fn store_f32_as_f64(self, a: [__m512i; 2], bytes: &mut [u8]) {
        let halves: [[u8; 32]; 4] = cast(a);
        for i in 0..4 {
            write(bytes, 64 * i, cast(self.0._mm512_cvtps_pd(cast(halves[i]))));
        }
    }
    #[inline(always)]
    fn store_f32_as_i64<const SIGNED: bool>(self, a: [__m512i; 2], bytes: &mut [u8]) {
        let halves: [[u8; 32]; 4] = cast(a);
        for i in 0..4 {
            let integers = self.0._mm512_cvttps_epi64(cast(halves[i]));
            if SIGNED {
                write(bytes, 64 * i, integers);
                continue;
            }
            // Negative numbers and NaN are converted as for signed integers. From 2^64 on, the result is 0, because the
            // mask leaves the lane out.
            let wide: __m512i = self.0._mm512_cvtepi32_epi64(cast(halves[i]));
            let magnitude = self.0._mm512_and_si512(wide, splat_u64(0x7fff_ffff));
            let is_nan = self.0._mm512_cmpgt_epi64_mask(magnitude, splat_u64(F32_INFINITY.into()));
            let is_least = is_nan | self.0._mm512_movepi64_mask(wide);
            let in_range = self.0._mm512_cmplt_epi64_mask(magnitude, splat_u64((127 + 64) << 23));
            let unsigned = self.0._mm512_maskz_cvttps_epu64(in_range, cast(halves[i]));
            write(bytes, 64 * i, self.0._mm512_mask_blend_epi64(is_least, unsigned, integers));
        }
    }
    #[inline(always)]
    fn store_f16_as_i64<const SIGNED: bool>(self, source: &[u8], bytes: &mut [u8]) {
        self.store_f32_as_i64::<SIGNED>(self.f16_to_f32::<false>(self.load_u16(source)), bytes);
    }
}

impl Avx512 {
    /// 64-bit integers to binary32, rounded in one direction.
    #[inline(always)]
    fn u64_to_f32<const SIGNED: bool, const DIRECTION: i32>(self, bytes: &[u8]) -> [__m512i; 2] {
        let mut four = [[0u8; 32]; 4];
        for i in 0..4 {
            let integers = read(bytes, 64 * i);
            four[i] = cast(match (SIGNED, DIRECTION) {
                (true, ZERO) => self.0._mm512_cvt_roundepi64_ps_zero(integers),
                (true, DOWN) => self.0._mm512_cvt_roundepi64_ps_down(integers),
                (true, _) => self.0._mm512_cvt_roundepi64_ps_up(integers),
                (false, ZERO) => self.0._mm512_cvt_roundepu64_ps_zero(integers),
                (false, _) => self.0._mm512_cvt_roundepu64_ps_up(integers),
            });
        }
        [cast([four[0], four[1]]), cast([four[2], four[3]])]
    }
}

/// The words that `index` chooses from the two vectors of `a`, and from those of `b`.
#[inline(always)]
fn both_of(l: Avx512, a: [__m512i; 2], b: [__m512i; 2], index: __m512i) -> [__m512i; 2] {
    let wide = l.0;
    [wide._mm512_permutex2var_epi32(a[0], index, a[1]), wide._mm512_permutex2var_epi32(b[0], index, b[1])]
}
