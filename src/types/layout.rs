//! How the codes of a tensor lie in memory.

use crate::types::element::ElementType;

/// How codes of fewer than 8 bits lie in memory. Codes of 8 bits and more lie little-endian in either layout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CodeLayout {
    /// Low bits first, without gaps: two 4-bit or four 2-bit codes in a byte, four 6-bit codes in three bytes. This is
    /// the layout of ONNX's `raw_data` and of [`Tensor`](crate::Tensor).
    #[default]
    Packed,
    /// One code in the low bits of each byte, as in numpy's arrays of ml_dtypes' types. The higher bits of a byte are
    /// ignored in a source, and become zero in a destination.
    OnePerByte,
}

impl CodeLayout {
    /// The size of `elements` codes in bytes; `None` for strings, or if the size overflows.
    pub fn bytes(self, element_type: ElementType, elements: u64) -> Option<u64> {
        match (self, element_type.bits()?) {
            (Self::OnePerByte, ..8) => Some(elements),
            _ => element_type.packed_bytes(elements),
        }
    }

    /// The bits that each code takes in memory.
    pub(crate) const fn bits(self, element_type: ElementType) -> u32 {
        match (self, element_type.code_bits()) {
            (Self::OnePerByte, ..8) => 8,
            (_, bits) => bits,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ElementType::{DOUBLE, FLOAT6E2M3, INT2, STRING};

    #[test]
    fn codes_of_fewer_than_8_bits_take_less_or_a_byte() {
        let sizes =
            |of, elements| [CodeLayout::Packed, CodeLayout::OnePerByte].map(|layout| layout.bytes(of, elements));
        assert_eq!(sizes(INT2, 5), [Some(2), Some(5)]);
        assert_eq!(sizes(FLOAT6E2M3, u64::MAX), [Some(0xc000_0000_0000_0000), Some(u64::MAX)]);
        assert_eq!(sizes(DOUBLE, 5), [Some(40); 2]);
        assert_eq!(sizes(DOUBLE, u64::MAX), [None; 2]);
        assert_eq!(sizes(STRING, 0), [None; 2]);
    }
}
