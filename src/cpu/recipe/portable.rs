//! The recipes of portable code.

use super::elements::{Element, PortableElement};
use super::kinds::{IntBits, LongFloat, ShortBits, SinkKind, SourceKind};
use super::lanes::{InLanes, RoundFloat16, RoundIntToPacked, WideFloat};
use super::{InstructionSet, SharedRecipe};
use crate::bits::reference::EncodeFloat;
use crate::cpu::cast_loop::CastLoop;
use crate::cpu::code_cast::CodeCast;
use crate::cpu::isa::{Baseline, Instructions};
use crate::cpu::lanes::{Lanes, portable::Portable};
use crate::cpu::packed_loop::{PackCodes, UnpackCodes};
use crate::cpu::scalar::RoundF64;
use crate::cpu::sign_rule::SignRule;
use crate::cpu::sink::Rounding;
use crate::types::layout::CodeLayout;

/// A recipe of portable code.
pub(crate) enum PortableRecipe {
    Shared(SharedRecipe),
    Element(PortableElement),
    RoundIntToPacked(RoundIntToPacked, CodeLayout),
    RoundFloat16(RoundFloat16, CodeLayout),
    /// The low bits of bytes are packed.
    Pack(ShortBits),
    /// Packed codes to the same codes, one in each byte.
    Unpack(ShortBits),
}

impl InstructionSet for Baseline {
    type Recipe = PortableRecipe;

    fn recipe(cast: &CodeCast) -> PortableRecipe {
        let (source, sink) = (SourceKind::new(cast.conversion.from), SinkKind::new(cast));
        if let Some(shared) = SharedRecipe::new(source, sink, cast.destination_layout()) {
            return PortableRecipe::Shared(shared);
        }
        match (source, sink) {
            (_, SinkKind::Pack(bits)) => return PortableRecipe::Pack(bits),
            (SourceKind::Int8 { .. }, SinkKind::LowBits(IntBits::Packed(bits))) => {
                return PortableRecipe::Pack(bits.into());
            }
            (_, SinkKind::Unpack(bits)) => return PortableRecipe::Unpack(bits),
            _ => {}
        }
        if let Some(element) = PortableElement::new(source, sink) {
            return PortableRecipe::Element(element);
        }
        if source.is_short() {
            return PortableRecipe::Shared(SharedRecipe::memory_table(cast));
        }
        let rounded = match sink {
            SinkKind::Round(to) => PortableRecipe::rounded(source, &to, cast),
            _ => None,
        };
        rounded.unwrap_or(PortableRecipe::Shared(SharedRecipe::Reference(*cast)))
    }

    fn build(self, recipe: PortableRecipe) -> Box<dyn CastLoop> {
        recipe.build(self, Portable(self))
    }
}

impl PortableRecipe {
    fn rounded(source: SourceKind, to: &EncodeFloat, cast: &CodeCast) -> Option<Self> {
        let layout = cast.destination_layout();
        match (source, Rounding::new(to)?) {
            // Unlike lanes, this function has words of one width, which is faster in portable code.
            (SourceKind::Float(LongFloat::F64), _) => {
                let rounding = RoundF64::new(to);
                Some(match to.bits {
                    16 => Self::Shared(SharedRecipe::Element(Element::F64To16(rounding))),
                    bits => {
                        let (to_bits, signs) = (bits as usize, SignRule::new(to));
                        Self::Element(PortableElement::RoundF64 { to: rounding, to_bits, signs, layout })
                    }
                })
            }
            (SourceKind::Float(from), to) => match WideFloat::new(from) {
                Some(from) => Some(Self::Shared(SharedRecipe::InLanes(InLanes::Round { from, to }, layout))),
                None => RoundFloat16::new(from, to, cast.conversion.to).map(|round| Self::RoundFloat16(round, layout)),
            },
            (SourceKind::Int(from), Rounding::ToBytes(to)) => {
                Some(Self::Shared(SharedRecipe::InLanes(InLanes::RoundInt { from, to }, layout)))
            }
            (SourceKind::Int(from), Rounding::ToPacked(to)) => {
                Some(Self::RoundIntToPacked(RoundIntToPacked { from, to }, layout))
            }
            _ => None,
        }
    }

    /// `i` and `l` must be the same instruction set.
    pub(crate) fn build<I: Instructions + 'static, L: Lanes + 'static>(self, i: I, l: L) -> Box<dyn CastLoop> {
        match self {
            Self::Shared(shared) => shared.build(i, l),
            Self::Element(element) => element.build(i),
            Self::RoundIntToPacked(rounding, layout) => rounding.build(l, layout),
            Self::RoundFloat16(rounding, layout) => rounding.build(l, layout),
            Self::Pack(bits) => Box::new(PackCodes(bits.number() as u32)),
            Self::Unpack(bits) => Box::new(UnpackCodes(bits.number() as u32)),
        }
    }
}
