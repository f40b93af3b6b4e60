//! The cache line at which a cast begins.

use super::isas;
use crate::cpu::code_cast::CodeBits;
use crate::cpu::convert::{Side, head};
use crate::cpu::isa::IsaName;
use crate::cpu::loops::loop_of;
use crate::cpu::non_temporal::LINE;
use crate::types::conversion::Conversion;
use crate::types::element::ElementType;
use crate::types::options::CastOptions;

/// A cast begins with the elements before the first cache line, if whole bytes of both sides lead to that line.
#[test]
fn casts_begin_at_a_line_where_elements_reach_one() {
    use ElementType::*;
    let memory = [0; 3 * LINE];
    let aligned = memory.as_ptr().align_offset(LINE);
    let cases = [
        (Side::Destination, FLOAT, FLOAT16, 2, Some(31)),
        (Side::Destination, FLOAT, FLOAT16, 1, None),
        (Side::Destination, UINT8, UINT8, 63, Some(1)),
        (Side::Destination, INT4, DOUBLE, 16, Some(6)),
        (Side::Destination, INT2, DOUBLE, 32, Some(4)),
        (Side::Destination, INT2, DOUBLE, 16, None),
        (Side::Destination, FLOAT, INT4, 1, Some(126)),
        (Side::Source, FLOAT, INT16, 16, Some(12)),
        (Side::Source, FLOAT, INT4, 4, None),
        (Side::Source, INT64, INT8, 8, Some(7)),
        (Side::Source, INT64, INT8, 4, None),
    ];
    for (side, from, to, offset, elements) in cases {
        let conversion = Conversion::new(from, to, &CastOptions::default()).unwrap();
        let expected = [from, to].map(|t| elements.unwrap_or(0) * t.code_bits() as usize / 8);
        assert_eq!(
            head(side, CodeBits::packed(&conversion), &memory[aligned + offset..]),
            expected,
            "{from} to {to} at {offset}"
        );
    }
}

/// AVX-512 truncates from a cache line of the source on. Other casts begin at one of the destination.
#[test]
fn truncation_in_vectors_of_a_line_begins_at_one_of_the_source() {
    use ElementType::*;
    let cases = [
        (FLOAT, INT8, true),
        (DOUBLE, UINT16, true),
        (INT32, INT4, true),
        (INT64, INT16, true),
        (INT32, BOOL, true),
        (INT16, INT4, false),
        (FLOAT16, INT8, false),
        (FLOAT, FLOAT16, false),
        (INT64, INT32, false),
    ];
    for (from, to, truncates) in cases {
        let conversion = Conversion::new(from, to, &CastOptions::default()).unwrap();
        for isa in isas() {
            let cast_loop = loop_of(&conversion, CodeBits::packed(&conversion), isa);
            assert_eq!(cast_loop.reads_lines(), truncates && isa.name() == IsaName::Avx512, "{isa:?}: {from} to {to}");
        }
    }
}
