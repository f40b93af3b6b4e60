//! A conversion, and how the codes of both sides lie in memory.

use crate::types::conversion::Conversion;
use crate::types::element::ElementType;
use crate::types::layout::CodeLayout;

/// What a loop casts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CodeCast {
    pub conversion: Conversion,
    /// The layouts of the source and of the destination. Codes of at least 8 bits are [`Packed`](CodeLayout::Packed),
    /// so that casts that read and write the same bytes are equal.
    layouts: [CodeLayout; 2],
}

impl CodeCast {
    pub(crate) fn new(conversion: Conversion, layouts: [CodeLayout; 2]) -> Self {
        let [from, to] = layouts;
        let layout = |layout, of: ElementType| if of.code_bits() < 8 { layout } else { CodeLayout::Packed };
        Self { conversion, layouts: [layout(from, conversion.from), layout(to, conversion.to)] }
    }

    pub(crate) fn packed(conversion: Conversion) -> Self {
        Self::new(conversion, [CodeLayout::Packed; 2])
    }

    /// The cast from packed codes to the same layout.
    pub(crate) fn with_packed_source(self) -> Self {
        Self { layouts: [CodeLayout::Packed, self.layouts[1]], ..self }
    }

    /// The layout of the destination.
    pub(crate) fn destination_layout(&self) -> CodeLayout {
        self.layouts[1]
    }

    /// The bits that a source code and a destination code take in memory.
    pub(crate) fn bits(&self) -> [u32; 2] {
        let ([from, to], Conversion { from: source, to: destination, .. }) = (self.layouts, self.conversion);
        [from.bits(source), to.bits(destination)]
    }

    /// The bytes that a multiple of four elements take on each side.
    pub(crate) fn bytes(&self, elements: usize) -> [usize; 2] {
        self.bits().map(|bits| elements * bits as usize / 8)
    }
}
