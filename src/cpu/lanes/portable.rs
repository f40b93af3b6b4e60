//! One element at a time, in plain integers and floats. The compiler vectorises the loop around it.
//!
//! 16-bit lanes are 32 bits wide here, so that a loop has one width and the compiler need not convert between two.

use super::Lanes;
use crate::cpu::isa::Instructions;
use crate::cpu::non_temporal::Line;
use crate::cpu::scalar;
use crate::cpu::word::Word;

/// Portable lanes in loops that are compiled for an instruction set.
#[derive(Clone, Copy)]
pub(crate) struct Portable<I>(pub I);

#[inline(always)]
fn f32(bits: u32) -> f32 {
    f32::from_bits(bits)
}

impl<I: Instructions + 'static> Lanes for Portable<I> {
    const COUNT: usize = 1;
    const GROUPS: usize = 1;
    const PACKS: bool = false;
    const VECTORS_ARE_LINES: bool = I::VECTORS_ARE_LINES;
    const LINES: usize = I::LINES;

    type U16 = u32;
    type U32 = u32;
    type M16 = bool;
    type M32 = bool;

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
        load_u8(bytes: &[u8]) -> u32 = bytes[0].into();
        load_u16(bytes: &[u8]) -> u32 = u16::read(&bytes[..2]).into();
        load_u16_to_unpack(bytes: &[u8]) -> u32 = self.load_u16(bytes);
        load_u32(bytes: &[u8]) -> u32 = u32::read(&bytes[..4]);
        load_u64(bytes: &[u8]) -> [u32; 2] = [u32::read(&bytes[..4]), u32::read(&bytes[4..8])];
        store_u32(a: u32, bytes: &mut [u8]) = a.write(bytes);
        store_u16(_: bool, codes: u32, bytes: &mut [u8]) = (codes as u16).write(bytes);
        store_bytes(_: usize, _: usize, codes: &[u32], bytes: &mut [u8]) = bytes[0] = codes[0] as u8;
        splat_u16(a: u16) -> u32 = a.into();
        and_u16(a: u32, b: u32) -> u32 = a & b;
        or_u16(a: u32, b: u32) -> u32 = a | b;
        xor_u16(a: u32, b: u32) -> u32 = a ^ b;
        add_u16(a: u32, b: u32) -> u32 = a.wrapping_add(b) & 0xffff;
        sub_or_zero_u16(a: u32, b: u32) -> u32 = (a as i32 - b as i32).max(0) as u32;
        min_u16(a: u32, b: u32) -> u32 = self.min_i32(a, b);
        shl_u16(a: u32, bits: u32) -> u32 = a << bits & 0xffff;
        shr_u16(a: u32, bits: u32) -> u32 = a >> bits;
        greater_u16(a: u32, b: u32) -> bool = a as i32 > b as i32;
        equal_u16(a: u32, b: u32) -> bool = a == b;
        negative_u16(a: u32) -> bool = a & 0x8000 != 0;
        select_u16(mask: bool, a: u32, b: u32) -> u32 = if mask { a } else { b };
        abs_i16(a: u32) -> u32 = self.negate_u16(a, a);
        negate_u16(a: u32, sign: u32) -> u32 = if self.negative_u16(sign) { a.wrapping_neg() & 0xffff } else { a };
        look_up_u16(table: [u8; 32], index: u32) -> u32 = table[index as usize % 32].into();
        splat_u32(a: u32) -> u32 = a;
        and_u32(a: u32, b: u32) -> u32 = a & b;
        or_u32(a: u32, b: u32) -> u32 = a | b;
        add_u32(a: u32, b: u32) -> u32 = a.wrapping_add(b);
        sub_u32(a: u32, b: u32) -> u32 = a.wrapping_sub(b);
        min_i32(a: u32, b: u32) -> u32 = (a as i32).min(b as i32) as u32;
        max_i32(a: u32, b: u32) -> u32 = (a as i32).max(b as i32) as u32;
        min_u32(a: u32, b: u32) -> u32 = if b == 1 { u32::from(a != 0) } else { a.min(b) };
        shl_u32<const BITS: u32>(a: u32) -> u32 = a << BITS;
        shr_u32<const BITS: u32>(a: u32) -> u32 = a >> BITS;
        shr_by_u32(a: u32, bits: u32) -> u32 = a >> bits;
        sar_u32<const BITS: u32>(a: u32) -> u32 = (a as i32 >> BITS) as u32;
        abs_i32(a: u32) -> u32 = (a as i32).wrapping_abs() as u32;
        greater_i32(a: u32, b: u32) -> bool = a as i32 > b as i32;
        equal_u32(a: u32, b: u32) -> bool = a == b;
        select_u32(mask: bool, a: u32, b: u32) -> u32 = if mask { a } else { b };
        add_f32(a: u32, b: u32) -> u32 = (f32(a) + f32(b)).to_bits();
        is_nan_f32(a: u32) -> bool = f32(a).is_nan();
        i32_to_f32(a: u32) -> u32 = (a as i32 as f32).to_bits();
        f32_to_i32(a: u32) -> u32 = scalar::f32_to_int32(a);
        f64_to_i32(bytes: &[u8]) -> u32 = scalar::f64_to_int32(u64::read(&bytes[..8]));
        unpack(low: u32, high: u32) -> u32 = low | high << 16;
        narrow(a: u32) -> u32 = a;
        narrow_saturated(a: u32) -> u32 = u32::from((a as i32).clamp(i16::MIN.into(), i16::MAX.into()) as u16);
        narrow_signs(a: u32) -> u32 = a >> 16;
        narrow_mask(a: bool) -> bool = a;
        f16_to_f32<const SUBNORMALS: bool>(magnitude: u32) -> u32 = scalar::f16_magnitude::<SUBNORMALS>(magnitude);
        f16_to_i16(codes: u32) -> u32 = scalar::f16_to_int16(codes as u16).into();
        bf16_to_i16(codes: u32, _: u16) -> u32 = scalar::bf16_to_int16(codes as u16).into();
        store_f32_as_f64(a: u32, bytes: &mut [u8]) = f64::from(f32(a)).to_bits().write(bytes);
        store_f32_as_i64<const SIGNED: bool>(a: u32, bytes: &mut [u8]) =
            scalar::f64_to_int64::<SIGNED>(f64::from(f32(a))).write(bytes);
    }

    #[inline(always)]
    fn u64_to_odd_f32<const SIGNED: bool>(self, bytes: &[u8]) -> u32 {
        // The compiler vectorises a load of two words better than one of a long one.
        let [low, high] = self.load_u64(bytes);
        scalar::int64_to_odd_f32::<SIGNED>(u64::from(low) | u64::from(high) << 32)
    }
    #[inline(always)]
    fn round_shift_u16(self, a: u32, below: u32, down: u32, _: [u8; 16]) -> u32 {
        let shift = (down + below) & 15;
        let half = (1 << shift >> 1) - 1;
        (a + half + (a >> shift & 1)) >> shift
    }
}
