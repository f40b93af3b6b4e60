//! Products with AVX-512. Numbers are two vectors.

use bytemuck::cast;
use zerocopy::{FromBytes, IntoBytes};

use super::decode::{Float8, Nibbles};
use super::steps::{Make, rounded_to_bf16};
use super::{BF16, BF16_NAN, F16, F32, ProductLanes};
use crate::cpu::codes::{F16_MAGNITUDE, F16_NAN};
use crate::cpu::lanes::avx512::{Avx512, splat_u16, splat_u32, splat_u64, write};
use crate::cpu::lanes::{Lanes, both};
use crate::cpu::non_temporal::{LINE, Line};
use crate::cpu::pack::array;
use crate::cpu::sink::convert_to_f16::ConvertsToF16;
use crate::cpu::table::register::interleaved32;
use crate::cpu::x86::{__m256i, __m512i, count};

impl ProductLanes for Avx512 {
    type Numbers = [__m512i; 2];
    type Codes = [__m512i; 2];
    type Entries = __m512i;
    const LOOKS_UP_F32: bool = true;
    const JOINS_IN_CACHES: bool = true;

    #[inline(always)]
    fn int8<const SIGNED: bool>(self, bytes: &[u8]) -> [__m512i; 2] {
        let halves = [array::<16>(bytes), array::<16>(&bytes[16..])];
        self.i32_to_f32(both!(|halves| match SIGNED {
            true => self.0._mm512_cvtepi8_epi32(cast(halves)),
            false => self.0._mm512_cvtepu8_epi32(cast(halves)),
        }))
    }

    #[inline(always)]
    fn nibbles(self, table: &Nibbles, bytes: &[u8]) -> [__m512i; 2] {
        looked_up(self, cast(table.numbers), bytes)
    }

    #[inline(always)]
    fn entries<const TO: usize>(self, numbers: &[u32; 16], zero_point: Option<f32>, scale: f32) -> __m512i {
        let mut numbers = cast(*numbers);
        if let Some(zero_point) = zero_point {
            numbers = self.0._mm512_sub_ps(numbers, cast(splat_f32(zero_point)));
        }
        let products = self.0._mm512_mul_ps(numbers, cast(splat_f32(scale)));
        // Each code of 16 bits in both halves of a word.
        let [codes, shifted] = match TO {
            F32 => return cast(products),
            F16 => {
                let codes = self.0._mm512_cvtepu16_epi32(self.0._mm512_cvtps_ph_nearest(products));
                [codes, self.0._mm512_sll_epi32(codes, count(16))]
            }
            _ => {
                let [codes, _] = rounded_to_bf16(self, [cast(products); 2]);
                [self.0._mm512_and_si512(codes, splat_u32(0xffff_0000)), self.0._mm512_srl_epi32(codes, count(16))]
            }
        };
        self.0._mm512_or_si512(codes, shifted)
    }

    #[inline(always)]
    fn look_up<const TO: usize>(self, entries: __m512i, bytes: &[u8]) -> [__m512i; 2] {
        let [even, odd] = looked_up(self, entries, bytes);
        if TO == F32 { interleaved32(self.0, even, odd) } else { both_of(joined(self, even, odd)) }
    }

    #[inline(always)]
    fn look_up_float8(self, entries: __m512i, bytes: &[u8]) -> [__m512i; 2] {
        let codes = self.load_u8(bytes);
        // An entry has two words.
        let twice = self.and_u16(self.add_u16(codes, codes), splat_u16(0xfe));
        // The entries from 8 on are those of the least exponent. From there on, exponents are added.
        let index = self.or_u16(twice, self.min_u16(twice, splat_u16(16)));
        let least = self.0._mm512_permutexvar_epi16(index, entries);
        let exponent = self.and_u16(self.sub_or_zero_u16(twice, splat_u16(16)), splat_u16(0xf0));
        let sign = self.and_u16(self.shl_u16(codes, 8), splat_u16(0x8000));
        let products = self.xor_u16(self.add_u16(least, self.shl_u16(exponent, 3)), sign);
        let nan = self.or_u16(sign, splat_u16(BF16_NAN));
        both_of(self.select_u16(self.equal_u16(twice, splat_u16(0xfe)), nan, products))
    }

    #[inline(always)]
    fn float8(self, format: Float8, bytes: &[u8]) -> [__m512i; 2] {
        let odd: __m256i = cast(array::<32>(bytes));
        let codes = cast([self.0.v3._mm256_sll_epi16(odd, count(8)), odd]);
        let codes = self.0._mm512_srav_epi16(codes, splat_u16(format.down as u16));
        let codes = self.and_u16(codes, splat_u16(format.mask));
        let is_nan = self.equal_u16(self.and_u16(codes, splat_u16(F16_MAGNITUDE)), splat_u16(format.nan));
        let below = splat_u16(format.nan.wrapping_sub(F16_NAN));
        self.f16_to_f32::<true>(self.0._mm512_mask_sub_epi16(codes, is_nan, codes, below))
    }

    #[inline(always)]
    fn granules(self, pairs: bool, granules: &[f32; 2]) -> [__m512i; 2] {
        if !pairs {
            return [splat_f32(granules[0]), splat_f32(granules[1])];
        }
        let pair: u64 = cast(*granules);
        let places = cast([[0u32; 8], [1; 8]]);
        both_of(self.0._mm512_permutexvar_epi32(places, splat_u64(pair)))
    }

    #[inline(always)]
    fn subtract(self, a: [__m512i; 2], b: [__m512i; 2]) -> [__m512i; 2] {
        both!(|a, b| cast(self.0._mm512_sub_ps(cast(a), cast(b))))
    }

    #[inline(always)]
    fn multiply(self, a: [__m512i; 2], b: [__m512i; 2]) -> [__m512i; 2] {
        both!(|a, b| cast(self.0._mm512_mul_ps(cast(a), cast(b))))
    }

    #[inline(always)]
    fn encode<const TO: usize>(self, pairs: bool, numbers: [__m512i; 2]) -> [__m512i; 2] {
        let codes = match TO {
            BF16 => {
                let [a, b] = rounded_to_bf16(self, numbers);
                match pairs {
                    true => joined(self, self.0._mm512_srl_epi32(a, count(16)), b),
                    false => self.upper_halves([a, b]),
                }
            }
            F16 => {
                let codes = self.f16_codes(numbers);
                if pairs { self.0._mm512_permutexvar_epi16(cast(IN_PAIRS), codes) } else { codes }
            }
            _ if pairs => return interleaved32(self.0, numbers[0], numbers[1]),
            _ => return numbers,
        };
        both_of(codes)
    }

    #[inline(always)]
    fn write<const TO: usize>(self, codes: [__m512i; 2], bytes: &mut [u8]) {
        write(bytes, 0, codes[0]);
        if TO == F32 {
            write(bytes, 64, codes[1]);
        }
    }

    /// Writing vectors across lines takes longer than joining the end of one with the beginning of the next. In the caches
    /// this pays for FLOAT only.
    #[inline(always)]
    fn joins<const TO: usize>(self, destination: &[u8], is_past_caches: bool) -> bool {
        let address = destination.as_ptr().addr();
        let pays = is_past_caches || TO == F32 && !address.is_multiple_of(LINE);
        pays && address.is_multiple_of(4) && destination.len() >= LINE
    }

    #[inline(always)]
    fn write_joined<const TO: usize, const PAST_CACHES: bool>(self, codes: impl Make<Self>, destination: &mut [u8]) {
        let address = destination.as_ptr().addr();
        let before_lines = address.next_multiple_of(LINE) - address;
        let (start, rest) = destination.split_at_mut(before_lines);
        let (in_lines, end) = rest.split_at_mut((rest.len() - 1) / LINE * LINE);
        let Ok(lines) = <[Line]>::mut_from_bytes(in_lines) else { return };
        let places = places(before_lines / 4);
        let line = |a, b| -> Line {
            zerocopy::transmute!(cast::<_, [u8; LINE]>(self.0._mm512_permutex2var_epi32(a, places, b)))
        };
        let (mut lines, mut first, mut before) = (lines.iter_mut(), None, cast([0; 16]));
        let mut put = |made| {
            let joined = line(before, made);
            before = made;
            if first.is_none() {
                first = Some(joined);
            } else if let Some(place) = lines.next() {
                match PAST_CACHES {
                    true => self.store_past_caches(&[joined], std::slice::from_mut(place)),
                    false => *place = joined,
                }
            }
        };
        codes.make(
            #[inline(always)]
            |codes| {
                put(codes[0]);
                if TO == F32 {
                    put(codes[1]);
                }
            },
        );
        if let Some(first) = first {
            start.copy_from_slice(&first.as_bytes()[LINE - before_lines..]);
        }
        end.copy_from_slice(&line(before, before).as_bytes()[..end.len()]);
    }
}

/// The places of the 16 words of a vector that begins at word `first` of two vectors.
fn places(first: usize) -> __m512i {
    cast(std::array::from_fn::<u32, 16, _>(|i| (first + i) as u32))
}

/// For codes of which there is one vector.
#[inline(always)]
fn both_of(codes: __m512i) -> [__m512i; 2] {
    [codes, codes]
}

/// The same number in all 16 lanes.
#[inline(always)]
fn splat_f32(a: f32) -> __m512i {
    cast([a; 16])
}

/// The places of the elements if the first half of a vector has those at even places, and the second one the others.
const IN_PAIRS: [u16; 32] = {
    let mut places = [0; 32];
    let mut i = 0;
    while i < 32 {
        places[i] = (i / 2 + i % 2 * 16) as u16;
        i += 1;
    }
    places
};

/// The entries of the packed codes at even places, and of those at odd ones.
#[inline(always)]
fn looked_up(l: Avx512, entries: __m512i, bytes: &[u8]) -> [__m512i; 2] {
    // The bits above an index do not matter.
    let even = l.0._mm512_cvtepu8_epi32(cast(array::<16>(bytes)));
    let odd = l.0._mm512_srl_epi32(even, count(4));
    [l.0._mm512_permutexvar_epi32(even, entries), l.0._mm512_permutexvar_epi32(odd, entries)]
}

/// The low halves of `even` and the upper halves of `odd`. A mask register would be loaded again for every vector.
#[inline(always)]
fn joined(l: Avx512, even: __m512i, odd: __m512i) -> __m512i {
    l.select_bits(splat_u32(0xffff), even, odd)
}
