//! Compares every recipe with the reference, bit for bit, on every instruction set of the processor.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod float_env;
mod layouts;
mod lines;
mod recipes;

use std::collections::HashSet;

use super::any_length::AnyLength;
use super::cast_loop::CastLoop;
use super::convert::{CHUNK, LONG};
use super::isa::{Baseline, Instructions, IsaName, is_fast};
use super::lanes::Lanes;
#[cfg(all(feature = "cpu-simd", target_arch = "aarch64"))]
use super::lanes::neon::Neon;
use super::lanes::portable::Portable;
#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
use super::lanes::{avx2::Avx2, avx512::Avx512};
use super::non_temporal::LINE;
use super::recipe::kinds::{SinkKind, SourceKind};
use super::recipe::lanes::InVectors;
use super::recipe::{InstructionSet, VectorRecipe};
use super::reference::Reference;
#[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
use super::x86::{X86V3, X86V4};
use super::*;
use crate::bits::packing::clear_pad;
use crate::types::element::Kind;
use crate::types::loss::{LossCounts, lost_codes};
use crate::types::options::{Float4Nan, Int4Overflow, RoundMode};
use recipes::words;
use recipes::words::{InWords, MEMORY_TABLE, REFERENCE};
use support::random::Random;
use support::tier::count;
use support::two_words;

fn numeric() -> impl Iterator<Item = ElementType> {
    ElementType::ALL.iter().copied().filter(|t| t.is_numeric())
}

/// Every set of options that can change the result for a destination type.
fn variants(to: ElementType) -> Vec<CastOptions> {
    let default = CastOptions::default();
    let both = |o: CastOptions| [o.with_saturate(true), o.with_saturate(false)];
    match (to.kind(), to.code_bits()) {
        (Kind::Float(_), 8) => {
            RoundMode::ALL.into_iter().flat_map(|mode| both(default.with_round_mode(mode))).collect()
        }
        (Kind::Int { .. }, 4) => {
            [Int4Overflow::Wrap, Int4Overflow::Clamp].map(|rule| default.with_int4_overflow(rule)).into()
        }
        (Kind::Float(_), 4) => [Float4Nan::Zero, Float4Nan::Max].map(|rule| default.with_float4_nan(rule)).into(),
        _ => vec![default],
    }
}

/// The codes of a source. If it has at most 16 bits, these are all codes. Otherwise they are special values, random
/// codes, random magnitudes, and codes next to those near which roundings tie: with random higher bits, and with lower
/// bits that are all 0, all 1, 10…0 or 01…1.
///
/// On an emulator, types of more than 8 bits have only some codes, the ends of every exponent among them, and fewer
/// random codes.
fn codes(from: ElementType) -> Vec<u64> {
    let bits = from.code_bits();
    if bits <= 16 {
        let is_end = |code: &u64| matches!(code % 128, 0 | 1 | 127);
        return (0..1 << bits).filter(|code| bits <= 8 || code % count(1, 13) as u64 == 0 || is_end(code)).collect();
    }
    let mask = u64::MAX >> (64 - bits);
    let mut random = Random::new(u64::from(bits));
    let mut codes: Vec<u64> = Vec::new();
    if let Kind::Float(format) = from.kind() {
        // Powers of two, zero and ∞, and the neighbours of zero and ∞, with both signs. The neighbour above ∞ is the
        // NaN with the least significand.
        let powers = (0..1 << format.exp_bits).map(|exponent| exponent << format.man_bits);
        let ends = powers.chain([1, format.top() - 1, format.top() + 1]);
        codes.extend(ends.flat_map(|code| [code, code | 1 << (bits - 1)]));
    }
    if bits == 64 {
        let is_float = matches!(from.kind(), Kind::Float(_));
        codes.extend(if is_float { two_words::floats() } else { two_words::integers() });
    }
    for _ in 0..count(40_000, 2_000) {
        let (code, choice) = (random.next(), random.next());
        let low = (1 << (choice % u64::from(bits))) - 1;
        let tie = [code & !low, code | low, code & !low | (low + 1) >> 1, code & !low | low >> 1];
        let near = tie[choice as usize >> 8 & 3].wrapping_add(choice >> 16 & 3).wrapping_sub(1);
        codes.extend([code & mask, near & mask, (near as i64 >> (choice >> 24 & 63)) as u64 & mask]);
        if let Kind::Float(format) = from.kind() {
            // Exponents around those at which the ranges of narrower floats and of integers start and end.
            let exponent = (u64::from(format.bias) + (choice >> 32) % 400).saturating_sub(200);
            let exponent = exponent.min((1 << format.exp_bits) - 1) << format.man_bits;
            codes.push((near & !(((1 << format.exp_bits) - 1) << format.man_bits) | exponent) & mask);
        }
    }
    codes
}

/// The result of a loop. Its destination is filled with ones before.
fn through(cast_loop: &AnyLength, tensor: &Tensor, to: ElementType) -> Vec<u8> {
    let elements = tensor.len() as u64;
    let mut bytes = vec![0xff; to.packed_bytes(elements).unwrap() as usize];
    cast_loop.convert(tensor.bytes().unwrap(), &mut bytes);
    clear_pad(&mut bytes, to.code_bits(), elements);
    bytes
}

fn by_reference(conversion: &Conversion, tensor: &Tensor) -> Vec<u8> {
    let reference = Reference(CodeCast::packed(*conversion));
    let reference = AnyLength::new(Box::new(reference), CodeBits::packed(conversion));
    through(&reference, tensor, conversion.to)
}

/// The instruction sets that this processor has. The test's output says how many it lacks.
fn isas() -> Vec<Isa> {
    let missing = Isa::all().filter(Option::is_none).count();
    if missing > 0 {
        support::not_tested(format!(
            "{missing} instruction sets of {}, which this processor lacks",
            Isa::all().count()
        ));
    }
    Isa::all().flatten().collect()
}

fn compare(tensor: &Tensor, conversion: &Conversion, options: &CastOptions) -> Option<String> {
    let expected = by_reference(conversion, tensor);
    isas().into_iter().find_map(|isa| {
        assert_ne!(
            words(&CodeCast::packed(*conversion), isa.name()).key,
            REFERENCE,
            "{} to {} has a faster loop",
            conversion.from,
            conversion.to
        );
        let difference =
            difference(loop_of(conversion, CodeBits::packed(conversion), isa), tensor, conversion, &expected)?;
        Some(format!("{isa:?}, {options:?}: {difference}"))
    })
}

/// In words, the first code that a loop does not cast to its code in `expected`.
fn difference(cast_loop: &AnyLength, tensor: &Tensor, conversion: &Conversion, expected: &[u8]) -> Option<String> {
    let &Conversion { from, to, .. } = conversion;
    let got = through(cast_loop, tensor, to);
    if got == expected {
        return None;
    }
    let [got, expected] = [got, expected.to_vec()].map(|b| Tensor::from_bytes(to, [tensor.len()], b).unwrap());
    let wrong = tensor.codes().zip(got.codes().zip(expected.codes())).enumerate();
    let (index, (code, (got, expected))) = wrong.into_iter().find(|(_, (_, (got, expected)))| got != expected)?;
    Some(format!("{from} {code:#x} ({index}) to {to} is {got:#x}, not {expected:#x}"))
}

fn compare_all(tensors: impl Fn(ElementType) -> Vec<Tensor>) {
    let mut wrong = Vec::new();
    for from in numeric() {
        let tensors = tensors(from);
        for to in numeric() {
            for options in variants(to) {
                let conversion = Conversion::new(from, to, &options).unwrap();
                if !conversion.is_copy() {
                    wrong.extend(tensors.iter().find_map(|tensor| compare(tensor, &conversion, &options)));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} sets wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_recipe_gives_what_the_reference_gives() {
    compare_all(|from| {
        let codes = codes(from);
        vec![Tensor::from_codes(from, [codes.len()], codes).unwrap()]
    });
}

/// The loops that `isa` does not choose for a conversion, but can build: those of the recipes of portable code and of
/// vectors.
fn other_loops(conversion: &Conversion, isa: Isa) -> Vec<AnyLength> {
    fn build<I: Instructions + 'static, L: Lanes + 'static>(
        i: I,
        l: L,
        conversion: &Conversion,
        is_other: impl Fn(&dyn InWords) -> bool,
    ) -> [Option<Box<dyn CastLoop>>; 2] {
        let portable = Some(Baseline::recipe(&CodeCast::packed(*conversion))).filter(|recipe| is_other(recipe));
        let vector = vector_recipe(conversion).filter(|recipe| is_other(recipe));
        [portable.map(|recipe| recipe.build(i, l)), vector.map(|recipe| recipe.build(i, l))]
    }
    let own = words(&CodeCast::packed(*conversion), isa.name()).key;
    let is_other = |recipe: &dyn InWords| ![own, MEMORY_TABLE].contains(&recipe.words().key);
    let loops = match isa {
        Isa::Portable => build(Baseline, Portable(Baseline), conversion, is_other),
        #[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
        Isa::Avx2(simd) => build(simd, Avx2(simd), conversion, is_other),
        #[cfg(all(feature = "cpu-simd", any(target_arch = "x86", target_arch = "x86_64")))]
        Isa::Avx512(simd) => build(simd, Avx512(simd), conversion, is_other),
        #[cfg(all(feature = "cpu-simd", target_arch = "aarch64"))]
        Isa::Neon(lanes) => build(Baseline, lanes, conversion, is_other),
    };
    loops.into_iter().flatten().map(|steps| AnyLength::new(steps, CodeBits::packed(conversion))).collect()
}

/// The recipe that any instruction set with vectors could have; `None` for copies and for tables.
fn vector_recipe(conversion: &Conversion) -> Option<VectorRecipe> {
    let (source, sink) = (SourceKind::new(conversion.from), SinkKind::new(&CodeCast::packed(*conversion)));
    if sink == SinkKind::Copy {
        return None;
    }
    VectorRecipe::new(source, sink, CodeLayout::Packed).or_else(|| match source.is_short() {
        true => VectorRecipe::truncated_f8(source, sink),
        false => Some(VectorRecipe::rounded(source, sink, &CodeCast::packed(*conversion))),
    })
}

/// An instruction set can build recipes that only others choose.
#[test]
fn recipes_of_other_instruction_sets_give_what_the_reference_gives() {
    let mut in_16_bits = HashSet::new();
    for from in numeric() {
        let codes = codes(from);
        let tensor = Tensor::from_codes(from, [codes.len()], codes).unwrap();
        for to in numeric() {
            for options in variants(to) {
                let conversion = Conversion::new(from, to, &options).unwrap();
                let expected = by_reference(&conversion, &tensor);
                for isa in isas() {
                    for cast_loop in other_loops(&conversion, isa) {
                        let difference = difference(&cast_loop, &tensor, &conversion, &expected);
                        assert_eq!(difference, None, "{isa:?}, {options:?}");
                    }
                }
                if let Some(VectorRecipe::InVectors(InVectors::RoundIn16Bits(to), _)) = vector_recipe(&conversion) {
                    in_16_bits.insert(std::mem::discriminant(&to));
                }
            }
        }
    }
    assert_eq!(in_16_bits.len(), 6, "every rounding in lanes of 16 bits was compared");
}

/// Rust promises neither the sign nor the bits of a NaN that float arithmetic gives, and Miri chooses them at random.
/// The codes are few, so that Miri finishes this test.
#[test]
fn nans_between_wide_floats_are_canonical() {
    use ElementType::*;
    let wide = [FLOAT16, BFLOAT16, FLOAT, DOUBLE];
    for from in wide {
        let Kind::Float(format) = from.kind() else { unreachable!("a float") };
        let [infinity, sign] = [format.top(), 1 << (from.code_bits() - 1)];
        let near = [0, 1, infinity - 1, infinity, infinity + 1, infinity | 1 << (format.man_bits - 1), sign - 1];
        let codes: Vec<u64> = near.into_iter().flat_map(|code| [code, code | sign]).cycle().take(LONG + 3).collect();
        let tensor = Tensor::from_codes(from, [codes.len()], codes).unwrap();
        for to in wide {
            let conversion = Conversion::new(from, to, &CastOptions::default()).unwrap();
            if !conversion.is_copy() {
                assert_eq!(compare(&tensor, &conversion, &CastOptions::default()), None);
            }
        }
    }
}

/// Lengths around the lengths of groups, steps and blocks.
#[test]
fn every_length_ends_where_it_should() {
    let around = [128, 256, 512, LONG, 2 * LONG].into_iter().flat_map(|n| n - 3..n + 4);
    let lengths: Vec<usize> = (0..36).chain(around).collect();
    compare_all(|from| {
        let mut random = Random::new(5);
        let codes: Vec<u64> = (0..3 * LONG).map(|_| random.next()).collect();
        let tensor = |&n: &usize| Tensor::from_codes(from, [n], codes[..n].iter().copied()).unwrap();
        lengths.iter().map(tensor).collect()
    });
}

/// A result of 32 MiB, which gets pages of its own from the system, and a result that is just shorter.
#[test]
fn large_results_are_as_any_other() {
    let options = CastOptions::default();
    for elements in [(4 << 20) - 1, 4 << 20] {
        let codes: Vec<u8> = (0..elements).map(|index| (index % 251) as u8).collect();
        let source = Tensor::from_bytes(ElementType::UINT8, [elements], codes).unwrap();
        let mut expected = vec![0; 8 * elements];
        cast_into(&source, ElementType::DOUBLE, &options, &mut expected).unwrap();
        let result = cast(&source, ElementType::DOUBLE, &options).unwrap();
        assert!(result.bytes() == Some(&expected[..]), "{elements}");
        let place = result.bytes().map(<[u8]>::as_ptr);
        let shared = result.clone().into_shared().unwrap();
        assert_eq!(Some((*shared).as_ref().as_ptr()), place, "{elements}");
        drop(shared);
        assert!(cast(&result, ElementType::UINT8, &options).unwrap() == source, "{elements}");
        assert!(result.into_bytes() == Some(expected), "{elements}");
    }
}

/// A loop is made once for each conversion and instruction set. Sets of options that give the same conversion share it.
#[test]
fn loops_are_kept() {
    let (from, to) = (ElementType::FLOAT8E5M2, ElementType::FLOAT8E8M0);
    let conversions = variants(to).into_iter().map(|options| Conversion::new(from, to, &options).unwrap());
    let keys: Vec<_> =
        conversions.flat_map(|conversion| isas().into_iter().map(move |isa| (conversion, isa))).collect();
    let places = || {
        keys.iter().map(|(conversion, isa)| {
            std::ptr::from_ref(loop_of(conversion, CodeBits::packed(conversion), *isa)).cast::<()>()
        })
    };
    let distinct: HashSet<_> = keys.iter().map(|(conversion, isa)| (conversion, isa.name())).collect();
    assert_eq!(places().collect::<HashSet<_>>().len(), distinct.len());
    assert!(places().eq(places()));
}

/// The loop of a spec is that of its conversion, also if another spec has the same.
#[test]
fn loops_are_found_by_specs() {
    for from in numeric() {
        for to in numeric() {
            let specs = || variants(to).into_iter().map(|options| CastSpec::new(from, to).with_options(options));
            for (spec, isa) in specs().chain(specs()).flat_map(|spec| isas().into_iter().map(move |isa| (spec, isa))) {
                let conversion = Conversion::new(from, to, &spec.options).unwrap();
                let bits = CodeBits::packed(&conversion);
                let found = &kept_of_spec(&spec, bits, isa).unwrap().cast_loop;
                assert!(std::ptr::eq(found, loop_of(&conversion, bits, isa)), "{spec:?}, {isa:?}");
            }
        }
    }
}

/// Tensors at addresses that are not multiples of the size of an element.
#[test]
fn unaligned_memory_gives_the_same_codes() {
    for from in numeric() {
        let mut random = Random::new(9);
        let elements = LONG + 77;
        let tensor = Tensor::from_codes(from, [elements], (0..elements).map(|_| random.next())).unwrap();
        for to in numeric() {
            let conversion = Conversion::new(from, to, &CastOptions::default()).unwrap();
            for isa in isas() {
                let cast_loop = loop_of(&conversion, CodeBits::packed(&conversion), isa);
                let expected = through(cast_loop, &tensor, to);
                for shift in [1, 2, 4] {
                    let source = [&vec![0; shift][..], tensor.bytes().unwrap()].concat();
                    let mut bytes = vec![0xff; shift + expected.len()];
                    cast_loop.convert(&source[shift..], &mut bytes[shift..]);
                    clear_pad(&mut bytes, to.code_bits(), elements as u64);
                    assert!(bytes[shift..] == expected, "{from} to {to} from {shift}");
                    assert!(bytes[..shift].iter().all(|&byte| byte == 0xff), "{from} to {to} from {shift}");
                }
            }
        }
    }
}

/// Sources and destinations at every offset from a cache line; tensors that end before the first whole line, and tensors that
/// several threads share.
#[test]
fn every_offset_and_thread_chunk_gives_the_same_codes() {
    let lengths: [usize; 6] = [0, 3, 100, LONG, LONG + 5, 2 * CHUNK + 77];
    for (i, from) in numeric().enumerate() {
        let mut random = Random::new(11);
        let codes: Vec<u64> = (0..lengths[5]).map(|_| random.next()).collect();
        let tensors = lengths.map(|n| Tensor::from_codes(from, [n], codes[..n].iter().copied()).unwrap());
        for (j, to) in numeric().enumerate() {
            let conversion = Conversion::new(from, to, &CastOptions::default()).unwrap();
            if conversion.is_copy() {
                continue;
            }
            for tensor in &tensors {
                let elements = tensor.len();
                let expected = by_reference(&conversion, tensor);
                // All offsets for few elements. For many elements one offset, which differs from pair to pair.
                let shifts = if elements <= LONG + 5 { 0..LINE } else { (i + j) % LINE..(i + j) % LINE + 1 };
                for (isa, shift) in isas()
                    .into_iter()
                    .flat_map(|isa| shifts.clone().step_by(count(1, 7)).map(move |shift| (isa, shift)))
                {
                    let mut bytes = vec![0xff; shift + expected.len()];
                    let unaligned = [&vec![0; LINE - shift][..], tensor.bytes().unwrap()].concat();
                    let source = &unaligned[LINE - shift..];
                    let bits = CodeBits::packed(&conversion);
                    let cast_loop = loop_of(&conversion, bits, isa);
                    convert(cast_loop, bits, elements, source, &mut bytes[shift..]);
                    assert!(bytes[shift..] == expected, "{isa:?}: {elements} {from} to {to} to {shift}");
                    assert!(bytes[..shift].iter().all(|&byte| byte == 0xff), "{elements} {from} to {to} to {shift}");
                    bytes.fill(0xff);
                    let destination = &mut bytes[shift..];
                    convert_past_caches(cast_loop, bits, elements, source, destination);
                    assert!(*destination == expected, "{isa:?}: {elements} {from} to {to} to {shift}, past the caches");
                    assert!(bytes[..shift].iter().all(|&byte| byte == 0xff), "{elements} {from} to {to} to {shift}");
                }
            }
        }
    }
}

/// A few pairs with different loops. The test is quick without optimisation, too.
#[test]
fn casts_past_the_caches_give_the_same_codes() {
    use ElementType::*;
    let pairs = [
        (UINT8, INT8),
        (INT4, UINT8),
        (INT4, FLOAT16),
        (FLOAT8E4M3FN, INT64),
        (INT32, FLOAT),
        (FLOAT, FLOAT16),
        (DOUBLE, FLOAT16),
        (DOUBLE, FLOAT6E2M3),
        (DOUBLE, FLOAT8E8M0),
        (FLOAT, INT4),
        (FLOAT, INT16),
        (DOUBLE, UINT16),
        (DOUBLE, INT32),
        (DOUBLE, UINT32),
        (DOUBLE, FLOAT),
        (FLOAT16, FLOAT),
    ];
    for (from, to) in pairs {
        let conversion = Conversion::new(from, to, &CastOptions::default()).unwrap();
        let (mut random, len) = (Random::new(17), 2 * LONG + 5);
        let tensor = Tensor::from_codes(from, [len], (0..len).map(|_| random.next())).unwrap();
        let expected = by_reference(&conversion, &tensor);
        for isa in isas() {
            let mut bytes = vec![0xff; expected.len()];
            let bits = CodeBits::packed(&conversion);
            convert_past_caches(loop_of(&conversion, bits, isa), bits, len, tensor.bytes().unwrap(), &mut bytes);
            assert!(bytes == expected, "{isa:?}: {from} to {to}");
        }
    }
}

#[test]
fn small_results_are_given_away_without_a_copy() {
    let source = Tensor::from_slice([1000], &[1u8; 1000]).unwrap();
    let result = cast(&source, ElementType::DOUBLE, &CastOptions::default()).unwrap();
    let place = result.bytes().unwrap().as_ptr();
    let own = result.into_bytes().unwrap();
    assert_eq!(own.as_ptr(), place);
}

#[test]
fn usual_processors_are_fast() {
    assert!(is_fast() || !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")));
}

/// Loops with non-temporal stores exist for common pairs, fill all whole blocks, and fill nothing after them.
#[test]
fn common_pairs_have_loops_with_non_temporal_stores() {
    use ElementType::*;
    let pairs = [
        (FLOAT16, FLOAT),
        (FLOAT, FLOAT16),
        (FLOAT, BFLOAT16),
        (DOUBLE, FLOAT),
        (INT32, FLOAT),
        (UINT8, FLOAT),
        (FLOAT, BOOL),
        (UINT8, BOOL),
        (INT32, INT8),
        (FLOAT16, INT8),
        (FLOAT, FLOAT),
        // Tables in registers.
        (FLOAT8E4M3FN, FLOAT),
        (FLOAT8E4M3FN, BFLOAT16),
        (INT4, FLOAT),
        (FLOAT6E2M3, DOUBLE),
    ];
    // With AVX2, this pair uses a table in memory.
    let avx512 = [(UINT4, INT64)];
    let isas_of = |i| isas().into_iter().filter(move |isa| i < pairs.len() || isa.name() == IsaName::Avx512);
    for (i, (from, to)) in pairs.into_iter().chain(avx512).enumerate() {
        let conversion = Conversion::new(from, to, &CastOptions::default()).unwrap();
        let mut random = Random::new(13);
        let tensor = Tensor::from_codes(from, [LONG + 3], (0..LONG + 3).map(|_| random.next())).unwrap();
        let expected = by_reference(&conversion, &tensor);
        let with_stores = isas_of(i).filter(|isa| isa.name() != IsaName::Portable && non_temporal::EXISTS);
        for isa in with_stores {
            let mut memory = vec![0xff; expected.len() + LINE];
            let aligned = memory.as_ptr().align_offset(LINE);
            let bytes = &mut memory[aligned..][..expected.len()];
            let source = tensor.bytes().unwrap();
            let [read, written] =
                loop_of(&conversion, CodeBits::packed(&conversion), isa).convert_past_caches(source, bytes);
            // No block has more than 1,024 bytes, and there are at most two runs of them.
            let rest = expected.len() - written;
            assert!(rest < 2 * 1024 && written.is_multiple_of(LINE), "{isa:?}: {from} to {to}: {rest}");
            assert_eq!(read * to.code_bits() as usize, written * from.code_bits() as usize, "{from} to {to}");
            assert!(bytes[..written] == expected[..written], "{isa:?}: {from} to {to}");
            assert!(bytes[written..].iter().all(|&byte| byte == 0xff), "{isa:?}: {from} to {to}");
        }
    }
}

/// The losses of a tensor are the sum of the losses of its codes, whether they are counted from the source or from the
/// result, on every instruction set.
#[test]
fn losses_are_counted_alike_from_sources_and_results() {
    for from in numeric() {
        let bits = from.code_bits();
        for to in numeric() {
            for options in variants(to) {
                let conversion = Conversion::new(from, to, &options).unwrap();
                let lost = lost_codes(&conversion);
                let ends = lost.iter().flat_map(|lost| [lost.codes.first, lost.codes.last]);
                let near = ends.flat_map(|code| [-1, 0, 1].map(|step| code.wrapping_add_signed(step)));
                let mut codes: Vec<u64> = codes(from).into_iter().chain(near).collect();
                if bits < 8 {
                    // More than two blocks of unpacked codes.
                    codes = codes.into_iter().cycle().take(2500).collect();
                }
                let mut expected = LossCounts::default();
                let mask = u64::MAX >> (64 - bits);
                for code in &codes {
                    let of_code = lost.iter().filter(|lost| lost.codes.contains(code & mask));
                    of_code.for_each(|lost| expected.add(lost.loss, 1));
                }
                let tensor = Tensor::from_codes(from, [codes.len()], codes).unwrap();
                let result = by_reference(&conversion, &tensor);
                for isa in isas() {
                    let counter = LossCounter::new(&CodeCast::packed(conversion), isa);
                    let source = tensor.bytes().unwrap();
                    assert_eq!(counter.count(source, tensor.len()), expected, "{isa:?}: {from} to {to}, {options:?}");
                    if bits >= 8 {
                        let found = counter.count_cast(source, &result);
                        assert_eq!(found, expected, "{isa:?}: {from} to {to}, {options:?}, with the result");
                    }
                }
            }
        }
    }
}
