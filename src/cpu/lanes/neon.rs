//! Eight elements at a time with NEON, which every aarch64 processor has: one vector of 16-bit lanes, or two vectors of
//! 32-bit lanes, in the order of the elements.

mod bytes;
mod float16;
pub(crate) mod kernels;
pub(crate) mod pack;

use fearless_simd::Level;
use zerocopy::transmute;

use self::kernels::{self as k, B, D, H, W};
use super::Lanes;
use crate::cpu::codes::{
    F16_INFINITY, F16_MAGNITUDE, F16_NAN, F16_SIGN, F32_INFINITY, F32_NAN, F32_SIGN, F64_INFINITY,
};
use crate::cpu::isa::{Baseline, Instructions};
use crate::cpu::non_temporal::Line;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Neon(pub fearless_simd::Neon);

impl Neon {
    pub(crate) fn try_new() -> Option<Self> {
        Level::new().as_neon().map(Self)
    }
}

/// The first `N` bytes of `bytes`.
#[inline(always)]
pub(crate) fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes[..N].try_into().expect("as many bytes")
}

/// The vector at the bytes from `at` on.
#[inline(always)]
pub(crate) fn read(bytes: &[u8], at: usize) -> B {
    transmute!(array::<16>(&bytes[at..]))
}

#[inline(always)]
pub(crate) fn write(bytes: &mut [u8], at: usize, vector: B) {
    let vector: [u8; 16] = transmute!(vector);
    bytes[at..at + 16].copy_from_slice(&vector);
}

/// Operations that are one instruction on two vectors.
macro_rules! vector {
    ($($name:ident $kernel:ident;)*) => {$(
        #[inline(always)]
        fn $name(self, a: H, b: H) -> H {
            k::$kernel(self.0, a, b)
        }
    )*};
}

/// Operations that are one instruction on each of two pairs of vectors.
macro_rules! vectors {
    ($($name:ident $kernel:ident;)*) => {$(
        #[inline(always)]
        fn $name(self, a: [W; 2], b: [W; 2]) -> [W; 2] {
            [k::$kernel(self.0, a[0], b[0]), k::$kernel(self.0, a[1], b[1])]
        }
    )*};
}

impl Lanes for Neon {
    const COUNT: usize = 8;
    const GROUPS: usize = 8;
    const PACKS: bool = true;
    const DROPS_UPPER_BITS: bool = true;

    type U16 = H;
    type U32 = [W; 2];
    type M16 = H;
    type M32 = [W; 2];

    #[inline(always)]
    fn run(self, work: impl FnOnce()) {
        work();
    }

    #[inline(always)]
    fn store_past_caches(self, lines: &[Line], destination: &mut [Line]) {
        Baseline.store_past_caches(lines, destination);
    }

    operations! {
        self;
        load_u8(bytes: &[u8]) -> H = k::widen_first_8(self.0, transmute!([array::<8>(bytes), [0; 8]]));
        load_u16(bytes: &[u8]) -> H = transmute!(read(bytes, 0));
        load_u16_to_unpack(bytes: &[u8]) -> H = self.load_u16(bytes);
        load_u32(bytes: &[u8]) -> [W; 2] = [transmute!(read(bytes, 0)), transmute!(read(bytes, 16))];
        store_u16(_: bool, codes: H, bytes: &mut [u8]) = write(bytes, 0, transmute!(codes));
        splat_u16(a: u16) -> H = k::splat_16(self.0, a);
        shl_u16(a: H, bits: u32) -> H = k::shift_16(self.0, a, self.splat_u16(bits as u16));
        shr_u16(a: H, bits: u32) -> H = k::shift_16(self.0, a, self.splat_u16((bits as u16).wrapping_neg()));
        negative_u16(a: H) -> H = k::negative_16(self.0, a);
        select_u16(mask: H, a: H, b: H) -> H = k::select_16(self.0, mask, a, b);
        abs_i16(a: H) -> H = k::abs_16(self.0, a);
        negate_u16(a: H, sign: H) -> H = self.select_u16(self.negative_u16(sign), k::negate_16(self.0, a), a);
        splat_u32(a: u32) -> [W; 2] = [k::splat_32(self.0, a); 2];
        min_u32(a: [W; 2], b: u32) -> [W; 2] = both!(|a| k::min_32(self.0, a, k::splat_32(self.0, b)));
        shl_u32<const BITS: u32>(a: [W; 2]) -> [W; 2] = both!(|a| k::shift_32(self.0, a, k::splat_32(self.0, BITS)));
        shr_u32<const BITS: u32>(a: [W; 2]) -> [W; 2] = self.shr_by_u32(a, BITS);
        shr_by_u32(a: [W; 2], bits: u32) -> [W; 2] =
            both!(|a| k::shift_32(self.0, a, k::splat_32(self.0, bits.wrapping_neg())));
        sar_u32<const BITS: u32>(a: [W; 2]) -> [W; 2] =
            both!(|a| k::signed_shift_32(self.0, a, k::splat_32(self.0, BITS.wrapping_neg())));
        abs_i32(a: [W; 2]) -> [W; 2] = both!(|a| k::abs_32(self.0, a));
        select_u32(mask: [W; 2], a: [W; 2], b: [W; 2]) -> [W; 2] = both!(|mask, a, b| k::select_32(self.0, mask, a, b));
        is_nan_f32(a: [W; 2]) -> [W; 2] = both!(|a| {
            let magnitude = k::and_32(self.0, a, k::splat_32(self.0, !F32_SIGN));
            k::greater_32(self.0, magnitude, k::splat_32(self.0, F32_INFINITY))
        });
        i32_to_f32(a: [W; 2]) -> [W; 2] = both!(|a| k::i32_to_f32(self.0, a));
        f32_to_i32(a: [W; 2]) -> [W; 2] = both!(|a| self.least_unless(
            k::less_magnitude_f32(self.0, a, k::splat_32(self.0, (127 + 31) << 23)),
            k::f32_to_i32(self.0, a)
        ));
        unpack(low: H, high: H) -> [W; 2] =
            [transmute!(k::zip_first_16(self.0, low, high)), transmute!(k::zip_last_16(self.0, low, high))];
        narrow([a, b]: [W; 2]) -> H = k::even_16(self.0, transmute!(a), transmute!(b));
        narrow_saturated([a, b]: [W; 2]) -> H = k::narrow_saturated_32(self.0, a, b);
        narrow_signs([a, b]: [W; 2]) -> H = k::odd_16(self.0, transmute!(a), transmute!(b));
        narrow_mask(a: [W; 2]) -> H = self.narrow(a);
        f16_to_f32<const SUBNORMALS: bool>(magnitude: H) -> [W; 2] = float16::widen(self.0, magnitude);
        f16_numbers<const SUBNORMALS: bool>(codes: H) -> [W; 2] = float16::widen(self.0, codes);
    }

    #[inline(always)]
    fn load_u64(self, bytes: &[u8]) -> [[W; 2]; 2] {
        let [a, b, c, d]: [W; 4] = transmute!(self.load_64(bytes));
        [[k::even_32(self.0, a, b), k::even_32(self.0, c, d)], [k::odd_32(self.0, a, b), k::odd_32(self.0, c, d)]]
    }
    #[inline(always)]
    fn store_u32(self, [a, b]: [W; 2], bytes: &mut [u8]) {
        write(bytes, 0, transmute!(a));
        write(bytes, 16, transmute!(b));
    }
    #[inline(always)]
    fn store_bytes(self, bits: usize, _: usize, codes: &[H], bytes: &mut [u8]) {
        let mut joined = [k::splat_8(self.0, 0); 4];
        for i in 0..4 {
            joined[i] = k::even_8(self.0, transmute!(codes[2 * i]), transmute!(codes[2 * i + 1]));
        }
        match bits {
            2 => pack::store::<2>(self, joined, bytes),
            4 => pack::store::<4>(self, joined, bytes),
            6 => pack::store::<6>(self, joined, bytes),
            _ => pack::store::<8>(self, joined, bytes),
        }
    }

    vector! {
        and_u16 and_16;
        or_u16 or_16;
        xor_u16 xor_16;
        add_u16 add_16;
        sub_or_zero_u16 sub_or_zero_16;
        min_u16 min_16;
        greater_u16 greater_16;
        equal_u16 equal_16;
    }
    #[inline(always)]
    fn look_up_u16(self, table: [u8; 32], index: H) -> H {
        // An index beyond the table, as in the upper byte of each lane, gives 0.
        let index = self.or_u16(index, self.splat_u16(0xff00));
        transmute!(k::look_up_32(self.0, transmute!(table), transmute!(index)))
    }
    #[inline(always)]
    fn round_shift_u16(self, a: H, below: H, down: u32, _: [u8; 16]) -> H {
        let up = k::sub_16(self.0, self.splat_u16((down as u16).wrapping_neg()), below);
        let nearest = k::shift_to_nearest_16(self.0, a, up);
        // A tie that went up to an odd number must go down: only the top bit of what was shifted out is set.
        let lost = k::shift_16(self.0, a, k::add_16(self.0, up, self.splat_u16(16)));
        let is_tie = self.equal_u16(lost, self.splat_u16(1 << 15));
        k::and_not_16(self.0, nearest, self.and_u16(is_tie, self.splat_u16(1)))
    }

    vectors! {
        and_u32 and_32;
        or_u32 or_32;
        add_u32 add_32;
        sub_u32 sub_32;
        min_i32 min_signed_32;
        max_i32 max_signed_32;
        greater_i32 greater_signed_32;
        equal_u32 equal_32;
        add_f32 add_f32;
    }
    #[inline(always)]
    fn f64_to_i32(self, bytes: &[u8]) -> [W; 2] {
        let limit = k::splat_64(self.0, (1023 + 31) << 52);
        let mut integers = self.load_64(bytes);
        for a in &mut integers {
            let fits = k::less_magnitude_f64(self.0, *a, limit);
            *a = k::select_64(self.0, fits, k::f64_to_i64(self.0, *a), k::splat_64(self.0, 1 << 31));
        }
        let [a, b, c, d]: [W; 4] = transmute!(integers);
        [k::even_32(self.0, a, b), k::even_32(self.0, c, d)]
    }

    #[inline(always)]
    fn f16_to_i16(self, codes: H) -> H {
        // The instruction gives 0 for NaN, and for −∞ an integer whose low 16 bits are 0.
        let [a, b] = float16::widen(self.0, codes);
        let integers = self.narrow([k::f32_to_i32(self.0, a), k::f32_to_i32(self.0, b)]);
        k::and_not_16(self.0, integers, self.equal_u16(codes, self.splat_u16(F16_INFINITY)))
    }
    #[inline(always)]
    fn bf16_to_i16(self, codes: H, _: u16) -> H {
        self.narrow(self.f32_to_i32(self.unpack(self.splat_u16(0), codes)))
    }
    #[inline(always)]
    fn load_f16(self, bytes: &[u8]) -> [W; 2] {
        let codes = self.load_u16(bytes);
        let magnitude = self.and_u16(codes, self.splat_u16(F16_MAGNITUDE));
        let is_nan = self.greater_u16(magnitude, self.splat_u16(F16_INFINITY));
        let replaced = self.and_u16(is_nan, self.splat_u16(!F16_SIGN));
        float16::widen(self.0, self.select_u16(replaced, self.splat_u16(F16_NAN), codes))
    }
    #[inline(always)]
    fn load_saturated_u64<const SIGNED: bool>(self, bytes: &[u8]) -> [W; 2] {
        let [a, b, c, d] = self.load_64(bytes);
        match SIGNED {
            true => [k::narrow_signed_64(self.0, a, b), k::narrow_signed_64(self.0, c, d)],
            false => [k::narrow_unsigned_64(self.0, a, b), k::narrow_unsigned_64(self.0, c, d)],
        }
    }
    #[inline(always)]
    fn u64_to_odd_f32<const SIGNED: bool>(self, bytes: &[u8]) -> [W; 2] {
        let [a, b, c, d] = self.load_64(bytes);
        let [a, b] = [self.i64_to_odd_f64::<SIGNED>(a), self.i64_to_odd_f64::<SIGNED>(b)];
        let [c, d] = [self.i64_to_odd_f64::<SIGNED>(c), self.i64_to_odd_f64::<SIGNED>(d)];
        [k::f64_to_odd_f32(self.0, a, b), k::f64_to_odd_f32(self.0, c, d)]
    }
    #[inline(always)]
    fn u32_to_bounded_f32<const SIGNED: bool>(self, a: [W; 2]) -> [W; 2] {
        match SIGNED {
            true => self.i32_to_f32(a),
            false => both!(|a| k::u32_to_f32(self.0, a)),
        }
    }
    #[inline(always)]
    fn u32_to_odd_f32<const SIGNED: bool>(self, a: [W; 2]) -> [W; 2] {
        // binary64 holds all of them.
        both!(|a| match SIGNED {
            true => {
                let (first, last) = (k::first_i32_to_i64(self.0, a), k::last_i32_to_i64(self.0, a));
                k::f64_to_odd_f32(self.0, k::i64_to_f64(self.0, first), k::i64_to_f64(self.0, last))
            }
            false => {
                let (first, last) = (k::first_u32_to_u64(self.0, a), k::last_u32_to_u64(self.0, a));
                k::f64_to_odd_f32(self.0, k::u64_to_f64(self.0, first), k::u64_to_f64(self.0, last))
            }
        })
    }

    #[inline(always)]
    fn store_f16_as_i64<const SIGNED: bool>(self, source: &[u8], bytes: &mut [u8]) {
        let codes = self.load_u16(source);
        let numbers = self.f32_to_f64(float16::widen(self.0, codes));
        for i in 0..4 {
            let number = numbers[i];
            // Any bound above FLOAT16's numbers.
            let is_finite = k::less_magnitude_f64(self.0, number, k::splat_64(self.0, (1023 + 63) << 52));
            let integer = k::f64_to_i64(self.0, number);
            let integer = k::select_64(self.0, is_finite, integer, k::splat_64(self.0, 1 << 63));
            let integer = match SIGNED {
                true => integer,
                false => {
                    let is_infinity = k::equal_64(self.0, number, k::splat_64(self.0, F64_INFINITY));
                    k::and_not_64(self.0, integer, is_infinity)
                }
            };
            write(bytes, 16 * i, transmute!(integer));
        }
    }
    #[inline(always)]
    fn store_f32_as_f64(self, a: [W; 2], bytes: &mut [u8]) {
        let numbers = self.f32_to_f64(a);
        for i in 0..4 {
            write(bytes, 16 * i, transmute!(numbers[i]));
        }
    }
    #[inline(always)]
    fn store_f32_as_i64<const SIGNED: bool>(self, a: [W; 2], bytes: &mut [u8]) {
        let numbers = self.f32_to_f64(a);
        for i in 0..4 {
            write(bytes, 16 * i, transmute!(self.f64_to_i64::<SIGNED>(numbers[i])));
        }
    }
}

impl Neon {
    /// Eight elements of 64 bits.
    #[inline(always)]
    pub(crate) fn load_64(self, bytes: &[u8]) -> [D; 4] {
        transmute!([read(bytes, 0), read(bytes, 16), read(bytes, 32), read(bytes, 48)])
    }

    /// FLOAT16 in binary32. NaN is made quiet and keeps its sign and its payload.
    #[inline(always)]
    pub(crate) fn widen_f16(self, codes: H) -> [W; 2] {
        float16::widen(self.0, codes)
    }

    /// The codes of binary32 numbers in FLOAT16. NaN is quiet and keeps its sign.
    #[inline(always)]
    pub(crate) fn f16_codes(self, numbers: [W; 2]) -> H {
        float16::narrow(self.0, numbers)
    }

    /// The same numbers; NaN becomes the canonical NaN with the same sign.
    #[inline(always)]
    pub(crate) fn canonical_f32(self, a: W) -> W {
        let is_number = k::is_number_f32(self.0, a);
        let replaced = k::and_not_32(self.0, k::splat_32(self.0, !F32_SIGN), is_number);
        k::select_32(self.0, replaced, k::splat_32(self.0, F32_NAN), a)
    }

    /// Numbers with canonical NaNs instead of quiet ones, which are the least quiet ones of either sign.
    #[inline(always)]
    pub(crate) fn canonical_quiet_f32(self, a: W) -> W {
        let a = k::min_32(self.0, a, k::splat_32(self.0, F32_SIGN | F32_NAN));
        k::min_signed_32(self.0, a, k::splat_32(self.0, F32_NAN))
    }

    /// binary32 as binary64.
    #[inline(always)]
    pub(crate) fn f32_to_f64(self, [a, b]: [W; 2]) -> [D; 4] {
        [
            k::first_f32_to_f64(self.0, a),
            k::last_f32_to_f64(self.0, a),
            k::first_f32_to_f64(self.0, b),
            k::last_f32_to_f64(self.0, b),
        ]
    }

    /// binary64 to 64-bit integers, as `encode_int64` says.
    #[inline(always)]
    pub(crate) fn f64_to_i64<const SIGNED: bool>(self, a: D) -> D {
        let integer = k::f64_to_i64(self.0, a);
        if SIGNED {
            let fits = k::less_magnitude_f64(self.0, a, k::splat_64(self.0, (1023 + 63) << 52));
            return k::select_64(self.0, fits, integer, k::splat_64(self.0, 1 << 63));
        }
        // From 2^64 on, the instruction gives the largest integer, which no number has. Adding 1 makes it 0.
        let positive = k::f64_to_u64(self.0, a);
        let is_beyond = k::equal_64(self.0, positive, k::splat_64(self.0, u64::MAX));
        let positive = k::and_not_64(self.0, positive, is_beyond);
        let integer = k::select_64(self.0, k::negative_64(self.0, a), integer, positive);
        k::select_64(self.0, k::is_number_f64(self.0, a), integer, k::splat_64(self.0, 1 << 63))
    }

    /// 64-bit integers to binary64, rounded to odd: from 53 bits on, the lowest bits are cut, and the bit above them is
    /// set if any of them was set.
    #[inline(always)]
    pub(crate) fn i64_to_odd_f64<const SIGNED: bool>(self, a: D) -> D {
        let lowest = k::splat_64(self.0, if SIGNED { 0x3ff } else { 0x7ff });
        let lost = k::add_64(self.0, k::and_64(self.0, a, lowest), lowest);
        let cut = k::and_not_64(self.0, k::or_64(self.0, a, lost), lowest);
        let range = k::splat_64(self.0, if SIGNED { (1 << 54) - 1 } else { (1 << 53) - 1 });
        let from_least = if SIGNED { k::add_64(self.0, a, k::splat_64(self.0, 1 << 53)) } else { a };
        let odd = k::select_64(self.0, k::greater_64(self.0, from_least, range), cut, a);
        if SIGNED { k::i64_to_f64(self.0, odd) } else { k::u64_to_f64(self.0, odd) }
    }

    /// The integer where `fits`, and elsewhere the least one.
    #[inline(always)]
    fn least_unless(self, fits: W, integer: W) -> W {
        k::select_32(self.0, fits, integer, k::splat_32(self.0, 1 << 31))
    }
}
