//! The recipes of portable code.

use super::elements::{Element, PortableElement};
use super::kinds::{LongFloat, SinkKind, SourceKind};
use super::lanes::{InLanes, RoundIntToPacked, RoundedFloat};
use super::{InstructionSet, SharedRecipe};
use crate::bits::reference::EncodeFloat;
use crate::cpu::cast_loop::CastLoop;
use crate::cpu::isa::{Baseline, Instructions};
use crate::cpu::lanes::{Lanes, portable::Portable};
use crate::cpu::scalar::RoundF64;
use crate::cpu::sign_rule::SignRule;
use crate::cpu::sink::Rounding;
use crate::types::conversion::Conversion;

/// A recipe of portable code.
pub(crate) enum PortableRecipe {
    Shared(SharedRecipe),
    Element(PortableElement),
    RoundIntToPacked(RoundIntToPacked),
}

impl InstructionSet for Baseline {
    type Recipe = PortableRecipe;

    fn recipe(conversion: &Conversion) -> PortableRecipe {
        let (source, sink) = (SourceKind::new(conversion.from), SinkKind::new(conversion));
        if let Some(shared) = SharedRecipe::new(source, sink) {
            return PortableRecipe::Shared(shared);
        }
        if let Some(element) = PortableElement::new(source, sink) {
            return PortableRecipe::Element(element);
        }
        if source.is_short() {
            return PortableRecipe::Shared(SharedRecipe::memory_table(conversion));
        }
        let rounded = match sink {
            SinkKind::Round(to) => PortableRecipe::rounded(source, &to, conversion),
            _ => None,
        };
        rounded.unwrap_or(PortableRecipe::Shared(SharedRecipe::Reference(*conversion)))
    }

    fn build(self, recipe: PortableRecipe) -> Box<dyn CastLoop> {
        recipe.build(self, Portable(self))
    }
}

impl PortableRecipe {
    fn rounded(source: SourceKind, to: &EncodeFloat, conversion: &Conversion) -> Option<Self> {
        match (source, Rounding::new(to)?) {
            // Unlike lanes, this function has words of one width, which is faster in portable code.
            (SourceKind::Float(LongFloat::F64), _) => {
                let rounding = RoundF64::new(to);
                Some(match to.bits {
                    16 => Self::Shared(SharedRecipe::Element(Element::F64To16(rounding))),
                    bits => {
                        let (to_bits, signs) = (bits as usize, SignRule::new(to));
                        Self::Element(PortableElement::RoundF64 { to: rounding, to_bits, signs })
                    }
                })
            }
            (SourceKind::Float(from), to) => {
                let from = RoundedFloat::new(from, conversion.to);
                Some(Self::Shared(SharedRecipe::InLanes(InLanes::Round { from, to })))
            }
            (SourceKind::Int(from), Rounding::ToBytes(to)) => {
                Some(Self::Shared(SharedRecipe::InLanes(InLanes::RoundInt { from, to })))
            }
            (SourceKind::Int(from), Rounding::ToPacked(to)) => {
                Some(Self::RoundIntToPacked(RoundIntToPacked { from, to }))
            }
            _ => None,
        }
    }

    /// `i` and `l` must be the same instruction set.
    pub(crate) fn build<I: Instructions + 'static, L: Lanes + 'static>(self, i: I, l: L) -> Box<dyn CastLoop> {
        match self {
            Self::Shared(shared) => shared.build(i, l),
            Self::Element(element) => element.build(i),
            Self::RoundIntToPacked(rounding) => rounding.build(l),
        }
    }
}
