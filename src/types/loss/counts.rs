//! The ways to lose a value, and how many values were lost in each.

/// How many values a cast changed beyond rounding. An element is counted at most once.
///
/// Rounding to a neighbouring number is not counted. Nothing is counted in a cast to BOOL, which is a test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct LossCounts {
    /// Finite values that became ±∞.
    pub infinite: u64,
    /// Numbers, ±∞ included, that became NaN.
    pub nan: u64,
    /// Values beyond the range of the type, ±∞ included, that became its largest or least number. This happens in casts
    /// to floats that saturate, and in casts of floats to INT4 and UINT4 with
    /// [`Int4Overflow::Clamp`](crate::Int4Overflow::Clamp). FLOAT8E8M0 has no zero and no negative numbers, so 0 and
    /// negative numbers are beyond its range.
    pub saturated: u64,
    /// Values beyond the range of an integer type, ±∞ included, in all other casts to integers. ONNX leaves most of these
    /// results undefined; see [`docs::semantics`](crate::docs::semantics).
    pub out_of_range: u64,
    /// Values other than zero that became zero.
    pub zero: u64,
    /// Values that were not subnormal and became so.
    pub subnormal: u64,
    /// NaNs that became numbers because the type has no NaN.
    pub nan_to_number: u64,
}

impl LossCounts {
    /// The names and the counts, in the order of the fields.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let mut counts = *self;
        Loss::ALL.into_iter().map(Loss::name).zip(counts.fields().map(|count| *count))
    }

    /// The number of values that are counted.
    pub fn total(&self) -> u64 {
        self.iter().map(|(_, count)| count).sum()
    }

    /// The number of values beyond the range of the type: those that became ±∞ or NaN, were saturated, or are out of
    /// range. An infinity counts if it did not stay infinite.
    pub fn overflowed(&self) -> u64 {
        self.infinite + self.nan + self.saturated + self.out_of_range
    }

    /// The names and the counts, in the order of the fields; the counts can be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&'static str, &mut u64)> {
        Loss::ALL.into_iter().map(Loss::name).zip(self.fields())
    }

    /// The counts, in the order of [`Loss`].
    fn fields(&mut self) -> [&mut u64; 7] {
        let Self { infinite, nan, saturated, out_of_range, zero, subnormal, nan_to_number } = self;
        [infinite, nan, saturated, out_of_range, zero, subnormal, nan_to_number]
    }

    pub(crate) fn add(&mut self, loss: Loss, count: u64) {
        *self.fields()[loss as usize] += count;
    }
}

impl std::ops::AddAssign for LossCounts {
    fn add_assign(&mut self, other: Self) {
        self.iter_mut().zip(other.iter()).for_each(|((_, count), (_, more))| *count += more);
    }
}

/// A way to lose a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    Infinite,
    Nan,
    Saturated,
    OutOfRange,
    Zero,
    Subnormal,
    NanToNumber,
}

impl Loss {
    const ALL: [Self; 7] =
        [Self::Infinite, Self::Nan, Self::Saturated, Self::OutOfRange, Self::Zero, Self::Subnormal, Self::NanToNumber];

    const fn name(self) -> &'static str {
        match self {
            Self::Infinite => "infinite",
            Self::Nan => "nan",
            Self::Saturated => "saturated",
            Self::OutOfRange => "out_of_range",
            Self::Zero => "zero",
            Self::Subnormal => "subnormal",
            Self::NanToNumber => "nan_to_number",
        }
    }
}
