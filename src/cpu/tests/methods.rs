//! Tests of `method` against the committed table, and of the promise that shuffle tables rely on.

use std::fmt::Write;

use super::*;
use crate::bits::reference::EncodeFloat;

/// The committed table. If it differs, the test below prints the right one.
const TABLE: &str = include_str!("methods.txt");

const LEGEND: &str = "\
How each numeric type (rows) is cast to each (columns), by instruction set: what `method` says with default options.

=  Copy            the codes are the same
L  Lanes           source and sink in the lanes of the instruction set; of integers to floats of 4 and 6 bits a look-up
l  LanesAvx2       the same in AVX2's lanes
H  RoundF16        rounding in lanes of 16 bits; to 4 bits a look-up (AVX-512)
I  ShiftInteger    16-bit integers, rounded in AVX-512's lanes of 16 bits
C  ConvertF16      the processor's own conversion
E  Elements        a function of single elements, compiled for the instruction set
M  MemoryTable     a table in memory
N  NibbleTable     tables of 16 entries in registers, for both halves of each source byte
S  ShuffleTable    tables in AVX2's registers
R  RegisterTable   a table in AVX-512's registers
.  Reference       the reference, code by code
";

fn letter(method: Method) -> char {
    match method {
        Method::Copy => '=',
        Method::Lanes => 'L',
        Method::LanesAvx2 => 'l',
        Method::RoundF16(_) => 'H',
        Method::ShiftInteger => 'I',
        Method::ConvertF16 => 'C',
        Method::Elements => 'E',
        Method::MemoryTable => 'M',
        Method::NibbleTable => 'N',
        Method::ShuffleTable => 'S',
        Method::RegisterTable => 'R',
        Method::Reference => '.',
    }
}

fn method_of(from: ElementType, to: ElementType, isa: IsaName) -> Method {
    let conversion = Conversion::new(from, to, &CastOptions::default()).unwrap();
    method(SourceKind::new(&conversion), SinkKind::new(&conversion), isa)
}

fn table() -> String {
    let mut table = LEGEND.to_owned();
    for (isa, name) in [(IsaName::Portable, "portable"), (IsaName::Avx2, "AVX2"), (IsaName::Avx512, "AVX-512")] {
        // The name of each column has its own line, with a rule down to the column.
        writeln!(table, "\n{name}").unwrap();
        for (column, to) in numeric().enumerate() {
            writeln!(table, "{:16}{}┌ {to}", "", "│ ".repeat(column)).unwrap();
        }
        for from in numeric() {
            let letters: Vec<_> = numeric().map(|to| letter(method_of(from, to, isa)).to_string()).collect();
            writeln!(table, "{:16}{}", from.name(), letters.join(" ")).unwrap();
        }
    }
    table
}

#[test]
fn methods_are_those_of_the_table() {
    let table = table();
    assert!(table == TABLE, "methods.txt differs from what `method` says now:\n{table}");
}

/// Loops are compiled for some sign rules of each width. Any other destination goes by the reference, not by a loop
/// that makes other signs.
#[test]
fn destinations_with_other_signs_go_by_the_reference() {
    let to = |name: ElementType| {
        let conversion = Conversion::new(ElementType::DOUBLE, name, &CastOptions::default()).unwrap();
        let SinkKind::Round(to) = SinkKind::new(&conversion) else { panic!("{name} is a float") };
        to
    };
    let keeps_no_sign = |to: EncodeFloat| EncodeFloat { nan_keep: 0, nan_flip: 0, ..to };
    let others = [
        keeps_no_sign(to(ElementType::FLOAT8E4M3FN)),
        keeps_no_sign(to(ElementType::FLOAT16)),
        keeps_no_sign(to(ElementType::BFLOAT16)),
        EncodeFloat { fnuz: true, ..to(ElementType::FLOAT16) },
        EncodeFloat { fnuz: true, ..to(ElementType::FLOAT6E3M2) },
        EncodeFloat { fnuz: true, ..to(ElementType::FLOAT4E2M1) },
    ];
    let sources = [SourceKind::F16 { subnormals: true }, SourceKind::Bf16, SourceKind::F32, SourceKind::F64];
    for to in others {
        for source in sources {
            for isa in [IsaName::Portable, IsaName::Avx2, IsaName::Avx512] {
                assert_eq!(method(source, SinkKind::Round(to), isa), Method::Reference, "{source:?} to {to:?}");
            }
        }
    }
}

/// Shuffle tables hold 16 bits of each entry: of the code, or of a float's number, of which instructions make DOUBLE, INT32 and
/// UINT32, and 64-bit integers if they are less than 2³¹.
#[test]
fn shuffle_tables_are_chosen_where_16_bits_say_all() {
    for (from, to) in numeric().flat_map(|from| numeric().map(move |to| (from, to))) {
        for options in variants(to) {
            let conversion = Conversion::new(from, to, &options).unwrap();
            let (source, sink) = (SourceKind::new(&conversion), SinkKind::new(&conversion));
            let chosen = method(source, sink, IsaName::Avx2);
            if !matches!(chosen, Method::ShuffleTable | Method::MemoryTable) {
                continue;
            }
            let codes = codes(from);
            let tensor = Tensor::from_codes(from, [codes.len()], codes).unwrap();
            let bytes = through(&Reference(conversion), &tensor, to);
            let made = Tensor::from_bytes(to, [tensor.len()], bytes).unwrap();
            let fits = |says: fn(u64) -> bool| made.codes().all(says);
            let is_float = matches!(source, SourceKind::SmallFloat(_));
            let fits = match to.code_bits() {
                ..=16 => true,
                32 => {
                    let by_code =
                        fits(|code| code & 0xffff == 0) || fits(|code| code == i32::from(code as i16) as u32 as u64);
                    is_float || by_code
                }
                _ if to == ElementType::DOUBLE => is_float,
                _ => is_float && fits(|code| code == 1 << 63 || i32::try_from(code as i64).is_ok()),
            };
            assert_eq!(chosen == Method::ShuffleTable, fits, "{from} to {to}, {options:?}");
        }
    }
}
