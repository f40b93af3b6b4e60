//! Products with AVX2. Numbers are two groups of two vectors.

use bytemuck::cast;
use zerocopy::FromBytes;

use super::decode::{Float8, Nibbles};
use super::steps::{Make, rounded_to_bf16};
use super::{BF16, BF16_NAN, F16, F32, ProductLanes};
use crate::cpu::codes::{F16_MAGNITUDE, F16_NAN};
use crate::cpu::lanes::avx2::Avx2;
use crate::cpu::lanes::bytes::ByteLanes;
use crate::cpu::lanes::{Lanes, both};
use crate::cpu::non_temporal::{HalfLine, LINE, store_half};
use crate::cpu::pack::{array, load, read, splat_f32, splat_u8, splat_u16, splat_u32, twice, write};
use crate::cpu::sink::convert_to_f16::ConvertsToF16;
use crate::cpu::x86::{__m128i, __m256, __m256i, count};

/// The numbers of 16 elements.
type Group = [__m256i; 2];

impl ProductLanes for Avx2 {
    type Numbers = [Group; 2];
    type Codes = [Group; 2];
    /// The low and the high bytes of codes of 16 bits, in both halves.
    type Entries = [__m256i; 2];
    const LOOKS_UP_F32: bool = false;
    const JOINS_IN_CACHES: bool = false;

    #[inline(always)]
    fn int8<const SIGNED: bool>(self, bytes: &[u8]) -> [Group; 2] {
        let groups = [bytes, &bytes[16..]];
        both!(|groups| {
            let halves = [[array::<8>(groups), [0; 8]], [array::<8>(&groups[8..]), [0; 8]]];
            self.i32_to_f32(both!(|halves| match SIGNED {
                true => self.0._mm256_cvtepi8_epi32(cast(halves)),
                false => self.0._mm256_cvtepu8_epi32(cast(halves)),
            }))
        })
    }

    #[inline(always)]
    fn nibbles(self, table: &Nibbles, bytes: &[u8]) -> [Group; 2] {
        let codes = self.spread_by_8(load::<4>(self.0, bytes));
        let [low, high] = table.upper_halves;
        let words = self.interleaved_u8(self.look_up_u8(low, codes), self.look_up_u8(high, codes));
        both!(|words| {
            [self.0._mm256_sll_epi32(words, count(16)), self.0._mm256_and_si256(words, splat_u32(0xffff_0000))]
        })
    }

    #[inline(always)]
    fn entries<const TO: usize>(self, numbers: &[u32; 16], zero_point: Option<f32>, scale: f32) -> [__m256i; 2] {
        let int = self.0;
        let [a, b, c, d]: [[u32; 4]; 4] = cast(*numbers);
        // Packing interleaves the halves of these vectors.
        let numbers: [__m256; 2] = [cast([a, c]), cast([b, d])];
        let products: Group = both!(|numbers| {
            let numbers = match zero_point {
                Some(zero_point) => int._mm256_sub_ps(numbers, cast(splat_f32(zero_point))),
                None => numbers,
            };
            cast(int._mm256_mul_ps(numbers, cast(splat_f32(scale))))
        });
        let words = match TO {
            F16 => self.f16_codes(products),
            _ => self.narrow(self.shr_u32::<16>(rounded_to_bf16(self, products))),
        };
        // The low bytes of eight words, then their high bytes.
        let apart = twice([0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15]);
        let apart = int._mm256_shuffle_epi8(words, apart);
        [int._mm256_permute4x64_epi64_0202(apart), int._mm256_permute4x64_epi64_1313(apart)]
    }

    #[inline(always)]
    fn look_up<const TO: usize>(self, [low, high]: [__m256i; 2], bytes: &[u8]) -> [Group; 2] {
        let codes = self.spread_by_8(load::<4>(self.0, bytes));
        let [low, high] = [self.0._mm256_shuffle_epi8(low, codes), self.0._mm256_shuffle_epi8(high, codes)];
        let codes = self.interleaved_u8(low, high);
        both!(|codes| [codes, codes])
    }

    #[inline(always)]
    fn look_up_float8(self, [low, high]: [__m256i; 2], bytes: &[u8]) -> [Group; 2] {
        let int = self.0;
        let codes = self.spread_by_8(read(bytes, 0));
        let magnitudes = int._mm256_and_si256(codes, splat_u8(0x7f));
        let is_nan = int._mm256_cmpeq_epi8(magnitudes, splat_u8(0x7f));
        // The entries from 8 on are those of the least exponent. From there on, exponents are added. The entry of NaN is 0.
        let index = int._mm256_or_si256(magnitudes, int._mm256_min_epu8(magnitudes, splat_u8(8)));
        let index = int._mm256_or_si256(index, is_nan);
        let least = self.interleaved_u8(int._mm256_shuffle_epi8(low, index), int._mm256_shuffle_epi8(high, index));
        // The high and the low byte of what is added: the sign and the exponent, or NaN.
        let exponent = int._mm256_and_si256(int._mm256_subs_epu8(magnitudes, splat_u8(8)), splat_u8(0x78));
        let high = int._mm256_and_si256(int._mm256_srl_epi16(exponent, count(4)), splat_u8(0x07));
        let kept = int._mm256_or_si256(is_nan, splat_u8(0x80));
        let high = int._mm256_or_si256(high, int._mm256_and_si256(codes, kept));
        let low = int._mm256_and_si256(int._mm256_sll_epi16(exponent, count(4)), splat_u8(0x80));
        let low = int._mm256_or_si256(low, int._mm256_and_si256(is_nan, splat_u8(BF16_NAN as u8)));
        let above = self.interleaved_u8(low, high);
        both!(|least, above| {
            let codes = self.add_u16(least, above);
            [codes, codes]
        })
    }

    #[inline(always)]
    fn float8(self, format: Float8, bytes: &[u8]) -> [Group; 2] {
        let int = self.0;
        let odd = read(bytes, 0);
        let codes = [int._mm256_sll_epi16(odd, count(8)), odd];
        let [even, odd]: [[__m128i; 2]; 2] = both!(|codes| {
            let codes = self.and_u16(int._mm256_sra_epi16(codes, count(format.down)), splat_u16(format.mask));
            let is_nan = self.equal_u16(self.and_u16(codes, splat_u16(F16_MAGNITUDE)), splat_u16(format.nan));
            let above = splat_u16(F16_NAN.wrapping_sub(format.nan));
            cast(self.add_u16(codes, self.and_u16(is_nan, above)))
        });
        both!(|even, odd| [cast(int._mm256_cvtph_ps(even)), cast(int._mm256_cvtph_ps(odd))])
    }

    #[inline(always)]
    fn granules(self, _: bool, granules: &[f32; 2]) -> [Group; 2] {
        let [a, b] = [splat_f32(granules[0]), splat_f32(granules[1])];
        [[a, a], [b, b]]
    }

    #[inline(always)]
    fn subtract(self, a: [Group; 2], b: [Group; 2]) -> [Group; 2] {
        both!(|a, b| both!(|a, b| cast(self.0._mm256_sub_ps(cast(a), cast(b)))))
    }

    #[inline(always)]
    fn multiply(self, a: [Group; 2], b: [Group; 2]) -> [Group; 2] {
        both!(|a, b| both!(|a, b| cast(self.0._mm256_mul_ps(cast(a), cast(b)))))
    }

    #[inline(always)]
    fn encode<const TO: usize>(self, pairs: bool, numbers: [Group; 2]) -> [Group; 2] {
        let int = self.0;
        both!(|numbers| {
            let [a, b] = numbers;
            match TO {
                BF16 => {
                    let [a, b] = rounded_to_bf16(self, [a, b]);
                    let codes = match pairs {
                        true => int._mm256_blend_epi16_odd(int._mm256_srl_epi32(a, count(16)), b),
                        false => in_order(self, self.narrow(self.shr_u32::<16>([a, b]))),
                    };
                    [codes, codes]
                }
                F16 => {
                    let codes = self.f16_codes([a, b]);
                    let in_pairs = twice([0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15]);
                    let codes = if pairs { int._mm256_shuffle_epi8(codes, in_pairs) } else { in_order(self, codes) };
                    [codes, codes]
                }
                _ if pairs => {
                    let (low, high) = (int._mm256_unpacklo_epi32(a, b), int._mm256_unpackhi_epi32(a, b));
                    [int._mm256_permute2x128_si256_low(low, high), int._mm256_permute2x128_si256_high(low, high)]
                }
                _ => [a, b],
            }
        })
    }

    #[inline(always)]
    fn write<const TO: usize>(self, codes: [Group; 2], bytes: &mut [u8]) {
        write(bytes, 0, codes[0][0]);
        if TO == F32 {
            write(bytes, 32, codes[0][1]);
            write(bytes, 64, codes[1][0]);
            write(bytes, 96, codes[1][1]);
        } else {
            write(bytes, 32, codes[1][0]);
        }
    }

    #[inline(always)]
    fn joins<const TO: usize>(self, destination: &[u8], is_past_caches: bool) -> bool {
        is_past_caches && destination.as_ptr().addr().is_multiple_of(4) && destination.len() >= VECTOR
    }

    #[inline(always)]
    fn write_joined<const TO: usize, const PAST_CACHES: bool>(self, codes: impl Make<Self>, destination: &mut [u8]) {
        let address = destination.as_ptr().addr();
        let before_halves = address.next_multiple_of(VECTOR) - address;
        let (start, rest) = destination.split_at_mut(before_halves);
        let (in_halves, end) = rest.split_at_mut((rest.len() - 1) / VECTOR * VECTOR);
        let Ok(halves) = <[HalfLine]>::mut_from_bytes(in_halves) else { return };
        let (places, of_next) = places(before_halves / 4);
        let (places, of_next) = (cast(places), cast(of_next));
        // The end of a vector before its beginning.
        let (mut halves, mut first, mut before) = (halves.iter_mut(), None, cast([0; 8]));
        let mut put = |made| {
            let made = self.0._mm256_permutevar8x32_epi32(made, places);
            let joined: [u8; VECTOR] = cast(self.0._mm256_blendv_epi8(before, made, of_next));
            before = made;
            if first.is_none() {
                first = Some(joined);
            } else if let Some(place) = halves.next() {
                match PAST_CACHES {
                    true => store_half(self.0, joined, place),
                    false => place.0 = joined,
                }
            }
        };
        codes.make(
            #[inline(always)]
            |codes| {
                for codes in codes {
                    put(codes[0]);
                    if TO == F32 {
                        put(codes[1]);
                    }
                }
            },
        );
        if let Some(first) = first {
            start.copy_from_slice(&first[VECTOR - before_halves..]);
        }
        end.copy_from_slice(&cast::<_, [u8; VECTOR]>(before)[..end.len()]);
    }
}

/// The bytes of a vector: half a line.
const VECTOR: usize = LINE / 2;

/// The places of the eight words of a vector that begins at word `first` of two vectors, and a mask of those in the second
/// one.
fn places(first: usize) -> ([u32; 8], [u32; 8]) {
    let (mut places, mut of_next) = ([0; 8], [0; 8]);
    for i in 0..8 {
        places[i] = (first + i) as u32;
        of_next[i] = if first + i < 8 { 0 } else { u32::MAX };
    }
    (places, of_next)
}

/// Restores the order of the elements after two vectors were narrowed to one.
#[inline(always)]
fn in_order(l: Avx2, codes: __m256i) -> __m256i {
    l.0._mm256_permute4x64_epi64_0213(codes)
}
