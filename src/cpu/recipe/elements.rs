//! Functions of one element. The compiler vectorises their loops with the vectors of an instruction set.

use super::kinds::{IntBits, LongBits, LongFloat, LongInt, PackedBits, ShortBits, SinkKind, SourceKind, WholeBits};
use crate::cpu::cast_loop::{CastLoop, CopyCodes, FROM_16_BITS, Map, NEVER, ONE_LINE, SEVERAL_LINES};
use crate::cpu::isa::Instructions;
use crate::cpu::lanes::portable::Portable;
use crate::cpu::packed_loop::Packed;
use crate::cpu::scalar::{self, Exact, RoundF64};
use crate::cpu::sign_rule::{ANY, KEPT, NO_NEGATIVE_ZERO, SignRule};
use crate::cpu::word::Word;
use crate::types::layout::CodeLayout;

/// A function that is the fastest for its pairs on every instruction set.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Element {
    Widen(Widened),
    /// 1 for codes in which a bit of `mask` is set, and 0 for all others.
    IsNonzero {
        bits: WholeBits,
        mask: u64,
    },
    Narrow(Narrowed),
    /// The low bits of a byte. Its other bits become zero.
    Mask(ShortBits),
    /// 64-bit integers to FLOAT.
    Int64ToF32 {
        signed: bool,
    },
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

/// A function of an integer or of BOOL whose result is at least as wide. There is so little to compute that AVX-512 is not faster than
/// AVX2.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Widened {
    BoolToInt(WholeBits),
    BoolToF32,
    BoolToF64,
    Int {
        from: WholeInt,
        to: WholeBits,
    },
    /// An integer of at most 32 bits.
    IntToF32(WholeInt),
    IntToF64(WholeInt),
}

/// The low bits of an integer, by the bits of the integer and of the result.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Narrowed {
    From16To8,
    From32To8,
    From64To8,
    From32To16,
    From64To16,
    From64To32,
}

impl Narrowed {
    /// `None` if the result is not narrower.
    fn new(from: WholeBits, to: WholeBits) -> Option<Self> {
        Some(match (from, to) {
            (WholeBits::Bits16, WholeBits::Bits8) => Self::From16To8,
            (WholeBits::Bits32, WholeBits::Bits8) => Self::From32To8,
            (WholeBits::Bits64, WholeBits::Bits8) => Self::From64To8,
            (WholeBits::Bits32, WholeBits::Bits16) => Self::From32To16,
            (WholeBits::Bits64, WholeBits::Bits16) => Self::From64To16,
            (WholeBits::Bits64, WholeBits::Bits32) => Self::From64To32,
            _ => return None,
        })
    }
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

/// As `map!`. Past the caches, the vectors have half the length, and `$stream` says which loop there is.
macro_rules! map_past_caches {
    ($isa:ident, $stream:ident, |$x:ident: $word:ty| $code:expr) => {
        map_past_caches::<_, $word, _, $stream>(
            $isa,
            #[inline(always)]
            move |$x: $word| $code,
        )
    };
}

fn map<I: Instructions + 'static, S: Word + 'static, D: Word + 'static>(
    isa: I,
    function: impl Fn(S) -> D + Copy + Send + Sync + 'static,
) -> Box<dyn CastLoop> {
    Box::new((Portable(isa), Map::<S, D, _, FROM_16_BITS>::new(function)))
}

fn map_past_caches<I: Instructions + 'static, S: Word + 'static, D: Word + 'static, const STREAM: usize>(
    isa: I,
    function: impl Fn(S) -> D + Copy + Send + Sync + 'static,
) -> Box<dyn CastLoop> {
    let code = Map::<S, D, _, STREAM>::new(function);
    Box::new((Portable(isa), Portable(isa.half_width()), code))
}

impl Element {
    /// The function of a pair; `None` if there is none.
    pub(super) fn new(source: SourceKind, sink: SinkKind) -> Option<Self> {
        use super::kinds::IntBits::{InBytes, Whole};

        match (source, sink) {
            (SourceKind::Bool, SinkKind::LowBits(Whole(bits))) => Some(Self::Widen(Widened::BoolToInt(bits))),
            (SourceKind::Bool, SinkKind::LowBits(InBytes(_))) => {
                Some(Self::Widen(Widened::BoolToInt(WholeBits::Bits8)))
            }
            (_, SinkKind::Mask(to)) => Some(Self::Mask(to)),
            (SourceKind::Int8 { .. }, SinkKind::LowBits(InBytes(to))) => Some(Self::Mask(to.into())),
            (SourceKind::Bool, SinkKind::F32) => Some(Self::Widen(Widened::BoolToF32)),
            (SourceKind::Bool, SinkKind::F64) => Some(Self::Widen(Widened::BoolToF64)),
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
            SinkKind::LowBits(IntBits::Whole(to)) => {
                let narrowed = Narrowed::new(from.bits, to).map(Self::Narrow);
                Some(narrowed.unwrap_or(Self::Widen(Widened::Int { from, to })))
            }
            SinkKind::F32 if from.bits == WholeBits::Bits64 => Some(Self::Int64ToF32 { signed: from.signed }),
            SinkKind::F32 => Some(Self::Widen(Widened::IntToF32(from))),
            SinkKind::F64 => Some(Self::Widen(Widened::IntToF64(from))),
            _ => None,
        }
    }

    pub(super) fn build<I: Instructions + 'static>(self, i: I) -> Box<dyn CastLoop> {
        match self {
            Self::Widen(widened) => widened.build(i.half_width()),
            Self::IsNonzero { bits, mask } => is_nonzero(i, bits, mask),
            Self::Narrow(narrowed) => narrowed.build(i),
            Self::Mask(to) => {
                // The mask is a variable, so that one loop serves all widths.
                let mask = to.mask();
                map!(i, |x: u8| x & mask)
            }
            Self::Int64ToF32 { signed } => {
                with_bool!(SIGNED = signed, map!(i, |x: u64| scalar::int64_to_f32::<SIGNED>(x)))
            }
            Self::Int8Exact { signed: true, to } => map!(i, |x: i8| to.code::<true>(x.into())),
            Self::Int8Exact { signed: false, to } => map!(i, |x: u8| to.code::<false>(x.into())),
            Self::Bf16ToF32 => map!(i, |x: u16| scalar::canonical_f32(u32::from(x) << 16)),
            Self::F64ToF32 => map_past_caches!(i, SEVERAL_LINES, |x: u64| scalar::f64_to_f32(x)),
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
                Box::new((Portable(i), code))
            }
        }
    }
}

impl Widened {
    fn build<I: Instructions + 'static>(self, i: I) -> Box<dyn CastLoop> {
        use WholeBits::{Bits8, Bits16, Bits32, Bits64};

        macro_rules! extend {
            ($From:ident, $To:ident) => {
                map!(i, |x: $From| x as $To)
            };
        }
        macro_rules! to_float {
            ($Int:ident, $Float:ident) => {
                map!(i, |x: $Int| (x as $Float).to_bits())
            };
        }
        match self {
            Self::BoolToInt(Bits8) => is_nonzero(i, Bits8, u64::MAX),
            Self::BoolToInt(Bits16) => map!(i, |x: u8| u16::from(x != 0)),
            Self::BoolToInt(Bits32) => map!(i, |x: u8| u32::from(x != 0)),
            Self::BoolToInt(Bits64) => map!(i, |x: u8| u64::from(x != 0)),
            Self::BoolToF32 => map!(i, |x: u8| f32::from(x != 0).to_bits()),
            Self::BoolToF64 => map!(i, |x: u8| f64::from(x != 0).to_bits()),
            Self::Int { from: WholeInt { bits, signed }, to } => match (bits, signed, to) {
                (Bits8, true, Bits16) => extend!(i8, u16),
                (Bits8, false, Bits16) => extend!(u8, u16),
                (Bits8, true, Bits32) => extend!(i8, u32),
                (Bits8, false, Bits32) => extend!(u8, u32),
                (Bits8, true, Bits64) => extend!(i8, u64),
                (Bits8, false, Bits64) => extend!(u8, u64),
                (Bits16, true, Bits32) => extend!(i16, u32),
                (Bits16, false, Bits32) => extend!(u16, u32),
                (Bits16, true, Bits64) => extend!(i16, u64),
                (Bits16, false, Bits64) => extend!(u16, u64),
                (Bits32, true, Bits64) => extend!(i32, u64),
                (Bits32, false, Bits64) => extend!(u32, u64),
                // The same width.
                _ => Box::new(CopyCodes(i)),
            },
            Self::IntToF32(WholeInt { bits, signed }) => match (bits, signed) {
                (Bits8, true) => to_float!(i8, f32),
                (Bits8, false) => to_float!(u8, f32),
                (Bits16, true) => to_float!(i16, f32),
                (Bits16, false) => to_float!(u16, f32),
                (_, true) => to_float!(i32, f32),
                (_, false) => to_float!(u32, f32),
            },
            Self::IntToF64(WholeInt { bits, signed }) => match (bits, signed) {
                (Bits8, true) => to_float!(i8, f64),
                (Bits8, false) => to_float!(u8, f64),
                (Bits16, true) => to_float!(i16, f64),
                (Bits16, false) => to_float!(u16, f64),
                (Bits32, true) => to_float!(i32, f64),
                (Bits32, false) => to_float!(u32, f64),
                (Bits64, signed) => {
                    with_bool!(SIGNED = signed, map!(i, |x: u64| scalar::int64_to_f64::<SIGNED>(x)))
                }
            },
        }
    }
}

impl Narrowed {
    fn build<I: Instructions + 'static>(self, i: I) -> Box<dyn CastLoop> {
        match self {
            Self::From16To8 => Self::build_16_to_8(i.half_width()),
            Self::From32To8 => map_past_caches!(i, ONE_LINE, |x: u32| x as u8),
            // With AVX-512, non-temporal stores have 0.93 of the speed in AVX2's loop, and half of it in its own.
            Self::From64To8 => map!(i, |x: u64| x as u8),
            Self::From32To16 => map_past_caches!(i, ONE_LINE, |x: u32| x as u16),
            Self::From64To16 => map_past_caches!(i, SEVERAL_LINES, |x: u64| x as u16),
            Self::From64To32 => Self::build_64_to_32(i.half_width()),
        }
    }

    fn build_16_to_8<I: Instructions + 'static>(i: I) -> Box<dyn CastLoop> {
        map_past_caches!(i, SEVERAL_LINES, |x: u16| x as u8)
    }

    fn build_64_to_32<I: Instructions + 'static>(i: I) -> Box<dyn CastLoop> {
        map!(i, |x: u64| x as u32)
    }
}

fn is_nonzero<I: Instructions + 'static>(i: I, bits: WholeBits, mask: u64) -> Box<dyn CastLoop> {
    // A float is not zero if any bit but its sign is set. The mask is a variable because the compiler makes slower
    // loops of a constant one.
    macro_rules! with_mask {
        ($Word:ty) => {
            map_past_caches!(i, SEVERAL_LINES, |x: $Word| u8::from(x & mask as $Word != 0))
        };
    }
    match bits {
        WholeBits::Bits8 => map_past_caches!(i, SEVERAL_LINES, |x: u8| u8::from(x != 0)),
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
                let (bytes, from_bits) = match from {
                    LongBits::Bits16 => (Narrowed::From16To8, 16),
                    LongBits::Bits32 => (Narrowed::From32To8, 32),
                    LongBits::Bits64 => (Narrowed::From64To8, 64),
                };
                Box::new(Packed::new(bytes.build(i), from_bits, to.number()))
            }
            Self::LowBitsInBytes { from, to } => low_bytes(i, from, ShortBits::from(to).mask()),
            Self::RoundF64 { to, to_bits, signs, layout } => {
                let bytes = match signs {
                    SignRule::Kept => map!(i, |x: u64| to.code::<KEPT>(x) as u8),
                    SignRule::NoNegativeZero => map!(i, |x: u64| to.code::<NO_NEGATIVE_ZERO>(x) as u8),
                    SignRule::Any => map!(i, |x: u64| to.code::<ANY>(x) as u8),
                };
                let packs = to_bits < 8 && layout == CodeLayout::Packed;
                if packs { Box::new(Packed::new(bytes, 64, to_bits)) } else { bytes }
            }
        }
    }
}
