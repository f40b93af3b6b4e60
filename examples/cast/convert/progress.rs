//! What is printed while a conversion runs.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::output::{note, size};

/// How often a line is printed where there is no terminal.
const INTERVAL: Duration = Duration::from_secs(10);

/// The progress of a conversion: a bar on a terminal, otherwise a line now and then.
pub struct Progress {
    bar: Option<ProgressBar>,
    lines: bool,
    total: u64,
    done: u64,
    started: Instant,
    printed: Instant,
}

impl Progress {
    /// The progress of writing `total` bytes. Nothing is printed if it is `silent`.
    pub fn new(total: u64, silent: bool) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        let style = "{bar:24} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left, {wide_msg}";
        let bar = (is_terminal && !silent).then(|| {
            let style = ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::new(total).with_style(style)
        });
        let now = Instant::now();
        Self { bar, lines: !is_terminal && !silent, total, done: 0, started: now, printed: now }
    }

    /// More bytes are written, the last of them of this tensor or file.
    pub fn advance(&mut self, bytes: u64, name: &str) {
        self.done += bytes;
        if let Some(bar) = &self.bar {
            bar.set_message(name.to_owned());
            bar.inc(bytes);
        }
        if self.lines && self.printed.elapsed() >= INTERVAL {
            self.printed = Instant::now();
            let rate = self.done as f64 / self.started.elapsed().as_secs_f64();
            let left = (self.total - self.done.min(self.total)) as f64 / rate;
            let [done, total, rate] = [self.done, self.total, rate as u64].map(size);
            note(format_args!("{done} of {total}, {rate}/s, {left:.0} s left, {name}"));
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
    /// An error also removes the bar.
    fn drop(&mut self) {
        self.stop();
    }
}
