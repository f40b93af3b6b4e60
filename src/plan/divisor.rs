//! Divisors by which kernels divide with a multiplication.

use zerocopy::{FromBytes, Immutable, IntoBytes};

/// `Divisor` of `shaders/entry/view_params.wgsl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, FromBytes, Immutable, IntoBytes)]
#[repr(C)]
pub(crate) struct Divisor {
    pub number: u32,
    factor: u32,
    shift: u32,
    padding: u32,
}

impl Divisor {
    /// The factor is rounded up, so it exceeds the exact quotient 2^(31 + shift) / number by less than 1. Since number
    /// is at most 2^shift, this is small enough for exact quotients of numbers below 2³¹.
    pub(super) fn new(number: u64) -> Self {
        let number = number.clamp(1, 1 << 31) as u32;
        let shift = number.next_power_of_two().trailing_zeros();
        Self { number, factor: (1u64 << (31 + shift)).div_ceil(number.into()) as u32, shift, padding: 0 }
    }

    /// `divided` of `shaders/entry/view_params.wgsl`.
    #[cfg(test)]
    pub(super) fn divide(&self, dividend: u32) -> u32 {
        ((u64::from(dividend << 1) * u64::from(self.factor)) >> 32) as u32 >> self.shift
    }
}
