//! The loop of products.

use super::decode::Decode;
use super::piece::{Piece, Unit};
use super::{F32, Loop, ProductLanes, STEP};
use crate::cpu::lanes::Lanes;
use crate::cpu::non_temporal::{fill_order, prefetch};

/// The loop from elements that `D` decodes to the type `TO`.
pub(super) struct Steps<L, D, const HAS_ZERO_POINTS: bool, const TO: usize> {
    pub l: L,
    pub decode: D,
}

impl<L: ProductLanes, D: Decode<L>, const HAS_ZERO_POINTS: bool, const TO: usize> Steps<L, D, HAS_ZERO_POINTS, TO> {
    const READ: usize = STEP * D::BITS / 8;
    const WRITTEN: usize = STEP * if TO == F32 { 4 } else { 2 };

    /// The codes of products with these scales and zero points.
    #[inline(always)]
    fn codes(l: L, decode: D, [scales, zero_points]: [L::Numbers; 2], source: &[u8]) -> L::Codes {
        let mut numbers = decode.decode(l, source);
        if HAS_ZERO_POINTS {
            numbers = l.subtract(numbers, zero_points);
        }
        l.encode::<TO>(D::PAIRS, l.multiply(numbers, scales))
    }

    /// Casts whole steps.
    #[inline(always)]
    fn repeat<const JOINS: bool, const PAST_CACHES: bool>(&self, whole: Whole<'_>, destination: &mut [u8]) {
        let &Self { l, decode } = self;
        let codes = Codes::<L, D, HAS_ZERO_POINTS, TO, PAST_CACHES> { l, decode, whole };
        match JOINS {
            true => l.write_joined::<TO, PAST_CACHES>(codes, destination),
            false => write_each::<_, TO>(l, codes, destination),
        }
    }

    /// Casts less than a step, from element `at` of the piece on.
    fn convert_end(&self, piece: &Piece<'_>, at: usize, source: &[u8], destination: &mut [u8]) {
        let &Self { l, decode } = self;
        let (mut elements, mut made) = ([0; STEP], [0; 4 * STEP]);
        elements[..source.len()].copy_from_slice(source);
        l.run(
            #[inline(always)]
            || {
                let [scales, zero_points] = match piece.unit {
                    Unit::Block => {
                        let [scale, zero_point] = piece.of_block(piece.block(at));
                        [[scale, scale], [zero_point, zero_point]]
                    }
                    _ => {
                        let [scales, zero_points] = piece.of_granules(at);
                        [scales[0], zero_points[0]]
                    }
                };
                let factors = [l.granules(D::PAIRS, &scales), l.granules(D::PAIRS, &zero_points)];
                l.write::<TO>(Self::codes(l, decode, factors, &elements[..Self::READ]), &mut made[..Self::WRITTEN]);
            },
        );
        destination.copy_from_slice(&made[..destination.len()]);
    }
}

impl<L: ProductLanes, D: Decode<L>, const HAS_ZERO_POINTS: bool, const TO: usize> Loop
    for Steps<L, D, HAS_ZERO_POINTS, TO>
{
    fn convert(&self, piece: &Piece<'_>, source: &[u8], destination: &mut [u8], is_past_caches: bool) {
        let steps = destination.len() / Self::WRITTEN;
        let (source, last) = source.split_at(steps * Self::READ);
        let (destination, end) = destination.split_at_mut(steps * Self::WRITTEN);
        let joins = self.l.joins::<TO>(destination, is_past_caches);
        let whole = Whole { piece, source };
        self.l.run(
            #[inline(always)]
            || match [joins, is_past_caches] {
                [true, true] => self.repeat::<true, true>(whole, destination),
                [true, false] if L::JOINS_IN_CACHES => self.repeat::<true, false>(whole, destination),
                _ => self.repeat::<false, false>(whole, destination),
            },
        );
        if !end.is_empty() {
            self.convert_end(piece, steps * STEP, last, end);
        }
    }
}

/// Makes the codes of a number of steps.
pub(in crate::cpu::scaled) trait Make<L: ProductLanes> {
    /// Hands the codes of each step to `put`.
    fn make(self, put: impl FnMut(L::Codes));
}

/// The source of the whole steps of a piece.
struct Whole<'a> {
    piece: &'a Piece<'a>,
    source: &'a [u8],
}

/// Makes the codes of whole steps, and prefetches their source if `PAST_CACHES`.
struct Codes<'a, L, D, const HAS_ZERO_POINTS: bool, const TO: usize, const PAST_CACHES: bool> {
    l: L,
    decode: D,
    whole: Whole<'a>,
}

impl<L: ProductLanes, D: Decode<L>, const HAS_ZERO_POINTS: bool, const TO: usize, const PAST_CACHES: bool> Make<L>
    for Codes<'_, L, D, HAS_ZERO_POINTS, TO, PAST_CACHES>
{
    #[inline(always)]
    fn make(self, mut put: impl FnMut(L::Codes)) {
        // Copies of these stay in registers. The compiler cannot exclude that a store changes what `self` borrows.
        let Self { l, decode, whole: Whole { piece, mut source } } = self;
        let ahead = if PAST_CACHES { fill_order().ahead } else { 0 };
        let read = Steps::<L, D, HAS_ZERO_POINTS, TO>::READ;
        let numbers = decode.numbers::<TO>(piece);
        if piece.unit != Unit::Block {
            let [scales, zero_points] = piece.of_granules(0);
            let steps = source.chunks_exact(read).zip(scales).zip(zero_points);
            if let Some(numbers) = numbers
                && piece.unit == Unit::Step
            {
                for ((source, scales), zero_points) in steps {
                    if PAST_CACHES {
                        prefetch(source, ahead);
                    }
                    let entries = l.entries::<TO>(numbers, HAS_ZERO_POINTS.then_some(zero_points[0]), scales[0]);
                    put(decode.look_up::<TO>(l, entries, source));
                }
            } else {
                for ((source, scales), zero_points) in steps {
                    if PAST_CACHES {
                        prefetch(source, ahead);
                    }
                    let factors = [l.granules(D::PAIRS, scales), l.granules(D::PAIRS, zero_points)];
                    put(Steps::<L, D, HAS_ZERO_POINTS, TO>::codes(l, decode, factors, source));
                }
            }
            return;
        }
        let mut block = 0;
        for segment in piece.rows.segments(piece.at, source.len() / read * STEP) {
            let (mut in_block, mut left) = (piece.rows.block - segment.before, segment.elements);
            while left > 0 {
                let elements = in_block.min(left);
                let (of_block, rest) = source.split_at(elements / STEP * read);
                let [scale, zero_point] = piece.of_block(block);
                if let Some(numbers) = numbers {
                    let entries = l.entries::<TO>(numbers, HAS_ZERO_POINTS.then_some(zero_point), scale);
                    for source in of_block.chunks_exact(read) {
                        if PAST_CACHES {
                            prefetch(source, ahead);
                        }
                        put(decode.look_up::<TO>(l, entries, source));
                    }
                } else {
                    let factors =
                        [l.granules(D::PAIRS, &[scale, scale]), l.granules(D::PAIRS, &[zero_point, zero_point])];
                    for source in of_block.chunks_exact(read) {
                        if PAST_CACHES {
                            prefetch(source, ahead);
                        }
                        put(Steps::<L, D, HAS_ZERO_POINTS, TO>::codes(l, decode, factors, source));
                    }
                }
                (source, left, block, in_block) = (rest, left - elements, block + 1, piece.rows.block);
            }
        }
    }
}

/// Writes codes where they lie.
#[inline(always)]
fn write_each<L: ProductLanes, const TO: usize>(l: L, codes: impl Make<L>, destination: &mut [u8]) {
    let mut steps = destination.chunks_exact_mut(STEP * if TO == F32 { 4 } else { 2 });
    codes.make(
        #[inline(always)]
        |codes| {
            if let Some(step) = steps.next() {
                l.write::<TO>(codes, step);
            }
        },
    );
}

/// FLOATs rounded to BFLOAT16 in their upper halves. Neither ∞ nor a canonical NaN changes.
#[inline(always)]
pub(super) fn rounded_to_bf16<L: Lanes>(l: L, numbers: L::U32) -> L::U32 {
    let odd = l.and_u32(l.shr_u32::<16>(numbers), l.splat_u32(1));
    l.add_u32(numbers, l.add_u32(odd, l.splat_u32(0x7fff)))
}
