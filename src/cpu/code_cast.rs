//! A conversion, and how the codes of both sides lie in memory.

use crate::types::conversion::Conversion;
use crate::types::element::ElementType;
use crate::types::layout::CodeLayout;

/// The bits that a source code and a destination code take in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CodeBits(pub [u32; 2]);

impl CodeBits {
    #[inline]
    pub(crate) fn new(conversion: &Conversion, layouts: [CodeLayout; 2]) -> Self {
        Self::of_types([conversion.from, conversion.to], layouts)
    }

    #[inline]
    pub(crate) fn of_types(types: [ElementType; 2], layouts: [CodeLayout; 2]) -> Self {
        Self([layouts[0].bits(types[0]), layouts[1].bits(types[1])])
    }

    /// Those of packed codes.
    #[inline]
    pub(crate) fn packed(conversion: &Conversion) -> Self {
        Self::new(conversion, [CodeLayout::Packed; 2])
    }

    /// The bytes of the fewest elements that fill whole bytes on both sides.
    pub(crate) fn unit(self) -> [usize; 2] {
        // Elements of 4 bits start at a byte by twos, elements of 2 and 6 bits by fours.
        let whole = |elements: &u32| self.0.iter().all(|bits| (elements * bits).is_multiple_of(8));
        let elements = [1, 2].into_iter().find(whole).unwrap_or(4);
        self.0.map(|bits| (elements * bits / 8) as usize)
    }

    /// The bytes that a multiple of four elements take on each side.
    #[inline]
    pub(crate) fn bytes(self, elements: usize) -> [usize; 2] {
        self.0.map(|bits| elements * bits as usize / 8)
    }
}

/// What a loop casts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CodeCast {
    pub conversion: Conversion,
    pub bits: CodeBits,
}

impl CodeCast {
    pub(crate) fn new(conversion: Conversion, layouts: [CodeLayout; 2]) -> Self {
        Self { conversion, bits: CodeBits::new(&conversion, layouts) }
    }

    pub(crate) fn packed(conversion: Conversion) -> Self {
        Self::new(conversion, [CodeLayout::Packed; 2])
    }

    /// The cast from packed codes to the same layout.
    pub(crate) fn with_packed_source(self) -> Self {
        Self::new(self.conversion, [CodeLayout::Packed, self.destination_layout()])
    }

    /// The layout of the destination.
    pub(crate) fn destination_layout(&self) -> CodeLayout {
        match self.bits.0[1] == self.conversion.to.code_bits() {
            true => CodeLayout::Packed,
            false => CodeLayout::OnePerByte,
        }
    }

    /// The bits that a source code and a destination code take in memory.
    pub(crate) fn bits(&self) -> [u32; 2] {
        self.bits.0
    }
}
