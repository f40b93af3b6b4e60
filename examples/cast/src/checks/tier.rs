//! How many codes are taken.

/// How many of something are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// As much as a processor does in minutes.
    Full,
    /// All that `Full` leaves out because compiling it takes long.
    Exhaustive,
    /// As much as an emulator does in minutes.
    Emulator,
}

impl Tier {
    /// How many of something: `full`, or on an emulator `few`.
    pub fn count(self, full: usize, few: usize) -> usize {
        match self {
            Tier::Full | Tier::Exhaustive => full,
            Tier::Emulator => few,
        }
    }
}
