//! Casts whose codes lie one in each byte, compared with the reference.

use super::*;

const LAYOUTS: [[CodeLayout; 2]; 3] = {
    use CodeLayout::{OnePerByte, Packed};
    [[OnePerByte, OnePerByte], [OnePerByte, Packed], [Packed, OnePerByte]]
};

/// Pairs of types, with the casts in which at least one side has one code in each byte.
fn casts(options: impl Fn(ElementType) -> Vec<CastOptions>) -> Vec<CodeCast> {
    let mut casts = Vec::new();
    for (from, to) in numeric().flat_map(|from| numeric().map(move |to| (from, to))) {
        for conversion in options(to).iter().map(|options| Conversion::new(from, to, options).unwrap()) {
            let distinct = LAYOUTS.map(|layouts| CodeCast::new(conversion, layouts));
            casts.extend(distinct.iter().filter(|cast| **cast != CodeCast::packed(conversion)));
        }
    }
    let mut found = HashSet::new();
    casts.retain(|cast| found.insert(*cast));
    casts
}

/// Codes in a layout. Where they lie one in each byte, the bits above a code are random.
fn stored(codes: &[u64], of: ElementType, bits: u32) -> Vec<u8> {
    let mut random = Random::new(3);
    match (bits, of.code_bits()) {
        (8, width @ ..8) => {
            let above = |code| code as u8 & ((1 << width) - 1) | (random.next() as u8) << width;
            codes.iter().copied().map(above).collect()
        }
        _ => Tensor::from_codes(of, [codes.len()], codes.iter().copied()).unwrap().into_bytes().unwrap(),
    }
}

/// The result that the reference gives, in the layout of the destination.
fn expected(codes: &[u64], cast: &CodeCast) -> Vec<u8> {
    let Conversion { from, to, .. } = cast.conversion;
    let tensor = Tensor::from_codes(from, [codes.len()], codes.iter().copied()).unwrap();
    let packed = by_reference(&cast.conversion, &tensor);
    match (cast.bits()[1], to.code_bits()) {
        (8, ..8) => {
            let result = Tensor::from_bytes(to, [codes.len()], packed).unwrap();
            result.codes().map(|code| code as u8).collect()
        }
        _ => packed,
    }
}

/// Where in a result a loop gave another byte than the reference, in words.
fn check(name: impl std::fmt::Display, cast: &CodeCast, made: &[u8], expected: &[u8]) -> Option<String> {
    let index = (0..expected.len()).find(|&index| made[index] != expected[index])?;
    let (made, expected) = (made[index], expected[index]);
    let Conversion { from, to, .. } = cast.conversion;
    Some(format!("{name}: {from} to {to}, {:?} bits, byte {index} is {made:#x}, not {expected:#x}", cast.bits()))
}

fn assert_none_wrong(wrong: &[String]) {
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Every code of each type and random ones, with every set of options.
#[test]
fn codes_one_in_each_byte_become_what_the_reference_gives() {
    let mut wrong = Vec::new();
    for cast in casts(variants) {
        let Conversion { from, .. } = cast.conversion;
        let mut codes = codes(from);
        if from.code_bits() < 8 {
            codes = codes.into_iter().cycle().take(2500).collect();
        }
        let (source, expected) = (stored(&codes, from, cast.bits()[0]), expected(&codes, &cast));
        for isa in isas() {
            let mut made = vec![0xff; expected.len()];
            convert(loop_of(&cast.conversion, cast.bits, isa), cast.bits, codes.len(), &source, &mut made);
            wrong.extend(check(format!("{isa:?}"), &cast, &made, &expected));
        }
    }
    assert_none_wrong(&wrong);
}

/// Lengths around those of groups, steps and blocks, at addresses that are multiples of nothing, by the loop and past
/// the caches. Bytes around the destination keep their values.
#[test]
fn every_length_and_address_of_codes_one_in_each_byte() {
    let around = [128, 256, LONG, 2 * LONG].into_iter().flat_map(|n| n - 3..n + 4);
    let lengths: Vec<usize> = (0..36).chain(around).chain([2 * CHUNK + 77]).collect();
    let mut wrong = Vec::new();
    for (i, cast) in casts(|_| vec![CastOptions::default()]).into_iter().enumerate() {
        let Conversion { from, .. } = cast.conversion;
        let mut random = Random::new(5);
        let codes: Vec<u64> = (0..2 * CHUNK + 77).map(|_| random.next()).collect();
        for (j, &len) in lengths.iter().enumerate() {
            // The most elements are tried with a part of the pairs.
            if len > CHUNK && i % count(8, 64) > 0 {
                continue;
            }
            let codes = &codes[..len];
            let shift = (i + j) % LINE;
            let (source, expected) = (stored(codes, from, cast.bits()[0]), expected(codes, &cast));
            let source = [&vec![0; shift % 5][..], &source].concat();
            let source = &source[shift % 5..];
            for isa in isas() {
                let mut try_by = |name: &str, work: &dyn Fn(&mut [u8])| {
                    let mut bytes = vec![0xff; shift + expected.len() + LINE];
                    work(&mut bytes[shift..][..expected.len()]);
                    wrong.extend(check(format!("{isa:?}, {len}, {name}"), &cast, &bytes[shift..], &expected));
                    let (before, after) = (&bytes[..shift], &bytes[shift + expected.len()..]);
                    let guards = before.iter().chain(after);
                    assert!(guards.clone().all(|&byte| byte == 0xff), "{isa:?}, {len}, {name}: {cast:?}");
                };
                let cast_loop = loop_of(&cast.conversion, cast.bits, isa);
                try_by("by the loop", &|bytes| convert(cast_loop, cast.bits, len, source, bytes));
                try_by("past the caches", &|bytes| {
                    convert_past_caches(cast_loop, cast.bits, len, source, bytes);
                });
            }
        }
    }
    assert_none_wrong(&wrong);
}

/// Losses are those of the packed codes, whatever lies above the codes of the source.
#[test]
fn losses_of_codes_one_in_each_byte_are_those_of_packed_codes() {
    for cast in casts(variants) {
        let Conversion { from, .. } = cast.conversion;
        let codes: Vec<u64> = codes(from).into_iter().cycle().take(2500).collect();
        let packed = stored(&codes, from, from.code_bits());
        for isa in isas() {
            let lost = LossCounter::new(&CodeCast::packed(cast.conversion), isa).count(&packed, codes.len());
            let (counter, source) = (LossCounter::new(&cast, isa), stored(&codes, from, cast.bits()[0]));
            assert_eq!(counter.count(&source, codes.len()), lost, "{isa:?}: {cast:?}");
            if cast.bits()[0] >= 8 {
                let result = expected(&codes, &cast);
                assert_eq!(counter.count_cast(&source, &result), lost, "{isa:?}: {cast:?}, with the result");
            }
        }
    }
}

/// Loops with non-temporal stores serve sources with one code in each byte, too.
#[test]
fn codes_one_in_each_byte_are_cast_past_the_caches() {
    use CodeLayout::{OnePerByte, Packed};
    use ElementType::{BFLOAT16, DOUBLE, FLOAT, FLOAT4E2M1, FLOAT6E3M2, INT4};
    for (from, to) in [(INT4, FLOAT), (FLOAT4E2M1, DOUBLE), (FLOAT6E3M2, BFLOAT16)] {
        let conversion = Conversion::new(from, to, &CastOptions::default()).unwrap();
        let cast = CodeCast::new(conversion, [OnePerByte, Packed]);
        let mut random = Random::new(13);
        let codes: Vec<u64> = (0..LONG + 3).map(|_| random.next()).collect();
        let (source, expected) = (stored(&codes, from, 8), expected(&codes, &cast));
        for isa in isas().into_iter().filter(|isa| isa.name() != IsaName::Portable && non_temporal::EXISTS) {
            let mut memory = vec![0xff; expected.len() + LINE];
            let aligned = memory.as_ptr().align_offset(LINE);
            let bytes = &mut memory[aligned..][..expected.len()];
            let [read, written] = loop_of(&cast.conversion, cast.bits, isa).convert_past_caches(&source, bytes);
            // No block has more than 1,024 bytes, and there are at most two runs of them.
            assert!(expected.len() - written < 2 * 1024, "{isa:?}: {cast:?}");
            assert_eq!(read * to.code_bits() as usize, 8 * written, "{isa:?}: {cast:?}");
            assert!(bytes[..written] == expected[..written], "{isa:?}: {cast:?}");
            assert!(bytes[written..].iter().all(|&byte| byte == 0xff), "{isa:?}: {cast:?}");
        }
    }
}

/// The public functions, on the best instruction set.
#[test]
fn public_functions_take_layouts() {
    use ElementType::{FLOAT, FLOAT6E2M3, INT4, UINT2};
    for (from, to) in [(FLOAT, INT4), (INT4, FLOAT), (FLOAT6E2M3, UINT2), (UINT2, UINT2)] {
        let spec = CastSpec::new(from, to);
        let conversion = Conversion::new(from, to, &spec.options).unwrap();
        for layouts in LAYOUTS {
            let cast = CodeCast::new(conversion, layouts);
            for len in [0, 1, 6, 2 * CHUNK + 77] {
                let mut random = Random::new(21);
                let codes: Vec<u64> = (0..len).map(|_| random.next()).collect();
                let (source, expected) = (stored(&codes, from, cast.bits()[0]), expected(&codes, &cast));
                let packed = stored(&codes, from, from.code_bits());
                let lost = count_losses(&spec, &packed, len).unwrap();
                let mut made = vec![0xff; expected.len()];
                cast_codes(&spec, layouts, &source, len, &mut made).unwrap();
                assert!(made == expected, "{cast:?}, {len}");
                made.fill(0xff);
                assert_eq!(cast_codes_counted(&spec, layouts, &source, len, &mut made), Ok(lost), "{cast:?}, {len}");
                assert!(made == expected, "{cast:?}, {len}");
                assert_eq!(count_lost_codes(&spec, layouts[0], &source, len), Ok(lost), "{cast:?}, {len}");
            }
        }
    }
}

#[test]
fn lengths_that_do_not_suit_the_layouts_are_errors() {
    use CodeLayout::{OnePerByte, Packed};
    use ElementType::{FLOAT, FLOAT16, INT4, STRING};
    let text = |from, to, layouts, [source, destination]: [usize; 2], len| {
        let (spec, source, mut made) = (CastSpec::new(from, to), vec![0; source], vec![0xff; destination]);
        let error = cast_codes(&spec, layouts, &source, len, &mut made).unwrap_err();
        assert_eq!(cast_codes_counted(&spec, layouts, &source, len, &mut made), Err(error.clone()));
        assert!(made.iter().all(|&byte| byte == 0xff));
        error.to_string()
    };
    let both = [OnePerByte; 2];
    assert_eq!(text(INT4, FLOAT, both, [3, 20], 5), "shape [5] of int4 needs 5 bytes, got 3");
    assert_eq!(text(INT4, FLOAT, [Packed, OnePerByte], [5, 20], 5), "shape [5] of int4 needs 3 bytes, got 5");
    assert_eq!(text(FLOAT, INT4, both, [20, 3], 5), "casting float to int4: the destination must have 5 bytes, got 3");
    assert_eq!(text(FLOAT16, FLOAT, both, [4, 12], 3), "shape [3] of float16 needs 6 bytes, got 4");
    assert_eq!(
        text(INT4, FLOAT, both, [0, 0], usize::MAX),
        format!("shape [{}] of float is too large: its size overflows", usize::MAX)
    );
    assert_eq!(text(STRING, INT4, both, [0, 0], 0), "string elements have no fixed width");
    assert_eq!(text(INT4, STRING, both, [0, 0], 0), "string elements have no fixed width");
    let losses = |from, to, layout, source: usize, len| {
        count_lost_codes(&CastSpec::new(from, to), layout, &vec![0; source], len).unwrap_err().to_string()
    };
    assert_eq!(losses(INT4, FLOAT, OnePerByte, 3, 5), "shape [5] of int4 needs 5 bytes, got 3");
    assert_eq!(losses(INT4, STRING, OnePerByte, 5, 5), "string elements have no fixed width");
}
