//! The conversions between FLOAT16 and binary32 of every aarch64 processor. Rust 1.89 has no stable functions for them.

use core::arch::aarch64::{uint16x8_t, uint32x4_t};
use core::arch::asm;

use fearless_simd::Neon;

/// Rounds to nearest, ties to even. NaN is made quiet and keeps its sign and the upper bits of its payload.
#[inline(always)]
#[allow(unsafe_code, reason = "only assembly has these instructions")]
pub(crate) fn narrow(_: Neon, [low, high]: [uint32x4_t; 2]) -> uint16x8_t {
    let codes: uint16x8_t;
    // SAFETY: the instructions read and write vector registers only, and a `Neon` exists only if the processor has
    // them.
    unsafe {
        asm!(
            "fcvtn {0:v}.4h, {1:v}.4s",
            "fcvtn2 {0:v}.8h, {2:v}.4s",
            out(vreg) codes,
            in(vreg) low,
            in(vreg) high,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    codes
}

/// NaN is made quiet and keeps its sign and its payload.
#[inline(always)]
#[allow(unsafe_code, reason = "only assembly has these instructions")]
pub(crate) fn widen(_: Neon, codes: uint16x8_t) -> [uint32x4_t; 2] {
    let (low, high): (uint32x4_t, uint32x4_t);
    // SAFETY: as in `narrow`. Two blocks let the compiler schedule the instructions apart.
    unsafe {
        asm!(
            "fcvtl {0:v}.4s, {1:v}.4h",
            lateout(vreg) low,
            in(vreg) codes,
            options(pure, nomem, nostack, preserves_flags),
        );
        asm!(
            "fcvtl2 {0:v}.4s, {1:v}.8h",
            lateout(vreg) high,
            in(vreg) codes,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    [low, high]
}
