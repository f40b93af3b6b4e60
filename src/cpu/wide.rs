//! Sources of more than 8 bits, and those 8-bit integers and truths that need no rounding: decoded into a hub and encoded from
//! it, a block at a time.

use super::decode::{self, Half};
use super::encode::{self, Signs, Way, Whole, double, single};
use super::half::{self, HalfRounding, NEXT, SAME, SMALLER};
use super::level::{Level, each, inlined};
use super::words::{Word, fill_words, words};
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
use super::x86;
use super::{Scratch, subbyte};
use crate::conversion::{Conversion, Encode, needs_subnormals};
use crate::element::Kind;
use crate::reference::{DecodeFloat, EncodeInt};

/// The casts of one pair.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wide {
    from_bits: u32,
    to_bits: u32,
    load: Load,
    store: Store,
}

/// What the source's words are.
#[derive(Clone, Copy, Debug)]
enum Load {
    /// Whether the destination tells subnormals apart.
    Half(Half, bool),
    /// The upper half of binary32.
    Upper,
    Single,
    Double,
    Int {
        signed: bool,
    },
}

/// What becomes of them.
#[derive(Clone, Copy, Debug)]
enum Store {
    /// Low bits, or more of the sign.
    Int,
    /// Whether any of these bits is set.
    Bool {
        mask: u64,
    },
    Single,
    Double,
    FromSingle(Encoder<single::Rounding, single::Scale>),
    FromDouble(Encoder<double::Rounding, double::Scale>),
    /// Integers to narrow floats.
    FromInt(Whole),
    /// Integers to FLOAT8E8M0, those of 64 bits by the second.
    IntScale(single::Scale, double::Scale),
    /// To 64-bit integers.
    Long {
        signed: bool,
    },
    /// 16-bit floats to narrower ones, and those of smaller exponents, in their own words.
    FromHalves(HalfRounding),
    /// 16-bit floats to integers of at most 32 bits.
    FromHalf(Half, EncodeInt),
    /// Upper halves to integers of at most 16.
    FromUpper,
}

/// From a hub to codes of at most 32 bits.
#[derive(Clone, Copy, Debug)]
enum Encoder<R, S> {
    Float(R),
    Scale(S),
    Int {
        fail: u32,
    },
    Clamp {
        below: i32,
        above: i32,
    },
    /// To 32-bit integers that are the low half of 64-bit ones.
    LowWord,
}

impl Wide {
    /// `None` for sources that go by table, and for what only the twins do: no pair that there is now.
    pub(crate) fn new(conversion: &Conversion, level: Level) -> Option<Self> {
        let [from_bits, to_bits] = [conversion.from, conversion.to].map(|t| t.code_bits());
        let (load, mask) = match (conversion.from.kind(), from_bits) {
            // Vector instructions are made for bytes to words, as they are for wider ones; not to narrow floats.
            (Kind::Int { signed }, 8)
                if to_bits == 16 || !matches!(conversion.encode, Encode::Float(_) | Encode::E8m0(_)) =>
            {
                (Load::Int { signed }, u64::MAX)
            }
            // True is 1 in all of these.
            (Kind::Bool, 8) if to_bits == 8 && matches!(conversion.encode, Encode::Int(_) | Encode::Bool) => {
                return Some(Self {
                    from_bits,
                    to_bits,
                    load: Load::Int { signed: false },
                    store: Store::Bool { mask: 1 },
                });
            }
            (_, ..=8) => return None,
            (Kind::Float(format), 16) if format.has_infinity() && format.exp_bits == 8 && format.bias == 127 => {
                (Load::Upper, format.magnitude_mask())
            }
            (Kind::Float(format), 16) => {
                let half = Half::new(&DecodeFloat::new(&format, true))?;
                (Load::Half(half, needs_subnormals(&format, conversion.to)), format.magnitude_mask())
            }
            (Kind::Float(format), 32) => (Load::Single, format.magnitude_mask()),
            (Kind::Float(format), _) => (Load::Double, format.magnitude_mask()),
            (Kind::Int { signed }, _) => (Load::Int { signed }, u64::MAX),
            (Kind::Bool | Kind::String, _) => return None,
        };
        let (from_int, from_double) = (matches!(load, Load::Int { .. }), matches!(load, Load::Double));
        let store = match conversion.encode {
            Encode::Copy | Encode::ClampInfinity { .. } => return None,
            Encode::Bool => Store::Bool { mask },
            Encode::Int(_) | Encode::Int64 { .. } if from_int => Store::Int,
            Encode::F32 => Store::Single,
            Encode::F64 => Store::Double,
            Encode::Int64 { signed } => Store::Long { signed },
            Encode::Int(to) if from_double => Store::FromDouble(Encoder::to_int(&to)),
            Encode::Int(to) => match load {
                Load::Half(half, _) => Store::FromHalf(half, to),
                Load::Upper if to_bits <= 16 && to.clamp.is_none() && to.fail == 0 => Store::FromUpper,
                _ => Store::FromSingle(Encoder::to_int(&to)),
            },
            Encode::Float(to) if from_double => Store::FromDouble(Encoder::Float(double::Rounding::new(&to)?)),
            Encode::Float(to) if from_int => Store::FromInt(Whole::new(&to)?),
            Encode::Float(to) => Store::FromSingle(Encoder::Float(single::Rounding::new(&to)?)),
            Encode::E8m0(to) if from_double => Store::FromDouble(Encoder::Scale(double::Scale::new(&to))),
            Encode::E8m0(to) if from_int => Store::IntScale(single::Scale::new(&to), double::Scale::new(&to)),
            Encode::E8m0(to) => Store::FromSingle(Encoder::Scale(single::Scale::new(&to))),
        };
        let store = match HalfRounding::new(conversion) {
            Some(rounding) if level.shifts_words() => Store::FromHalves(rounding),
            _ => store,
        };
        Some(Self { from_bits, to_bits, load, store })
    }

    /// The level whose loops to take: what does little to its words waits for memory, which vectors of 64 bytes do not make
    /// faster.
    pub(crate) fn level(&self, level: Level) -> Level {
        match (self.store, self.load) {
            // These compute more.
            (Store::Single, Load::Int { .. }) if self.from_bits == 64 => level,
            (Store::Double, Load::Half(..)) => level,
            // Its packing is of words.
            (Store::Int, _) if self.from_bits == 16 && self.to_bits < 8 => level,
            (Store::Int | Store::Bool { .. } | Store::Single | Store::Double, _) => level.short(),
            _ => level,
        }
    }

    /// Casts at most [`BLOCK`](super::BLOCK) elements; what it writes to pad bits is undefined.
    pub(crate) fn convert(&self, level: Level, source: &[u8], destination: &mut [u8], scratch: &mut Scratch) {
        let Scratch { aligned, hub, codes, target } = scratch;
        let words = Words { level, bytes: source, aligned };
        // Codes of less than a byte are made one a byte first.
        let packs = self.to_bits < 8;
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        if packs
            && matches!(self.store, Store::Int)
            && x86::pack(level, source, self.from_bits, self.to_bits, destination)
        {
            return;
        }
        let bytes = if packs { bytemuck::cast_slice_mut(codes) } else { &mut *destination };
        match self.store {
            Store::Bool { mask } => match self.from_bits {
                8 => each!(words, bytes, |w: u8| u8::from(w != 0)),
                16 => each!(words, bytes, |w: u16| u8::from(w & mask as u16 != 0)),
                32 => each!(words, bytes, |w: u32| u8::from(w & mask as u32 != 0)),
                _ => each!(words, bytes, |w: u64| u8::from(w & mask != 0)),
            },
            Store::Int => self.int(words, bytes, target),
            Store::Single => fill_words(bytes, target, |out| self.singles(words, out)),
            Store::Double => fill_words(bytes, target, |out| self.doubles(words, out)),
            Store::FromSingle(encoder) => {
                let out = Out { level, bits: self.to_bits, bytes, target };
                match self.load {
                    Load::Upper => {
                        let parts = inlined!(|w: u16| [u32::from(w & 0x7fff) << 16, u32::from(w) << 16]);
                        encoder.single(words.all(), parts, out);
                    }
                    Load::Half(half, true) => {
                        encoder.single(words.all(), inlined!(|w: u16| half.decode::<true>(w)), out);
                    }
                    Load::Half(half, false) => {
                        encoder.single(words.all(), inlined!(|w: u16| half.decode::<false>(w)), out);
                    }
                    // Integers and doubles have stores of their own.
                    Load::Single | Load::Int { .. } | Load::Double => {
                        encoder.single(words.all(), inlined!(|w: u32| single::parts(w)), out);
                    }
                }
            }
            Store::FromDouble(encoder) => {
                let out = Out { level, bits: self.to_bits, bytes, target };
                encoder.double(words.all(), inlined!(|x: u64| double::parts(x)), out);
            }
            Store::FromInt(to) if self.to_bits == 16 => {
                fill_words(bytes, target, |out| self.whole(to, words, hub, out, inlined!(|x: u32| x as u16)));
            }
            Store::FromInt(to) => self.whole(to, words, hub, bytes, inlined!(|x: u32| x as u8)),
            Store::FromHalves(to) if self.to_bits == 16 => {
                fill_words(bytes, target, |out| Self::halves_float(to, words, out, inlined!(|x: u16| x)));
            }
            Store::FromHalves(to) => Self::halves_float(to, words, bytes, inlined!(|x: u16| x as u8)),
            Store::FromUpper if self.to_bits == 16 => {
                fill_words(bytes, target, |out| words.each(out, encode::upper_int16));
            }
            Store::FromUpper => each!(words, bytes, |w| encode::upper_int16(w) as u8),
            Store::FromHalf(half, to) => Self::half_int(half, to, words, self.to_bits, bytes, target),
            Store::IntScale(single, double) => {
                let signed = matches!(self.load, Load::Int { signed: true });
                match (self.from_bits, signed) {
                    (16, true) => each!(words, bytes, |w: u16| single.code(f32::from(w as i16).to_bits()) as u8),
                    (16, false) => each!(words, bytes, |w: u16| single.code(f32::from(w).to_bits()) as u8),
                    (32, true) => each!(words, bytes, |w| single.code(decode::int_odd::<true>(w)) as u8),
                    (32, false) => each!(words, bytes, |w| single.code(decode::int_odd::<false>(w)) as u8),
                    (_, true) => {
                        each!(words, bytes, |w| double.code(decode::long::<true>(decode::long_cut::<true>(w))) as u8);
                    }
                    (_, false) => {
                        each!(words, bytes, |w| double.code(decode::long::<false>(decode::long_cut::<false>(w))) as u8);
                    }
                }
            }
            Store::Long { signed: true } => fill_words(bytes, target, |out| self.longs::<true>(words, out)),
            Store::Long { signed: false } => fill_words(bytes, target, |out| self.longs::<false>(words, out)),
        }
        if packs {
            subbyte::pack(level, codes, self.to_bits, destination, target);
        }
    }

    /// Low bits, or sign and zero extension.
    fn int(&self, words: Words<'_>, bytes: &mut [u8], target: &mut [u64]) {
        let signed = matches!(self.load, Load::Int { signed: true });
        match (self.from_bits, self.to_bits, signed) {
            (8, ..8, _) => bytes[..words.bytes.len()].copy_from_slice(words.bytes),
            (8, 16, true) => fill_words(bytes, target, |out| each!(words, out, |w: u8| w as i8 as u16)),
            (8, 16, false) => fill_words(bytes, target, |out| each!(words, out, |w: u8| u16::from(w))),
            (8, 32, true) => fill_words(bytes, target, |out| each!(words, out, |w: u8| w as i8 as u32)),
            (8, 32, false) => fill_words(bytes, target, |out| each!(words, out, |w: u8| u32::from(w))),
            (8, 64, true) => fill_words(bytes, target, |out| each!(words, out, |w: u8| w as i8 as u64)),
            (8, 64, false) => fill_words(bytes, target, |out| each!(words, out, |w: u8| u64::from(w))),
            (16, ..=8, _) => each!(words, bytes, |w: u16| w as u8),
            (32, ..=8, _) => each!(words, bytes, |w: u32| w as u8),
            (64, ..=8, _) => each!(words, bytes, |w: u64| w as u8),
            (32, 16, _) => fill_words(bytes, target, |out| each!(words, out, |w: u32| w as u16)),
            (64, 16, _) => fill_words(bytes, target, |out| each!(words, out, |w: u64| w as u16)),
            (64, 32, _) => fill_words(bytes, target, |out| each!(words, out, |w: u64| w as u32)),
            (16, 32, true) => fill_words(bytes, target, |out| each!(words, out, |w: u16| w as i16 as u32)),
            (16, 32, false) => fill_words(bytes, target, |out| each!(words, out, |w: u16| u32::from(w))),
            (16, 64, true) => fill_words(bytes, target, |out| each!(words, out, |w: u16| w as i16 as u64)),
            (16, 64, false) => fill_words(bytes, target, |out| each!(words, out, |w: u16| u64::from(w))),
            (32, 64, true) => fill_words(bytes, target, |out| each!(words, out, |w: u32| w as i32 as u64)),
            (32, 64, false) => fill_words(bytes, target, |out| each!(words, out, |w: u32| u64::from(w))),
            (from, to, _) => unreachable!("integers of {from} bits to {to}"),
        }
    }

    /// 16-bit floats as narrower ones.
    fn halves_float<D>(to: HalfRounding, words: Words<'_>, out: &mut [D], cut: impl Fn(u16) -> D + Copy) {
        match (to.way, to.signs) {
            (half::Way::Same, _) => each!(words, out, |w| cut(to.code::<SAME, ANY>(w))),
            (half::Way::Next, _) => each!(words, out, |w| cut(to.code::<NEXT, NO_NEGATIVE_ZERO>(w))),
            (half::Way::Smaller, Signs::Kept) => each!(words, out, |w| cut(to.code::<SMALLER, KEPT>(w))),
            (half::Way::Smaller, Signs::NoNegativeZero) => {
                each!(words, out, |w| cut(to.code::<SMALLER, NO_NEGATIVE_ZERO>(w)));
            }
            (half::Way::Smaller, Signs::Any) => each!(words, out, |w| cut(to.code::<SMALLER, ANY>(w))),
        }
    }

    /// 16-bit floats as integers.
    fn half_int(half: Half, to: EncodeInt, words: Words<'_>, bits: u32, bytes: &mut [u8], target: &mut [u64]) {
        let fail = to.fail;
        match (to.clamp, bits) {
            (Some((below, above)), _) => {
                let (below, above) = (below as u16, above as u16);
                each!(words, bytes, |w| half.clamped(w, below, above) as u8);
            }
            (None, 32) => fill_words(bytes, target, |out| each!(words, out, |w| half.int(w, fail))),
            (None, 16) => fill_words(bytes, target, |out| each!(words, out, |w| half.int16(w, fail as u16))),
            (None, _) => each!(words, bytes, |w| half.int16(w, fail as u16) as u8),
        }
    }

    /// Integers as narrow floats, a word of some type each.
    fn whole<D>(&self, to: Whole, words: Words<'_>, hub: &mut [u64], out: &mut [D], cut: impl Fn(u32) -> D + Copy) {
        let signed = matches!(self.load, Load::Int { signed: true });
        match (self.from_bits, signed) {
            (8, true) => each!(words, out, |w: u8| cut(to.exact::<true>((w as i8).into()))),
            (8, false) => each!(words, out, |w: u8| cut(to.exact::<false>(w.into()))),
            (16, true) => each!(words, out, |w: u16| cut(to.code::<true>(f32::from(w as i16).to_bits()))),
            (16, false) => each!(words, out, |w: u16| cut(to.code::<false>(f32::from(w).to_bits()))),
            (32, true) if to.bounded() => {
                each!(words, out, |w: u32| cut(to.code::<true>((w as i32 as f32).to_bits())));
            }
            (32, true) => each!(words, out, |w: u32| cut(to.code::<true>(decode::int_odd::<true>(w)))),
            (32, false) if to.bounded() => {
                each!(words, out, |w: u32| cut(to.code::<false>((w.min(Whole::BOUND) as i32 as f32).to_bits())));
            }
            (32, false) => each!(words, out, |w: u32| cut(to.code::<false>(decode::int_odd::<false>(w)))),
            (_, true) if to.bounded() => {
                each!(words, out, |w| cut(to.code::<true>((decode::saturate::<true>(w) as i32 as f32).to_bits())));
            }
            (_, false) if to.bounded() => {
                let single = inlined!(|x: u32| (x.min(Whole::BOUND) as i32 as f32).to_bits());
                each!(words, out, |w| cut(to.code::<false>(single(decode::saturate::<false>(w)))));
            }
            (_, signed) => {
                let level = words.level;
                let hub = &mut bytemuck::cast_slice_mut(hub)[..words.bytes.len() / 8];
                if signed {
                    words.each(hub, decode::long_odd::<true>);
                    each!(level, hub, out, |x: u32| cut(to.code::<true>(x)));
                } else {
                    words.each(hub, decode::long_odd::<false>);
                    each!(level, hub, out, |x: u32| cut(to.code::<false>(x)));
                }
            }
        }
    }

    /// The elements as binary32.
    fn singles(&self, words: Words<'_>, out: &mut [u32]) {
        let bits = self.from_bits;
        match self.load {
            Load::Half(half, _) => each!(words, out, |w| single::canonical(single::join(half.decode::<true>(w)))),
            Load::Upper => each!(words, out, |w: u16| single::canonical(u32::from(w) << 16)),
            Load::Single => words.each(out, single::canonical),
            Load::Double => words.each(out, encode::narrow),
            Load::Int { signed: true } => match bits {
                8 => each!(words, out, |w: u8| f32::from(w as i8).to_bits()),
                16 => each!(words, out, |w: u16| f32::from(w as i16).to_bits()),
                32 => each!(words, out, |w: u32| (w as i32 as f32).to_bits()),
                _ => words.each(out, decode::long_to_single::<true>),
            },
            Load::Int { signed: false } => match bits {
                8 => each!(words, out, |w: u8| f32::from(w).to_bits()),
                16 => each!(words, out, |w: u16| f32::from(w).to_bits()),
                32 => each!(words, out, |w: u32| (w as f32).to_bits()),
                _ => words.each(out, decode::long_to_single::<false>),
            },
        }
    }

    /// The elements as binary64.
    fn doubles(&self, words: Words<'_>, out: &mut [u64]) {
        let bits = self.from_bits;
        match self.load {
            Load::Half(half, _) => each!(words, out, |w| encode::widen(single::join(half.decode::<true>(w)))),
            Load::Upper => each!(words, out, |w: u16| encode::widen(u32::from(w) << 16)),
            Load::Single => words.each(out, encode::widen),
            Load::Double => words.each(out, double::canonical),
            Load::Int { signed: true } => match bits {
                8 => each!(words, out, |w: u8| f64::from(w as i8).to_bits()),
                16 => each!(words, out, |w: u16| f64::from(w as i16).to_bits()),
                32 => each!(words, out, |w: u32| f64::from(w as i32).to_bits()),
                _ => words.each(out, decode::long::<true>),
            },
            Load::Int { signed: false } => match bits {
                8 => each!(words, out, |w: u8| f64::from(w).to_bits()),
                16 => each!(words, out, |w: u16| f64::from(w).to_bits()),
                32 => each!(words, out, |w: u32| f64::from(w).to_bits()),
                _ => words.each(out, decode::long::<false>),
            },
        }
    }

    /// The elements as 64-bit integers.
    fn longs<const SIGNED: bool>(&self, words: Words<'_>, out: &mut [u64]) {
        match self.load {
            Load::Single => each!(words, out, |w| encode::long::<SIGNED>(encode::widen(w))),
            Load::Upper => each!(words, out, |w: u16| encode::long::<SIGNED>(encode::widen(u32::from(w) << 16))),
            Load::Half(half, _) => each!(words, out, |w| half.long::<SIGNED>(w)),
            // Integers have a store of their own.
            Load::Double | Load::Int { .. } => words.each(out, encode::long::<SIGNED>),
        }
    }
}

/// The source's words, one type or another.
struct Words<'a> {
    level: Level,
    bytes: &'a [u8],
    aligned: &'a mut [u64],
}

impl<'a> Words<'a> {
    fn all<W: Word>(self) -> &'a [W] {
        words(self.bytes, self.aligned)
    }

    fn each<W: Word, D>(self, out: &mut [D], f: impl Fn(W) -> D) {
        let level = self.level;
        level.each(self.all(), out, f);
    }
}

impl<R, S> Encoder<R, S> {
    fn to_int(to: &EncodeInt) -> Self {
        match to.clamp {
            Some((below, above)) => Self::Clamp { below: below as i32, above: above as i32 },
            None if to.wide => Self::LowWord,
            None => Self::Int { fail: to.fail },
        }
    }
}

/// Where codes go.
struct Out<'a> {
    level: Level,
    bits: u32,
    /// Codes of less than a byte go one a byte.
    bytes: &'a mut [u8],
    target: &'a mut [u64],
}

macro_rules! encoder {
    ($hub:ident, $word:ty, $low_word:path) => {
        impl Encoder<$hub::Rounding, $hub::Scale> {
            fn $hub<W: Copy>(self, hub: &[W], parts: impl Fn(W) -> [$word; 2] + Copy, out: Out<'_>) {
                let Out { level, bits, bytes, target } = out;
                use $hub::{clamped, int};
                /// `Rounding::code` for its way and signs, as words of this type.
                macro_rules! rounded {
                    ($to:ident, $out:ident, $code:ty) => {
                        match ($to.way, $to.signs) {
                            (Way::Shift, _) => {
                                each!(level, hub, $out, |x| $to.code::<SHIFT, ANY>(parts(x)) as $code)
                            }
                            (Way::Add, Signs::Kept) => {
                                each!(level, hub, $out, |x| $to.code::<ADD, KEPT>(parts(x)) as $code)
                            }
                            (Way::Add, Signs::NoNegativeZero) => {
                                each!(level, hub, $out, |x| $to.code::<ADD, NO_NEGATIVE_ZERO>(parts(x)) as $code)
                            }
                            (Way::Add, Signs::Any) => {
                                each!(level, hub, $out, |x| $to.code::<ADD, ANY>(parts(x)) as $code)
                            }
                        }
                    };
                }
                match (self, bits) {
                    (Self::Float(to), 16) => fill_words(bytes, target, |out| rounded!(to, out, u16)),
                    (Self::Float(to), _) => rounded!(to, bytes, u8),
                    (Self::Scale(to), _) => each!(level, hub, bytes, |x| to.code($hub::join(parts(x))) as u8),
                    (Self::Int { fail }, 32) => {
                        fill_words(bytes, target, |out| each!(level, hub, out, |x| int(parts(x), fail)));
                    }
                    (Self::Int { fail }, 16) => {
                        fill_words(bytes, target, |out| each!(level, hub, out, |x| int(parts(x), fail) as u16));
                    }
                    (Self::Int { fail }, _) => each!(level, hub, bytes, |x| int(parts(x), fail) as u8),
                    (Self::LowWord, _) => {
                        fill_words(bytes, target, |out| each!(level, hub, out, |x| $low_word(parts(x))))
                    }
                    (Self::Clamp { below, above }, _) => {
                        each!(level, hub, bytes, |x| clamped(parts(x), below, above) as u8);
                    }
                }
            }
        }
    };
}

const SHIFT: u8 = Way::Shift as u8;
const ADD: u8 = Way::Add as u8;
const KEPT: u8 = Signs::Kept as u8;
const NO_NEGATIVE_ZERO: u8 = Signs::NoNegativeZero as u8;
const ANY: u8 = Signs::Any as u8;

encoder!(single, u32, encode::single_low_word);
encoder!(double, u64, encode::low_word);
