//! The arguments of a benchmark: `--name`, and `--name VALUE` or `--name VALUE,VALUE`.

use std::fmt::Display;
use std::process::exit;
use std::str::FromStr;

/// The arguments that are not taken yet. A wrong argument ends the process with a message.
pub struct Arguments(Vec<String>);

impl Arguments {
    /// The arguments of the process, without `--bench`, which cargo passes to every benchmark.
    pub fn of_process() -> Self {
        Self(std::env::args().skip(1).filter(|word| word != "--bench").collect())
    }

    /// Whether `name` is among the arguments.
    pub fn flag(&mut self, name: &str) -> bool {
        let found = self.0.iter().position(|word| word == name);
        found.map(|at| self.0.remove(at)).is_some()
    }

    /// The values after `name`, separated by commas.
    pub fn values<T: FromStr<Err: Display>>(&mut self, name: &str) -> Option<Vec<T>> {
        let at = self.0.iter().position(|word| word == name)?;
        let Some(text) = self.0.drain(at..(at + 2).min(self.0.len())).nth(1) else { fail(name, "a value is missing") };
        let values = text.split(',').map(|value| value.parse().unwrap_or_else(|error| fail(name, error)));
        Some(values.collect())
    }

    /// The value after `name`, or the last of several.
    pub fn value<T: FromStr<Err: Display>>(&mut self, name: &str) -> Option<T> {
        self.values(name)?.pop()
    }

    /// Ends the process if there are other arguments.
    pub fn end(self) {
        if let Some(word) = self.0.first() {
            fail(word, "no such argument");
        }
    }
}

fn fail(name: &str, what: impl Display) -> ! {
    eprintln!("{name}: {what}");
    exit(2)
}
