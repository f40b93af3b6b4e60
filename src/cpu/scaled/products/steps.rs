//! The loop of products.

use super::decode::Decode;
use super::granules::Granules;
use super::{F32, Loop, ProductLanes, STEP};
use crate::cpu::lanes::Lanes;
use crate::cpu::non_temporal::{fill_order, prefetch};

/// The codes of the products of all 16 numbers with the last scale and zero point that two granules shared.
struct Table<L: ProductLanes> {
    /// The scale and the zero point.
    factors: [f32; 2],
    entries: L::Entries,
}

/// The loop from elements that `D` decodes to the type `TO`.
pub(super) struct Steps<L, D, const HAS_ZERO_POINTS: bool, const TO: usize> {
    pub l: L,
    pub decode: D,
}

impl<L: ProductLanes, D: Decode<L>, const HAS_ZERO_POINTS: bool, const TO: usize> Steps<L, D, HAS_ZERO_POINTS, TO> {
    const READ: usize = STEP * D::BITS / 8;
    const WRITTEN: usize = STEP * if TO == F32 { 4 } else { 2 };

    /// The codes of two granules, which begin at `at`.
    #[inline(always)]
    fn codes(l: L, decode: D, table: &mut Option<Table<L>>, granules: &Granules, at: usize, source: &[u8]) -> L::Codes {
        let (scales, zero_points) = (&granules.scales[at..at + 2], &granules.zero_points[at..at + 2]);
        // Integers are compared without vectors.
        let are_equal = |granules: &[f32]| granules[0].to_bits() == granules[1].to_bits();
        if let (Some(table), Some(numbers)) = (table, decode.numbers::<TO>(granules))
            && are_equal(scales)
            && (!HAS_ZERO_POINTS || are_equal(zero_points))
        {
            let factors = [scales[0], if HAS_ZERO_POINTS { zero_points[0] } else { 0.0 }];
            if table.factors.map(f32::to_bits) != factors.map(f32::to_bits) {
                *table = Self::table(l, numbers, factors);
            }
            return decode.look_up::<TO>(l, table.entries, source);
        }
        let mut numbers = decode.decode(l, source);
        if HAS_ZERO_POINTS {
            numbers = l.subtract(numbers, l.granules(D::PAIRS, zero_points));
        }
        l.encode::<TO>(D::PAIRS, l.multiply(numbers, l.granules(D::PAIRS, scales)))
    }

    #[inline(always)]
    fn table(l: L, numbers: &[u32; 16], factors: [f32; 2]) -> Table<L> {
        let [scale, zero_point] = factors;
        Table { factors, entries: l.entries::<TO>(numbers, HAS_ZERO_POINTS.then_some(zero_point), scale) }
    }

    #[inline(always)]
    fn repeat<const PAST_CACHES: bool>(
        &self,
        granules: &Granules,
        first: usize,
        source: &[u8],
        destination: &mut [u8],
    ) {
        // Copies of these stay in registers. The compiler cannot exclude that a store changes what `self` borrows.
        let &Self { l, decode } = self;
        let ahead = if PAST_CACHES { fill_order().ahead } else { 0 };
        let mut table = decode.numbers::<TO>(granules).map(|numbers| Self::table(l, numbers, [0.0; 2]));
        let whole = destination.len() / Self::WRITTEN;
        l.write_all::<TO, PAST_CACHES>(
            whole,
            #[inline(always)]
            move |step| {
                let source = &source[step * Self::READ..][..Self::READ];
                if PAST_CACHES {
                    prefetch(source, ahead);
                }
                Self::codes(l, decode, &mut table, granules, first + 2 * step, source)
            },
            destination,
        );
        let (source, destination) = (&source[whole * Self::READ..], &mut destination[whole * Self::WRITTEN..]);
        if !destination.is_empty() {
            let (mut last, mut made) = ([0; STEP], [0; 4 * STEP]);
            last[..source.len()].copy_from_slice(source);
            let codes = Self::codes(l, decode, &mut None, granules, first + 2 * whole, &last[..Self::READ]);
            l.write::<TO>(codes, &mut made[..Self::WRITTEN]);
            destination.copy_from_slice(&made[..destination.len()]);
        }
    }
}

impl<L: ProductLanes, D: Decode<L>, const HAS_ZERO_POINTS: bool, const TO: usize> Loop
    for Steps<L, D, HAS_ZERO_POINTS, TO>
{
    fn convert(&self, granules: &Granules, first: usize, source: &[u8], destination: &mut [u8], is_past_caches: bool) {
        self.l.run(
            #[inline(always)]
            || match L::STORES_PAST_CACHES && is_past_caches {
                true => self.repeat::<true>(granules, first, source, destination),
                false => self.repeat::<false>(granules, first, source, destination),
            },
        );
    }
}

/// Writes codes where they lie.
#[inline(always)]
pub(super) fn write_each<L: ProductLanes, const TO: usize>(
    l: L,
    steps: usize,
    mut codes: impl FnMut(usize) -> L::Codes,
    destination: &mut [u8],
) {
    let written = STEP * if TO == F32 { 4 } else { 2 };
    for (step, destination) in destination.chunks_exact_mut(written).take(steps).enumerate() {
        l.write::<TO>(codes(step), destination);
    }
}

/// FLOATs rounded to BFLOAT16 in their upper halves. Neither ∞ nor a canonical NaN changes.
#[inline(always)]
pub(super) fn rounded_to_bf16<L: Lanes>(l: L, numbers: L::U32) -> L::U32 {
    let odd = l.and_u32(l.shr_u32::<16>(numbers), l.splat_u32(1));
    l.add_u32(numbers, l.add_u32(odd, l.splat_u32(0x7fff)))
}
