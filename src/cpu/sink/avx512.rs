//! Rounding of floats to those of at most 8 bits in 16-bit lanes by [`ExponentRule::Smaller`](super::ExponentRule::Smaller), with AVX-512: it
//! shifts each 16-bit lane by a count of its own, and looks lanes up in 64 words.

use bytemuck::cast;

use super::Sink;
use super::round::signed;
use crate::cpu::arch::__m512i;
use crate::cpu::codes::{F16_MAGNITUDE, F64_MAN};
use crate::cpu::lanes::Lanes;
use crate::cpu::lanes::avx512::{Avx512, ZERO, read};
use crate::cpu::source::{Bf16, F32Source, F64Source, Source};
use crate::format::FloatFormat;
use crate::reference::{EncodeFloat, Hub};

/// A source of 16-bit floats: those that its elements are, or its numbers in BFLOAT16, rounded to odd. Those have more than two
/// bits beyond any destination's, so that the second rounding gives what a single one would.
pub(crate) trait Halves: Source<Avx512> {
    fn halves(self, l: Avx512, bytes: &[u8]) -> __m512i;
}

impl Halves for Bf16 {
    #[inline(always)]
    fn halves(self, l: Avx512, bytes: &[u8]) -> __m512i {
        l.load_u16(bytes)
    }
}

impl Halves for F32Source {
    #[inline(always)]
    fn halves(self, l: Avx512, bytes: &[u8]) -> __m512i {
        let odd = l.load_u32(bytes).map(
            #[inline(always)]
            |a| {
                let is_cut = l.wide()._mm512_test_epi32_mask(a, cast([0xffffu32; 16]));
                l.wide()._mm512_mask_or_epi32(a, is_cut, a, cast([1u32 << 16; 16]))
            },
        );
        l.upper_halves(odd)
    }
}

impl Halves for F64Source {
    #[inline(always)]
    fn halves(self, l: Avx512, bytes: &[u8]) -> __m512i {
        /// Bits of the significand that BFLOAT16 does not have.
        const CUT: u32 = F64_MAN - 7;
        let mut four = [[0u8; 32]; 4];
        for i in 0..4 {
            let a = read(bytes, 64 * i);
            let is_cut = l.wide()._mm512_test_epi64_mask(a, cast([(1u64 << CUT) - 1; 8]));
            let odd = l.wide()._mm512_mask_or_epi64(a, is_cut, a, cast([1u64 << CUT; 8]));
            // What is too large becomes the greatest number.
            four[i] = cast(l.wide()._mm512_cvt_roundpd_ps::<ZERO>(cast(odd)));
        }
        l.upper_halves([cast([four[0], four[1]]), cast([four[2], four[3]])])
    }
}

/// Rounding to `BITS` bits by the [`SignRule`](crate::cpu::sign_rule::SignRule) `SIGNS`. Numbers are moved up by the bits that a
/// lane has to spare, so that no bit of a subnormal is lost when it moves down.
///
/// It takes 0.75 to 0.8 of the time of [`RoundF16`](super::RoundF16) in the caches.
#[derive(Clone, Copy)]
pub(crate) struct RoundShifted<const BITS: usize, const SIGNS: u8> {
    to: EncodeFloat,
    man: u32,
    infinity: u16,
    /// The magnitude whose code everything out of range gets.
    limit: u16,
    /// The difference of the biases, in the place of the exponent.
    rebias: u16,
    /// By how many bits numbers are moved up, and how many their codes then have too many.
    up: u32,
    down: u32,
}

impl<const BITS: usize, const SIGNS: u8> RoundShifted<BITS, SIGNS> {
    /// `None` if a lane has too few spare bits. The least numbers that do not become zero move down by `to.man + 1` bits, and none
    /// of theirs may be lost.
    pub(crate) fn new(from: &FloatFormat, to: EncodeFloat) -> Option<Self> {
        let man = from.man_bits;
        let narrowed = man - to.man;
        let rebias = ((from.bias - to.bias) << man) as u16;
        // With the destination's bias, `limit` still fits 16 bits after moving up.
        let up = to.overflow.leading_zeros().checked_sub(16 + narrowed)?;
        (up > to.man).then_some(Self {
            to,
            man,
            infinity: from.top() as u16,
            limit: (to.overflow << narrowed) as u16 + rebias,
            rebias,
            up,
            down: narrowed + up,
        })
    }
}

impl<S: Halves, const BITS: usize, const SIGNS: u8> Sink<Avx512, S> for RoundShifted<BITS, SIGNS> {
    const BITS: usize = BITS;

    #[inline(always)]
    fn codes(self, l: Avx512, source: S, bytes: &[u8]) -> __m512i {
        let floats = source.halves(l, bytes);
        let magnitude = l.and_u16(floats, l.splat_u16(F16_MAGNITUDE));
        let number = l.min_u16(magnitude, l.splat_u16(self.limit));
        // 1. All numbers get the destination's bias. One that becomes subnormal first gets the exponent of the least normal number,
        //    so that its leading bit is the lowest of the exponent field.
        let exponent = l.and_u16(number, l.splat_u16(self.infinity));
        let raise = l.sub_or_zero_u16(l.splat_u16(self.rebias + (1 << self.man)), exponent);
        let number = l.sub_or_zero_u16(l.add_u16(number, raise), l.splat_u16(self.rebias));
        // 2. It moves down again, by as many bits as its exponent was raised.
        let below = l.shr_u16(raise, self.man);
        let number = l.0.avx512bw._mm512_srlv_epi16(l.shl_u16(number, self.up), below);
        // 3. To nearest, ties to even.
        let odd = l.and_u16(l.shr_u16(number, self.down), l.splat_u16(1));
        let half = l.add_u16(odd, l.splat_u16((1 << (self.down - 1)) - 1));
        let code = l.shr_u16(l.add_u16(number, half), self.down);
        let is_nan = l.greater_u16(magnitude, l.splat_u16(self.infinity));
        signed::<_, BITS, SIGNS>(l, code, floats, is_nan, &self.to)
    }
}

/// Rounding to 4 bits by a look-up, by the rule `SIGNS`. The table has an entry for each number with one significand bit more than
/// the destination, and one for all numbers between it and the next.
///
/// It takes 0.6 to 0.65 of the time of [`RoundF16`](super::RoundF16) in the caches.
#[derive(Clone, Copy)]
pub(crate) struct LookUpF16<const SIGNS: u8> {
    to: EncodeFloat,
    infinity: u16,
    /// Half of the destination's least subnormal: the first number of the table.
    least: u16,
    /// The last one. All larger magnitudes have its code.
    greatest: u16,
    /// The bits that are not looked up.
    down: u32,
    table: [[u16; 32]; 2],
}

impl<const SIGNS: u8> LookUpF16<SIGNS> {
    /// `None` if numbers beyond the table do not all get the largest number's code.
    pub(crate) fn new(from: &FloatFormat, to: EncodeFloat) -> Option<Self> {
        let to = EncodeFloat { hub: Hub::new(from), ..to };
        let down = from.man_bits - to.man - 1;
        let least = (from.bias - to.bias - to.man) << from.man_bits;
        let greatest = least + (31 << down);
        let code = |index: usize| to.encode(least + ((index as u32 / 2) << down) + (index as u32 % 2));
        let table = [0, 32].map(|first| std::array::from_fn(|index| code(first + index) as u16));
        (code(62) == to.max && to.overflow == to.max).then_some(Self {
            to,
            infinity: from.top() as u16,
            least: least as u16,
            greatest: greatest as u16,
            down,
            table,
        })
    }
}

impl<S: Halves, const SIGNS: u8> Sink<Avx512, S> for LookUpF16<SIGNS> {
    const BITS: usize = 4;

    #[inline(always)]
    fn codes(self, l: Avx512, source: S, bytes: &[u8]) -> __m512i {
        let floats = source.halves(l, bytes);
        let magnitude = l.and_u16(floats, l.splat_u16(F16_MAGNITUDE));
        let place = l.sub_or_zero_u16(l.min_u16(magnitude, l.splat_u16(self.greatest)), l.splat_u16(self.least));
        // The index is even for a number of the table and odd for one between two: the sum of its place rounded down and up.
        let up = l.add_u16(place, l.splat_u16((1 << self.down) - 1));
        let index = l.add_u16(l.shr_u16(place, self.down), l.shr_u16(up, self.down));
        let [first, second] = self.table;
        let code = l.0.avx512bw._mm512_permutex2var_epi16(cast(first), index, cast(second));
        let is_nan = l.greater_u16(magnitude, l.splat_u16(self.infinity));
        signed::<_, 4, SIGNS>(l, code, floats, is_nan, &self.to)
    }
}
