//! Whole tensors: shapes, neighbours, both ways, and what options change.

use support::assert_fault;
use support::options::{all_options, variants};
use support::tier::count;
use support::{cases, numeric, oracle};
use wgpu_cast::{CastOptions, ElementType, Tensor, cpu};

use crate::rules::code;
use crate::{floats, integers, none_wrong, parse, parse_with, print, shown, strings};

#[test]
fn strings_to_strings_are_the_same() {
    let given = ["", " ", " 1 ", "Hello", "1_000", "nan", "ä😀\u{0}", "TRUE", "0x10", "-0"];
    for options in all_options() {
        for shape in [vec![given.len()], vec![2, 5], vec![1, 10, 1]] {
            let tensor = Tensor::from_strings(shape, given).unwrap();
            assert_eq!(cpu::cast(&tensor, ElementType::STRING, &options), Ok(tensor));
        }
    }
}

#[test]
fn scalars_and_empty_tensors_keep_their_shape() {
    for t in numeric() {
        for (shape, count) in
            [(vec![], 1), (vec![0], 0), (vec![3, 0, usize::MAX], 0), (vec![1, 3], 3), (vec![3, 1, 1], 3)]
        {
            let codes = Tensor::from_codes(t, shape.clone(), vec![1; count]).unwrap();
            let texts = Tensor::from_strings(shape.clone(), vec!["1"; count]).unwrap();
            let printed = cpu::cast(&codes, ElementType::STRING, &Default::default()).unwrap();
            let parsed = cpu::cast(&texts, t, &Default::default()).unwrap();
            let copied = cpu::cast(&texts, ElementType::STRING, &Default::default()).unwrap();
            assert_eq!(copied, texts);
            for (result, to) in [(printed, ElementType::STRING), (parsed, t)] {
                assert_eq!((result.element_type(), result.shape(), result.len()), (to, &shape[..], count), "{t}");
                let found = result.strings().map_or(result.codes().len(), |strings| strings.len());
                assert_eq!(found, count);
            }
        }
    }
}

/// Neighbours in a tensor have nothing to do with each other, whatever they look like in a row.
#[test]
fn elements_do_not_run_into_each_other() {
    let texts = ["1", "2", ".5", "3.", "4", "+5", "-6", "7e1", "0"];
    let expected = [1.0f32, 2.0, 0.5, 3.0, 4.0, 5.0, -6.0, 70.0, 0.0].map(|x| u64::from(x.to_bits()));
    assert_eq!(parse(&texts, ElementType::FLOAT), Ok(expected.to_vec()));
    for (texts, index) in [
        (&["1", "e5"][..], 1),
        (&["1e", "5"], 0),
        (&["-", "1"], 0),
        (&["1", "", "2"], 1),
        (&["1", "2", ""], 2),
        (&["", "1"], 0),
        (&["in", "f"], 0),
        (&["1", ".", "5"], 1),
    ] {
        for to in numeric() {
            let literal = texts[index].to_owned();
            assert_fault!(
                parse(texts, to).unwrap_err(),
                [ElementType::STRING, to],
                Literal { index, literal, is_number: false },
                "{texts:?}"
            );
        }
    }
}

/// Text and back, for every type: every code of up to 16 bits, and many of the others. NaN comes back as the canonical
/// one, without its payload, and positive, as its text has no sign.
#[test]
fn printed_codes_read_back_as_the_same() {
    // E8M0's text is that of a float, and may lie a little beside the power of two, if not below the least of them.
    let options = CastOptions::default().with_saturate(false).with_round_mode(wgpu_cast::RoundMode::Nearest);
    let mut wrong = Vec::new();
    for t in numeric() {
        let mut codes = cases::codes(t);
        codes.extend(cases::random(t, count(50_000, 1_000), 11));
        let texts = print(t, &codes);
        let as_double = oracle(t, ElementType::DOUBLE, &options);
        let nan = code(f64::NAN, t, &options);
        for ((&given, text), got) in codes.iter().zip(&texts).zip(parse_with(&texts, t, &options).unwrap()) {
            let expected = match t {
                ElementType::BOOL => u64::from(given != 0),
                _ if floats().any(|f| f == t) && f64::from_bits(as_double.expected(given)).is_nan() => nan,
                _ => given,
            };
            if got != expected {
                wrong.push(format!("{t} {given:x} is {}, read as {got:x}, expected {expected:x}", shown(text)));
            }
        }
    }
    none_wrong(&wrong);
}

/// Many elements go with threads, few without; both ways, with texts of very different lengths.
#[test]
fn short_and_long_tensors_agree() {
    for t in numeric() {
        let codes = cases::random(t, count(150_001, 40_001), 7);
        let texts = print(t, &codes);
        let options = CastOptions::default();
        let parsed = parse(&texts, t).unwrap();
        let text_tensor = strings(&texts);
        assert_eq!(cpu::cast(&text_tensor, ElementType::STRING, &options), Ok(text_tensor));
        let mut wrong = Vec::new();
        for part in [1, 7, 500, 997, 20_011] {
            // Single elements take long, and their places do not matter.
            let starts = (0..codes.len()).step_by(part).take(count(1000, 50));
            for range in starts.map(|start| start..(start + part).min(codes.len())) {
                let short = print(t, &codes[range.clone()]);
                let read = parse(&texts[range.clone()], t).unwrap();
                for (i, (short, read)) in range.clone().zip(short.iter().zip(read)) {
                    if *short != texts[i] || read != parsed[i] {
                        let (code, long, also) = (codes[i], shown(&texts[i]), parsed[i]);
                        let short = format!("{t} {code:x} among {part}: {}, read as {read:x}", shown(short));
                        wrong.push(format!("{short}; among many: {long}, read as {also:x}"));
                    }
                }
            }
        }
        none_wrong(&wrong);
    }
}

#[test]
fn options_that_a_destination_does_not_look_at_change_nothing() {
    let texts = ["1", "-7.5", "300", "1e10", "0", "-100", "1e-9", "12345678", "-0", "1.1", "6.4"];
    for t in numeric() {
        let codes = cases::random(t, 500, 13);
        let tensor = Tensor::from_codes(t, [codes.len()], codes).unwrap();
        let printed = cpu::cast(&tensor, ElementType::STRING, &CastOptions::default());
        let looked_at: std::collections::HashSet<_> =
            variants(t).iter().map(|options| parse_with(&texts, t, options).unwrap()).collect();
        for options in all_options() {
            assert_eq!(cpu::cast(&tensor, ElementType::STRING, &options), printed, "{t} {options:?}");
            assert!(looked_at.contains(&parse_with(&texts, t, &options).unwrap()), "{t} {options:?}");
        }
        // Only casts from floats clamp; a string's integer loses its high bits.
        if integers().any(|(integer, ..)| integer == t) {
            assert_eq!(looked_at.len(), 1, "{t}");
        }
    }
}
