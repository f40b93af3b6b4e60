//! The extent of a check.

/// How many codes or casts a check takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// As many as a processor casts in minutes.
    Full,
    /// Also those that `Full` leaves out because their compilation takes long.
    Exhaustive,
    /// As many as an emulator casts in minutes.
    Emulator,
}

impl Tier {
    /// The number for the tier: `few` on an emulator, otherwise `full`.
    pub fn count(self, full: usize, few: usize) -> usize {
        match self {
            Tier::Full | Tier::Exhaustive => full,
            Tier::Emulator => few,
        }
    }
}
