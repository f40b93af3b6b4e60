//! Functions of one element. The compiler vectorises their loops with the vectors of an instruction set.

use super::kinds::{IntBits, LongBits, LongFloat, LongInt, PackedBits, ShortBits, SinkKind, SourceKind, WholeBits};
use crate::cpu::cast_loop::{CastLoop, Map, Packed, Steps};
use crate::cpu::isa::Instructions;
use crate::cpu::lanes::portable::Portable;
use crate::cpu::scalar::{self, Exact, RoundF64};
use crate::cpu::sign_rule::{ANY, KEPT, NO_NEGATIVE_ZERO, SignRule};
use crate::cpu::word::Word;
use crate::types::layout::CodeLayout;

/// A function that is the fastest for its pairs on every instruction set.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Element {
    FromBool(FromBool),
    /// 1 for codes in which a bit of `mask` is set, and 0 for all others.
    IsNonzero {
        bits: WholeBits,
        mask: u64,
    },
    LowBits {
        from: WholeInt,
        to: WholeBits,
    },
    /// The low bits of a byte. Its other bits become zero.
    Mask(ShortBits),
    IntToF32(WholeInt),
    IntToF64(WholeInt),
    /// 8-bit integers to 16-bit floats that hold all of them.
    Int8Exact {
        signed: bool,
        to: Exact,
    },
    Bf16ToF32,
    F64ToF32,
    Bf16ToF64,
    F32ToF64,
    F64ToInt64 {
        signed: bool,
    },
    ToUint32(LongFloat),
    /// DOUBLE to a float of 16 bits.
    F64To16(RoundF64),
}

/// A function that is the fastest for its pairs in portable code.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PortableElement {
    F16ToF32,
    F16ToF64,
    ToInt32(LongFloat),
    F16ToInt64 {
        signed: bool,
    },
    Bf16ToInt64 {
        signed: bool,
    },
    F32ToInt64 {
        signed: bool,
    },
    /// Codes are packed afterwards.
    LowBits {
        from: LongBits,
        to: PackedBits,
    },
    /// One code in each byte.
    LowBitsInBytes {
        from: LongBits,
        to: PackedBits,
    },
    /// DOUBLE to a float of at most 8 bits. Codes of less than a byte may be packed afterwards.
    RoundF64 {
        to: RoundF64,
        to_bits: usize,
        signs: SignRule,
        layout: CodeLayout,
    },
}

/// What BOOL becomes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FromBool {
    Int(WholeBits),
    F32,
    F64,
}

/// An integer of a whole number of bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WholeInt {
    pub bits: WholeBits,
    pub signed: bool,
}

impl From<LongInt> for WholeInt {
    fn from(LongInt { bits, signed }: LongInt) -> Self {
        Self { bits: bits.whole(), signed }
    }
}

/// Evaluates an expression with the integer type `$Int`, which has `$bits` bits and is `$signed`.
macro_rules! with_int {
    ($Int:ident: $bits:expr, $signed:expr, $made:expr) => {
        with_int!($Int: $bits, $signed, $made, of Bits8 i8 u8, Bits16 i16 u16, Bits32 i32 u32, Bits64 i64 u64)
    };
    ($Int:ident: $bits:expr, $signed:expr, $made:expr, of $($width:ident $i:ident $u:ident),+) => {
        match ($bits, $signed) {
            $((WholeBits::$width, true) => {
                type $Int = $i;
                $made
            }
            (WholeBits::$width, false) => {
                type $Int = $u;
                $made
            })+
        }
    };
}

/// `map!(isa, |x: word| code)` is the loop of a function that is always inlined.
macro_rules! map {
    ($isa:ident, |$x:ident: $word:ty| $code:expr) => {
        map(
            $isa,
            #[inline(always)]
            move |$x: $word| $code,
        )
    };
}

/// There is a loop with non-temporal stores for words of at least 16 bits. To words of 8 bits, such stores gain
/// nothing.
const AT_LEAST_16_BITS: usize = 2;

fn map<I: Instructions + 'static, S: Word + 'static, D: Word + 'static>(
    isa: I,
    function: impl Fn(S) -> D + Copy + Send + Sync + 'static,
) -> Box<dyn CastLoop> {
    Box::new(Steps(Portable(isa), Map::<S, D, _, AT_LEAST_16_BITS>::new(function)))
}

impl Element {
    /// The function of a pair; `None` if there is none.
    pub(super) fn new(source: SourceKind, sink: SinkKind) -> Option<Self> {
        use super::kinds::IntBits::{InBytes, Whole};

        match (source, sink) {
            (SourceKind::Bool, SinkKind::LowBits(Whole(bits))) => Some(Self::FromBool(FromBool::Int(bits))),
            (SourceKind::Bool, SinkKind::LowBits(InBytes(_))) => Some(Self::FromBool(FromBool::Int(WholeBits::Bits8))),
            (_, SinkKind::Mask(to)) => Some(Self::Mask(to)),
            (SourceKind::Int8 { .. }, SinkKind::LowBits(InBytes(to))) => Some(Self::Mask(to.into())),
            (SourceKind::Bool, SinkKind::F32) => Some(Self::FromBool(FromBool::F32)),
            (SourceKind::Bool, SinkKind::F64) => Some(Self::FromBool(FromBool::F64)),
            (SourceKind::Bool | SourceKind::Int8 { .. }, SinkKind::Bool) => {
                Some(Self::IsNonzero { bits: WholeBits::Bits8, mask: u64::MAX })
            }
            (SourceKind::Int8 { signed }, SinkKind::Round(to)) => {
                Exact::new(&to).map(|to| Self::Int8Exact { signed, to })
            }
            (SourceKind::Int8 { signed }, _) => Self::of_int(WholeInt { bits: WholeBits::Bits8, signed }, sink),
            (SourceKind::Int(from), SinkKind::Bool) => {
                Some(Self::IsNonzero { bits: from.bits.whole(), mask: u64::MAX })
            }
            (SourceKind::Int(from), _) => Self::of_int(from.into(), sink),
            (SourceKind::Float(from), SinkKind::Bool) => {
                Some(Self::IsNonzero { bits: from.bits(), mask: from.magnitude_mask() })
            }
            (SourceKind::Float(from), SinkKind::Uint32) => Some(Self::ToUint32(from)),
            (SourceKind::Float(LongFloat::Bf16), SinkKind::F32) => Some(Self::Bf16ToF32),
            (SourceKind::Float(LongFloat::F64), SinkKind::F32) => Some(Self::F64ToF32),
            (SourceKind::Float(LongFloat::Bf16), SinkKind::F64) => Some(Self::Bf16ToF64),
            (SourceKind::Float(LongFloat::F32), SinkKind::F64) => Some(Self::F32ToF64),
            (SourceKind::Float(LongFloat::F64), SinkKind::Int64 { signed }) => Some(Self::F64ToInt64 { signed }),
            _ => None,
        }
    }

    fn of_int(from: WholeInt, sink: SinkKind) -> Option<Self> {
        match sink {
            SinkKind::LowBits(IntBits::Whole(to)) => Some(Self::LowBits { from, to }),
            SinkKind::F32 => Some(Self::IntToF32(from)),
            SinkKind::F64 => Some(Self::IntToF64(from)),
            _ => None,
        }
    }

    pub(super) fn build<I: Instructions + 'static>(self, i: I) -> Box<dyn CastLoop> {
        match self {
            Self::FromBool(FromBool::Int(bits)) => with_int!(To: bits, false, map!(i, |x: u8| To::from(x != 0))),
            Self::FromBool(FromBool::F32) => map!(i, |x: u8| f32::from(x != 0).to_bits()),
            Self::FromBool(FromBool::F64) => map!(i, |x: u8| f64::from(x != 0).to_bits()),
            Self::IsNonzero { bits, mask } => is_nonzero(i, bits, mask),
            Self::LowBits { from: WholeInt { bits, signed }, to } => {
                with_int!(From: bits, signed, with_int!(To: to, false, map!(i, |x: From| x as To)))
            }
            Self::Mask(to) => {
                // The mask is a variable, so that one loop serves all widths.
                let mask = to.mask();
                map!(i, |x: u8| x & mask)
            }
            Self::IntToF32(WholeInt { bits: WholeBits::Bits64, signed }) => {
                with_bool!(SIGNED = signed, map!(i, |x: u64| scalar::int64_to_f32::<SIGNED>(x)))
            }
            Self::IntToF32(WholeInt { bits, signed }) => {
                with_int!(Int: bits, signed, map!(i, |x: Int| (x as f32).to_bits()))
            }
            Self::IntToF64(WholeInt { bits: WholeBits::Bits64, signed }) => {
                with_bool!(SIGNED = signed, map!(i, |x: u64| scalar::int64_to_f64::<SIGNED>(x)))
            }
            Self::IntToF64(WholeInt { bits, signed }) => {
                with_int!(Int: bits, signed, map!(i, |x: Int| (x as f64).to_bits()))
            }
            Self::Int8Exact { signed: true, to } => map!(i, |x: i8| to.code::<true>(x.into())),
            Self::Int8Exact { signed: false, to } => map!(i, |x: u8| to.code::<false>(x.into())),
            Self::Bf16ToF32 => map!(i, |x: u16| scalar::canonical_f32(u32::from(x) << 16)),
            Self::F64ToF32 => map!(i, |x: u64| scalar::f64_to_f32(x)),
            Self::Bf16ToF64 => map!(i, |x: u16| scalar::f32_to_f64(u32::from(x) << 16)),
            Self::F32ToF64 => map!(i, |x: u32| scalar::f32_to_f64(x)),
            Self::F64ToInt64 { signed } => {
                with_bool!(SIGNED = signed, map!(i, |x: u64| scalar::f64_to_int64::<SIGNED>(f64::from_bits(x))))
            }
            Self::ToUint32(LongFloat::F16) => map!(i, |x: u16| scalar::f16_to_int32(x, 0)),
            Self::ToUint32(LongFloat::Bf16) => map!(i, |x: u16| scalar::f32_to_uint32(u32::from(x) << 16)),
            Self::ToUint32(LongFloat::F32) => map!(i, |x: u32| scalar::f32_to_uint32(x)),
            Self::ToUint32(LongFloat::F64) => map!(i, |x: u64| scalar::f64_to_uint32(x)),
            Self::F64To16(to) => {
                // The compiler does not vectorise a loop of this function with non-temporal stores: with AVX2 it takes
                // twelve times as long.
                let code = Map::<u64, u16, _, NEVER>::new(
                    #[inline(always)]
                    move |x| to.code::<KEPT>(x) as u16,
                );
                Box::new(Steps(Portable(i), code))
            }
        }
    }
}

/// More bytes than the words have: there is no loop with non-temporal stores.
const NEVER: usize = 4;

fn is_nonzero<I: Instructions + 'static>(i: I, bits: WholeBits, mask: u64) -> Box<dyn CastLoop> {
    // A float is not zero if any bit but its sign is set. The mask is a variable because the compiler makes slower
    // loops of a constant one.
    macro_rules! with_mask {
        ($Word:ty) => {
            Box::new(Steps(
                Portable(i),
                Map::<$Word, u8, _, ALWAYS>::new(
                    #[inline(always)]
                    move |x| u8::from(x & mask as $Word != 0),
                ),
            ))
        };
    }
    match bits {
        // Non-temporal stores gain nothing here.
        WholeBits::Bits8 => map!(i, |x: u8| u8::from(x != 0)),
        WholeBits::Bits16 => with_mask!(u16),
        WholeBits::Bits32 => with_mask!(u32),
        WholeBits::Bits64 => with_mask!(u64),
    }
}

/// The low bytes of integers under a mask.
fn low_bytes<I: Instructions + 'static>(i: I, from: LongBits, mask: u8) -> Box<dyn CastLoop> {
    match from {
        LongBits::Bits16 => map!(i, |x: u16| x as u8 & mask),
        LongBits::Bits32 => map!(i, |x: u32| x as u8 & mask),
        LongBits::Bits64 => map!(i, |x: u64| x as u8 & mask),
    }
}

/// There is a loop with non-temporal stores for words of any size.
const ALWAYS: usize = 1;

impl PortableElement {
    /// The function of a pair; `None` if there is none.
    pub(super) fn new(source: SourceKind, sink: SinkKind) -> Option<Self> {
        use super::kinds::IntBits::{InBytes, Packed};

        match (source, sink) {
            (SourceKind::Int(from), SinkKind::LowBits(Packed(to))) => Some(Self::LowBits { from: from.bits, to }),
            (SourceKind::Int(from), SinkKind::LowBits(InBytes(to))) => {
                Some(Self::LowBitsInBytes { from: from.bits, to })
            }
            (SourceKind::Float(from), SinkKind::Int32) => Some(Self::ToInt32(from)),
            (SourceKind::Float(LongFloat::F16), SinkKind::F32) => Some(Self::F16ToF32),
            (SourceKind::Float(LongFloat::F16), SinkKind::F64) => Some(Self::F16ToF64),
            (SourceKind::Float(LongFloat::F16), SinkKind::Int64 { signed }) => Some(Self::F16ToInt64 { signed }),
            (SourceKind::Float(LongFloat::Bf16), SinkKind::Int64 { signed }) => Some(Self::Bf16ToInt64 { signed }),
            (SourceKind::Float(LongFloat::F32), SinkKind::Int64 { signed }) => Some(Self::F32ToInt64 { signed }),
            _ => None,
        }
    }

    pub(super) fn build<I: Instructions + 'static>(self, i: I) -> Box<dyn CastLoop> {
        match self {
            Self::F16ToF32 => map!(i, |x: u16| scalar::canonical_f32(scalar::f16_to_f32(x))),
            Self::F16ToF64 => map!(i, |x: u16| scalar::f32_to_f64(scalar::f16_to_f32(x))),
            Self::ToInt32(LongFloat::F16) => map!(i, |x: u16| scalar::f16_to_int32(x, 1 << 31)),
            Self::ToInt32(LongFloat::Bf16) => map!(i, |x: u16| scalar::f32_to_int32(u32::from(x) << 16)),
            Self::ToInt32(LongFloat::F32) => map!(i, |x: u32| scalar::f32_to_int32(x)),
            Self::ToInt32(LongFloat::F64) => map!(i, |x: u64| scalar::f64_to_int32(x)),
            Self::F16ToInt64 { signed } => {
                with_bool!(SIGNED = signed, map!(i, |x: u16| scalar::f16_to_int64::<SIGNED>(x)))
            }
            Self::Bf16ToInt64 { signed } => with_bool!(SIGNED = signed, {
                map!(i, |x: u16| scalar::f64_to_int64::<SIGNED>(f64::from(f32::from_bits(u32::from(x) << 16))))
            }),
            Self::F32ToInt64 { signed } => with_bool!(SIGNED = signed, {
                map!(i, |x: u32| scalar::f64_to_int64::<SIGNED>(f64::from(f32::from_bits(x))))
            }),
            Self::LowBits { from, to } => {
                // Packing drops the higher bits.
                let from = WholeInt { bits: from.whole(), signed: false };
                let (from_bits, bytes) = (from.bits.number(), Element::LowBits { from, to: WholeBits::Bits8 }.build(i));
                Box::new(Packed { bytes, from_bits, to_bits: to.number() })
            }
            Self::LowBitsInBytes { from, to } => low_bytes(i, from, ShortBits::from(to).mask()),
            Self::RoundF64 { to, to_bits, signs, layout } => {
                let bytes = match signs {
                    SignRule::Kept => map!(i, |x: u64| to.code::<KEPT>(x) as u8),
                    SignRule::NoNegativeZero => map!(i, |x: u64| to.code::<NO_NEGATIVE_ZERO>(x) as u8),
                    SignRule::Any => map!(i, |x: u64| to.code::<ANY>(x) as u8),
                };
                let packs = to_bits < 8 && layout == CodeLayout::Packed;
                if packs { Box::new(Packed { bytes, from_bits: 64, to_bits }) } else { bytes }
            }
        }
    }
}
