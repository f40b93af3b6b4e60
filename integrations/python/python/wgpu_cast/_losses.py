"""What a cast loses."""

from dataclasses import dataclass

__all__ = ["Losses"]


@dataclass(frozen=True)
class Losses:
    """How many values a cast changed beyond rounding. An element is counted at most once.

    Rounding to a neighbouring number is not counted. Nothing is counted in a cast to bool, which is a test.
    """

    infinite: int = 0
    """Finite values that became an infinity."""
    nan: int = 0
    """Numbers, infinities included, that became NaN."""
    saturated: int = 0
    """Values beyond the range of a float type that became its largest or least number."""
    out_of_range: int = 0
    """Values beyond the range of an integer type."""
    zero: int = 0
    """Values other than zero that became zero."""
    subnormal: int = 0
    """Values that were not subnormal and became so."""
    nan_to_number: int = 0
    """NaNs that became numbers, because the type has no NaN."""

    @property
    def total(self) -> int:
        """The number of values that are counted."""
        return self.overflowed + self.zero + self.subnormal + self.nan_to_number

    @property
    def overflowed(self) -> int:
        """The number of values beyond the range of the type: infinite, nan, saturated and out_of_range."""
        return self.infinite + self.nan + self.saturated + self.out_of_range
