//! What is printed while a command works.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::embedded;
use crate::output::{note, size};
use crate::text::printable;

/// How often a line is printed if there is no terminal.
const INTERVAL: Duration = Duration::from_secs(10);

/// How often the spinner of a command changes that does not know how far it is.
const TICK: Duration = Duration::from_millis(100);

/// What is counted.
#[derive(Clone, Copy, Debug)]
enum Unit {
    Bytes,
    Steps,
}

/// The progress of a command on stderr: a bar on a terminal, otherwise a line now and then.
pub struct Progress {
    bar: Option<ProgressBar>,
    lines: bool,
    unit: Unit,
    total: u64,
    done: u64,
    started: Instant,
    printed: Instant,
}

impl Progress {
    /// The progress of writing `total` bytes. If `silent`, nothing is printed.
    pub fn of_bytes(total: u64, silent: bool) -> Self {
        let style = "{bar:24} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left, {wide_msg}";
        Self::new(Unit::Bytes, total, style, silent)
    }

    /// The progress of `total` steps, such as casts.
    pub fn of_steps(total: u64, silent: bool) -> Self {
        Self::new(Unit::Steps, total, "{bar:24} {pos} of {len}, {per_sec}, {eta} left, {wide_msg}", silent)
    }

    /// The progress of a command that does not know how far it is. On a terminal, `what` and the time are shown.
    pub fn of_one_step(what: &str, silent: bool) -> Self {
        let progress = Self::new(Unit::Steps, 1, "{spinner} {msg}, {elapsed}", silent);
        if let Some(bar) = &progress.bar {
            bar.set_message(printable(what));
            bar.enable_steady_tick(TICK);
        }
        progress
    }

    fn new(unit: Unit, total: u64, style: &str, silent: bool) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        let bar = (is_terminal && !silent).then(|| {
            let style = ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::new(total).with_style(style)
        });
        let now = Instant::now();
        Self { bar, lines: !is_terminal && !silent, unit, total, done: 0, started: now, printed: now }
    }

    /// Adds bytes or steps that are done. `name` is the tensor, the file or the types that they belong to.
    pub fn advance(&mut self, more: u64, name: &str) {
        self.done = self.done.saturating_add(more);
        embedded::advance(self.done, self.total, name);
        if let Some(bar) = &self.bar {
            bar.set_message(printable(name));
            bar.inc(more);
        }
        if self.lines && self.printed.elapsed() >= INTERVAL {
            self.printed = Instant::now();
            let rate = self.done as f64 / self.started.elapsed().as_secs_f64();
            let left = (self.total - self.done.min(self.total)) as f64 / rate;
            let name = printable(name);
            note(match self.unit {
                Unit::Bytes => {
                    let [done, total, rate] = [self.done, self.total, rate as u64].map(size);
                    format!("{done} of {total}, {rate}/s, {left:.0} s left, {name}")
                }
                Unit::Steps => format!("{} of {}, {rate:.1}/s, {left:.0} s left, {name}", self.done, self.total),
            });
        }
    }

    /// Prints on stdout without disturbing the bar.
    pub fn suspend<R>(&self, print: impl FnOnce() -> R) -> R {
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    /// Removes the bar. Returns the seconds since the start.
    pub fn stop(&self) -> f64 {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        self.started.elapsed().as_secs_f64()
    }
}

impl Drop for Progress {
    /// Removes the bar, also after an error.
    fn drop(&mut self) {
        self.stop();
    }
}
