//! The processor's own conversion to FLOAT16.

use super::kinds::{LongBits, LongFloat, LongInt, SinkKind, SourceKind};
use super::lanes::{codes, with_int};
use crate::cpu::cast_loop::{CastLoop, SourceToSink};
use crate::cpu::sink::convert_to_f16::{ConvertToF16, ConvertsToF16};
use crate::cpu::source::{Bf16, F32Source, F64Source, Int, Numbers};

/// A source that is converted by way of binary32, and the conversion.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ToF16 {
    pub from: Converted,
    pub to: ConvertToF16,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Converted {
    Bf16,
    F32,
    F64,
    Int(LongInt),
}

impl ToF16 {
    /// `None` for other pairs.
    pub(super) fn new(source: SourceKind, sink: SinkKind) -> Option<Self> {
        let SinkKind::Round(to) = sink else { return None };
        let from = match source {
            SourceKind::Float(LongFloat::Bf16) => Converted::Bf16,
            SourceKind::Float(LongFloat::F32) => Converted::F32,
            SourceKind::Float(LongFloat::F64) => Converted::F64,
            SourceKind::Int(from) => Converted::Int(from),
            _ => return None,
        };
        ConvertToF16::new(&to).map(|to| Self { from, to })
    }

    /// The loop in the lanes `l`, and past the caches in the lanes `n` if elements have more than 16 bits.
    pub(super) fn build<L: ConvertsToF16 + 'static, N: ConvertsToF16 + 'static>(self, l: L, n: N) -> Box<dyn CastLoop> {
        let Self { from, to } = self;
        match from {
            Converted::Bf16 => loop_of(l, n, Bf16, to),
            Converted::F32 => loop_of(l, n, F32Source, to),
            Converted::F64 => loop_of(l, n, F64Source, to),
            Converted::Int(from) => with_int!(|source| from, ODD = false, loop_of(l, n, source, to)),
        }
    }
}

fn loop_of<L, N, S>(l: L, n: N, source: S, to: ConvertToF16) -> Box<dyn CastLoop>
where
    L: ConvertsToF16 + 'static,
    N: ConvertsToF16 + 'static,
    S: Numbers<L> + Numbers<N> + 'static,
{
    if const { S::BITS > 16 } { Box::new((l, n, SourceToSink(source, to))) } else { codes(l, source, to) }
}
