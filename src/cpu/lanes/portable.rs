//! One element at a time, in plain integers and floats: the compiler makes vector instructions of the loop around it.
//!
//! 16-bit lanes are 32 bits wide here, so that a loop has one width and the compiler need not convert between two.

use super::Lanes;
use crate::cpu::isa::Instructions;
use crate::cpu::lanes::Work;
use crate::cpu::scalar;

/// Portable lanes in loops that are compiled for an instruction set.
#[derive(Clone, Copy)]
pub(crate) struct Portable<I>(pub I);

#[inline(always)]
fn f32(bits: u32) -> f32 {
    f32::from_bits(bits)
}

/// A little-endian word at the start of some bytes.
macro_rules! read {
    ($word:ty, $bytes:expr) => {
        <$word>::from_le_bytes($bytes[..size_of::<$word>()].try_into().expect("the bytes of a word"))
    };
}

impl<I: Instructions> Lanes for Portable<I> {
    const COUNT: usize = 1;
    const GROUPS: usize = 1;
    const PACKS: bool = false;

    type U16 = u32;
    type U32 = u32;
    type M16 = bool;
    type M32 = bool;

    #[inline(always)]
    fn run<W: Work>(self, work: W) {
        self.0.run(work);
    }

    #[inline(always)]
    fn load_u8(self, bytes: &[u8]) -> u32 {
        bytes[0].into()
    }
    #[inline(always)]
    fn load_u16(self, bytes: &[u8]) -> u32 {
        read!(u16, bytes).into()
    }
    #[inline(always)]
    fn load_u16_to_unpack(self, bytes: &[u8]) -> u32 {
        self.load_u16(bytes)
    }
    #[inline(always)]
    fn load_u32(self, bytes: &[u8]) -> u32 {
        read!(u32, bytes)
    }
    #[inline(always)]
    fn load_u64(self, bytes: &[u8]) -> [u32; 2] {
        [read!(u32, bytes), read!(u32, bytes[4..])]
    }
    #[inline(always)]
    fn store_u32(self, a: u32, bytes: &mut [u8]) {
        bytes.copy_from_slice(&a.to_le_bytes());
    }
    #[inline(always)]
    fn store_codes(self, bits: usize, _: bool, codes: &[u32], bytes: &mut [u8]) {
        match bits {
            16 => bytes.copy_from_slice(&(codes[0] as u16).to_le_bytes()),
            _ => bytes[0] = codes[0] as u8,
        }
    }

    #[inline(always)]
    fn splat_u16(self, a: u16) -> u32 {
        a.into()
    }
    #[inline(always)]
    fn and_u16(self, a: u32, b: u32) -> u32 {
        a & b
    }
    #[inline(always)]
    fn or_u16(self, a: u32, b: u32) -> u32 {
        a | b
    }
    #[inline(always)]
    fn xor_u16(self, a: u32, b: u32) -> u32 {
        a ^ b
    }
    #[inline(always)]
    fn add_u16(self, a: u32, b: u32) -> u32 {
        a.wrapping_add(b) & 0xffff
    }
    #[inline(always)]
    fn sub_u16(self, a: u32, b: u32) -> u32 {
        a.wrapping_sub(b) & 0xffff
    }
    #[inline(always)]
    fn sub_or_zero_u16(self, a: u32, b: u32) -> u32 {
        (a as i32 - b as i32).max(0) as u32
    }
    #[inline(always)]
    fn min_u16(self, a: u32, b: u32) -> u32 {
        self.min_i32(a, b)
    }
    #[inline(always)]
    fn shl_u16(self, a: u32, bits: u32) -> u32 {
        a << bits & 0xffff
    }
    #[inline(always)]
    fn shr_u16(self, a: u32, bits: u32) -> u32 {
        a >> bits
    }
    #[inline(always)]
    fn greater_u16(self, a: u32, b: u32) -> bool {
        a as i32 > b as i32
    }
    #[inline(always)]
    fn equal_u16(self, a: u32, b: u32) -> bool {
        a == b
    }
    #[inline(always)]
    fn negative_u16(self, a: u32) -> bool {
        a & 0x8000 != 0
    }
    #[inline(always)]
    fn select_u16(self, mask: bool, a: u32, b: u32) -> u32 {
        if mask { a } else { b }
    }
    #[inline(always)]
    fn negate_u16(self, a: u32, sign: u32) -> u32 {
        if self.negative_u16(sign) { a.wrapping_neg() & 0xffff } else { a }
    }
    #[inline(always)]
    fn round_shift_u16(self, a: u32, below: u32, down: u32, _: [u8; 16]) -> u32 {
        let shift = (down + below) & 15;
        let half = (1 << shift >> 1) - 1;
        (a + half + (a >> shift & 1)) >> shift
    }

    #[inline(always)]
    fn splat_u32(self, a: u32) -> u32 {
        a
    }
    #[inline(always)]
    fn and_u32(self, a: u32, b: u32) -> u32 {
        a & b
    }
    #[inline(always)]
    fn or_u32(self, a: u32, b: u32) -> u32 {
        a | b
    }
    #[inline(always)]
    fn add_u32(self, a: u32, b: u32) -> u32 {
        a.wrapping_add(b)
    }
    #[inline(always)]
    fn sub_u32(self, a: u32, b: u32) -> u32 {
        a.wrapping_sub(b)
    }
    #[inline(always)]
    fn min_i32(self, a: u32, b: u32) -> u32 {
        (a as i32).min(b as i32) as u32
    }
    #[inline(always)]
    fn max_i32(self, a: u32, b: u32) -> u32 {
        (a as i32).max(b as i32) as u32
    }
    #[inline(always)]
    fn min_u32(self, a: u32, b: u32) -> u32 {
        if b == 1 { u32::from(a != 0) } else { a.min(b) }
    }
    #[inline(always)]
    fn shl_u32<const BITS: u32>(self, a: u32) -> u32 {
        a << BITS
    }
    #[inline(always)]
    fn shr_u32<const BITS: u32>(self, a: u32) -> u32 {
        a >> BITS
    }
    #[inline(always)]
    fn shr_by_u32(self, a: u32, bits: u32) -> u32 {
        a >> bits
    }
    #[inline(always)]
    fn sar_u32<const BITS: u32>(self, a: u32) -> u32 {
        (a as i32 >> BITS) as u32
    }
    #[inline(always)]
    fn abs_i32(self, a: u32) -> u32 {
        (a as i32).wrapping_abs() as u32
    }
    #[inline(always)]
    fn greater_i32(self, a: u32, b: u32) -> bool {
        a as i32 > b as i32
    }
    #[inline(always)]
    fn equal_u32(self, a: u32, b: u32) -> bool {
        a == b
    }
    #[inline(always)]
    fn select_u32(self, mask: bool, a: u32, b: u32) -> u32 {
        if mask { a } else { b }
    }
    #[inline(always)]
    fn add_f32(self, a: u32, b: u32) -> u32 {
        (f32(a) + f32(b)).to_bits()
    }
    #[inline(always)]
    fn is_nan_f32(self, a: u32) -> bool {
        f32(a).is_nan()
    }
    #[inline(always)]
    fn i32_to_f32(self, a: u32) -> u32 {
        (a as i32 as f32).to_bits()
    }
    #[inline(always)]
    fn f32_to_i32(self, a: u32) -> u32 {
        scalar::f32_to_int32(a)
    }
    #[inline(always)]
    fn f64_to_i32(self, bytes: &[u8]) -> u32 {
        scalar::f64_to_int32(read!(u64, bytes))
    }

    #[inline(always)]
    fn unpack(self, low: u32, high: u32) -> u32 {
        low | high << 16
    }
    #[inline(always)]
    fn narrow(self, a: u32) -> u32 {
        a
    }
    #[inline(always)]
    fn narrow_signs(self, a: u32) -> u32 {
        a >> 16
    }
    #[inline(always)]
    fn narrow_mask(self, a: bool) -> bool {
        a
    }

    #[inline(always)]
    fn f16_to_f32<const SUBNORMALS: bool>(self, magnitude: u32) -> u32 {
        scalar::f16_magnitude::<SUBNORMALS>(magnitude)
    }
    #[inline(always)]
    fn f16_to_i16(self, codes: u32) -> u32 {
        scalar::f16_to_int16(codes as u16).into()
    }
    #[inline(always)]
    fn bf16_to_i16(self, codes: u32, _: u16) -> u32 {
        scalar::bf16_to_int16(codes as u16).into()
    }
    #[inline(always)]
    fn u64_to_odd_f32<const SIGNED: bool>(self, [low, high]: [u32; 2]) -> u32 {
        scalar::int64_to_odd_f32::<SIGNED>(u64::from(low) | u64::from(high) << 32)
    }

    #[inline(always)]
    fn store_f32_as_f64(self, a: u32, bytes: &mut [u8]) {
        bytes.copy_from_slice(&f64::from(f32(a)).to_le_bytes());
    }
    #[inline(always)]
    fn store_f32_as_i64<const SIGNED: bool>(self, a: u32, bytes: &mut [u8]) {
        bytes.copy_from_slice(&scalar::f64_to_int64::<SIGNED>(f64::from(f32(a))).to_le_bytes());
    }
    #[inline(always)]
    fn store_f16_as_i64<const SIGNED: bool>(self, source: &[u8], bytes: &mut [u8]) {
        self.store_f32_as_i64::<SIGNED>(self.f16_numbers(self.load_u16(source)), bytes);
    }
}
