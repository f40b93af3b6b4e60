//! Operations on lanes. Sources and sinks are written once in these operations and run with every instruction set.
//!
//! An instruction set converts a group of elements at a time: 16 with AVX2, 32 with AVX-512, eight with NEON, and one
//! with portable code, whose loops the compiler vectorises. Each element of a group has one lane of 16 or of 32 bits.
//! All methods are inlined into the loop of a pair, because a function that is not inlined there is compiled without the vector
//! instructions.

/// Defines operations of one expression each, which are always inlined.
macro_rules! operations {
    ($self:ident; $($name:ident $(<const $parameter:ident: $kind:ty>)? ($($argument:tt: $type:ty),*) $(-> $made:ty)?
        = $expression:expr;)*) => {$(
        #[inline(always)]
        fn $name $(<const $parameter: $kind>)? ($self $(, $argument: $type)*) $(-> $made)? {
            $expression
        }
    )*};
}

/// Defines operations that are one instruction on two vectors.
#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
macro_rules! vector {
    ($vector:ty; $($name:ident $intrinsic:ident $made:ty;)*) => {$(
        #[inline(always)]
        fn $name(self, a: $vector, b: $vector) -> $made {
            self.0.$intrinsic(a, b)
        }
    )*};
}

/// Defines operations that are one instruction on each of two pairs of vectors.
#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
macro_rules! vectors {
    ($vector:ty; $($name:ident $intrinsic:ident $made:ty;)*) => {$(
        #[inline(always)]
        fn $name(self, a: [$vector; 2], b: [$vector; 2]) -> [$made; 2] {
            [self.0.$intrinsic(a[0], b[0]), self.0.$intrinsic(a[1], b[1])]
        }
    )*};
}

/// Evaluates an expression for each of the two vectors of a group of 32-bit lanes.
#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64")))]
macro_rules! both {
    (|$($x:ident),+| $made:expr) => {
        [{ $(let $x = $x[0];)+ $made }, { $(let $x = $x[1];)+ $made }]
    };
}
#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
pub(crate) use both;

#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
pub(crate) mod avx2;
#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
pub(crate) mod avx512;
#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) mod bytes;
#[cfg(all(feature = "cpu-simd", target_arch = "aarch64"))]
pub(crate) mod neon;
pub(crate) mod portable;

use super::codes::{F16_INFINITY, F16_MAGNITUDE, F16_NAN, F16_SIGN};
use super::non_temporal::Line;

/// The lanes of an instruction set, with their operations.
pub(crate) trait Lanes: Copy + Send + Sync {
    /// Lanes in a group.
    const COUNT: usize;
    /// Groups that a step converts to codes of at most 8 bits, which are stored together.
    const GROUPS: usize;
    /// Whether [`store_bytes`](Self::store_bytes) packs codes of less than a byte. Otherwise it stores one code in each
    /// byte.
    const PACKS: bool;
    /// Whether [`narrow`](Self::narrow) and [`store_bytes`](Self::store_bytes) drop the bits above, so that these need
    /// not be zero.
    const DROPS_UPPER_BITS: bool = false;
    /// See [`Instructions::VECTORS_ARE_LINES`](super::isa::Instructions::VECTORS_ARE_LINES).
    const VECTORS_ARE_LINES: bool = false;
    /// See [`Instructions::LINES`](super::isa::Instructions::LINES). The default is for lanes whose steps make whole
    /// lines.
    const LINES: usize = 1;
    /// 16-bit lanes. A portable lane has 32 bits, and its upper 16 bits are zero.
    type U16: Copy;
    type U32: Copy;
    type M16: Copy;
    type M32: Copy;

    /// Runs the loop `work`, compiled for the instruction set. `work` must be a closure that is always inlined.
    fn run(self, work: impl FnOnce());

    /// Copies `lines` to `destination`, with non-temporal stores if the target has them. Only while a
    /// `non_temporal::Fence` is held.
    fn store_past_caches(self, lines: &[Line], destination: &mut [Line]);

    fn load_u8(self, bytes: &[u8]) -> Self::U16;
    fn load_u16(self, bytes: &[u8]) -> Self::U16;
    /// Loads in an order that [`unpack`](Self::unpack) turns into the order of the elements.
    fn load_u16_to_unpack(self, bytes: &[u8]) -> Self::U16;
    fn load_u32(self, bytes: &[u8]) -> Self::U32;
    /// The low and the high words of 64-bit elements.
    fn load_u64(self, bytes: &[u8]) -> [Self::U32; 2];
    fn store_u32(self, a: Self::U32, bytes: &mut [u8]);
    /// Stores codes of 16 bits. If `interleaved`, they are in the order that [`narrow`](Self::narrow) leaves. Otherwise
    /// they are in the order of the elements: they come from elements of at most 16 bits, for which `narrow` after
    /// [`unpack`](Self::unpack) restores the order.
    fn store_u16(self, interleaved: bool, codes: Self::U16, bytes: &mut [u8]);
    /// Stores the codes of all groups. Codes have `bits` bits, at most 8, and zeros above them. If they come from
    /// elements of more than 16 bits (`from_bits`), they are in the order that [`narrow`](Self::narrow) leaves.
    fn store_bytes(self, bits: usize, from_bits: usize, codes: &[Self::U16], bytes: &mut [u8]);

    fn splat_u16(self, a: u16) -> Self::U16;
    fn and_u16(self, a: Self::U16, b: Self::U16) -> Self::U16;
    fn or_u16(self, a: Self::U16, b: Self::U16) -> Self::U16;
    fn xor_u16(self, a: Self::U16, b: Self::U16) -> Self::U16;
    fn add_u16(self, a: Self::U16, b: Self::U16) -> Self::U16;
    /// `a - b`, or 0 if `b` is larger.
    fn sub_or_zero_u16(self, a: Self::U16, b: Self::U16) -> Self::U16;
    fn min_u16(self, a: Self::U16, b: Self::U16) -> Self::U16;
    fn shl_u16(self, a: Self::U16, bits: u32) -> Self::U16;
    fn shr_u16(self, a: Self::U16, bits: u32) -> Self::U16;
    /// `a > b`, both less than 2^15.
    fn greater_u16(self, a: Self::U16, b: Self::U16) -> Self::M16;
    fn equal_u16(self, a: Self::U16, b: Self::U16) -> Self::M16;
    /// The lanes whose top bit is set.
    fn negative_u16(self, a: Self::U16) -> Self::M16;
    fn select_u16(self, mask: Self::M16, a: Self::U16, b: Self::U16) -> Self::U16;
    /// The magnitudes of signed words.
    fn abs_i16(self, a: Self::U16) -> Self::U16;
    /// `a`, negated in lanes whose top bit of `sign` is set. `a` must be 0 in lanes in which `sign` is 0.
    fn negate_u16(self, a: Self::U16, sign: Self::U16) -> Self::U16;
    /// `a / 2^(down + below)` to nearest, ties to even; `powers` is what [`powers`] returns for `down`.
    fn round_shift_u16(self, a: Self::U16, below: Self::U16, down: u32, powers: [u8; 16]) -> Self::U16;

    /// The bytes of `table` at the indexes `index`, which must be less than 32.
    fn look_up_u16(self, table: [u8; 32], index: Self::U16) -> Self::U16;

    fn splat_u32(self, a: u32) -> Self::U32;
    fn and_u32(self, a: Self::U32, b: Self::U32) -> Self::U32;
    fn or_u32(self, a: Self::U32, b: Self::U32) -> Self::U32;
    fn add_u32(self, a: Self::U32, b: Self::U32) -> Self::U32;
    fn sub_u32(self, a: Self::U32, b: Self::U32) -> Self::U32;
    fn min_i32(self, a: Self::U32, b: Self::U32) -> Self::U32;
    fn max_i32(self, a: Self::U32, b: Self::U32) -> Self::U32;
    /// The smaller of `a` and `b`; `b` is the same for all lanes.
    fn min_u32(self, a: Self::U32, b: u32) -> Self::U32;
    fn shl_u32<const BITS: u32>(self, a: Self::U32) -> Self::U32;
    fn shr_u32<const BITS: u32>(self, a: Self::U32) -> Self::U32;
    fn shr_by_u32(self, a: Self::U32, bits: u32) -> Self::U32;
    /// Shifts right and repeats the sign.
    fn sar_u32<const BITS: u32>(self, a: Self::U32) -> Self::U32;
    fn abs_i32(self, a: Self::U32) -> Self::U32;
    fn greater_i32(self, a: Self::U32, b: Self::U32) -> Self::M32;
    fn equal_u32(self, a: Self::U32, b: Self::U32) -> Self::M32;
    fn select_u32(self, mask: Self::M32, a: Self::U32, b: Self::U32) -> Self::U32;
    fn add_f32(self, a: Self::U32, b: Self::U32) -> Self::U32;
    fn is_nan_f32(self, a: Self::U32) -> Self::M32;
    /// To nearest, ties to even.
    fn i32_to_f32(self, a: Self::U32) -> Self::U32;
    /// Truncates. A value out of range, and NaN, gives the least integer.
    fn f32_to_i32(self, a: Self::U32) -> Self::U32;
    /// As `f32_to_i32`, from 64-bit floats.
    fn f64_to_i32(self, bytes: &[u8]) -> Self::U32;

    /// Lanes with the bits of `high` above those of `low`.
    fn unpack(self, low: Self::U16, high: Self::U16) -> Self::U32;
    /// The low 16 bits of lanes less than 2^16. With AVX2 the order changes: each half of the result has lanes of both
    /// vectors.
    fn narrow(self, a: Self::U32) -> Self::U16;
    /// Signed words, limited to the range of 16 bits, in the order of [`narrow`](Self::narrow).
    fn narrow_saturated(self, a: Self::U32) -> Self::U16;
    /// 16-bit lanes whose top bits are the signs of the 32-bit lanes.
    #[inline(always)]
    fn narrow_signs(self, a: Self::U32) -> Self::U16 {
        self.narrow_saturated(a)
    }
    fn narrow_mask(self, a: Self::M32) -> Self::M16;

    /// The magnitudes of FLOAT16 in binary32, in the order of [`unpack`](Self::unpack). NaN gives some magnitude above
    /// that of ∞. Without `SUBNORMALS`, a subnormal gives some number below the least normal one.
    fn f16_to_f32<const SUBNORMALS: bool>(self, magnitude: Self::U16) -> Self::U32;
    /// As `f16_to_f32`, of codes with signs.
    #[inline(always)]
    fn f16_numbers<const SUBNORMALS: bool>(self, codes: Self::U16) -> Self::U32 {
        let magnitude = self.f16_to_f32::<SUBNORMALS>(self.and_u16(codes, self.splat_u16(F16_MAGNITUDE)));
        self.or_u32(magnitude, self.unpack(self.splat_u16(0), self.and_u16(codes, self.splat_u16(F16_SIGN))))
    }
    /// The low 16 bits of FLOAT16's integer parts; 0 for ±∞ and NaN.
    fn f16_to_i16(self, codes: Self::U16) -> Self::U16;
    /// FLOAT16 in binary32, in the order of the elements; NaN is canonical.
    #[inline(always)]
    fn load_f16(self, bytes: &[u8]) -> Self::U32 {
        let codes = self.load_u16_to_unpack(bytes);
        let magnitude = self.and_u16(codes, self.splat_u16(F16_MAGNITUDE));
        let is_nan = self.greater_u16(magnitude, self.splat_u16(F16_INFINITY));
        let number = self.f16_to_f32::<true>(self.select_u16(is_nan, self.splat_u16(F16_NAN), magnitude));
        self.or_u32(number, self.unpack(self.splat_u16(0), self.and_u16(codes, self.splat_u16(F16_SIGN))))
    }
    /// 64-bit integers to binary32, rounded to odd, for formats of at most 11 significant bits.
    #[inline(always)]
    fn u64_to_odd_f32<const SIGNED: bool>(self, bytes: &[u8]) -> Self::U32 {
        u64_to_odd_f32::<Self, SIGNED>(self, self.load_u64(bytes))
    }
    /// 64-bit integers limited to the range of 32-bit ones.
    #[inline(always)]
    fn load_saturated_u64<const SIGNED: bool>(self, bytes: &[u8]) -> Self::U32 {
        let [low, high] = self.load_u64(bytes);
        if SIGNED {
            let fits = self.equal_u32(high, self.sar_u32::<31>(low));
            // The greatest integer. For negative integers, 1 is added, which wraps around to the least.
            let most = self.add_u32(self.shr_u32::<31>(high), self.splat_u32(i32::MAX as u32));
            self.select_u32(fits, low, most)
        } else {
            self.select_u32(self.equal_u32(high, self.splat_u32(0)), low, self.splat_u32(u32::MAX))
        }
    }
    /// 64-bit integers to binary32. An integer with a magnitude of [`BOUND`] or more gives some number with the same
    /// sign and a magnitude of `BOUND` or more.
    #[inline(always)]
    fn u64_to_bounded_f32<const SIGNED: bool>(self, bytes: &[u8]) -> Self::U32 {
        self.u32_to_bounded_f32::<SIGNED>(self.load_saturated_u64::<SIGNED>(bytes))
    }
    /// As `u64_to_bounded_f32`, of 32-bit integers.
    #[inline(always)]
    fn u32_to_bounded_f32<const SIGNED: bool>(self, a: Self::U32) -> Self::U32 {
        // The conversion takes signed words, so that large unsigned ones must be limited.
        self.i32_to_f32(if SIGNED { a } else { self.min_u32(a, BOUND) })
    }
    /// 32-bit integers to binary32, rounded to odd.
    #[inline(always)]
    fn u32_to_odd_f32<const SIGNED: bool>(self, a: Self::U32) -> Self::U32 {
        if SIGNED {
            return self.i32_to_f32(cut(self, a));
        }
        // An integer from 2^31 on is halved, with a sticky bit. Adding 1 to the exponent doubles the result.
        let is_large = self.greater_i32(self.splat_u32(0), a);
        let half = self.or_u32(self.shr_u32::<1>(a), self.and_u32(a, self.splat_u32(1)));
        let bits = cut(self, self.select_u32(is_large, half, a));
        let raise = self.select_u32(is_large, self.splat_u32(1 << 23), self.splat_u32(0));
        self.add_u32(self.i32_to_f32(bits), raise)
    }
    /// The low 16 bits of BFLOAT16's integer parts. Bits that are not in `mask` may be 0. The result is 0 for a value
    /// that does not fit 32 bits and for NaN.
    #[inline(always)]
    fn bf16_to_i16(self, codes: Self::U16, mask: u16) -> Self::U16 {
        let integers = self.f32_to_i32(self.unpack(self.splat_u16(0), codes));
        self.narrow(self.and_u32(integers, self.splat_u32(mask.into())))
    }
    /// binary32 as binary64.
    fn store_f32_as_f64(self, a: Self::U32, bytes: &mut [u8]);
    /// binary32 as 64-bit integers. A value out of range gives what `encode_int64` says.
    fn store_f32_as_i64<const SIGNED: bool>(self, a: Self::U32, bytes: &mut [u8]);
    /// FLOAT16 as 64-bit integers.
    #[inline(always)]
    fn store_f16_as_i64<const SIGNED: bool>(self, source: &[u8], bytes: &mut [u8]) {
        self.store_f32_as_i64::<SIGNED>(self.load_f16(source), bytes);
    }
}

/// A power of two for each `below` from 0 to 7. Its product with `x` has `x / 2^(down + below)` above the lowest 15
/// bits. The eight low bytes of the powers come first, then the eight high bytes.
pub(crate) fn powers(down: u32) -> [u8; 16] {
    let mut powers = [0; 16];
    for below in 0..8 {
        let power = 1u16.checked_shl(15u32.wrapping_sub(down + below)).unwrap_or(0);
        [powers[below as usize], powers[8 + below as usize]] = power.to_le_bytes();
    }
    powers
}

/// Integers with this magnitude or a larger one are out of range for every destination that `Int` without `ODD` serves.
pub(crate) const BOUND: u32 = 1 << 24;

/// Rounds signed words to odd, so that binary32 holds them exactly. In a word of more than 24 bits, the lowest 7 bits
/// are cut, and the bit above them is set if any of them was set. This holds for negative words, too: of the two
/// neighbours it chooses the odd one.
#[inline(always)]
pub(crate) fn cut<L: Lanes>(l: L, bits: L::U32) -> L::U32 {
    let lost = l.add_u32(l.and_u32(bits, l.splat_u32(0x7f)), l.splat_u32(0x7f));
    let cut = l.and_u32(l.or_u32(bits, lost), l.splat_u32(!0x7f));
    let is_large = l.greater_i32(l.abs_i32(bits), l.splat_u32(BOUND));
    l.select_u32(is_large, cut, bits)
}

/// Rounds 64-bit integers to odd in 32-bit lanes.
///
/// Each integer is reduced to a signed 32-bit integer: its lowest 32 bits, its 32 bits from bit 16 on, or its highest
/// 32 bits (31 of an unsigned integer). The first of these that holds the number is taken. A sticky bit stands for the
/// bits below it. All significant bits remain, or at least 14.
#[inline(always)]
fn u64_to_odd_f32<L: Lanes, const SIGNED: bool>(l: L, [low, high]: [L::U32; 2]) -> L::U32 {
    let moved = l.shl_u32::<16>(high);
    let middle = l.or_u32(l.shr_u32::<16>(low), moved);
    let zero = l.splat_u32(0);
    let (fits_low, fits_middle, upper, lost) = if SIGNED {
        let fits_low = l.equal_u32(high, l.sar_u32::<31>(low));
        let fits_middle = l.equal_u32(high, l.sar_u32::<16>(moved));
        (fits_low, fits_middle, high, low)
    } else {
        let fits_low = l.equal_u32(l.or_u32(high, l.sar_u32::<31>(low)), zero);
        let fits_middle = l.equal_u32(l.shr_u32::<15>(high), zero);
        (fits_low, fits_middle, l.shr_u32::<1>(high), l.or_u32(low, l.shl_u32::<31>(high)))
    };
    let lost = l.select_u32(fits_middle, l.shl_u32::<16>(lost), lost);
    let sticky = l.min_u32(lost, 1);
    let bits = l.or_u32(l.select_u32(fits_middle, middle, upper), sticky);
    let bits = cut(l, l.select_u32(fits_low, low, bits));
    let places = if SIGNED { 32 } else { 33 };
    let raise = l.select_u32(fits_middle, l.splat_u32(16 << 23), l.splat_u32(places << 23));
    l.add_u32(l.i32_to_f32(bits), l.select_u32(fits_low, zero, raise))
}
