//! Random numbers that are the same on every machine and in every run.

use std::env;
use std::ops::Range;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub use crate::checks::random::Random;

impl Random {
    /// A number below `bound`, or 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    /// True once in `chances` times, on average.
    pub fn one_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// A part of `0..length`, mostly a short one.
    pub fn range(&mut self, length: usize) -> Range<usize> {
        let start = self.below(length + 1);
        let most = if self.one_in(4) { length - start } else { (length - start).min(8) };
        start..start + self.below(most + 1)
    }
}

/// How long a test of random inputs runs, and from which seed.
#[derive(Clone, Copy, Debug)]
pub struct RandomRun {
    /// The time of `CAST_FUZZ_SECONDS`. If it is `None`, the test says how many inputs it has.
    pub time: Option<Duration>,
    /// The number of `CAST_FUZZ_SEED`. Without it, the seed is the same at every start, or, if a time is given, another
    /// one at every start.
    pub seed: u64,
}

impl RandomRun {
    /// What the environment chooses.
    pub fn chosen() -> Self {
        let number = |name: &str| {
            let text = env::var(name).ok()?;
            Some(text.parse().unwrap_or_else(|_| panic!("{name} is {text:?}, not a number")))
        };
        let time = number("CAST_FUZZ_SECONDS").map(Duration::from_secs);
        let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as u64);
        let seed = number("CAST_FUZZ_SEED").unwrap_or_else(|| if time.is_some() { now() } else { 1 });
        Self { time, seed }
    }
}
