//! Functions of NEON's instructions. They are safe to call: a `Neon` exists only if the processor has them.

use core::arch::aarch64::*;

use fearless_simd::kernel;

/// Vectors of 8, 16, 32 and 64-bit lanes.
pub(crate) type B = uint8x16_t;
pub(crate) type H = uint16x8_t;
pub(crate) type W = uint32x4_t;
pub(crate) type D = uint64x2_t;

macro_rules! kernels {
    ($($name:ident($($argument:ident: $type:ty),*) -> $made:ty = $expression:expr;)*) => {$(
        kernel!(
            #[inline(always)]
            pub(crate) fn $name(_simd: Neon, $($argument: $type),*) -> $made {
                $expression
            }
        );
    )*};
}

/// Instructions on two vectors.
macro_rules! pairs {
    ($vector:ty; $($name:ident $intrinsic:ident;)*) => {
        kernels! { $($name(a: $vector, b: $vector) -> $vector = $intrinsic(a, b);)* }
    };
}

pairs! {
    B;
    and_8 vandq_u8;
    or_8 vorrq_u8;
    xor_8 veorq_u8;
    sub_8 vsubq_u8;
    equal_8 vceqq_u8;
    zip_first_8 vzip1q_u8;
    zip_last_8 vzip2q_u8;
    even_8 vuzp1q_u8;
    odd_8 vuzp2q_u8;
}

pairs! {
    H;
    and_16 vandq_u16;
    or_16 vorrq_u16;
    xor_16 veorq_u16;
    and_not_16 vbicq_u16;
    add_16 vaddq_u16;
    sub_16 vsubq_u16;
    sub_or_zero_16 vqsubq_u16;
    min_16 vminq_u16;
    greater_16 vcgtq_u16;
    max_16 vmaxq_u16;
    equal_16 vceqq_u16;
    zip_first_16 vzip1q_u16;
    zip_last_16 vzip2q_u16;
    even_16 vuzp1q_u16;
    odd_16 vuzp2q_u16;
}

pairs! {
    W;
    greater_32 vcgtq_u32;
    and_32 vandq_u32;
    or_32 vorrq_u32;
    and_not_32 vbicq_u32;
    add_32 vaddq_u32;
    sub_32 vsubq_u32;
    min_32 vminq_u32;
    equal_32 vceqq_u32;
    even_32 vuzp1q_u32;
    odd_32 vuzp2q_u32;
}

pairs! {
    D;
    and_64 vandq_u64;
    or_64 vorrq_u64;
    and_not_64 vbicq_u64;
    add_64 vaddq_u64;
    equal_64 vceqq_u64;
    greater_64 vcgtq_u64;
}

kernels! {
    splat_8(a: u8) -> B = vdupq_n_u8(a);
    shift_right_2(a: B) -> B = vshrq_n_u8::<2>(a);
    shift_right_4(a: B) -> B = vshrq_n_u8::<4>(a);
    // The low bits of `a`, and `b` above them.
    insert_2(a: B, b: B) -> B = vsliq_n_u8::<2>(a, b);
    insert_4(a: B, b: B) -> B = vsliq_n_u8::<4>(a, b);
    // The bytes of a table at the indexes; 0 for an index beyond it.
    look_up_16(table: B, index: B) -> B = vqtbl1q_u8(table, index);
    look_up_32(table: [B; 2], index: B) -> B = vqtbl2q_u8(uint8x16x2_t(table[0], table[1]), index);
    look_up_64(table: [B; 4], index: B) -> B =
        vqtbl4q_u8(uint8x16x4_t(table[0], table[1], table[2], table[3]), index);
    // As `look_up_64`, but `others` for an index beyond the table.
    look_up_64_or(others: B, table: [B; 4], index: B) -> B =
        vqtbx4q_u8(others, uint8x16x4_t(table[0], table[1], table[2], table[3]), index);

    negative_8(a: B) -> B = vcltzq_s8(vreinterpretq_s8_u8(a));
    select_8(mask: B, a: B, b: B) -> B = vbslq_u8(mask, a, b);

    splat_16(a: u16) -> H = vdupq_n_u16(a);
    widen_first_8(a: B) -> H = vmovl_u8(vget_low_u8(a));
    // A negative `bits` shifts right.
    shift_16(a: H, bits: H) -> H = vshlq_u16(a, vreinterpretq_s16_u16(bits));
    signed_shift_16(a: H, bits: H) -> H =
        vreinterpretq_u16_s16(vshlq_s16(vreinterpretq_s16_u16(a), vreinterpretq_s16_u16(bits)));
    // As `shift_16`, with a right shift rounded to nearest, ties up.
    shift_to_nearest_16(a: H, bits: H) -> H = vrshlq_u16(a, vreinterpretq_s16_u16(bits));
    negative_16(a: H) -> H = vcltzq_s16(vreinterpretq_s16_u16(a));
    select_16(mask: H, a: H, b: H) -> H = vbslq_u16(mask, a, b);
    abs_16(a: H) -> H = vreinterpretq_u16_s16(vabsq_s16(vreinterpretq_s16_u16(a)));
    min_signed_16(a: H, b: H) -> H =
        vreinterpretq_u16_s16(vminq_s16(vreinterpretq_s16_u16(a), vreinterpretq_s16_u16(b)));
    negate_16(a: H) -> H = vreinterpretq_u16_s16(vnegq_s16(vreinterpretq_s16_u16(a)));
    narrow_saturated_32(a: W, b: W) -> H = vreinterpretq_u16_s16(
        vqmovn_high_s32(vqmovn_s32(vreinterpretq_s32_u32(a)), vreinterpretq_s32_u32(b))
    );
    // The upper halves of the lanes, rounded to nearest, ties up.
    upper_halves_to_nearest(a: W, b: W) -> H = vraddhn_high_u32(vraddhn_u32(a, vdupq_n_u32(0)), b, vdupq_n_u32(0));

    first_i8_to_i16(a: B) -> H = vreinterpretq_u16_s16(vmovl_s8(vget_low_s8(vreinterpretq_s8_u8(a))));
    first_i16_to_i32(a: H) -> W = vreinterpretq_u32_s32(vmovl_s16(vget_low_s16(vreinterpretq_s16_u16(a))));
    last_i16_to_i32(a: H) -> W = vreinterpretq_u32_s32(vmovl_high_s16(vreinterpretq_s16_u16(a)));

    splat_32(a: u32) -> W = vdupq_n_u32(a);
    shift_32(a: W, bits: W) -> W = vshlq_u32(a, vreinterpretq_s32_u32(bits));
    signed_shift_32(a: W, bits: W) -> W =
        vreinterpretq_u32_s32(vshlq_s32(vreinterpretq_s32_u32(a), vreinterpretq_s32_u32(bits)));
    min_signed_32(a: W, b: W) -> W =
        vreinterpretq_u32_s32(vminq_s32(vreinterpretq_s32_u32(a), vreinterpretq_s32_u32(b)));
    max_signed_32(a: W, b: W) -> W =
        vreinterpretq_u32_s32(vmaxq_s32(vreinterpretq_s32_u32(a), vreinterpretq_s32_u32(b)));
    abs_32(a: W) -> W = vreinterpretq_u32_s32(vabsq_s32(vreinterpretq_s32_u32(a)));
    greater_signed_32(a: W, b: W) -> W = vcgtq_s32(vreinterpretq_s32_u32(a), vreinterpretq_s32_u32(b));
    select_32(mask: W, a: W, b: W) -> W = vbslq_u32(mask, a, b);
    add_f32(a: W, b: W) -> W =
        vreinterpretq_u32_f32(vaddq_f32(vreinterpretq_f32_u32(a), vreinterpretq_f32_u32(b)));
    multiply_f32(a: W, b: W) -> W =
        vreinterpretq_u32_f32(vmulq_f32(vreinterpretq_f32_u32(a), vreinterpretq_f32_u32(b)));
    is_number_f32(a: W) -> W = vceqq_f32(vreinterpretq_f32_u32(a), vreinterpretq_f32_u32(a));
    less_magnitude_f32(a: W, b: W) -> W = vcaltq_f32(vreinterpretq_f32_u32(a), vreinterpretq_f32_u32(b));
    i32_to_f32(a: W) -> W = vreinterpretq_u32_f32(vcvtq_f32_s32(vreinterpretq_s32_u32(a)));
    u32_to_f32(a: W) -> W = vreinterpretq_u32_f32(vcvtq_f32_u32(a));
    // Truncates and saturates; 0 for NaN.
    f32_to_i32(a: W) -> W = vreinterpretq_u32_s32(vcvtq_s32_f32(vreinterpretq_f32_u32(a)));
    // Saturated signed and unsigned integers.
    narrow_signed_64(a: D, b: D) -> W = vreinterpretq_u32_s32(
        vqmovn_high_s64(vqmovn_s64(vreinterpretq_s64_u64(a)), vreinterpretq_s64_u64(b))
    );
    narrow_unsigned_64(a: D, b: D) -> W = vqmovn_high_u64(vqmovn_u64(a), b);

    splat_64(a: u64) -> D = vdupq_n_u64(a);
    shift_64(a: D, bits: D) -> D = vshlq_u64(a, vreinterpretq_s64_u64(bits));
    select_64(mask: D, a: D, b: D) -> D = vbslq_u64(mask, a, b);
    negative_64(a: D) -> D = vcltzq_s64(vreinterpretq_s64_u64(a));
    is_number_f64(a: D) -> D = vceqq_f64(vreinterpretq_f64_u64(a), vreinterpretq_f64_u64(a));
    less_magnitude_f64(a: D, b: D) -> D = vcaltq_f64(vreinterpretq_f64_u64(a), vreinterpretq_f64_u64(b));
    first_f32_to_f64(a: W) -> D = vreinterpretq_u64_f64(vcvt_f64_f32(vget_low_f32(vreinterpretq_f32_u32(a))));
    last_f32_to_f64(a: W) -> D = vreinterpretq_u64_f64(vcvt_high_f64_f32(vreinterpretq_f32_u32(a)));
    // Truncate and saturate; 0 for NaN.
    f64_to_i64(a: D) -> D = vreinterpretq_u64_s64(vcvtq_s64_f64(vreinterpretq_f64_u64(a)));
    f64_to_u64(a: D) -> D = vcvtq_u64_f64(vreinterpretq_f64_u64(a));
    i64_to_f64(a: D) -> D = vreinterpretq_u64_f64(vcvtq_f64_s64(vreinterpretq_s64_u64(a)));
    u64_to_f64(a: D) -> D = vreinterpretq_u64_f64(vcvtq_f64_u64(a));
    first_i32_to_i64(a: W) -> D =
        vreinterpretq_u64_s64(vmovl_s32(vget_low_s32(vreinterpretq_s32_u32(a))));
    last_i32_to_i64(a: W) -> D = vreinterpretq_u64_s64(vmovl_high_s32(vreinterpretq_s32_u32(a)));
    first_u32_to_u64(a: W) -> D = vmovl_u32(vget_low_u32(a));
    last_u32_to_u64(a: W) -> D = vmovl_high_u32(a);
    f64_to_f32(a: D, b: D) -> W = vreinterpretq_u32_f32(
        vcvt_high_f32_f64(vcvt_f32_f64(vreinterpretq_f64_u64(a)), vreinterpretq_f64_u64(b))
    );
    // Rounded to odd.
    f64_to_odd_f32(a: D, b: D) -> W = vreinterpretq_u32_f32(
        vcvtx_high_f32_f64(vcvtx_f32_f64(vreinterpretq_f64_u64(a)), vreinterpretq_f64_u64(b))
    );
}
