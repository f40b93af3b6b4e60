//! The recipes of instruction sets whose vectors hold several elements.

use super::SharedRecipe;
use super::elements::Element;
use super::kinds::{LongFloat, SinkKind, SourceKind, TruncatedBits};
use super::lanes::{InLanes, InVectors, WideFloat};
use crate::bits::reference::EncodeFloat;
use crate::cpu::cast_loop::CastLoop;
use crate::cpu::code_cast::CodeCast;
use crate::cpu::isa::Instructions;
use crate::cpu::lanes::Lanes;
use crate::cpu::scalar::RoundF64;
use crate::cpu::sink::{IntegerLookUp, RoundToBytes, Rounding};
use crate::cpu::source::F8;
use crate::types::layout::CodeLayout;

/// A recipe that every instruction set with vectors has.
pub(crate) enum VectorRecipe {
    Shared(SharedRecipe),
    /// A source and a sink in lanes, and the layout of the codes.
    InVectors(InVectors, CodeLayout),
}

impl VectorRecipe {
    /// The recipe of a pair that no instruction set with vectors casts in a way of its own; `None` for tables and for
    /// rounding.
    pub(crate) fn new(source: SourceKind, sink: SinkKind, to: CodeLayout) -> Option<Self> {
        let shared = SharedRecipe::new(source, sink, to).map(Self::Shared);
        shared.or_else(|| InVectors::new(source, sink).map(|recipe| Self::InVectors(recipe, to)))
    }

    /// A float of 8 bits that is truncated to 16 bits; `None` for others. To fewer bits a table is faster.
    pub(crate) fn truncated_f8(source: SourceKind, sink: SinkKind) -> Option<Self> {
        let (SourceKind::ShortFloat(format), SinkKind::Truncate(TruncatedBits::Bits16)) = (source, sink) else {
            return None;
        };
        F8::new(&format).map(|f8| Self::InVectors(InVectors::TruncateF8(f8), CodeLayout::Packed))
    }

    /// The rounding of a source of more than 8 bits to a float of at most 16 bits, or else the reference.
    pub(crate) fn rounded(source: SourceKind, sink: SinkKind, cast: &CodeCast) -> Self {
        let rounded = match sink {
            SinkKind::Round(to) => Self::new_rounded(source, &to, cast),
            _ => None,
        };
        rounded.unwrap_or(Self::Shared(SharedRecipe::Reference(*cast)))
    }

    fn new_rounded(source: SourceKind, to: &EncodeFloat, cast: &CodeCast) -> Option<Self> {
        let layout = cast.destination_layout();
        if let SourceKind::Float(from) = source
            && let Some(in_16_bits) = InVectors::rounded(from, to)
        {
            return Some(Self::InVectors(in_16_bits, layout));
        }
        match (source, Rounding::new(to)?) {
            // The destination has subnormals where binary32 has them, so that a conversion to binary32 would already
            // round them.
            (SourceKind::Float(LongFloat::F64), Rounding::ToBytes(RoundToBytes::Shift16(_))) => {
                Some(Self::Shared(SharedRecipe::Element(Element::F64To16(RoundF64::new(to)))))
            }
            (SourceKind::Float(LongFloat::F16), Rounding::ToBytes(RoundToBytes::Shift16(to))) => {
                Some(Self::Shared(SharedRecipe::InLanes(InLanes::F16ToBf16(to), layout)))
            }
            (SourceKind::Float(from), to) => {
                let from = WideFloat::new(from)?;
                Some(Self::Shared(SharedRecipe::InLanes(InLanes::Round { from, to }, layout)))
            }
            (SourceKind::Int(from), Rounding::ToBytes(to)) => {
                Some(Self::Shared(SharedRecipe::InLanes(InLanes::RoundInt { from, to }, layout)))
            }
            (SourceKind::Int(from), Rounding::ToPacked(_)) => {
                let to = IntegerLookUp::new(to)?;
                Some(Self::InVectors(InVectors::LookUpInteger { from, to }, layout))
            }
            _ => None,
        }
    }

    /// `i` and `l` must be the same instruction set.
    pub(crate) fn build<I: Instructions + 'static, L: Lanes + 'static>(self, i: I, l: L) -> Box<dyn CastLoop> {
        match self {
            Self::Shared(shared) => shared.build(i, l),
            Self::InVectors(in_vectors, to) => in_vectors.build(l, to),
        }
    }
}
