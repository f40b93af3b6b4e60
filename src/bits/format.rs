//! The parameters that define a binary float format, and the values that follow from them.

/// The codes of a float format that are not finite numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Specials {
    /// IEEE 754: the top exponent holds ±∞ (significand 0) and the NaNs (OCP OFP8 E5M2 likewise).
    Ieee,
    /// `fn`: no infinity; the all-ones magnitude of either sign is NaN (OCP OFP8 E4M3).
    TopCodeNan,
    /// `fnuz`: no infinity and no negative zero; the code that would be −0 is the only NaN.
    NegativeZeroNan,
    /// Every code is a finite number (OCP MX float6 and float4).
    Finite,
    /// An unsigned power of two: no sign, no zero, no subnormals; all ones is NaN (OCP MX E8M0).
    Scale,
}

/// A binary float format of at most 64 bits. Values that can be derived are methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct FloatFormat {
    /// Width of the exponent field in bits.
    pub exp_bits: u32,
    /// Width of the significand field in bits, the implicit leading bit not counted.
    pub man_bits: u32,
    /// Exponent bias: a normal code of exponent field `e` has the exponent `e - bias`.
    pub bias: u32,
    /// The special codes.
    pub specials: Specials,
}

impl FloatFormat {
    /// Whether the format has a sign bit.
    pub const fn is_signed(&self) -> bool {
        !matches!(self.specials, Specials::Scale)
    }

    /// Whether the format has ±∞.
    pub const fn has_infinity(&self) -> bool {
        matches!(self.specials, Specials::Ieee)
    }

    /// Whether the format has a NaN.
    pub const fn has_nan(&self) -> bool {
        !matches!(self.specials, Specials::Finite)
    }

    /// Width of a code in bits, the sign included.
    pub const fn bits(&self) -> u32 {
        self.exp_bits + self.man_bits + self.is_signed() as u32
    }

    /// The code whose only set bit is the sign, or 0 for an unsigned format.
    pub const fn sign_code(&self) -> u64 {
        (self.is_signed() as u64) << (self.exp_bits + self.man_bits)
    }

    /// The mask of the magnitude: all bits except the sign.
    pub const fn magnitude_mask(&self) -> u64 {
        (1 << (self.exp_bits + self.man_bits)) - 1
    }

    /// The code of +∞, if the format has one.
    pub const fn infinity(&self) -> Option<u64> {
        if self.has_infinity() { Some(((1 << self.exp_bits) - 1) << self.man_bits) } else { None }
    }

    /// The largest magnitude code that is not NaN: ∞ if the format has one, otherwise the largest finite number.
    pub const fn top(&self) -> u64 {
        match self.specials {
            Specials::Ieee => ((1 << self.exp_bits) - 1) << self.man_bits,
            Specials::TopCodeNan | Specials::Scale => self.magnitude_mask() - 1,
            Specials::NegativeZeroNan | Specials::Finite => self.magnitude_mask(),
        }
    }

    /// The code of the largest finite number.
    pub const fn max(&self) -> u64 {
        self.top() - self.has_infinity() as u64
    }

    /// The exponent of the largest finite number.
    pub(crate) const fn max_exponent(&self) -> i32 {
        (self.max() >> self.man_bits) as i32 - self.bias as i32
    }

    /// Whether every finite number of `other` is also a number of this format.
    pub(crate) const fn holds(&self, other: &Self) -> bool {
        let least_exponent = other.bias + other.man_bits <= self.bias + self.man_bits;
        other.man_bits <= self.man_bits && other.max_exponent() <= self.max_exponent() && least_exponent
    }

    /// The canonical NaN with a clear sign bit (`fnuz`: the only NaN), if the format has one.
    pub const fn nan(&self) -> Option<u64> {
        match self.specials {
            Specials::Ieee => Some(self.top() | 1 << (self.man_bits - 1)),
            Specials::TopCodeNan | Specials::Scale => Some(self.magnitude_mask()),
            Specials::NegativeZeroNan => Some(self.sign_code()),
            Specials::Finite => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::ElementType;
    use crate::types::element::Kind;

    /// The published codes: IEEE 754-2019, OCP OFP8 1.0, OCP MX 1.0 and the `fnuz` paper.
    #[test]
    fn derived_codes_are_the_published_ones() {
        use ElementType::*;
        let published = [
            (DOUBLE, 64, 0x7fef_ffff_ffff_ffff, Some(0x7ff0_0000_0000_0000), Some(0x7ff8_0000_0000_0000)),
            (FLOAT, 32, 0x7f7f_ffff, Some(0x7f80_0000), Some(0x7fc0_0000)),
            (FLOAT16, 16, 0x7bff, Some(0x7c00), Some(0x7e00)),
            (BFLOAT16, 16, 0x7f7f, Some(0x7f80), Some(0x7fc0)),
            (FLOAT8E4M3FN, 8, 0x7e, None, Some(0x7f)),
            (FLOAT8E4M3FNUZ, 8, 0x7f, None, Some(0x80)),
            (FLOAT8E5M2, 8, 0x7b, Some(0x7c), Some(0x7e)),
            (FLOAT8E5M2FNUZ, 8, 0x7f, None, Some(0x80)),
            (FLOAT8E8M0, 8, 0xfe, None, Some(0xff)),
            (FLOAT6E2M3, 6, 0x1f, None, None),
            (FLOAT6E3M2, 6, 0x1f, None, None),
            (FLOAT4E2M1, 4, 0x7, None, None),
        ];
        for (element_type, bits, max, infinity, nan) in published {
            let Kind::Float(format) = element_type.kind() else { panic!("{element_type} is a float") };
            assert_eq!(format.bits(), bits, "{element_type} bits");
            assert_eq!(format.max(), max, "{element_type} max");
            assert_eq!(format.infinity(), infinity, "{element_type} infinity");
            assert_eq!(format.nan(), nan, "{element_type} nan");
        }
    }

    /// The row's width is its format's.
    #[test]
    fn widths_agree() {
        for element_type in ElementType::ALL {
            if let Kind::Float(format) = element_type.kind() {
                assert_eq!(element_type.bits(), Some(format.bits()), "{element_type}");
            }
        }
    }
}
